// cu_snappy_encoder, or a stage of several, with a port per field, for benches in C++.

module snappy_encoder_bench #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned BlockBytes = 8192,
  parameter int unsigned Compressors = 0,  // of a stage; 0: an encoder alone
  localparam int unsigned CountBits = $clog2(ValueBytes + 1)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    in_valid_i,
  output logic                    in_ready_o,
  input  logic [ValueBytes*8-1:0] in_data_i,
  input  logic [CountBits-1:0]    in_bytes_i,
  input  logic                    in_last_i,
  input  logic [1:0]              in_token_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [ValueBytes*8-1:0] out_data_o,
  output logic [CountBits-1:0]    out_bytes_o,
  output logic                    out_last_o,
  output logic [1:0]              out_token_o,
  output logic                    out_raw_o,
  output logic [63:0]             content_sum_o  // of a stage
);
  if (Compressors == 0) begin : g_encoder
    cu_snappy_encoder #(.ValueBytes(ValueBytes), .BlockBytes(BlockBytes)) u_dut (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o,
      .in_i({in_data_i, in_bytes_i, in_last_i, in_token_i}),
      .out_valid_o, .out_ready_i, .out_o({out_data_o, out_bytes_o, out_last_o, out_token_o}),
      .out_raw_o
    );
    assign content_sum_o = '0;
  end else begin : g_stage
    logic compressed, unused_error;
    assign out_raw_o = !compressed;
    cu_compress_stage #(
      .ValueBytes(ValueBytes), .Compressors(Compressors), .BlockBytes(BlockBytes)
    ) u_dut (
      .clk_i, .rst_ni, .compress_i(1'b1), .in_valid_i, .in_ready_o,
      .in_i({in_data_i, in_bytes_i, in_last_i, in_token_i}),
      .out_valid_o, .out_ready_i, .out_o({out_data_o, out_bytes_o, out_last_o, out_token_o}),
      .out_compressed_o(compressed), .content_sum_o, .error_o(unused_error)
    );
  end
endmodule
