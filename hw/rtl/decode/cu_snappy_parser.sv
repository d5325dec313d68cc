// Decodes what cu_snappy_walker finds in blocks that are compressed with Snappy, checks it, and emits
// it in pieces: up to ValueBytes bytes of the block, bytes of the input first, then bytes from an
// offset behind. One piece per cycle:
//
//   decode   headers
//   measure  lengths and offsets
//   check    these against what the block has made, and has still to make
//   queue    steps, while copies before them are made
//   make     pieces: the first of a step, and what is left of its copy
//
// A copy whose offset is below V repeats what it has just made: its pieces are as long as the
// offset, which therefore doubles from one to the next.
//
// It accepts what the library accepts, with one difference: offsets beyond HistoryBytes, which the
// library never writes if HistoryBytes is 65,536. A step that fails a check leaves as the end of its
// block, and the rest of the block is dropped.
//
// A block stored raw, which has neither preamble nor headers, passes as one literal.
//
// No checksum covers what comes out. All that says what is to be made of a block has a twin
// (cu_twin), in the queue a parity bit, and what is taken from the input its parity.

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

  // See cu_byte_window: chunks of a block, and what lies behind it.
  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,

  // The length of what a block holds, as it says itself, perhaps falsely: before its last piece.
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
  localparam int unsigned Blocks = 8;  // whose lengths are not known yet
  localparam int unsigned Steps = 16;  // of the queue
  localparam int unsigned UnderWay = 8;  // at most
  localparam int unsigned NumberBits = $clog2(Steps) + 1;
  typedef logic [CountBits-1:0] count_t;
  typedef logic [PosBits-1:0] lane_t;
  localparam count_t Whole = count_t'(V);

  `ASSERT_PARAM(history_bytes, $onehot(HistoryBytes) && HistoryBytes >= 8 * ValueBytes,
                "HistoryBytes must be a power of two, 8 ValueBytes or more")

  // ---- blocks
  logic trim_ready, bytes_ready, bytes_valid, trimmed_valid, trimmed_ready, trimmed_last;
  logic trimmed_raw, trim_error, length_valid;
  logic [PosBits+1:0] trimmed_stop;
  logic [31:0] bytes;
  logic [$clog2(Blocks+1)-1:0] unused_blocks;
  assign block_ready_o = trim_ready && bytes_ready;

  cu_fifo #(.Width(32), .Depth(Blocks)) u_bytes (
    .clk_i, .rst_ni,
    .wvalid_i(block_valid_i && trim_ready), .wready_o(bytes_ready), .wdata_i(block_bytes_i),
    .rvalid_o(bytes_valid), .rready_i(length_valid), .rdata_o(bytes), .count_o(unused_blocks)
  );
  cu_snappy_trim #(.ValueBytes(V)) u_trim (
    .clk_i, .rst_ni,
    .block_valid_i(block_valid_i && bytes_ready), .block_ready_o(trim_ready), .block_bytes_i,
    .block_raw_i, .chunk_valid_i, .chunk_ready_o, .chunk_first_i, .chunk_last_i, .chunk_lane_i,
    .out_valid_o(trimmed_valid), .out_ready_i(trimmed_ready), .out_last_o(trimmed_last),
    .out_raw_o(trimmed_raw), .out_stop_o(trimmed_stop), .error_o(trim_error)
  );

  logic go_q, step_valid, step_start, step_raw, step_element, step_joined, step_more, step_end;
  logic step_over, step_parity, walker_error;
  count_t step_bytes;
  lane_t step_lane;
  logic [V*8-1:0] step_data;
  logic [31:0] long_length;
  cu_snappy_walker #(.ValueBytes(V)) u_walker (
    .clk_i, .rst_ni,
    .chunk_valid_i(trimmed_valid), .chunk_ready_o(trimmed_ready), .chunk_data_i, .chunk_parity_i,
    .chunk_first_i, .chunk_last_i(trimmed_last), .chunk_raw_i(trimmed_raw), .chunk_lane_i,
    .chunk_stop_i(trimmed_stop),
    .go_i(go_q), .step_valid_o(step_valid), .step_start_o(step_start), .step_raw_o(step_raw),
    .step_element_o(step_element), .step_joined_o(step_joined), .step_more_o(step_more),
    .step_end_o(step_end), .step_over_o(step_over), .step_bytes_o(step_bytes),
    .step_lane_o(step_lane), .step_data_o(step_data), .step_parity_o(step_parity),
    .long_length_i(long_length), .error_o(walker_error)
  );

  // ---- decode
  typedef struct packed {
    logic        valid;
    logic        start;   // the preamble: length is that of the block
    logic        raw;
    logic        first;   // of an element: length and offset are the element's
    logic        copy;    // its element is a copy, or ends with one
    logic        joined;
    count_t      own;
    logic [6:0]  copied;  // in all
    logic [31:0] length;  // of the literal, or of the block
    logic [31:0] offset;
    lane_t       lane;
    logic        ends;    // the block
    logic        bad;
  } decoded_t;
  decoded_t decoded_q, decoded_d;
  logic [V*8-1:0] data1_q, data2_q, data3_q;
  logic parity1_q, parity2_q, parity3_q;

  logic [V*8-1:0] turned;
  always_comb begin
    turned = step_data;
    for (int b = int'(PosBits) - 1; b >= 0; b--) begin
      if (step_lane[b]) turned = (turned >> (8 << b)) | (turned << (8 * V - (8 << b)));
    end
  end
  wire [63:0] head = turned[63:0];
  wire [5:0] code = head[7:2];
  wire tag_literal = head[1:0] == 2'b00;
  wire tag_long = tag_literal && code >= 6'd60;  // one to four bytes of length follow
  assign long_length = head[39:8] & (32'hffff_ffff >> {~head[3:2], 3'b0});

  // The copy behind a short literal.
  logic [23:0] second;
  always_comb begin
    second = head[23:0];
    for (int i = 0; i < 5; i++) begin
      if (tag_literal && code[2:0] == 3'(i)) second = 24'(head >> (8 * (i + 2)));
    end
  end

  logic [4:0] stops;
  logic varint_bad;  // it does not end, or exceeds 32 bits
  logic [31:0] varint;
  assign stops = ~{head[39], head[31], head[23], head[15], head[7]};
  always_comb begin
    varint     = {head[35:32], head[30:24], head[22:16], head[14:8], head[6:0]};
    varint_bad = 1'b0;
    unique casez (stops)
      5'b????1: varint &= 32'h7f;
      5'b???10: varint &= 32'h3fff;
      5'b??100: varint &= 32'h1f_ffff;
      5'b?1000: varint &= 32'hfff_ffff;
      default:  varint_bad = !stops[4] || head[38:36] != '0;
    endcase
  end

  always_comb begin
    decoded_d        = '0;
    decoded_d.valid  = step_valid && rst_ni;
    decoded_d.start  = step_start;
    decoded_d.raw    = step_raw;
    decoded_d.first  = step_element;
    decoded_d.copy   = step_element && (!tag_literal || step_joined);
    decoded_d.joined = step_joined;
    decoded_d.lane   = step_lane + lane_t'(step_element);
    decoded_d.ends   = step_end;
    decoded_d.bad    = step_over || (step_end && step_more) ||
                       (step_start && !step_raw && varint_bad) ||
                       (step_end && step_element && tag_long && long_length != '1);
    unique case (second[1:0])
      2'b01: begin
        decoded_d.copied = 7'(second[4:2]) + 7'd4;
        decoded_d.offset = {21'h0, second[7:5], second[15:8]};
      end
      2'b10: begin
        decoded_d.copied = 7'(second[7:2]) + 7'd1;
        decoded_d.offset = {16'h0, second[23:8]};
      end
      default: begin
        decoded_d.copied = 7'(second[7:2]) + 7'd1;
        decoded_d.offset = head[39:8];
      end
    endcase
    if (!decoded_d.copy) decoded_d.copied = '0;
    decoded_d.length = step_start ? varint : tag_long ? long_length : 32'(code);
    if (!step_start && !tag_literal) decoded_d.length = '0;
    if (!step_element) decoded_d.own = step_start ? '0 : step_bytes;
    else if (tag_literal && !tag_long) begin
      decoded_d.own = (32'(code) < V - 1) ? count_t'(code) + 1'b1 : count_t'(V - 1);
    end
  end

  // ---- measure
  typedef struct packed {
    logic                  valid;
    logic                  start;
    logic                  raw;
    logic                  first;
    logic                  copy;
    logic                  joined;
    count_t                own;
    logic [6:0]            copied;
    logic [31:0]           length;  // of what the element makes, or of the block
    logic [31:0]           offset;
    logic                  close;    // offset < V
    count_t                apart;    // bytes of the copy that can be made at once
    logic                  nothing;  // an offset of 0
    logic                  too_far;
    lane_t                 lane;
    logic                  ends;
    logic                  bad;
  } measured_t;
  measured_t measured_q, measured_d;
  wire close = decoded_q.offset[31:PosBits] == '0;

  always_comb begin
    measured_d = '{
      valid: decoded_q.valid && rst_ni, start: decoded_q.start, raw: decoded_q.raw,
      first: decoded_q.first, copy: decoded_q.copy, joined: decoded_q.joined, own: decoded_q.own,
      copied: decoded_q.copied,
      // Of a literal, its length is one less.
      length: decoded_q.length + 32'(decoded_q.copied) +
              32'(decoded_q.first && (!decoded_q.copy || decoded_q.joined)),
      offset: decoded_q.offset, close: close,
      apart: !close ? Whole - decoded_q.own
             : decoded_q.joined ? '0 : decoded_q.offset[CountBits-1:0],
      nothing: decoded_q.offset == '0, too_far: decoded_q.offset > HistoryBytes,
      lane: decoded_q.lane, ends: decoded_q.ends, bad: decoded_q.bad
    };
  end

  // ---- check
  typedef struct packed {
    count_t                own;
    lane_t                 lane;
    count_t                copied;  // with it
    logic [6:0]            left;    // to be copied behind
    logic [OffsetBits-1:0] offset;
    logic                  doubles;  // behind
    logic                  ends;
    logic                  corrupt;
    logic                  too_far;
  } made_t;
  made_t made_d, made_q;
  typedef struct packed {
    logic [31:0] made;  // bytes of the block that its elements have made so far
    logic [31:0] due;   // that are still to be made
    logic        over;  // the rest of the block is void
  } sums_t;
  sums_t sums_q, sums_d;
  logic put_q, put_d;
  logic alive, wrong, too_far, due;  // due: after this, something is still to be made

  wire [32:0] reach = {1'b0, sums_q.made} + 33'(measured_q.own);
  assign alive        = measured_q.valid && (measured_q.start || !sums_q.over);
  assign length_valid = measured_q.valid && measured_q.start;

  always_comb begin
    wrong   = measured_q.bad || (measured_q.first && measured_q.length > sums_q.due) ||
              (measured_q.copy &&
               (measured_q.nothing || {1'b0, measured_q.offset} > reach));
    too_far = measured_q.copy && measured_q.too_far;
    due     = measured_q.start ? !measured_q.raw && measured_q.length != '0
              : measured_q.first ? measured_q.length != sums_q.due : sums_q.due != '0;

    sums_d = sums_q;
    if (measured_q.valid && measured_q.start) begin
      sums_d.made = '0;
      sums_d.due  = measured_q.raw ? '0 : measured_q.length;
    end else if (measured_q.valid && measured_q.first) begin
      sums_d.made = sums_q.made + measured_q.length;
      sums_d.due  = sums_q.due - measured_q.length;
    end
    if (alive) sums_d.over = measured_q.ends || wrong || too_far;
    if (!rst_ni) sums_d.over = 1'b1;
  end

  always_comb begin
    made_d.own     = measured_q.own;
    made_d.lane    = measured_q.lane;
    made_d.copied  = (measured_q.copied < 7'(measured_q.apart)) ? measured_q.copied[CountBits-1:0]
                     : measured_q.apart;
    made_d.left    = measured_q.copied - 7'(made_d.copied);
    made_d.offset  = measured_q.offset[OffsetBits-1:0];
    made_d.doubles = measured_q.close && !measured_q.joined;
    made_d.ends    = measured_q.ends || wrong || too_far;
    made_d.corrupt = wrong || (measured_q.ends && due && !too_far);
    made_d.too_far = too_far && !wrong;
    put_d          = alive && rst_ni && (!measured_q.start || made_d.ends);
  end

  always_ff @(posedge clk_i) begin
    decoded_q  <= decoded_d;
    measured_q <= measured_d;
    made_q     <= made_d;
    put_q      <= put_d;
    sums_q     <= sums_d;
    data1_q    <= step_data;
    data2_q    <= data1_q;
    data3_q    <= data2_q;
    parity1_q  <= step_parity;
    parity2_q  <= parity1_q;
    parity3_q  <= parity2_q;
  end

  assign length_valid_o = length_valid;
  assign length_o       = measured_q.raw ? bytes : measured_q.length;

  // ---- queue
  typedef struct packed {
    made_t                 made;
    logic [NumberBits-1:0] number;
  } entry_t;
  entry_t in_entry, entry;
  logic room, entry_valid, entry_parity, take, data_parity;
  logic [V*8-1:0] data;
  logic [NumberBits-1:0] in_number_q, out_number_q;
  logic [$clog2(Steps+1)-1:0] steps;
  assign in_entry = '{made: made_q, number: in_number_q};
  cu_fifo #(.Width($bits(entry_t) + V * 8 + 2), .Depth(Steps)) u_steps (
    .clk_i, .rst_ni,
    .wvalid_i(put_q), .wready_o(room), .wdata_i({in_entry, ^in_entry, data3_q, parity3_q}),
    .rvalid_o(entry_valid), .rready_i(take), .rdata_o({entry, entry_parity, data, data_parity}),
    .count_o(steps)
  );

  // ---- make
  typedef struct packed {
    logic                  busy;   // with the rest of a copy
    logic [6:0]            left;   // of it
    logic [OffsetBits-1:0] offset;
    logic                  close;   // offset < V
    logic                  ends;   // the block, with it
    logic                  gap;    // the last piece was that of a block
  } rest_t;
  typedef struct packed {
    logic                  valid;
    count_t                own;
    lane_t                 lane;
    count_t                copied;
    logic [OffsetBits-1:0] offset;
    logic                  ends;
    logic                  corrupt;
    logic                  too_far;
  } piece_t;
  rest_t rest_q, rest_d;
  piece_t piece_q, piece_d;
  logic [V*8-1:0] piece_data_q;
  logic piece_parity_q;
  count_t rest_apart, rest_copied;
  assign rest_apart  = rest_q.close ? rest_q.offset[CountBits-1:0] : Whole;
  assign rest_copied = (rest_q.left < 7'(rest_apart)) ? rest_q.left[CountBits-1:0] : rest_apart;
  assign take        = entry_valid && go_i && !rest_q.busy && !rest_q.gap;

  function automatic logic is_close(logic [OffsetBits-1:0] offset);
    return offset < OffsetBits'(V);
  endfunction

  always_comb begin
    rest_d     = rest_q;
    rest_d.gap = 1'b0;
    piece_d    = '{valid: take, own: entry.made.own, lane: entry.made.lane,
                   copied: entry.made.copied, offset: entry.made.offset,
                   ends: entry.made.ends && (entry.made.left == '0 || entry.made.corrupt ||
                                             entry.made.too_far),
                   corrupt: entry.made.corrupt, too_far: entry.made.too_far};
    if (rest_q.busy) begin
      piece_d = '{valid: go_i, own: '0, lane: '0, copied: rest_copied, offset: rest_q.offset,
                  ends: rest_q.ends && rest_q.left <= 7'(rest_apart), corrupt: 1'b0,
                  too_far: 1'b0};
      if (go_i) begin
        rest_d.left = rest_q.left - 7'(rest_copied);
        rest_d.busy = rest_q.left > 7'(rest_apart);
        if (rest_q.close) begin
          rest_d.offset = rest_q.offset << 1;
          rest_d.close   = is_close(rest_q.offset << 1);
        end
      end
    end else if (take) begin
      rest_d.left   = entry.made.left;
      rest_d.busy   = entry.made.left != '0 && !entry.made.corrupt && !entry.made.too_far;
      rest_d.ends   = entry.made.ends;
      rest_d.offset = entry.made.doubles ? entry.made.offset << 1 : entry.made.offset;
      rest_d.close   = is_close(rest_d.offset);
    end
    if (go_i && piece_d.valid && piece_d.ends) rest_d.gap = 1'b1;
    if (!rst_ni) begin
      rest_d.busy   = 1'b0;
      rest_d.gap    = 1'b0;
      piece_d.valid = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    rest_q         <= rest_d;
    piece_q        <= piece_d;
    piece_data_q   <= data;
    piece_parity_q <= data_parity;
  end

  assign piece_valid_o   = piece_q.valid;
  assign piece_own_o     = piece_q.own;
  assign piece_data_o    = piece_data_q;
  assign piece_parity_o  = piece_parity_q;
  assign piece_copied_o  = piece_q.copied;
  assign piece_lane_o    = piece_q.lane;
  assign piece_offset_o  = piece_q.offset;
  assign piece_end_o     = piece_q.ends;
  assign piece_corrupt_o = piece_q.corrupt;
  assign piece_far_o     = piece_q.too_far;

  // ---- guards
  logic twin_error, error_q;
  cu_twin #(
    .Width($bits({decoded_q, measured_q, made_q, put_q, sums_q, rest_q, piece_q}))
  ) u_control (
    .clk_i, .rst_ni,
    .next_i({decoded_d, measured_d, made_d, put_d, sums_d, rest_d, piece_d}),
    .now_i({decoded_q, measured_q, made_q, put_q, sums_q, rest_q, piece_q}), .error_o(twin_error)
  );
  always_ff @(posedge clk_i) begin
    go_q <= rst_ni && steps <= ($clog2(Steps + 1))'(Steps - UnderWay);
    if (!rst_ni) begin
      in_number_q  <= '0;
      out_number_q <= '0;
      error_q      <= 1'b0;
    end else begin
      if (put_q) in_number_q <= in_number_q + 1'b1;
      if (take) out_number_q <= out_number_q + 1'b1;
      if (take && (entry.number != out_number_q || ^entry != entry_parity)) error_q <= 1'b1;
      if ((put_q && !room) || (length_valid && !bytes_valid)) error_q <= 1'b1;
    end
  end
  assign parity_error_o = trim_error | walker_error | twin_error | error_q;

  `ASSERT(a_room, put_q |-> room)
  `ASSERT(a_whole, piece_valid_o |-> piece_own_o + piece_copied_o <= Whole)
  `ASSERT(a_before, piece_valid_o && !piece_corrupt_o && !piece_far_o && piece_copied_o != '0 |->
                    OffsetBits'(piece_own_o + piece_copied_o) <= piece_offset_o)
endmodule
