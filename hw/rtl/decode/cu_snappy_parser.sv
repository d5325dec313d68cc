// Walks the elements of blocks that are compressed with Snappy
// (github.com/google/snappy/blob/main/format_description.txt), and emits them in pieces: up to
// ValueBytes bytes of the block, bytes of the input first, then bytes from an offset behind. One
// piece per cycle:
//
//   state      takes                       next
//   Idle       a block's descriptor        Preamble
//   Preamble   the varint of its length    Element, of a raw block Literal
//   Element    a header, and of a literal  Literal or Copy if more of it is to come
//              up to V - 1 bytes; with one
//              of up to five bytes the
//              header of the copy behind
//   Literal    up to V bytes               Element
//   Copy       nothing                     Element
//   Flush      what is left of the chunks  Idle
//
// Most literals of text are short: taking a copy along makes a third more bytes per cycle.
//
// A copy whose offset is below V repeats what it has just made: its pieces are as long as the
// offset, which therefore doubles from one to the next.
//
// It accepts what the library accepts, with one difference: offsets beyond HistoryBytes, which the
// library never writes if HistoryBytes is 65,536. Checks of lengths and offsets take another cycle:
// a piece that fails them leaves as the end of its block, and what the walk has done since is
// dropped.
//
// A block stored raw, which has neither preamble nor headers, passes as one literal.
//
// No checksum covers what comes out. All that says what is to be made of a block has a twin
// (cu_twin), and what is taken from the window its parity.

