// Back-pressure on the channels, and the ends of an area and of a job.

module cu_write_engine_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic halt_i,
  input logic done_o,
  input logic idle_o,
  input logic full_o,
  input logic error_o
);
  c_done : cover property (@(posedge clk_i) disable iff (!rst_ni) done_o);
  c_full : cover property (@(posedge clk_i) disable iff (!rst_ni) full_o);
  c_error : cover property (@(posedge clk_i) disable iff (!rst_ni) error_o);
  c_halted_in_flight : cover property (@(posedge clk_i) disable iff (!rst_ni) halt_i && !idle_o);
endmodule

bind cu_write_engine cu_write_engine_cover u_cover (.*);
bind cu_write_engine stream_cover u_cover_in (.clk_i, .rst_ni, .valid_i(in_valid_i),
                                              .ready_i(in_ready_o));
bind cu_write_engine stream_cover u_cover_aw (.clk_i, .rst_ni, .valid_i(m_axi_awvalid_o),
                                              .ready_i(m_axi_awready_i));
bind cu_write_engine stream_cover u_cover_w (.clk_i, .rst_ni, .valid_i(m_axi_wvalid_o),
                                             .ready_i(m_axi_wready_i));
