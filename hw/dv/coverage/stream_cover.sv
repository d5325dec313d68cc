// Of a valid/ready stream: it has flowed, and its writer has waited.

module stream_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic ready_i
);
  c_flows : cover property (@(posedge clk_i) disable iff (!rst_ni) valid_i && ready_i);
  c_writer_waits : cover property (@(posedge clk_i) disable iff (!rst_ni) valid_i && !ready_i);
endmodule
