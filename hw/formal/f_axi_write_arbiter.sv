// cu_axi_write_arbiter: a unit's bursts leave as they came, one at a time; each has as many beats as it
// says, its unit's, in order, the last one marked; answers go to the unit whose burst they answer; no
// unit is passed over for long, nor has more than its budget outstanding; an isolated unit gets
// nothing, and beats that it owes leave without strobes. Data tells of unit and number.
//
// The arbiter is compared with queues here. i_* say that its own hold the same, and how full they get.

module f_axi_write_arbiter #(
  parameter bit Invariants = 1,
  localparam int unsigned Units = 2,
  localparam int unsigned Budget = 2,
  localparam int unsigned Depth = Units * Budget
) (
  input logic       clk_i,
  input logic [1:0] isolate_i,
  input logic [1:0] awaddr_i,  // a bit of the address
  input logic [1:0] two_i,     // beats in the burst, or else one
  input logic [1:0] awvalid_i,
  input logic [1:0] wvalid_i,
  input logic [1:0] bready_i,
  input logic       awready_i,
  input logic       wready_i,
  input logic       answer_i  // memory has an answer ready
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [1:0][1:0] number_q = '0;  // beats taken from a unit
  logic [1:0] idle, beat, awready, wready, bvalid;
  logic m_awvalid, m_wvalid, m_wlast, m_wstrb, m_bvalid, m_bready;
  logic [63:0] m_awaddr;
  logic [7:0] m_wdata, m_awlen;
  logic [2:0] m_awsize;
  logic [1:0] m_awburst, s_bresp;
  cu_axi_write_arbiter #(.Units(Units), .BusBytes(1), .Budget(Budget)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .isolate_i, .idle_o(idle), .beat_o(beat),
    .s_axi_awaddr_i({62'h0, 1'b1, awaddr_i[1], 62'h0, 1'b0, awaddr_i[0]}),
    .s_axi_awlen_i({7'h0, two_i[1], 7'h0, two_i[0]}),
    .s_axi_awvalid_i(awvalid_i), .s_axi_awready_o(awready),
    .s_axi_wdata_i({5'h0, number_q[1], 1'b1, 5'h0, number_q[0], 1'b0}), .s_axi_wstrb_i('1),
    .s_axi_wlast_i('0), .s_axi_wvalid_i(wvalid_i), .s_axi_wready_o(wready),
    .s_axi_bresp_o(s_bresp), .s_axi_bvalid_o(bvalid), .s_axi_bready_i(bready_i),
    .m_axi_awaddr_o(m_awaddr), .m_axi_awlen_o(m_awlen), .m_axi_awsize_o(m_awsize),
    .m_axi_awburst_o(m_awburst), .m_axi_awvalid_o(m_awvalid), .m_axi_awready_i(awready_i),
    .m_axi_wdata_o(m_wdata), .m_axi_wstrb_o(m_wstrb), .m_axi_wlast_o(m_wlast),
    .m_axi_wvalid_o(m_wvalid), .m_axi_wready_i(wready_i), .m_axi_bresp_i(2'b00),
    .m_axi_bvalid_i(m_bvalid), .m_axi_bready_o(m_bready)
  );

  wire [1:0] take = rst_n_q ? awvalid_i & awready : '0;
  wire [1:0] w_take = rst_n_q ? wvalid_i & wready : '0;
  wire move = rst_n_q && beat != '0;  // a beat goes into the arbiter's buffer
  wire w = rst_n_q && m_wvalid && wready_i;
  wire b = rst_n_q && m_bvalid && m_bready;

  // ---- bursts whose data has not all come; units of all unanswered; beats that are to be written
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
  wire w_unit = burst_q[0].unit;
  wire last = mid_q || !burst_q[0].two;
  wire burst_end = move && last;
  wire [1:0] owner = 2'b01 << answer_q[0];
  assign m_bvalid = rst_n_q && answer_i && sent_q != '0 && written_q != '0;
  always_ff @(posedge clk_i) begin
    if (move) mid_q <= !last;
    if (burst_end) burst_q <= {burst_t'(0), burst_q[Depth-1:1]};
    if (b) answer_q <= answer_q >> 1;
    if (w) beat_q[0] <= beat_q[1];
    if (take != '0) begin
      burst_q[2'(bursts_q - 3'(burst_end))] <= '{unit: take[1], two: two_i[take[1]]};
      answer_q[2'(answers_q - 3'(b))] <= take[1];
    end
    if (move) begin
      beat_q[1'(beats_q - 2'(w))] <= '{last: last, strobe: !isolate_i[w_unit],
          data: isolate_i[w_unit] ? 8'h0 : {5'h0, number_q[w_unit], w_unit}};
    end
    bursts_q  <= bursts_q + 3'(take != '0) - 3'(burst_end);
    answers_q <= answers_q + 3'(take != '0) - 3'(b);
    beats_q   <= beats_q + 2'(move) - 2'(w);
    sent_q    <= sent_q + 3'(rst_n_q && m_awvalid && awready_i) - 3'(b);
    written_q <= written_q + 3'(w && beat_q[0].last) - 3'(b);
  end

  logic aw_held_q = 1'b0, w_held_q = 1'b0, b_held_q = 1'b0, taken_q = 1'b0;
  logic [71:0] aw_was_q;
  logic [9:0] w_was_q;
  logic [2:0] taken_was_q;
  logic [1:0] s_held_q = '0, s_addr_q, s_two_q, w_offered_q = '0, was_isolated_q = '0;
  logic [1:0][2:0] due_q = '0;     // bursts of a unit that are not answered
  logic [1:0][1:0] passed_q = '0;  // bursts of others since it asks and has budget
  wire [1:0] asks = awvalid_i & ~isolate_i & {due_q[1] < 3'(Budget), due_q[0] < 3'(Budget)};
  always_ff @(posedge clk_i) begin
    aw_held_q <= rst_n_q && m_awvalid && !awready_i;
    aw_was_q  <= {m_awaddr, m_awlen};
    w_held_q  <= rst_n_q && m_wvalid && !wready_i;
    w_was_q   <= {m_wdata, m_wstrb, m_wlast};
    b_held_q  <= m_bvalid && !m_bready;
    taken_q   <= take != '0;
    taken_was_q <= {take[1], awaddr_i[take[1]], two_i[take[1]]};
    was_isolated_q <= isolate_i;
    s_addr_q <= awaddr_i;
    s_two_q  <= two_i;
    for (int u = 0; u < 2; u++) begin
      s_held_q[u]    <= awvalid_i[u] && !take[u] && !isolate_i[u];
      w_offered_q[u] <= wvalid_i[u] && !w_take[u] && !isolate_i[u];
      if (w_take[u]) number_q[u] <= number_q[u] + 1'b1;
      due_q[u]    <= due_q[u] + 3'(take[u]) - 3'(b && owner[u]);
      passed_q[u] <= (!asks[u] || take[u]) ? '0 : passed_q[u] + 2'(take != '0);
    end
  end

  always_ff @(posedge clk_i) begin
    m_answer : assume (!b_held_q || answer_i);
    if (rst_n_q) begin
      p_held   : assert (!aw_held_q || (m_awvalid && {m_awaddr, m_awlen} == aw_was_q));
      p_w_held : assert (!w_held_q || (m_wvalid && {m_wdata, m_wstrb, m_wlast} == w_was_q));
      p_taken  : assert (!taken_q || (m_awvalid &&
                         {m_awaddr, m_awlen} == {62'h0, taken_was_q[2:1], 7'h0, taken_was_q[0]}));
      p_new    : assert (!m_awvalid || aw_held_q || taken_q);
      p_one    : assert (take != 2'b11);
      p_burst  : assert (m_awsize == 3'd0 && m_awburst == 2'b01);
      p_work   : assert (asks == '0 || (m_awvalid && !awready_i) || take != '0);
      // A beat moves as soon as its unit has it, or is gone, and there is room; of no other unit.
      p_moves  : assert (beat == ((bursts_q != '0 && beats_q != 2'd2 &&
                                   (wvalid_i[w_unit] || isolate_i[w_unit]))
                                  ? 2'b01 << w_unit : 2'b00));
      p_taking : assert (w_take == (beat & ~isolate_i));
      p_due    : assert (m_wvalid == (beats_q != '0));
      p_beat   : assert (!m_wvalid || {m_wlast, m_wstrb, m_wdata} == beat_q[0]);
      p_answer : assert (!m_bvalid || bvalid == (owner & ~isolate_i));
      p_none   : assert (m_bvalid || bvalid == '0);
      p_ready  : assert (!m_bvalid || m_bready == ((owner & (bready_i | isolate_i)) != '0));
    end
  end

  for (genvar u = 0; u < 2; u++) begin : g_unit
    always_ff @(posedge clk_i) begin
      m_held    : assume (!s_held_q[u] ||
                          (awvalid_i[u] && awaddr_i[u] == s_addr_q[u] && two_i[u] == s_two_q[u]));
      m_offered : assume (!w_offered_q[u] || wvalid_i[u]);
      m_isolate : assume (!was_isolated_q[u] || isolate_i[u] || idle[u]);
      if (rst_n_q) begin
        p_isolated : assert (!isolate_i[u] || (!take[u] && !w_take[u] && !bvalid[u]));
        p_budget   : assert (due_q[u] <= 3'(Budget));
        p_idle     : assert (idle[u] == (due_q[u] == '0));
        p_turn     : assert (passed_q[u] < 2'(Units));
      end
    end
  end

  if (Invariants) begin : g_invariants
    logic [2:0] of_one, lasts;
    always_comb begin
      of_one = '0;
      lasts  = '0;
      for (int i = 0; i < int'(Depth); i++) of_one += 3'(3'(i) < answers_q && answer_q[i]);
      for (int i = 0; i < 2; i++) lasts += 3'(2'(i) < beats_q && beat_q[i].last);
    end
    always_comb begin
      if (rst_n_q) begin
        i_units  : assert (answers_q == due_q[0] + due_q[1] && of_one == due_q[1] &&
                           u_dut.g_budget[0].count_q == 2'(due_q[0]) &&
                           u_dut.g_budget[1].count_q == 2'(due_q[1]));
        i_order  : assert (answers_q == sent_q + 3'(m_awvalid) &&
                           answers_q == bursts_q + lasts + written_q && beats_q <= 2'd2 &&
                         sent_q <= answers_q && written_q <= answers_q && bursts_q <= answers_q);
        i_mid    : assert (u_dut.beat_q == 8'(mid_q) && (!mid_q || (bursts_q != '0 && burst_q[0].two)));
        i_bursts : assert (u_dut.u_bursts.count_q == bursts_q &&
                           u_dut.u_bursts.wptr_q == u_dut.u_bursts.rptr_q + 2'(bursts_q));
        i_route  : assert (u_dut.u_route.count_q == answers_q &&
                           u_dut.u_route.wptr_q == u_dut.u_route.rptr_q + 2'(answers_q));
        i_beats  : assert (u_dut.u_beats.count_q == beats_q &&
                           u_dut.u_beats.wptr_q == u_dut.u_beats.rptr_q + 1'(beats_q));
      end
    end
    for (genvar i = 0; i < int'(Depth); i++) begin : g_slot
      wire [1:0] burst_slot = u_dut.u_bursts.rptr_q + 2'(i);
      wire [1:0] route_slot = u_dut.u_route.rptr_q + 2'(i);
      always_comb begin
        i_burst : assert (3'(i) >= bursts_q || u_dut.u_bursts.mem[burst_slot] ==
                          {2'b01 << burst_q[i].unit, 7'h0, burst_q[i].two});
        i_unit  : assert (3'(i) >= answers_q || u_dut.u_route.mem[route_slot] ==
                          2'b01 << answer_q[i]);
      end
    end
    for (genvar i = 0; i < 2; i++) begin : g_beat
      wire slot = u_dut.u_beats.rptr_q + 1'(i);
      always_comb begin
        i_beat : assert (2'(i) >= beats_q || u_dut.u_beats.mem[slot] == beat_q[i]);
      end
    end
  end
endmodule