`include "cu_assert.svh"

module cu_snappy_parser #(
  parameter int unsigned ValueBytes   = 8,      // V: 8, 16, 32 or 64
  parameter int unsigned HistoryBytes = 65536,  // the longest offset: a power of two, 8 V or more
  localparam int unsigned PosBits    = $clog2(ValueBytes),
  localparam int unsigned OffsetBits = $clog2(HistoryBytes) + 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // One per block, in the order of the chunks: its bytes, of which the chunks may hold more behind.
  input  logic                    block_valid_i,
  output logic                    block_ready_o,
  input  logic [31:0]             block_bytes_i,
  input  logic                    block_raw_i,

  // See cu_byte_window.
  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,

  // The length of what a block holds, as it says itself, perhaps falsely: before its first piece.
  output logic                    length_valid_o,
  output logic [31:0]             length_o,

  // Pieces, without a handshake: while go_i is low, none begins, and one more may come. Between the
  // end of a block and the next piece there is at least one cycle.
  input  logic                    go_i,
  output logic                    piece_valid_o,
  output logic [PosBits:0]        piece_own_o,     // bytes from the input
  output logic [ValueBytes*8-1:0] piece_data_o,    // these, from a lane on, cyclic
  output logic                    piece_parity_o,  // of all of piece_data_o
  output logic [PosBits-1:0]      piece_lane_o,
  output logic [PosBits:0]        piece_copied_o,  // bytes behind them; V in all at most
  output logic [OffsetBits-1:0]   piece_offset_o,  // how far before
  output logic                    piece_end_o,     // of the block
  // With end, and the piece's bytes are void:
  output logic                    piece_corrupt_o,
  output logic                    piece_far_o,     // an offset beyond HistoryBytes
  output logic                    parity_error_o   // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned CountBits = PosBits + 1;
  typedef logic [CountBits-1:0] count_t;
  localparam count_t Whole = count_t'(V);

  `ASSERT_PARAM(history_bytes, $onehot(HistoryBytes) && HistoryBytes >= 8 * ValueBytes,
                "HistoryBytes must be a power of two, 8 ValueBytes or more")

  typedef enum logic [2:0] {Idle, Preamble, Element, Literal, Copy, Flush} state_e;

  // What the walk has found, to be checked.
  typedef struct packed {
    logic               valid;
    logic               start;    // the preamble: length is that of the block
    logic               first;    // of an element: length and offset are the element's
    logic               copy;     // its element is a copy, or ends with one
    count_t             own;
    count_t             copied;
    logic [31:0]        length;
    logic [31:0]        offset;
    logic [PosBits-1:0] lane;
    logic               last;     // of the block
    logic               bad;
  } found_t;

  // *_d: what is to be held next; left and offset_next: if something is found.
  state_e state_q, state_d;
  logic raw_q, raw_d;
  logic [31:0] in_left_q, in_left_d;   // bytes of the block after the position
  logic [31:0] left_q, left_d, left;   // bytes of the element after the last piece
  logic [31:0] offset_q, offset_d, offset_next;  // for the next piece of a copy
  found_t found_q, found_d, found;
  logic [V*8-1:0] data_q;
  logic data_parity_q;
  logic failed;

  logic ready, flushed, move;
  logic [63:0] head;
  logic [PosBits-1:0] pos;
  logic [V*8-1:0] ring;
  logic ring_parity, window_error;
  count_t taken;
  wire crosses = {2'b0, pos} + {1'b0, taken} >= {1'b0, Whole};
  wire flush = state_q == Flush;

  cu_byte_window #(.ValueBytes(V), .Guarded(1)) u_window (
    .clk_i, .rst_ni,
    .chunk_valid_i, .chunk_ready_o, .chunk_data_i, .chunk_parity_i, .chunk_first_i, .chunk_last_i,
    .chunk_lane_i,
    .ready_o(ready), .head_o(head), .pos_o(pos), .ring_o(ring), .parity_o(ring_parity),
    .move_i(move), .bytes_i(taken), .cross_i(crosses), .flush_i(flush),
    .ahead_move_i(move), .ahead_bytes_i(taken[PosBits-1:0]),
    .ahead_cross_i(crosses), .ahead_flush_i(flush), .ahead_pos_o(),
    .flushed_o(flushed), .parity_error_o(window_error)
  );

  // ---- headers

  wire [5:0] code = head[7:2];
  wire tag_literal = head[1:0] == 2'b00;
  wire tag_long = tag_literal && code >= 6'd60;  // one to four bytes of length follow
  wire [31:0] long_length = head[39:8] & (32'hffff_ffff >> {~head[3:2], 3'b0});
  logic [2:0] header_bytes;
  logic [6:0] copy_length;
  logic [31:0] copy_offset;

  always_comb begin
    copy_length = 7'(code) + 7'd1;
    unique case (head[1:0])
      2'b01: begin
        header_bytes = 3'd2;
        copy_length  = 7'(head[4:2]) + 7'd4;
        copy_offset  = {21'h0, head[7:5], head[15:8]};
      end
      2'b10: begin
        header_bytes = 3'd3;
        copy_offset  = {16'h0, head[23:8]};
      end
      2'b11: begin
        header_bytes = 3'd5;
        copy_offset  = head[39:8];
      end
      default: begin
        header_bytes = tag_long ? 3'(head[3:2]) + 3'd2 : 3'd1;
        copy_offset  = '0;
      end
    endcase
  end

  // A copy behind a short literal, if the head shows it and the block goes so far.
  wire [23:0] second = 24'(head >> (8 * (8'(code) + 8'd2)));
  wire second_wide = second[1];
  wire joined = tag_literal && code < (second_wide ? 6'd4 : 6'd5) && second[1:0] != 2'b00 &&
                second[1:0] != 2'b11 && in_left_q[31:3] != '0;
  wire [6:0] second_length = second_wide ? 7'(second[7:2]) + 7'd1 : 7'(second[4:2]) + 7'd4;
  wire [15:0] second_offset = second_wide ? second[23:8] : {5'h0, second[7:5], second[15:8]};

  logic [4:0] stops;
  logic [2:0] varint_bytes;  // 0: it does not end, or exceeds 32 bits
  logic [31:0] varint;
  assign stops = ~{head[39], head[31], head[23], head[15], head[7]};
  always_comb begin
    varint = {head[35:32], head[30:24], head[22:16], head[14:8], head[6:0]};
    unique casez (stops)
      5'b????1: begin varint_bytes = 3'd1; varint &= 32'h7f; end
      5'b???10: begin varint_bytes = 3'd2; varint &= 32'h3fff; end
      5'b??100: begin varint_bytes = 3'd3; varint &= 32'h1f_ffff; end
      5'b?1000: begin varint_bytes = 3'd4; varint &= 32'hfff_ffff; end
      default:  varint_bytes = (stops[4] && head[38:36] == '0) ? 3'd5 : 3'd0;
    endcase
  end

  // ---- the walk

  function automatic count_t least(logic [31:0] length, count_t most);
    return length < 32'(most) ? length[CountBits-1:0] : most;
  endfunction

  wire copies = state_q == Copy || (state_q == Element && (!tag_literal || joined));
  wire [31:0] offset = (state_q == Copy) ? offset_q : joined ? 32'(second_offset) : copy_offset;
  wire near = offset < 32'(V);
  count_t apart;  // bytes of a copy that can be made at once
  assign apart = near ? offset[CountBits-1:0] : Whole;

  always_comb begin
    found         = '0;
    found.copy    = copies;
    found.offset  = offset;
    found.lane    = pos;
    taken         = '0;
    left          = left_q;
    offset_next   = near ? offset << 1 : offset;
    unique case (state_q)
      Preamble: begin
        found.start  = 1'b1;
        found.length = raw_q ? '0 : varint;
        found.bad    = !raw_q && varint_bytes == '0;
        taken        = raw_q ? '0 : count_t'(varint_bytes);
        left         = raw_q ? in_left_q : '0;
      end
      Element: begin
        found.first  = 1'b1;
        found.lane   = pos + 1'b1;
        found.length = tag_long ? long_length + 32'd1 : 32'(copy_length);
        left         = found.length;
        taken        = count_t'(header_bytes);
        if (!tag_literal) begin
          found.copied = least(32'(copy_length), apart);
          left         = 32'(copy_length) - 32'(found.copied);
        end else if (joined) begin
          found.own    = count_t'(copy_length);
          found.copied = near ? '0 : least(32'(second_length), Whole - found.own);
          found.length = 32'(copy_length) + 32'(second_length);
          left         = 32'(second_length) - 32'(found.copied);
          offset_next  = offset;
          taken        = found.own + (second_wide ? count_t'(4) : count_t'(3));
        end else if (!tag_long) begin
          found.own = least(32'(copy_length), Whole - 1'b1);
          left      = 32'(copy_length) - 32'(found.own);
          taken     = found.own + 1'b1;
        end
      end
      Literal: begin
        found.own = least(left_q, Whole);
        taken     = found.own;
        left      = left_q - 32'(found.own);
      end
      Copy: begin
        found.copied = least(left_q, apart);
        left         = left_q - 32'(found.copied);
      end
      default: ;
    endcase
    if (in_left_q < 32'(taken)) found.bad = 1'b1;
    found.last  = in_left_q == 32'(taken) && left == '0;
    found.valid = go_i && (state_q == Copy || (ready && state_q != Idle && state_q != Flush));
  end

  always_comb begin
    state_d = state_q;
    move    = found.valid && state_q != Copy;
    if (found.valid) begin
      state_d = found.last ? Flush
                : (left == '0 && !raw_q) ? Element : copies ? Copy : Literal;
    end
    if (state_q == Idle && block_valid_i) state_d = Preamble;
    if (flush && flushed) state_d = Idle;
    // Behind the last piece of a block, only chunks are to be dropped, which goes on.
    if (failed && !flush) state_d = Flush;
    if (!rst_ni) state_d = Idle;
  end

  always_comb begin
    left_d    = found.valid ? left : left_q;
    in_left_d = found.valid ? in_left_q - 32'(taken) : in_left_q;
    offset_d  = found.valid ? offset_next : offset_q;
    raw_d     = raw_q;
    if (block_ready_o) begin
      in_left_d = block_bytes_i;
      raw_d     = block_raw_i;
    end
    found_d = found;
    if (failed || !rst_ni) found_d.valid = 1'b0;
  end

  assign block_ready_o = state_q == Idle;

  always_ff @(posedge clk_i) begin
    state_q       <= state_d;
    raw_q         <= raw_d;
    in_left_q     <= in_left_d;
    left_q        <= left_d;
    offset_q      <= offset_d;
    found_q       <= found_d;
    data_q        <= ring;
    data_parity_q <= ring_parity;
  end

  logic walk_error;
  cu_twin #(.Width($bits(state_e) + 1 + 3 * 32 + $bits(found_t))) u_walk (
    .clk_i, .rst_ni, .next_i({state_d, raw_d, in_left_d, left_d, offset_d, found_d}),
    .now_i({state_q, raw_q, in_left_q, left_q, offset_q, found_q}), .error_o(walk_error)
  );

  // ---- lengths and offsets

  logic [31:0] made_q, made_d;  // bytes of the block that its elements have made so far
  logic [31:0] due_q, due_d, due_next;  // that are still to be made
  logic corrupt, too_far;

  wire [32:0] reach = {1'b0, made_q} + 33'(found_q.own);

  always_comb begin
    due_next = due_q;
    if (found_q.start) due_next = found_q.length;
    if (found_q.first) due_next = due_q - found_q.length;
    corrupt = found_q.bad;
    too_far = 1'b0;
    if (found_q.first) begin
      if (found_q.length > due_q) corrupt = 1'b1;
      if (found_q.copy && (found_q.offset == '0 || {1'b0, found_q.offset} > reach)) corrupt = 1'b1;
      too_far = !corrupt && found_q.copy && found_q.offset > HistoryBytes;
    end
    if (found_q.last && due_next != '0 && !too_far) corrupt = 1'b1;
    due_d  = found_q.valid ? due_next : due_q;
    made_d = made_q;
    if (found_q.valid) made_d = found_q.start ? '0 : made_q + (found_q.first ? found_q.length : '0);
  end

  assign failed = found_q.valid && (corrupt || too_far);

  always_ff @(posedge clk_i) begin
    due_q  <= due_d;
    made_q <= made_d;
  end

  logic sums_error;
  cu_twin #(.Width(64)) u_sums (
    .clk_i, .rst_ni, .next_i({due_d, made_d}), .now_i({due_q, made_q}), .error_o(sums_error)
  );
  assign parity_error_o = window_error | walk_error | sums_error;

  assign length_valid_o = found_q.valid & found_q.start;
  assign length_o       = raw_q ? left_q : found_q.length;

  assign piece_valid_o   = found_q.valid;
  assign piece_own_o     = found_q.own;
  assign piece_data_o    = data_q;
  assign piece_parity_o  = data_parity_q;
  assign piece_copied_o  = found_q.copied;
  assign piece_lane_o    = found_q.lane;
  assign piece_offset_o  = found_q.offset[OffsetBits-1:0];
  assign piece_end_o     = found_q.last || failed;
  assign piece_corrupt_o = corrupt;
  assign piece_far_o     = too_far;

  `ASSERT(a_whole, piece_valid_o |-> piece_own_o + piece_copied_o <= Whole)
  `ASSERT(a_before, piece_valid_o && !failed && piece_copied_o != '0 |->
                    32'(piece_own_o + piece_copied_o) <= found_q.offset)
endmodule
