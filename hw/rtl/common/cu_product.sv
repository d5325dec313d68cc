// The product of two numbers, pipelined: one per cycle, cu_xxh3_pkg::product_cycles(BBits) cycles
// later. Partial products of 26 by 17 bits take a DSP each; those of every second part of `a_i` do
// not overlap, so that a row of them takes one adder, and rows are added in pairs.

module cu_product #(
  parameter int unsigned ABits = 64,  // 27 or more
  parameter int unsigned BBits = 64   // 18 or more
) (
  input  logic                   clk_i,
  input  logic [ABits-1:0]       a_i,  // both from registers
  input  logic [BBits-1:0]       b_i,
  output logic [ABits+BBits-1:0] product_o
);
  localparam int unsigned APart = 26;
  localparam int unsigned BPart = 17;
  localparam int unsigned Columns = (ABits + APart - 1) / APart;
  localparam int unsigned Rows = (BBits + BPart - 1) / BPart;
  localparam int unsigned Levels = $clog2(Rows);
  localparam int unsigned Width = ABits + BBits;

  wire [Columns*APart-1:0] a = (Columns * APart)'(a_i);
  wire [Rows*BPart-1:0] b = (Rows * BPart)'(b_i);

  // sums[l][r]: of 2^l rows.
  logic [Levels:0][(1<<Levels)-1:0][Width-1:0] sums_q;

  for (genvar r = 0; r < (1 << Levels); r++) begin : g_row
    if (r < Rows) begin : g_parts
      logic [Columns-1:0][APart+BPart-1:0] parts_q;
      logic [Width-1:0] even, odd;
      always_ff @(posedge clk_i) begin
        for (int unsigned c = 0; c < Columns; c++) begin
          parts_q[c] <= (APart + BPart)'(a[c*APart+:APart]) * (APart + BPart)'(b[r*BPart+:BPart]);
        end
      end
      always_comb begin
        even = '0;
        odd  = '0;
        for (int unsigned c = 0; c < Columns; c++) begin
          if (c % 2 == 0) even |= Width'(parts_q[c]) << (c * APart + r * BPart);
          else odd |= Width'(parts_q[c]) << (c * APart + r * BPart);
        end
      end
      always_ff @(posedge clk_i) sums_q[0][r] <= even + odd;
    end else begin : g_none
      assign sums_q[0][r] = '0;
    end
  end

  for (genvar l = 1; l <= Levels; l++) begin : g_level
    for (genvar r = 0; r < (1 << Levels); r++) begin : g_sum
      if (r < (1 << (Levels - l))) begin : g_used
        always_ff @(posedge clk_i) sums_q[l][r] <= sums_q[l-1][2*r] + sums_q[l-1][2*r+1];
      end else begin : g_unused
        assign sums_q[l][r] = '0;
      end
    end
  end

  assign product_o = sums_q[Levels][0];
endmodule
