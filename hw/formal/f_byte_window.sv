// cu_byte_window: it shows the bytes of each block from the read position on, in order and none twice;
// it is ready when it holds V of them or the block's last, soon after they have come; its head is
// theirs too, and its ahead_pos_o the next position, whenever what was said ahead is what was done; a
// flush drops no more than the block, and ends where it does. One bit of each byte is followed.

module f_byte_window #(
  parameter bit Invariants = 1,
  parameter int unsigned V = 8,
  localparam int unsigned PosBits = $clog2(V),
  localparam int unsigned Chunks = 6  // held at most
) (
  input logic               clk_i,
  input logic               chunk_valid_i,
  input logic [V-1:0]       chunk_bits_i,  // of its bytes
  input logic               chunk_last_i,
  input logic [PosBits-1:0] chunk_lane_i,  // of the block's first byte, if first
  input logic [PosBits-1:0] end_i,         // of its last, if last
  input logic               move_i,
  input logic [PosBits:0]   bytes_i,
  input logic               flush_i,
  input logic               ahead_move_i,
  input logic [PosBits:0]   ahead_bytes_i,
  input logic               ahead_flush_i
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  function automatic logic [V*8-1:0] spread(logic [V-1:0] bits);
    for (int i = 0; i < int'(V); i++) spread[8*i+:8] = {7'h0, bits[i]};
  endfunction

  logic between_q = 1'b1;  // the next chunk to come is a block's first
  logic chunk_ready, ready, parity, flushed, parity_error;
  logic [V*8-1:0] ring;
  logic [63:0] head;
  logic [PosBits-1:0] pos_q, pos, ahead_pos;
  wire [PosBits:0] sum = {1'b0, pos_q} + bytes_i;
  wire [PosBits:0] ahead_sum = {1'b0, pos_q} + ahead_bytes_i;
  cu_byte_window #(.ValueBytes(V)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .chunk_valid_i(chunk_valid_i && rst_n_q),
    .chunk_ready_o(chunk_ready), .chunk_data_i(spread(chunk_bits_i)),
    .chunk_parity_i(^chunk_bits_i), .chunk_first_i(between_q), .chunk_last_i, .chunk_lane_i,
    .ready_o(ready), .head_o(head), .pos_o(pos), .ring_o(ring), .parity_o(parity),
    .move_i(move_i && rst_n_q), .bytes_i, .cross_i(sum[PosBits]), .flush_i(flush_i && rst_n_q),
    .ahead_move_i, .ahead_bytes_i(ahead_bytes_i[PosBits-1:0]), .ahead_cross_i(ahead_sum[PosBits]),
    .ahead_flush_i, .ahead_pos_o(ahead_pos), .flushed_o(flushed), .parity_error_o(parity_error)
  );

  // What LUT RAM begins with, which this solver does not ask for.
  for (genvar l = 0; l < int'(V); l++) begin : g_begin
    for (genvar i = 0; i < 8; i++) begin : g_slot
      always_comb m_zero : assume (rst_n_q || u_dut.g_lane[l].mem[i] == '0);
    end
  end
  if (V > 8) begin : g_begin_copy
    for (genvar i = 0; i < 8; i++) begin : g_slot
      always_comb begin
        m_zero : assume (rst_n_q || {u_dut.g_copy.high_mem[i], u_dut.g_copy.low_mem[i]} == '0);
      end
    end
  end

  wire take = rst_n_q && chunk_valid_i && chunk_ready;
  wire move = rst_n_q && move_i;
  wire flush = rst_n_q && flush_i;

  // ---- the chunks that it has taken and not left, and the position in the first
  typedef struct packed {
    logic [V-1:0]       bits;
    logic               first;
    logic               last;
    logic [PosBits-1:0] lane;  // of the block's first byte, if first
    logic [PosBits-1:0] stop;  // of its last, if last
  } chunk_t;
  chunk_t [Chunks-1:0] queue_q, queue_d;
  logic [2:0] count_q = '0, count_d, gone;
  logic [PosBits-1:0] pos_d;
  logic flushing_q = 1'b0;        // of the first chunk's block, some have been dropped
  logic past_q = 1'b0, past_d;    // the block's last byte lies before the position
  chunk_t in;
  assign in = '{bits: chunk_bits_i, first: between_q, last: chunk_last_i, lane: chunk_lane_i,
                stop: end_i};

  // Bytes from the position to the block's end, if it is in sight.
  wire ends_here = count_q != '0 && queue_q[0].last;
  wire ends_next = count_q > 3'd1 && !queue_q[0].last && queue_q[1].last;
  wire [PosBits+1:0] stop = ends_here ? (PosBits + 2)'(queue_q[0].stop)
                                      : (PosBits + 2)'(queue_q[1].stop) + (PosBits + 2)'(V);
  wire [PosBits+1:0] left = (ends_here || ends_next) ? stop + 1'b1 - (PosBits + 2)'(pos_q)
                                                     : (PosBits + 2)'(2 * V);

  always_comb begin
    gone = 3'(sum[PosBits] && !queue_q[0].last);
    if (!move) gone = '0;
    // How many a flush drops at a time is left to it: what is in the window.
    if (flush) gone = 3'(u_dut.lo_valid) + 3'(u_dut.lo_valid && !u_dut.lo_last && u_dut.hi_valid);
    queue_d = queue_q >> (gone * $bits(chunk_t));
    count_d = count_q - gone;
    pos_d   = move ? sum[PosBits-1:0] : pos_q;
    past_d  = past_q || (move && (PosBits + 2)'(bytes_i) >= left);
    if (take) queue_d[count_d] = in;
    count_d = count_d + 3'(take);
    if ((gone != '0 || count_q == '0) && count_d != '0 && queue_d[0].first) begin
      pos_d  = queue_d[0].lane;
      past_d = 1'b0;
    end
  end

  logic true_q = 1'b1;  // what was said ahead is what was done
  logic [PosBits-1:0] ahead_pos_q;
  logic [1:0] waits_q = '0, drops_q = '0;
  wire enough = count_q != '0 && (queue_q[0].last || count_q > 3'd1) && !flushing_q;
  always_ff @(posedge clk_i) begin
    if (rst_n_q) begin
      queue_q <= queue_d;
      count_q <= count_d;
      pos_q   <= pos_d;
      past_q  <= past_d;
      if (flush) flushing_q <= !flushed && (flushing_q || gone != '0);
      if (take) between_q <= chunk_last_i;
      waits_q <= (enough && !ready && !flush) ? waits_q + 1'b1 : '0;
      drops_q <= (flush && count_q != '0 && gone == '0) ? drops_q + 1'b1 : '0;
      true_q  <= ahead_move_i == move && ahead_flush_i == flush &&
                 (!move || ahead_bytes_i == bytes_i);
    end
    ahead_pos_q <= ahead_pos;
  end

  logic [V-1:0] ring_wrong;
  logic [7:0] head_wrong;
  always_comb begin
    ring_wrong = '0;
    head_wrong = '0;
    for (int i = 0; i < int'(V); i++) begin
      logic [PosBits-1:0] lane;
      logic [7:0] wanted;
      lane = pos_q + PosBits'(i);
      wanted = {7'h0, (lane < pos_q) ? queue_q[1].bits[lane] : queue_q[0].bits[lane]};
      if ((PosBits + 2)'(i) < left) begin
        ring_wrong[i] = ring[8*lane+:8] != wanted;
        if (i < 8) head_wrong[i] = head[8*i+:8] != wanted;
      end
    end
  end

  always_comb begin
    m_lane  : assume (!(between_q && chunk_last_i) || chunk_lane_i <= end_i);
    m_move  : assume (!move_i || (ready && !flush_i && !flushing_q && bytes_i <= (PosBits + 1)'(V)));
    m_ahead : assume (ahead_bytes_i <= (PosBits + 1)'(V) && !(ahead_move_i && ahead_flush_i));
    if (rst_n_q) begin
      p_count   : assert (count_q <= 3'(Chunks));
      p_room    : assert (chunk_ready || count_q > 3'd3);
      p_parity_error : assert (!parity_error);
      p_soon    : assert (waits_q < 2'd2 && drops_q < 2'd2);
      // A flush drops what there is, the block's last at the latest, and says so.
      p_dropped : assert (!flush || (gone <= count_q && (gone != 3'd2 || !queue_q[0].last)));
      p_flushed : assert (flushed == (flush && gone != '0 && queue_q[gone-1'b1].last));
      if (ready && !flushing_q) begin
        p_enough : assert (enough);
        p_pos    : assert (pos == pos_q);
        p_parity : assert (parity == ^ring);
        p_ring   : assert (past_q || ring_wrong == '0);
        p_head   : assert (past_q || !true_q || head_wrong == '0);
        p_ahead  : assert (!true_q || ahead_pos_q == pos_q);
      end
    end
  end

  if (Invariants) begin : g_invariants
    // Chunk i is in bank low + i, modulo two. A bank's first stands in the window, the others behind
    // it; or behind it already, if it has just come.
    wire low = u_dut.low;
    wire [1:0] here = {u_dut.tag_q[1].valid, u_dut.tag_q[0].valid};
    wire [1:0] next = {u_dut.next_tag_q[1].valid, u_dut.next_tag_q[0].valid};
    wire [1:0] more = {u_dut.more_tag_q[1].valid, u_dut.more_tag_q[0].valid};
    wire [1:0] of_low = 2'(here[low]) + 2'(next[low]) + 2'(more[low]);
    wire [1:0] of_high = 2'(here[~low]) + 2'(next[~low]) + 2'(more[~low]);
    // Bytes of the second chunk count once it is here.
    logic head_differs;
    always_comb begin
      head_differs = 1'b0;
      for (int i = 0; i < 8; i++) begin
        logic [PosBits-1:0] lane;
        lane = pos + PosBits'(i);
        if ((lane >= pos || here[~low]) && head[8*i+:8] != ring[{lane, 3'b0}+:8]) begin
          head_differs = 1'b1;
        end
      end
    end

    always_comb begin
      if (rst_n_q) begin
        i_count : assert (count_q == 3'(of_low) + 3'(of_high) &&
                          (of_low == of_high || of_low == of_high + 1'b1) &&
                          (here[low] || of_high == '0) && (more & ~(next & here)) == '0 &&
                          u_dut.in_q == u_dut.first_q + count_q);
        i_ready : assert (ready == (here[low] && (u_dut.tag_q[low].last || here[~low])));
        i_between : assert ((count_q == '0) ? between_q == !flushing_q
                                            : between_q == queue_q[count_q-1'b1].last);
        i_pos   : assert (!here[low] || flushing_q ||
                          (pos == pos_q && (!true_q || ahead_pos_q == pos_q)));
        i_past  : assert (!ends_here || past_q || flushing_q || pos_q <= queue_q[0].stop);
        i_lane  : assert (here[low] || count_q == '0 || !queue_q[0].first ||
                          (pos_q == queue_q[0].lane && !past_q));
        i_flush : assert (!flushing_q || count_q == '0 || !queue_q[0].first);
        i_start : assert (here[low] || count_q == '0 || flushing_q || queue_q[0].first);
        i_head  : assert (!here[low] || !true_q || !head_differs);
        i_soon  : assert ((waits_q == '0 || ready) && (drops_q == '0 || here[low]));
      end else begin
        i_reset : assert (count_q == '0 && between_q && !flushing_q && waits_q == '0 &&
                          drops_q == '0);
      end
    end
    for (genvar i = 0; i < int'(Chunks); i++) begin : g_chunk
      wire bank = low ^ 1'(i);
      wire [1:0] row = 2'(i / 2) + 2'(!here[bank]);  // window, behind it, behind that
      wire [2:0] slot = u_dut.first_q + 3'(i);
      wire [PosBits+2:0] tag = (row == 2'd0) ? u_dut.tag_q[bank]
                             : (row == 2'd1) ? u_dut.next_tag_q[bank] : u_dut.more_tag_q[bank];
      always_comb begin
        if (rst_n_q && 3'(i) < count_q) begin
          i_tag  : assert (tag == {1'b1, queue_q[i].first, queue_q[i].last, queue_q[i].lane});
          i_one  : assert (!(queue_q[i].first && queue_q[i].last) ||
                           queue_q[i].lane <= queue_q[i].stop);
        end
        if (rst_n_q && 3'(i) + 3'd1 < count_q) begin
          i_next : assert (queue_q[(i + 1) % Chunks].first == queue_q[i].last);
        end
      end
      for (genvar l = 0; l < int'(V); l++) begin : g_lane
        wire [8:0] held = u_dut.g_lane[l].mem[slot];
        always_comb begin
          i_bits : assert (!rst_n_q || 3'(i) >= count_q || held[7:0] == {7'h0, queue_q[i].bits[l]});
        end
      end
    end
    // Also of slots that hold no chunk.
    for (genvar l = 0; l < int'(V); l++) begin : g_parity
      for (genvar i = 0; i < 8; i++) begin : g_slot
        wire [8:0] held = u_dut.g_lane[l].mem[i];
        always_comb i_even : assert (held[8] == ^held[7:0]);
      end
    end
  end
endmodule
