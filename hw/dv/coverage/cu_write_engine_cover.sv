// Back-pressure on the channels, and the ends of an area and of a job.

`include "cu_assert.svh"

module cu_write_engine_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic halt_i,
  input logic done_o,
  input logic idle_o,
  input logic full_o,
  input logic error_o
);
  `COVER(c_done, done_o)
  `COVER(c_full, full_o)
  `COVER(c_error, error_o)
  `COVER(c_halted_in_flight, halt_i && !idle_o)
endmodule

bind cu_write_engine cu_write_engine_cover u_cover (.*);
bind cu_write_engine stream_cover u_cover_in (.clk_i, .rst_ni, .valid_i(in_valid_i),
                                              .ready_i(in_ready_o));
bind cu_write_engine stream_cover u_cover_aw (.clk_i, .rst_ni, .valid_i(m_axi_awvalid_o),
                                              .ready_i(m_axi_awready_i));
bind cu_write_engine stream_cover u_cover_w (.clk_i, .rst_ni, .valid_i(m_axi_wvalid_o),
                                             .ready_i(m_axi_wready_i));
