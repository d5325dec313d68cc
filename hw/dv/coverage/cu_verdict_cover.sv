// Every fate of a record.

module cu_verdict_cover (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        vd_valid_o,
  input logic        vd_ready_i,
  input logic        vd_end_o,
  input logic        vd_in_range_o,
  input logic        vd_keep_o,
  input logic        vd_tombstone_o,
  input logic [15:0] vd_user_bytes_o,
  input logic [15:0] vd_shared_o,
  input logic [63:0] vd_trailer_o,
  input logic [55:0] snapshot_i,
  input logic        bottommost_i,
  input logic        has_begin_i,
  input logic        has_end_i
);
  wire judged = vd_valid_o && vd_ready_i && !vd_end_o;
  wire kept = judged && vd_keep_o;
  wire dropped = judged && vd_in_range_o && !vd_keep_o;
  wire old = vd_trailer_o[63:8] <= snapshot_i;
  logic any_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) any_q <= 1'b0;
    else if (kept) any_q <= 1'b1;
  end

  c_kept : cover property (@(posedge clk_i) disable iff (!rst_ni) kept && !vd_tombstone_o);
  c_kept_above_snapshot : cover property (@(posedge clk_i) disable iff (!rst_ni) kept && !old);
  c_kept_older_version : cover property (@(posedge clk_i) disable iff (!rst_ni)
      kept && any_q && vd_user_bytes_o != '0 && vd_shared_o == vd_user_bytes_o);
  c_tombstone_kept : cover property (@(posedge clk_i) disable iff (!rst_ni)
      kept && vd_tombstone_o && !bottommost_i);
  c_tombstone_kept_at_bottom : cover property (@(posedge clk_i) disable iff (!rst_ni)
      kept && vd_tombstone_o && bottommost_i);
  c_shadowed_dropped : cover property (@(posedge clk_i) disable iff (!rst_ni)
      dropped && !vd_tombstone_o);
  c_tombstone_dropped : cover property (@(posedge clk_i) disable iff (!rst_ni)
      dropped && vd_tombstone_o && bottommost_i);
  c_tombstone_shadowed : cover property (@(posedge clk_i) disable iff (!rst_ni)
      dropped && vd_tombstone_o && !bottommost_i);
  c_before_range : cover property (@(posedge clk_i) disable iff (!rst_ni)
      judged && !vd_in_range_o && has_begin_i && !has_end_i);
  c_past_range : cover property (@(posedge clk_i) disable iff (!rst_ni)
      judged && !vd_in_range_o && !has_begin_i && has_end_i);
  c_empty_key : cover property (@(posedge clk_i) disable iff (!rst_ni)
      kept && vd_user_bytes_o == '0);
  c_end : cover property (@(posedge clk_i) disable iff (!rst_ni) vd_valid_o && vd_ready_i && vd_end_o);
endmodule

bind cu_verdict cu_verdict_cover u_cover (.*);
bind cu_verdict stream_cover u_cover_in (.clk_i, .rst_ni, .valid_i(in_valid_i), .ready_i(in_ready_o));
bind cu_verdict stream_cover u_cover_vd (.clk_i, .rst_ni, .valid_i(vd_valid_o), .ready_i(vd_ready_i));
bind cu_verdict stream_cover u_cover_kk (.clk_i, .rst_ni, .valid_i(kk_valid_o), .ready_i(kk_ready_i));
