// Walks the entries of a way's blocks: one cycle for a header of up to eight bytes, then one per V
// bytes of key (including shared bytes) and of value. Each cycle yields an event; there is no
// back-pressure, because the parser reserves a place in each downstream FIFO first.
//
//   Idle   take the next block, or the end of the run
//   Head   parse the header; two zeros (shared, unshared) mean the restart array: flush the rest
//   Long   a header that Head cannot take whole (cu_entry_pkg): find the length of its next varint
//   Varint take that varint
//   Key    a beat of the key: shared bytes come from the previous key, the rest from the window
//   Value  a beat of the value
//   Flush  drop what remains of the block after Head's flush; emit block_end with the last of it
//
// The bytes of a header are consumed before the header is checked. The check runs in parallel with
// the first key beat, and its result follows one cycle after that beat's event, so one meaningless
// event may follow a bad header. After a fault, the parser only flushes blocks.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_entry_parser
  import sluice_abi_pkg::*;
#(
  parameter int unsigned ValueBytes    = 8,
  parameter int unsigned MaxKeyBytes   = 1024,  // user key
  parameter int unsigned MaxValueBytes = ValueBytesLimit,
  localparam int unsigned PosBits   = $clog2(ValueBytes),
  localparam int unsigned CountBits = PosBits + 1,  // 0..V
  localparam type event_t           = `CU_EVENT_T(ValueBytes),
  localparam type block_end_t       = `CU_BLOCK_END_T
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
  output logic [CountBits-1:0]    window_bytes_o,
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

  output event_t                  event_o,
  output merge_status_e           header_status_o,  // a cycle after the event of a key's first beat
  output block_end_t              block_end_o,      // with the event of a block's end

  output logic                    parity_error_o  // level
);
  import cu_entry_pkg::*;

  localparam int unsigned V = ValueBytes;
  localparam int unsigned LowBits = PosBits + 2;  // below 4 V
  localparam int unsigned LongKeyBits = $clog2(MaxKeyBytes + 9) + 1;
  localparam int unsigned KeyBits = (LongKeyBits > LowBits) ? LongKeyBits : LowBits + 1;
  localparam int unsigned SharedBits = 17;  // of any key that may be, and one more
  localparam logic [31:0] RestartBytes = 32'd8;  // the least that follows the entries

  typedef enum logic [2:0] {Idle, Head, Long, Varint, Key, Value, Flush, Done} state_e;

  state_e state_q, state_d;
  logic [1:0] varint_q, varint_d;  // that Long and Varint are at
  logic first_q, first_d;          // beat of the key, or of the value
  logic stop_q;                    // there was a fault
  logic [31:0] left_q, left_d;     // bytes of its content from the position on
  logic array_q, array_d;          // a restart array follows, which begins with a zero
  logic [SharedBits-1:0] shared_q, shared_d;  // all ones if it has more bits
  logic [31:0] unshared_q, unshared_d, value_q, value_d;
  logic [SharedBits-1:0] key_before_q, key_before_d;  // internal; of the key before in the block
  // Bytes left of the key from the current beat on. The counts of a longer key are cut off: it ends
  // in a fault after its first beat, and until then, any length will do.
  logic [KeyBits-1:0] shared_left_q, shared_left_d;
  logic [KeyBits-1:0] unshared_left_q, unshared_left_d;
  logic [KeyBits-1:0] key_left_q, key_left_d;  // internal
  logic [31:0] value_left_q, value_left_d;
  logic user_beat_q, user_beat_d;  // the key's beat has bytes of the user key, or is the first one
  logic [CountBits-1:0] take_q, take_d;  // bytes that the beat takes from the window
  logic [PosBits-1:0] rotate_q, rotate_d;

  header_t head;
  assign head = parse_header(window_head_i, PosBits);

  function automatic logic [CountBits-1:0] at_most_v(logic [31:0] n);
    return (n[31:PosBits] != '0) ? CountBits'(V) : {1'b0, n[PosBits-1:0]};
  endfunction

  // Without a carry chain: the length of a header is late.
  function automatic logic [PosBits-1:0] sum(logic [PosBits-1:0] a, logic [PosBits-1:0] b);
    logic carry = 1'b0;
    for (int unsigned i = 0; i < PosBits; i++) begin
      sum[i] = a[i] ^ b[i] ^ carry;
      carry  = (a[i] & b[i]) | ((a[i] | b[i]) & carry);
    end
  endfunction

  function automatic logic sum_reaches_v(logic [PosBits-1:0] a, logic [PosBits-1:0] b);
    return sum_big(7'(a), 7'(b), PosBits);
  endfunction

  // Unshared bytes in a key beat: what the shared bytes leave free, if there are as many. Of counts
  // of V or more, and of sums (`both`), the late signals *_big tell.
  function automatic logic [CountBits-1:0] key_bytes_now(logic shared_big, logic both_big,
                                                        logic [PosBits-1:0] shared,
                                                        logic [PosBits-1:0] unshared);
    logic [CountBits-1:0] free = '0;  // V - shared, without a carry chain
    for (int unsigned i = 0; i < V; i++) if (shared == PosBits'(i)) free |= CountBits'(V - i);
    if (shared_big) return '0;
    return both_big ? free : {1'b0, unshared};
  endfunction

  // ------------------------------------------------------------------ header check

  logic [SharedBits:0] key_bytes;  // internal; more if unshared_long
  wire unshared_long = unshared_q[31:SharedBits] != '0;
  logic [33:0] need;
  // Registered beside the key's first beat, and used in the next cycle.
  logic checked_q, beyond_q, unshared_bad_q, short_q, key_long_q, value_long_q;
  wire header_bad = checked_q & (beyond_q | unshared_bad_q | short_q | key_long_q | value_long_q);

  assign key_bytes = {1'b0, shared_q} + {1'b0, unshared_q[SharedBits-1:0]};
  assign need      = {2'b0, unshared_q} + {2'b0, value_q} + {2'b0, RestartBytes};
  wire beyond = need > {2'b0, left_q};

  always_ff @(posedge clk_i) begin
    beyond_q       <= beyond;
    unshared_bad_q <= shared_q > key_before_q;
    short_q        <= ~unshared_long && key_bytes < (SharedBits + 1)'(8);
    key_long_q     <= unshared_long || key_bytes > (SharedBits + 1)'(MaxKeyBytes + 8);
    value_long_q   <= value_q > MaxValueBytes;
  end

  always_comb begin
    header_status_o = MergeStatusOk;
    if (checked_q) begin
      if (beyond_q || unshared_bad_q || short_q) header_status_o = MergeStatusBlockCorrupt;
      else if (key_long_q) header_status_o = MergeStatusKeyTooLong;
      else if (value_long_q) header_status_o = MergeStatusValueTooLong;
    end
  end

  // ------------------------------------------------------------------ the beat at hand

  logic shared_beat;  // all of it comes from the key before
  logic key_last, user_last, value_last;
  logic [CountBits-1:0] user_now;  // bytes of the user key

  // In terms of the low bits, where they suffice.
  localparam logic [LowBits-1:0] WholeUser = LowBits'(V + 8);
  wire key_big = key_left_q[KeyBits-1:LowBits] != '0;
  wire [LowBits-1:0] key_low = key_left_q[LowBits-1:0];
  wire value_big = value_left_q[31:PosBits+1] != '0;

  assign shared_beat = shared_left_q[KeyBits-1:PosBits] != '0;
  assign key_last    = ~key_big & (key_low[LowBits-1:PosBits] == '0 || key_low == LowBits'(V));
  assign user_last   = user_beat_q & ~key_big & (key_low <= WholeUser);
  assign value_last  = ~value_big & (~value_left_q[PosBits] || value_left_q[PosBits-1:0] == '0);

  always_comb begin
    user_now = CountBits'(key_low - LowBits'(8));
    if (key_low[LowBits-1:3] == '0) user_now = '0;
    if (key_big || key_low >= WholeUser) user_now = CountBits'(V);
  end

  // ------------------------------------------------------------------ state machine

  // Less than RestartBytes are left where Head looks for a header: at the beginning of a block, or
  // after an entry, which has been compared with what is left by then.
  logic too_short_q, too_short_d;
  // Zeros in longer varints are treated as a header, and rejected: no key is that short.
  wire restarts = (state_q == Head) & ~stop_q & window_ready_i & ~too_short_q &
                  (window_head_i[15:0] == '0);
  wire key_go = (state_q == Key) & ~stop_q & window_ready_i & (~user_beat_q | key_room_i) &
                (~first_q | record_room_i);
  wire value_go = (state_q == Value) & ~stop_q & window_ready_i & value_room_i;
  // Shared bytes of the next beat of the key, below V.
  wire [PosBits-1:0] next_shared = shared_beat ? shared_left_q[PosBits-1:0] : '0;
  wire [PosBits-1:0] pos_taken = sum(window_pos_i, take_q[PosBits-1:0]);
  logic header_done;  // this cycle takes the last byte of a header
  logic fault, block_end, eos;
  logic [KeyBits-1:0] header_shared, header_unshared;
  logic [31:0] header_value;
  logic [CountBits-1:0] header_take;  // of the first key beat
  logic [KeyBits-1:0] header_key;

  assign header_shared   = KeyBits'((state_q == Head) ? head.shared : shared_q);
  assign header_unshared = KeyBits'((state_q == Head) ? head.unshared : unshared_q);
  assign header_value    = (state_q == Head) ? 32'(head.value_bytes) : head.first[31:0];
  always_comb begin
    header_take = key_bytes_now(head.shared_big, head.both_big, head.shared[PosBits-1:0],
                                head.unshared[PosBits-1:0]);
    if (state_q != Head) begin
      header_take = key_bytes_now(shared_q[SharedBits-1:PosBits] != '0,
                                  unshared_long || key_bytes[SharedBits:PosBits] != '0,
                                  shared_q[PosBits-1:0], unshared_q[PosBits-1:0]);
    end
  end
  assign header_key      = (state_q == Head) ? KeyBits'(head.shared) + KeyBits'(head.unshared)
                                             : KeyBits'(key_bytes);

  always_comb begin
    state_d      = state_q;
    varint_d     = varint_q;
    first_d      = first_q;
    too_short_d  = too_short_q;
    array_d      = array_q;
    shared_d     = shared_q;
    unshared_d   = unshared_q;
    value_d      = value_q;
    key_before_d = key_before_q;
    shared_left_d   = shared_left_q;
    unshared_left_d = unshared_left_q;
    user_beat_d  = user_beat_q;
    take_d       = take_q;
    header_done  = 1'b0;
    block_ready_o  = 1'b0;
    window_move_o  = 1'b0;
    window_bytes_o = take_q;
    fault     = 1'b0;
    block_end       = 1'b0;
    eos       = 1'b0;

    case (state_q)
      Idle: begin
        block_ready_o = ~block_end_i;
        if (block_valid_i) begin
          if (!block_end_i) begin
            state_d = Head;
          end else if (all_checked_i && key_room_i && !fault_i) begin
            eos      = 1'b1;
            block_ready_o = 1'b1;
            state_d       = Done;
          end
        end
      end

      Head: begin
        window_bytes_o = CountBits'({4'h0, head.bytes});
        shared_d       = SharedBits'(head.shared);
        unshared_d     = 32'(head.unshared);
        if (stop_q) begin
          state_d = Flush;
        end else if (window_ready_i) begin
          array_d  = restarts & (window_head_i[31:16] == '0);
          varint_d = 2'd0;
          if (too_short_q) begin
            fault = 1'b1;
            state_d    = Flush;
          end else if (restarts) begin
            state_d = Flush;
          end else if (!head.fast) begin
            state_d = Long;
          end else begin
            window_move_o = 1'b1;
            header_done   = 1'b1;
          end
        end
      end

      Long: begin
        take_d = CountBits'(head.first_bytes);
        if (stop_q) begin
          state_d = Flush;
        end else if (window_ready_i) begin
          if (left_q[31:3] == '0 || !head.first_ok) begin
            fault = 1'b1;
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
        if (varint_q == 2'd0) begin
          shared_d = (head.first[31:SharedBits] != '0) ? '1 : head.first[SharedBits-1:0];
        end
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
          user_beat_d     = key_big | (key_low > WholeUser);
          take_d          = key_bytes_now(shared_left_q[KeyBits-1:PosBits+1] != '0,
                                          unshared_left_d[KeyBits-1:PosBits] != '0 ||
                                          sum_reaches_v(next_shared, unshared_left_d[PosBits-1:0]),
                                          next_shared, unshared_left_d[PosBits-1:0]);
          if (first_q) begin
            key_before_d = key_bytes[SharedBits-1:0];  // all of it, or the header is bad
            too_short_d  = beyond;
          end
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
          take_d       = value_big ? CountBits'(V) : {1'b0, value_left_q[PosBits-1:0]};
          if (value_last) state_d = Head;
        end
      end

      default: ;  // Flush, Done
    endcase

    if (window_flushed_i) begin
      block_end = 1'b1;
      state_d  = Idle;
      if (block_valid_i && !block_end_i) begin
        block_ready_o = 1'b1;
        state_d       = Head;
      end
    end
    if (block_valid_i && block_ready_o) begin
      too_short_d  = block_bytes_i[31:3] == '0;
      key_before_d = '0;
      // No array has been seen: a flipped state bit must not flush the block as if complete.
      array_d      = 1'b0;
    end
    // Whether the header ends here is known late; what is set for another one is never used.
    if (state_q == Head || state_q == Varint) begin
      first_d         = 1'b1;
      user_beat_d     = 1'b1;
      value_d         = header_value;
      shared_left_d   = header_shared;
      unshared_left_d = header_unshared;
      take_d          = header_take;
    end
    if (header_done) state_d = Key;

    // A header is visible twice: in the window's head, and as data to compare with. Shared bytes of
    // the next beat do not come from the window.
    rotate_d = window_ahead_pos_i;
    if (state_q == Key || state_q == Value) begin
      rotate_d = rotate_q;
      if (window_move_o) begin
        rotate_d = (state_q == Key && shared_beat && !key_last)
                   ? pos_taken - shared_left_q[PosBits-1:0] : pos_taken;
      end
    end else if (header_done) begin
      rotate_d = (state_q == Head)
                 ? sum(window_pos_i - head.shared[PosBits-1:0], PosBits'({4'h0, head.bytes}))
                 : pos_taken - shared_q[PosBits-1:0];
    end

  end

  // A new count and the next one share a carry chain: of a new one, nothing is subtracted.
  wire begins = block_valid_i & block_ready_o;
  wire [31:0] less = begins ? '0 : ~(window_move_o ? 32'(window_bytes_o) : '0);  // + 1
  assign left_d = 32'(({less, 1'b1} + {begins ? block_bytes_i : left_q, ~begins}) >> 1);
  wire in_header = (state_q == Head) | (state_q == Varint);
  wire [KeyBits-1:0] key_left = in_header ? header_key : key_left_q;
  wire [31:0] value_left = in_header ? header_value : value_left_q;
  assign key_left_d   = {{(KeyBits - PosBits){key_go & ~in_header}} + key_left[KeyBits-1:PosBits],
                         key_left[PosBits-1:0]};
  assign value_left_d = {{(32 - PosBits){value_go & ~in_header}} + value_left[31:PosBits],
                         value_left[PosBits-1:0]};

  always_ff @(posedge clk_i) begin
    varint_q        <= varint_d;
    first_q         <= first_d;
    too_short_q     <= too_short_d;
    left_q          <= left_d;
    array_q         <= array_d;
    shared_q        <= shared_d;
    unshared_q      <= unshared_d;
    value_q         <= value_d;
    key_before_q    <= key_before_d;
    shared_left_q   <= shared_left_d;
    unshared_left_q <= unshared_left_d;
    key_left_q      <= key_left_d;
    user_beat_q     <= user_beat_d;
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

  logic [V*8-1:0] data;
  cu_byte_rotate #(.Bytes(V), .OutBytes(V)) u_data (
    .data_i(window_ring_i), .pos_i(rotate_q), .data_o(data)
  );

  // For a header that Head takes: from the position of its end.
  wire take_cross = take_q[PosBits] | sum_reaches_v(window_pos_i, take_q[PosBits-1:0]);
  logic [7:0] pos_ends;  // byte i from the position on is the last of a chunk, or later
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
  assign event_o = '{
    head: window_move_o & ((state_q == Head) | (state_q == Varint)), key: key_go, value: value_go,
    fault: fault, block_end: block_end, eos: eos, head_parity: ^window_head_i, data: data,
    parity: window_parity_i, bytes: (state_q == Key) ? user_now : take_q, first: first_q,
    last: (state_q == Key) ? key_last : value_last,
    shared: (state_q != Key) ? '0
            : shared_beat ? CountBits'(V) : {1'b0, shared_left_q[PosBits-1:0]},
    span: key_last ? key_left_q[CountBits-1:0] : CountBits'(V), user: user_beat_q,
    user_last: user_last, user_bytes: 16'(key_bytes) - 16'd8, value_bytes: value_q
  };
  assign block_end_o = '{
    restart_bytes: left_q,
    restart_zero: (state_q == Flush) ? array_q : (window_head_i[31:0] == '0)
  };

  // ------------------------------------------------------------------ bit flips

  // The positions of an entry's bytes are computed twice and must agree. Otherwise a key or value
  // could be cut at the wrong place, and the checksum would cover the wrong bytes.
  logic parity_error_q;
  wire [PosBits-1:0] rotate = window_pos_i -
                              ((state_q == Key) ? shared_left_q[PosBits-1:0] : PosBits'(0));
  wire rotate_mismatch = rotate_q != rotate;
  logic key_mismatch_q;  // unless the header is bad
  wire key_mismatch = key_go & (rotate_mismatch | (value_left_q != value_q) |
                               (key_left_q != shared_left_q + unshared_left_q) |
                               (key_last & (KeyBits'(take_q) != unshared_left_q)));
  wire value_mismatch = value_go & (take_q != at_most_v(value_left_q));

  assign parity_error_o = parity_error_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      key_mismatch_q <= 1'b0;
      parity_error_q     <= 1'b0;
    end else begin
      key_mismatch_q <= key_mismatch;
      if ((window_move_o && rotate_mismatch && !key_go) || value_mismatch ||
          (key_mismatch_q && !header_bad && !stop_q)) begin
        parity_error_q <= 1'b1;
      end
    end
  end

  assign key_take_o    = (key_go & user_beat_q) | eos;
  assign value_take_o  = value_go;
  assign record_take_o = key_go & first_q;
  assign check_take_o  = block_end;

  `COVER(c_long, state_q == Varint && header_done)
  `COVER(c_header8, state_q == Head && header_done && head.bytes == 4'd8)
  `COVER(c_all_shared, key_go && shared_beat)
endmodule
