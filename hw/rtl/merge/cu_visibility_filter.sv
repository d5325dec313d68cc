// Decides the fate of each record of the merged stream: whether it is in the key range, whether it
// is kept, and how many bytes its user key shares with the previous kept one. The rules are those
// of include/sluice/executor.h (and of LevelDB's DoCompactionWork). A record is
//
//  * ignored outside [begin, end);
//  * dropped if the same snapshot is the smallest to see it and a newer record of its user key;
//  * dropped if it is a tombstone visible to the smallest snapshot and the job is bottommost.
//
// Beats of user keys pass through three stages, one beat per cycle:
//
//   0  compare the beat with that of the previous key, which it then replaces, and with the bounds'
//   1  per key: count the common prefix, decide the range; compare trailers
//   2  per key: shadowing, prefix shared with the last kept key; push the verdict. Beats enter the
//      FIFO of kept keys immediately; the last one commits or drops them.
//
// The prefix shared with the last kept key is the minimum over all neighbours since then: in a
// sorted sequence lcp(a, c) = min(lcp(a, b), lcp(b, c)). Bytes beyond the length of the previous
// key, and zero padding, may compare equal as well, so the result is limited to the length of both
// keys.
//
// Keys carry a parity bit, and so does each beat from stage to stage, because a flipped bit could
// drop a record. A flipped bit in the control of the merge tree could, too, by putting a key where
// it shadows or where nothing shadows it: each key must come after the previous one or be the same,
// and gets a tag by which cu_transfer finds that it is the one whose turn it is.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_visibility_filter #(
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned Ways        = 4,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned Snapshots   = 4,
  localparam int unsigned RangeBits = (MaxKeyBytes > 8) ? $clog2((MaxKeyBytes + 7) / 8) : 1,
  localparam type key_t = `CU_MERGED_KEY_T(ValueBytes, Ways),
  localparam type verdict_t = `CU_VERDICT_T(Ways)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  // Stable from reset's end, at least two cycles ahead of the first beat; bounds likewise.
  input  logic [Snapshots-1:0][55:0] snapshots_i,  // ascending
  input  logic                    bottommost_i,
  input  logic                    has_begin_i,
  input  logic                    has_end_i,
  input  logic [15:0]             begin_bytes_i,
  input  logic [15:0]             end_bytes_i,
  input  logic                    range_we_i,
  input  logic                    range_sel_i,   // 0 begin, 1 end
  input  logic [RangeBits-1:0]    range_addr_i,  // 8-byte words
  input  logic [63:0]             range_data_i,  // the last word zero-padded

  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  key_t                    key_i,

  output logic                    verdict_valid_o,
  input  logic                    verdict_ready_i,
  output verdict_t                verdict_o,

  // User keys of kept records.
  output logic                    kept_key_valid_o,
  input  logic                    kept_key_ready_i,
  output logic [ValueBytes*8-1:0] kept_key_data_o,
  output logic                    kept_key_last_o,

  output logic                    parity_error_o,  // level
  output logic                    order_error_o    // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Words = V / 8;
  localparam int unsigned Phases = 8 / Words;  // beats after which word rotations repeat
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1;
  localparam int unsigned KeyBeats = (MaxKeyBytes + V - 1) / V;
  localparam int unsigned IdxBits  = (KeyBeats > 1) ? $clog2(KeyBeats) : 1;
  localparam int unsigned ByteBits = $clog2(V);
  localparam int unsigned KeptBeats = 1 << $clog2(2 * KeyBeats);

  `ASSERT_PARAM(value_bytes, ValueBytes inside {8, 16, 32, 64},
                "ValueBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(max_key_bytes, MaxKeyBytes <= 32768, "MaxKeyBytes must be at most 32768")

  // What a stage passes on with each beat; trailer to user_bytes are valid with a key's last.
  typedef struct packed {
    logic [V*8-1:0]     data;
    logic               first;
    logic               last;
    logic               eos;
    logic [WayBits-1:0] way;
    logic [63:0]        trailer;
    logic [Snapshots-1:0] above;  // the snapshots that do not see it: those from 0 up to some one
    logic [15:0]        user_bytes;
    logic [Words:0]     parity;  // even together, with all of the above: of each word, and the rest
  } beat_t;

  logic kept_ready, verdict_ready;
  // The pipeline moves as a whole.
  wire go = kept_ready && verdict_ready;
  assign key_ready_o = go;
  wire accept = key_valid_i && go;

  // ------------------------------------------------------------ stage 0
  logic [IdxBits-1:0] idx_q, idx_d;
  logic [V*8-1:0] previous_mem[KeyBeats];
  logic [V*8-1:0] previous;
  logic [V-1:0] equal_bytes;
  logic begin_less, begin_equal, end_less, end_equal;

  always_comb begin
    idx_d = idx_q;
    if (accept) idx_d = key_i.last ? '0 : idx_q + 1'b1;
    if (!rst_ni) idx_d = '0;
  end

  assign previous = previous_mem[idx_q];
  always_comb begin
    for (int unsigned i = 0; i < V; i++) begin
      equal_bytes[i] = key_i.data[i*8+:8] == previous[i*8+:8];
    end
  end

  logic [V*8-1:0] beat_order, previous_order;  // the first byte is the most significant
  logic less, unused_equal;
  always_comb begin
    for (int unsigned i = 0; i < V; i++) begin
      beat_order[(V-1-i)*8+:8]     = key_i.data[i*8+:8];
      previous_order[(V-1-i)*8+:8] = previous[i*8+:8];
    end
  end
  cu_compare #(.Width(V * 8)) u_order (
    .a_i(beat_order), .b_i(previous_order), .less_o(less), .equal_o(unused_equal)
  );

  // The tag, but for trailer and lengths.
  cu_tag_pkg::tag_t tag, tag_q;  // of the beat; of the key so far
  always_comb begin
    cu_tag_pkg::tag_t words;
    words = '0;
    for (int unsigned i = 0; i < Words; i++) begin
      words ^= cu_tag_pkg::rotate(cu_tag_pkg::fold(key_i.data[64*i+:64]), 11 * i);
    end
    tag = '0;
    for (int unsigned p = 0; p < Phases; p++) begin
      if (32'(idx_q) % Phases == p) tag |= cu_tag_pkg::rotate(words, 11 * Words * p);
    end
  end

  cu_key_range #(.ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_begin (
    .clk_i, .we_i(range_we_i && !range_sel_i), .addr_i(range_addr_i), .data_i(range_data_i),
    .bytes_i(begin_bytes_i), .next_beat_i(idx_d), .beat_i(key_i.data),
    .less_o(begin_less), .equal_o(begin_equal)
  );

  cu_key_range #(.ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_end (
    .clk_i, .we_i(range_we_i && range_sel_i), .addr_i(range_addr_i), .data_i(range_data_i),
    .bytes_i(end_bytes_i), .next_beat_i(idx_d), .beat_i(key_i.data),
    .less_o(end_less), .equal_o(end_equal)
  );

  // Parities of many bits are kept in parts, by words, so that they take no more levels than one.
  logic valid1_q;
  beat_t beat0, beat1_q;
  logic trailer_parity;
  logic [Words-1:0] data_parity, equal_parity, key_parity, key_parity_q;  // of the key so far
  wire first = idx_q == '0;
  logic [Snapshots-1:0] above;
  always_comb begin
    for (int unsigned s = 0; s < Snapshots; s++) above[s] = key_i.trailer[63:8] > snapshots_i[s];
  end
  wire [15:0] user_bytes = 16'(32'(idx_q) * V) + 16'(key_i.bytes);
  always_comb begin
    for (int unsigned i = 0; i < Words; i++) begin
      data_parity[i]  = ^key_i.data[64*i+:64];
      equal_parity[i] = ^equal_bytes[8*i+:8];
    end
  end
  assign trailer_parity = ^key_i.trailer;
  assign key_parity = key_parity_q ^ data_parity;
  assign beat0 = '{
    data: key_i.data, first: first, last: key_i.last, eos: key_i.eos, way: key_i.way,
    trailer: key_i.trailer, above: above, user_bytes: user_bytes,
    parity: {trailer_parity ^ (^{first, key_i.last, key_i.eos, key_i.way, above, user_bytes}),
             data_parity}
  };
  logic [V-1:0] equal_bytes_q;
  logic [IdxBits-1:0] idx1_q;
  logic begin_less_q, begin_equal_q, end_less_q, end_equal_q;
  logic [Words:0] parity1_q;  // of this and the three lines before
  logic less_q;               // than the beat of the previous key
  logic check_q;              // of a key: its parity, which is even
  logic [Words:0] check_parity_q;

  always_ff @(posedge clk_i) begin
    idx_q <= idx_d;
    if (accept) previous_mem[idx_q] <= key_i.data;
    if (accept) tag_q <= first ? tag : tag_q ^ tag;
    if (go) begin
      beat1_q       <= beat0;
      less_q        <= less;
      equal_bytes_q <= equal_bytes;
      idx1_q        <= idx_q;
      begin_less_q  <= begin_less;
      begin_equal_q <= begin_equal;
      end_less_q    <= end_less;
      end_equal_q   <= end_equal;
      parity1_q     <= {^{idx_q, begin_less, begin_equal, end_less, end_equal}, equal_parity};
    end
    check_q        <= rst_ni && accept && key_i.last && !key_i.eos;
    check_parity_q <= {trailer_parity ^ (^key_i.bytes) ^ key_i.parity, key_parity};
    if (!rst_ni) valid1_q <= 1'b0;
    else if (go) valid1_q <= key_valid_i;
    if (!rst_ni) key_parity_q <= '0;
    else if (accept) key_parity_q <= key_i.last ? '0 : key_parity;
  end

  // ------------------------------------------------------------ stage 1
  // For the key so far: all bytes equal the previous key's; how many do up to the first difference,
  // or more than any key has; it is not above, and not below, the bounds.
  logic same_q, same_d;
  logic [15:0] prefix_q, prefix_d, limit;
  logic below_begin_q, below_begin_d, at_begin_q, at_begin_d;
  logic below_end_q, below_end_d, at_end_q, at_end_d;
  logic in_range, longer;  // longer: than the previous key
  logic key_so_far_parity_q;
  logic [15:0] previous_bytes_q;
  logic [63:0] previous_trailer_q;
  logic previous_valid_q, previous_parity_q;
  logic below_previous_q, below_previous_d;  // at the first difference, stale and padding included

  // Of bits that are not all ones.
  function automatic logic [ByteBits-1:0] leading_ones(logic [V-1:0] bits);
    logic [ByteBits-1:0] count;
    count = '1;
    for (int i = int'(V) - 2; i >= 0; i--) if (!bits[i]) count = ByteBits'(unsigned'(i));
    return count;
  endfunction

  always_comb begin
    same_d   = (beat1_q.first || same_q) && (&equal_bytes_q);
    prefix_d = prefix_q;
    if (same_d) prefix_d = '1;
    else if (beat1_q.first || same_q) prefix_d = 16'({idx1_q, leading_ones(equal_bytes_q)});

    below_previous_d = (beat1_q.first || same_q) ? less_q : below_previous_q;

    at_begin_d    = (beat1_q.first || at_begin_q) && begin_equal_q;
    below_begin_d = (beat1_q.first || at_begin_q) ? begin_less_q : below_begin_q;
    at_end_d      = (beat1_q.first || at_end_q) && end_equal_q;
    below_end_d   = (beat1_q.first || at_end_q) ? end_less_q : below_end_q;

    in_range = !(has_begin_i
                 && (at_begin_d ? beat1_q.user_bytes < begin_bytes_i : below_begin_d))
               && (!has_end_i || (at_end_d ? beat1_q.user_bytes < end_bytes_i : below_end_d));

    longer = previous_bytes_q < beat1_q.user_bytes;
    limit  = longer ? previous_bytes_q : beat1_q.user_bytes;
  end

  logic newer, unused_same_trailer;
  cu_compare #(.Width(64)) u_trailers (
    .a_i(previous_trailer_q), .b_i(beat1_q.trailer), .less_o(newer),
    .equal_o(unused_same_trailer)
  );

  wire in_range1 = in_range && !beat1_q.eos;
  wire same_bytes1 = previous_valid_q && previous_bytes_q == beat1_q.user_bytes;
  wire checked1 = previous_valid_q && !beat1_q.eos;
  logic valid2_q, in_range2_q, same_bytes2_q, parity2_q;  // of this and the next line
  beat_t beat2_q;
  logic [15:0] prefix2_q, limit2_q;
  // Not after the previous key: if they differ within the length of both; if not.
  logic below2_q, before2_q;
  cu_tag_pkg::tag_t tag2_q;

  always_ff @(posedge clk_i) begin
    if (go) begin
      if (valid1_q) begin
        same_q        <= same_d;
        prefix_q      <= prefix_d;
        at_begin_q    <= at_begin_d;
        below_begin_q <= below_begin_d;
        at_end_q      <= at_end_d;
        below_end_q   <= below_end_d;
        below_previous_q <= below_previous_d;
        key_so_far_parity_q <= ^{same_d, prefix_d, at_begin_d, below_begin_d, at_end_d,
                                 below_end_d};
        if (beat1_q.last) previous_bytes_q <= beat1_q.user_bytes;
        if (beat1_q.last) previous_parity_q <= ^beat1_q.user_bytes;
        if (beat1_q.last) previous_trailer_q <= beat1_q.trailer;
      end
      beat2_q       <= beat1_q;
      in_range2_q   <= in_range1;
      prefix2_q     <= prefix_d;
      limit2_q      <= limit;
      same_bytes2_q <= same_bytes1;
      below2_q      <= checked1 && below_previous_d;
      before2_q     <= checked1 && !longer && (newer || !same_bytes1);
      tag2_q        <= tag_q ^ cu_tag_pkg::rotate(cu_tag_pkg::fold(beat1_q.trailer), 3) ^
                       cu_tag_pkg::spread(beat1_q.trailer);
      parity2_q     <= ^{in_range1, same_bytes1, prefix_d, limit};
    end
    if (!rst_ni) begin
      valid2_q         <= 1'b0;
      previous_valid_q <= 1'b0;
    end else if (go) begin
      valid2_q <= valid1_q;
      if (valid1_q && beat1_q.last) previous_valid_q <= 1'b1;
    end
  end

  // ------------------------------------------------------------ stage 2
  // The snapshots that do not see the previous record; the least common prefix since the last kept
  // record, and 0 until there is one.
  logic [Snapshots-1:0] above_q;
  logic kept_parity_q;
  logic [15:0] least_q, least, shared, common;
  logic prefix_of_other;  // of this key and the previous one, one is
  logic same_key, shadowed, tombstone, keep;

  always_comb begin
    common    = (prefix2_q < limit2_q) ? prefix2_q : limit2_q;
    shared    = (common < least_q) ? common : least_q;
    prefix_of_other = prefix2_q >= limit2_q;
    same_key  = same_bytes2_q && prefix_of_other;
    shadowed  = same_key && beat2_q.above == above_q && !(&beat2_q.above);
    tombstone = beat2_q.trailer[7:0] == 8'd0;
    keep      = in_range2_q && !shadowed && !(tombstone && !beat2_q.above[0] && bottommost_i);
    least     = keep ? '1 : shared;
  end

  wire done2 = valid2_q && beat2_q.last && go;

  // A wrong way would pair a verdict with another record's value.
  logic [3:0] errors_q;  // of the cycle before
  logic parity_error_q, past_q;  // past_q: as previous_valid_q
  wire key_parity_error = check_q && ^check_parity_q;
  wire beat_parity_error = valid2_q && (
      ^beat2_q || ^{in_range2_q, same_bytes2_q, prefix2_q, limit2_q, parity2_q});
  // Stage 1's part of the next beat's verdict, and the state left by the previous key.
  wire state_parity_error = valid1_q && (
      ^{equal_bytes_q, idx1_q, begin_less_q, begin_equal_q, end_less_q, end_equal_q, parity1_q}
      || (!beat1_q.first && ^{same_q, prefix_q, at_begin_q, below_begin_q, at_end_q, below_end_q,
                              key_so_far_parity_q})
      || (previous_valid_q != past_q) || (past_q && ^{previous_bytes_q, previous_parity_q}));
  wire kept_parity_error = ^{above_q, least_q, kept_parity_q};
  assign parity_error_o = parity_error_q;
  logic order_error_q;
  assign order_error_o = order_error_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) past_q <= 1'b0;
    else if (go && valid1_q && beat1_q.last) past_q <= 1'b1;
    errors_q <= {key_parity_error, beat_parity_error, state_parity_error, kept_parity_error};
    if (!rst_ni) begin
      errors_q       <= '0;
      parity_error_q <= 1'b0;
    end else if (errors_q != '0) begin
      parity_error_q <= 1'b1;
    end
    if (!rst_ni) order_error_q <= 1'b0;
    else if (done2 && (prefix_of_other ? before2_q : below2_q)) order_error_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      above_q <= '0;
      least_q <= '0;
      kept_parity_q <= 1'b0;
    end else if (done2) begin
      above_q <= beat2_q.above;
      least_q <= least;
      kept_parity_q <= ^{beat2_q.above, least};
    end
  end

  verdict_t verdict;
  assign verdict = '{
    eos: beat2_q.eos, way: beat2_q.way, in_range: in_range2_q, keep: keep, tombstone: tombstone,
    user_bytes: beat2_q.user_bytes, shared: shared, trailer: beat2_q.trailer, tag: tag2_q
  };

  logic [3:0] unused_count;
  cu_fifo #(.Width($bits(verdict_t)), .Depth(8)) u_verdicts (
    .clk_i, .rst_ni, .wvalid_i(done2), .wready_o(verdict_ready), .wdata_i(verdict),
    .rvalid_o(verdict_valid_o), .rready_i(verdict_ready_i), .rdata_o(verdict_o),
    .count_o(unused_count)
  );

  cu_commit_fifo #(.Width(V * 8 + 1), .Depth(KeptBeats)) u_kept (
    .clk_i, .rst_ni, .wvalid_i(valid2_q && go), .wready_o(kept_ready),
    .wdata_i({beat2_q.last, beat2_q.data}), .commit_i(beat2_q.last && keep),
    .drop_i(beat2_q.last && !keep),
    .rvalid_o(kept_key_valid_o), .rready_i(kept_key_ready_i),
    .rdata_o({kept_key_last_o, kept_key_data_o})
  );

  `ASSERT(a_key_fits, accept && !key_i.last |-> 32'(idx_q) + 1 < KeyBeats)
  `ASSERT(a_eos_is_last, key_valid_i && key_i.eos |-> key_i.last)
  `ASSERT(a_shared_fits,
      verdict_valid_o |-> verdict_o.shared <= verdict_o.user_bytes || verdict_o.eos)
  `COVER(c_shadowed, done2 && in_range2_q && shadowed)
  `COVER(c_out_of_range, done2 && !in_range2_q)
  `COVER(c_zero_extension, done2 && prefix2_q > limit2_q)
endmodule
