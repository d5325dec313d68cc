// How chunks meet words.

module cu_byte_packer_cover #(
  parameter int unsigned Bytes = 8,
  parameter int unsigned CountBits = 4
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 in_valid_i,
  input logic                 in_ready_o,
  input logic [CountBits-1:0] in_bytes_i,
  input logic                 in_last_i,
  input logic                 out_valid_o,
  input logic                 out_ready_i,
  input logic [CountBits-1:0] out_bytes_o,
  input logic                 out_last_o
);
  wire out = out_valid_o && out_ready_i;
  c_empty_chunk : cover property (@(posedge clk_i) disable iff (!rst_ni)
      in_valid_i && in_ready_o && in_bytes_i == '0 && in_last_i);
  c_full_chunk : cover property (@(posedge clk_i) disable iff (!rst_ni)
      in_valid_i && in_ready_o && in_bytes_i == CountBits'(Bytes));
  c_ends_on_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      out && out_last_o && out_bytes_o == CountBits'(Bytes));
  c_ends_within_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      out && out_last_o && out_bytes_o != CountBits'(Bytes) && out_bytes_o != '0);
  c_empty_word : cover property (@(posedge clk_i) disable iff (!rst_ni)
      out && out_last_o && out_bytes_o == '0);
endmodule

bind cu_byte_packer cu_byte_packer_cover #(.Bytes(Bytes), .CountBits(CountBits)) u_cover (.*);
bind cu_byte_packer stream_cover u_cover_in (.clk_i, .rst_ni, .valid_i(in_valid_i),
                                             .ready_i(in_ready_o));
bind cu_byte_packer stream_cover u_cover_out (.clk_i, .rst_ni, .valid_i(out_valid_o),
                                              .ready_i(out_ready_i));
