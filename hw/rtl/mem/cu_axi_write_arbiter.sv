// Shares one AXI4 write port between several masters, burst by burst, round-robin.
//
//   AW of each unit -> round robin -> AW register
//   W of the unit whose burst is next, selected by a FIFO of bursts -> buffer of two beats
//   B -> the unit whose burst it answers, selected by a FIFO of units
//
// There is one ID; responses arrive in order; bursts are incrementing and of full bus width. A unit
// may have Budget bursts outstanding, and the FIFOs hold the budgets of all units, so that no unit
// can use up another's place. A unit that delays its data blocks the others: it should have a
// burst's data before it requests the burst.
//
// A unit in isolate_i is cut off: its addresses are not accepted, the beats it still owes are
// replaced by beats without strobes, and outstanding responses are discarded. Once its idle_o is
// high, nothing is outstanding in either direction and the unit can be reset.

`include "cu_assert.svh"

module cu_axi_write_arbiter #(
  parameter int unsigned Units    = 2,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Budget   = 16
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,  // synchronous

  input  logic [Units-1:0]       isolate_i,
  output logic [Units-1:0]       idle_o,
  output logic [Units-1:0]       beat_o,  // a beat of this unit moves

  input  logic [Units-1:0][63:0] s_axi_awaddr_i,
  input  logic [Units-1:0][7:0]  s_axi_awlen_i,
  input  logic [Units-1:0]       s_axi_awvalid_i,
  output logic [Units-1:0]       s_axi_awready_o,
  input  logic [Units-1:0][BusBytes*8-1:0] s_axi_wdata_i,
  input  logic [Units-1:0][BusBytes-1:0]   s_axi_wstrb_i,
  input  logic [Units-1:0]       s_axi_wlast_i,
  input  logic [Units-1:0]       s_axi_wvalid_i,
  output logic [Units-1:0]       s_axi_wready_o,
  output logic [1:0]             s_axi_bresp_o,   // one for all
  output logic [Units-1:0]       s_axi_bvalid_o,
  input  logic [Units-1:0]       s_axi_bready_i,

  output logic [63:0]            m_axi_awaddr_o,
  output logic [7:0]             m_axi_awlen_o,
  output logic [2:0]             m_axi_awsize_o,
  output logic [1:0]             m_axi_awburst_o,
  output logic                   m_axi_awvalid_o,
  input  logic                   m_axi_awready_i,
  output logic [BusBytes*8-1:0]  m_axi_wdata_o,
  output logic [BusBytes-1:0]    m_axi_wstrb_o,
  output logic                   m_axi_wlast_o,
  output logic                   m_axi_wvalid_o,
  input  logic                   m_axi_wready_i,
  input  logic [1:0]             m_axi_bresp_i,
  input  logic                   m_axi_bvalid_i,
  output logic                   m_axi_bready_o
);
  localparam int unsigned Depth = Units * Budget;
  localparam int unsigned BudgetBits = $clog2(Budget + 1);
  localparam int unsigned CountBits = $clog2(Depth + 1);

  `ASSERT_PARAM(budget, Budget >= 2, "Budget must be 2 or more")

  // ------------------------------------------------------------------ addresses
  logic awvalid_q;
  logic [63:0] awaddr_q, awaddr_d;
  logic [7:0] awlen_q, awlen_d;
  logic [Units-1:0] pick, grant, roomy;

  wire aw_free = ~awvalid_q | m_axi_awready_i;
  assign grant           = aw_free ? pick : '0;
  assign s_axi_awready_o = grant;

  cu_round_robin #(.Clients(Units)) u_turn (
    .clk_i, .rst_ni, .ask_i(s_axi_awvalid_i & roomy & ~isolate_i), .pick_o(pick),
    .serve_i(aw_free)
  );

  always_comb begin
    awaddr_d = '0;
    awlen_d  = '0;
    for (int u = 0; u < int'(Units); u++) begin
      if (pick[u]) begin
        awaddr_d |= s_axi_awaddr_i[u];
        awlen_d  |= s_axi_awlen_i[u];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_free) begin
      awaddr_q <= awaddr_d;
      awlen_q  <= awlen_d;
    end
    if (!rst_ni) awvalid_q <= 1'b0;
    else if (aw_free) awvalid_q <= grant != '0;
  end

  assign m_axi_awaddr_o  = awaddr_q;
  assign m_axi_awlen_o   = awlen_q;
  assign m_axi_awsize_o  = 3'($clog2(BusBytes));
  assign m_axi_awburst_o = 2'b01;
  assign m_axi_awvalid_o = awvalid_q;

  // ------------------------------------------------------------------ data
  logic [Units-1:0] owner;  // of the burst whose data is next; one-hot
  logic [7:0] owner_len, beat_q;
  logic owner_valid, bursts_ready, w_valid, w_ready, w_gone;
  logic [BusBytes*8-1:0] w_data;
  logic [BusBytes-1:0] w_strb;
  logic [CountBits-1:0] unused_bursts;
  logic [1:0] unused_beats;

  wire w_push = w_valid & w_ready;
  wire w_last = beat_q == owner_len;

  cu_fifo #(.Width(Units + 8), .Depth(Depth)) u_bursts (
    .clk_i, .rst_ni,
    .wvalid_i(grant != '0), .wready_o(bursts_ready), .wdata_i({grant, awlen_d}),
    .rvalid_o(owner_valid), .rready_i(w_push & w_last), .rdata_o({owner, owner_len}),
    .count_o(unused_bursts)
  );

  assign w_gone         = |(owner & isolate_i);
  assign w_valid        = owner_valid & (w_gone | |(owner & s_axi_wvalid_i));
  assign s_axi_wready_o = (owner_valid & w_ready) ? owner & ~isolate_i : '0;
  assign beat_o         = w_push ? owner : '0;

  always_comb begin
    w_data = '0;
    w_strb = '0;
    for (int u = 0; u < int'(Units); u++) begin
      if (owner[u] && !isolate_i[u]) begin
        w_data |= s_axi_wdata_i[u];
        w_strb |= s_axi_wstrb_i[u];
      end
    end
  end

  cu_fifo #(.Width(BusBytes * 9 + 1), .Depth(2)) u_beats (
    .clk_i, .rst_ni,
    .wvalid_i(w_valid), .wready_o(w_ready), .wdata_i({w_last, w_strb, w_data}),
    .rvalid_o(m_axi_wvalid_o), .rready_i(m_axi_wready_i),
    .rdata_o({m_axi_wlast_o, m_axi_wstrb_o, m_axi_wdata_o}), .count_o(unused_beats)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beat_q <= '0;
    else if (w_push) beat_q <= w_last ? '0 : beat_q + 1'b1;
  end

  // ------------------------------------------------------------------ answers
  logic [Units-1:0] route;  // one-hot
  logic route_valid, route_ready;
  logic [CountBits-1:0] unused_route;
  wire b_end = m_axi_bvalid_i & m_axi_bready_o;

  cu_fifo #(.Width(Units), .Depth(Depth)) u_route (
    .clk_i, .rst_ni,
    .wvalid_i(grant != '0), .wready_o(route_ready), .wdata_i(grant),
    .rvalid_o(route_valid), .rready_i(b_end), .rdata_o(route), .count_o(unused_route)
  );

  assign m_axi_bready_o = route_valid & |(route & (s_axi_bready_i | isolate_i));
  assign s_axi_bresp_o  = m_axi_bresp_i;
  assign s_axi_bvalid_o = (m_axi_bvalid_i & route_valid) ? route & ~isolate_i : '0;

  for (genvar u = 0; u < Units; u++) begin : g_budget
    logic [BudgetBits-1:0] count_q;  // bursts outstanding
    always_ff @(posedge clk_i) begin
      if (!rst_ni) count_q <= '0;
      else count_q <= count_q + BudgetBits'(grant[u]) - BudgetBits'(b_end & route[u]);
    end
    assign roomy[u]  = count_q != BudgetBits'(Budget);
    assign idle_o[u] = count_q == '0;
  end

  logic unused_ready;  // the budgets leave room
  assign unused_ready = bursts_ready & route_ready & |(owner & s_axi_wlast_i);

  `ASSERT(a_room, grant != '0 |-> bursts_ready && route_ready)
  `ASSERT(a_one, $onehot0(grant))
  `ASSERT(a_answer, m_axi_bvalid_i |-> route_valid)
  `ASSERT(a_last, w_push && !w_gone |-> w_last == |(owner & s_axi_wlast_i))
  `ASSERT(a_aw_stable,
      m_axi_awvalid_o && !m_axi_awready_i |=>
      m_axi_awvalid_o && $stable({m_axi_awaddr_o, m_axi_awlen_o}))
  `ASSERT(a_w_stable,
      m_axi_wvalid_o && !m_axi_wready_i |=>
      m_axi_wvalid_o && $stable({m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o}))
endmodule
