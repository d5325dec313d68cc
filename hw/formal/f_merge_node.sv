// cu_merge_node merges: its output is sorted by user key ascending, trailer descending, way ascending,
// and holds each key of either side once; its end comes once, after both sides' ends and all keys.
// An arbitrary key is followed through. Order is that around an arbitrary key and way: once something
// not before it has left, nothing before it does, if that holds of both inputs. Keys are of 0 to 2
// bytes, in beats of one byte.

module f_merge_node #(
  parameter bit Invariants = 1,
  localparam int unsigned V = 1,
  localparam int unsigned MaxKeyBytes = 2
) (
  input logic       clk_i,
  input logic [1:0] valid_i,  // of a, of b
  input logic [1:0] data_i,
  input logic [1:0] bytes_i,
  input logic [1:0] last_i,
  input logic [1:0] eos_i,
  input logic [1:0] trailer_i,
  input logic       out_ready_i,
  input logic       follow_i,      // the key ending now on this side is the one to follow
  input logic       follow_side_i
);
  typedef struct packed {
    logic [1:0] data;   // first byte, second: one bit of each is used
    logic [1:0] bytes;
    logic       trailer;
  } key_t;

  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [1:0] ready, room, room_q;
  logic running_q = 1'b0;
  always_ff @(posedge clk_i) room_q <= room;
  always_ff @(posedge clk_i) running_q <= rst_n_q;
  logic out_valid, out_bytes, out_last, out_eos, unused_parity, out_way;
  logic [7:0] out_data;
  logic [63:0] out_trailer;
  cu_merge_node #(.ValueBytes(V), .Ways(2), .MaxKeyBytes(MaxKeyBytes)) u_dut (
    .clk_i, .rst_ni(rst_n_q),
    .a_valid_i(valid_i[0]), .a_ready_o(ready[0]),
    .a_i({7'b0, data_i[0], bytes_i[0], last_i[0], eos_i[0], 63'b0, trailer_i[0], 1'b0, 1'b0}),
    .b_valid_i(valid_i[1]), .b_ready_o(ready[1]),
    .b_i({7'b0, data_i[1], bytes_i[1], last_i[1], eos_i[1], 63'b0, trailer_i[1], 1'b0, 1'b1}),
    .a_room_o(room[0]), .b_room_o(room[1]), .out_room_i(1'b0),
    .out_valid_o(out_valid), .out_ready_i,
    .out_o({out_data, out_bytes, out_last, out_eos, out_trailer, unused_parity, out_way})
  );

  // What the order is checked around, in any proof another one.
  key_t pivot_q;
  logic pivot_way_q;
  always_ff @(posedge clk_i) begin
    pivot_q     <= pivot_q;
    pivot_way_q <= pivot_way_q;
  end

  // A key of this way comes before the pivot: of the same padded bytes, the shorter one; of the same
  // user key, the larger trailer; of the same key, the lower way.
  function automatic logic precedes(key_t key, logic way);
    return {key.data, key.bytes, !key.trailer, way} <
           {pivot_q.data, pivot_q.bytes, !pivot_q.trailer, pivot_way_q};
  endfunction

  // ---- both inputs: sorted keys, then an end
  logic [1:0] push, mid_q = '0, ended_q = '0, past_q = '0;
  logic [1:0] first_data_q;
  key_t [1:0] key;
  logic [1:0][3:0] keys_q = '0;  // complete ones inside
  for (genvar s = 0; s < 2; s++) begin : g_side
    assign push[s] = rst_n_q && valid_i[s] && ready[s];
    assign key[s]  = '{data: mid_q[s] ? {first_data_q[s], data_i[s]} : {data_i[s], 1'b0},
                       bytes: 2'(mid_q[s]) + 2'(bytes_i[s]), trailer: trailer_i[s]};
    wire key_in = push[s] && last_i[s] && !eos_i[s];
    wire key_out = rst_n_q && out_valid && out_ready_i && out_last && !out_eos &&
                   out_way == 1'(s);
    always_ff @(posedge clk_i) begin
      if (push[s]) mid_q[s] <= !last_i[s];
      if (push[s]) first_data_q[s] <= data_i[s];
      if (key_in && !precedes(key[s], 1'(s))) past_q[s] <= 1'b1;
      if (push[s] && eos_i[s]) ended_q[s] <= 1'b1;
      keys_q[s] <= keys_q[s] + 4'(key_in) - 4'(key_out);
    end
    always_ff @(posedge clk_i) begin
      if (valid_i[s]) begin
        m_padded : assume (bytes_i[s] || !data_i[s]);
        m_empty  : assume (bytes_i[s] || (last_i[s] && !mid_q[s]));
        m_length : assume (!mid_q[s] || last_i[s]);
        m_end    : assume (!ended_q[s]);
        m_eos    : assume (!eos_i[s] || (!mid_q[s] && last_i[s] && !bytes_i[s]));
        m_sorted : assume (eos_i[s] || !last_i[s] || !past_q[s] || !precedes(key[s], 1'(s)));
      end
    end
  end

  // ---- the output
  wire pop = rst_n_q && out_valid && out_ready_i;
  wire key_pop = pop && out_last && !out_eos;
  logic out_mid_q = 1'b0, out_past_q = 1'b0, out_ended_q = 1'b0, held_q = 1'b0;
  logic out_first_q;
  key_t out_key;
  logic [77:0] held_data_q;
  logic [3:0] stuck_q = '0;
  logic following_q = 1'b0, side_q;
  logic [3:0] ahead_q;
  key_t followed_q;

  assign out_key = '{data: out_mid_q ? {out_first_q, out_data[0]} : {out_data[0], 1'b0},
                     bytes: 2'(out_mid_q) + 2'(out_bytes), trailer: out_trailer[0]};
  // Each side stands at a complete key or at its end: there is something to say.
  wire decidable = (keys_q[0] != '0 || ended_q[0]) && (keys_q[1] != '0 || ended_q[1]) &&
                   !out_ended_q;

  always_ff @(posedge clk_i) begin
    if (pop) out_mid_q <= !out_last;
    if (pop) out_first_q <= out_data[0];
    if (key_pop && !precedes(out_key, out_way)) out_past_q <= 1'b1;
    if (pop && out_eos) out_ended_q <= 1'b1;
    held_q <= rst_n_q && out_valid && !out_ready_i;
    held_data_q <= {out_data, out_bytes, out_last, out_eos, out_trailer, out_way};
    stuck_q <= (rst_n_q && decidable && !out_valid) ? stuck_q + 1'b1 : '0;
    if (following_q) begin
      if (key_pop && out_way == side_q) begin
        ahead_q <= ahead_q - 1'b1;
        if (ahead_q == '0) following_q <= 1'b0;
      end
    end else if (follow_i && push[follow_side_i] && last_i[follow_side_i] &&
                 !eos_i[follow_side_i]) begin
      following_q <= 1'b1;
      side_q      <= follow_side_i;
      ahead_q     <= keys_q[follow_side_i] - 4'(key_pop && out_way == follow_side_i);
      followed_q  <= key[follow_side_i];
    end
  end

  always_comb begin
    if (rst_n_q) begin
      p_room   : assert (!running_q || room_q == ready);  // what another node relies on
      p_moves  : assert (stuck_q <= 4'd3);
      p_held   : assert (!held_q || (out_valid && held_data_q ==
                         {out_data, out_bytes, out_last, out_eos, out_trailer, out_way}));
      p_silent : assert (!out_ended_q || !out_valid);
    end
    if (pop && out_eos) begin
      p_end : assert (&ended_q && keys_q == '0 && !out_mid_q && out_last);
    end
    if (key_pop) begin
      p_from   : assert (keys_q[out_way] != '0);
      p_sorted : assert (!out_past_q || !precedes(out_key, out_way));
      p_key    : assert (!following_q || out_way != side_q || ahead_q != '0 ||
                         out_key == followed_q);
    end
  end

  if (Invariants) begin : g_invariants
    localparam int unsigned Keys = 4;  // in a queue at most
    localparam logic [1:0] Compare = 2'd0;
    typedef struct packed {
      logic [7:0] data;
      logic       bytes;
      logic       last;
      logic       eos;
    } beat_t;
    typedef struct packed {
      logic eos;
      key_t key;
    } entry_t;

    function automatic beat_t first_beat(entry_t entry);
      return '{data: {7'h0, entry.key.data[1]}, bytes: entry.key.bytes != '0,
               last: !entry.key.bytes[1], eos: entry.eos};
    endfunction
    function automatic beat_t second_beat(logic data);
      return '{data: {7'h0, data}, bytes: 1'b1, last: 1'b1, eos: 1'b0};
    endfunction
    function automatic logic [10:0] order(beat_t beat);
      return {beat.eos, beat.data, !beat.last, beat.bytes};
    endfunction

    // ---- the queues, side by side
    logic [1:0][7:0][10:0] mem;
    logic [1:0][3:0][65:0] key_mem;
    for (genvar i = 0; i < 8; i++) begin : g_mem
      assign mem[0][i] = u_dut.u_a.mem[i];
      assign mem[1][i] = u_dut.u_b.mem[i];
    end
    for (genvar i = 0; i < int'(Keys); i++) begin : g_key_mem
      assign key_mem[0][i] = u_dut.u_a.key_mem[i];
      assign key_mem[1][i] = u_dut.u_b.key_mem[i];
    end
    wire [1:0][3:0] base = {u_dut.u_b.base_q, u_dut.u_a.base_q};
    wire [1:0][3:0] read = {u_dut.u_b.read_q, u_dut.u_a.read_q};
    wire [1:0][3:0] read_next = {u_dut.u_b.read_next_q, u_dut.u_a.read_next_q};
    wire [1:0][3:0] write = {u_dut.u_b.write_q, u_dut.u_a.write_q};
    wire [1:0][2:0] key_read = {u_dut.u_b.key_read_q, u_dut.u_a.key_read_q};
    wire [1:0][2:0] key_read_next = {u_dut.u_b.key_read_next_q, u_dut.u_a.key_read_next_q};
    wire [1:0][2:0] key_write = {u_dut.u_b.key_write_q, u_dut.u_a.key_write_q};
    wire beat_t [1:0] head = {u_dut.u_b.head_q, u_dut.u_a.head_q};
    wire [1:0][65:0] head_tail = {u_dut.u_b.key_q, u_dut.u_a.key_q};

    // ---- the node
    wire [1:0] state = u_dut.state_q;
    wire out = u_dut.move_q.out;
    wire side = u_dut.move_q.take_b;  // whose beat goes out
    wire [1:0] frees = {u_dut.move_q.free_b, u_dut.move_q.free_a};
    wire [1:0] pops = {u_dut.move_q.pop_b, u_dut.move_q.pop_a};
    wire [1:0] rewinds = {u_dut.move_q.rewind_b, u_dut.move_q.rewind_a};
    wire [1:0] drains = {state == 2'd2, state == 2'd1};
    // All sides' first beats are equal and have gone out; it compares the second ones.
    wire both_mid = state == Compare && read[0] != base[0];

    // ---- complete keys and the end in each queue; the first stays until it has won whole
    entry_t [1:0][Keys-1:0] entry_q;
    logic [1:0][Keys-1:0][3:0] place_q;  // of its first beat
    logic [1:0][2:0] count_q = '0;
    wire [1:0] leave = frees & {head[1].last, head[0].last};
    always_ff @(posedge clk_i) begin
      for (int s = 0; s < 2; s++) begin
        if (rst_n_q && leave[s]) begin
          entry_q[s] <= entry_q[s] >> $bits(entry_t);
          place_q[s] <= place_q[s] >> 4;
        end
        if (push[s] && last_i[s]) begin
          entry_q[s][2'(count_q[s] - 3'(leave[s]))] <= '{eos: eos_i[s], key: key[s]};
          place_q[s][2'(count_q[s] - 3'(leave[s]))] <= write[s] - 4'(mid_q[s]);
        end
        if (rst_n_q) count_q[s] <= count_q[s] + 3'(push[s] && last_i[s]) - 3'(leave[s]);
      end
    end
    // A key that has gone out whole, maybe not yet taken, was not before the pivot.
    logic sent_past_q = 1'b0;
    always_ff @(posedge clk_i) begin
      for (int s = 0; s < 2; s++) begin
        if (rst_n_q && leave[s] && !entry_q[s][0].eos && !precedes(entry_q[s][0].key, 1'(s))) begin
          sent_past_q <= 1'b1;
        end
      end
    end

    // ---- the output's beats, and the keys that end with each
    wire [1:0] beats = u_dut.g_fifo.u_out.g_lut_ram.u_fifo.count_q;
    wire slot = u_dut.g_fifo.u_out.g_lut_ram.u_fifo.rptr_q;
    wire [76:0] word = u_dut.g_fifo.u_out.g_lut_ram.u_fifo.mem[~slot];  // the second
    wire beat_t behind = word[76:66];
    wire way_behind = word[0];
    wire eos_out = out_ended_q || (beats != '0 && out_eos) || (beats[1] && behind.eos);
    wire key_0 = beats != '0 && out_last && !out_eos;
    wire key_1 = beats[1] && behind.last && !behind.eos;
    wire key_t out_behind = '{
      data: out_last ? {behind.data[0], 1'b0} : {out_data[0], behind.data[0]},
      bytes: 2'(!out_last) + 2'(behind.bytes), trailer: word[2]
    };
    // The last beat that went out: whether its key goes on.
    wire open = (beats == '0) ? out_mid_q : (beats == 2'd1) ? !out_last : !behind.last;
    wire open_data = (beats == '0) ? out_first_q : (beats == 2'd1) ? out_data[0] : behind.data[0];

    beat_t [1:0] first;   // of the key at the head
    logic [1:0] present;  // its first beat
    logic [1:0] more;     // a second beat follows, or will
    logic [1:0] first_data, ends;
    logic [1:0][2:0] keys;  // in the queue, without the end
    for (genvar s = 0; s < 2; s++) begin : g_queue
      wire entry_t front = entry_q[s][0];
      wire partial = count_q[s] == '0 && mid_q[s];
      wire beat_t partial_beat = '{data: {7'h0, first_data_q[s]}, bytes: 1'b1, last: 1'b0,
                                   eos: 1'b0};
      assign present[s]    = count_q[s] != '0 || mid_q[s];
      assign first[s]      = partial ? partial_beat : first_beat(front);
      assign more[s]       = present[s] && !first[s].last;
      assign first_data[s] = first[s].data[0];
      assign ends[s]       = count_q[s] != '0 && entry_q[s][2'(count_q[s] - 1'b1)].eos;
      assign keys[s]       = count_q[s] - 3'(ends[s]);
      wire key_t lowest = '{data: {first_data_q[s], 1'b0}, bytes: 2'd2, trailer: 1'b1};

      // Each one's beats stand behind those of the one in front of it.
      logic [Keys-1:0] wrong, after;
      for (genvar i = 0; i < int'(Keys); i++) begin : g_entry
        wire entry_t entry = entry_q[s][i];
        wire [3:0] place = place_q[s][i];
        wire [3:0] place_behind = place + 4'd1 + 4'(entry.key.bytes[1]);
        wire [2:0] next = place[2:0] + 1'b1;
        assign wrong[i] =
            place_behind != ((3'(i + 1) == count_q[s]) ? write[s] - 4'(mid_q[s])
                                                       : place_q[s][(i + 1) % Keys]) ||
            mem[s][place[2:0]] != first_beat(entry) ||
            (entry.key.bytes[1] && mem[s][next] != second_beat(entry.key.data[0])) ||
            key_mem[s][2'(key_read[s] + 3'(i))] != {63'h0, entry.key.trailer, 1'b0, 1'(s)} ||
            entry.key.bytes == 2'd3 || (entry.key.bytes == 2'd0 && entry.key.data != '0) ||
            (entry.key.bytes == 2'd1 && entry.key.data[0]) ||
            (entry.eos && (entry.key.bytes != '0 || 3'(i + 1) != count_q[s]));
        // The one in front of it is not before the pivot.
        assign after[i] = i != 0 && !precedes(entry_q[s][(i + Keys - 1) % Keys].key, 1'(s));
      end
      wire [3:0] place_mid = write[s] - 4'(mid_q[s]);
      wire [3:0] at_head = base[s] - 4'(drains[s]);

      always_comb begin
        if (rst_n_q) begin
          i_room  : assert (4'(count_q[s]) + 4'(mid_q[s]) <= 4'(Keys));
          i_write : assert (at_head == ((count_q[s] != '0) ? place_q[s][0] : place_mid) &&
                            key_write[s] == key_read[s] + count_q[s]);
          i_mid   : assert (!mid_q[s] || mem[s][place_mid[2:0]] == partial_beat);
          i_next  : assert (read_next[s] == read[s] + 1'b1 &&
                            key_read_next[s] == key_read[s] + 1'b1);
          i_read  : assert (read[s] == base[s] + 4'(both_mid));
          i_more  : assert (!(drains[s] || both_mid) || more[s]);
          // The head is what the next move needs.
          if (out && (state == Compare || drains[s])) begin
            i_head : assert (present[s] && read[s] != write[s] && head[s] ==
                             ((read[s] == at_head) ? first[s] : second_beat(front.key.data[0])));
            i_tail : assert (!head[s].last || head_tail[s] == key_mem[s][key_read[s][1:0]]);
          end
          // The winner's first beat, which has gone, is below the loser's.
          i_won   : assert (!drains[s] || (present[!s] && order(first[s]) < order(first[!s])));
          i_ended : assert (eos_out ? ended_q[s] && keys[s] == '0 : ended_q[s] == ends[s]);
          i_last  : assert (!ended_q[s] || !mid_q[s]);
          i_keys  : assert (keys_q[s] == 4'(keys[s]) + 4'(key_0 && out_way == 1'(s)) +
                                         4'(key_1 && way_behind == 1'(s)));
          // No key before the pivot is left, nor can there be.
          i_past  : assert (!sent_past_q || past_q[s] || ended_q[s] ||
                            (partial && !precedes(lowest, 1'(s))));
        end
      end
      for (genvar i = 0; i < int'(Keys); i++) begin : g_key
        always_comb begin
          if (rst_n_q && 3'(i) < count_q[s]) begin
            i_entry  : assert (!wrong[i]);
            if (!entry_q[s][i].eos) begin
              i_sorted : assert (precedes(entry_q[s][i].key, 1'(s)) ? !sent_past_q && !after[i]
                                                                    : past_q[s]);
            end
          end
        end
      end
    end

    // What the heads say: which one wins, if not both go on.
    wire same = head[0] == head[1];
    wire go_on = same && !head[0].last;
    wire b_wins = order(head[1]) < order(head[0]) ||
                  (same && head[0].last && head_tail[0][65:2] < head_tail[1][65:2]);
    wire [1:0] wins = go_on ? 2'b00 : b_wins ? 2'b10 : 2'b01;

    // The followed key's place in its queue.
    wire [3:0] ahead_in_queue = ahead_q - 4'(key_0 && out_way == side_q) -
                                4'(key_1 && way_behind == side_q);

    always_comb begin
      if (rst_n_q) begin
        i_state : assert (state != 2'd3);
        i_space : assert (!out || beats != 2'd2);
        i_none  : assert (out || (pops | frees | rewinds) == '0);
        i_out   : assert (beats <= 2'd2 && u_dut.g_fifo.u_out.g_lut_ram.u_fifo.wptr_q == slot ^ beats[0]);
        i_pair  : assert (!both_mid || first[0] == first[1]);
        if (out && state == Compare) begin
          i_moves : assert (frees == wins && pops == (wins | {2{go_on}}) && side == b_wins &&
                            u_dut.move_q.won == !go_on && rewinds == {wins[0], wins[1]});
        end else begin
          i_drain : assert (!out || (frees == drains && pops == drains && rewinds == '0 &&
                                     side == drains[1] && u_dut.move_q.won));
        end
        i_open  : assert (open == (both_mid || drains != '0) &&
                          (!open || open_data == first_data[drains[1]]));
        i_pairs : assert (!(beats != '0 && out_mid_q && !out_last) &&
                          !(beats[1] && !out_last && !behind.last));
        i_eos   : assert (!(beats != '0 && out_eos) || (beats == 2'd1 && !out_mid_q && out_last));
        i_eos_behind : assert (!(beats[1] && behind.eos) || (out_last && behind.last));
        i_over  : assert (!eos_out || (keys == '0 && (ends == 2'b01 || ends == 2'b10) && !out &&
                                       !both_mid && drains == '0));
        i_quiet : assert (!out_ended_q || beats == '0);
        i_soon  : assert (stuck_q <= 4'd2 && (stuck_q == '0 || out || beats != '0) &&
                          (stuck_q != 4'd2 || beats != '0));
        i_out_past : assert (!out_past_q || sent_past_q);
        i_out_0 : assert (!key_0 || (precedes(out_key, out_way) ? !out_past_q : sent_past_q));
        i_out_1 : assert (!key_1 || (precedes(out_behind, way_behind)
                                     ? !out_past_q && (!key_0 || precedes(out_key, out_way))
                                     : sent_past_q));
        if (following_q) begin
          i_followed : assert (
              (key_0 && out_way == side_q && ahead_q == '0) ? out_key == followed_q :
              (key_1 && way_behind == side_q &&
               ahead_q == 4'(key_0 && out_way == side_q)) ? out_behind == followed_q :
              ahead_in_queue < 4'(keys[side_q]) &&
              entry_q[side_q][ahead_in_queue[1:0]].key == followed_q);
        end
      end else begin
        i_reset : assert (keys_q == '0 && mid_q == '0 && ended_q == '0 && past_q == '0 &&
                          count_q == '0 && !sent_past_q && !out_mid_q && !out_past_q &&
                          !out_ended_q && !held_q && stuck_q == '0 && !following_q);
      end
    end
  end
endmodule
