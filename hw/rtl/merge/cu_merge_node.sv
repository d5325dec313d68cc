// Merges two sorted key streams into one: user key ascending bytewise, then trailer descending; a
// wins ties.
//
// The beats of both heads are compared in step. While they are equal, one of them is emitted and
// either key may still win. At the first difference the winner is known: the loser rewinds to its
// first beat (cu_key_queue), and the winner's remaining beats follow. Trailer, way and parity of an
// output key are therefore valid with its last beat only.
//
//   state    beat out          then
//   Compare  the heads' equal  stay
//   Compare  the winner's      Compare if that was its last, else DrainA / DrainB
//   Drain*   that side's       Compare after its last
//
// One beat per cycle without gaps, whatever the interleaving. The critical path is the loop from
// the heads' moves (move_q) through the read addresses and the memory into the comparison of the
// next heads, and from there to their moves. All decisions are therefore made one cycle ahead,
// including whether the output has room: the queue of a next node says so by itself. Only what is not
// followed by a node needs a FIFO.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_merge_node #(
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned Ways        = 2,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned ToNode      = 0,  // 1: the output is the input of another node
  localparam type key_t = `CU_MERGED_KEY_T(ValueBytes, Ways)
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic a_valid_i,
  output logic a_ready_o,
  output logic a_room_o,    // ready in the next cycle
  input  key_t a_i,

  input  logic b_valid_i,
  output logic b_ready_o,
  output logic b_room_o,
  input  key_t b_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  input  logic out_room_i,  // with ToNode only
  output key_t out_o
);
  localparam int unsigned V = ValueBytes;
  typedef `CU_KEY_BEAT_T(V) beat_t;
  localparam int unsigned KeyBeats = (MaxKeyBytes + V - 1) / V;
  // Beats beyond one key let the next one follow without a gap; where a key is long, the gap does
  // not matter but a doubled memory would.
  localparam int unsigned Beats = 1 << $clog2((KeyBeats < 64) ? KeyBeats + 4 : KeyBeats);
  localparam int unsigned OrderBits = $bits(beat_t);

  `ASSERT_PARAM(value_bytes, $onehot(ValueBytes), "ValueBytes must be a power of two")
  `ASSERT_PARAM(max_key_bytes, MaxKeyBytes >= 1, "MaxKeyBytes must be positive")

  typedef enum logic [1:0] {Compare, DrainA, DrainB} state_e;

  // A beat as a number that sorts as the beat does. The end of the stream comes after every key. If
  // two keys have the same padded bytes, the one that ends in this beat, or earlier in it, is the
  // shorter one.
  function automatic logic [OrderBits-1:0] order(beat_t beat);
    logic [V*8-1:0] data;
    for (int unsigned i = 0; i < V; i++) data[(V-1-i)*8+:8] = beat.data[i*8+:8];
    return {beat.eos, data, !beat.last, beat.bytes};
  endfunction

  key_t a, b;
  beat_t a_next, b_next;
  logic a_next_valid, b_next_valid;
  logic [63:0] a_next_trailer, b_next_trailer;
  logic a_pop, a_free, a_rewind, b_pop, b_free, b_rewind;

  cu_key_queue #(.ValueBytes(ValueBytes), .Beats(Beats), .Ways(Ways)) u_a (
    .clk_i, .rst_ni,
    .in_valid_i(a_valid_i), .in_ready_o(a_ready_o), .in_room_o(a_room_o), .in_i(a_i), .head_o(a),
    .next_valid_o(a_next_valid), .next_o(a_next), .next_trailer_o(a_next_trailer),
    .pop_i(a_pop), .free_i(a_free), .rewind_i(a_rewind)
  );

  cu_key_queue #(.ValueBytes(ValueBytes), .Beats(Beats), .Ways(Ways)) u_b (
    .clk_i, .rst_ni,
    .in_valid_i(b_valid_i), .in_ready_o(b_ready_o), .in_room_o(b_room_o), .in_i(b_i), .head_o(b),
    .next_valid_o(b_next_valid), .next_o(b_next), .next_trailer_o(b_next_trailer),
    .pop_i(b_pop), .free_i(b_free), .rewind_i(b_rewind)
  );

  logic beat_less, same, trailer_less, unused_same_trailer;
  cu_compare #(.Width(OrderBits)) u_compare (
    .a_i(order(b_next)), .b_i(order(a_next)), .less_o(beat_less), .equal_o(same)
  );

  cu_compare #(.Width(64)) u_compare_trailers (
    .a_i(a_next_trailer), .b_i(b_next_trailer), .less_o(trailer_less),
    .equal_o(unused_same_trailer)
  );

  // Where one of two equal beats is the last, the other is: then the larger trailer comes first.
  wire go_on = same && !a_next.last;
  wire b_less = beat_less || (same && a_next.last && trailer_less);

  // The moves of the heads: none while there is no room.
  typedef struct packed {
    logic out;     // a beat goes out
    logic take_b;  // it is b's
    logic pop_a;
    logic pop_b;
    logic won;     // a pop is final: this key has won
    logic free_a;  // the two together
    logic free_b;
    logic rewind_a;
    logic rewind_b;
  } move_t;

  state_e state_q, state_d;
  move_t move_q, move_d;
  wire push = move_q.out;
  wire key_t winner = move_q.take_b ? b : a;
  logic room;  // in the next cycle

  assign a_pop    = move_q.pop_a;
  assign b_pop    = move_q.pop_b;
  assign a_free   = move_q.free_a;
  assign b_free   = move_q.free_b;
  assign a_rewind = move_q.rewind_a;
  assign b_rewind = move_q.rewind_b;

  always_comb begin
    state_d = state_q;
    if (move_q.out && move_q.won) begin
      if (move_q.take_b) state_d = b.last ? Compare : DrainB;
      else state_d = a.last ? Compare : DrainA;
    end
  end

  always_comb begin
    move_d = '0;
    unique case (state_d)
      DrainA: begin
        move_d.out    = a_next_valid;
        move_d.pop_a  = a_next_valid;
        move_d.free_a = a_next_valid;
        move_d.won    = 1'b1;
      end
      DrainB: begin
        move_d.out    = b_next_valid;
        move_d.take_b = 1'b1;
        move_d.pop_b  = b_next_valid;
        move_d.free_b = b_next_valid;
        move_d.won    = 1'b1;
      end
      default: if (a_next_valid && b_next_valid) begin
        move_d.out      = 1'b1;
        move_d.take_b   = b_less;
        move_d.pop_a    = !b_less;
        move_d.pop_b    = b_less || go_on;
        move_d.won      = !go_on;
        move_d.free_a   = !b_less && !go_on;
        move_d.free_b   = b_less;
        move_d.rewind_a = b_less;
        move_d.rewind_b = !b_less && !go_on;
      end
    endcase
    if (!room) move_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Compare;
      move_q  <= '0;
    end else begin
      state_q <= state_d;
      move_q  <= move_d;
    end
  end

  if (ToNode != 0) begin : g_to_node
    assign room        = out_room_i;
    assign out_valid_o = push;
    assign out_o       = winner;
    wire unused_ready = out_ready_i;

    `ASSERT(a_room, push |-> out_ready_i)
  end else begin : g_fifo
    localparam int unsigned Depth = (V > 32) ? 4 : 2;
    localparam int unsigned CountBits = $clog2(Depth + 1);
    logic [CountBits-1:0] count;
    wire pop = out_valid_o && out_ready_i;
    assign room = count + CountBits'(push) - CountBits'(pop) != CountBits'(Depth);
    logic unused_ready;  // accounted for in move_q
    logic unused_error;  // a key lost or doubled has not the tag that is due
    wire unused_room = out_room_i;

    cu_wide_fifo #(.Width($bits(key_t)), .Depth(Depth)) u_out (
      .clk_i, .rst_ni,
      .wvalid_i(push), .wready_o(unused_ready),
      .wdata_i(winner),
      .rvalid_o(out_valid_o), .rready_i(out_ready_i),
      .rdata_o(out_o),
      .count_o(count), .error_o(unused_error)
    );

    `ASSERT(a_stable,
        out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_o.data) && $stable(out_o.last))
    `ASSERT(a_room, push |-> count != CountBits'(Depth))
  end
  `COVER(c_same, push && !move_q.won)
  `COVER(c_b_wins_mid_key, push && move_q.rewind_a && !b.last)
  `COVER(c_both_end, push && a.eos && b.eos)
endmodule
