// How cu_byte_mux is mapped for ECP5: for ABC it is a box per bit (ecp5.py), afterwards two LUTs and the
// multiplexer behind them in their slice. ABC would make four LUTs of it: it puts LUTs behind such a
// multiplexer that have the same inputs.

(* abc9_box, lib_whitebox *)
module \$__BYTE_MUX_BIT (output O, input I0, I1, I2, I3, S0, S1);
  assign O = S1 ? (S0 ? I3 : I2) : (S0 ? I1 : I0);
  // As a LUT4's slowest input and a PFUMX's, with the wire before it: WIRE of ecp5.py.
  specify
    (I0 => O) = 1279;
    (I1 => O) = 1279;
    (I2 => O) = 1279;
    (I3 => O) = 1279;
    (S0 => O) = 1279;
    (S1 => O) = 1051;
  endspecify
endmodule
