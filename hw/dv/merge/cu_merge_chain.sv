// The merge stage as the unit wires it: tree, verdict, transfer. For the chain bench.

module cu_merge_chain #(
  parameter int unsigned N           = 4,
  parameter int unsigned V           = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned KB = $clog2(V + 1),
  localparam int unsigned WB = (N > 1) ? $clog2(N) : 1,
  localparam int unsigned RangeBits = $clog2((MaxKeyBytes + 7) / 8)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [55:0]           snapshot_i,
  input  logic                  bottommost_i,
  input  logic                  has_begin_i,
  input  logic                  has_end_i,
  input  logic [15:0]           begin_bytes_i,
  input  logic [15:0]           end_bytes_i,
  input  logic                  range_we_i,
  input  logic                  range_sel_i,
  input  logic [RangeBits-1:0]  range_addr_i,
  input  logic [63:0]           range_data_i,

  input  logic [N-1:0]          in_valid_i,
  output logic [N-1:0]          in_ready_o,
  input  logic [N-1:0][V*8-1:0] in_data_i,
  input  logic [N-1:0][KB-1:0]  in_bytes_i,
  input  logic [N-1:0]          in_last_i,
  input  logic [N-1:0]          in_eos_i,
  input  logic [N-1:0][63:0]    in_trailer_i,
  input  logic [N-1:0]          in_parity_i,

  input  logic [N-1:0]          rec_valid_i,
  output logic [N-1:0]          rec_ready_o,
  input  logic [N-1:0][31:0]    rec_value_bytes_i,
  input  logic [N-1:0]          hash_valid_i,
  output logic [N-1:0]          hash_ready_o,
  input  logic [N-1:0][63:0]    hash_i,
  input  logic [N-1:0]          value_valid_i,
  output logic [N-1:0]          value_ready_o,
  input  logic [N-1:0][V*8-1:0] value_data_i,

  output logic                  kk_valid_o,
  input  logic                  kk_ready_i,
  output logic [V*8-1:0]        kk_data_o,
  output logic                  kk_last_o,
  output logic                  flipped_o,

  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic                  out_end_o,
  output logic                  out_tombstone_o,
  output logic [15:0]           out_user_bytes_o,
  output logic [15:0]           out_shared_o,
  output logic [63:0]           out_trailer_o,
  output logic [31:0]           out_value_bytes_o,
  output logic                  ov_valid_o,
  input  logic                  ov_ready_i,
  output logic [V*8-1:0]        ov_data_o,

  output logic [63:0]           input_records_o,
  output logic [63:0]           dropped_records_o,
  output logic [63:0]           input_checksum_o,
  output logic [63:0]           dropped_checksum_o,
  output logic                  stall_merge_o,
  output logic                  stall_value_o
);
  logic tree_valid, tree_ready, tree_last, tree_eos;
  logic [V*8-1:0] tree_data;
  logic [KB-1:0] tree_bytes;
  logic [63:0] tree_trailer;
  logic [WB-1:0] tree_way;
  logic tree_parity;

  cu_merge_tree #(.N(N), .V(V), .MaxKeyBytes(MaxKeyBytes)) u_tree (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_data_i, .in_bytes_i, .in_last_i, .in_eos_i, .in_trailer_i,
    .in_parity_i,
    .out_valid_o(tree_valid), .out_ready_i(tree_ready), .out_data_o(tree_data),
    .out_bytes_o(tree_bytes), .out_last_o(tree_last), .out_eos_o(tree_eos),
    .out_trailer_o(tree_trailer), .out_way_o(tree_way), .out_parity_o(tree_parity)
  );

  logic vd_valid, vd_ready, vd_end, vd_in_range, vd_keep, vd_tombstone;
  logic [WB-1:0] vd_way;
  logic [15:0] vd_user_bytes, vd_shared;
  logic [63:0] vd_trailer;

  cu_verdict #(.V(V), .N(N), .MaxKeyBytes(MaxKeyBytes)) u_verdict (
    .clk_i, .rst_ni,
    .snapshot_i, .bottommost_i, .has_begin_i, .has_end_i, .begin_bytes_i, .end_bytes_i,
    .range_we_i, .range_sel_i, .range_addr_i, .range_data_i,
    .in_valid_i(tree_valid), .in_ready_o(tree_ready), .in_data_i(tree_data),
    .in_bytes_i(tree_bytes), .in_last_i(tree_last), .in_eos_i(tree_eos),
    .in_trailer_i(tree_trailer), .in_way_i(tree_way), .in_parity_i(tree_parity),
    .vd_valid_o(vd_valid), .vd_ready_i(vd_ready), .vd_end_o(vd_end), .vd_way_o(vd_way),
    .vd_in_range_o(vd_in_range), .vd_keep_o(vd_keep), .vd_tombstone_o(vd_tombstone),
    .vd_user_bytes_o(vd_user_bytes), .vd_shared_o(vd_shared), .vd_trailer_o(vd_trailer),
    .kk_valid_o, .kk_ready_i, .kk_data_o, .kk_last_o, .flipped_o
  );

  cu_transfer #(.V(V), .N(N)) u_transfer (
    .clk_i, .rst_ni,
    .vd_valid_i(vd_valid), .vd_ready_o(vd_ready), .vd_end_i(vd_end), .vd_way_i(vd_way),
    .vd_in_range_i(vd_in_range), .vd_keep_i(vd_keep), .vd_tombstone_i(vd_tombstone),
    .vd_user_bytes_i(vd_user_bytes), .vd_shared_i(vd_shared), .vd_trailer_i(vd_trailer),
    .rec_valid_i, .rec_ready_o, .rec_value_bytes_i, .hash_valid_i, .hash_ready_o, .hash_i,
    .value_valid_i, .value_ready_o, .value_data_i,
    .out_valid_o, .out_ready_i, .out_end_o, .out_tombstone_o, .out_user_bytes_o, .out_shared_o,
    .out_trailer_o, .out_value_bytes_o, .ov_valid_o, .ov_ready_i, .ov_data_o,
    .input_records_o, .dropped_records_o, .input_checksum_o, .dropped_checksum_o,
    .stall_merge_o, .stall_value_o
  );
endmodule
