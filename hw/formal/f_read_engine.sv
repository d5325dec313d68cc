// cu_read_engine: AXI4 rules of its bursts; that they cover each request's bytes once, in order; that
// each client gets the beats of its requests, in order, and one `done` per request after them, which
// tells of bus errors; and that no client starves. Client c's addresses have bit 12 equal c.

module f_read_engine #(
  parameter bit Invariants = 1,
  parameter int unsigned Check = 0,  // 0: AXI4; 1: bursts and turns; 2: beats and dones
  localparam int unsigned Clients = 2,
  localparam int unsigned BusBytes = 8,
  localparam int unsigned FifoBeats = 4,
  localparam int unsigned MaxBurstBeats = 2,
  localparam int unsigned Requests = 2
) (
  input logic               clk_i,
  input logic [1:0]         req_valid_i,
  input logic [1:0][63:0]   req_addr_i,
  input logic [1:0][31:0]   req_bytes_i,
  input logic [1:0]         beat_ready_i,
  input logic [1:0]         done_ready_i,
  input logic               halt_i,
  input logic               arready_i,
  input logic               answer_i,  // memory has an answer ready
  input logic [1:0]         rresp_i,
  input logic               follow_i,  // the request taken now is the one to follow
  input logic               client_i   // its client
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [1:0] req_ready, beat_valid, done_valid, done_error;
  logic [1:0][63:0] beat_data;
  logic [1:0][31:0] done_crc;
  logic idle, stall, fifo_error, arvalid, rready, rvalid, rlast;
  logic [63:0] araddr, rdata;
  logic [7:0] arlen;
  logic [2:0] arsize;
  logic [1:0] arburst;
  cu_read_engine #(
    .Clients(Clients), .BusBytes(BusBytes), .FifoBeats(FifoBeats), .MaxBurstBeats(MaxBurstBeats),
    .Requests(Requests)
  ) u_dut (
    .clk_i, .rst_ni(rst_n_q), .req_valid_i, .req_ready_o(req_ready), .req_addr_i, .req_bytes_i,
    .beat_valid_o(beat_valid), .beat_ready_i, .beat_data_o(beat_data), .done_valid_o(done_valid),
    .done_ready_i, .done_crc_o(done_crc), .done_error_o(done_error), .halt_i, .idle_o(idle),
    .stall_o(stall), .fifo_error_o(fifo_error), .m_axi_araddr_o(araddr), .m_axi_arlen_o(arlen), .m_axi_arsize_o(arsize),
    .m_axi_arburst_o(arburst), .m_axi_arvalid_o(arvalid), .m_axi_arready_i(arready_i),
    .m_axi_rdata_i(rdata), .m_axi_rresp_i(rresp_i), .m_axi_rlast_i(rlast),
    .m_axi_rvalid_i(rvalid), .m_axi_rready_o(rready)
  );

  wire ar = rst_n_q && arvalid && arready_i;
  wire r = rst_n_q && rvalid && rready;
  wire ar_client = araddr[12];

  // ---- memory: answers in order, with the number of the beat (address / 8) as data
  localparam int unsigned Depth = 4;  // bursts that it takes
  typedef struct packed {
    logic       client;
    logic [8:0] beat;
    logic       two;
  } burst_t;
  burst_t [Depth-1:0] queue_q;
  logic [2:0] bursts_q = '0;
  logic mid_q = 1'b0;
  assign rvalid = rst_n_q && answer_i && bursts_q != '0;
  assign rlast  = mid_q || !queue_q[0].two;
  assign rdata  = 64'(queue_q[0].beat + 9'(mid_q));
  wire shift = r && rlast;
  always_ff @(posedge clk_i) begin
    if (r) mid_q <= !rlast;
    if (shift) queue_q <= {burst_t'(0), queue_q[Depth-1:1]};
    if (ar) queue_q[2'(bursts_q - 3'(shift))] <= '{client: ar_client, beat: araddr[11:3],
                                                  two: arlen != 8'd0};
    bursts_q <= bursts_q + 3'(ar) - 3'(shift);
  end

  logic ar_held_q = 1'b0;
  logic [71:0] ar_was_q;
  logic [3:0] after_halt_q = '0;
  logic halted_q = 1'b0;
  always_ff @(posedge clk_i) begin
    ar_held_q <= rst_n_q && arvalid && !arready_i;
    ar_was_q  <= {araddr, arlen};
    if (halt_i) halted_q <= 1'b1;
    if (halted_q && ar && !ar_held_q) after_halt_q <= after_halt_q + 1'b1;
  end

  for (genvar c = 0; c < Clients; c++) begin : g_assume
    always_ff @(posedge clk_i) begin
      m_some   : assume (req_bytes_i[c] != '0);
      m_client : assume (req_addr_i[c][12] == 1'(c));
    end
  end
  always_ff @(posedge clk_i) begin
    m_queue : assume (!arready_i || bursts_q != 3'(Depth) || shift);
    m_halt  : assume (!halted_q || halt_i);
  end

  if (Invariants && Check == 0) begin : g_invariants
    always_comb begin
      if (rst_n_q) begin
        i_count : assert (bursts_q <= 3'(Depth) && u_dut.bursts == 7'(bursts_q) + 7'(arvalid));
        i_idle  : assert (idle == (u_dut.bursts == '0));
        i_burst : assert (!arvalid || 9'(araddr[3]) + 9'(arlen) <= 9'd1);
        i_halt  : assert (!halted_q || !arvalid || ar_held_q);
        i_after : assert (after_halt_q == '0);
      end else begin
        i_reset : assert (bursts_q == '0 && !ar_held_q && !halted_q && after_halt_q == '0);
      end
    end
    for (genvar c = 0; c < Clients; c++) begin : g_cut
      wire cand_valid = u_dut.g_cut[c].cand_valid_q;
      wire [1:0] beats = u_dut.cand[c].beats;
      always_comb begin
        if (rst_n_q) begin
          i_some  : assert (!u_dut.g_cut[c].next_valid_q || u_dut.g_cut[c].next_bytes_q != '0);
          i_left  : assert (!u_dut.g_cut[c].busy_q || u_dut.g_cut[c].left_q != '0);
          i_cand  : assert (!cand_valid ||
                            (beats != '0 && 3'(u_dut.cand[c].addr[3]) + 3'(beats) <= 3'd2));
        end
      end
    end
  end

  if (Check == 0) begin : g_axi
    always_ff @(posedge clk_i) begin
      if (rst_n_q) begin
        p_held   : assert (!ar_held_q || (arvalid && {araddr, arlen} == ar_was_q));
        p_kind   : assert (!arvalid || (arburst == 2'b01 && arsize == 3'd3 &&
                                        araddr[2:0] == '0));
        p_length : assert (!arvalid || arlen < 8'(MaxBurstBeats));
        p_4k     : assert (!arvalid || 13'(araddr[11:0]) + ((13'(arlen) + 13'd1) << 3) <= 13'd4096);
        p_rready : assert (rready);
        p_halt   : assert (after_halt_q == '0);
        p_idle   : assert (!idle || bursts_q == '0);
      end
    end
  end else begin : g_requests
    // Requests are short, and within 256 bytes.
    for (genvar c = 0; c < Clients; c++) begin : g_short
      always_ff @(posedge clk_i) begin
        m_short : assume (req_addr_i[c][63:13] == '0 && req_addr_i[c][11:8] == '0 &&
                          req_bytes_i[c][31:6] == '0 && !(req_addr_i[c][7] && req_addr_i[c][6]));
      end
    end

    // The followed request: how much of its client's work is before it, how far it has come.
    logic following_q = 1'b0, who_q, error_q;
    logic [7:0] ar_ahead_q, beat_ahead_q;  // beats that bursts, and the client, still have before it
    logic [3:0] done_ahead_q;
    logic [7:0] ar_left_q, beat_left_q;    // beats of its own
    logic [8:0] ar_next_q, beat_next_q;
    logic [1:0][7:0] ar_owed_q = '0, beat_owed_q = '0;
    logic [1:0][3:0] done_owed_q = '0;
    logic [1:0][7:0] r_owed_q = '0;        // beats that memory still has to answer
    logic [7:0] r_ahead_q, r_left_q;

    logic [1:0] take, pop, done;
    logic [1:0][7:0] beats;
    wire [7:0] ar_beats = arlen + 8'd1;
    wire r_client = queue_q[0].client;
    for (genvar c = 0; c < Clients; c++) begin : g_client
      assign take[c]  = rst_n_q && req_valid_i[c] && req_ready[c];
      assign pop[c]   = rst_n_q && beat_valid[c] && beat_ready_i[c];
      assign done[c]  = rst_n_q && done_valid[c] && done_ready_i[c];
      assign beats[c] = 8'((9'(req_addr_i[c][2:0]) + 9'(req_bytes_i[c][7:0]) + 9'd7) >> 3);
      wire [7:0] new_beats = take[c] ? beats[c] : '0;
      wire ar_mine = ar && ar_client == 1'(c);
      wire r_mine = r && r_client == 1'(c);
      always_ff @(posedge clk_i) begin
        ar_owed_q[c]   <= ar_owed_q[c] + new_beats - (ar_mine ? ar_beats : '0);
        r_owed_q[c]    <= r_owed_q[c] + new_beats - 8'(r_mine);
        beat_owed_q[c] <= beat_owed_q[c] + new_beats - 8'(pop[c]);
        done_owed_q[c] <= done_owed_q[c] + 4'(take[c]) - 4'(done[c]);
      end
      always_ff @(posedge clk_i) begin
        if (rst_n_q) begin
          if (Check == 1) p_asked : assert (!ar_mine || ar_beats <= ar_owed_q[c]);
          if (Check == 2) begin
            p_beats : assert (!pop[c] || beat_owed_q[c] > r_owed_q[c]);
            p_done  : assert (!done[c] || done_owed_q[c] != '0);
          end
        end
      end
    end

    wire ar_mine = ar && ar_client == who_q;
    wire r_mine = r && r_client == who_q;
    wire start = follow_i && take[client_i] && !following_q;
    // How often the other client is served while this one could be.
    logic [2:0] passed_q = '0;
    wire could = following_q && ar_ahead_q == '0 && ar_left_q != '0 && !halt_i &&
                 // room for a burst, and no more requests than may be in flight
                 beat_owed_q[who_q] - ar_owed_q[who_q] <= 8'(FifoBeats - MaxBurstBeats) &&
                 done_owed_q[who_q] <= 4'(Requests);

    always_ff @(posedge clk_i) begin
      if (start) begin
        following_q  <= 1'b1;
        who_q        <= client_i;
        error_q      <= 1'b0;
        ar_ahead_q   <= ar_owed_q[client_i] - ((ar && ar_client == client_i) ? ar_beats : '0);
        r_ahead_q    <= r_owed_q[client_i] - 8'(r && r_client == client_i);
        beat_ahead_q <= beat_owed_q[client_i] - 8'(pop[client_i]);
        done_ahead_q <= done_owed_q[client_i] - 4'(done[client_i]);
        ar_left_q    <= beats[client_i];
        r_left_q     <= beats[client_i];
        beat_left_q  <= beats[client_i];
        ar_next_q    <= req_addr_i[client_i][11:3];
        beat_next_q  <= req_addr_i[client_i][11:3];
      end else if (following_q) begin
        if (ar_mine && ar_ahead_q != '0) ar_ahead_q <= ar_ahead_q - ar_beats;
        else if (ar_mine && ar_left_q != '0) begin
          ar_left_q <= ar_left_q - ar_beats;
          ar_next_q <= ar_next_q + 9'(ar_beats);
        end
        if (r_mine && r_ahead_q != '0) r_ahead_q <= r_ahead_q - 1'b1;
        else if (r_mine && r_left_q != '0) begin
          r_left_q <= r_left_q - 1'b1;
          if (rresp_i != '0) error_q <= 1'b1;
        end
        if (pop[who_q] && beat_ahead_q != '0) beat_ahead_q <= beat_ahead_q - 1'b1;
        else if (pop[who_q] && beat_left_q != '0) begin
          beat_left_q <= beat_left_q - 1'b1;
          beat_next_q <= beat_next_q + 1'b1;
        end
        if (done[who_q]) done_ahead_q <= done_ahead_q - 1'b1;
        if (done[who_q] && done_ahead_q == '0) following_q <= 1'b0;
      end
      if (!could || ar_mine) passed_q <= '0;
      else if (ar) passed_q <= passed_q + 1'b1;
    end

    if (Check == 1) begin : g_bursts
      always_ff @(posedge clk_i) begin
        if (following_q && ar_mine) begin
          p_apart : assert (ar_ahead_q == '0 || ar_beats <= ar_ahead_q);
          if (ar_ahead_q == '0 && ar_left_q != '0) begin
            p_cover : assert (araddr[11:3] == ar_next_q && ar_beats <= ar_left_q);
          end
        end
        p_turns : assert (passed_q <= 3'd4);
      end
    end else begin : g_beats
      always_ff @(posedge clk_i) begin
        if (following_q) begin
          if (pop[who_q] && beat_ahead_q == '0 && beat_left_q != '0) begin
            p_beat : assert (beat_data[who_q][8:0] == beat_next_q);
          end
          if (done[who_q] && done_ahead_q == '0) begin
            p_after : assert (r_ahead_q == '0 && r_left_q == '0);
            p_error : assert (done_error[who_q] == error_q);
          end
        end
      end
    end
  end
endmodule
