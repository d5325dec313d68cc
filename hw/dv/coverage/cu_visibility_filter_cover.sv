// Every fate of a record.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_visibility_filter_cover #(
  parameter int unsigned Ways = 4,
  parameter int unsigned Snapshots = 4,
  localparam type verdict_t = `CU_VERDICT_T(Ways)
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        verdict_valid_o,
  input logic        verdict_ready_i,
  input verdict_t    verdict_o,
  input logic [Snapshots-1:0][55:0] snapshots_i,
  input logic        bottommost_i,
  input logic        has_begin_i,
  input logic        has_end_i
);
  wire judged = verdict_valid_o && verdict_ready_i && !verdict_o.eos;
  wire kept = judged && verdict_o.keep;
  wire dropped = judged && verdict_o.in_range && !verdict_o.keep;
  wire old = verdict_o.trailer[63:8] <= snapshots_i[Snapshots-1];
  wire oldest = verdict_o.trailer[63:8] <= snapshots_i[0];
  logic any_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) any_q <= 1'b0;
    else if (kept) any_q <= 1'b1;
  end

  `COVER(c_kept, kept && !verdict_o.tombstone)
  `COVER(c_kept_above_snapshot, kept && !old)
  `COVER(c_kept_between_snapshots, kept && old && !oldest)
  `COVER(c_kept_older_version,
      kept && any_q && verdict_o.user_bytes != '0 && verdict_o.shared == verdict_o.user_bytes)
  `COVER(c_tombstone_kept, kept && verdict_o.tombstone && !bottommost_i)
  `COVER(c_tombstone_kept_at_bottom, kept && verdict_o.tombstone && bottommost_i)
  `COVER(c_shadowed_dropped, dropped && !verdict_o.tombstone)
  `COVER(c_tombstone_dropped, dropped && verdict_o.tombstone && bottommost_i)
  `COVER(c_tombstone_shadowed, dropped && verdict_o.tombstone && !bottommost_i)
  `COVER(c_before_range, judged && !verdict_o.in_range && has_begin_i && !has_end_i)
  `COVER(c_past_range, judged && !verdict_o.in_range && !has_begin_i && has_end_i)
  `COVER(c_empty_key, kept && verdict_o.user_bytes == '0)
  `COVER(c_end, verdict_valid_o && verdict_ready_i && verdict_o.eos)
endmodule

bind cu_visibility_filter cu_visibility_filter_cover #(.Ways(Ways), .Snapshots(Snapshots)) u_cover (.*);
bind cu_visibility_filter stream_cover u_cover_key (.clk_i, .rst_ni, .valid_i(key_valid_i),
                                        .ready_i(key_ready_o));
bind cu_visibility_filter stream_cover u_cover_verdict (.clk_i, .rst_ni, .valid_i(verdict_valid_o),
                                            .ready_i(verdict_ready_i));
bind cu_visibility_filter stream_cover u_cover_kept_key (
    .clk_i, .rst_ni, .valid_i(kept_key_valid_o), .ready_i(kept_key_ready_i)
);
