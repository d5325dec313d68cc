module \$__BYTE_CHOICE_BIT (output O, input I0, I1, I2, I3, I4, I5, I6, I7, S0, S1, S2);
  wire low, high;
  LUT6 #(.INIT(64'hff00_f0f0_cccc_aaaa)) low_lut (
    .O(low), .I0(I0), .I1(I1), .I2(I2), .I3(I3), .I4(S0), .I5(S1)
  );
  LUT6 #(.INIT(64'hff00_f0f0_cccc_aaaa)) high_lut (
    .O(high), .I0(I4), .I1(I5), .I2(I6), .I3(I7), .I4(S0), .I5(S1)
  );
  MUXF7 mux (.O(O), .I0(low), .I1(high), .S(S2));
endmodule
