// The merge stage as the unit wires it: tree, verdict, transfer. For the chain bench.

`include "cu_streams.svh"

module cu_merge_chain #(
  parameter int unsigned Ways        = 4,
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned Snapshots = 4,
  localparam int unsigned CountBits = $clog2(ValueBytes + 1),
  localparam int unsigned RangeBits = $clog2((MaxKeyBytes + 7) / 8)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,

  input  logic [Snapshots-1:0][55:0]        snapshots_i,
  input  logic                              bottommost_i,
  input  logic                              has_begin_i,
  input  logic                              has_end_i,
  input  logic [15:0]                       begin_bytes_i,
  input  logic [15:0]                       end_bytes_i,
  input  logic                              range_we_i,
  input  logic                              range_sel_i,
  input  logic [RangeBits-1:0]              range_addr_i,
  input  logic [63:0]                       range_data_i,

  input  logic [Ways-1:0]                   in_valid_i,
  output logic [Ways-1:0]                   in_ready_o,
  input  logic [Ways-1:0][ValueBytes*8-1:0] in_data_i,
  input  logic [Ways-1:0][CountBits-1:0]    in_bytes_i,
  input  logic [Ways-1:0]                   in_last_i,
  input  logic [Ways-1:0]                   in_eos_i,
  input  logic [Ways-1:0][63:0]             in_trailer_i,
  input  logic [Ways-1:0]                   in_parity_i,

  input  logic [Ways-1:0]                   info_valid_i,
  output logic [Ways-1:0]                   info_ready_o,
  input  logic [Ways-1:0][31:0]             info_value_bytes_i,
  input  logic [Ways-1:0][15:0]             info_tag_i,
  input  logic [Ways-1:0]                   hash_valid_i,
  output logic [Ways-1:0]                   hash_ready_o,
  input  logic [Ways-1:0][63:0]             hash_i,
  input  logic [Ways-1:0]                   value_valid_i,
  output logic [Ways-1:0]                   value_ready_o,
  input  logic [Ways-1:0][ValueBytes*8-1:0] value_data_i,

  output logic                              kept_key_valid_o,
  input  logic                              kept_key_ready_i,
  output logic [ValueBytes*8-1:0]           kept_key_data_o,
  output logic                              kept_key_last_o,
  output logic                              parity_error_o,
  output logic                              order_error_o,

  output logic                              record_valid_o,
  input  logic                              record_ready_i,
  output logic                              record_eos_o,
  output logic                              record_tombstone_o,
  output logic [15:0]                       record_user_bytes_o,
  output logic [15:0]                       record_shared_o,
  output logic [63:0]                       record_trailer_o,
  output logic [31:0]                       record_value_bytes_o,
  output logic                              kept_value_valid_o,
  input  logic                              kept_value_ready_i,
  output logic [ValueBytes*8-1:0]           kept_value_data_o,

  output logic [63:0]                       input_records_o,
  output logic [63:0]                       dropped_records_o,
  output logic [63:0]                       input_checksum_o,
  output logic [63:0]                       dropped_checksum_o,
  output logic                              stall_merge_o,
  output logic                              stall_value_o,
  output logic                              tag_error_o
);
  localparam int unsigned V = ValueBytes;

  typedef `CU_KEY_T(V) key_t;
  typedef `CU_MERGED_KEY_T(V, Ways) merged_key_t;
  typedef `CU_VERDICT_T(Ways) verdict_t;

  key_t [Ways-1:0] key;
  merged_key_t merged_key;
  verdict_t verdict;
  logic merged_key_valid, merged_key_ready, verdict_valid, verdict_ready;

  for (genvar w = 0; w < Ways; w++) begin : g_way
    assign key[w] = {in_data_i[w], in_bytes_i[w], in_last_i[w], in_eos_i[w], in_trailer_i[w],
                     in_parity_i[w]};
  end

  cu_merge_tree #(.Ways(Ways), .ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_tree (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_i(key),
    .out_valid_o(merged_key_valid), .out_ready_i(merged_key_ready), .out_o(merged_key)
  );

  cu_visibility_filter #(
    .ValueBytes(V), .Ways(Ways), .MaxKeyBytes(MaxKeyBytes)
  ) u_visibility_filter (
    .clk_i, .rst_ni,
    .snapshots_i, .bottommost_i, .has_begin_i, .has_end_i, .begin_bytes_i, .end_bytes_i,
    .range_we_i, .range_sel_i, .range_addr_i, .range_data_i,
    .key_valid_i(merged_key_valid), .key_ready_o(merged_key_ready), .key_i(merged_key),
    .verdict_valid_o(verdict_valid), .verdict_ready_i(verdict_ready), .verdict_o(verdict),
    .kept_key_valid_o, .kept_key_ready_i, .kept_key_data_o, .kept_key_last_o, .parity_error_o,
    .order_error_o
  );

  cu_transfer #(.ValueBytes(V), .Ways(Ways)) u_transfer (
    .clk_i, .rst_ni,
    .verdict_valid_i(verdict_valid), .verdict_ready_o(verdict_ready), .verdict_i(verdict),
    .info_valid_i, .info_ready_o, .info_value_bytes_i, .info_tag_i,
    .hash_valid_i, .hash_ready_o, .hash_i, .value_valid_i, .value_ready_o, .value_data_i,
    .record_valid_o, .record_ready_i,
    .record_o({record_eos_o, record_tombstone_o, record_user_bytes_o, record_shared_o,
               record_trailer_o, record_value_bytes_o}),
    .kept_value_valid_o, .kept_value_ready_i, .kept_value_data_o,
    .input_records_o, .dropped_records_o, .input_checksum_o, .dropped_checksum_o,
    .stall_merge_o, .stall_value_o, .tag_error_o
  );
endmodule
