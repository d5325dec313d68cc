// Picks OutBytes neighbouring bytes out of InBytes, from any byte of the first Positions on. A shifter
// in steps of powers of two, the largest first: two steps fit a six-input LUT per bit, and lanes
// that no later step can reach are not there.

`include "cu_assert.svh"

module cu_byte_select #(
  parameter int unsigned InBytes   = 24,
  parameter int unsigned OutBytes  = 8,
  parameter int unsigned Positions = 16,  // a power of two, 2 or more
  localparam int unsigned PosBits = $clog2(Positions)
) (
  input  logic [InBytes*8-1:0]  data_i,
  input  logic [PosBits-1:0]    pos_i,
  output logic [OutBytes*8-1:0] data_o
);
  `ASSERT_PARAM(positions, $onehot(Positions) && Positions >= 2,
                "Positions must be a power of two, 2 or more")
  `ASSERT_PARAM(in_bytes, InBytes >= OutBytes + Positions - 1,
                "InBytes must hold OutBytes from every position on")

  always_comb begin
    logic [InBytes*8-1:0] shifted;
    shifted = data_i;
    for (int b = int'(PosBits) - 1; b >= 0; b--) begin
      if (pos_i[b]) shifted = shifted >> (8 << b);
    end
    data_o = shifted[OutBytes*8-1:0];
  end
endmodule
