// A number times the multiplier of LevelDB's hash, modulo 2^32, two cycles later. Of the partial
// products, two take a DSP each, and one is a function of six bits:
//
//   low   number[16:0] * multiplier[25:0]
//   high  number[31:17] * multiplier[14:0], 17 bits further up
//   top   number[5:0] * multiplier[31:26], 26 bits further up

module cu_bloom_product (
  input  logic        clk_i,
  input  logic [31:0] number_i,  // from a register
  output logic [31:0] product_o
);
  localparam logic [31:0] Multiplier = 32'hc6a4_a793;

  logic [31:0] low_q, product_q;
  logic [14:0] high_q;
  logic [5:0] top_q;
  assign product_o = product_q;

  always_ff @(posedge clk_i) begin
    low_q     <= 32'(number_i[16:0]) * 32'(Multiplier[25:0]);
    high_q    <= number_i[31:17] * Multiplier[14:0];
    top_q     <= number_i[5:0] * Multiplier[31:26];
    product_q <= {low_q[31:17] + high_q + {top_q, 9'b0}, low_q[16:0]};
  end
endmodule
