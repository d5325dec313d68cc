// cu_round_robin: at most one pick, of those who ask; the same one until it is served; and no client is
// passed over more than Clients - 1 times while it asks.

module f_round_robin #(
  parameter int unsigned Clients = 4,
  localparam int unsigned Bits = $clog2(Clients)
) (
  input logic               clk_i,
  input logic [Clients-1:0] ask_i,
  input logic               serve_i
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [Clients-1:0] pick;
  cu_round_robin #(.Clients(Clients)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .ask_i, .pick_o(pick), .serve_i
  );

  logic [Bits-1:0] client_q;  // any
  logic [Bits:0] passed_q = '0;
  logic held_q = 1'b0;
  logic [Clients-1:0] ask_q, pick_q;
  always_ff @(posedge clk_i) begin
    client_q <= client_q;
    if (!ask_i[client_q] || (serve_i && pick[client_q])) passed_q <= '0;
    else if (rst_n_q && serve_i) passed_q <= passed_q + 1'b1;
    held_q <= rst_n_q && !serve_i && ask_i != '0;
    ask_q  <= ask_i;
    pick_q <= pick;
  end

  always_ff @(posedge clk_i) begin
    m_client : assume (32'(client_q) < Clients);
    if (rst_n_q) begin
      p_one    : assert ((pick & (pick - 1'b1)) == '0);
      p_asks   : assert ((pick & ~ask_i) == '0);
      p_some   : assert ((pick != '0) == (ask_i != '0));
      p_stable : assert (!(held_q && ask_i == ask_q) || pick == pick_q);
      p_turns  : assert (32'(passed_q) < Clients);
    end
  end
endmodule
