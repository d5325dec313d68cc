// cu_bloom_stage with a port per field, for benches in C++.

module bloom_stage_bench #(
  parameter int unsigned ValueBytes     = 16,
  parameter int unsigned MaxFilterKeys  = 2048,
  parameter int unsigned MaxFilterBytes = 4096,
  parameter int unsigned Lanes          = 6
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [7:0]              bits_per_key_i,
  input  logic [4:0]              probes_i,
  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  logic [ValueBytes*8-1:0] key_data_i,
  input  logic                    key_last_i,
  input  logic [15:0]             key_user_bytes_i,
  input  logic                    key_block_end_i,
  input  logic                    key_task_end_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [63:0]             out_data_o,
  output logic [3:0]              out_bytes_o,
  output logic                    out_last_o,
  output logic [1:0]              out_token_o,
  output logic                    overflow_o,
  output logic                    stray_o
);
  cu_bloom_stage #(
    .ValueBytes(ValueBytes), .MaxFilterKeys(MaxFilterKeys), .MaxFilterBytes(MaxFilterBytes),
    .Lanes(Lanes)
  ) u_dut (
    .clk_i, .rst_ni, .bits_per_key_i, .probes_i, .key_valid_i, .key_ready_o,
    .key_i({key_data_i, key_last_i, key_user_bytes_i, key_block_end_i, key_task_end_i}),
    .chunk_valid_o(out_valid_o), .chunk_ready_i(out_ready_i),
    .chunk_o({out_data_o, out_bytes_o, out_last_o, out_token_o}), .overflow_o, .stray_o
  );
endmodule
