// cu_axi_read_window in front of cu_axi_read_arbiter, as on a card, for two units: no burst reaches
// memory outside its unit's window; each unit gets the beats of each of its bursts once and in order,
// those within the window from memory, the others with DECERR, as soon as none is due before them. A
// unit may be isolated at any time, and be reset once nothing is due; its window changes in reset only.
// Unit u's addresses have bit 11 equal u.

module f_axi_read_window #(
  parameter bit Invariants = 1,
  localparam int unsigned Units = 2,
  localparam int unsigned Budget = 2,
  localparam int unsigned Depth = Units * Budget
) (
  input logic             clk_i,
  input logic [1:0]       isolate_i,
  input logic [1:0]       reset_i,
  input logic [1:0][31:0] base_i,
  input logic [1:0][31:0] limit_i,
  input logic [1:0][63:0] araddr_i,
  input logic [1:0]       two_i,  // beats in the burst, or else one
  input logic [1:0]       arvalid_i,
  input logic [1:0]       rready_i,
  input logic             arready_i,
  input logic             answer_i,  // memory has an answer ready
  input logic             resp_i     // and it is an error
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;
  wire [1:0] reset = reset_i | {2{!rst_n_q}};

  logic [1:0] idle, beat, arvalid, arready, rvalid, unit_arready, unit_rvalid, unit_rlast;
  logic [1:0][1:0] unit_rresp;
  logic m_arvalid, m_rvalid, m_rready, m_rlast, s_rlast;
  logic [63:0] m_araddr, s_rdata;
  logic [7:0] m_arlen;
  logic [2:0] m_arsize;
  logic [1:0] m_arburst, s_rresp;
  for (genvar u = 0; u < 2; u++) begin : g_window
    cu_axi_read_window #(.MaxOutstanding(Budget)) u_dut (
      .clk_i, .rst_ni(!reset[u]), .base_i(base_i[u]), .limit_i(limit_i[u]),
      .s_axi_arpage_i(araddr_i[u][63:12]), .s_axi_arlen_i({7'h0, two_i[u]}),
      .s_axi_arvalid_i(arvalid_i[u]), .s_axi_arready_o(unit_arready[u]),
      .s_axi_rresp_o(unit_rresp[u]), .s_axi_rlast_o(unit_rlast[u]),
      .s_axi_rvalid_o(unit_rvalid[u]), .s_axi_rready_i(rready_i[u]),
      .m_axi_arvalid_o(arvalid[u]), .m_axi_arready_i(arready[u]), .m_axi_rresp_i(s_rresp),
      .m_axi_rlast_i(s_rlast), .m_axi_rvalid_i(rvalid[u])
    );
  end
  cu_axi_read_arbiter #(.Units(Units), .BusBytes(8), .Budget(Budget)) u_arbiter (
    .clk_i, .rst_ni(rst_n_q), .isolate_i, .idle_o(idle), .beat_o(beat),
    .s_axi_araddr_i(araddr_i), .s_axi_arlen_i({7'h0, two_i[1], 7'h0, two_i[0]}),
    .s_axi_arvalid_i(arvalid), .s_axi_arready_o(arready), .s_axi_rdata_o(s_rdata),
    .s_axi_rresp_o(s_rresp), .s_axi_rlast_o(s_rlast), .s_axi_rvalid_o(rvalid),
    .s_axi_rready_i(rready_i), .m_axi_araddr_o(m_araddr), .m_axi_arlen_o(m_arlen),
    .m_axi_arsize_o(m_arsize), .m_axi_arburst_o(m_arburst), .m_axi_arvalid_o(m_arvalid),
    .m_axi_arready_i(arready_i), .m_axi_rdata_i(64'h0), .m_axi_rresp_i({resp_i, 1'b0}),
    .m_axi_rlast_i(m_rlast), .m_axi_rvalid_i(m_rvalid), .m_axi_rready_o(m_rready)
  );

  function automatic logic may(logic [63:0] addr, logic u);
    return addr[63:12] >= 52'(base_i[u]) && addr[63:12] < 52'(limit_i[u]);
  endfunction

  // ---- memory: answers in order
  typedef struct packed {
    logic unit;
    logic two;
  } burst_t;
  burst_t [Depth-1:0] queue_q;
  logic [2:0] bursts_q = '0;
  logic mid_q = 1'b0;
  wire ar = rst_n_q && m_arvalid && arready_i;
  wire r = m_rvalid && m_rready;
  wire r_end = r && m_rlast;
  wire [1:0] owner = (bursts_q == '0) ? 2'b00 : 2'b01 << queue_q[0].unit;
  assign m_rvalid = rst_n_q && answer_i && bursts_q != '0;
  assign m_rlast  = mid_q || !queue_q[0].two;
  always_ff @(posedge clk_i) begin
    if (r) mid_q <= !m_rlast;
    if (r_end) queue_q <= {burst_t'(0), queue_q[Depth-1:1]};
    if (ar) queue_q[2'(bursts_q - 3'(r_end))] <= '{unit: m_araddr[11], two: m_arlen != 8'd0};
    bursts_q <= bursts_q + 3'(ar) - 3'(r_end);
  end

  // ---- each unit: what it is due
  typedef struct packed {
    logic two;
    logic allowed;
  } due_t;
  due_t [1:0][Budget-1:0] due_q;
  logic [1:0][1:0] dues_q = '0;
  logic [1:0] unit_mid_q = '0;
  logic [1:0] was_reset_q = '1, was_isolated_q = '0, held_q = '0;
  logic [1:0][64:0] was_q;
  logic [1:0][63:0] was_window_q;
  logic r_held_q = 1'b0, was_resp_q;
  wire [1:0] live = ~reset & ~isolate_i;
  wire [1:0] take = live & arvalid_i & unit_arready;
  wire [1:0] unit_r = live & unit_rvalid & rready_i;
  wire [1:0] unit_end = unit_r & unit_rlast;
  logic [1:0] allowed, asks;
  always_ff @(posedge clk_i) begin
    was_reset_q    <= reset;
    was_isolated_q <= isolate_i;
    r_held_q       <= m_rvalid && !m_rready;
    was_resp_q     <= resp_i;
    for (int u = 0; u < 2; u++) begin
      held_q[u] <= live[u] && arvalid_i[u] && !unit_arready[u];
      was_q[u]  <= {araddr_i[u], two_i[u]};
      was_window_q[u] <= {base_i[u], limit_i[u]};
      if (unit_r[u]) unit_mid_q[u] <= !unit_rlast[u];
      if (unit_end[u]) due_q[u][0] <= due_q[u][1];
      if (take[u]) due_q[u][1'(dues_q[u] - 2'(unit_end[u]))] <= '{two: two_i[u], allowed: allowed[u]};
      dues_q[u] <= dues_q[u] + 2'(take[u]) - 2'(unit_end[u]);
      if (reset[u]) begin
        unit_mid_q[u] <= 1'b0;
        dues_q[u]     <= '0;
      end
    end
  end

  for (genvar u = 0; u < 2; u++) begin : g_unit
    wire refused = dues_q[u] != '0 && !due_q[u][0].allowed;
    assign allowed[u] = may(araddr_i[u], 1'(u));
    assign asks[u]   = live[u] && arvalid_i[u] && allowed[u] && !refused && dues_q[u] != 2'(Budget);
    always_comb begin
      m_unit    : assume (araddr_i[u][11] == 1'(u));
      m_held    : assume (!held_q[u] || reset[u] || isolate_i[u] ||
                          (arvalid_i[u] && {araddr_i[u], two_i[u]} == was_q[u]));
      m_window  : assume (reset[u] || {base_i[u], limit_i[u]} == was_window_q[u]);
      // As cu_card_control does it.
      m_reset   : assume (!reset[u] || was_reset_q[u] || (isolate_i[u] && idle[u]));
      m_isolate : assume (!was_isolated_q[u] || isolate_i[u] || reset[u]);
      m_quiet   : assume (!reset[u] || isolate_i[u] || !arvalid_i[u]);
      if (live[u]) begin
        p_beat    : assert (unit_rvalid[u] == (refused || (m_rvalid && owner[u])));
        p_refused : assert (!arvalid_i[u] || allowed[u] || unit_arready[u] == (dues_q[u] == '0));
        p_passed  : assert (!take[u] || !allowed[u] || arready[u]);
        if (unit_rvalid[u]) begin
          p_due  : assert (dues_q[u] != '0);
          p_last : assert (unit_rlast[u] == (unit_mid_q[u] || !due_q[u][0].two));
          p_resp : assert (unit_rresp[u] == (refused ? 2'b11 : {resp_i, 1'b0}));
        end
      end
    end
  end
  always_comb begin
    m_answer : assume (!r_held_q || (answer_i && resp_i == was_resp_q));
    if (rst_n_q) begin
      p_within : assert (!m_arvalid || may(m_araddr, m_araddr[11]));
      p_work   : assert (asks == '0 || (m_arvalid && !arready_i) || (take & allowed) != '0);
      p_ready  : assert (!m_rvalid || m_rready == ((owner & (rready_i | isolate_i)) != '0));
    end
  end

  if (Invariants) begin : g_invariants
    wire [2:0] count = u_arbiter.u_route.count_q;
    wire [1:0][1:0] outstanding = {u_arbiter.g_budget[1].count_q, u_arbiter.g_budget[0].count_q};
    wire [1:0][1:0] window_count = {g_window[1].u_dut.count_q, g_window[0].u_dut.count_q};
    wire [1:0] refuse = {g_window[1].u_dut.refuse_q, g_window[0].u_dut.refuse_q};
    wire [1:0][7:0] left = {g_window[1].u_dut.left_q, g_window[0].u_dut.left_q};
    wire m_unit = m_araddr[11];

    // Bursts from the arbiter on: the memory's, then the one whose address waits.
    burst_t [Depth-1:0] burst;
    logic [Depth-1:0] route_wrong;
    logic [Depth-1:0] due_wrong;  // not the one that its unit is due
    logic [Depth:0][1:0][2:0] of;   // bursts of a unit before it
    always_comb begin
      of[0] = '0;
      for (int i = 0; i < int'(Depth); i++) begin
        logic [1:0] slot;
        slot = u_arbiter.u_route.rptr_q + 2'(i);
        burst[i] = (3'(i) < bursts_q) ? queue_q[i] : '{unit: m_unit, two: m_arlen != 8'd0};
        route_wrong[i] = u_arbiter.u_route.mem[slot] != 2'b01 << burst[i].unit;
        due_wrong[i] = due_q[burst[i].unit][of[i][burst[i].unit][0]] !=
                       {burst[i].two, 1'b1};
        of[i+1] = of[i];
        if (3'(i) < count) of[i+1][burst[i].unit] += 3'd1;
      end
    end

    always_comb begin
      if (rst_n_q) begin
        i_count : assert (count <= 3'(Depth) &&
                          4'(count) == 4'(bursts_q) + 4'(m_arvalid) &&
                          u_arbiter.u_route.wptr_q == u_arbiter.u_route.rptr_q + 2'(count));
        i_mid   : assert (!mid_q || (bursts_q != '0 && queue_q[0].two));
        i_len   : assert (!m_arvalid || m_arlen <= 8'd1);
      end else begin
        i_reset : assert (bursts_q == '0 && !mid_q && dues_q == '0 && unit_mid_q == '0 &&
                          was_reset_q == '1 && !r_held_q);
      end
    end
    for (genvar i = 0; i < int'(Depth); i++) begin : g_burst
      wire unit = burst[i].unit;
      always_comb begin
        if (rst_n_q && 3'(i) < count) begin
          i_route : assert (!route_wrong[i]);
          i_due   : assert (was_isolated_q[unit] || !due_wrong[i]);
        end
      end
    end
    for (genvar u = 0; u < 2; u++) begin : g_inside
      always_comb begin
        if (rst_n_q) begin
          i_of : assert (outstanding[u] <= 2'(Budget) && of[Depth][u] == 3'(outstanding[u]));
          if (was_reset_q[u]) begin
            i_fresh : assert (dues_q[u] == '0 && outstanding[u] == '0);
          end
          if (was_reset_q[u] || !was_isolated_q[u]) begin
            i_same   : assert (window_count[u] == outstanding[u] &&
                               dues_q[u] == outstanding[u] + 2'(refuse[u]));
            i_refuse : assert (!refuse[u] || (outstanding[u] == '0 && !due_q[u][0].allowed &&
                               left[u] == 8'(due_q[u][0].two && !unit_mid_q[u])));
            i_unit_mid : assert (refuse[u] ? !unit_mid_q[u] || due_q[u][0].two
                                           : unit_mid_q[u] == (mid_q && owner[u]));
          end
        end
      end
    end
  end
endmodule
