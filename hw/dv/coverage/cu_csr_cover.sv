// Every status that the unit itself can end a job with.

`include "cu_assert.svh"

module cu_csr_cover
  import sluice_abi_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input logic       job_done_i,
  input logic [7:0] job_status_i
);
  for (genvar s = 32'(MergeStatusOk); s <= 32'(MergeStatusWriteError); s++) begin : g_status
    `COVER(c_status, job_done_i && job_status_i == 8'(s))
  end
endmodule

bind cu_csr cu_csr_cover u_cover (.*);
