// cu_entry_encoder with a port per field, for benches in C++.

module entry_encoder_bench #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned MaxRestarts = 8192,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned CountBits = $clog2(ValueBytes + 1)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [31:0]             block_bytes_i,
  input  logic [63:0]             table_bytes_i,
  input  logic [15:0]             restart_interval_i,
  input  logic                    record_valid_i,
  output logic                    record_ready_o,
  input  logic                    record_eos_i,
  input  logic                    record_tombstone_i,
  input  logic [15:0]             record_user_bytes_i,
  input  logic [15:0]             record_shared_i,
  input  logic [63:0]             record_trailer_i,
  input  logic [31:0]             record_value_bytes_i,
  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  logic [ValueBytes*8-1:0] key_data_i,
  input  logic                    key_last_i,
  input  logic                    value_valid_i,
  output logic                    value_ready_o,
  input  logic [ValueBytes*8-1:0] value_data_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [ValueBytes*8-1:0] out_data_o,
  output logic [CountBits-1:0]    out_bytes_o,
  output logic                    out_last_o,
  output logic [1:0]              out_token_o,
  output logic                    last_key_valid_o,
  input  logic                    last_key_ready_i,
  output logic [ValueBytes*8-1:0] last_key_data_o,
  output logic                    last_key_last_o,
  output logic [15:0]             last_key_user_bytes_o,
  output logic [63:0]             last_key_trailer_o,
  output logic                    table_record_valid_o,
  input  logic                    table_record_ready_i,
  output logic                    table_record_task_end_o,
  output logic [63:0]             table_record_entries_o,
  output logic [63:0]             table_record_tombstones_o,
  output logic                    limit_o,
  output logic [63:0]             output_records_o,
  output logic [63:0]             output_checksum_o,
  output logic [63:0]             content_bytes_o,
  output logic [7:0]              content_checksum_o,
  output logic                    stall_encode_o,
  output logic                    stall_pack_o
);
  cu_entry_encoder #(
    .ValueBytes(ValueBytes), .MaxRestarts(MaxRestarts), .MaxKeyBytes(MaxKeyBytes)
  ) u_dut (
    .clk_i, .rst_ni, .block_bytes_i, .table_bytes_i, .restart_interval_i, .record_valid_i,
    .record_ready_o, .key_valid_i, .key_ready_o, .key_data_i, .key_last_i, .value_valid_i,
    .value_ready_o, .value_data_i, .chunk_valid_o(out_valid_o), .chunk_ready_i(out_ready_i),
    .last_key_valid_o,
    .last_key_ready_i, .table_record_valid_o, .table_record_ready_i, .limit_o, .output_records_o,
    .output_checksum_o, .content_bytes_o, .content_checksum_o, .stall_encode_o, .stall_pack_o,
    .record_i({record_eos_i, record_tombstone_i, record_user_bytes_i, record_shared_i,
      record_trailer_i, record_value_bytes_i}),
    .chunk_o({out_data_o, out_bytes_o, out_last_o, out_token_o}),
    .last_key_o({last_key_data_o, last_key_last_o, last_key_user_bytes_o, last_key_trailer_o}),
    .table_record_o({table_record_task_end_o, table_record_entries_o, table_record_tombstones_o})
  );
endmodule
