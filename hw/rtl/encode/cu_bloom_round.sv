// A round of LevelDB's hash for Bloom filters (cu_bloom_pkg), three cycles long: sum, partial
// products, product. A hash that is to pass goes beside them.

module cu_bloom_round
  import cu_bloom_pkg::*;
(
  input  logic        clk_i,
  input  logic [31:0] hash_i,
  input  logic [31:0] word_i,   // zero-padded
  input  round_e      round_i,
  output logic [31:0] hash_o    // of three cycles before
);
  localparam int unsigned Cycles = round_cycles();

  logic [31:0] sum_q, product;
  logic [Cycles-1:0][31:0] passed_q;
  round_e round_q[Cycles];

  always_ff @(posedge clk_i) begin
    sum_q      <= hash_i + word_i;
    passed_q   <= {passed_q[Cycles-2:0], hash_i};
    round_q[0] <= round_i;
    for (int i = 1; i < int'(Cycles); i++) round_q[i] <= round_q[i-1];
  end

  cu_bloom_product u_product (.clk_i, .number_i(sum_q), .product_o(product));

  always_comb begin
    unique case (round_q[Cycles-1])
      RoundWord: hash_o = product ^ (product >> 16);
      RoundTail: hash_o = product ^ (product >> 24);
      default:   hash_o = passed_q[Cycles-1];
    endcase
  end
endmodule
