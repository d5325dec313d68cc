// One of four bytes: a LUT of six inputs per bit. Rotators and shifters are made of it, so that
// synthesis can map it as it stands (hw/syn/byte_mux.v): left to itself, it finds rotators of three
// LUTs per bit where two suffice.

module cu_byte_mux (
  input  logic [3:0][7:0] bytes_i,
  input  logic [1:0]      pick_i,
  output logic [7:0]      byte_o
);
  assign byte_o = bytes_i[pick_i];
endmodule
