module cu_byte_choice (input [63:0] bytes_i, input [2:0] pick_i, output [7:0] byte_o);
  genvar i;
  for (i = 0; i < 8; i = i + 1)
    \$__BYTE_CHOICE_BIT bit (
      .O(byte_o[i]), .I0(bytes_i[i]), .I1(bytes_i[8+i]), .I2(bytes_i[16+i]), .I3(bytes_i[24+i]),
      .I4(bytes_i[32+i]), .I5(bytes_i[40+i]), .I6(bytes_i[48+i]), .I7(bytes_i[56+i]),
      .S0(pick_i[0]), .S1(pick_i[1]), .S2(pick_i[2])
    );
endmodule
