// Turns the parser's events into records: expands each key with the bytes it shares with the
// previous key, checks order and type, and emits user keys, values, record info and hashes. A
// pipeline of four stages without back-pressure, because the parser has reserved a place for
// everything it emits.
//
//   s1: shared lanes from the previous key (stored as beats of V bytes of the internal key)
//   s2: compare with the previous key, beat by beat; extract the trailer; XOR the hash's words
//   s3: accept or reject the key
//   s4: outputs
//
// The last beat of a user key waits for the trailer, which may be in the next beat; a key is
// complete, and emitted, only with its trailer. The first fault suppresses all later outputs.
//
// Protection against bit flips: bytes from the window carry a parity bit, as does each stored row
// of the previous key. After expansion, the parity of a value's beats must match that of their XOR
// hash; a key carries its own parity, and the lengths that enter the record's checksum have a
// parity bit. So has the number of the row at hand, which at the end of a key must be the one that
// the key's length says.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_key_expander
  import sluice_abi_pkg::*;
#(
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned CountBits = $clog2(ValueBytes + 1),
  localparam type event_t = `CU_EVENT_T(ValueBytes),
  localparam type key_t = `CU_KEY_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    silent_i,  // a fault was found elsewhere; level

  input  event_t                  event_i,
  input  merge_status_e           header_status_i,  // a cycle after the event

  output logic                    key_valid_o,
  output key_t                    key_o,
  output logic                    value_valid_o,
  output logic [ValueBytes*8-1:0] value_data_o,
  output logic                    info_valid_o,
  output logic [31:0]             info_value_bytes_o,
  output logic [15:0]             info_tag_o,  // cu_tag_pkg
  output logic                    hash_valid_o,
  output logic [63:0]             hash_o,
  output logic                    end_valid_o,   // of a block, or of what is left of a faulty one
  output merge_status_e           end_status_o,  // first fault so far

  output logic                    fault_o,        // level
  output logic                    parity_error_o  // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Beats = (MaxKeyBytes + 8 + V - 1) / V;
  localparam int unsigned BeatBits = $clog2(Beats);
  localparam int unsigned PosBits = $clog2(V);
  localparam int unsigned Words = V / 8;
  localparam int unsigned Phases = 8 / Words;  // beats after which word rotations repeat
  localparam int unsigned PhaseBits = (Phases > 1) ? $clog2(Phases) : 1;
  localparam logic [7:0] LastRecordType = 8'd2;  // deletion, value, reference to a value

  typedef struct packed {
    logic                 key;
    logic                 value;
    logic                 fault;
    logic                 block_end;
    logic                 eos;
    logic [CountBits-1:0] bytes;
    logic                 first;
    logic                 last;
    logic [CountBits-1:0] span;
    logic                 user;
    logic                 user_last;
    logic                 ordered;  // there is a previous key
    logic                 longer;   // user key than the previous one
    logic                 as_long;
    logic [15:0]          user_bytes;
    logic [31:0]          value_bytes;
    logic                 parity;  // of the two
    logic                 bytes_parity;
  } stage_t;

  // From the top by equality, which needs no carry chain; if six bits are not enough, by eights and
  // within them.
  function automatic logic [V-1:0] lanes_below(logic [CountBits-1:0] n);
    logic covered = 1'b0;
    logic [7:0] inner = '0;
    if (V <= 32) begin
      for (int i = int'(V) - 1; i >= 0; i--) begin
        covered |= n == CountBits'(i + 1);
        lanes_below[i] = covered;
      end
    end else begin
      for (int i = 0; i < 8; i++) inner[i] = 3'(i) < n[2:0];
      for (int i = 0; i < int'(V); i++) begin
        lanes_below[i] = (CountBits - 3)'(i / 8) < n[CountBits-1:3] ||
                         ((CountBits - 3)'(i / 8) == n[CountBits-1:3] && inner[i%8]);
      end
    end
  endfunction

  function automatic logic [63:0] rotl(logic [63:0] x, int unsigned n);
    return (x << (n % 64)) | (x >> ((64 - n % 64) % 64));
  endfunction

  // ------------------------------------------------------------------ into s1

  // The previous internal key: zero-padded rows with their parity, in block RAM if LUT RAM of 64 rows
  // is not enough, or if they are wide. No row is read in the cycle in which it is written
  // (a_old_key).
  localparam bit InBlockRam = Beats > 64 || V > 32;
  logic [V*8:0] row, old_row_q;
  logic [BeatBits-1:0] beat, beat_q;  // of the key at hand
  logic [PhaseBits-1:0] phase, phase_q;
  logic [15:0] left_before, left_before_q;  // user bytes of the previous key, from this beat on
  logic [15:0] user_before_q;
  logic any_before_q;

  stage_t s1_q;
  logic [V*8-1:0] s1_data_q, s1_before_q;
  logic [CountBits-1:0] s1_shared_q, s1_bytes_before_q, s1_filled_q;
  logic s1_head_q, s1_head_parity_q, s1_parity_q, s1_before_parity_q;
  logic s1_counts_parity_q;  // of bytes, s1_shared_q and s1_filled_q
  wire [CountBits-1:0] filled = event_i.value ? event_i.bytes : event_i.span;
  logic [BeatBits-1:0] s1_beat_q;
  logic s1_beat_parity_q;
  logic [PhaseBits-1:0] s1_phase_q, s2_phase_q;

  assign beat        = event_i.first ? '0 : beat_q;
  assign phase       = event_i.first ? '0 : phase_q;
  assign left_before = event_i.first ? user_before_q : left_before_q;

  always_ff @(posedge clk_i) begin
    s1_q <= '{key: event_i.key, value: event_i.value, fault: event_i.fault,
              block_end: event_i.block_end, eos: event_i.eos, bytes: event_i.bytes,
              first: event_i.first, last: event_i.last,
              span: event_i.span, user: event_i.user, user_last: event_i.user_last,
              ordered: any_before_q, longer: event_i.user_bytes > user_before_q,
              as_long: event_i.user_bytes == user_before_q, user_bytes: event_i.user_bytes,
              value_bytes: event_i.value_bytes, parity: ^{event_i.user_bytes, event_i.value_bytes},
              bytes_parity: ^event_i.bytes};
    s1_data_q         <= event_i.data;
    s1_parity_q       <= event_i.parity;
    s1_head_parity_q  <= event_i.head_parity;
    s1_shared_q       <= event_i.shared;
    s1_filled_q       <= filled;
    s1_counts_parity_q <= ~event_i.value & ^{event_i.bytes, event_i.shared, event_i.span};
    s1_bytes_before_q <= (left_before > 16'(V)) ? CountBits'(V) : CountBits'(left_before);
    s1_beat_q         <= beat;
    s1_beat_parity_q  <= ^beat;
    s1_phase_q        <= phase;
    if (event_i.key || event_i.value) begin
      beat_q        <= beat + 1'b1;
      phase_q       <= phase + 1'b1;
      left_before_q <= (left_before > 16'(V)) ? left_before - 16'(V) : '0;
    end
    if (event_i.key && event_i.last) user_before_q <= event_i.user_bytes;
    if (!rst_ni) begin
      {s1_q.key, s1_q.value, s1_q.fault, s1_q.block_end, s1_q.eos} <= '0;
      s1_head_q     <= 1'b0;
      any_before_q  <= 1'b0;
      user_before_q <= '0;
    end else begin
      s1_head_q <= event_i.head;
      if (event_i.key && event_i.last) any_before_q <= 1'b1;
    end
  end

  // ------------------------------------------------------------------ s1: expand

  logic [V*8-1:0] merged;
  logic [V-1:0] shared_mask, filled_mask, data_mask;
  stage_t s2_q;
  merge_status_e s2_status_q, s3_status_q;  // of the header
  logic [V*8-1:0] s2_key_q, s2_data_q, s2_before;  // internal key; user key or value; before
  logic parity, s2_parity_q;  // of the internal key, or of the value

  assign shared_mask = lanes_below(s1_shared_q);
  assign data_mask   = lanes_below(s1_q.bytes);
  assign filled_mask = lanes_below(s1_filled_q);
  // As a cell of its own: synthesis would take what is merged apart again for its parity.
  for (genvar i = 0; i < int'(V); i++) begin : g_merged
    cu_byte_mux u_mux (
      .bytes_i({{2{s1_before_q[8*i+:8]}}, s1_data_q[8*i+:8], 8'h0}),
      .pick_i({shared_mask[i], filled_mask[i]}), .byte_o(merged[8*i+:8])
    );
  end
  assign parity      = ^merged;
  assign row         = {parity, merged};
  assign {s1_before_parity_q, s1_before_q} = old_row_q;

  if (InBlockRam) begin : g_rows
    (* ram_style = "block" *) logic [V*8:0] old_key[Beats];
    always_ff @(posedge clk_i) begin
      if (s1_q.key) old_key[s1_beat_q] <= row;
      old_row_q <= old_key[beat];
    end
  end else begin : g_rows
    (* ram_style = "distributed" *) logic [V*8:0] old_key[Beats];
    always_ff @(posedge clk_i) begin
      if (s1_q.key) old_key[s1_beat_q] <= row;
      old_row_q <= old_key[beat];
    end
  end

  always_ff @(posedge clk_i) begin
    s2_parity_q <= parity;
    s2_q        <= s1_q;
    s2_status_q <= s1_q.fault ? MergeStatusBlockCorrupt : header_status_i;
    s2_phase_q  <= s1_phase_q;
    s2_key_q    <= merged;
    // Lanes are cleared by the registers' reset, which takes no LUT per bit.
    for (int i = 0; i < int'(V); i++) begin
      s2_data_q[8*i+:8] <= merged[8*i+:8];
      if (!data_mask[i]) s2_data_q[8*i+:8] <= '0;
    end
    if (!rst_ni) {s2_q.key, s2_q.value, s2_q.fault, s2_q.block_end, s2_q.eos} <= '0;
  end

  // The previous user key, to compare with: a row's bytes of it, or, if rows are wide, rows of its own,
  // which need no masks. A beat beyond its end has none.
  if (V > 32) begin : g_user_rows
    (* ram_style = "block" *) logic [V*8-1:0] old_user_key[Beats];
    logic [BeatBits-1:0] s2_beat_q;
    logic [V*8-1:0] user_row_q;
    always_ff @(posedge clk_i) begin
      s2_beat_q <= s1_beat_q;
      if (s2_q.key) old_user_key[s2_beat_q] <= s2_data_q;
      if (s1_bytes_before_q == '0) user_row_q <= '0;
      else user_row_q <= old_user_key[s1_beat_q];
    end
    assign s2_before = user_row_q;

    `ASSERT(a_old_user_key, s2_q.key && s1_q.key |-> s2_beat_q != s1_beat_q)
  end else begin : g_user_rows
    logic [V-1:0] before_mask;
    logic [V*8-1:0] s2_before_q;
    assign before_mask = lanes_below(s1_bytes_before_q);
    always_ff @(posedge clk_i) begin
      for (int i = 0; i < int'(V); i++) begin
        s2_before_q[8*i+:8] <= s1_before_q[8*i+:8];
        if (!before_mask[i]) s2_before_q[8*i+:8] <= '0;
      end
    end
    assign s2_before = s2_before_q;
  end

  // ------------------------------------------------------------------ s2: compare, xor_hash

  logic below, above;  // the previous key, in this beat
  logic [55:0] tail_q;  // the last seven bytes of the previous beat
  logic [63:0] xor_hash;

  logic [V*8-1:0] data_word, before_word;  // the first byte is the most significant
  logic equal;
  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      data_word[8*(V-1-i)+:8]   = s2_data_q[8*i+:8];
      before_word[8*(V-1-i)+:8] = s2_before[8*i+:8];
    end
  end
  cu_compare #(.Width(V * 8)) u_compare (
    .a_i(data_word), .b_i(before_word), .less_o(below), .equal_o(equal)
  );
  assign above = ~below & ~equal;

  // The trailer ends with the key's last byte, the span'th of its last beat. A span of 0 is that of
  // a key which is too short to be one.
  logic [63:0] trailer;
  cu_byte_select #(.OutBytes(8), .Positions(V)) u_trailer (
    .data_i({s2_key_q, tail_q}), .pos_i(PosBits'(s2_q.span - 1'b1)), .data_o(trailer)
  );

  // Rotations add up: those within a beat are fixed, that of the beat depends on its phase. A
  // value's is five more: here, where that fits the LUTs which add two or four words, or else in s3.
  localparam bit FiveHere = Words > 1 && Phases > 1;
  always_comb begin
    logic [63:0] words;
    words = '0;
    for (int unsigned i = 0; i < Words; i++) words ^= rotl(s2_data_q[64*i+:64], 11 * i);
    if (FiveHere && !s2_q.key) words = rotl(words, 5);
    xor_hash = '0;
    for (int unsigned p = 0; p < Phases; p++) begin
      if (Phases == 1 || s2_phase_q == PhaseBits'(p)) xor_hash |= rotl(words, 11 * Words * p);
    end
  end

  stage_t s3_q;
  logic [V*8-1:0] s3_data_q;
  logic s3_below_q, s3_above_q;
  logic [63:0] s3_trailer_q, s3_xor_hash_q;
  logic s3_parity_q;

  always_ff @(posedge clk_i) begin
    if (s2_q.key) tail_q <= s2_key_q[V*8-1-:56];
    s3_q         <= s2_q;
    s3_status_q  <= s2_status_q;
    s3_data_q    <= s2_data_q;
    s3_below_q   <= below;
    s3_above_q   <= above;
    s3_trailer_q <= trailer;
    s3_xor_hash_q    <= xor_hash;
    s3_parity_q  <= s2_parity_q;
    if (!rst_ni) {s3_q.key, s3_q.value, s3_q.fault, s3_q.block_end, s3_q.eos} <= '0;
  end

  // ------------------------------------------------------------------ s3: check

  logic below_q, above_q, key_below, key_above;  // the previous key, in the beats so far
  logic [63:0] trailer_before_q;
  logic sorted;
  merge_status_e status;
  logic [63:0] hash, hash_q;
  logic key_parity, key_parity_q;  // of the internal key, in the beats so far
  logic key_end;

  assign key_below = (~s3_q.first & (below_q | above_q)) ? below_q : s3_below_q;
  assign key_above = (~s3_q.first & (below_q | above_q)) ? above_q : s3_above_q;
  assign sorted    = ~s3_q.ordered | key_above |
                     (~key_below & (s3_q.longer |
                                    (s3_q.as_long & (s3_trailer_q < trailer_before_q))));
  assign key_end   = s3_q.key & s3_q.last;
  assign key_parity = s3_parity_q ^ (~s3_q.first & key_parity_q);

  always_comb begin
    status = MergeStatusOk;
    if (s3_q.fault || s3_q.key) status = s3_status_q;
    if (status == MergeStatusOk) begin
      if (key_end && s3_trailer_q[7:0] > LastRecordType) status = MergeStatusRecordType;
      else if (key_end && !sorted) status = MergeStatusUnsorted;
    end
  end

  always_comb begin
    hash = (FiveHere || s3_q.key) ? s3_xor_hash_q : rotl(s3_xor_hash_q, 5);
    if (s3_q.value || !s3_q.first) hash ^= hash_q;
    if (key_end) begin
      hash ^= rotl(s3_trailer_q, 3) ^ {32'(s3_q.user_bytes) + 32'd8, s3_q.value_bytes};
    end
  end

  // ------------------------------------------------------------------ s4: out

  logic s4_key_q, s4_eos_q, s4_end_q, s4_value_q, s4_hash_q, s4_block_end_q;
  logic [V*8-1:0] s4_data_q;
  logic [CountBits-1:0] s4_bytes_q;
  logic s4_bytes_parity_q;
  logic [31:0] s4_value_bytes_q;
  merge_status_e s4_status_q, status_q;
  logic fault_q, silent, bad_event;
  // The last beat of a user key stays until its trailer has come.
  wire shown = s3_q.eos | s3_q.value | (s3_q.key & s3_q.user);

  always_ff @(posedge clk_i) begin
    if (s3_q.key || s3_q.value) hash_q <= hash;
    if (s3_q.key) begin
      key_parity_q <= key_parity;
      below_q <= key_below;
      above_q <= key_above;
    end
    if (key_end) trailer_before_q <= s3_trailer_q;
    if (shown) begin
      s4_data_q         <= s3_data_q;
      s4_bytes_q        <= s3_q.bytes;
      s4_bytes_parity_q <= s3_q.bytes_parity;
    end
    if (s3_q.eos) begin
      s4_data_q         <= '0;
      s4_bytes_q        <= '0;
      s4_bytes_parity_q <= 1'b0;
    end
    s4_value_bytes_q <= s3_q.value_bytes;
    s4_status_q      <= status;
    if (!rst_ni) begin
      {s4_key_q, s4_eos_q, s4_end_q, s4_value_q, s4_hash_q, s4_block_end_q} <= '0;
      s4_status_q <= MergeStatusOk;
      fault_q     <= 1'b0;
      status_q    <= MergeStatusOk;
    end else begin
      s4_key_q       <= s3_q.eos | key_end | (s3_q.key & s3_q.user & ~s3_q.user_last);
      s4_eos_q       <= s3_q.eos;
      s4_end_q       <= key_end;
      s4_value_q     <= s3_q.value;
      s4_hash_q      <= (key_end & s3_q.value_bytes == '0) | (s3_q.value & s3_q.last);
      s4_block_end_q <= s3_q.block_end;
      if (bad_event && !fault_q) begin
        fault_q  <= 1'b1;
        status_q <= s4_status_q;
      end
    end
  end

  assign bad_event = s4_status_q != MergeStatusOk;
  assign silent    = fault_q | silent_i | bad_event;

  assign key_valid_o   = s4_key_q & ~silent;
  assign key_o         = '{
    data: s4_data_q, bytes: s4_bytes_q, last: s4_eos_q | s4_end_q, eos: s4_eos_q,
    trailer: trailer_before_q,  // of this key, by now
    parity: key_parity_q ^ s4_bytes_parity_q
  };
  assign value_valid_o = s4_value_q & ~silent;
  assign value_data_o  = s4_data_q;
  assign info_valid_o       = s4_end_q & ~silent;
  assign info_value_bytes_o = s4_value_bytes_q;
  assign info_tag_o    = cu_tag_pkg::fold(hash_q) ^ cu_tag_pkg::spread(trailer_before_q);
  assign hash_valid_o  = s4_hash_q & ~silent;
  assign hash_o        = hash_q;
  assign end_valid_o   = s4_block_end_q;
  assign end_status_o  = status_q;
  assign fault_o       = fault_q;

  // ------------------------------------------------------------------ bit flips

  logic [6:0] errors_q;  // of the cycle before
  logic parity_error_q;
  wire s1_parity_error = (s1_head_q | s1_q.key | s1_q.value) & (^s1_data_q != s1_parity_q);
  wire counts_parity_error = (s1_q.key | s1_q.value) &
                        (^{s1_q.bytes, s1_shared_q, s1_filled_q} != s1_counts_parity_q);
  wire head_parity_error = s1_head_q & (^s1_data_q[63:0] != s1_head_parity_q);
  logic header_bad_q;  // what follows is meaningless
  wire header_bad = header_bad_q | (header_status_i != MergeStatusOk);
  wire before_parity_error = s1_q.key & ~header_bad & (s1_shared_q != '0) &
                        (^s1_before_q != s1_before_parity_q);
  // A row of the key before from another place has the right parity.
  wire [BeatBits-1:0] last_row = BeatBits'((s1_q.user_bytes + 16'd7) >> $clog2(V));
  wire row_error = s1_q.key & ((^s1_beat_q != s1_beat_parity_q) |
                               (s1_q.last & ~header_bad & (s1_beat_q != last_row)));
  wire value_parity_error = s3_q.value & (^s3_xor_hash_q != s3_parity_q);
  wire lengths_parity_error = key_end & ^{s3_q.user_bytes, s3_q.value_bytes, s3_q.parity};
  assign parity_error_o = parity_error_q;
  always_ff @(posedge clk_i) begin
    header_bad_q <= rst_ni & header_bad;
    errors_q <= {s1_parity_error, counts_parity_error, head_parity_error, before_parity_error,
                 row_error, value_parity_error, lengths_parity_error};
    if (!rst_ni) begin
      errors_q       <= '0;
      parity_error_q <= 1'b0;
    end else if (errors_q != '0) begin
      parity_error_q <= 1'b1;
    end
  end

  `ASSERT(a_old_key, s1_q.key && event_i.key |-> s1_beat_q != beat)
  `ASSERT(a_one, $onehot0({event_i.head, event_i.key, event_i.value, event_i.fault,
                           event_i.block_end, event_i.eos}))
  `COVER(c_trailer_straddles, key_end && !s3_q.user && s3_q.span < 8)
endmodule
