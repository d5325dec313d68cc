// Picks OutBytes neighbouring bytes, from any byte of the first Positions on. A shifter in steps of
// powers of four, the largest first; lanes that no later step can reach are not there.

`include "cu_assert.svh"

module cu_byte_select #(
  parameter int unsigned OutBytes  = 8,
  parameter int unsigned Positions = 16,  // a power of two, 2 or more
  localparam int unsigned InBytes = OutBytes + Positions - 1,
  localparam int unsigned PosBits = $clog2(Positions)
) (
  input  logic [InBytes*8-1:0]  data_i,
  input  logic [PosBits-1:0]    pos_i,
  output logic [OutBytes*8-1:0] data_o
);
  `ASSERT_PARAM(positions, $onehot(Positions) && Positions >= 2,
                "Positions must be a power of two, 2 or more")

  localparam int unsigned Steps = PosBits / 2;

  // Level s holds what the lowest s pairs of the position's bits pick from.
  for (genvar s = 0; s <= Steps; s++) begin : g_level
    localparam int unsigned Far = 1 << (2 * s);
    localparam int unsigned Lanes = OutBytes + Far - 1;
    logic [Lanes-1:0][7:0] lanes;
    for (genvar i = 0; i < Lanes; i++) begin : g_lane
      if (s < Steps) begin : g_four
        cu_byte_mux u_mux (
          .bytes_i({g_level[s+1].lanes[i+3*Far], g_level[s+1].lanes[i+2*Far],
                    g_level[s+1].lanes[i+Far], g_level[s+1].lanes[i]}),
          .pick_i(pos_i[2*s+:2]), .byte_o(lanes[i])
        );
      end else if (PosBits % 2 == 1) begin : g_two
        assign lanes[i] = pos_i[PosBits-1] ? data_i[8*(i+Far)+:8] : data_i[8*i+:8];
      end else begin : g_one
        assign lanes[i] = data_i[8*i+:8];
      end
    end
  end
  assign data_o = g_level[0].lanes;
endmodule
