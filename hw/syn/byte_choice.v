// How cu_byte_choice is mapped for UltraScale+: for ABC it is a box per bit (flow.py), afterwards two
// LUTs and a multiplexer.

(* abc9_box, lib_whitebox *)
module \$__BYTE_CHOICE_BIT (output O, input I0, I1, I2, I3, I4, I5, I6, I7, S0, S1, S2);
  assign O = S2 ? (S1 ? (S0 ? I7 : I6) : (S0 ? I5 : I4)) : (S1 ? (S0 ? I3 : I2) : (S0 ? I1 : I0));
  // As any LUT, with the wire before it: WIRE + 1 of flow.py.
  specify
    (I0 => O) = 2501;
    (I1 => O) = 2501;
    (I2 => O) = 2501;
    (I3 => O) = 2501;
    (I4 => O) = 2501;
    (I5 => O) = 2501;
    (I6 => O) = 2501;
    (I7 => O) = 2501;
    (S0 => O) = 2501;
    (S1 => O) = 2501;
    (S2 => O) = 2501;
  endspecify
endmodule
