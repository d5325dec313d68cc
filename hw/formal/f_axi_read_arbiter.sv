// cu_axi_read_arbiter: a unit's bursts leave as they came, one at a time; answers go to the unit whose
// burst they answer and to no other; no unit is passed over for long, nor has more than its budget
// outstanding; an isolated unit gets nothing. Unit u's addresses have bit 12 equal u.

module f_axi_read_arbiter #(
  parameter bit Invariants = 1,
  localparam int unsigned Units = 2,
  localparam int unsigned Budget = 2,
  localparam int unsigned Depth = Units * Budget
) (
  input logic             clk_i,
  input logic [1:0]       isolate_i,
  input logic [1:0][63:0] araddr_i,
  input logic [1:0]       two_i,  // beats in the burst, or else one
  input logic [1:0]       arvalid_i,
  input logic [1:0]       rready_i,
  input logic             arready_i,
  input logic             answer_i  // memory has an answer ready
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [1:0] idle, beat, arready, rvalid;
  logic m_arvalid, m_rvalid, m_rready, m_rlast, s_rlast;
  logic [63:0] m_araddr, s_rdata;
  logic [7:0] m_arlen;
  logic [2:0] m_arsize;
  logic [1:0] m_arburst, s_rresp;
  cu_axi_read_arbiter #(.Units(Units), .BusBytes(8), .Budget(Budget)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .isolate_i, .idle_o(idle), .beat_o(beat),
    .s_axi_araddr_i(araddr_i), .s_axi_arlen_i({7'h0, two_i[1], 7'h0, two_i[0]}),
    .s_axi_arvalid_i(arvalid_i), .s_axi_arready_o(arready), .s_axi_rdata_o(s_rdata),
    .s_axi_rresp_o(s_rresp), .s_axi_rlast_o(s_rlast), .s_axi_rvalid_o(rvalid),
    .s_axi_rready_i(rready_i), .m_axi_araddr_o(m_araddr), .m_axi_arlen_o(m_arlen),
    .m_axi_arsize_o(m_arsize), .m_axi_arburst_o(m_arburst), .m_axi_arvalid_o(m_arvalid),
    .m_axi_arready_i(arready_i), .m_axi_rdata_i(64'h0), .m_axi_rresp_i(2'b00),
    .m_axi_rlast_i(m_rlast), .m_axi_rvalid_i(m_rvalid), .m_axi_rready_o(m_rready)
  );

  wire [1:0] take = rst_n_q ? arvalid_i & arready : '0;
  wire ar = rst_n_q && m_arvalid && arready_i;
  wire r = rst_n_q && m_rvalid && m_rready;
  wire r_end = r && m_rlast;

  // ---- memory: answers in order
  typedef struct packed {
    logic unit;
    logic two;
  } burst_t;
  burst_t [Depth-1:0] queue_q;
  logic [2:0] bursts_q = '0;
  logic mid_q = 1'b0;
  wire [1:0] owner = 2'b01 << queue_q[0].unit;
  assign m_rvalid = rst_n_q && answer_i && bursts_q != '0;
  assign m_rlast  = mid_q || !queue_q[0].two;
  always_ff @(posedge clk_i) begin
    if (r) mid_q <= !m_rlast;
    if (r_end) queue_q <= {burst_t'(0), queue_q[Depth-1:1]};
    if (ar) queue_q[2'(bursts_q - 3'(r_end))] <= '{unit: m_araddr[12], two: m_arlen != 8'd0};
    bursts_q <= bursts_q + 3'(ar) - 3'(r_end);
  end

  logic ar_held_q = 1'b0, taken_q = 1'b0;
  logic [71:0] ar_was_q, taken_was_q;
  logic [1:0] s_held_q = '0, was_isolated_q = '0;
  logic r_held_q = 1'b0;
  logic [1:0][64:0] s_was_q;
  logic [1:0][2:0] due_q = '0;  // bursts of a unit that are not answered
  logic [1:0][1:0] passed_q = '0;  // bursts of others since it asks and has budget
  wire [1:0] asks = arvalid_i & ~isolate_i & {due_q[1] < 3'(Budget), due_q[0] < 3'(Budget)};
  always_ff @(posedge clk_i) begin
    ar_held_q <= rst_n_q && m_arvalid && !arready_i;
    ar_was_q  <= {m_araddr, m_arlen};
    taken_q   <= take != '0;
    taken_was_q <= take[1] ? {araddr_i[1], 7'h0, two_i[1]} : {araddr_i[0], 7'h0, two_i[0]};
    was_isolated_q <= isolate_i;
    r_held_q  <= m_rvalid && !m_rready;
    for (int u = 0; u < 2; u++) begin
      s_held_q[u] <= arvalid_i[u] && !take[u];
      s_was_q[u]  <= {araddr_i[u], two_i[u]};
      due_q[u]    <= due_q[u] + 3'(take[u]) - 3'(r_end && owner[u]);
      passed_q[u] <= (!asks[u] || take[u]) ? '0 : passed_q[u] + 2'(take != '0);
    end
  end

  always_ff @(posedge clk_i) begin
    m_answer : assume (!r_held_q || answer_i);
    if (rst_n_q) begin
      p_held   : assert (!ar_held_q || (m_arvalid && {m_araddr, m_arlen} == ar_was_q));
      p_taken  : assert (!taken_q || (m_arvalid && {m_araddr, m_arlen} == taken_was_q));
      p_new    : assert (!m_arvalid || ar_held_q || taken_q);
      p_one    : assert (take != 2'b11);
      p_burst  : assert (m_arsize == 3'd3 && m_arburst == 2'b01);
      p_work   : assert (asks == '0 || (m_arvalid && !arready_i) || take != '0);
      p_answer : assert (!m_rvalid || rvalid == (owner & ~isolate_i));
      p_none   : assert (m_rvalid || rvalid == '0);
      p_ready  : assert (!m_rvalid || m_rready == ((owner & (rready_i | isolate_i)) != '0));
      p_beat   : assert (beat == (r ? owner : '0));
    end
  end

  for (genvar u = 0; u < 2; u++) begin : g_unit
    always_ff @(posedge clk_i) begin
      m_unit    : assume (araddr_i[u][12] == 1'(u));
      m_held    : assume (!s_held_q[u] || (arvalid_i[u] && {araddr_i[u], two_i[u]} == s_was_q[u]));
      m_isolate : assume (!was_isolated_q[u] || isolate_i[u]);
      if (rst_n_q) begin
        p_isolated : assert (!isolate_i[u] || (!take[u] && !rvalid[u]));
        p_budget   : assert (due_q[u] <= 3'(Budget));
        p_idle     : assert (idle[u] == (due_q[u] == '0));
        p_turn     : assert (passed_q[u] < 2'(Units));
      end
    end
  end

  if (Invariants) begin : g_invariants
    wire [2:0] count = u_dut.u_route.count_q;
    wire [1:0] next_slot = u_dut.u_route.rptr_q + 2'(bursts_q);
    logic [2:0] of_one;
    always_comb begin
      of_one = 3'(m_arvalid && m_araddr[12]);
      for (int i = 0; i < int'(Depth); i++) of_one += 3'(3'(i) < bursts_q && queue_q[i].unit);
    end
    always_comb begin
      if (rst_n_q) begin
        i_count : assert (count == bursts_q + 3'(m_arvalid) && count == due_q[0] + due_q[1] &&
                          of_one == due_q[1]);
        i_due   : assert (u_dut.g_budget[0].count_q == 2'(due_q[0]) &&
                          u_dut.g_budget[1].count_q == 2'(due_q[1]));
        i_mid   : assert (!mid_q || (bursts_q != '0 && queue_q[0].two));
        i_route : assert (u_dut.u_route.wptr_q == u_dut.u_route.rptr_q + 2'(count));
        i_next  : assert (!m_arvalid || u_dut.u_route.mem[next_slot] == 2'b01 << m_araddr[12]);
      end
    end
    for (genvar i = 0; i < int'(Depth); i++) begin : g_slot
      wire [1:0] slot = u_dut.u_route.rptr_q + 2'(i);
      always_comb begin
        i_unit : assert (3'(i) >= bursts_q ||
                         u_dut.u_route.mem[slot] == 2'b01 << queue_q[i].unit);
      end
    end
  end
endmodule
