// A second copy of registers, inverted so that no tool merges the two, which must agree with them in
// every cycle: a bit that flips in either shows in the next one.

module cu_twin #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] next_i,   // what the registers are to hold in the next cycle
  input  logic [Width-1:0] now_i,    // what they hold
  output logic             error_o   // level
);
  (* keep = "true" *) logic [Width-1:0] twin_q;
  logic error_q;
  assign error_o = error_q;

  always_ff @(posedge clk_i) begin
    twin_q  <= ~next_i;
    error_q <= rst_ni & (error_q | (now_i != ~twin_q));
  end
endmodule
