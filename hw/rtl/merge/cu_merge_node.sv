// Merges two sorted key streams into one: user key ascending bytewise, then trailer descending;
// a wins ties.
//
// Beats of the two heads are compared in step. While they are the same, one of them goes out and
// either key may still win; at the first difference the winner is known, the loser goes back to
// its first beat (cu_key_queue) and the winner's remaining beats follow. Trailer and way of an output key
// are therefore known, and valid, with its last beat only.
//
//   state    beat out          then
//   Compare  the heads' equal  stay
//   Compare  the winner's      Compare if that was its last, else DrainA / DrainB
//   Drain*   that side's       Compare after its last
//
// One beat per cycle with no cycle in between, whatever the interleaving. The path that bounds the
// clock is the loop from what the heads do (move_q) over the read addresses and the memory into the
// comparison of the next heads, and from there into what those do. Hence every decision is taken a
// cycle ahead, the one that there is room in the output, too.

module cu_merge_node #(
  parameter int unsigned V           = 8,
  parameter int unsigned WayBits     = 1,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned KB = $clog2(V + 1)
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               a_valid_i,
  output logic               a_ready_o,
  input  logic [V*8-1:0]     a_data_i,
  input  logic [KB-1:0]      a_bytes_i,
  input  logic               a_last_i,
  input  logic               a_eos_i,
  input  logic [63:0]        a_trailer_i,
  input  logic [WayBits-1:0] a_way_i,

  input  logic               b_valid_i,
  output logic               b_ready_o,
  input  logic [V*8-1:0]     b_data_i,
  input  logic [KB-1:0]      b_bytes_i,
  input  logic               b_last_i,
  input  logic               b_eos_i,
  input  logic [63:0]        b_trailer_i,
  input  logic [WayBits-1:0] b_way_i,

  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [V*8-1:0]     out_data_o,
  output logic [KB-1:0]      out_bytes_o,
  output logic               out_last_o,
  output logic               out_eos_o,
  output logic [63:0]        out_trailer_o,
  output logic [WayBits-1:0] out_way_o
);
  localparam int unsigned KeyBeats = (MaxKeyBytes + V - 1) / V;
  // Beats beyond one key let the next one follow without a gap; where a key is long, the gap does
  // not matter but a doubled memory would.
  localparam int unsigned Beats = 1 << $clog2((KeyBeats < 64) ? KeyBeats + 4 : KeyBeats);
  localparam int unsigned OutBits = V * 8 + KB + 2 + 64 + WayBits;
  localparam int unsigned OrderBits = 1 + V * 8 + 1 + KB;

  typedef enum logic [1:0] {Compare, DrainA, DrainB} state_e;

  typedef struct packed {
    logic [V*8-1:0]     data;
    logic [KB-1:0]      bytes;
    logic               last;
    logic               eos;
    logic [63:0]        trailer;
    logic [WayBits-1:0] way;
  } head_t;

  typedef struct packed {
    logic [V*8-1:0] data;
    logic [KB-1:0]  bytes;
    logic           last;
    logic           eos;
  } next_t;

  // A beat as a number that sorts as the beat does. The end of the stream comes after every key.
  // Of two keys with the same padded bytes the one that ends here, or ends earlier here, is the
  // shorter one.
  function automatic logic [OrderBits-1:0] order(next_t beat);
    logic [V*8-1:0] data;
    for (int unsigned i = 0; i < V; i++) data[(V-1-i)*8+:8] = beat.data[i*8+:8];
    return {beat.eos, data, !beat.last, beat.bytes};
  endfunction

  head_t a, b, winner;
  next_t a_next, b_next;
  logic a_next_valid, b_next_valid;
  logic [63:0] a_next_trailer, b_next_trailer;
  logic a_pop, a_free, a_rewind, b_pop, b_free, b_rewind;

  cu_key_queue #(.V(V), .Beats(Beats), .WayBits(WayBits)) u_a (
    .clk_i, .rst_ni,
    .in_valid_i(a_valid_i), .in_ready_o(a_ready_o), .in_data_i(a_data_i), .in_bytes_i(a_bytes_i),
    .in_last_i(a_last_i), .in_eos_i(a_eos_i), .in_trailer_i(a_trailer_i), .in_way_i(a_way_i),
    .head_data_o(a.data), .head_bytes_o(a.bytes), .head_last_o(a.last),
    .head_eos_o(a.eos), .head_trailer_o(a.trailer), .head_way_o(a.way),
    .next_valid_o(a_next_valid), .next_data_o(a_next.data), .next_bytes_o(a_next.bytes),
    .next_last_o(a_next.last), .next_eos_o(a_next.eos), .next_trailer_o(a_next_trailer),
    .pop_i(a_pop), .free_i(a_free), .rewind_i(a_rewind)
  );

  cu_key_queue #(.V(V), .Beats(Beats), .WayBits(WayBits)) u_b (
    .clk_i, .rst_ni,
    .in_valid_i(b_valid_i), .in_ready_o(b_ready_o), .in_data_i(b_data_i), .in_bytes_i(b_bytes_i),
    .in_last_i(b_last_i), .in_eos_i(b_eos_i), .in_trailer_i(b_trailer_i), .in_way_i(b_way_i),
    .head_data_o(b.data), .head_bytes_o(b.bytes), .head_last_o(b.last),
    .head_eos_o(b.eos), .head_trailer_o(b.trailer), .head_way_o(b.way),
    .next_valid_o(b_next_valid), .next_data_o(b_next.data), .next_bytes_o(b_next.bytes),
    .next_last_o(b_next.last), .next_eos_o(b_next.eos), .next_trailer_o(b_next_trailer),
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

  // What the heads do: nothing while there is no room.
  typedef struct packed {
    logic out;     // a beat goes out
    logic take_b;  // it is b's
    logic pop_a;
    logic pop_b;
    logic won;     // a pop is for good: this key has won
    logic free_a;  // the two together
    logic free_b;
    logic rewind_a;
    logic rewind_b;
  } move_t;

  state_e state_q, state_d;
  move_t move_q, move_d;
  logic [1:0] count;
  wire push = move_q.out;
  wire pop = out_valid_o && out_ready_i;
  wire room = count + 2'(push) - 2'(pop) != 2'd2;  // in the next cycle

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

  logic unused_ready;  // move_q knows
  assign winner = move_q.take_b ? b : a;

  cu_fifo #(.Width(OutBits), .Depth(2)) u_out (
    .clk_i, .rst_ni,
    .wvalid_i(push), .wready_o(unused_ready),
    .wdata_i({winner.data, winner.bytes, winner.last, winner.eos, winner.trailer, winner.way}),
    .rvalid_o(out_valid_o), .rready_i(out_ready_i),
    .rdata_o({out_data_o, out_bytes_o, out_last_o, out_eos_o, out_trailer_o, out_way_o}),
    .count_o(count)
  );

`ifndef SYNTHESIS
  initial begin
    if (V != 8 && V != 16 && V != 32 && V != 64) $fatal(1, "V must be 8, 16, 32 or 64");
    if (MaxKeyBytes < 1) $fatal(1, "MaxKeyBytes must be positive");
  end

  a_stable : assert property (@(posedge clk_i) disable iff (!rst_ni)
      out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_data_o) && $stable(out_last_o));
  a_room : assert property (@(posedge clk_i) disable iff (!rst_ni) push |-> count != 2'd2);
  c_same : cover property (@(posedge clk_i) push && !move_q.won);
  c_b_wins_mid_key : cover property (@(posedge clk_i) push && move_q.rewind_a && !b.last);
  c_both_end : cover property (@(posedge clk_i) push && a.eos && b.eos);
`endif
endmodule
