// A card of Compaction Units as custom logic of an AWS F2 instance: sluice_card between the shell's
// interfaces and the DDR4 controller that the shell comes with. Ports are named as in the HDK;
// cl_sluice.sv connects them, and ties off everything else.
//
//   OCL   (BAR0, AXI4-Lite) -> the card's registers, which repeat every 64 KiB
//   PCIS  (BAR4, AXI4)      -> window -> widen \
//   card's index port       -> widen            > round robin, burst by burst -> DDR4
//   card's data ports       -> widen, or as is /
//
// On PCIS, the shell gives up after 8 us, and everything may be out of order then. So whatever it
// asks is answered: beyond MemoryPages, and while the memory is not ready, with an error. It does
// not pass errors on to the host, so data read with one is all ones. Host and units hold each other
// up no longer than the bursts of a round take (f2_read_widen, f2_write_widen).
//
// Interrupts are not used: the host asks. Simulated and linted with open tools; it was never run on
// a card.

`include "cu_assert.svh"

module sluice_f2 #(
  parameter int unsigned Units = 1,          // as in sluice_card
  parameter int unsigned Ways = 2,
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned InBytes = 64,
  parameter int unsigned OutBytes = 64,
  parameter int unsigned Snappy = 0,
  parameter int unsigned Bloom = 0,
  parameter int unsigned Compressors = 0,
  parameter int unsigned Xxh3 = 0,
  parameter int unsigned MemoryPages = 1 << 24  // of 4 KiB: 64 GiB
) (
  input  logic         clk_main_a0,
  input  logic         rst_main_n,  // synchronous
  input  logic         ddr_is_ready,

  input  logic [31:0]  ocl_cl_awaddr,
  input  logic         ocl_cl_awvalid,
  output logic         cl_ocl_awready,
  input  logic [31:0]  ocl_cl_wdata,
  input  logic [3:0]   ocl_cl_wstrb,
  input  logic         ocl_cl_wvalid,
  output logic         cl_ocl_wready,
  output logic [1:0]   cl_ocl_bresp,
  output logic         cl_ocl_bvalid,
  input  logic         ocl_cl_bready,
  input  logic [31:0]  ocl_cl_araddr,
  input  logic         ocl_cl_arvalid,
  output logic         cl_ocl_arready,
  output logic [31:0]  cl_ocl_rdata,
  output logic [1:0]   cl_ocl_rresp,
  output logic         cl_ocl_rvalid,
  input  logic         ocl_cl_rready,

  input  logic [15:0]  sh_cl_dma_pcis_awid,
  input  logic [63:0]  sh_cl_dma_pcis_awaddr,
  input  logic [7:0]   sh_cl_dma_pcis_awlen,
  input  logic [2:0]   sh_cl_dma_pcis_awsize,
  input  logic         sh_cl_dma_pcis_awvalid,
  output logic         cl_sh_dma_pcis_awready,
  input  logic [511:0] sh_cl_dma_pcis_wdata,
  input  logic [63:0]  sh_cl_dma_pcis_wstrb,
  input  logic         sh_cl_dma_pcis_wlast,
  input  logic         sh_cl_dma_pcis_wvalid,
  output logic         cl_sh_dma_pcis_wready,
  output logic [15:0]  cl_sh_dma_pcis_bid,
  output logic [1:0]   cl_sh_dma_pcis_bresp,
  output logic         cl_sh_dma_pcis_bvalid,
  input  logic         sh_cl_dma_pcis_bready,
  input  logic [15:0]  sh_cl_dma_pcis_arid,
  input  logic [63:0]  sh_cl_dma_pcis_araddr,
  input  logic [7:0]   sh_cl_dma_pcis_arlen,
  input  logic [2:0]   sh_cl_dma_pcis_arsize,
  input  logic         sh_cl_dma_pcis_arvalid,
  output logic         cl_sh_dma_pcis_arready,
  output logic [15:0]  cl_sh_dma_pcis_rid,
  output logic [511:0] cl_sh_dma_pcis_rdata,
  output logic [1:0]   cl_sh_dma_pcis_rresp,
  output logic         cl_sh_dma_pcis_rlast,
  output logic         cl_sh_dma_pcis_rvalid,
  input  logic         sh_cl_dma_pcis_rready,

  output logic [63:0]  cl_sh_ddr_axi_awaddr,
  output logic [7:0]   cl_sh_ddr_axi_awlen,
  output logic [2:0]   cl_sh_ddr_axi_awsize,
  output logic [1:0]   cl_sh_ddr_axi_awburst,
  output logic         cl_sh_ddr_axi_awvalid,
  input  logic         cl_sh_ddr_axi_awready,
  output logic [511:0] cl_sh_ddr_axi_wdata,
  output logic [63:0]  cl_sh_ddr_axi_wstrb,
  output logic         cl_sh_ddr_axi_wlast,
  output logic         cl_sh_ddr_axi_wvalid,
  input  logic         cl_sh_ddr_axi_wready,
  input  logic [1:0]   cl_sh_ddr_axi_bresp,
  input  logic         cl_sh_ddr_axi_bvalid,
  output logic         cl_sh_ddr_axi_bready,
  output logic [63:0]  cl_sh_ddr_axi_araddr,
  output logic [7:0]   cl_sh_ddr_axi_arlen,
  output logic [2:0]   cl_sh_ddr_axi_arsize,
  output logic [1:0]   cl_sh_ddr_axi_arburst,
  output logic         cl_sh_ddr_axi_arvalid,
  input  logic         cl_sh_ddr_axi_arready,
  input  logic [511:0] cl_sh_ddr_axi_rdata,
  input  logic [1:0]   cl_sh_ddr_axi_rresp,
  input  logic         cl_sh_ddr_axi_rlast,
  input  logic         cl_sh_ddr_axi_rvalid,
  output logic         cl_sh_ddr_axi_rready
);
  localparam int unsigned Bytes = 64;        // of a beat, of PCIS and the memory
  localparam int unsigned PcisBursts = 32;   // that the shell has outstanding, each way
  localparam int unsigned PcisBeats = 128;   // room for two of the longest bursts, of 4 KiB
  localparam int unsigned CardBeats = 32;    // room for the card's narrow bursts

  wire clk_i = clk_main_a0;
  // The shell's reset comes from afar.
  /* verilator lint_off PROCASSINIT */
  logic rst_ni = 1'b0;  // what a bitstream sets: in reset from the first cycle on
  /* verilator lint_on PROCASSINIT */
  logic ready_early_q, ready_q;
  always_ff @(posedge clk_i) begin
    rst_ni        <= rst_main_n;
    ready_early_q <= ddr_is_ready;
    ready_q       <= ready_early_q;
  end
  wire [31:0] pages = ready_q ? MemoryPages : '0;

  // ---------------------------------------------------------------------- OCL
  logic [15:0] ocl_awaddr, ocl_araddr;
  logic [31:0] ocl_wdata, ocl_rdata;
  logic [3:0] ocl_wstrb;
  logic [1:0] ocl_bresp, ocl_rresp;
  logic ocl_awvalid, ocl_awready, ocl_wvalid, ocl_wready, ocl_bvalid, ocl_bready;
  logic ocl_arvalid, ocl_arready, ocl_rvalid, ocl_rready;

  cu_register_slice #(.Width(16)) u_ocl_aw (
    .clk_i, .rst_ni,
    .wvalid_i(ocl_cl_awvalid), .wready_o(cl_ocl_awready), .wdata_i(ocl_cl_awaddr[15:0]),
    .rvalid_o(ocl_awvalid), .rready_i(ocl_awready), .rdata_o(ocl_awaddr)
  );
  cu_register_slice #(.Width(36)) u_ocl_w (
    .clk_i, .rst_ni,
    .wvalid_i(ocl_cl_wvalid), .wready_o(cl_ocl_wready), .wdata_i({ocl_cl_wdata, ocl_cl_wstrb}),
    .rvalid_o(ocl_wvalid), .rready_i(ocl_wready), .rdata_o({ocl_wdata, ocl_wstrb})
  );
  cu_register_slice #(.Width(2)) u_ocl_b (
    .clk_i, .rst_ni, .wvalid_i(ocl_bvalid), .wready_o(ocl_bready), .wdata_i(ocl_bresp),
    .rvalid_o(cl_ocl_bvalid), .rready_i(ocl_cl_bready), .rdata_o(cl_ocl_bresp)
  );
  cu_register_slice #(.Width(16)) u_ocl_ar (
    .clk_i, .rst_ni,
    .wvalid_i(ocl_cl_arvalid), .wready_o(cl_ocl_arready), .wdata_i(ocl_cl_araddr[15:0]),
    .rvalid_o(ocl_arvalid), .rready_i(ocl_arready), .rdata_o(ocl_araddr)
  );
  cu_register_slice #(.Width(34)) u_ocl_r (
    .clk_i, .rst_ni,
    .wvalid_i(ocl_rvalid), .wready_o(ocl_rready), .wdata_i({ocl_rdata, ocl_rresp}),
    .rvalid_o(cl_ocl_rvalid), .rready_i(ocl_cl_rready), .rdata_o({cl_ocl_rdata, cl_ocl_rresp})
  );

  // ------------------------------------------------------------- the memory port
  // Its masters, of full width: 0 PCIS, 1 the card's index port, 2 its data port.
  logic [2:0][63:0] araddr, awaddr;
  logic [2:0][7:0] arlen, awlen;
  logic [2:0] arvalid, arready, rvalid, rready;
  logic [2:0] awvalid, awready, wlast, wvalid, wready, bvalid, bready;
  logic [2:0][Bytes*8-1:0] wdata;
  logic [2:0][Bytes-1:0] wstrb;
  logic [Bytes*8-1:0] rdata;
  logic [1:0] rresp, bresp;
  logic rlast;

  logic [63:0] ddr_araddr, ddr_awaddr;
  logic [7:0] ddr_arlen, ddr_awlen;
  logic [Bytes*8-1:0] ddr_rdata, ddr_wdata;
  logic [Bytes-1:0] ddr_wstrb;
  logic [1:0] ddr_rresp, ddr_bresp;
  logic ddr_arvalid, ddr_arready, ddr_rlast, ddr_rvalid, ddr_rready;
  logic ddr_awvalid, ddr_awready, ddr_wlast, ddr_wvalid, ddr_wready, ddr_bvalid, ddr_bready;
  logic [2:0] unused_ridle, unused_rbeat, unused_widle, unused_wbeat;
  logic [4:0] unused_ar, unused_aw;

  cu_axi_read_arbiter #(.Units(3), .BusBytes(Bytes)) u_read (
    .clk_i, .rst_ni, .isolate_i('0), .idle_o(unused_ridle), .beat_o(unused_rbeat),
    .s_axi_araddr_i(araddr), .s_axi_arlen_i(arlen), .s_axi_arvalid_i(arvalid),
    .s_axi_arready_o(arready), .s_axi_rdata_o(rdata), .s_axi_rresp_o(rresp),
    .s_axi_rlast_o(rlast), .s_axi_rvalid_o(rvalid), .s_axi_rready_i(rready),
    .m_axi_araddr_o(ddr_araddr), .m_axi_arlen_o(ddr_arlen), .m_axi_arsize_o(unused_ar[4:2]),
    .m_axi_arburst_o(unused_ar[1:0]), .m_axi_arvalid_o(ddr_arvalid),
    .m_axi_arready_i(ddr_arready), .m_axi_rdata_i(ddr_rdata), .m_axi_rresp_i(ddr_rresp),
    .m_axi_rlast_i(ddr_rlast), .m_axi_rvalid_i(ddr_rvalid), .m_axi_rready_o(ddr_rready)
  );
  cu_axi_write_arbiter #(.Units(3), .BusBytes(Bytes)) u_write (
    .clk_i, .rst_ni, .isolate_i('0), .idle_o(unused_widle), .beat_o(unused_wbeat),
    .s_axi_awaddr_i(awaddr), .s_axi_awlen_i(awlen), .s_axi_awvalid_i(awvalid),
    .s_axi_awready_o(awready), .s_axi_wdata_i(wdata), .s_axi_wstrb_i(wstrb),
    .s_axi_wlast_i(wlast), .s_axi_wvalid_i(wvalid), .s_axi_wready_o(wready),
    .s_axi_bresp_o(bresp), .s_axi_bvalid_o(bvalid), .s_axi_bready_i(bready),
    .m_axi_awaddr_o(ddr_awaddr), .m_axi_awlen_o(ddr_awlen), .m_axi_awsize_o(unused_aw[4:2]),
    .m_axi_awburst_o(unused_aw[1:0]), .m_axi_awvalid_o(ddr_awvalid),
    .m_axi_awready_i(ddr_awready), .m_axi_wdata_o(ddr_wdata), .m_axi_wstrb_o(ddr_wstrb),
    .m_axi_wlast_o(ddr_wlast), .m_axi_wvalid_o(ddr_wvalid), .m_axi_wready_i(ddr_wready),
    .m_axi_bresp_i(ddr_bresp), .m_axi_bvalid_i(ddr_bvalid), .m_axi_bready_o(ddr_bready)
  );

  assign cl_sh_ddr_axi_arsize  = 3'($clog2(Bytes));
  assign cl_sh_ddr_axi_arburst = 2'b01;
  assign cl_sh_ddr_axi_awsize  = 3'($clog2(Bytes));
  assign cl_sh_ddr_axi_awburst = 2'b01;
  cu_register_slice #(.Width(72)) u_ddr_ar (
    .clk_i, .rst_ni,
    .wvalid_i(ddr_arvalid), .wready_o(ddr_arready), .wdata_i({ddr_araddr, ddr_arlen}),
    .rvalid_o(cl_sh_ddr_axi_arvalid), .rready_i(cl_sh_ddr_axi_arready),
    .rdata_o({cl_sh_ddr_axi_araddr, cl_sh_ddr_axi_arlen})
  );
  cu_register_slice #(.Width(Bytes * 8 + 3)) u_ddr_r (
    .clk_i, .rst_ni, .wvalid_i(cl_sh_ddr_axi_rvalid), .wready_o(cl_sh_ddr_axi_rready),
    .wdata_i({cl_sh_ddr_axi_rdata, cl_sh_ddr_axi_rresp, cl_sh_ddr_axi_rlast}),
    .rvalid_o(ddr_rvalid), .rready_i(ddr_rready), .rdata_o({ddr_rdata, ddr_rresp, ddr_rlast})
  );
  cu_register_slice #(.Width(72)) u_ddr_aw (
    .clk_i, .rst_ni,
    .wvalid_i(ddr_awvalid), .wready_o(ddr_awready), .wdata_i({ddr_awaddr, ddr_awlen}),
    .rvalid_o(cl_sh_ddr_axi_awvalid), .rready_i(cl_sh_ddr_axi_awready),
    .rdata_o({cl_sh_ddr_axi_awaddr, cl_sh_ddr_axi_awlen})
  );
  cu_register_slice #(.Width(Bytes * 9 + 1)) u_ddr_w (
    .clk_i, .rst_ni,
    .wvalid_i(ddr_wvalid), .wready_o(ddr_wready), .wdata_i({ddr_wdata, ddr_wstrb, ddr_wlast}),
    .rvalid_o(cl_sh_ddr_axi_wvalid), .rready_i(cl_sh_ddr_axi_wready),
    .rdata_o({cl_sh_ddr_axi_wdata, cl_sh_ddr_axi_wstrb, cl_sh_ddr_axi_wlast})
  );
  cu_register_slice #(.Width(2)) u_ddr_b (
    .clk_i, .rst_ni, .wvalid_i(cl_sh_ddr_axi_bvalid), .wready_o(cl_sh_ddr_axi_bready),
    .wdata_i(cl_sh_ddr_axi_bresp),
    .rvalid_o(ddr_bvalid), .rready_i(ddr_bready), .rdata_o(ddr_bresp)
  );

  // --------------------------------------------------------------- PCIS, reads
  logic [63:0] pcis_araddr;
  logic [15:0] pcis_arid, pcis_rid;
  logic [7:0] pcis_arlen;
  logic [Bytes*8-1:0] pcis_rdata;
  logic [1:0] pcis_rresp, wide_rresp;
  logic pcis_arvalid, pcis_arready, pcis_rlast, pcis_rvalid, pcis_rready;
  logic wide_arvalid, wide_arready, wide_rlast, wide_rvalid;
  logic read_ids_ready, read_id_valid, window_arready;
  logic [$clog2(PcisBursts+1)-1:0] unused_reads;

  cu_register_slice #(.Width(88)) u_pcis_ar (
    .clk_i, .rst_ni, .wvalid_i(sh_cl_dma_pcis_arvalid), .wready_o(cl_sh_dma_pcis_arready),
    .wdata_i({sh_cl_dma_pcis_arid, sh_cl_dma_pcis_araddr, sh_cl_dma_pcis_arlen}),
    .rvalid_o(pcis_arvalid), .rready_i(pcis_arready),
    .rdata_o({pcis_arid, pcis_araddr, pcis_arlen})
  );
  assign pcis_arready = window_arready & read_ids_ready;
  cu_fifo #(.Width(16), .Depth(PcisBursts)) u_read_ids (
    .clk_i, .rst_ni,
    .wvalid_i(pcis_arvalid & window_arready), .wready_o(read_ids_ready), .wdata_i(pcis_arid),
    .rvalid_o(read_id_valid), .rready_i(pcis_rvalid & pcis_rready & pcis_rlast),
    .rdata_o(pcis_rid), .count_o(unused_reads)
  );
  cu_axi_read_window #(.MaxOutstanding(PcisBursts)) u_read_window (
    .clk_i, .rst_ni, .base_i('0), .limit_i(pages),
    .s_axi_arpage_i(pcis_araddr[63:12]), .s_axi_arlen_i(pcis_arlen),
    .s_axi_arvalid_i(pcis_arvalid & read_ids_ready), .s_axi_arready_o(window_arready),
    .s_axi_rresp_o(pcis_rresp), .s_axi_rlast_o(pcis_rlast), .s_axi_rvalid_o(pcis_rvalid),
    .s_axi_rready_i(pcis_rready),
    .m_axi_arvalid_o(wide_arvalid), .m_axi_arready_i(wide_arready),
    .m_axi_rresp_i(wide_rresp), .m_axi_rlast_i(wide_rlast), .m_axi_rvalid_i(wide_rvalid)
  );
  f2_read_widen #(.BusBytes(Bytes), .RoomBeats(PcisBeats), .Bursts(PcisBursts)) u_pcis_read (
    .clk_i, .rst_ni,
    .s_axi_araddr_i(pcis_araddr), .s_axi_arlen_i(pcis_arlen), .s_axi_arvalid_i(wide_arvalid),
    .s_axi_arready_o(wide_arready), .s_axi_rdata_o(pcis_rdata), .s_axi_rresp_o(wide_rresp),
    .s_axi_rlast_o(wide_rlast), .s_axi_rvalid_o(wide_rvalid), .s_axi_rready_i(pcis_rready),
    .m_axi_araddr_o(araddr[0]), .m_axi_arlen_o(arlen[0]), .m_axi_arvalid_o(arvalid[0]),
    .m_axi_arready_i(arready[0]), .m_axi_rdata_i(rdata), .m_axi_rresp_i(rresp),
    .m_axi_rvalid_i(rvalid[0])
  );
  assign rready[0] = 1'b1;
  cu_register_slice #(.Width(Bytes * 8 + 19)) u_pcis_r (
    .clk_i, .rst_ni, .wvalid_i(pcis_rvalid), .wready_o(pcis_rready),
    .wdata_i({pcis_rid, pcis_rdata | {Bytes * 8{pcis_rresp[1]}}, pcis_rresp, pcis_rlast}),
    .rvalid_o(cl_sh_dma_pcis_rvalid), .rready_i(sh_cl_dma_pcis_rready),
    .rdata_o({cl_sh_dma_pcis_rid, cl_sh_dma_pcis_rdata, cl_sh_dma_pcis_rresp,
              cl_sh_dma_pcis_rlast})
  );

  // -------------------------------------------------------------- PCIS, writes
  logic [63:0] pcis_awaddr;
  logic [15:0] pcis_awid, pcis_bid;
  logic [7:0] pcis_awlen;
  logic [Bytes*8-1:0] pcis_wdata;
  logic [Bytes-1:0] pcis_wstrb;
  logic [1:0] pcis_bresp;
  logic pcis_awvalid, pcis_awready, pcis_wlast, pcis_wvalid, pcis_wready, pcis_bvalid, pcis_bready;
  logic wide_awvalid, wide_awready, wide_wvalid, wide_wready;
  logic write_ids_ready, write_id_valid, window_awready;
  logic [$clog2(PcisBursts+1)-1:0] unused_writes;

  cu_register_slice #(.Width(88)) u_pcis_aw (
    .clk_i, .rst_ni, .wvalid_i(sh_cl_dma_pcis_awvalid), .wready_o(cl_sh_dma_pcis_awready),
    .wdata_i({sh_cl_dma_pcis_awid, sh_cl_dma_pcis_awaddr, sh_cl_dma_pcis_awlen}),
    .rvalid_o(pcis_awvalid), .rready_i(pcis_awready),
    .rdata_o({pcis_awid, pcis_awaddr, pcis_awlen})
  );
  cu_register_slice #(.Width(Bytes * 9 + 1)) u_pcis_w (
    .clk_i, .rst_ni, .wvalid_i(sh_cl_dma_pcis_wvalid), .wready_o(cl_sh_dma_pcis_wready),
    .wdata_i({sh_cl_dma_pcis_wdata, sh_cl_dma_pcis_wstrb, sh_cl_dma_pcis_wlast}),
    .rvalid_o(pcis_wvalid), .rready_i(pcis_wready),
    .rdata_o({pcis_wdata, pcis_wstrb, pcis_wlast})
  );
  assign pcis_awready = window_awready & write_ids_ready;
  cu_fifo #(.Width(16), .Depth(PcisBursts)) u_write_ids (
    .clk_i, .rst_ni,
    .wvalid_i(pcis_awvalid & window_awready), .wready_o(write_ids_ready), .wdata_i(pcis_awid),
    .rvalid_o(write_id_valid), .rready_i(pcis_bvalid & pcis_bready), .rdata_o(pcis_bid),
    .count_o(unused_writes)
  );
  cu_axi_write_window #(.MaxOutstanding(PcisBursts)) u_write_window (
    .clk_i, .rst_ni, .base_i('0), .limit_i(pages),
    .s_axi_awpage_i(pcis_awaddr[63:12]), .s_axi_awvalid_i(pcis_awvalid & write_ids_ready),
    .s_axi_awready_o(window_awready), .s_axi_wlast_i(pcis_wlast), .s_axi_wvalid_i(pcis_wvalid),
    .s_axi_wready_o(pcis_wready), .s_axi_bresp_o(pcis_bresp), .s_axi_bvalid_o(pcis_bvalid),
    .s_axi_bready_i(pcis_bready),
    .m_axi_awvalid_o(wide_awvalid), .m_axi_awready_i(wide_awready),
    .m_axi_wvalid_o(wide_wvalid), .m_axi_wready_i(wide_wready), .m_axi_bresp_i(bresp),
    .m_axi_bvalid_i(bvalid[0])
  );
  assign bready[0] = pcis_bready;
  f2_write_widen #(.BusBytes(Bytes), .RoomBeats(PcisBeats), .Bursts(PcisBursts)) u_pcis_write (
    .clk_i, .rst_ni,
    .s_axi_awaddr_i(pcis_awaddr), .s_axi_awlen_i(pcis_awlen), .s_axi_awvalid_i(wide_awvalid),
    .s_axi_awready_o(wide_awready), .s_axi_wdata_i(pcis_wdata), .s_axi_wstrb_i(pcis_wstrb),
    .s_axi_wvalid_i(wide_wvalid), .s_axi_wready_o(wide_wready),
    .m_axi_awaddr_o(awaddr[0]), .m_axi_awlen_o(awlen[0]), .m_axi_awvalid_o(awvalid[0]),
    .m_axi_awready_i(awready[0]), .m_axi_wdata_o(wdata[0]), .m_axi_wstrb_o(wstrb[0]),
    .m_axi_wlast_o(wlast[0]), .m_axi_wvalid_o(wvalid[0]), .m_axi_wready_i(wready[0])
  );
  cu_register_slice #(.Width(18)) u_pcis_b (
    .clk_i, .rst_ni, .wvalid_i(pcis_bvalid), .wready_o(pcis_bready),
    .wdata_i({pcis_bid, pcis_bresp}),
    .rvalid_o(cl_sh_dma_pcis_bvalid), .rready_i(sh_cl_dma_pcis_bready),
    .rdata_o({cl_sh_dma_pcis_bid, cl_sh_dma_pcis_bresp})
  );

  // ------------------------------------------------------------ the card's ports
  logic [63:0] index_araddr, index_awaddr, index_rdata, index_wdata;
  logic [7:0] index_arlen, index_awlen, index_wstrb;
  logic [1:0] index_rresp;
  logic index_arvalid, index_arready, index_rlast, index_rvalid, index_rready;
  logic index_awvalid, index_awready, index_wvalid, index_wready;

  f2_read_widen #(.BusBytes(8), .RoomBeats(CardBeats)) u_index_read (
    .clk_i, .rst_ni,
    .s_axi_araddr_i(index_araddr), .s_axi_arlen_i(index_arlen), .s_axi_arvalid_i(index_arvalid),
    .s_axi_arready_o(index_arready), .s_axi_rdata_o(index_rdata), .s_axi_rresp_o(index_rresp),
    .s_axi_rlast_o(index_rlast), .s_axi_rvalid_o(index_rvalid), .s_axi_rready_i(index_rready),
    .m_axi_araddr_o(araddr[1]), .m_axi_arlen_o(arlen[1]), .m_axi_arvalid_o(arvalid[1]),
    .m_axi_arready_i(arready[1]), .m_axi_rdata_i(rdata), .m_axi_rresp_i(rresp),
    .m_axi_rvalid_i(rvalid[1])
  );
  assign rready[1] = 1'b1;
  f2_write_widen #(.BusBytes(8), .RoomBeats(CardBeats)) u_index_write (
    .clk_i, .rst_ni,
    .s_axi_awaddr_i(index_awaddr), .s_axi_awlen_i(index_awlen), .s_axi_awvalid_i(index_awvalid),
    .s_axi_awready_o(index_awready), .s_axi_wdata_i(index_wdata), .s_axi_wstrb_i(index_wstrb),
    .s_axi_wvalid_i(index_wvalid), .s_axi_wready_o(index_wready),
    .m_axi_awaddr_o(awaddr[1]), .m_axi_awlen_o(awlen[1]), .m_axi_awvalid_o(awvalid[1]),
    .m_axi_awready_i(awready[1]), .m_axi_wdata_o(wdata[1]), .m_axi_wstrb_o(wstrb[1]),
    .m_axi_wlast_o(wlast[1]), .m_axi_wvalid_o(wvalid[1]), .m_axi_wready_i(wready[1])
  );

  logic [63:0] in_araddr;
  logic [7:0] in_arlen;
  logic [InBytes*8-1:0] in_rdata;
  logic [1:0] in_rresp;
  logic in_arvalid, in_arready, in_rlast, in_rvalid, in_rready;
  if (InBytes == Bytes) begin : g_in
    assign araddr[2]  = in_araddr;
    assign arlen[2]   = in_arlen;
    assign arvalid[2] = in_arvalid;
    assign in_arready = arready[2];
    assign in_rdata   = rdata;
    assign in_rresp   = rresp;
    assign in_rlast   = rlast;
    assign in_rvalid  = rvalid[2];
    assign rready[2]  = in_rready;  // always: the card takes what it has asked for
  end else begin : g_in_narrow
    f2_read_widen #(.BusBytes(InBytes), .RoomBeats(CardBeats)) u_read (
      .clk_i, .rst_ni,
      .s_axi_araddr_i(in_araddr), .s_axi_arlen_i(in_arlen), .s_axi_arvalid_i(in_arvalid),
      .s_axi_arready_o(in_arready), .s_axi_rdata_o(in_rdata), .s_axi_rresp_o(in_rresp),
      .s_axi_rlast_o(in_rlast), .s_axi_rvalid_o(in_rvalid), .s_axi_rready_i(in_rready),
      .m_axi_araddr_o(araddr[2]), .m_axi_arlen_o(arlen[2]), .m_axi_arvalid_o(arvalid[2]),
      .m_axi_arready_i(arready[2]), .m_axi_rdata_i(rdata), .m_axi_rresp_i(rresp),
      .m_axi_rvalid_i(rvalid[2])
    );
    assign rready[2] = 1'b1;
    logic unused_last;
    assign unused_last = rlast;
  end

  logic [63:0] out_awaddr;
  logic [7:0] out_awlen;
  logic [OutBytes*8-1:0] out_wdata;
  logic [OutBytes-1:0] out_wstrb;
  logic out_awvalid, out_awready, out_wlast, out_wvalid, out_wready;
  if (OutBytes == Bytes) begin : g_out
    assign awaddr[2]   = out_awaddr;
    assign awlen[2]    = out_awlen;
    assign awvalid[2]  = out_awvalid;
    assign out_awready = awready[2];
    assign wdata[2]    = out_wdata;
    assign wstrb[2]    = out_wstrb;
    assign wlast[2]    = out_wlast;
    assign wvalid[2]   = out_wvalid;
    assign out_wready  = wready[2];
  end else begin : g_out_narrow
    f2_write_widen #(.BusBytes(OutBytes), .RoomBeats(CardBeats)) u_write (
      .clk_i, .rst_ni,
      .s_axi_awaddr_i(out_awaddr), .s_axi_awlen_i(out_awlen), .s_axi_awvalid_i(out_awvalid),
      .s_axi_awready_o(out_awready), .s_axi_wdata_i(out_wdata), .s_axi_wstrb_i(out_wstrb),
      .s_axi_wvalid_i(out_wvalid), .s_axi_wready_o(out_wready),
      .m_axi_awaddr_o(awaddr[2]), .m_axi_awlen_o(awlen[2]), .m_axi_awvalid_o(awvalid[2]),
      .m_axi_awready_i(awready[2]), .m_axi_wdata_o(wdata[2]), .m_axi_wstrb_o(wstrb[2]),
      .m_axi_wlast_o(wlast[2]), .m_axi_wvalid_o(wvalid[2]), .m_axi_wready_i(wready[2])
    );
    logic unused_last;
    assign unused_last = out_wlast;
  end

  logic [Units-1:0] unused_irq;
  logic [3:0][4:0] unused_shape;  // the size and type of the card's bursts
  logic unused_index_wlast;
  sluice_card #(
    .Units(Units), .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes),
    .Snappy(Snappy), .Bloom(Bloom), .Compressors(Compressors), .Xxh3(Xxh3)
  ) u_card (
    .ap_clk(clk_i), .ap_rst_n(rst_ni), .irq(unused_irq),
    .s_axi_control_awaddr(ocl_awaddr), .s_axi_control_awvalid(ocl_awvalid),
    .s_axi_control_awready(ocl_awready), .s_axi_control_wdata(ocl_wdata),
    .s_axi_control_wstrb(ocl_wstrb), .s_axi_control_wvalid(ocl_wvalid),
    .s_axi_control_wready(ocl_wready), .s_axi_control_bresp(ocl_bresp),
    .s_axi_control_bvalid(ocl_bvalid), .s_axi_control_bready(ocl_bready),
    .s_axi_control_araddr(ocl_araddr), .s_axi_control_arvalid(ocl_arvalid),
    .s_axi_control_arready(ocl_arready), .s_axi_control_rdata(ocl_rdata),
    .s_axi_control_rresp(ocl_rresp), .s_axi_control_rvalid(ocl_rvalid),
    .s_axi_control_rready(ocl_rready),
    .m_axi_index_araddr(index_araddr), .m_axi_index_arlen(index_arlen),
    .m_axi_index_arsize(unused_shape[0][4:2]), .m_axi_index_arburst(unused_shape[0][1:0]),
    .m_axi_index_arvalid(index_arvalid), .m_axi_index_arready(index_arready),
    .m_axi_index_rdata(index_rdata), .m_axi_index_rresp(index_rresp),
    .m_axi_index_rlast(index_rlast), .m_axi_index_rvalid(index_rvalid),
    .m_axi_index_rready(index_rready),
    .m_axi_index_awaddr(index_awaddr), .m_axi_index_awlen(index_awlen),
    .m_axi_index_awsize(unused_shape[1][4:2]), .m_axi_index_awburst(unused_shape[1][1:0]),
    .m_axi_index_awvalid(index_awvalid), .m_axi_index_awready(index_awready),
    .m_axi_index_wdata(index_wdata), .m_axi_index_wstrb(index_wstrb),
    .m_axi_index_wlast(unused_index_wlast), .m_axi_index_wvalid(index_wvalid),
    .m_axi_index_wready(index_wready), .m_axi_index_bresp(bresp),
    .m_axi_index_bvalid(bvalid[1]), .m_axi_index_bready(bready[1]),
    .m_axi_in_araddr(in_araddr), .m_axi_in_arlen(in_arlen),
    .m_axi_in_arsize(unused_shape[2][4:2]), .m_axi_in_arburst(unused_shape[2][1:0]),
    .m_axi_in_arvalid(in_arvalid), .m_axi_in_arready(in_arready),
    .m_axi_in_rdata(in_rdata), .m_axi_in_rresp(in_rresp), .m_axi_in_rlast(in_rlast),
    .m_axi_in_rvalid(in_rvalid), .m_axi_in_rready(in_rready),
    .m_axi_out_awaddr(out_awaddr), .m_axi_out_awlen(out_awlen),
    .m_axi_out_awsize(unused_shape[3][4:2]), .m_axi_out_awburst(unused_shape[3][1:0]),
    .m_axi_out_awvalid(out_awvalid), .m_axi_out_awready(out_awready),
    .m_axi_out_wdata(out_wdata), .m_axi_out_wstrb(out_wstrb), .m_axi_out_wlast(out_wlast),
    .m_axi_out_wvalid(out_wvalid), .m_axi_out_wready(out_wready), .m_axi_out_bresp(bresp),
    .m_axi_out_bvalid(bvalid[2]), .m_axi_out_bready(bready[2])
  );

  logic unused;  // OCL repeats; the shell's bursts are of full width, as its errata say
  assign unused = ^{ocl_cl_awaddr[31:16], ocl_cl_araddr[31:16], sh_cl_dma_pcis_awsize,
                    sh_cl_dma_pcis_arsize, read_id_valid, write_id_valid};

  `ASSERT(a_write_size, sh_cl_dma_pcis_awvalid |-> sh_cl_dma_pcis_awsize == 3'($clog2(Bytes)))
  `ASSERT(a_read_size, sh_cl_dma_pcis_arvalid |-> sh_cl_dma_pcis_arsize == 3'($clog2(Bytes)))
  `ASSERT(a_read_id, pcis_rvalid |-> read_id_valid)
  `ASSERT(a_write_id, pcis_bvalid |-> write_id_valid)
endmodule
