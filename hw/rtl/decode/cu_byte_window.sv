// A window of two chunks on a stream of blocks, with a read position. It shows V bytes from the
// position on and moves by up to V bytes per cycle. It does not leave a block by itself: moving
// past a block's last chunk only wraps the position, until the block is flushed.
//
// While ready_o is high, the window holds V bytes from the position on, or all that remain of the
// block. head_o, the next eight bytes, is a register, so that a parser starts from a clock edge. To
// take the decision about a move off its critical path, head_o follows ahead_*: the move that
// happens unless something stalls it. After a stall, head_o and ahead_pos_o are invalid until
// ahead_* has been right again.
//
// Chunks alternate between two banks, each a window register with two more registers queued for it.
// A flush can therefore drop both chunks of the window and find the next two in place: a block's
// end usually spans two chunks and costs one cycle. The third register decouples input from moves.
//
// Each chunk has a parity bit, which is checked when the chunk leaves. Where nothing else shows that
// a bit of the control has flipped, Guarded keeps a twin of it.

`include "cu_assert.svh"

module cu_byte_window #(
  parameter int unsigned ValueBytes = 8,  // V: 8, 16, 32 or 64
  parameter int unsigned Guarded    = 0,  // or 1
  localparam int unsigned PosBits = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,

  output logic                    ready_o,
  output logic [63:0]             head_o,
  output logic [PosBits-1:0]      pos_o,
  // Byte i from the position on stands in lane (pos_o + i) mod V.
  output logic [ValueBytes*8-1:0] ring_o,
  output logic                    parity_o,  // of ring_o

  input  logic                    move_i,    // only while ready_o
  input  logic [PosBits:0]        bytes_i,   // 0..V
  input  logic                    cross_i,   // pos_o + bytes_i is V or more
  input  logic                    flush_i,   // drop the chunks from the position on, up to two
  input  logic                    ahead_move_i,
  input  logic [PosBits-1:0]      ahead_bytes_i,  // mod V
  input  logic                    ahead_cross_i,
  input  logic                    ahead_flush_i,
  output logic [PosBits-1:0]      ahead_pos_o,    // position in the next cycle
  output logic                    flushed_o,      // and with them the last of the block
  output logic                    parity_error_o  // level
);
  localparam int unsigned V = ValueBytes;

  typedef struct packed {
    logic               valid;
    logic               first;
    logic               last;
    logic [PosBits-1:0] lane;
  } tag_t;

  // Per bank: in the window, queued for it, and queued after that.
  logic [1:0][V*8-1:0] data_q, next_q, more_q;
  logic [1:0] data_parity_q, next_parity_q, more_parity_q;
  tag_t [1:0] tag_q, tag_d, next_tag_q, next_tag_d, more_tag_q, more_tag_d;
  logic low_q;  // bank of the window's first chunk
  logic in_q;   // bank of the next chunk to come
  tag_t [1:0] in_tag;
  logic [PosBits-1:0] pos_q;
  logic ready_q, ready_d;
  logic [63:0] head_q;
  logic [V*8-1:0] ring_d;

  wire lo_valid = tag_q[low_q].valid;
  wire lo_last = tag_q[low_q].last;
  wire hi_valid = tag_q[~low_q].valid;

  typedef struct packed {
    logic [1:0]         load;  // per bank: the queued chunk moves into the window
    logic               low;
    logic [PosBits-1:0] pos;
  } step_t;

  // Lanes below the position: those of the window's second chunk.
  function automatic logic [V-1:0] lanes_below(logic [PosBits-1:0] pos);
    logic [V-1:0] lanes;
    logic below = 1'b0;  // from the top by equality, which needs no carry chain
    for (int i = int'(V) - 1; i >= 0; i--) begin
      lanes[i] = below;
      below |= pos == PosBits'(i);
    end
    return lanes;
  endfunction

  // The next state of the window if it stays, is flushed, or moves beyond its first chunk: each is
  // known from registers, and selected late. A block's first chunk, which brings its position with
  // it, follows a flush, or finds the window empty.
  logic [1:0][PosBits-1:0] start, next_start;  // per bank, with its chunk first in the window
  for (genvar b = 0; b < 2; b++) begin : g_start
    assign start[b]      = tag_q[b].first ? tag_q[b].lane : pos_q;
    assign next_start[b] = next_tag_q[b].first ? next_tag_q[b].lane : pos_q;
  end
  wire [1:0] empty = ~{tag_q[1].valid, tag_q[0].valid};
  wire [1:0] without_lo = empty | {low_q, ~low_q};
  wire flush_one = lo_valid & (lo_last | ~hi_valid);  // or else both
  step_t stay, flushed, crossed;
  assign stay    = '{load: empty, low: low_q, pos: lo_valid ? pos_q : next_start[low_q]};
  assign flushed = '{load: flush_one ? without_lo : 2'b11, low: low_q ^ flush_one,
                     pos: (flush_one & hi_valid) ? start[~low_q] : next_start[low_q ^ flush_one]};
  assign crossed = '{load: lo_last ? empty : without_lo, low: low_q ^ ~lo_last, pos: pos_q};

  // Without a carry chain: how far the window moves is late.
  function automatic logic [PosBits-1:0] sum(logic [PosBits-1:0] a, logic [PosBits-1:0] b);
    logic carry = 1'b0;
    for (int unsigned i = 0; i < PosBits; i++) begin
      sum[i] = a[i] ^ b[i] ^ carry;
      carry  = (a[i] & b[i]) | ((a[i] | b[i]) & carry);
    end
  endfunction

  function automatic step_t step(logic move, logic [PosBits-1:0] bytes, logic over, logic flush);
    step_t next = (move & over) ? crossed : stay;
    next.pos = move ? sum(pos_q, bytes) : stay.pos;
    return flush ? flushed : next;
  endfunction

  // The window has V bytes, or the block's last, if these chunks move into it.
  function automatic logic enough(logic [1:0] load, logic low);
    logic first = load[low] ? next_tag_q[low].valid : tag_q[low].valid;
    logic last = load[low] ? next_tag_q[low].last : tag_q[low].last;
    logic second = load[~low] ? next_tag_q[~low].valid : tag_q[~low].valid;
    return first & (last | second);
  endfunction

  step_t now, ahead;
  always_comb now = step(move_i, bytes_i[PosBits-1:0], cross_i, flush_i);
  always_comb ahead = step(ahead_move_i, ahead_bytes_i, ahead_cross_i, ahead_flush_i);

  // A flush would drop the last chunk of the block.
  wire ends = lo_valid & (lo_last | (hi_valid & tag_q[~low_q].last));
  assign flushed_o = flush_i & ends;
  for (genvar b = 0; b < 2; b++) begin : g_in
    assign in_tag[b] = '{valid: chunk_valid_i & (in_q == 1'(b)), first: chunk_first_i,
                         last: chunk_last_i, lane: chunk_lane_i};
  end
  assign chunk_ready_o = ~more_tag_q[in_q].valid;

  assign tag_d[0] = now.load[0] ? next_tag_q[0] : tag_q[0];
  assign tag_d[1] = now.load[1] ? next_tag_q[1] : tag_q[1];

  always_comb begin
    logic [V-1:0] second;
    second = lanes_below(ahead.pos);
    for (int i = 0; i < int'(V); i++) begin
      logic bank;
      bank = ahead.low ^ second[i];
      ring_d[8*i+:8] = ahead.load[bank] ? next_q[bank][8*i+:8] : data_q[bank][8*i+:8];
    end
    // Rotated by the position, in steps of powers of two.
    for (int b = int'(PosBits) - 1; b >= 0; b--) begin
      if (ahead.pos[b]) ring_d = (ring_d >> (8 << b)) | (ring_d << (8 * V - (8 << b)));
    end
  end

  always_comb begin
    next_tag_d = next_tag_q;
    more_tag_d = more_tag_q;
    for (int b = 0; b < 2; b++) begin
      if (now.load[b] || !next_tag_q[b].valid) begin
        next_tag_d[b]       = more_tag_q[b].valid ? more_tag_q[b] : in_tag[b];
        more_tag_d[b].valid = 1'b0;
      end else if (!more_tag_q[b].valid) begin
        more_tag_d[b] = in_tag[b];
      end
    end
  end
  wire in_d = in_q ^ (chunk_ready_o & chunk_valid_i);
  assign ready_d = flush_i ? enough(flushed.load, flushed.low)
                   : (move_i & cross_i) ? enough(crossed.load, crossed.low)
                   : enough(stay.load, stay.low);

  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 2; b++) begin
      if (now.load[b]) begin
        data_q[b]        <= next_q[b];
        data_parity_q[b] <= next_parity_q[b];
      end
      if (now.load[b] || !next_tag_q[b].valid) begin
        next_q[b]        <= more_tag_q[b].valid ? more_q[b] : chunk_data_i;
        next_parity_q[b] <= more_tag_q[b].valid ? more_parity_q[b] : chunk_parity_i;
      end
      if (!more_tag_q[b].valid) begin
        more_q[b]        <= chunk_data_i;
        more_parity_q[b] <= chunk_parity_i;
      end
    end
    pos_q <= now.pos;
    head_q <= ring_d[63:0];
    if (!rst_ni) begin
      tag_q      <= '0;
      next_tag_q <= '0;
      more_tag_q <= '0;
      low_q      <= 1'b0;
      in_q       <= 1'b0;
      ready_q    <= 1'b0;
    end else begin
      tag_q      <= tag_d;
      next_tag_q <= next_tag_d;
      more_tag_q <= more_tag_d;
      low_q      <= now.low;
      in_q       <= in_d;
      ready_q    <= ready_d;
    end
  end

  assign ready_o = ready_q;
  assign head_o  = head_q;
  assign pos_o   = pos_q;
  assign ahead_pos_o = ahead.pos;

  always_comb begin
    logic [V-1:0] second;
    second = lanes_below(pos_q);
    for (int i = 0; i < int'(V); i++) ring_o[8*i+:8] = data_q[low_q ^ second[i]][8*i+:8];
  end
  assign parity_o = ^ring_o;

  logic parity_error_q, twin_error;
  logic [1:0] left_q, odd_q;  // a chunk has left; its parity does not match
  assign parity_error_o = parity_error_q | twin_error;
  if (Guarded != 0) begin : g_twin
    localparam int unsigned Bits = 6 * $bits(tag_t) + 3;
    logic control_error, position_error;
    cu_twin #(.Width(Bits)) u_control (
      .clk_i, .rst_ni,
      .next_i(rst_ni ? {tag_d, next_tag_d, more_tag_d, now.low, in_d, ready_d} : Bits'(0)),
      .now_i({tag_q, next_tag_q, more_tag_q, low_q, in_q, ready_q}), .error_o(control_error)
    );
    cu_twin #(.Width(PosBits + 64)) u_position (
      .clk_i, .rst_ni, .next_i({now.pos, ring_d[63:0]}), .now_i({pos_q, head_q}),
      .error_o(position_error)
    );
    assign twin_error = control_error | position_error;
  end else begin : g_single
    assign twin_error = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 2; b++) begin
      left_q[b] <= rst_ni && now.load[b] && tag_q[b].valid;
      odd_q[b]  <= ^{data_parity_q[b], data_q[b]};
    end
    if ((left_q & odd_q) != '0) parity_error_q <= 1'b1;
    if (move_i && !(lo_valid && (lo_last || hi_valid))) parity_error_q <= 1'b1;  // ready_q is wrong
    if (!rst_ni) parity_error_q <= 1'b0;
  end

  `ASSERT(a_move, move_i |-> ready_q && !flush_i)
  `ASSERT(a_bytes,
      move_i |-> bytes_i <= (PosBits + 1)'(V) &&
                 cross_i == ((PosBits + 2)'(pos_q) + (PosBits + 2)'(bytes_i) >= (PosBits + 2)'(V)))
  `ASSERT(a_order, hi_valid |-> lo_valid)
  `COVER(c_both, flushed_o && !lo_last)
endmodule
