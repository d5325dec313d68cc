// cu_transfer with a port per field, for benches in C++.

module transfer_bench #(
  parameter int unsigned ValueBytes = 8,
  parameter int unsigned Ways = 4,
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              verdict_valid_i,
  output logic                              verdict_ready_o,
  input  logic                              verdict_eos_i,
  input  logic [WayBits-1:0]                verdict_way_i,
  input  logic                              verdict_in_range_i,
  input  logic                              verdict_keep_i,
  input  logic                              verdict_tombstone_i,
  input  logic [15:0]                       verdict_user_bytes_i,
  input  logic [15:0]                       verdict_shared_i,
  input  logic [63:0]                       verdict_trailer_i,
  input  logic [Ways-1:0]                   info_valid_i,
  output logic [Ways-1:0]                   info_ready_o,
  input  logic [Ways-1:0][31:0]             info_value_bytes_i,
  input  logic [Ways-1:0]                   hash_valid_i,
  output logic [Ways-1:0]                   hash_ready_o,
  input  logic [Ways-1:0][63:0]             hash_i,
  input  logic [Ways-1:0]                   value_valid_i,
  output logic [Ways-1:0]                   value_ready_o,
  input  logic [Ways-1:0][ValueBytes*8-1:0] value_data_i,
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
  output logic                              stall_value_o
);
  cu_transfer #(.ValueBytes(ValueBytes), .Ways(Ways)) u_dut (
    .clk_i, .rst_ni, .verdict_valid_i, .verdict_ready_o, .info_valid_i, .info_ready_o,
    .info_value_bytes_i, .hash_valid_i, .hash_ready_o, .hash_i, .value_valid_i, .value_ready_o,
    .value_data_i, .record_valid_o, .record_ready_i, .kept_value_valid_o, .kept_value_ready_i,
    .kept_value_data_o, .input_records_o, .dropped_records_o, .input_checksum_o,
      .dropped_checksum_o,
    .stall_merge_o, .stall_value_o,
    .verdict_i({verdict_eos_i, verdict_way_i, verdict_in_range_i, verdict_keep_i,
      verdict_tombstone_i, verdict_user_bytes_i, verdict_shared_i, verdict_trailer_i}),
    .record_o({record_eos_o, record_tombstone_o, record_user_bytes_o, record_shared_o,
      record_trailer_o, record_value_bytes_o})
  );
endmodule
