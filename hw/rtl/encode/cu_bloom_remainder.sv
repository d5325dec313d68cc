// The remainder of numbers of 29 bits, one per step, by a divisor whose reciprocal is known; exact
// for all of them. With R = floor((2^29 - 1) / divisor), which is at least 2^29 / divisor - 1, the
// quotient floor(number * R / 2^29) is the right one or one less: number / 2^29 is below 1. What is
// left is then less than twice the divisor.

module cu_bloom_remainder #(
  parameter int unsigned DivisorBits = 13
) (
  input  logic                   clk_i,

  input  logic                   step_i,
  input  logic [28:0]            number_i,
  input  logic [DivisorBits-1:0] divisor_i,     // 8 or more; both stable with numbers under way
  input  logic [25:0]            reciprocal_i,
  output logic [DivisorBits-1:0] remainder_o    // six steps later
);
  localparam int unsigned RestBits = DivisorBits + 1;

  logic [28:0] number_q;
  logic [25:0] low_q;
  logic [37:0] high_q;
  logic [RestBits-1:0] quotient_q, product_q, rest_q;
  logic [2:0][RestBits-1:0] number_low_q;  // beside them
  logic [DivisorBits-1:0] remainder_q;
  assign remainder_o = remainder_q;

  wire [RestBits-1:0] less = rest_q - RestBits'(divisor_i);

  always_ff @(posedge clk_i) begin
    if (step_i) begin
      number_q     <= number_i;
      low_q        <= 26'((43'(number_q[16:0]) * 43'(reciprocal_i)) >> 17);
      high_q       <= 38'(number_q[28:17]) * 38'(reciprocal_i);
      quotient_q   <= RestBits'((39'(low_q) + 39'(high_q)) >> 12);
      product_q    <= quotient_q * RestBits'(divisor_i);
      number_low_q <= {number_low_q[1:0], number_q[RestBits-1:0]};
      rest_q       <= number_low_q[2] - product_q;
      remainder_q  <= less[RestBits-1] ? rest_q[DivisorBits-1:0] : less[DivisorBits-1:0];
    end
  end
endmodule
