// What cu_bloom_remainder needs to divide by a number: its reciprocal, by long division, a bit per
// cycle; and what is left of 2^29.

module cu_bloom_divider #(
  parameter int unsigned DivisorBits = 13
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,  // synchronous

  input  logic                   start_i,     // not while busy
  input  logic [DivisorBits-1:0] divisor_i,   // 8 or more; held until done
  output logic                   busy_o,      // what follows is not valid yet
  output logic [25:0]            reciprocal_o,  // (2^29 - 1) / divisor
  output logic [DivisorBits-1:0] rest_o       // 2^29 mod divisor
);
  localparam int unsigned Steps = 26;

  logic [4:0] left_q;
  logic [25:0] quotient_q;
  logic [DivisorBits-1:0] rest_q;
  assign busy_o       = left_q != '0;
  assign reciprocal_o = quotient_q;

  // All bits of the dividend are ones. The first three are less than any divisor.
  wire [DivisorBits:0] shifted = {rest_q, 1'b1};
  wire [DivisorBits-1:0] less = shifted[DivisorBits-1:0] - divisor_i;
  wire fits = shifted >= {1'b0, divisor_i};
  wire [DivisorBits-1:0] one_more = rest_q + 1'b1;
  assign rest_o = (one_more == divisor_i) ? '0 : one_more;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      rest_q <= DivisorBits'(7);
    end else if (busy_o) begin
      quotient_q <= {quotient_q[24:0], fits};
      rest_q     <= fits ? less : shifted[DivisorBits-1:0];
    end
    if (!rst_ni) left_q <= '0;
    else if (start_i) left_q <= 5'(Steps);
    else if (busy_o) left_q <= left_q - 1'b1;
  end
endmodule
