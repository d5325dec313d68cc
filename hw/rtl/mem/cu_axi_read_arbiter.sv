// Shares one AXI4 read port between several masters, burst by burst, round-robin.
//
//   AR of each unit -> round robin -> AR register
//   R -> the unit whose burst it answers: a FIFO of units selects valid, data goes to all of them
//
// There is one ID; responses arrive in order; bursts are incrementing and of full bus width. A unit
// may have Budget bursts outstanding, and the FIFO holds the budgets of all units, so that no unit
// can use up another's place. A unit that does not accept its beats blocks the others; units whose
// rready is always high never do.
//
// A unit in isolate_i is cut off: its addresses are not accepted and outstanding responses are
// discarded. Once its idle_o is high, no response is outstanding and the unit can be reset.

`include "cu_assert.svh"

module cu_axi_read_arbiter #(
  parameter int unsigned Units    = 2,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Budget   = 32
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,  // synchronous

  input  logic [Units-1:0]       isolate_i,
  output logic [Units-1:0]       idle_o,
  output logic [Units-1:0]       beat_o,  // a beat of this unit moves

  input  logic [Units-1:0][63:0] s_axi_araddr_i,
  input  logic [Units-1:0][7:0]  s_axi_arlen_i,
  input  logic [Units-1:0]       s_axi_arvalid_i,
  output logic [Units-1:0]       s_axi_arready_o,
  output logic [BusBytes*8-1:0]  s_axi_rdata_o,   // one for all, as the next two
  output logic [1:0]             s_axi_rresp_o,
  output logic                   s_axi_rlast_o,
  output logic [Units-1:0]       s_axi_rvalid_o,
  input  logic [Units-1:0]       s_axi_rready_i,

  output logic [63:0]            m_axi_araddr_o,
  output logic [7:0]             m_axi_arlen_o,
  output logic [2:0]             m_axi_arsize_o,
  output logic [1:0]             m_axi_arburst_o,
  output logic                   m_axi_arvalid_o,
  input  logic                   m_axi_arready_i,
  input  logic [BusBytes*8-1:0]  m_axi_rdata_i,
  input  logic [1:0]             m_axi_rresp_i,
  input  logic                   m_axi_rlast_i,
  input  logic                   m_axi_rvalid_i,
  output logic                   m_axi_rready_o
);
  localparam int unsigned Depth = Units * Budget;
  localparam int unsigned BudgetBits = $clog2(Budget + 1);

  `ASSERT_PARAM(budget, Budget >= 2, "Budget must be 2 or more")

  // ------------------------------------------------------------------ addresses
  logic arvalid_q;
  logic [63:0] araddr_q, araddr_d;
  logic [7:0] arlen_q, arlen_d;
  logic [Units-1:0] pick, grant, roomy;
  logic route_ready;  // always, by the budgets

  wire ar_free = ~arvalid_q | m_axi_arready_i;
  assign grant           = ar_free ? pick : '0;
  assign s_axi_arready_o = grant;

  cu_round_robin #(.Clients(Units)) u_turn (
    .clk_i, .rst_ni, .ask_i(s_axi_arvalid_i & roomy & ~isolate_i), .pick_o(pick),
    .serve_i(ar_free)
  );

  always_comb begin
    araddr_d = '0;
    arlen_d  = '0;
    for (int u = 0; u < int'(Units); u++) begin
      if (pick[u]) begin
        araddr_d |= s_axi_araddr_i[u];
        arlen_d  |= s_axi_arlen_i[u];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (ar_free) begin
      araddr_q <= araddr_d;
      arlen_q  <= arlen_d;
    end
    if (!rst_ni) arvalid_q <= 1'b0;
    else if (ar_free) arvalid_q <= grant != '0;
  end

  assign m_axi_araddr_o  = araddr_q;
  assign m_axi_arlen_o   = arlen_q;
  assign m_axi_arsize_o  = 3'($clog2(BusBytes));
  assign m_axi_arburst_o = 2'b01;
  assign m_axi_arvalid_o = arvalid_q;

  // ------------------------------------------------------------------ answers
  logic [Units-1:0] route;  // one-hot
  logic route_valid, unused_ready;
  logic [$clog2(Depth+1)-1:0] unused_count;
  wire r_beat = m_axi_rvalid_i & m_axi_rready_o;
  wire r_end = r_beat & m_axi_rlast_i;

  cu_fifo #(.Width(Units), .Depth(Depth)) u_route (
    .clk_i, .rst_ni,
    .wvalid_i(grant != '0), .wready_o(route_ready), .wdata_i(grant),
    .rvalid_o(route_valid), .rready_i(r_end), .rdata_o(route), .count_o(unused_count)
  );
  assign unused_ready = route_ready;

  assign m_axi_rready_o = route_valid & |(route & (s_axi_rready_i | isolate_i));
  assign s_axi_rdata_o  = m_axi_rdata_i;
  assign s_axi_rresp_o  = m_axi_rresp_i;
  assign s_axi_rlast_o  = m_axi_rlast_i;
  assign s_axi_rvalid_o = (m_axi_rvalid_i & route_valid) ? route & ~isolate_i : '0;
  assign beat_o         = r_beat ? route : '0;

  for (genvar u = 0; u < Units; u++) begin : g_budget
    logic [BudgetBits-1:0] count_q;  // bursts outstanding
    always_ff @(posedge clk_i) begin
      if (!rst_ni) count_q <= '0;
      else count_q <= count_q + BudgetBits'(grant[u]) - BudgetBits'(r_end & route[u]);
    end
    assign roomy[u]  = count_q != BudgetBits'(Budget);
    assign idle_o[u] = count_q == '0;
  end

  `ASSERT(a_route, grant != '0 |-> route_ready)
  `ASSERT(a_one, $onehot0(grant))
  `ASSERT(a_answer, m_axi_rvalid_i |-> route_valid)
  `ASSERT(a_ar_stable,
      m_axi_arvalid_o && !m_axi_arready_i |=>
      m_axi_arvalid_o && $stable({m_axi_araddr_o, m_axi_arlen_o}))
endmodule
