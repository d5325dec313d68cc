// cu_csr: AXI4-Lite handshakes, each address answered once; what is written to the job address is read
// back; a job once offered stays so until it is taken, and the next one waits for its completion.

module f_csr (
  input logic        clk_i,
  input logic [11:0] awaddr_i,
  input logic        awvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        wvalid_i,
  input logic        bready_i,
  input logic [11:0] araddr_i,
  input logic        arvalid_i,
  input logic        rready_i,
  input logic        job_ready_i,
  input logic        job_done_i,
  input logic [7:0]  job_status_i
);
  import sluice_abi_pkg::*;

  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic awready, wready, bvalid, arready, rvalid, interrupt, job_valid;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  logic [63:0] job_addr;
  cu_csr u_dut (
    .clk_i, .rst_ni(rst_n_q),
    .s_axi_awaddr_i(awaddr_i), .s_axi_awvalid_i(awvalid_i), .s_axi_awready_o(awready),
    .s_axi_wdata_i(wdata_i), .s_axi_wstrb_i(wstrb_i), .s_axi_wvalid_i(wvalid_i),
    .s_axi_wready_o(wready), .s_axi_bresp_o(bresp), .s_axi_bvalid_o(bvalid),
    .s_axi_bready_i(bready_i), .s_axi_araddr_i(araddr_i), .s_axi_arvalid_i(arvalid_i),
    .s_axi_arready_o(arready), .s_axi_rdata_o(rdata), .s_axi_rresp_o(rresp),
    .s_axi_rvalid_o(rvalid), .s_axi_rready_i(rready_i), .interrupt_o(interrupt),
    .job_valid_o(job_valid), .job_ready_i, .job_addr_o(job_addr), .job_done_i, .job_status_i
  );

  wire aw = awvalid_i && awready;
  wire w = wvalid_i && wready;
  wire b = bvalid && bready_i;
  wire ar = arvalid_i && arready;
  wire r = rvalid && rready_i;

  // Answers owed.
  logic [1:0] aw_q = '0, w_q = '0, ar_q = '0;
  logic b_held_q = 1'b0, r_held_q = 1'b0, job_held_q = 1'b0;
  logic [31:0] r_data_q, lo_q = '0, r_expect_q;
  logic r_lo_q = 1'b0;
  logic running_q = 1'b0, unread_q = 1'b0;
  logic [3:0] starved_q = '0;

  wire lo_write = aw && w && awaddr_i[11:2] == 10'(ControlJobAddrLo >> 2);
  wire taken = job_valid && job_ready_i;
  wire start = aw && w && awaddr_i[11:2] == 10'(ControlCtrl >> 2) && wstrb_i[0] &&
               wdata_i[ControlCtrlStartLsb];
  wire acknowledged = aw && w && awaddr_i[11:2] == 10'(ControlCtrl >> 2) && wstrb_i[0] &&
                      wdata_i[ControlCtrlContinueLsb];
  logic asked_q = 1'b0;  // a start that no job has answered

  always_ff @(posedge clk_i) begin
    if (rst_n_q) begin
      aw_q <= aw_q + 2'(aw) - 2'(b);
      w_q  <= w_q + 2'(w) - 2'(b);
      ar_q <= ar_q + 2'(ar) - 2'(r);
      b_held_q <= bvalid && !bready_i;
      r_held_q <= rvalid && !rready_i;
      job_held_q <= job_valid && !job_ready_i;
      r_data_q <= rdata;
      for (int i = 0; i < 4; i++) begin
        if (lo_write && wstrb_i[i]) lo_q[8*i+:8] <= wdata_i[8*i+:8];
      end
      if (ar) begin
        r_lo_q     <= araddr_i[11:2] == 10'(ControlJobAddrLo >> 2);
        r_expect_q <= lo_q;
      end
      if (start) asked_q <= 1'b1;
      else if (taken) asked_q <= 1'b0;
      if (taken) running_q <= 1'b1;
      else if (job_done_i) running_q <= 1'b0;
      if (job_done_i) unread_q <= 1'b1;
      else if (acknowledged) unread_q <= 1'b0;
      starved_q <= (awvalid_i && wvalid_i && !awready && bready_i) ? starved_q + 1'b1 : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    m_done : assume (!job_done_i || running_q);
    if (rst_n_q) begin
      p_one_write : assert (aw_q <= 2'd1 && aw_q == w_q && (!bvalid || aw_q == 2'd1));
      p_one_read  : assert (ar_q <= 2'd1 && rvalid == (ar_q == 2'd1));
      p_answer    : assert (bvalid == (aw_q == 2'd1));
      p_okay      : assert (bresp == 2'b00 && rresp == 2'b00);
      p_b_held    : assert (!b_held_q || bvalid);
      p_r_held    : assert (!r_held_q || (rvalid && rdata == r_data_q));
      p_no_stall  : assert (starved_q <= 4'd1);
      p_job_held  : assert (!job_held_q || job_valid || unread_q);
      p_job_asked : assert (!job_valid || asked_q);
      p_one_job   : assert (!job_valid || (!running_q && !unread_q));
      p_offered   : assert (job_valid == (asked_q && !running_q && !unread_q));
      p_address   : assert (job_addr[31:0] == lo_q);
      p_read_back : assert (!(rvalid && r_lo_q) || rdata == r_expect_q);
    end
  end
endmodule
