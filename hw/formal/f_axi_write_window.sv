// cu_axi_write_window in front of cu_axi_write_arbiter, as on a card, for two units: no burst reaches
// memory outside its unit's window; beats of the others are memory's, in order, and those of refused
// bursts are not; each burst is answered once and in order, a refused one with DECERR, and taken as soon
// as no answer is due before it. A unit may send beats before their address is taken. It may be isolated
// at any time, and be reset once nothing is due; its window changes in reset only. Unit u's addresses
// have bit 11 equal u; data tells of unit, window and number.

module f_axi_write_window #(
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
  input logic [1:0][63:0] awaddr_i,
  input logic [1:0]       two_i,  // beats in the burst, or else one
  input logic [1:0]       awvalid_i,
  input logic [1:0]       wvalid_i,
  input logic [1:0]       bready_i,
  input logic             awready_i,
  input logic             wready_i,
  input logic             answer_i,  // memory has an answer ready
  input logic             resp_i     // and it is an error
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;
  wire [1:0] reset = reset_i | {2{!rst_n_q}};

  // Of each unit: whether the burst of its next beat is allowed, and that beat is the burst's last.
  logic [1:0] beat_allowed, beat_last;
  logic [1:0][1:0] number_q;  // of its next allowed beat
  logic [1:0] idle, beat, awvalid, awready, wvalid, wready, bvalid;
  logic [1:0] unit_awready, unit_wready, unit_bvalid;
  logic [1:0][1:0] unit_bresp;
  logic m_awvalid, m_wvalid, m_wlast, m_wstrb, m_bvalid, m_bready;
  logic [63:0] m_awaddr;
  logic [7:0] m_wdata, m_awlen;
  logic [2:0] m_awsize;
  logic [1:0] m_awburst, s_bresp;
  for (genvar u = 0; u < 2; u++) begin : g_window
    cu_axi_write_window #(.MaxOutstanding(Budget)) u_dut (
      .clk_i, .rst_ni(!reset[u]), .base_i(base_i[u]), .limit_i(limit_i[u]),
      .s_axi_awpage_i(awaddr_i[u][63:12]), .s_axi_awvalid_i(awvalid_i[u]),
      .s_axi_awready_o(unit_awready[u]), .s_axi_wlast_i(beat_last[u]),
      .s_axi_wvalid_i(wvalid_i[u]), .s_axi_wready_o(unit_wready[u]),
      .s_axi_bresp_o(unit_bresp[u]), .s_axi_bvalid_o(unit_bvalid[u]),
      .s_axi_bready_i(bready_i[u]), .m_axi_awvalid_o(awvalid[u]), .m_axi_awready_i(awready[u]),
      .m_axi_wvalid_o(wvalid[u]), .m_axi_wready_i(wready[u]), .m_axi_bresp_i(s_bresp),
      .m_axi_bvalid_i(bvalid[u])
    );
  end
  cu_axi_write_arbiter #(.Units(Units), .BusBytes(1), .Budget(Budget)) u_arbiter (
    .clk_i, .rst_ni(rst_n_q), .isolate_i, .idle_o(idle), .beat_o(beat),
    .s_axi_awaddr_i(awaddr_i), .s_axi_awlen_i({7'h0, two_i[1], 7'h0, two_i[0]}),
    .s_axi_awvalid_i(awvalid), .s_axi_awready_o(awready),
    .s_axi_wdata_i({4'h0, number_q[1], beat_allowed[1], 1'b1,
                    4'h0, number_q[0], beat_allowed[0], 1'b0}), .s_axi_wstrb_i('1),
    .s_axi_wlast_i(beat_last), .s_axi_wvalid_i(wvalid), .s_axi_wready_o(wready),
    .s_axi_bresp_o(s_bresp), .s_axi_bvalid_o(bvalid), .s_axi_bready_i(bready_i),
    .m_axi_awaddr_o(m_awaddr), .m_axi_awlen_o(m_awlen), .m_axi_awsize_o(m_awsize),
    .m_axi_awburst_o(m_awburst), .m_axi_awvalid_o(m_awvalid), .m_axi_awready_i(awready_i),
    .m_axi_wdata_o(m_wdata), .m_axi_wstrb_o(m_wstrb), .m_axi_wlast_o(m_wlast),
    .m_axi_wvalid_o(m_wvalid), .m_axi_wready_i(wready_i), .m_axi_bresp_i({resp_i, 1'b0}),
    .m_axi_bvalid_i(m_bvalid), .m_axi_bready_o(m_bready)
  );

  function automatic logic may(logic [63:0] addr, logic u);
    return addr[63:12] >= 52'(base_i[u]) && addr[63:12] < 52'(limit_i[u]);
  endfunction

  // ---- bursts that have passed: those whose data has not all come; units of all unanswered; beats
  // that are to be written
  typedef struct packed {
    logic unit;
    logic two;
  } burst_t;
  typedef struct packed {
    logic       last;
    logic       strobe;
    logic [7:0] data;
  } beat_t;
  burst_t [Depth-1:0] burst_q;
  logic [Depth-1:0] answer_q;
  beat_t [1:0] beat_q;
  logic [2:0] bursts_q = '0, answers_q = '0;
  logic [1:0] beats_q = '0;
  logic [2:0] sent_q = '0, written_q = '0;  // addresses, last beats that await their answer
  logic mid_q = 1'b0;                       // the burst's first beat has come
  wire [1:0] pass = rst_n_q ? awvalid & awready : '0;
  wire move = rst_n_q && beat != '0;  // a beat goes into the arbiter's buffer
  wire w = rst_n_q && m_wvalid && wready_i;
  wire b = rst_n_q && m_bvalid && m_bready;
  wire w_unit = burst_q[0].unit;
  wire last = mid_q || !burst_q[0].two;
  wire burst_end = move && last;
  wire [1:0] owner = (answers_q == '0) ? 2'b00 : 2'b01 << answer_q[0];
  assign m_bvalid = rst_n_q && answer_i && sent_q != '0 && written_q != '0;
  always_ff @(posedge clk_i) begin
    if (move) mid_q <= !last;
    if (burst_end) burst_q <= {burst_t'(0), burst_q[Depth-1:1]};
    if (b) answer_q <= answer_q >> 1;
    if (w) beat_q[0] <= beat_q[1];
    if (pass != '0) begin
      burst_q[2'(bursts_q - 3'(burst_end))] <= '{unit: pass[1], two: two_i[pass[1]]};
      answer_q[2'(answers_q - 3'(b))] <= pass[1];
    end
    if (move) begin
      beat_q[1'(beats_q - 2'(w))] <= '{last: last, strobe: !isolate_i[w_unit],
          data: isolate_i[w_unit] ? 8'h0 : {4'h0, number_q[w_unit], 1'b1, w_unit}};
    end
    bursts_q  <= bursts_q + 3'(pass != '0) - 3'(burst_end);
    answers_q <= answers_q + 3'(pass != '0) - 3'(b);
    beats_q   <= beats_q + 2'(move) - 2'(w);
    sent_q    <= sent_q + 3'(rst_n_q && m_awvalid && awready_i) - 3'(b);
    written_q <= written_q + 3'(w && beat_q[0].last) - 3'(b);
  end

  // ---- each unit: what it is due, and how many of these bursts still want beats: the last ones
  typedef struct packed {
    logic two;
    logic allowed;
  } due_t;
  due_t [1:0][Budget-1:0] due_q;
  logic [1:0][1:0] dues_q = '0, wants_q = '0;
  logic [1:0] unit_mid_q = '0;
  logic [1:0] was_reset_q = '1, was_isolated_q = '0, held_q = '0, offered_q = '0;
  logic [1:0][64:0] was_q;
  logic [1:0][63:0] was_window_q;
  logic b_held_q = 1'b0, was_resp_q;
  wire [1:0] live = ~reset & ~isolate_i;
  wire [1:0] take = live & awvalid_i & unit_awready;
  wire [1:0] unit_w = live & wvalid_i & unit_wready;
  wire [1:0] unit_b = live & unit_bvalid & bready_i;
  logic [1:0] allowed, asks;
  always_ff @(posedge clk_i) begin
    was_reset_q    <= reset;
    was_isolated_q <= isolate_i;
    b_held_q       <= m_bvalid && !m_bready;
    was_resp_q     <= resp_i;
    for (int u = 0; u < 2; u++) begin
      held_q[u]    <= live[u] && awvalid_i[u] && !unit_awready[u];
      offered_q[u] <= live[u] && wvalid_i[u] && !unit_wready[u];
      was_q[u]     <= {awaddr_i[u], two_i[u]};
      was_window_q[u] <= {base_i[u], limit_i[u]};
      if (unit_w[u]) unit_mid_q[u] <= !beat_last[u];
      if (unit_w[u] && beat_allowed[u]) number_q[u] <= number_q[u] + 1'b1;
      if (unit_b[u]) due_q[u][0] <= due_q[u][1];
      if (take[u]) due_q[u][1'(dues_q[u] - 2'(unit_b[u]))] <= '{two: two_i[u], allowed: allowed[u]};
      dues_q[u]  <= dues_q[u] + 2'(take[u]) - 2'(unit_b[u]);
      wants_q[u] <= wants_q[u] + 2'(take[u]) - 2'(unit_w[u] && beat_last[u]);
      if (reset[u]) begin
        unit_mid_q[u] <= 1'b0;
        dues_q[u]     <= '0;
        wants_q[u]    <= '0;
      end
    end
  end

  for (genvar u = 0; u < 2; u++) begin : g_unit
    wire refused = dues_q[u] != '0 && !due_q[u][0].allowed;
    wire due_t wanting = (wants_q[u] == '0) ? '{two: two_i[u], allowed: allowed[u]}
                                            : due_q[u][1'(dues_q[u] - wants_q[u])];
    assign beat_allowed[u] = wanting.allowed;
    assign beat_last[u]    = unit_mid_q[u] || !wanting.two;
    assign allowed[u] = may(awaddr_i[u], 1'(u));
    assign asks[u]    = live[u] && awvalid_i[u] && allowed[u] && !refused &&
                        dues_q[u] != 2'(Budget);
    always_comb begin
      m_unit    : assume (awaddr_i[u][11] == 1'(u));
      m_held    : assume (!held_q[u] || reset[u] || isolate_i[u] ||
                          (awvalid_i[u] && {awaddr_i[u], two_i[u]} == was_q[u]));
      m_offered : assume (!offered_q[u] || reset[u] || isolate_i[u] || wvalid_i[u]);
      m_beat    : assume (!wvalid_i[u] || wants_q[u] != '0 || awvalid_i[u]);
      m_window  : assume (reset[u] || {base_i[u], limit_i[u]} == was_window_q[u]);
      // As cu_card_control does it.
      m_reset   : assume (!reset[u] || was_reset_q[u] || (isolate_i[u] && idle[u]));
      m_isolate : assume (!was_isolated_q[u] || isolate_i[u] || reset[u]);
      m_quiet   : assume (!reset[u] || isolate_i[u] || (!awvalid_i[u] && !wvalid_i[u]));
      if (live[u]) begin
        p_refused : assert (!awvalid_i[u] || allowed[u] || unit_awready[u] == (dues_q[u] == '0));
        p_passed  : assert (!take[u] || !allowed[u] || pass[u]);
        // A refused burst's beats go at once; the others' when the arbiter takes them, which has
        // the address then.
        p_beat    : assert (!wvalid_i[u] || unit_wready[u] ==
                            ((refused && wants_q[u] != '0) || (beat[u] && move)));
        p_early   : assert (!unit_w[u] || wants_q[u] != '0);
        p_answer  : assert (unit_bvalid[u] == ((refused && wants_q[u] == '0) ||
                                               (m_bvalid && owner[u])));
        if (unit_bvalid[u]) begin
          p_due  : assert (dues_q[u] > wants_q[u]);
          p_resp : assert (unit_bresp[u] == (refused ? 2'b11 : {resp_i, 1'b0}));
        end
      end
    end
  end
  always_comb begin
    m_answer : assume (!b_held_q || (answer_i && resp_i == was_resp_q));
    if (rst_n_q) begin
      p_within : assert (!m_awvalid || may(m_awaddr, m_awaddr[11]));
      p_work   : assert (asks == '0 || (m_awvalid && !awready_i) || (take & allowed) != '0);
      p_moves  : assert (beat == ((bursts_q != '0 && beats_q != 2'd2 &&
                                   (wvalid_i[w_unit] || isolate_i[w_unit]))
                                  ? 2'b01 << w_unit : 2'b00));
      p_due_beat : assert (m_wvalid == (beats_q != '0));
      p_written  : assert (!m_wvalid || {m_wlast, m_wstrb, m_wdata} == beat_q[0]);
      p_ready  : assert (!m_bvalid || m_bready == ((owner & (bready_i | isolate_i)) != '0));
    end
  end

  if (Invariants) begin : g_invariants
    wire [1:0][1:0] outstanding = {u_arbiter.g_budget[1].count_q, u_arbiter.g_budget[0].count_q};
    wire [1:0][1:0] window_count = {g_window[1].u_dut.count_q, g_window[0].u_dut.count_q};
    wire [1:0][1:0] state = {g_window[1].u_dut.state_q, g_window[0].u_dut.state_q};

    // Of each unit, bursts that are not answered, and bursts that want beats. What wants beats is the
    // last in the order of answers, too.
    logic [1:0][2:0] of_answers;
    logic [Depth:0][1:0][2:0] of;
    logic [Depth-1:0] wrong, due_wrong;
    logic [2:0] lasts;
    always_comb begin
      of_answers = '0;
      lasts = '0;
      of[0] = '0;
      for (int i = 0; i < int'(Depth); i++) begin
        logic unit;
        if (3'(i) < answers_q) of_answers[answer_q[i]] += 3'd1;
        unit = burst_q[i].unit;
        wrong[i] = unit != answer_q[2'(answers_q - bursts_q + 3'(i))];
        due_wrong[i] = due_q[unit][1'(dues_q[unit] - wants_q[unit] + 2'(of[i][unit]))] !=
                       {burst_q[i].two, 1'b1};
        of[i+1] = of[i];
        if (3'(i) < bursts_q) of[i+1][unit] += 3'd1;
      end
      for (int i = 0; i < 2; i++) lasts += 3'(2'(i) < beats_q && beat_q[i].last);
    end

    always_comb begin
      if (rst_n_q) begin
        i_order  : assert (answers_q <= 3'(Depth) && bursts_q <= answers_q && beats_q <= 2'd2 &&
                           sent_q <= answers_q && written_q <= answers_q &&
                           answers_q == sent_q + 3'(m_awvalid) &&
                           5'(answers_q) == 5'(bursts_q) + 5'(lasts) + 5'(written_q));
        i_last   : assert (!m_awvalid || m_awaddr[11] == answer_q[2'(answers_q - 3'd1)]);
        i_mid    : assert (u_arbiter.beat_q == 8'(mid_q) &&
                           (!mid_q || (bursts_q != '0 && burst_q[0].two)));
        i_bursts : assert (u_arbiter.u_bursts.count_q == bursts_q &&
                           u_arbiter.u_bursts.wptr_q == u_arbiter.u_bursts.rptr_q + 2'(bursts_q));
        i_route  : assert (u_arbiter.u_route.count_q == answers_q &&
                           u_arbiter.u_route.wptr_q == u_arbiter.u_route.rptr_q + 2'(answers_q));
        i_beats  : assert (u_arbiter.u_beats.count_q == beats_q &&
                           u_arbiter.u_beats.wptr_q == u_arbiter.u_beats.rptr_q + 1'(beats_q));
      end else begin
        i_reset : assert (bursts_q == '0 && answers_q == '0 && beats_q == '0 && sent_q == '0 &&
                          written_q == '0 && !mid_q && dues_q == '0 && wants_q == '0 &&
                          unit_mid_q == '0 && was_reset_q == '1 && !b_held_q);
      end
    end
    for (genvar i = 0; i < int'(Depth); i++) begin : g_slot
      wire [1:0] burst_slot = u_arbiter.u_bursts.rptr_q + 2'(i);
      wire [1:0] route_slot = u_arbiter.u_route.rptr_q + 2'(i);
      wire unit = burst_q[i].unit;
      always_comb begin
        if (rst_n_q && 3'(i) < bursts_q) begin
          i_burst : assert (!wrong[i] && u_arbiter.u_bursts.mem[burst_slot] ==
                            {2'b01 << unit, 7'h0, burst_q[i].two});
          i_due   : assert (was_isolated_q[unit] || !due_wrong[i]);
        end
        if (rst_n_q && 3'(i) < answers_q) begin
          i_unit : assert (u_arbiter.u_route.mem[route_slot] == 2'b01 << answer_q[i]);
        end
      end
    end
    for (genvar i = 0; i < 2; i++) begin : g_beat
      wire slot = u_arbiter.u_beats.rptr_q + 1'(i);
      always_comb begin
        i_beat : assert (!rst_n_q || 2'(i) >= beats_q || u_arbiter.u_beats.mem[slot] == beat_q[i]);
      end
    end
    for (genvar u = 0; u < 2; u++) begin : g_inside
      always_comb begin
        if (rst_n_q) begin
          i_of : assert (outstanding[u] <= 2'(Budget) && of_answers[u] == 3'(outstanding[u]));
          if (was_reset_q[u]) begin
            i_fresh : assert (dues_q[u] == '0 && outstanding[u] == '0);
          end
          if (was_reset_q[u] || !was_isolated_q[u]) begin
            i_same  : assert (window_count[u] == outstanding[u] && state[u] != 2'd3 &&
                              dues_q[u] == outstanding[u] + 2'(state[u] != 2'd0) &&
                              wants_q[u] <= dues_q[u] &&
                              3'(wants_q[u]) == of[Depth][u] + 3'(state[u] == 2'd1));
            i_state : assert (state[u] == 2'd0 || (outstanding[u] == '0 && !due_q[u][0].allowed));
            i_unit_mid : assert ((state[u] == 2'd1) ? !unit_mid_q[u] || due_q[u][0].two
                                 : unit_mid_q[u] == (mid_q && burst_q[0].unit == 1'(u)));
            i_allowed : assert (state[u] != 2'd0 ||
                                ((dues_q[u] == '0 || due_q[u][0].allowed) &&
                                 (dues_q[u] != 2'd2 || due_q[u][1].allowed)));
          end
        end
      end
    end
  end
endmodule
