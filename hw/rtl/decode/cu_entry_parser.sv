// Walks the entries of a way's blocks: one cycle for a header of up to eight bytes, one per V bytes
// of key (shared bytes counted) and of value. Emits what each cycle yields as an event, without
// back-pressure: it takes a place in each FIFO downstream before it emits for it.
//
//   Idle   take the next block (or the end of the run)
//   Head   header; two zeros (shared, unshared) are the restart array: flush what follows
//   Long   header that Head cannot take whole: how long its next varint is
//   Varint takes that
//   Key    a beat of the key: shared bytes come from the key before, the rest from the window
//   Value  a beat of the value
//   Flush  what Head's flush has left of the block; the End event comes with the last of it
//
// Bytes of a header are taken before it is checked; the check runs beside the first key beat, and its
// result comes a cycle after that beat's event. Of a bad one, an event of nonsense may follow.
// From a fault on, all that is left is to flush blocks.

module cu_entry_parser
  import sluice_abi_pkg::*;
#(
  parameter int unsigned ValueBytes    = 8,
  parameter int unsigned MaxKeyBytes   = 1024,  // user key
  parameter int unsigned MaxValueBytes = ValueBytesLimit,
  localparam int unsigned PosBits  = $clog2(ValueBytes),
  localparam int unsigned SpanBits = PosBits + 1  // 0..V
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    block_valid_i,
  output logic                    block_ready_o,
  input  logic                    block_end_i,    // no block, but the end of the run
  input  logic [31:0]             block_bytes_i,  // without trailer

  input  logic                    window_ready_i,
  input  logic [63:0]             window_head_i,
  input  logic [PosBits-1:0]      window_pos_i,
  input  logic [ValueBytes*8-1:0] window_ring_i,
  input  logic                    window_parity_i,
  output logic                    window_move_o,
  output logic [SpanBits-1:0]     window_bytes_o,
  output logic                    window_cross_o,  // with them the position leaves its chunk
  output logic                    window_flush_o,
  // The same if nothing holds the state up: decided early. See cu_byte_window.
  output logic                    window_ahead_move_o,
  output logic [PosBits-1:0]      window_ahead_bytes_o,
  output logic                    window_ahead_cross_o,
  output logic                    window_ahead_flush_o,
  input  logic [PosBits-1:0]      window_ahead_pos_i,
  input  logic                    window_flushed_i,

  input  logic                    key_room_i,
  input  logic                    value_room_i,
  input  logic                    record_room_i,
  input  logic                    check_room_i,
  input  logic                    all_checked_i,  // every End event was found to be good
  input  logic                    fault_i,        // found downstream; level

  output logic                    key_take_o,
  output logic                    value_take_o,
  output logic                    record_take_o,
  output logic                    check_take_o,

  // At most one a cycle.
  output logic                    ev_head_o,    // window_head_i is taken, in full or in part
  output logic                    ev_key_o,
  output logic                    ev_value_o,
  output logic                    ev_fault_o,   // ev_status_o
  output logic                    ev_end_o,     // of a block
  output logic                    ev_eos_o,

  output logic                    ev_head_parity_o,  // of window_head_i

  // Key and value beats; what window_head_i shows, if ev_head_o.
  output logic [ValueBytes*8-1:0] ev_data_o,    // lanes below ev_shared_o are not valid
  output logic                    ev_parity_o,  // of all of ev_data_o
  output logic [SpanBits-1:0]     ev_bytes_o,   // of the user key, or of the value: 0..V
  output logic                    ev_first_o,   // beat of the key, or of the value
  output logic                    ev_last_o,    // beat of the internal key, or of the value
  // Key beats.
  output logic [SpanBits-1:0]     ev_shared_o,  // lanes that the key before provides
  output logic [SpanBits-1:0]     ev_span_o,    // bytes of the internal key
  output logic                    ev_user_o,    // has a beat of the user key
  output logic                    ev_user_last_o,
  output logic [15:0]             ev_user_bytes_o,   // of the whole key
  output logic [31:0]             ev_value_bytes_o,  // of the whole value
  output merge_status_e           ev_status_o,  // of the header; a cycle after the key's first beat
  // End.
  output logic [31:0]             ev_block_bytes_o,    // without trailer
  output logic [31:0]             ev_restart_bytes_o,  // from the restart array to the block's end
  output logic                    ev_restart_zero_o,   // the first restart is

  output logic                    flipped_o            // a bit has strayed; level
);
  import cu_entry_pkg::*;

  localparam int unsigned V = ValueBytes;
  localparam int unsigned LowBits = PosBits + 2;  // below 4 V
  localparam int unsigned LongKeyBits = $clog2(MaxKeyBytes + 9) + 1;
  localparam int unsigned KeyBits = (LongKeyBits > LowBits) ? LongKeyBits : LowBits + 1;
  localparam logic [31:0] RestartBytes = 32'd8;  // the least that follows the entries

  typedef enum logic [2:0] {Idle, Head, Long, Varint, Key, Value, Flush, Done} state_e;

  state_e state_q, state_d;
  logic [1:0] varint_q, varint_d;  // that Long and Varint are at
  logic first_q, first_d;          // beat of the key, or of the value
  logic stop_q;                    // there was a fault
  logic [31:0] size_q, size_d;     // of the block
  logic [31:0] left_q, left_d;     // bytes of its content from the position on
  logic [31:0] rest_q, rest_d;
  logic rest_zero_q, rest_zero_d;
  logic [31:0] shared_q, shared_d, unshared_q, unshared_d, value_q, value_d;
  logic [32:0] key_before_q, key_before_d;  // internal bytes of the key before in the block
  // Bytes left of the key from the current beat on.
  logic [KeyBits-1:0] shared_left_q, shared_left_d;
  logic [KeyBits-1:0] unshared_left_q, unshared_left_d;
  logic [KeyBits-1:0] key_left_q, key_left_d;  // internal
  logic [31:0] value_left_q, value_left_d;
  logic [SpanBits-1:0] take_q, take_d;  // bytes that the beat takes from the window
  logic [PosBits-1:0] rotate_q, rotate_d;

  header_t head;
  assign head = parse_header(window_head_i, PosBits);

  // Longer keys end in a fault after their first beat; until then any length will do.
  function automatic logic [KeyBits-1:0] clip(logic [31:0] n);
    return (n[31:KeyBits] != '0) ? '1 : n[KeyBits-1:0];
  endfunction

  function automatic logic [SpanBits-1:0] at_most_v(logic [31:0] n);
    return (n[31:PosBits] != '0) ? SpanBits'(V) : {1'b0, n[PosBits-1:0]};
  endfunction

  // Bytes that a key beat takes: what the shared bytes leave of it, if there are as many. Of V bytes
  // or more it is enough to know that, and that comes late.
  function automatic logic [SpanBits-1:0] key_bytes_now(logic shared_big, logic unshared_big,
                                                        logic [PosBits-1:0] shared,
                                                        logic [PosBits-1:0] unshared);
    logic [SpanBits-1:0] sum = {1'b0, shared} + {1'b0, unshared};
    logic [SpanBits-1:0] some = sum[PosBits] ? SpanBits'(V) - {1'b0, shared} : {1'b0, unshared};
    if (shared_big) return '0;
    return unshared_big ? SpanBits'(V) - {1'b0, shared} : some;
  endfunction

  // ------------------------------------------------------------------ header check

  logic [32:0] key_bytes;  // internal
  logic [33:0] need;
  // As the key's first beat finds it; the header is known in the cycle after.
  logic checked_q, beyond_q, unshared_bad_q, short_q, key_long_q, value_long_q;
  wire header_bad = checked_q & (beyond_q | unshared_bad_q | short_q | key_long_q | value_long_q);

  assign key_bytes = {1'b0, shared_q} + {1'b0, unshared_q};
  assign need      = {2'b0, unshared_q} + {2'b0, value_q} + {2'b0, RestartBytes};

  always_ff @(posedge clk_i) begin
    beyond_q       <= need > {2'b0, left_q};
    unshared_bad_q <= {1'b0, shared_q} > key_before_q;
    short_q        <= key_bytes < 33'd8;
    key_long_q     <= key_bytes > 33'(MaxKeyBytes + 8);
    value_long_q   <= value_q > MaxValueBytes;
  end

  always_comb begin
    ev_status_o = MergeStatusOk;
    if (checked_q) begin
      if (beyond_q || unshared_bad_q || short_q) ev_status_o = MergeStatusBlockCorrupt;
      else if (key_long_q) ev_status_o = MergeStatusKeyTooLong;
      else if (value_long_q) ev_status_o = MergeStatusValueTooLong;
    end
  end

  // ------------------------------------------------------------------ the beat at hand

  logic shared_beat;  // all of it comes from the key before
  logic key_last, user_beat, user_last, value_last;
  logic [SpanBits-1:0] user_now;  // bytes of the user key

  // In terms of the few low bits that matter.
  localparam logic [LowBits-1:0] WholeUser = LowBits'(V + 8);
  wire key_big = key_left_q[KeyBits-1:LowBits] != '0;
  wire [LowBits-1:0] key_low = key_left_q[LowBits-1:0];
  wire value_big = value_left_q[31:PosBits+1] != '0;

  assign shared_beat = shared_left_q[KeyBits-1:PosBits] != '0;
  assign key_last    = ~key_big & (key_low[LowBits-1:PosBits] == '0 || key_low == LowBits'(V));
  assign user_beat   = first_q | key_big | (key_low[LowBits-1:3] != '0 && key_low != LowBits'(8));
  assign user_last   = user_beat & ~key_big & (key_low <= WholeUser);
  assign value_last  = ~value_big & (~value_left_q[PosBits] || value_left_q[PosBits-1:0] == '0);

  always_comb begin
    user_now = SpanBits'(key_low - LowBits'(8));
    if (key_low[LowBits-1:3] == '0) user_now = '0;
    if (key_big || key_low >= WholeUser) user_now = SpanBits'(V);
  end

  // ------------------------------------------------------------------ what happens

  wire too_short = left_q[31:3] == '0;  // below RestartBytes
  // Zeros in longer varints go the way of all headers, and end there: no key is that short.
  wire restarts = (state_q == Head) & ~stop_q & window_ready_i & ~too_short &
                  (window_head_i[15:0] == '0);
  wire key_go = (state_q == Key) & ~stop_q & window_ready_i & (~user_beat | key_room_i) &
                (~first_q | record_room_i);
  wire value_go = (state_q == Value) & ~stop_q & window_ready_i & value_room_i;
  // What the next beat of the key does not take from the window.
  wire [PosBits-1:0] shared_next = ((state_q == Key) & shared_beat & ~key_last)
                                   ? shared_left_q[PosBits-1:0] : PosBits'(0);
  logic header_done;  // this cycle takes the last byte of a header
  logic [31:0] header_shared, header_unshared, header_value;
  logic [SpanBits-1:0] header_take;  // of the first key beat
  logic [32:0] header_key;

  assign header_shared   = (state_q == Head) ? head.shared : shared_q;
  assign header_unshared = (state_q == Head) ? head.unshared : unshared_q;
  assign header_value    = (state_q == Head) ? head.value_bytes : head.first[31:0];
  always_comb begin
    header_take = key_bytes_now(head.shared_big, head.unshared_big, head.shared[PosBits-1:0],
                                head.unshared[PosBits-1:0]);
    if (state_q != Head) begin
      header_take = key_bytes_now(shared_q[31:PosBits] != '0, unshared_q[31:PosBits] != '0,
                                  shared_q[PosBits-1:0], unshared_q[PosBits-1:0]);
    end
  end
  assign header_key      = {1'b0, header_shared} + {1'b0, header_unshared};

  always_comb begin
    state_d      = state_q;
    varint_d     = varint_q;
    first_d      = first_q;
    size_d       = size_q;
    rest_d       = rest_q;
    rest_zero_d  = rest_zero_q;
    shared_d     = shared_q;
    unshared_d   = unshared_q;
    value_d      = value_q;
    key_before_d = key_before_q;
    shared_left_d   = shared_left_q;
    unshared_left_d = unshared_left_q;
    key_left_d   = key_left_q;
    value_left_d = value_left_q;
    take_d       = take_q;
    header_done  = 1'b0;
    block_ready_o  = 1'b0;
    window_move_o  = 1'b0;
    window_bytes_o = take_q;
    ev_fault_o     = 1'b0;
    ev_end_o       = 1'b0;
    ev_eos_o       = 1'b0;

    case (state_q)
      Idle: begin
        block_ready_o = ~block_end_i;
        if (block_valid_i) begin
          if (!block_end_i) begin
            state_d = Head;
          end else if (all_checked_i && key_room_i && !fault_i) begin
            ev_eos_o      = 1'b1;
            block_ready_o = 1'b1;
            state_d       = Done;
          end
        end
      end

      Head: begin
        window_bytes_o = SpanBits'({4'h0, head.bytes});
        if (stop_q) begin
          state_d = Flush;
        end else if (window_ready_i) begin
          rest_d      = left_q;
          rest_zero_d = window_head_i[31:0] == '0;
          varint_d    = 2'd0;
          if (too_short) begin
            ev_fault_o = 1'b1;
            state_d    = Flush;
          end else if (restarts) begin
            state_d = Flush;
          end else if (!head.fast) begin
            state_d = Long;
          end else begin
            window_move_o = 1'b1;
            header_done   = 1'b1;
            shared_d      = head.shared;
            unshared_d    = head.unshared;
          end
        end
      end

      Long: begin
        take_d = SpanBits'(head.first_bytes);
        if (stop_q) begin
          state_d = Flush;
        end else if (window_ready_i) begin
          if (too_short || !head.first_ok) begin
            ev_fault_o = 1'b1;
            state_d    = Flush;
          end else begin
            state_d = Varint;
          end
        end
      end

      Varint: begin
        window_move_o = 1'b1;
        state_d       = Long;
        varint_d      = varint_q + 1'b1;
        if (varint_q == 2'd0) shared_d = head.first[31:0];
        if (varint_q == 2'd1) unshared_d = head.first[31:0];
        header_done = varint_q == 2'd2;
      end

      Key: begin
        window_move_o = key_go;
        if (stop_q) begin
          state_d = Flush;
        end else if (key_go) begin
          first_d         = 1'b0;
          shared_left_d   = shared_beat ? shared_left_q - KeyBits'(V) : '0;
          unshared_left_d = unshared_left_q - KeyBits'(take_q);
          key_left_d      = key_left_q - KeyBits'(V);
          take_d          = key_bytes_now(shared_left_q[KeyBits-1:PosBits+1] != '0,
                                          unshared_left_d[KeyBits-1:PosBits] != '0,
                                          shared_next, unshared_left_d[PosBits-1:0]);
          if (first_q) key_before_d = key_bytes;
          if (key_last) begin
            first_d  = 1'b1;
            take_d   = at_most_v(value_q);
            state_d  = (value_q == '0) ? Head : Value;
          end
        end
      end

      Value: begin
        window_move_o = value_go;
        if (stop_q) begin
          state_d = Flush;
        end else if (value_go) begin
          first_d      = 1'b0;
          value_left_d = value_left_q - V;
          take_d       = value_big ? SpanBits'(V) : {1'b0, value_left_q[PosBits-1:0]};
          if (value_last) state_d = Head;
        end
      end

      default: ;  // Flush, Done
    endcase

    if (window_flushed_i) begin
      ev_end_o = 1'b1;
      state_d  = Idle;
      if (block_valid_i && !block_end_i) begin
        block_ready_o = 1'b1;
        state_d       = Head;
      end
    end
    if (block_valid_i && block_ready_o) begin
      size_d       = block_bytes_i;
      key_before_d = '0;
      // No array has been seen: a stray state must not flush the block as if it were all there.
      rest_d       = '0;
      rest_zero_d  = 1'b0;
    end
    if (header_done) begin
      state_d         = Key;
      first_d         = 1'b1;
      value_d         = header_value;
      value_left_d    = header_value;
      shared_left_d   = clip(header_shared);
      unshared_left_d = clip(header_unshared);
      key_left_d      = (header_key[32]) ? '1 : clip(header_key[31:0]);
      take_d          = header_take;
    end

    // A header shows twice: in the window's head, and as data to compare it with.
    rotate_d = window_ahead_pos_i;
    if (state_q == Key || state_q == Value) begin
      rotate_d = rotate_q;
      if (window_move_o) rotate_d = window_pos_i + take_q[PosBits-1:0] - shared_next;
    end else if (header_done) begin
      rotate_d = window_pos_i + window_bytes_o[PosBits-1:0] - header_shared[PosBits-1:0];
    end

    left_d = left_q;
    if (window_move_o) left_d = left_q - 32'(window_bytes_o);
    if (block_valid_i && block_ready_o) left_d = block_bytes_i;
  end

  always_ff @(posedge clk_i) begin
    varint_q        <= varint_d;
    first_q         <= first_d;
    size_q          <= size_d;
    left_q          <= left_d;
    rest_q          <= rest_d;
    rest_zero_q     <= rest_zero_d;
    shared_q        <= shared_d;
    unshared_q      <= unshared_d;
    value_q         <= value_d;
    key_before_q    <= key_before_d;
    shared_left_q   <= shared_left_d;
    unshared_left_q <= unshared_left_d;
    key_left_q      <= key_left_d;
    value_left_q    <= value_left_d;
    take_q          <= take_d;
    rotate_q        <= rotate_d;
    if (!rst_ni) begin
      state_q   <= Idle;
      stop_q    <= 1'b0;
      checked_q <= 1'b0;
    end else begin
      state_q   <= state_d;
      stop_q    <= stop_q | header_bad | fault_i;
      checked_q <= key_go & first_q;
    end
  end

  // ------------------------------------------------------------------ events

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      logic [PosBits-1:0] lane;
      lane = PosBits'(i) + rotate_q;
      ev_data_o[8*i+:8] = window_ring_i[lane*8+:8];
    end
  end

  // Of a header that Head takes: by where it ends.
  wire take_cross = (SpanBits + 1)'(window_pos_i) + (SpanBits + 1)'(take_q) >= (SpanBits + 1)'(V);
  logic [7:0] pos_ends;  // byte i from the position on is a chunk's last, or behind it
  always_comb begin
    logic behind;
    behind = 1'b0;
    for (int i = 0; i < 8; i++) begin
      behind |= window_pos_i == PosBits'(int'(V) - 1 - i);
      pos_ends[i] = behind;
    end
    window_cross_o = take_cross;
    if (state_q == Head) begin
      window_cross_o = 1'b0;
      for (int unsigned i = 0; i < 8; i++) begin
        if (head.ends[i] && pos_ends[i]) window_cross_o = 1'b1;
      end
    end
  end
  wire zeros = window_head_i[15:0] == '0;
  assign window_ahead_move_o  = (state_q == Key) | (state_q == Value) | (state_q == Varint);
  assign window_ahead_bytes_o = take_q[PosBits-1:0];
  assign window_ahead_cross_o = take_cross;
  assign window_ahead_flush_o = (state_q == Flush) | ((state_q == Head) & window_ready_i & zeros);

  assign window_flush_o   = ((state_q == Flush) | restarts) & check_room_i;
  assign ev_head_o        = window_move_o & ((state_q == Head) | (state_q == Varint));
  assign ev_head_parity_o = ^window_head_i;
  assign ev_parity_o      = window_parity_i;
  assign ev_key_o         = key_go;
  assign ev_value_o       = value_go;
  assign ev_bytes_o       = (state_q == Key) ? user_now : take_q;
  assign ev_first_o       = first_q;
  assign ev_last_o        = (state_q == Key) ? key_last : value_last;
  assign ev_shared_o      = (state_q != Key) ? '0
                            : shared_beat ? SpanBits'(V) : {1'b0, shared_left_q[PosBits-1:0]};
  assign ev_span_o        = key_last ? key_left_q[SpanBits-1:0] : SpanBits'(V);
  assign ev_user_o        = user_beat;
  assign ev_user_last_o   = user_last;
  assign ev_user_bytes_o  = 16'(key_bytes) - 16'd8;
  assign ev_value_bytes_o = value_q;
  assign ev_block_bytes_o   = size_q;
  assign ev_restart_bytes_o = (state_q == Flush) ? rest_q : left_q;
  assign ev_restart_zero_o  = (state_q == Flush) ? rest_zero_q : (window_head_i[31:0] == '0);

  // ------------------------------------------------------------------ stray bits

  // What tells where an entry's bytes lie is known twice, and must agree: or a key or value would be
  // cut wrongly, and be whole to the checksum.
  logic flipped_q;
  wire [PosBits-1:0] rotate = window_pos_i -
                              ((state_q == Key) ? shared_left_q[PosBits-1:0] : PosBits'(0));
  wire rotate_flipped = window_move_o & (rotate_q != rotate);
  logic key_flipped_q;  // unless the header is bad
  wire key_flipped = key_go & (rotate_flipped | (value_left_q != value_q) |
                               (key_left_q != shared_left_q + unshared_left_q) |
                               (key_last & (KeyBits'(take_q) != unshared_left_q)));
  wire value_flipped = value_go & (take_q != at_most_v(value_left_q));

  assign flipped_o = flipped_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      key_flipped_q <= 1'b0;
      flipped_q     <= 1'b0;
    end else begin
      key_flipped_q <= key_flipped;
      if ((rotate_flipped && !key_go) || value_flipped ||
          (key_flipped_q && !header_bad && !stop_q)) begin
        flipped_q <= 1'b1;
      end
    end
  end

  assign key_take_o    = (key_go & user_beat) | ev_eos_o;
  assign value_take_o  = value_go;
  assign record_take_o = key_go & first_q;
  assign check_take_o  = ev_end_o;

`ifndef SYNTHESIS
  c_long : cover property (@(posedge clk_i) state_q == Varint && header_done);
  c_header8 : cover property (@(posedge clk_i)
      state_q == Head && header_done && head.bytes == 4'd8);
  c_all_shared : cover property (@(posedge clk_i) key_go && shared_beat);
`endif
endmodule
