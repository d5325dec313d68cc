// Several Compaction Units on one card. They share one data read port, one data write port and one
// index port, burst by burst, and one AXI4-Lite port, in which each has a window of registers
// (abi/sluice.rdl, "card"). Every unit has its own interrupt line. A fault, a bus error or a reset
// of one unit does not affect the others, and no unit reaches memory outside its window.

module sluice_card #(
  parameter int unsigned Units = 2,          // 1 to 8
  parameter int unsigned Ways = 2,           // the rest: of each unit, as in sluice_unit
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned InBytes = 64,
  parameter int unsigned OutBytes = 64,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned MaxRestarts = 8192,
  parameter int unsigned MaxBlocks = 8192,
  parameter int unsigned InFifoBeats = 256,
  parameter int unsigned ValueFifoBeats = 64,
  parameter int unsigned Snappy = 0,
  parameter int unsigned Bloom = 0,
  parameter int unsigned Compressors = 0,
  parameter int unsigned Xxh3 = 0
) (
  input  logic ap_clk,
  input  logic ap_rst_n,
  output logic [Units-1:0] irq,

  input  logic [15:0] s_axi_control_awaddr,
  input  logic        s_axi_control_awvalid,
  output logic        s_axi_control_awready,
  input  logic [31:0] s_axi_control_wdata,
  input  logic [3:0]  s_axi_control_wstrb,
  input  logic        s_axi_control_wvalid,
  output logic        s_axi_control_wready,
  output logic [1:0]  s_axi_control_bresp,
  output logic        s_axi_control_bvalid,
  input  logic        s_axi_control_bready,
  input  logic [15:0] s_axi_control_araddr,
  input  logic        s_axi_control_arvalid,
  output logic        s_axi_control_arready,
  output logic [31:0] s_axi_control_rdata,
  output logic [1:0]  s_axi_control_rresp,
  output logic        s_axi_control_rvalid,
  input  logic        s_axi_control_rready,

  output logic [63:0] m_axi_index_araddr,
  output logic [7:0]  m_axi_index_arlen,
  output logic [2:0]  m_axi_index_arsize,
  output logic [1:0]  m_axi_index_arburst,
  output logic        m_axi_index_arvalid,
  input  logic        m_axi_index_arready,
  input  logic [63:0] m_axi_index_rdata,
  input  logic [1:0]  m_axi_index_rresp,
  input  logic        m_axi_index_rlast,
  input  logic        m_axi_index_rvalid,
  output logic        m_axi_index_rready,
  output logic [63:0] m_axi_index_awaddr,
  output logic [7:0]  m_axi_index_awlen,
  output logic [2:0]  m_axi_index_awsize,
  output logic [1:0]  m_axi_index_awburst,
  output logic        m_axi_index_awvalid,
  input  logic        m_axi_index_awready,
  output logic [63:0] m_axi_index_wdata,
  output logic [7:0]  m_axi_index_wstrb,
  output logic        m_axi_index_wlast,
  output logic        m_axi_index_wvalid,
  input  logic        m_axi_index_wready,
  input  logic [1:0]  m_axi_index_bresp,
  input  logic        m_axi_index_bvalid,
  output logic        m_axi_index_bready,

  output logic [63:0] m_axi_in_araddr,
  output logic [7:0]  m_axi_in_arlen,
  output logic [2:0]  m_axi_in_arsize,
  output logic [1:0]  m_axi_in_arburst,
  output logic        m_axi_in_arvalid,
  input  logic        m_axi_in_arready,
  input  logic [InBytes*8-1:0] m_axi_in_rdata,
  input  logic [1:0]  m_axi_in_rresp,
  input  logic        m_axi_in_rlast,
  input  logic        m_axi_in_rvalid,
  output logic        m_axi_in_rready,

  output logic [63:0] m_axi_out_awaddr,
  output logic [7:0]  m_axi_out_awlen,
  output logic [2:0]  m_axi_out_awsize,
  output logic [1:0]  m_axi_out_awburst,
  output logic        m_axi_out_awvalid,
  input  logic        m_axi_out_awready,
  output logic [OutBytes*8-1:0] m_axi_out_wdata,
  output logic [OutBytes-1:0]   m_axi_out_wstrb,
  output logic        m_axi_out_wlast,
  output logic        m_axi_out_wvalid,
  input  logic        m_axi_out_wready,
  input  logic [1:0]  m_axi_out_bresp,
  input  logic        m_axi_out_bvalid,
  output logic        m_axi_out_bready
);
  // ---------------------------------------------------------------- control
  logic [Units-1:0] unit_rst_n, isolate, idle;
  logic [Units-1:0] write_valid, write_ready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [Units-1:0] unused_wready;  // with write_ready
  logic [Units-1:0][1:0] bresp, rresp;
  logic [Units-1:0][31:0] rdata;
  logic [Units-1:0][3:0] beats;
  logic [Units-1:0][31:0] window_base, window_limit;

  cu_card_control #(.Units(Units)) u_control (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .s_axi_awaddr_i(s_axi_control_awaddr), .s_axi_awvalid_i(s_axi_control_awvalid),
    .s_axi_awready_o(s_axi_control_awready), .s_axi_wdata_i(s_axi_control_wdata),
    .s_axi_wstrb_i(s_axi_control_wstrb), .s_axi_wvalid_i(s_axi_control_wvalid),
    .s_axi_wready_o(s_axi_control_wready), .s_axi_bresp_o(s_axi_control_bresp),
    .s_axi_bvalid_o(s_axi_control_bvalid), .s_axi_bready_i(s_axi_control_bready),
    .s_axi_araddr_i(s_axi_control_araddr), .s_axi_arvalid_i(s_axi_control_arvalid),
    .s_axi_arready_o(s_axi_control_arready), .s_axi_rdata_o(s_axi_control_rdata),
    .s_axi_rresp_o(s_axi_control_rresp), .s_axi_rvalid_o(s_axi_control_rvalid),
    .s_axi_rready_i(s_axi_control_rready),
    .write_valid_o(write_valid), .write_ready_i(write_ready), .bresp_i(bresp),
    .bvalid_i(bvalid), .bready_o(bready), .arvalid_o(arvalid), .arready_i(arready),
    .rdata_i(rdata), .rresp_i(rresp), .rvalid_i(rvalid), .rready_o(rready),
    .unit_rst_no(unit_rst_n), .isolate_o(isolate), .idle_i(idle), .beats_i(beats),
    .window_base_o(window_base), .window_limit_o(window_limit)
  );

  // ----------------------------------------------------------- shared ports
  logic [Units-1:0][63:0] index_araddr;
  logic [Units-1:0][7:0] index_arlen;
  logic [Units-1:0] index_arvalid, index_arready, index_rvalid, index_rready;
  logic [8*8-1:0] index_rdata;
  logic [1:0] index_rresp;
  logic index_rlast;
  logic [Units-1:0] index_ridle, index_rbeat;

  cu_axi_read_arbiter #(.Units(Units), .BusBytes(8)) u_index_read (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .isolate_i(isolate), .idle_o(index_ridle),
    .beat_o(index_rbeat),
    .s_axi_araddr_i(index_araddr), .s_axi_arlen_i(index_arlen),
    .s_axi_arvalid_i(index_arvalid), .s_axi_arready_o(index_arready),
    .s_axi_rdata_o(index_rdata), .s_axi_rresp_o(index_rresp), .s_axi_rlast_o(index_rlast),
    .s_axi_rvalid_o(index_rvalid), .s_axi_rready_i(index_rready),
    .m_axi_araddr_o(m_axi_index_araddr), .m_axi_arlen_o(m_axi_index_arlen),
    .m_axi_arsize_o(m_axi_index_arsize), .m_axi_arburst_o(m_axi_index_arburst),
    .m_axi_arvalid_o(m_axi_index_arvalid), .m_axi_arready_i(m_axi_index_arready),
    .m_axi_rdata_i(m_axi_index_rdata), .m_axi_rresp_i(m_axi_index_rresp),
    .m_axi_rlast_i(m_axi_index_rlast), .m_axi_rvalid_i(m_axi_index_rvalid),
    .m_axi_rready_o(m_axi_index_rready)
  );

  logic [Units-1:0][63:0] index_awaddr;
  logic [Units-1:0][7:0] index_awlen;
  logic [Units-1:0] index_awvalid, index_awready, index_wlast, index_wvalid, index_wready;
  logic [Units-1:0] index_bvalid, index_bready;
  logic [Units-1:0][8*8-1:0] index_wdata;
  logic [Units-1:0][8-1:0] index_wstrb;
  logic [1:0] index_bresp;
  logic [Units-1:0] index_widle, index_wbeat;

  cu_axi_write_arbiter #(.Units(Units), .BusBytes(8)) u_index_write (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .isolate_i(isolate), .idle_o(index_widle),
    .beat_o(index_wbeat),
    .s_axi_awaddr_i(index_awaddr), .s_axi_awlen_i(index_awlen),
    .s_axi_awvalid_i(index_awvalid), .s_axi_awready_o(index_awready),
    .s_axi_wdata_i(index_wdata), .s_axi_wstrb_i(index_wstrb), .s_axi_wlast_i(index_wlast),
    .s_axi_wvalid_i(index_wvalid), .s_axi_wready_o(index_wready),
    .s_axi_bresp_o(index_bresp), .s_axi_bvalid_o(index_bvalid),
    .s_axi_bready_i(index_bready),
    .m_axi_awaddr_o(m_axi_index_awaddr), .m_axi_awlen_o(m_axi_index_awlen),
    .m_axi_awsize_o(m_axi_index_awsize), .m_axi_awburst_o(m_axi_index_awburst),
    .m_axi_awvalid_o(m_axi_index_awvalid), .m_axi_awready_i(m_axi_index_awready),
    .m_axi_wdata_o(m_axi_index_wdata), .m_axi_wstrb_o(m_axi_index_wstrb),
    .m_axi_wlast_o(m_axi_index_wlast), .m_axi_wvalid_o(m_axi_index_wvalid),
    .m_axi_wready_i(m_axi_index_wready), .m_axi_bresp_i(m_axi_index_bresp),
    .m_axi_bvalid_i(m_axi_index_bvalid), .m_axi_bready_o(m_axi_index_bready)
  );

  logic [Units-1:0][63:0] in_araddr;
  logic [Units-1:0][7:0] in_arlen;
  logic [Units-1:0] in_arvalid, in_arready, in_rvalid, in_rready;
  logic [InBytes*8-1:0] in_rdata;
  logic [1:0] in_rresp;
  logic in_rlast;
  logic [Units-1:0] in_ridle, in_rbeat;

  cu_axi_read_arbiter #(.Units(Units), .BusBytes(InBytes)) u_in_read (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .isolate_i(isolate), .idle_o(in_ridle),
    .beat_o(in_rbeat),
    .s_axi_araddr_i(in_araddr), .s_axi_arlen_i(in_arlen),
    .s_axi_arvalid_i(in_arvalid), .s_axi_arready_o(in_arready),
    .s_axi_rdata_o(in_rdata), .s_axi_rresp_o(in_rresp), .s_axi_rlast_o(in_rlast),
    .s_axi_rvalid_o(in_rvalid), .s_axi_rready_i(in_rready),
    .m_axi_araddr_o(m_axi_in_araddr), .m_axi_arlen_o(m_axi_in_arlen),
    .m_axi_arsize_o(m_axi_in_arsize), .m_axi_arburst_o(m_axi_in_arburst),
    .m_axi_arvalid_o(m_axi_in_arvalid), .m_axi_arready_i(m_axi_in_arready),
    .m_axi_rdata_i(m_axi_in_rdata), .m_axi_rresp_i(m_axi_in_rresp),
    .m_axi_rlast_i(m_axi_in_rlast), .m_axi_rvalid_i(m_axi_in_rvalid),
    .m_axi_rready_o(m_axi_in_rready)
  );

  logic [Units-1:0][63:0] out_awaddr;
  logic [Units-1:0][7:0] out_awlen;
  logic [Units-1:0] out_awvalid, out_awready, out_wlast, out_wvalid, out_wready;
  logic [Units-1:0] out_bvalid, out_bready;
  logic [Units-1:0][OutBytes*8-1:0] out_wdata;
  logic [Units-1:0][OutBytes-1:0] out_wstrb;
  logic [1:0] out_bresp;
  logic [Units-1:0] out_widle, out_wbeat;

  cu_axi_write_arbiter #(.Units(Units), .BusBytes(OutBytes)) u_out_write (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .isolate_i(isolate), .idle_o(out_widle),
    .beat_o(out_wbeat),
    .s_axi_awaddr_i(out_awaddr), .s_axi_awlen_i(out_awlen),
    .s_axi_awvalid_i(out_awvalid), .s_axi_awready_o(out_awready),
    .s_axi_wdata_i(out_wdata), .s_axi_wstrb_i(out_wstrb), .s_axi_wlast_i(out_wlast),
    .s_axi_wvalid_i(out_wvalid), .s_axi_wready_o(out_wready),
    .s_axi_bresp_o(out_bresp), .s_axi_bvalid_o(out_bvalid),
    .s_axi_bready_i(out_bready),
    .m_axi_awaddr_o(m_axi_out_awaddr), .m_axi_awlen_o(m_axi_out_awlen),
    .m_axi_awsize_o(m_axi_out_awsize), .m_axi_awburst_o(m_axi_out_awburst),
    .m_axi_awvalid_o(m_axi_out_awvalid), .m_axi_awready_i(m_axi_out_awready),
    .m_axi_wdata_o(m_axi_out_wdata), .m_axi_wstrb_o(m_axi_out_wstrb),
    .m_axi_wlast_o(m_axi_out_wlast), .m_axi_wvalid_o(m_axi_out_wvalid),
    .m_axi_wready_i(m_axi_out_wready), .m_axi_bresp_i(m_axi_out_bresp),
    .m_axi_bvalid_i(m_axi_out_bvalid), .m_axi_bready_o(m_axi_out_bready)
  );

  assign idle = index_ridle & index_widle & in_ridle & out_widle;

  // -------------------------------------------------------------- the units
  for (genvar u = 0; u < Units; u++) begin : g_unit
    // A unit's bursts are at full width and incrementing, which the shared port says for all.
    assign beats[u] = {index_rbeat[u], index_wbeat[u], in_rbeat[u], out_wbeat[u]};

    // An address takes a cycle here, or one would have to find its way from the unit through window
    // and arbiter, and the answer back to the unit, in one.
    logic [63:0] unit_index_araddr, unit_index_awaddr, unit_in_araddr, unit_out_awaddr;
    logic [7:0] unit_index_arlen, unit_index_awlen, unit_in_arlen, unit_out_awlen;
    logic unit_index_arvalid, unit_index_arready, unit_in_arvalid, unit_in_arready;
    logic unit_index_awvalid, unit_index_awready, unit_out_awvalid, unit_out_awready;
    logic held_index_arvalid, held_index_arready, held_in_arvalid, held_in_arready;
    logic held_index_awvalid, held_index_awready, held_out_awvalid, held_out_awready;

    cu_register_slice #(.Width(64 + 8)) u_index_ar (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .wvalid_i(unit_index_arvalid), .wready_o(unit_index_arready),
      .wdata_i({unit_index_araddr, unit_index_arlen}),
      .rvalid_o(held_index_arvalid), .rready_i(held_index_arready),
      .rdata_o({index_araddr[u], index_arlen[u]})
    );
    cu_register_slice #(.Width(64 + 8)) u_index_aw (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .wvalid_i(unit_index_awvalid), .wready_o(unit_index_awready),
      .wdata_i({unit_index_awaddr, unit_index_awlen}),
      .rvalid_o(held_index_awvalid), .rready_i(held_index_awready),
      .rdata_o({index_awaddr[u], index_awlen[u]})
    );
    cu_register_slice #(.Width(64 + 8)) u_in_ar (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .wvalid_i(unit_in_arvalid), .wready_o(unit_in_arready),
      .wdata_i({unit_in_araddr, unit_in_arlen}),
      .rvalid_o(held_in_arvalid), .rready_i(held_in_arready),
      .rdata_o({in_araddr[u], in_arlen[u]})
    );
    cu_register_slice #(.Width(64 + 8)) u_out_aw (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .wvalid_i(unit_out_awvalid), .wready_o(unit_out_awready),
      .wdata_i({unit_out_awaddr, unit_out_awlen}),
      .rvalid_o(held_out_awvalid), .rready_i(held_out_awready),
      .rdata_o({out_awaddr[u], out_awlen[u]})
    );

    // What a unit asks outside its window ends here: unit_* and held_* are its side, the others the
    // arbiters'.
    logic unit_index_rlast, unit_index_rvalid, unit_in_rlast, unit_in_rvalid;
    logic unit_index_wvalid, unit_index_wready, unit_index_bvalid;
    logic unit_out_wvalid, unit_out_wready, unit_out_bvalid;
    logic [1:0] unit_index_rresp, unit_index_bresp, unit_in_rresp, unit_out_bresp;

    cu_axi_read_window u_index_read_window (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .base_i(window_base[u]), .limit_i(window_limit[u]),
      .s_axi_arpage_i(index_araddr[u][63:12]), .s_axi_arlen_i(index_arlen[u]),
      .s_axi_arvalid_i(held_index_arvalid), .s_axi_arready_o(held_index_arready),
      .s_axi_rresp_o(unit_index_rresp), .s_axi_rlast_o(unit_index_rlast),
      .s_axi_rvalid_o(unit_index_rvalid), .s_axi_rready_i(index_rready[u]),
      .m_axi_arvalid_o(index_arvalid[u]), .m_axi_arready_i(index_arready[u]),
      .m_axi_rresp_i(index_rresp), .m_axi_rlast_i(index_rlast), .m_axi_rvalid_i(index_rvalid[u])
    );
    cu_axi_read_window u_in_read_window (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .base_i(window_base[u]), .limit_i(window_limit[u]),
      .s_axi_arpage_i(in_araddr[u][63:12]), .s_axi_arlen_i(in_arlen[u]),
      .s_axi_arvalid_i(held_in_arvalid), .s_axi_arready_o(held_in_arready),
      .s_axi_rresp_o(unit_in_rresp), .s_axi_rlast_o(unit_in_rlast),
      .s_axi_rvalid_o(unit_in_rvalid), .s_axi_rready_i(in_rready[u]),
      .m_axi_arvalid_o(in_arvalid[u]), .m_axi_arready_i(in_arready[u]),
      .m_axi_rresp_i(in_rresp), .m_axi_rlast_i(in_rlast), .m_axi_rvalid_i(in_rvalid[u])
    );
    cu_axi_write_window u_index_write_window (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .base_i(window_base[u]), .limit_i(window_limit[u]),
      .s_axi_awpage_i(index_awaddr[u][63:12]), .s_axi_awvalid_i(held_index_awvalid),
      .s_axi_awready_o(held_index_awready), .s_axi_wlast_i(index_wlast[u]),
      .s_axi_wvalid_i(unit_index_wvalid), .s_axi_wready_o(unit_index_wready),
      .s_axi_bresp_o(unit_index_bresp), .s_axi_bvalid_o(unit_index_bvalid),
      .s_axi_bready_i(index_bready[u]),
      .m_axi_awvalid_o(index_awvalid[u]), .m_axi_awready_i(index_awready[u]),
      .m_axi_wvalid_o(index_wvalid[u]), .m_axi_wready_i(index_wready[u]),
      .m_axi_bresp_i(index_bresp), .m_axi_bvalid_i(index_bvalid[u])
    );
    cu_axi_write_window u_out_write_window (
      .clk_i(ap_clk), .rst_ni(unit_rst_n[u]),
      .base_i(window_base[u]), .limit_i(window_limit[u]),
      .s_axi_awpage_i(out_awaddr[u][63:12]), .s_axi_awvalid_i(held_out_awvalid),
      .s_axi_awready_o(held_out_awready), .s_axi_wlast_i(out_wlast[u]),
      .s_axi_wvalid_i(unit_out_wvalid), .s_axi_wready_o(unit_out_wready),
      .s_axi_bresp_o(unit_out_bresp), .s_axi_bvalid_o(unit_out_bvalid),
      .s_axi_bready_i(out_bready[u]),
      .m_axi_awvalid_o(out_awvalid[u]), .m_axi_awready_i(out_awready[u]),
      .m_axi_wvalid_o(out_wvalid[u]), .m_axi_wready_i(out_wready[u]),
      .m_axi_bresp_i(out_bresp), .m_axi_bvalid_i(out_bvalid[u])
    );

    sluice_unit #(
      .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes),
      .MaxKeyBytes(MaxKeyBytes), .MaxRestarts(MaxRestarts), .MaxBlocks(MaxBlocks),
      .InFifoBeats(InFifoBeats), .ValueFifoBeats(ValueFifoBeats), .Snappy(Snappy),
      .Bloom(Bloom), .Compressors(Compressors), .Xxh3(Xxh3)
    ) u_unit (
      .ap_clk, .ap_rst_n(unit_rst_n[u]), .irq(irq[u]),
      .s_axi_control_awaddr(s_axi_control_awaddr[11:0]), .s_axi_control_awvalid(write_valid[u]),
      .s_axi_control_awready(write_ready[u]), .s_axi_control_wdata,
      .s_axi_control_wstrb, .s_axi_control_wvalid(write_valid[u]),
      .s_axi_control_wready(unused_wready[u]), .s_axi_control_bresp(bresp[u]),
      .s_axi_control_bvalid(bvalid[u]), .s_axi_control_bready(bready[u]),
      .s_axi_control_araddr(s_axi_control_araddr[11:0]), .s_axi_control_arvalid(arvalid[u]),
      .s_axi_control_arready(arready[u]), .s_axi_control_rdata(rdata[u]),
      .s_axi_control_rresp(rresp[u]), .s_axi_control_rvalid(rvalid[u]),
      .s_axi_control_rready(rready[u]),
      .m_axi_index_araddr(unit_index_araddr), .m_axi_index_arlen(unit_index_arlen),
      .m_axi_index_arsize(), .m_axi_index_arburst(), .m_axi_index_arvalid(unit_index_arvalid),
      .m_axi_index_arready(unit_index_arready), .m_axi_index_rdata(index_rdata),
      .m_axi_index_rresp(unit_index_rresp), .m_axi_index_rlast(unit_index_rlast),
      .m_axi_index_rvalid(unit_index_rvalid), .m_axi_index_rready(index_rready[u]),
      .m_axi_index_awaddr(unit_index_awaddr), .m_axi_index_awlen(unit_index_awlen),
      .m_axi_index_awsize(), .m_axi_index_awburst(), .m_axi_index_awvalid(unit_index_awvalid),
      .m_axi_index_awready(unit_index_awready), .m_axi_index_wdata(index_wdata[u]),
      .m_axi_index_wstrb(index_wstrb[u]), .m_axi_index_wlast(index_wlast[u]),
      .m_axi_index_wvalid(unit_index_wvalid), .m_axi_index_wready(unit_index_wready),
      .m_axi_index_bresp(unit_index_bresp), .m_axi_index_bvalid(unit_index_bvalid),
      .m_axi_index_bready(index_bready[u]),
      .m_axi_in_araddr(unit_in_araddr), .m_axi_in_arlen(unit_in_arlen), .m_axi_in_arsize(),
      .m_axi_in_arburst(), .m_axi_in_arvalid(unit_in_arvalid),
      .m_axi_in_arready(unit_in_arready), .m_axi_in_rdata(in_rdata),
      .m_axi_in_rresp(unit_in_rresp), .m_axi_in_rlast(unit_in_rlast),
      .m_axi_in_rvalid(unit_in_rvalid), .m_axi_in_rready(in_rready[u]),
      .m_axi_out_awaddr(unit_out_awaddr), .m_axi_out_awlen(unit_out_awlen),
      .m_axi_out_awsize(), .m_axi_out_awburst(), .m_axi_out_awvalid(unit_out_awvalid),
      .m_axi_out_awready(unit_out_awready), .m_axi_out_wdata(out_wdata[u]),
      .m_axi_out_wstrb(out_wstrb[u]), .m_axi_out_wlast(out_wlast[u]),
      .m_axi_out_wvalid(unit_out_wvalid), .m_axi_out_wready(unit_out_wready),
      .m_axi_out_bresp(unit_out_bresp), .m_axi_out_bvalid(unit_out_bvalid),
      .m_axi_out_bready(out_bready[u])
    );
  end
endmodule
