// Unsigned comparison of wide words. Combinational. Short words by a carry chain each, which are joined
// three neighbours at a time, as a six-input LUT can; one chain over all would be too long, a tree of
// LUTs from single bits upwards two levels deeper.

module cu_compare #(
  parameter int unsigned Width = 64  // up to 729
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic             less_o,  // a < b
  output logic             equal_o
);
  // So that equality of a word takes two levels of LUTs, if it can be.
  localparam int unsigned WordBits = (Width <= 9 * 18) ? 18 : 27;
  localparam int unsigned Words = (Width + WordBits - 1) / WordBits;
  localparam int unsigned Leaves = (Words <= 1) ? 1 : (Words <= 3) ? 3 : (Words <= 9) ? 9 : 27;

  logic [Leaves*WordBits-1:0] a, b;
  logic [Leaves-1:0] less, equal;

  assign a = (Leaves * WordBits)'(a_i);
  assign b = (Leaves * WordBits)'(b_i);

  // The more significant neighbour rules. Merging is in place.
  always_comb begin
    less  = '0;
    equal = '1;
    for (int unsigned i = 0; i < Words; i++) begin
      less[i]  = a[i*WordBits+:WordBits] < b[i*WordBits+:WordBits];
      equal[i] = a[i*WordBits+:WordBits] == b[i*WordBits+:WordBits];
    end
    for (int unsigned n = Leaves / 3; n > 0; n = n / 3) begin
      for (int unsigned i = 0; i < n; i++) begin
        less[i]  = less[3*i+2] | (equal[3*i+2] & less[3*i+1])
                   | (equal[3*i+2] & equal[3*i+1] & less[3*i]);
        equal[i] = equal[3*i+2] & equal[3*i+1] & equal[3*i];
      end
    end
  end

  assign less_o  = less[0];
  assign equal_o = equal[0];

`ifndef SYNTHESIS
  initial begin
    if (Width < 1 || Words > 27) $fatal(1, "Width must be 1 to 729");
  end
`endif
endmodule
