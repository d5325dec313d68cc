// Where blocks begin and end in the bus's beats.

`include "cu_assert.svh"

module cu_block_chunks_cover #(
  parameter int unsigned ValueBytes = 8,
  parameter int unsigned BusBytes = 64
) (
  input logic                        clk_i,
  input logic                        rst_ni,
  input logic                        block_valid_i,
  input logic                        block_ready_o,
  input logic [$clog2(BusBytes)-1:0] block_lane_i,
  input logic [31:0]                 block_bytes_i
);
  wire take = block_valid_i && block_ready_o;
  wire [32:0] last = 33'(block_lane_i) + 33'(block_bytes_i);
  `COVER(c_begins_on_beat, take && block_lane_i == '0)
  `COVER(c_begins_on_chunk, take && 33'(block_lane_i) % 33'(ValueBytes) == '0)
  `COVER(c_begins_within_chunk, take && 33'(block_lane_i) % 33'(ValueBytes) != '0)
  `COVER(c_ends_on_beat, take && last % 33'(BusBytes) == '0)
  `COVER(c_ends_on_chunk, take && last % 33'(ValueBytes) == '0)
  `COVER(c_ends_within_chunk, take && last % 33'(ValueBytes) != '0)
  // The trailer of five bytes begins with a chunk, or lies on both sides of a border.
  `COVER(c_trailer_on_chunk, take && (last - 33'd5) % 33'(ValueBytes) == '0)
  for (genvar k = 1; k < 5; k++) begin : g_trailer_split
    `COVER(c_trailer_split, take && last % 33'(ValueBytes) == 33'(k))
  end
endmodule

bind cu_block_chunks cu_block_chunks_cover #(.ValueBytes(ValueBytes), .BusBytes(BusBytes))
    u_cover (.*);
