// Decompresses blocks: Snappy's, or raw ones, which pass as they are. Chunks as cu_block_chunks
// cuts them go in, left-justified chunks come out, full ones but for a block's last.
//
// A block that is corrupt, or has an offset beyond HistoryBytes, ends early: after any part of what
// it begins with, perhaps none, its last chunk says so. The next block is decoded as if nothing had
// been.

`include "cu_streams.svh"

module cu_snappy_decoder #(
  parameter int unsigned ValueBytes   = 8,      // V: 8, 16, 32 or 64
  parameter int unsigned HistoryBytes = 65536,  // the longest offset: a power of two, 8 V or more
  localparam int unsigned PosBits = $clog2(ValueBytes),
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // One per block, in the order of the chunks: its bytes, of which the chunks may hold more behind.
  input  logic                    block_valid_i,
  output logic                    block_ready_o,
  input  logic [31:0]             block_bytes_i,
  input  logic                    block_raw_i,

  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,  // of its block
  input  logic                    chunk_last_i,   // of its block
  input  logic [PosBits-1:0]      chunk_lane_i,   // of the block's first byte, if first

  output logic                    length_valid_o,  // see cu_snappy_parser
  output logic [31:0]             length_o,

  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output chunk_t                  out_o,
  output logic                    out_parity_o,  // of its data
  output logic                    out_corrupt_o,  // valid with last
  output logic                    out_far_o,      // valid with last: an offset beyond HistoryBytes
  output logic                    parity_error_o  // level
);
  localparam int unsigned OffsetBits = $clog2(HistoryBytes) + 1;

  logic go, piece_valid, piece_end, piece_corrupt, piece_far;
  logic [PosBits:0] piece_own, piece_copied;
  logic [ValueBytes*8-1:0] piece_data;
  logic [PosBits-1:0] piece_lane;
  logic piece_parity, parser_error, history_error;
  assign parity_error_o = parser_error | history_error;
  logic [OffsetBits-1:0] piece_offset;

  cu_snappy_parser #(.ValueBytes(ValueBytes), .HistoryBytes(HistoryBytes)) u_parser (
    .clk_i, .rst_ni,
    .block_valid_i, .block_ready_o, .block_bytes_i, .block_raw_i,
    .chunk_valid_i, .chunk_ready_o, .chunk_data_i, .chunk_parity_i, .chunk_first_i, .chunk_last_i,
    .chunk_lane_i, .length_valid_o, .length_o,
    .go_i(go), .piece_valid_o(piece_valid), .piece_own_o(piece_own),
    .piece_data_o(piece_data), .piece_parity_o(piece_parity), .piece_lane_o(piece_lane),
    .piece_copied_o(piece_copied), .piece_offset_o(piece_offset), .piece_end_o(piece_end),
    .piece_corrupt_o(piece_corrupt), .piece_far_o(piece_far), .parity_error_o(parser_error)
  );

  cu_snappy_history #(.ValueBytes(ValueBytes), .HistoryBytes(HistoryBytes)) u_history (
    .clk_i, .rst_ni,
    .go_o(go), .piece_valid_i(piece_valid), .piece_own_i(piece_own),
    .piece_data_i(piece_data), .piece_parity_i(piece_parity), .piece_lane_i(piece_lane),
    .piece_copied_i(piece_copied), .piece_offset_i(piece_offset), .piece_end_i(piece_end),
    .piece_corrupt_i(piece_corrupt), .piece_far_i(piece_far),
    .out_valid_o, .out_ready_i, .out_o, .out_parity_o, .out_corrupt_o, .out_far_o,
    .parity_error_o(history_error)
  );
endmodule
