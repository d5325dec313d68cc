// Judges every record of the merged stream: is it in the key range, is it kept, how many bytes does
// its user key share with the previous kept one. The rules are those of src/merge/merge.h (and of
// LevelDB's DoCompactionWork):
//
//  * out of [begin, end): as if it were not there;
//  * dropped if a newer record of the same user key is visible to the snapshot;
//  * dropped if it is a tombstone visible to the snapshot and the job is bottommost.
//
// Beats of user keys go through three stages, one beat per cycle:
//
//   0  compare the beat with that of the previous key, in whose place it is then written, and with
//      those of the bounds
//   1  per key: count the common prefix, settle the range
//   2  per key: shadowing, prefix with the last kept key; the verdict goes to its FIFO. Beats enter
//      the FIFO of kept keys as they come, and become visible, or are taken back, with the last.
//
// The prefix with the last kept key is the least prefix of neighbours since then: in a sorted
// sequence lcp(a, c) = min(lcp(a, b), lcp(b, c)). What lies in the previous key's memory beyond its
// length, and zero padding, may look equal too: the prefix is bounded by both lengths at the end.
//
// Keys come with a parity bit, and beats have one from stage to stage: a stray bit may drop a record.

module cu_verdict #(
  parameter int unsigned V           = 8,
  parameter int unsigned N           = 4,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned KB = $clog2(V + 1),
  localparam int unsigned WB = (N > 1) ? $clog2(N) : 1,
  localparam int unsigned RangeBits = (MaxKeyBytes > 8) ? $clog2((MaxKeyBytes + 7) / 8) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Stable from reset's end, at least one cycle ahead of the first beat; bounds likewise.
  input  logic [55:0]          snapshot_i,
  input  logic                 bottommost_i,
  input  logic                 has_begin_i,
  input  logic                 has_end_i,
  input  logic [15:0]          begin_bytes_i,
  input  logic [15:0]          end_bytes_i,
  input  logic                 range_we_i,
  input  logic                 range_sel_i,   // 0 begin, 1 end
  input  logic [RangeBits-1:0] range_addr_i,  // 8-byte words
  input  logic [63:0]          range_data_i,  // the last word zero-padded

  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [V*8-1:0]       in_data_i,
  input  logic [KB-1:0]        in_bytes_i,
  input  logic                 in_last_i,
  input  logic                 in_eos_i,
  input  logic [63:0]          in_trailer_i,
  input  logic [WB-1:0]        in_way_i,
  input  logic                 in_parity_i,  // with last: of data, trailer and in_bytes_i

  output logic                 vd_valid_o,
  input  logic                 vd_ready_i,
  output logic                 vd_end_o,
  output logic [WB-1:0]        vd_way_o,
  output logic                 vd_in_range_o,
  output logic                 vd_keep_o,
  output logic                 vd_tombstone_o,
  output logic [15:0]          vd_user_bytes_o,
  output logic [15:0]          vd_shared_o,
  output logic [63:0]          vd_trailer_o,

  output logic                 kk_valid_o,
  input  logic                 kk_ready_i,
  output logic [V*8-1:0]       kk_data_o,
  output logic                 kk_last_o,

  output logic                 flipped_o  // a bit has strayed; level
);
  localparam int unsigned KeyBeats = (MaxKeyBytes + V - 1) / V;
  localparam int unsigned IdxBits  = (KeyBeats > 1) ? $clog2(KeyBeats) : 1;
  localparam int unsigned KeptBeats = 1 << $clog2(2 * KeyBeats);

  // What a stage hands on with each beat, and with a key's last.
  typedef struct packed {
    logic [V*8-1:0] data;
    logic           first;
    logic           last;
    logic           eos;
    logic [WB-1:0]  way;
    logic [63:0]    trailer;
    logic           visible;  // to the snapshot
    logic [15:0]    user_bytes;
    logic           parity;   // even, with all of the above
  } beat_t;

  typedef struct packed {
    logic          eos;
    logic [WB-1:0] way;
    logic          in_range;
    logic          keep;
    logic          tombstone;
    logic [15:0]   user_bytes;
    logic [15:0]   shared;
    logic [63:0]   trailer;
  } verdict_t;

  logic kept_ready, verdict_ready;
  // The pipeline moves as a whole.
  wire go = kept_ready && verdict_ready;
  assign in_ready_o = go;
  wire accept = in_valid_i && go;

  // ------------------------------------------------------------ stage 0
  logic [IdxBits-1:0] idx_q, idx_d;
  logic [V*8-1:0] previous_mem[KeyBeats];
  logic [V*8-1:0] previous;
  logic [V-1:0] equal_bytes;
  logic begin_less, begin_equal, end_less, end_equal;

  always_comb begin
    idx_d = idx_q;
    if (accept) idx_d = in_last_i ? '0 : idx_q + 1'b1;
    if (!rst_ni) idx_d = '0;
  end

  assign previous = previous_mem[idx_q];
  always_comb begin
    for (int unsigned i = 0; i < V; i++) begin
      equal_bytes[i] = in_data_i[i*8+:8] == previous[i*8+:8];
    end
  end

  cu_key_range #(.V(V), .MaxKeyBytes(MaxKeyBytes)) u_begin (
    .clk_i, .we_i(range_we_i && !range_sel_i), .addr_i(range_addr_i), .data_i(range_data_i),
    .bytes_i(begin_bytes_i), .next_beat_i(idx_d), .beat_i(in_data_i),
    .less_o(begin_less), .equal_o(begin_equal)
  );

  cu_key_range #(.V(V), .MaxKeyBytes(MaxKeyBytes)) u_end (
    .clk_i, .we_i(range_we_i && range_sel_i), .addr_i(range_addr_i), .data_i(range_data_i),
    .bytes_i(end_bytes_i), .next_beat_i(idx_d), .beat_i(in_data_i),
    .less_o(end_less), .equal_o(end_equal)
  );

  logic valid1_q;
  beat_t beat0, beat1_q;
  logic data_parity, trailer_parity, key_parity, key_parity_q;  // of the key so far
  wire first = idx_q == '0;
  wire visible = in_trailer_i[63:8] <= snapshot_i;
  wire [15:0] user_bytes = 16'(32'(idx_q) * V) + 16'(in_bytes_i);
  assign data_parity = ^in_data_i;
  assign trailer_parity = ^in_trailer_i;
  assign key_parity = key_parity_q ^ data_parity;
  assign beat0 = '{
    data: in_data_i, first: first, last: in_last_i, eos: in_eos_i, way: in_way_i,
    trailer: in_trailer_i, visible: visible, user_bytes: user_bytes,
    parity: data_parity ^ trailer_parity ^
            (^{first, in_last_i, in_eos_i, in_way_i, visible, user_bytes})
  };
  logic [V-1:0] equal_bytes_q;
  logic begin_less_q, begin_equal_q, end_less_q, end_equal_q;
  logic parity1_q;  // of this and the line before

  always_ff @(posedge clk_i) begin
    idx_q <= idx_d;
    if (accept) previous_mem[idx_q] <= in_data_i;
    if (go) begin
      beat1_q       <= beat0;
      equal_bytes_q <= equal_bytes;
      begin_less_q  <= begin_less;
      begin_equal_q <= begin_equal;
      end_less_q    <= end_less;
      end_equal_q   <= end_equal;
      parity1_q     <= ^{equal_bytes, begin_less, begin_equal, end_less, end_equal};
    end
    if (!rst_ni) valid1_q <= 1'b0;
    else if (go) valid1_q <= in_valid_i;
    if (!rst_ni) key_parity_q <= 1'b0;
    else if (accept) key_parity_q <= key_parity & ~in_last_i;
  end

  // ------------------------------------------------------------ stage 1
  // Of the key so far: all bytes equal to the previous key's; how many up to the first difference;
  // not above, and not below, the bounds.
  logic same_q, same_d;
  logic [15:0] prefix_q, prefix_d, limit;
  logic below_begin_q, below_begin_d, at_begin_q, at_begin_d;
  logic below_end_q, below_end_d, at_end_q, at_end_d;
  logic in_range;
  logic key_so_far_parity_q;
  logic [15:0] previous_bytes_q;
  logic previous_valid_q, previous_parity_q;

  function automatic logic [15:0] leading_ones(logic [V-1:0] bits);
    logic [15:0] count;
    count = 16'(V);
    for (int i = int'(V) - 1; i >= 0; i--) if (!bits[i]) count = 16'(unsigned'(i));
    return count;
  endfunction

  always_comb begin
    same_d   = (beat1_q.first || same_q) && (&equal_bytes_q);
    prefix_d = beat1_q.first ? '0 : prefix_q;
    if (beat1_q.first || same_q) prefix_d = prefix_d + leading_ones(equal_bytes_q);

    at_begin_d    = (beat1_q.first || at_begin_q) && begin_equal_q;
    below_begin_d = (beat1_q.first || at_begin_q) ? begin_less_q : below_begin_q;
    at_end_d      = (beat1_q.first || at_end_q) && end_equal_q;
    below_end_d   = (beat1_q.first || at_end_q) ? end_less_q : below_end_q;

    in_range = !(has_begin_i
                 && (at_begin_d ? beat1_q.user_bytes < begin_bytes_i : below_begin_d))
               && (!has_end_i || (at_end_d ? beat1_q.user_bytes < end_bytes_i : below_end_d));

    limit = (previous_bytes_q < beat1_q.user_bytes) ? previous_bytes_q : beat1_q.user_bytes;
  end

  wire in_range1 = in_range && !beat1_q.eos;
  wire same_bytes1 = previous_valid_q && previous_bytes_q == beat1_q.user_bytes;
  logic valid2_q, in_range2_q, same_bytes2_q, parity2_q;  // of this and the next line
  beat_t beat2_q;
  logic [15:0] prefix2_q, limit2_q;

  always_ff @(posedge clk_i) begin
    if (go) begin
      if (valid1_q) begin
        same_q        <= same_d;
        prefix_q      <= prefix_d;
        at_begin_q    <= at_begin_d;
        below_begin_q <= below_begin_d;
        at_end_q      <= at_end_d;
        below_end_q   <= below_end_d;
        key_so_far_parity_q <= ^{same_d, prefix_d, at_begin_d, below_begin_d, at_end_d,
                                 below_end_d};
        if (beat1_q.last) previous_bytes_q <= beat1_q.user_bytes;
        if (beat1_q.last) previous_parity_q <= ^beat1_q.user_bytes;
      end
      beat2_q       <= beat1_q;
      in_range2_q   <= in_range1;
      prefix2_q     <= prefix_d;
      limit2_q      <= limit;
      same_bytes2_q <= same_bytes1;
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
  // A visible record of this user key was seen; the least common prefix since the last kept record,
  // and 0 until there is one.
  logic seen_q, seen, kept_parity_q;
  logic [15:0] least_q, least, shared, common;
  logic same_key, shadowed, tombstone, keep;

  always_comb begin
    common    = (prefix2_q < limit2_q) ? prefix2_q : limit2_q;
    shared    = (common < least_q) ? common : least_q;
    same_key  = same_bytes2_q && prefix2_q >= limit2_q;
    shadowed  = same_key && seen_q;
    tombstone = beat2_q.trailer[7:0] == 8'd0;
    keep      = in_range2_q && !shadowed && !(tombstone && beat2_q.visible && bottommost_i);
    seen      = shadowed || beat2_q.visible;
    least     = keep ? '1 : shared;
  end

  wire done2 = valid2_q && beat2_q.last && go;

  // Of a way that strayed, verdict and value would part.
  logic flipped_q, past_q;  // past_q: as previous_valid_q
  wire key_flipped = accept && in_last_i && !in_eos_i
                     && (key_parity ^ trailer_parity ^ (^in_bytes_i) ^ in_parity_i);
  wire beat_flipped = valid2_q && (^beat2_q || ^{in_range2_q, same_bytes2_q, prefix2_q, limit2_q,
                                                 parity2_q});
  // Stage 1's part of the next beat's verdict, and what the key before left.
  wire state_flipped = valid1_q && (
      ^{equal_bytes_q, begin_less_q, begin_equal_q, end_less_q, end_equal_q, parity1_q}
      || (!beat1_q.first && ^{same_q, prefix_q, at_begin_q, below_begin_q, at_end_q, below_end_q,
                              key_so_far_parity_q})
      || (previous_valid_q != past_q) || (past_q && ^{previous_bytes_q, previous_parity_q}));
  wire kept_flipped = ^{seen_q, least_q, kept_parity_q};
  assign flipped_o = flipped_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) past_q <= 1'b0;
    else if (go && valid1_q && beat1_q.last) past_q <= 1'b1;
    if (!rst_ni) flipped_q <= 1'b0;
    else if (key_flipped || beat_flipped || state_flipped || kept_flipped) flipped_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q  <= 1'b0;
      least_q <= '0;
      kept_parity_q <= 1'b0;
    end else if (done2) begin
      seen_q  <= seen;
      least_q <= least;
      kept_parity_q <= ^{seen, least};
    end
  end

  verdict_t verdict, vd;
  assign verdict = '{
    eos: beat2_q.eos, way: beat2_q.way, in_range: in_range2_q, keep: keep, tombstone: tombstone,
    user_bytes: beat2_q.user_bytes, shared: shared, trailer: beat2_q.trailer
  };

  logic [3:0] unused_count;
  cu_fifo #(.Width($bits(verdict_t)), .Depth(8)) u_verdicts (
    .clk_i, .rst_ni, .wvalid_i(done2), .wready_o(verdict_ready), .wdata_i(verdict),
    .rvalid_o(vd_valid_o), .rready_i(vd_ready_i), .rdata_o(vd), .count_o(unused_count)
  );
  assign vd_end_o        = vd.eos;
  assign vd_way_o        = vd.way;
  assign vd_in_range_o   = vd.in_range;
  assign vd_keep_o       = vd.keep;
  assign vd_tombstone_o  = vd.tombstone;
  assign vd_user_bytes_o = vd.user_bytes;
  assign vd_shared_o     = vd.shared;
  assign vd_trailer_o    = vd.trailer;

  cu_commit_fifo #(.Width(V * 8 + 1), .Depth(KeptBeats)) u_kept (
    .clk_i, .rst_ni, .wvalid_i(valid2_q && go), .wready_o(kept_ready),
    .wdata_i({beat2_q.last, beat2_q.data}), .commit_i(beat2_q.last && keep),
    .drop_i(beat2_q.last && !keep),
    .rvalid_o(kk_valid_o), .rready_i(kk_ready_i), .rdata_o({kk_last_o, kk_data_o})
  );

`ifndef SYNTHESIS
  initial begin
    if (V != 8 && V != 16 && V != 32 && V != 64) $fatal(1, "V must be 8, 16, 32 or 64");
    if (MaxKeyBytes > 32768) $fatal(1, "MaxKeyBytes must be at most 32768");
  end

  a_key_fits : assert property (@(posedge clk_i) disable iff (!rst_ni)
      accept && !in_last_i |-> 32'(idx_q) + 1 < KeyBeats);
  a_eos_is_last : assert property (@(posedge clk_i) disable iff (!rst_ni)
      in_valid_i && in_eos_i |-> in_last_i);
  a_shared_fits : assert property (@(posedge clk_i) disable iff (!rst_ni)
      vd_valid_o |-> vd_shared_o <= vd_user_bytes_o || vd_end_o);
  c_shadowed : cover property (@(posedge clk_i) done2 && in_range2_q && shadowed);
  c_out_of_range : cover property (@(posedge clk_i) done2 && !in_range2_q);
  c_zero_extension : cover property (@(posedge clk_i) done2 && prefix2_q > limit2_q);
`endif
endmodule
