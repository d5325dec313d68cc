// cu_bloom_divider and cu_bloom_remainder as the builder has them.

module bloom_remainder_bench #(
  parameter int unsigned DivisorBits = 13
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  logic [DivisorBits-1:0] divisor_i,
  output logic                   busy_o,
  output logic [DivisorBits-1:0] rest_o,
  input  logic                   step_i,
  input  logic [28:0]            number_i,
  output logic [DivisorBits-1:0] remainder_o
);
  logic [25:0] reciprocal;
  cu_bloom_divider #(.DivisorBits(DivisorBits)) u_divider (
    .clk_i, .rst_ni, .start_i, .divisor_i, .busy_o, .reciprocal_o(reciprocal), .rest_o
  );
  cu_bloom_remainder #(.DivisorBits(DivisorBits)) u_dut (
    .clk_i, .step_i, .number_i, .divisor_i, .reciprocal_i(reciprocal), .remainder_o
  );
endmodule
