// A valid/ready stream: it has flowed, and its writer has waited.

`include "cu_assert.svh"

module stream_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic ready_i
);
  `COVER(c_flows, valid_i && ready_i)
  `COVER(c_writer_waits, valid_i && !ready_i)
endmodule
