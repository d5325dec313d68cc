// cu_block_sealer with a port per field, for benches in C++.

module block_sealer_bench #(
  parameter int unsigned Bytes = 8,
  parameter int unsigned Xxh3 = 0,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 xxh3_i,
  input  logic [31:0]          checksum_base_i,
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [Bytes*8-1:0]   in_data_i,
  input  logic [CountBits-1:0] in_bytes_i,
  input  logic                 in_last_i,
  input  logic [1:0]           in_token_i,
  input  logic                 in_compressed_i,
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output logic [Bytes*8-1:0]   out_data_o,
  output logic [CountBits-1:0] out_bytes_o,
  output logic                 out_last_o,
  output logic [1:0]           out_token_o,
  output logic                 handle_valid_o,
  input  logic                 handle_ready_i,
  output logic [63:0]          handle_offset_o,
  output logic [31:0]          handle_size_o
);
  cu_block_sealer #(.Bytes(Bytes), .Xxh3(Xxh3)) u_dut (
    .clk_i, .rst_ni, .xxh3_i, .checksum_base_i, .in_valid_i, .in_ready_o, .in_compressed_i,
    .out_valid_o, .out_ready_i,
    .handle_valid_o, .handle_ready_i, .handle_offset_o, .handle_size_o,
    .in_i({in_data_i, in_bytes_i, in_last_i, in_token_i}),
    .out_o({out_data_o, out_bytes_o, out_last_o, out_token_o})
  );
endmodule
