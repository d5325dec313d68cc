// Rotates Bytes bytes: byte i of data_o is byte i + pos_i of data_i, modulo Bytes, or byte i - pos_i if
// Left is 1. In steps of powers of four, the largest first; lanes that no later step can reach are
// not there, if fewer than Bytes bytes are wanted.

`include "cu_assert.svh"

module cu_byte_rotate #(
  parameter int unsigned Bytes    = 16,  // a power of two, 2 or more
  parameter int unsigned OutBytes = 16,
  parameter int unsigned Left     = 0,
  localparam int unsigned PosBits = $clog2(Bytes)
) (
  input  logic [Bytes*8-1:0]    data_i,
  input  logic [PosBits-1:0]    pos_i,
  output logic [OutBytes*8-1:0] data_o
);
  `ASSERT_PARAM(bytes, $onehot(Bytes) && Bytes >= 2, "Bytes must be a power of two, 2 or more")
  `ASSERT_PARAM(out_bytes, OutBytes <= Bytes, "OutBytes must be Bytes or less")
  `ASSERT_PARAM(left, Left == 0 || OutBytes == Bytes, "Left rotates all of them")

  localparam int unsigned Steps = PosBits / 2;

  // Level s holds what the lowest s pairs of the position's bits pick from.
  for (genvar s = 0; s <= Steps; s++) begin : g_level
    localparam int unsigned Far = 1 << (2 * s);
    localparam int unsigned Lanes = (OutBytes + Far - 1 < Bytes) ? OutBytes + Far - 1 : Bytes;
    localparam int unsigned On = (Left == 0) ? Far : Bytes - Far % Bytes;  // forwards
    logic [Lanes-1:0][7:0] lanes;
    for (genvar i = 0; i < Lanes; i++) begin : g_lane
      if (s < Steps) begin : g_four
        cu_byte_mux u_mux (
          .bytes_i({g_level[s+1].lanes[(i+3*On)%Bytes], g_level[s+1].lanes[(i+2*On)%Bytes],
                    g_level[s+1].lanes[(i+On)%Bytes], g_level[s+1].lanes[i]}),
          .pick_i(pos_i[2*s+:2]), .byte_o(lanes[i])
        );
      end else if (PosBits % 2 == 1) begin : g_two
        assign lanes[i] = pos_i[PosBits-1] ? data_i[8*((i+Far)%Bytes)+:8] : data_i[8*i+:8];
      end else begin : g_one
        assign lanes[i] = data_i[8*i+:8];
      end
    end
  end
  assign data_o = g_level[0].lanes;
endmodule
