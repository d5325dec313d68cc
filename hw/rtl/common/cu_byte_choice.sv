// One of eight bytes: two LUTs of six inputs per bit and the multiplexer of their slice (MUXF7), as
// synthesis does not find it by itself (hw/syn/byte_choice.v).

module cu_byte_choice (
  input  logic [7:0][7:0] bytes_i,
  input  logic [2:0]      pick_i,
  output logic [7:0]      byte_o
);
  assign byte_o = bytes_i[pick_i];
endmodule
