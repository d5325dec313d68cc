module \$__BYTE_MUX_BIT (output O, input I0, I1, I2, I3, S0, S1);
  LUT6 #(.INIT(64'hff00_f0f0_cccc_aaaa)) lut (
    .O(O), .I0(I0), .I1(I1), .I2(I2), .I3(I3), .I4(S0), .I5(S1)
  );
endmodule
