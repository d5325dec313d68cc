// The crossings of a FIFO. That its writer or its reader waits is a point of their streams: most ask it
// before they offer or take a word.

`include "cu_assert.svh"

module cu_fifo_cover #(
  parameter int unsigned Depth = 4,
  parameter int unsigned CountBits = 3
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 wvalid_i,
  input logic                 wready_o,
  input logic                 rvalid_o,
  input logic                 rready_i,
  input logic [CountBits-1:0] count_o
);
  `COVER(c_full, count_o == CountBits'(Depth))
  `COVER(c_drained, rvalid_o && rready_i && count_o == CountBits'(1) && !(wvalid_i && wready_o))
  `COVER(c_push_and_pop, wvalid_i && wready_o && rvalid_o && rready_i)
endmodule

bind cu_fifo cu_fifo_cover #(.Depth(Depth), .CountBits(CountBits)) u_cover (.*);
