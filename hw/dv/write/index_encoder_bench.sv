// cu_index_encoder with a port per field, for benches in C++.

module index_encoder_bench #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned MaxBlocks = 8192,
  parameter int unsigned AlignBytes = 64,
  parameter int unsigned KeyFifoBytes = 512
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    last_key_valid_i,
  output logic                    last_key_ready_o,
  input  logic [ValueBytes*8-1:0] last_key_data_i,
  input  logic                    last_key_last_i,
  input  logic [15:0]             last_key_user_bytes_i,
  input  logic [63:0]             last_key_trailer_i,
  input  logic                    table_record_valid_i,
  output logic                    table_record_ready_o,
  input  logic                    table_record_task_end_i,
  input  logic [63:0]             table_record_entries_i,
  input  logic [63:0]             table_record_tombstones_i,
  input  logic                    handle_valid_i,
  output logic                    handle_ready_o,
  input  logic [63:0]             handle_offset_i,
  input  logic [31:0]             handle_size_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [63:0]             out_data_o,
  output logic                    out_last_o,
  output logic                    out_empty_o,
  output logic                    limit_o,
  output logic [63:0]             tables_o
);
  cu_index_encoder #(
    .ValueBytes(ValueBytes), .MaxBlocks(MaxBlocks), .AlignBytes(AlignBytes),
      .KeyFifoBytes(KeyFifoBytes)
  ) u_dut (
    .clk_i, .rst_ni, .last_key_valid_i, .last_key_ready_o, .table_record_valid_i,
    .table_record_ready_o, .handle_valid_i, .handle_ready_o, .handle_offset_i, .handle_size_i,
    .out_valid_o, .out_ready_i, .out_data_o, .out_last_o, .out_empty_o, .limit_o, .tables_o,
    .last_key_i({last_key_data_i, last_key_last_i, last_key_user_bytes_i, last_key_trailer_i}),
    .table_record_i({table_record_task_end_i, table_record_entries_i, table_record_tombstones_i})
  );
endmodule
