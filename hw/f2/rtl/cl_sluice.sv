// The top that AWS's HDK builds for an F2 card: sluice_f2 on the shell's ports, with the DDR4
// controller. The ports are those of the HDK's own cl_ports.vh, and sh_ddr is the HDK's; both were
// read in its version 2.0.2. What Sluice does not use is tied off: PCIM, SDA, interrupts, HBM, the
// debug bridge and the links between cards.
//
// Linted against a list of those ports (hw/dv/f2/hdk), and never seen by Vivado nor run on a card.

module cl_sluice #(
  parameter int unsigned Units = 1,          // as in sluice_f2
  parameter int unsigned Ways = 2,
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned InBytes = 64,
  parameter int unsigned OutBytes = 64,
  parameter int unsigned Snappy = 0,
  parameter int unsigned Bloom = 0,
  parameter int unsigned Compressors = 0,
  parameter int unsigned Xxh3 = 0
) (
  `include "cl_ports.vh"
);
  `include "cl_id_defines.vh"

  // ------------------------------------------------------------------ the shell
  assign cl_sh_id0 = `CL_SH_ID0;
  assign cl_sh_id1 = `CL_SH_ID1;
  assign {cl_sh_status0, cl_sh_status1, cl_sh_status2} = '0;
  assign {cl_sh_dma_wr_full, cl_sh_dma_rd_full} = '0;
  assign cl_sh_dma_pcis_ruser = '0;
  assign cl_sh_apppf_irq_req = '0;
  assign tdo = 1'b0;

  // The shell's reset and that of the memory.
  /* verilator lint_off PROCASSINIT */
  logic rst_nq = 1'b0;  // what a bitstream sets
  /* verilator lint_on PROCASSINIT */
  always_ff @(posedge clk_main_a0) rst_nq <= rst_main_n;

  // A function level reset is acknowledged and leads to nothing: who opens the card resets units.
  logic flr_q;
  always_ff @(posedge clk_main_a0) begin
    flr_q          <= sh_cl_flr_assert;
    cl_sh_flr_done <= flr_q & ~cl_sh_flr_done;
    if (!rst_nq) cl_sh_flr_done <= 1'b0;
  end

  // Whether the memory is ready: a virtual LED.
  logic ddr_is_ready;
  always_ff @(posedge clk_main_a0) cl_sh_status_vled <= {15'b0, ddr_is_ready};

  // ----------------------------------------------------------------- the memory
  logic [63:0] ddr_awaddr, ddr_araddr, ddr_wstrb;
  logic [511:0] ddr_wdata, ddr_rdata;
  logic [7:0] ddr_awlen, ddr_arlen;
  logic [2:0] ddr_awsize, ddr_arsize;
  logic [1:0] ddr_awburst, ddr_arburst, ddr_bresp, ddr_rresp;
  logic ddr_awvalid, ddr_awready, ddr_wlast, ddr_wvalid, ddr_wready, ddr_bvalid, ddr_bready;
  logic ddr_arvalid, ddr_arready, ddr_rlast, ddr_rvalid, ddr_rready;
  logic [15:0] unused_bid, unused_rid;  // there is one ID, and answers come in order

  sh_ddr #(.DDR_PRESENT(1)) u_ddr (
    .clk(clk_main_a0), .rst_n(rst_nq), .stat_clk(clk_main_a0), .stat_rst_n(rst_nq),
    .CLK_DIMM_DP, .CLK_DIMM_DN, .M_ACT_N, .M_MA, .M_BA, .M_BG, .M_CKE, .M_ODT, .M_CS_N, .M_CLK_DN,
    .M_CLK_DP, .M_PAR, .M_DQ, .M_ECC, .M_DQS_DP, .M_DQS_DN, .cl_RST_DIMM_N(RST_DIMM_N),
    .cl_sh_ddr_axi_awid('0), .cl_sh_ddr_axi_awaddr(ddr_awaddr), .cl_sh_ddr_axi_awlen(ddr_awlen),
    .cl_sh_ddr_axi_awsize(ddr_awsize), .cl_sh_ddr_axi_awvalid(ddr_awvalid),
    .cl_sh_ddr_axi_awburst(ddr_awburst), .cl_sh_ddr_axi_awuser(1'b0),
    .cl_sh_ddr_axi_awready(ddr_awready),
    .cl_sh_ddr_axi_wdata(ddr_wdata), .cl_sh_ddr_axi_wstrb(ddr_wstrb),
    .cl_sh_ddr_axi_wlast(ddr_wlast), .cl_sh_ddr_axi_wvalid(ddr_wvalid),
    .cl_sh_ddr_axi_wready(ddr_wready),
    .cl_sh_ddr_axi_bid(unused_bid), .cl_sh_ddr_axi_bresp(ddr_bresp),
    .cl_sh_ddr_axi_bvalid(ddr_bvalid), .cl_sh_ddr_axi_bready(ddr_bready),
    .cl_sh_ddr_axi_arid('0), .cl_sh_ddr_axi_araddr(ddr_araddr), .cl_sh_ddr_axi_arlen(ddr_arlen),
    .cl_sh_ddr_axi_arsize(ddr_arsize), .cl_sh_ddr_axi_arvalid(ddr_arvalid),
    .cl_sh_ddr_axi_arburst(ddr_arburst), .cl_sh_ddr_axi_aruser(1'b0),
    .cl_sh_ddr_axi_arready(ddr_arready),
    .cl_sh_ddr_axi_rid(unused_rid), .cl_sh_ddr_axi_rdata(ddr_rdata),
    .cl_sh_ddr_axi_rresp(ddr_rresp), .cl_sh_ddr_axi_rlast(ddr_rlast),
    .cl_sh_ddr_axi_rvalid(ddr_rvalid), .cl_sh_ddr_axi_rready(ddr_rready),
    .sh_ddr_stat_bus_addr(sh_cl_ddr_stat_addr), .sh_ddr_stat_bus_wdata(sh_cl_ddr_stat_wdata),
    .sh_ddr_stat_bus_wr(sh_cl_ddr_stat_wr), .sh_ddr_stat_bus_rd(sh_cl_ddr_stat_rd),
    .sh_ddr_stat_bus_ack(cl_sh_ddr_stat_ack), .sh_ddr_stat_bus_rdata(cl_sh_ddr_stat_rdata),
    .ddr_sh_stat_int(cl_sh_ddr_stat_int), .sh_cl_ddr_is_ready(ddr_is_ready)
  );

  sluice_f2 #(
    .Units(Units), .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes),
    .Snappy(Snappy), .Bloom(Bloom), .Compressors(Compressors), .Xxh3(Xxh3)
  ) u_f2 (
    .clk_main_a0, .rst_main_n(rst_nq), .ddr_is_ready,
    .ocl_cl_awaddr, .ocl_cl_awvalid, .cl_ocl_awready, .ocl_cl_wdata, .ocl_cl_wstrb,
    .ocl_cl_wvalid, .cl_ocl_wready, .cl_ocl_bresp, .cl_ocl_bvalid, .ocl_cl_bready, .ocl_cl_araddr,
    .ocl_cl_arvalid, .cl_ocl_arready, .cl_ocl_rdata, .cl_ocl_rresp, .cl_ocl_rvalid, .ocl_cl_rready,
    .sh_cl_dma_pcis_awid, .sh_cl_dma_pcis_awaddr, .sh_cl_dma_pcis_awlen, .sh_cl_dma_pcis_awsize,
    .sh_cl_dma_pcis_awvalid, .cl_sh_dma_pcis_awready, .sh_cl_dma_pcis_wdata,
    .sh_cl_dma_pcis_wstrb, .sh_cl_dma_pcis_wlast, .sh_cl_dma_pcis_wvalid, .cl_sh_dma_pcis_wready,
    .cl_sh_dma_pcis_bid, .cl_sh_dma_pcis_bresp, .cl_sh_dma_pcis_bvalid, .sh_cl_dma_pcis_bready,
    .sh_cl_dma_pcis_arid, .sh_cl_dma_pcis_araddr, .sh_cl_dma_pcis_arlen, .sh_cl_dma_pcis_arsize,
    .sh_cl_dma_pcis_arvalid, .cl_sh_dma_pcis_arready, .cl_sh_dma_pcis_rid, .cl_sh_dma_pcis_rdata,
    .cl_sh_dma_pcis_rresp, .cl_sh_dma_pcis_rlast, .cl_sh_dma_pcis_rvalid, .sh_cl_dma_pcis_rready,
    .cl_sh_ddr_axi_awaddr(ddr_awaddr), .cl_sh_ddr_axi_awlen(ddr_awlen),
    .cl_sh_ddr_axi_awsize(ddr_awsize), .cl_sh_ddr_axi_awburst(ddr_awburst),
    .cl_sh_ddr_axi_awvalid(ddr_awvalid), .cl_sh_ddr_axi_awready(ddr_awready),
    .cl_sh_ddr_axi_wdata(ddr_wdata), .cl_sh_ddr_axi_wstrb(ddr_wstrb),
    .cl_sh_ddr_axi_wlast(ddr_wlast), .cl_sh_ddr_axi_wvalid(ddr_wvalid),
    .cl_sh_ddr_axi_wready(ddr_wready), .cl_sh_ddr_axi_bresp(ddr_bresp),
    .cl_sh_ddr_axi_bvalid(ddr_bvalid), .cl_sh_ddr_axi_bready(ddr_bready),
    .cl_sh_ddr_axi_araddr(ddr_araddr), .cl_sh_ddr_axi_arlen(ddr_arlen),
    .cl_sh_ddr_axi_arsize(ddr_arsize), .cl_sh_ddr_axi_arburst(ddr_arburst),
    .cl_sh_ddr_axi_arvalid(ddr_arvalid), .cl_sh_ddr_axi_arready(ddr_arready),
    .cl_sh_ddr_axi_rdata(ddr_rdata), .cl_sh_ddr_axi_rresp(ddr_rresp),
    .cl_sh_ddr_axi_rlast(ddr_rlast), .cl_sh_ddr_axi_rvalid(ddr_rvalid),
    .cl_sh_ddr_axi_rready(ddr_rready)
  );

  // ------------------------------------------------------------------- not used
  assign {cl_sh_pcim_awid, cl_sh_pcim_awaddr, cl_sh_pcim_awlen, cl_sh_pcim_awsize,
          cl_sh_pcim_awburst, cl_sh_pcim_awcache, cl_sh_pcim_awlock, cl_sh_pcim_awprot,
          cl_sh_pcim_awqos, cl_sh_pcim_awuser, cl_sh_pcim_awvalid, cl_sh_pcim_wid,
          cl_sh_pcim_wdata, cl_sh_pcim_wstrb, cl_sh_pcim_wlast, cl_sh_pcim_wuser,
          cl_sh_pcim_wvalid, cl_sh_pcim_bready, cl_sh_pcim_arid, cl_sh_pcim_araddr,
          cl_sh_pcim_arlen, cl_sh_pcim_arsize, cl_sh_pcim_arburst, cl_sh_pcim_arcache,
          cl_sh_pcim_arlock, cl_sh_pcim_arprot, cl_sh_pcim_arqos, cl_sh_pcim_aruser,
          cl_sh_pcim_arvalid, cl_sh_pcim_rready} = '0;
  assign {cl_sda_awready, cl_sda_wready, cl_sda_bresp, cl_sda_bvalid, cl_sda_arready,
          cl_sda_rdata, cl_sda_rresp, cl_sda_rvalid} = '0;
  assign {hbm_apb_paddr_1, hbm_apb_pprot_1, hbm_apb_psel_1, hbm_apb_penable_1, hbm_apb_pwrite_1,
          hbm_apb_pwdata_1, hbm_apb_pstrb_1, hbm_apb_pready_1, hbm_apb_prdata_1,
          hbm_apb_pslverr_1} = '0;
  assign {hbm_apb_paddr_0, hbm_apb_pprot_0, hbm_apb_psel_0, hbm_apb_penable_0, hbm_apb_pwrite_0,
          hbm_apb_pwdata_0, hbm_apb_pstrb_0, hbm_apb_pready_0, hbm_apb_prdata_0,
          hbm_apb_pslverr_0} = '0;
  assign {PCIE_EP_TXP, PCIE_EP_TXN, PCIE_RP_PERSTN, PCIE_RP_TXP, PCIE_RP_TXN} = '0;
endmodule
