module cu_byte_mux (input [31:0] bytes_i, input [1:0] pick_i, output [7:0] byte_o);
  genvar i;
  for (i = 0; i < 8; i = i + 1)
    \$__BYTE_MUX_BIT bit (
      .O(byte_o[i]), .I0(bytes_i[i]), .I1(bytes_i[8+i]), .I2(bytes_i[16+i]), .I3(bytes_i[24+i]),
      .S0(pick_i[0]), .S1(pick_i[1])
    );
endmodule
