// Compares two wide unsigned words combinationally. Each short word uses a carry chain; results of
// three neighbours at a time are combined, which fits a six-input LUT. A single chain over all bits
// would be too slow, and a LUT tree from single bits upwards would be two levels deeper.

`include "cu_assert.svh"

module cu_compare #(
  parameter int unsigned Width = 64  // up to 729
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic             less_o,  // a < b
  output logic             equal_o
);
  // Words short enough for their equality to take two LUT levels, if possible.
  localparam int unsigned WordBits = (Width <= 9 * 18) ? 18 : 27;
  localparam int unsigned Words = (Width + WordBits - 1) / WordBits;
  localparam int unsigned Leaves = (Words <= 1) ? 1 : (Words <= 3) ? 3 : (Words <= 9) ? 9 : 27;

  `ASSERT_PARAM(width, Width >= 1 && Words <= 27, "Width must be 1 to 729")

  logic [Leaves*WordBits-1:0] a, b;
  logic [Leaves-1:0] less, equal;

  assign a = (Leaves * WordBits)'(a_i);
  assign b = (Leaves * WordBits)'(b_i);

  // The more significant neighbour decides. Results are combined in place.
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
endmodule
