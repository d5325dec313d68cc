// Puts cu_snappy_decoder between a way's chunks and its entry parser: of stored blocks and their
// types it makes what the blocks hold, the length of each, which the parser needs first, and what
// the checker of blocks needs.
//
// A block that Snappy cannot decode ends early, and the parser must not look for the rest: the
// block's last chunk waits until the parser has come to that block, and is told to stop.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_snappy_stage #(
  parameter int unsigned ValueBytes = 8,  // V: 8, 16, 32 or 64
  parameter int unsigned Tails      = 8,  // blocks whose tails can wait
  localparam int unsigned PosBits = $clog2(ValueBytes),
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // Blocks, before their chunks. valid only while room_o.
  input  logic                    block_valid_i,
  output logic                    room_o,
  input  logic [31:0]             block_bytes_i,  // without trailer
  input  logic [7:0]              block_type_i,

  // Stored chunks, and what they hold, in blocks that begin in lane 0. See cu_block_chunks.
  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [ValueBytes*8-1:0] out_data_o,
  output logic                    out_parity_o,
  output logic                    out_first_o,
  output logic                    out_last_o,

  // One per block, as soon as it is known: bytes of what it holds.
  output logic                    length_valid_o,
  input  logic                    length_ready_i,
  output logic [31:0]             length_o,

  input  logic                    block_end_i,  // pulse: the parser has come to the end of a block
  output logic                    stop_o,       // level: the block that it is at goes no further

  // One per block, with its last chunk.
  output logic                    tail_valid_o,
  input  logic                    tail_ready_i,
  output logic [7:0]              tail_type_o,      // as which it was decoded
  output logic [31:0]             tail_restarts_o,  // the last four bytes of what it holds
  output logic                    tail_corrupt_o,   // Snappy's format is violated
  output logic                    tail_far_o,       // or a copy reaches back too far

  output logic                    parity_error_o  // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned HistoryBytes = 65536;  // as far as the library's copies reach
  localparam logic [7:0] Snappy = 8'd1;
  localparam int unsigned Blocks = 4;   // that may wait for the decoder
  localparam int unsigned Lengths = 16;  // that may wait for the parser
  localparam int unsigned Begun = 8;    // blocks whose length the decoder does not know yet
  localparam int unsigned Types = 16;   // blocks under way

  // ---- blocks in
  logic bytes_ready, types_ready, block_valid, block_ready, lengths_ready;
  logic block_raw, tail_valid, types_valid;
  logic [31:0] block_bytes;
  logic [$clog2(Blocks+1)-1:0] unused_bytes;
  logic [$clog2(Lengths+1)-1:0] lengths;
  logic [$clog2(Types+1)-1:0] unused_types;
  assign room_o = bytes_ready & types_ready;

  cu_fifo #(.Width(33), .Depth(Blocks)) u_bytes (
    .clk_i, .rst_ni,
    .wvalid_i(block_valid_i), .wready_o(bytes_ready),
    .wdata_i({block_type_i != Snappy, block_bytes_i}),
    .rvalid_o(block_valid), .rready_i(block_ready & lengths_ready),
    .rdata_o({block_raw, block_bytes}), .count_o(unused_bytes)
  );
  cu_fifo #(.Width(8), .Depth(Types)) u_types (
    .clk_i, .rst_ni,
    .wvalid_i(block_valid_i), .wready_o(types_ready), .wdata_i(block_type_i),
    .rvalid_o(types_valid), .rready_i(tail_valid_o & tail_ready_i), .rdata_o(tail_type_o),
    .count_o(unused_types)
  );

  // ---- decoding
  logic length_valid, piece_valid, piece_ready, corrupt, too_far, decoder_error;
  logic [31:0] length;
  chunk_t piece;

  cu_snappy_decoder #(.ValueBytes(V), .HistoryBytes(HistoryBytes)) u_decoder (
    .clk_i, .rst_ni,
    .block_valid_i(block_valid & lengths_ready), .block_ready_o(block_ready),
    .block_bytes_i(block_bytes), .block_raw_i(block_raw),
    .chunk_valid_i, .chunk_ready_o, .chunk_data_i, .chunk_parity_i, .chunk_first_i, .chunk_last_i,
    .chunk_lane_i,
    .length_valid_o(length_valid), .length_o(length),
    .out_valid_o(piece_valid), .out_ready_i(piece_ready), .out_o(piece),
    .out_parity_o, .out_corrupt_o(corrupt), .out_far_o(too_far), .parity_error_o(decoder_error)
  );

  // A block is begun only if there is room for its length, behind those of Begun others.
  logic length_room;
  cu_fifo #(.Width(32), .Depth(Lengths)) u_lengths (
    .clk_i, .rst_ni,
    .wvalid_i(length_valid), .wready_o(length_room), .wdata_i(length),
    .rvalid_o(length_valid_o), .rready_i(length_ready_i), .rdata_o(length_o),
    .count_o(lengths)
  );
  assign lengths_ready = lengths < ($clog2(Lengths + 1))'(Lengths - Begun);

  // ---- out
  typedef struct packed {
    logic       first;  // the next chunk is the first of its block
    logic       stop;
    logic [3:0] ahead;  // blocks that have left, and that the parser has not ended
  } state_t;
  state_t state_q, state_d;
  logic [31:0] before_q;  // the last four bytes of the chunk before
  logic [V*8+31:0] around;
  logic tail_room, state_error;
  logic [$clog2(Tails+1)-1:0] unused_tails;
  assign around = {piece.data, before_q};

  wire bad = piece.last & (corrupt | too_far);
  wire may_leave = (~bad | state_q.stop) & (~piece.last | (tail_room & state_q.ahead != '1));
  assign out_valid_o = piece_valid & may_leave;
  assign piece_ready = out_ready_i & may_leave;
  assign out_data_o  = piece.data;
  assign out_first_o = state_q.first;
  assign out_last_o  = piece.last;
  assign stop_o      = state_q.stop;
  wire moves = out_valid_o & out_ready_i;

  always_comb begin
    state_d = state_q;
    if (moves) state_d.first = piece.last;
    if (piece_valid && bad && state_q.ahead == '0) state_d.stop = 1'b1;
    state_d.ahead = state_q.ahead + 4'(moves & piece.last) - 4'(block_end_i);
    if (!rst_ni) state_d = '{first: 1'b1, stop: 1'b0, ahead: '0};
  end
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (moves) before_q <= piece.data[V*8-1-:32];
  end
  cu_twin #(.Width($bits(state_t))) u_state (
    .clk_i, .rst_ni, .next_i(state_d), .now_i(state_q), .error_o(state_error)
  );
  assign parity_error_o = decoder_error | state_error;

  cu_fifo #(.Width(34), .Depth(Tails)) u_tails (
    .clk_i, .rst_ni,
    .wvalid_i(moves & piece.last), .wready_o(tail_room),
    .wdata_i({around[{3'b0, piece.bytes} * 8+:32], corrupt, too_far}),
    .rvalid_o(tail_valid), .rready_i(tail_ready_i),
    .rdata_o({tail_restarts_o, tail_corrupt_o, tail_far_o}), .count_o(unused_tails)
  );
  assign tail_valid_o = tail_valid & types_valid;

  logic unused_token;
  assign unused_token = ^piece.token;

  `ASSERT(a_length, length_valid |-> length_room)
  `ASSERT(a_order, block_end_i |-> state_q.ahead != '0)
endmodule
