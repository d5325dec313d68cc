// Round-robin arbiter: picks one of the requesting clients; the client served last has the lowest
// priority.

module cu_round_robin #(
  parameter int unsigned Clients = 2
) (
  input  logic               clk_i,
  input  logic               rst_ni,  // synchronous

  input  logic [Clients-1:0] ask_i,
  output logic [Clients-1:0] pick_o,   // one of ask_i, if any
  input  logic               serve_i   // the pick is served in this cycle
);
  logic [Clients-1:0] after_q;  // clients after the one served last: they have priority
  wire [Clients-1:0] first = ask_i & after_q;

  assign pick_o = (first != '0) ? first & (~first + 1'b1) : ask_i & (~ask_i + 1'b1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) after_q <= '0;
    else if (serve_i && pick_o != '0) after_q <= ~(pick_o | (pick_o - 1'b1));
  end
endmodule
