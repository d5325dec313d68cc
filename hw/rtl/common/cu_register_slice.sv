// A register stage on a stream, as AXI calls it a register slice: every output comes from a
// register, so that no path leads through it in either direction. Room for two words keeps it at
// full throughput. Not ready during its reset.

`include "cu_assert.svh"

module cu_register_slice #(
  parameter int unsigned Width = 64
) (
  input  logic             clk_i,
  input  logic             rst_ni,  // synchronous

  input  logic             wvalid_i,
  output logic             wready_o,
  input  logic [Width-1:0] wdata_i,

  output logic             rvalid_o,
  input  logic             rready_i,
  output logic [Width-1:0] rdata_o
);
  logic valid_q, ready_q;
  logic [Width-1:0] data_q;
  logic [Width-1:0] spare_q;  // the second word, if there is no room (or not yet, after the reset)
  logic spare_valid_q;

  assign wready_o = ready_q;
  assign rvalid_o = valid_q;
  assign rdata_o  = data_q;

  wire push = wvalid_i & ready_q;
  wire move = ~valid_q | rready_i;  // the first place takes the next word

  always_ff @(posedge clk_i) begin
    if (move) data_q <= spare_valid_q ? spare_q : wdata_i;
    if (ready_q) spare_q <= wdata_i;
    if (!rst_ni) begin
      valid_q       <= 1'b0;
      ready_q       <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (move) begin
      valid_q       <= spare_valid_q | push;
      ready_q       <= 1'b1;
      spare_valid_q <= 1'b0;
    end else begin
      ready_q       <= ~(spare_valid_q | push);
      spare_valid_q <= spare_valid_q | push;
    end
  end

  `ASSERT(a_room, !(ready_q && spare_valid_q))
  `ASSERT(a_held, rvalid_o && !rready_i |=> rvalid_o && $stable(rdata_o))
endmodule
