// cu_snappy_decoder with a port per field, for benches in C++.

module snappy_decoder_bench #(
  parameter int unsigned ValueBytes   = 8,
  parameter int unsigned HistoryBytes = 65536,
  localparam int unsigned PosBits = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    block_valid_i,
  output logic                    block_ready_o,
  input  logic [31:0]             block_bytes_i,
  input  logic                    block_raw_i,
  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,
  output logic                    length_valid_o,
  output logic [31:0]             length_o,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [ValueBytes*8-1:0] out_data_o,
  output logic [PosBits:0]        out_bytes_o,
  output logic                    out_last_o,
  output logic [1:0]              out_token_o,
  output logic                    out_parity_o,
  output logic                    out_corrupt_o,
  output logic                    out_far_o,
  output logic                    parity_error_o
);
  cu_snappy_decoder #(.ValueBytes(ValueBytes), .HistoryBytes(HistoryBytes)) u_dut (
    .clk_i, .rst_ni, .block_valid_i, .block_ready_o, .block_bytes_i, .block_raw_i,
    .chunk_valid_i, .chunk_ready_o, .chunk_data_i, .chunk_parity_i(^chunk_data_i), .chunk_first_i,
    .chunk_last_i, .chunk_lane_i, .length_valid_o, .length_o, .out_valid_o, .out_ready_i,
    .out_o({out_data_o, out_bytes_o, out_last_o, out_token_o}),
    .out_parity_o, .out_corrupt_o, .out_far_o, .parity_error_o
  );
endmodule
