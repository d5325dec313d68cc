module \$__BYTE_MUX_BIT (output O, input I0, I1, I2, I3, S0, S1);
  wire low, high;
  LUT4 #(.INIT(16'hcaca)) lut_low (.Z(low), .A(I0), .B(I1), .C(S0), .D(1'b0));
  LUT4 #(.INIT(16'hcaca)) lut_high (.Z(high), .A(I2), .B(I3), .C(S0), .D(1'b0));
  PFUMX mux (.Z(O), .BLUT(low), .ALUT(high), .C0(S1));
endmodule
