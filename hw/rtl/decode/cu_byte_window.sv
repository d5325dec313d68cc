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
// Chunks alternate between two banks, each with a place in the window and two more queued for it. A
// flush can therefore drop both chunks of the window and find the next two in place: a block's end
// usually spans two chunks and costs one cycle. The third place decouples input from moves. Only
// the chunks' tags move from place to place. Their bytes stay in a slot of LUT RAM, which each lane
// reads by itself: in the slot of the window's first chunk, or in the next one.
//
// Each chunk comes with a parity bit. It is checked then, and each byte gets one of its own, which
// leaves with it; or each byte comes with one. The number of slots between the first chunk and the
// next to come must be that of the chunks that are held.

`include "cu_assert.svh"

module cu_byte_window #(
  parameter int unsigned ValueBytes  = 8,  // V: 8, 16, 32 or 64
  parameter int unsigned ParityBytes = ValueBytes,  // under one parity bit: V or 1
  localparam int unsigned Parities = ValueBytes / ParityBytes,
  localparam int unsigned PosBits = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic [Parities-1:0]     chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,

  output logic                    ready_o,
  output logic [63:0]             head_o,
  output logic [PosBits-1:0]      pos_o,
  // Byte i from the position on stands in lane (pos_o + i) mod V.
  output logic [ValueBytes*8-1:0] ring_o,
  output logic                    parity_o,  // of ring_o as it came

  input  logic                    move_i,    // only while ready_o
  input  logic [PosBits:0]        bytes_i,   // 0..V
  input  logic                    cross_i,   // pos_o + bytes_i is V or more
  input  logic                    flush_i,   // drop the chunks from the position on, up to two
  input  logic                    ahead_move_i,   // not with ahead_flush_i
  input  logic [PosBits-1:0]      ahead_bytes_i,  // mod V
  input  logic                    ahead_cross_i,
  input  logic                    ahead_flush_i,
  output logic [PosBits-1:0]      ahead_pos_o,    // position in the next cycle
  output logic                    flushed_o,      // and with them the last of the block
  output logic                    parity_error_o  // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Slots = 8;  // six, in a power of two
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned HeadBytes = 8;
  localparam int unsigned AheadSelects = (V == HeadBytes) ? V : 1;  // per lane, or for all

  `ASSERT_PARAM(parity_bytes, ParityBytes inside {1, ValueBytes}, "ParityBytes must be 1 or V")

  typedef struct packed {
    logic               valid;
    logic               first;
    logic               last;
    logic [PosBits-1:0] lane;
  } tag_t;

  // Per bank: in the window, queued for it, and queued after that.
  tag_t [1:0] tag_q, tag_d, next_tag_q, next_tag_d, more_tag_q, more_tag_d;
  logic [SlotBits-1:0] first_q;  // slot of the window's first chunk
  logic [SlotBits-1:0] in_q;     // slot of the next chunk to come
  wire low = first_q[0];         // bank of the window's first chunk
  tag_t [1:0] in_tag;
  logic [PosBits-1:0] pos_q;
  logic ready_q, ready_d;
  logic [63:0] head_q, head_d;
  logic [V-1:0] ring_parity;

  wire lo_valid = tag_q[low].valid;
  wire lo_last = tag_q[low].last;
  wire hi_valid = tag_q[~low].valid;

  typedef struct packed {
    logic [1:0]          load;  // per bank: the queued chunk moves into the window
    logic [SlotBits-1:0] first, second;  // slots of the window's chunks
    logic [PosBits-1:0]  pos;
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
  wire [1:0] without_lo = empty | {low, ~low};
  wire flush_one = lo_valid & (lo_last | ~hi_valid);  // or else both
  step_t stay, flushed, crossed;
  logic [3:0][SlotBits-1:0] slot;  // from the window's first chunk on
  function automatic logic [SlotBits-1:0] after(logic [SlotBits-1:0] n, int unsigned steps);
    for (int unsigned s = 0; s < steps; s++) n = {n[2] ^ (n[1] & n[0]), n[1] ^ n[0], ~n[0]};
    return n;
  endfunction
  for (genvar i = 0; i < 4; i++) begin : g_slot
    assign slot[i] = after(first_q, i);
  end
  wire [1:0] dropped = flush_one ? 2'd1 : lo_valid ? 2'd2 : 2'd0;
  assign stay    = '{load: empty, first: slot[0], second: slot[1],
                     pos: lo_valid ? pos_q : next_start[low]};
  assign flushed = '{load: flush_one ? without_lo : 2'b11,
                     first: slot[dropped], second: slot[dropped + 1'b1],
                     pos: (flush_one & hi_valid) ? start[~low] : next_start[low ^ flush_one]};
  assign crossed = '{load: lo_last ? empty : without_lo,
                     first: lo_last ? slot[0] : slot[1], second: lo_last ? slot[1] : slot[2],
                     pos: pos_q};

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
  function automatic logic enough(logic [1:0] load, logic bank);
    logic first = load[bank] ? next_tag_q[bank].valid : tag_q[bank].valid;
    logic last = load[bank] ? next_tag_q[bank].last : tag_q[bank].last;
    logic second = load[~bank] ? next_tag_q[~bank].valid : tag_q[~bank].valid;
    return first & (last | second);
  endfunction

  step_t now, ahead;
  always_comb now = step(move_i, bytes_i[PosBits-1:0], cross_i, flush_i);
  always_comb ahead = step(ahead_move_i, ahead_bytes_i, ahead_cross_i, ahead_flush_i);
  logic unused_step;
  assign unused_step = ^{now.second, ahead.load};

  // A flush would drop the last chunk of the block.
  wire ends = lo_valid & (lo_last | (hi_valid & tag_q[~low].last));
  assign flushed_o = flush_i & ends;
  for (genvar b = 0; b < 2; b++) begin : g_in
    assign in_tag[b] = '{valid: chunk_valid_i & (in_q[0] == 1'(b)), first: chunk_first_i,
                         last: chunk_last_i, lane: chunk_lane_i};
  end
  assign chunk_ready_o = ~more_tag_q[in_q[0]].valid;
  wire push = chunk_valid_i & chunk_ready_o;

  assign tag_d[0] = now.load[0] ? next_tag_q[0] : tag_q[0];
  assign tag_d[1] = now.load[1] ? next_tag_q[1] : tag_q[1];

  // In the window now.
  wire [V-1:0] from_second = lanes_below(pos_q);
  // A slot is a row of a bank: lanes choose among the rows of both banks' chunks.
  logic [1:0][SlotBits-2:0] rows, ahead_rows;
  for (genvar b = 0; b < 2; b++) begin : g_row
    assign rows[b]       = (low == 1'(b)) ? slot[0][SlotBits-1:1] : slot[1][SlotBits-1:1];
    assign ahead_rows[b] = (ahead.first[0] == 1'(b)) ? ahead.first[SlotBits-1:1]
                                                     : ahead.second[SlotBits-1:1];
  end
  logic [V*8-1:0] ahead_ring;
  logic [AheadSelects-1:0] ahead_from_second;
  logic [V-1:0] in_parity;
  for (genvar i = 0; i < int'(V); i++) begin : g_lane
    (* ram_style = "distributed" *) logic [8:0] mem[Slots];
    // What was not written yet can be seen, too, behind a block's last byte.
    initial for (int unsigned s = 0; s < Slots; s++) mem[s] = '0;
    assign in_parity[i] = (ParityBytes == 1) ? chunk_parity_i[i%Parities] : ^chunk_data_i[8*i+:8];
    always_ff @(posedge clk_i) begin
      if (push) mem[in_q] <= {in_parity[i], chunk_data_i[8*i+:8]};
    end
    wire bank = low ^ from_second[i];
    assign {ring_parity[i], ring_o[8*i+:8]} = mem[{rows[bank], bank}];
    if (V == HeadBytes) begin : g_head
      wire ahead_bank = ahead.first[0] ^ ahead_from_second[i];
      assign ahead_ring[8*i+:8] = mem[{ahead_rows[ahead_bank], ahead_bank}][7:0];
    end
  end
  assign parity_o = ^ring_parity;

  // The bytes of the head, in the next cycle. If V is more, only the first eight lanes can be in
  // the second chunk, all of them if the position is in the upper half: a copy of the bytes then
  // needs two addresses for all lanes, and takes half the LUT RAM.
  if (V == HeadBytes) begin : g_own_lanes
    // Where the bytes of a move end is late, so that lanes are found for that and for all else, and
    // then selected.
    wire [V-1:0] moved_from_second = lanes_below(sum(pos_q, ahead_bytes_i));
    wire [V-1:0] other_from_second = lanes_below(ahead_flush_i ? flushed.pos : stay.pos);
    assign ahead_from_second = ahead_move_i ? moved_from_second : other_from_second;
  end else begin : g_copy
    (* ram_style = "distributed" *) logic [HeadBytes*8-1:0] low_mem[Slots];
    (* ram_style = "distributed" *) logic [(V-HeadBytes)*8-1:0] high_mem[Slots];
    initial for (int unsigned s = 0; s < Slots; s++) low_mem[s] = '0;
    initial for (int unsigned s = 0; s < Slots; s++) high_mem[s] = '0;
    always_ff @(posedge clk_i) begin
      if (push) begin
        low_mem[in_q]  <= chunk_data_i[HeadBytes*8-1:0];
        high_mem[in_q] <= chunk_data_i[V*8-1:HeadBytes*8];
      end
    end
    wire bank = ahead.first[0] ^ ahead_from_second[0];
    assign ahead_from_second = ahead.pos[PosBits-1];
    assign ahead_ring = {high_mem[ahead.first], low_mem[{ahead_rows[bank], bank}]};
  end

  cu_byte_rotate #(.Bytes(V), .OutBytes(8)) u_head (
    .data_i(ahead_ring), .pos_i(ahead.pos), .data_o(head_d)
  );

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
  assign ready_d = flush_i ? enough(flushed.load, flushed.first[0])
                   : (move_i & cross_i) ? enough(crossed.load, crossed.first[0])
                   : enough(stay.load, stay.first[0]);

  always_ff @(posedge clk_i) begin
    pos_q <= now.pos;
    head_q <= head_d;
    if (!rst_ni) begin
      tag_q      <= '0;
      next_tag_q <= '0;
      more_tag_q <= '0;
      first_q    <= '0;
      in_q       <= '0;
      ready_q    <= 1'b0;
    end else begin
      tag_q      <= tag_d;
      next_tag_q <= next_tag_d;
      more_tag_q <= more_tag_d;
      first_q    <= now.first;
      in_q       <= in_q + SlotBits'(push);
      ready_q    <= ready_d;
    end
  end

  assign ready_o = ready_q;
  assign head_o  = head_q;
  assign pos_o   = pos_q;
  assign ahead_pos_o = ahead.pos;

  logic [SlotBits-1:0] held;
  always_comb begin
    held = '0;
    for (int b = 0; b < 2; b++) begin
      held = held + SlotBits'(tag_q[b].valid) + SlotBits'(next_tag_q[b].valid) +
             SlotBits'(more_tag_q[b].valid);
    end
  end

  logic parity_error_q;
  assign parity_error_o = parity_error_q;
  always_ff @(posedge clk_i) begin
    if (push && ^in_parity != ^chunk_parity_i) parity_error_q <= 1'b1;
    if (in_q - first_q != held) parity_error_q <= 1'b1;
    if (move_i && !(lo_valid && (lo_last || hi_valid))) parity_error_q <= 1'b1;  // ready_q is wrong
    if (!rst_ni) parity_error_q <= 1'b0;
  end

  `ASSERT(a_parity, parity_o == ^ring_o)
  `ASSERT(a_move, move_i |-> ready_q && !flush_i)
  `ASSERT(a_ahead, !(ahead_move_i && ahead_flush_i))
  `ASSERT(a_bytes,
      move_i |-> bytes_i <= (PosBits + 1)'(V) &&
                 cross_i == ((PosBits + 2)'(pos_q) + (PosBits + 2)'(bytes_i) >= (PosBits + 2)'(V)))
  `ASSERT(a_order, hi_valid |-> lo_valid)
  `COVER(c_both, flushed_o && !lo_last)
endmodule
