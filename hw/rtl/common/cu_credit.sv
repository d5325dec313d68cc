// Counts the free places of a FIFO that is filled through a pipeline. A place is taken when a word
// enters the pipeline and given back when it leaves the FIFO, so that the FIFO cannot overflow.

`include "cu_assert.svh"

module cu_credit #(
  parameter int unsigned Depth = 8  // of the FIFO
) (
  input  logic clk_i,
  input  logic rst_ni,  // synchronous

  input  logic take_i,  // only while avail_o
  input  logic give_i,
  output logic avail_o,
  output logic all_o    // every place is free
);
  localparam int unsigned CountBits = $clog2(Depth + 1);

  logic [CountBits-1:0] free_q;
  logic avail_q, all_q;

  // Precomputed from free_q: give_i and take_i are on the critical path.
  wire none = free_q == '0;
  wire one = free_q == CountBits'(1);
  wire but_one = free_q == CountBits'(Depth - 1);
  wire every = free_q == CountBits'(Depth);

  // One more or one less, without an adder.
  function automatic logic [CountBits-1:0] step(logic [CountBits-1:0] n, logic up);
    logic ones = 1'b1, zeros = 1'b1;  // so are all bits below
    for (int unsigned i = 0; i < CountBits; i++) begin
      step[i] = n[i] ^ (up ? ones : zeros);
      ones  &= n[i];
      zeros &= ~n[i];
    end
  endfunction

  assign avail_o = avail_q;
  assign all_o   = all_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      free_q  <= CountBits'(Depth);
      avail_q <= 1'b1;
      all_q   <= 1'b1;
    end else begin
      if (give_i != take_i) free_q <= step(free_q, give_i);
      avail_q <= give_i | ~(none | (one & take_i));
      all_q   <= ~take_i & (every | (but_one & give_i));
    end
  end

  `ASSERT(a_take, take_i |-> avail_q)
  `ASSERT(a_give, give_i |-> !all_q)
endmodule
