// How cu_byte_mux is mapped for UltraScale+: for ABC it is a box per bit (flow.py), afterwards a LUT.

(* abc9_box, lib_whitebox *)
module \$__BYTE_MUX_BIT (output O, input I0, I1, I2, I3, S0, S1);
  assign O = S1 ? (S0 ? I3 : I2) : (S0 ? I1 : I0);
  // As any LUT, with the wire before it: WIRE + 1 of flow.py.
  specify
    (I0 => O) = 2501;
    (I1 => O) = 2501;
    (I2 => O) = 2501;
    (I3 => O) = 2501;
    (S0 => O) = 2501;
    (S1 => O) = 2501;
  endspecify
endmodule
