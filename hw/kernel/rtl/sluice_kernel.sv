// One Compaction Unit as a Vitis RTL kernel: a card of one unit (sluice_card, with its window and
// its RESET register), behind a register slice on every AXI channel, with the port names and the
// single interrupt that Vitis asks for. hw/kernel/describe.py wraps it as sluice_CONFIG: in Verilog,
// since Vivado packages no SystemVerilog top.
//
// Simulated and linted with open tools; it was never run on a card.

module sluice_kernel #(
  parameter int unsigned Ways = 2,           // as in sluice_unit
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned InBytes = 64,
  parameter int unsigned OutBytes = 64,
  parameter int unsigned Snappy = 0,
  parameter int unsigned Bloom = 0,
  parameter int unsigned Compressors = 0,
  parameter int unsigned Xxh3 = 0
) (
  input  logic ap_clk,
  input  logic ap_rst_n,  // synchronous
  output logic interrupt,

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
  output logic        m_axi_index_arlock,
  output logic [3:0]  m_axi_index_arcache,
  output logic [2:0]  m_axi_index_arprot,
  output logic [3:0]  m_axi_index_arqos,
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
  output logic        m_axi_index_awlock,
  output logic [3:0]  m_axi_index_awcache,
  output logic [2:0]  m_axi_index_awprot,
  output logic [3:0]  m_axi_index_awqos,
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
  output logic        m_axi_in_arlock,
  output logic [3:0]  m_axi_in_arcache,
  output logic [2:0]  m_axi_in_arprot,
  output logic [3:0]  m_axi_in_arqos,
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
  output logic        m_axi_out_awlock,
  output logic [3:0]  m_axi_out_awcache,
  output logic [2:0]  m_axi_out_awprot,
  output logic [3:0]  m_axi_out_awqos,
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
  // "Modifiable, bufferable" lets an interconnect change the width of bursts. None is locked,
  // privileged or urgent.
  localparam logic [3:0] Cache = 4'b0011;
  assign {m_axi_index_arlock, m_axi_index_arprot, m_axi_index_arqos} = '0;
  assign {m_axi_index_awlock, m_axi_index_awprot, m_axi_index_awqos} = '0;
  assign {m_axi_in_arlock, m_axi_in_arprot, m_axi_in_arqos} = '0;
  assign {m_axi_out_awlock, m_axi_out_awprot, m_axi_out_awqos} = '0;
  assign m_axi_index_arcache = Cache;
  assign m_axi_index_awcache = Cache;
  assign m_axi_in_arcache    = Cache;
  assign m_axi_out_awcache   = Cache;

  // The shell's reset comes from afar, and the interrupt goes there.
  /* verilator lint_off PROCASSINIT */
  logic rst_nq = 1'b0;  // what a bitstream sets: the card is in reset from the first cycle on
  /* verilator lint_on PROCASSINIT */
  logic irq;
  always_ff @(posedge ap_clk) begin
    rst_nq    <= ap_rst_n;
    interrupt <= irq & rst_nq;
  end

  // The card's side of the slices, named as its ports.
  logic [15:0] control_awaddr, control_araddr;
  logic [31:0] control_wdata, control_rdata;
  logic [3:0] control_wstrb;
  logic [1:0] control_bresp, control_rresp;
  logic control_awvalid, control_awready, control_wvalid, control_wready;
  logic control_bvalid, control_bready, control_arvalid, control_arready;
  logic control_rvalid, control_rready;

  cu_register_slice #(.Width(16)) u_control_aw (
    .clk_i(ap_clk), .rst_ni(rst_nq),
    .wvalid_i(s_axi_control_awvalid), .wready_o(s_axi_control_awready),
    .wdata_i(s_axi_control_awaddr),
    .rvalid_o(control_awvalid), .rready_i(control_awready), .rdata_o(control_awaddr)
  );
  cu_register_slice #(.Width(36)) u_control_w (
    .clk_i(ap_clk), .rst_ni(rst_nq),
    .wvalid_i(s_axi_control_wvalid), .wready_o(s_axi_control_wready),
    .wdata_i({s_axi_control_wdata, s_axi_control_wstrb}),
    .rvalid_o(control_wvalid), .rready_i(control_wready), .rdata_o({control_wdata, control_wstrb})
  );
  cu_register_slice #(.Width(2)) u_control_b (
    .clk_i(ap_clk), .rst_ni(rst_nq),
    .wvalid_i(control_bvalid), .wready_o(control_bready), .wdata_i(control_bresp),
    .rvalid_o(s_axi_control_bvalid), .rready_i(s_axi_control_bready),
    .rdata_o(s_axi_control_bresp)
  );
  cu_register_slice #(.Width(16)) u_control_ar (
    .clk_i(ap_clk), .rst_ni(rst_nq),
    .wvalid_i(s_axi_control_arvalid), .wready_o(s_axi_control_arready),
    .wdata_i(s_axi_control_araddr),
    .rvalid_o(control_arvalid), .rready_i(control_arready), .rdata_o(control_araddr)
  );
  cu_register_slice #(.Width(34)) u_control_r (
    .clk_i(ap_clk), .rst_ni(rst_nq),
    .wvalid_i(control_rvalid), .wready_o(control_rready), .wdata_i({control_rdata, control_rresp}),
    .rvalid_o(s_axi_control_rvalid), .rready_i(s_axi_control_rready),
    .rdata_o({s_axi_control_rdata, s_axi_control_rresp})
  );

  logic [63:0] index_araddr, index_awaddr, index_rdata, index_wdata;
  logic [7:0] index_arlen, index_awlen, index_wstrb;
  logic [2:0] index_arsize, index_awsize;
  logic [1:0] index_arburst, index_awburst, index_rresp, index_bresp;
  logic index_arvalid, index_arready, index_rlast, index_rvalid, index_rready;
  logic index_awvalid, index_awready, index_wlast, index_wvalid, index_wready;
  logic index_bvalid, index_bready;

  cu_register_slice #(.Width(77)) u_index_ar (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(index_arvalid), .wready_o(index_arready),
    .wdata_i({index_araddr, index_arlen, index_arsize, index_arburst}),
    .rvalid_o(m_axi_index_arvalid), .rready_i(m_axi_index_arready),
    .rdata_o({m_axi_index_araddr, m_axi_index_arlen, m_axi_index_arsize, m_axi_index_arburst})
  );
  cu_register_slice #(.Width(64 + 3)) u_index_r (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(m_axi_index_rvalid), .wready_o(m_axi_index_rready),
    .wdata_i({m_axi_index_rdata, m_axi_index_rresp, m_axi_index_rlast}),
    .rvalid_o(index_rvalid), .rready_i(index_rready),
    .rdata_o({index_rdata, index_rresp, index_rlast})
  );
  cu_register_slice #(.Width(77)) u_index_aw (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(index_awvalid), .wready_o(index_awready),
    .wdata_i({index_awaddr, index_awlen, index_awsize, index_awburst}),
    .rvalid_o(m_axi_index_awvalid), .rready_i(m_axi_index_awready),
    .rdata_o({m_axi_index_awaddr, m_axi_index_awlen, m_axi_index_awsize, m_axi_index_awburst})
  );
  cu_register_slice #(.Width(64 + 9)) u_index_w (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(index_wvalid), .wready_o(index_wready),
    .wdata_i({index_wdata, index_wstrb, index_wlast}),
    .rvalid_o(m_axi_index_wvalid), .rready_i(m_axi_index_wready),
    .rdata_o({m_axi_index_wdata, m_axi_index_wstrb, m_axi_index_wlast})
  );
  cu_register_slice #(.Width(2)) u_index_b (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(m_axi_index_bvalid), .wready_o(m_axi_index_bready),
    .wdata_i(m_axi_index_bresp),
    .rvalid_o(index_bvalid), .rready_i(index_bready), .rdata_o(index_bresp)
  );

  logic [63:0] in_araddr;
  logic [7:0] in_arlen;
  logic [2:0] in_arsize;
  logic [1:0] in_arburst, in_rresp;
  logic [InBytes*8-1:0] in_rdata;
  logic in_arvalid, in_arready, in_rlast, in_rvalid, in_rready;

  cu_register_slice #(.Width(77)) u_in_ar (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(in_arvalid), .wready_o(in_arready),
    .wdata_i({in_araddr, in_arlen, in_arsize, in_arburst}),
    .rvalid_o(m_axi_in_arvalid), .rready_i(m_axi_in_arready),
    .rdata_o({m_axi_in_araddr, m_axi_in_arlen, m_axi_in_arsize, m_axi_in_arburst})
  );
  cu_register_slice #(.Width(InBytes * 8 + 3)) u_in_r (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(m_axi_in_rvalid), .wready_o(m_axi_in_rready),
    .wdata_i({m_axi_in_rdata, m_axi_in_rresp, m_axi_in_rlast}),
    .rvalid_o(in_rvalid), .rready_i(in_rready), .rdata_o({in_rdata, in_rresp, in_rlast})
  );

  logic [63:0] out_awaddr;
  logic [7:0] out_awlen;
  logic [2:0] out_awsize;
  logic [1:0] out_awburst, out_bresp;
  logic [OutBytes*8-1:0] out_wdata;
  logic [OutBytes-1:0] out_wstrb;
  logic out_awvalid, out_awready, out_wlast, out_wvalid, out_wready, out_bvalid, out_bready;

  cu_register_slice #(.Width(77)) u_out_aw (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(out_awvalid), .wready_o(out_awready),
    .wdata_i({out_awaddr, out_awlen, out_awsize, out_awburst}),
    .rvalid_o(m_axi_out_awvalid), .rready_i(m_axi_out_awready),
    .rdata_o({m_axi_out_awaddr, m_axi_out_awlen, m_axi_out_awsize, m_axi_out_awburst})
  );
  cu_register_slice #(.Width(OutBytes * 9 + 1)) u_out_w (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(out_wvalid), .wready_o(out_wready),
    .wdata_i({out_wdata, out_wstrb, out_wlast}),
    .rvalid_o(m_axi_out_wvalid), .rready_i(m_axi_out_wready),
    .rdata_o({m_axi_out_wdata, m_axi_out_wstrb, m_axi_out_wlast})
  );
  cu_register_slice #(.Width(2)) u_out_b (
    .clk_i(ap_clk), .rst_ni(rst_nq), .wvalid_i(m_axi_out_bvalid), .wready_o(m_axi_out_bready),
    .wdata_i(m_axi_out_bresp),
    .rvalid_o(out_bvalid), .rready_i(out_bready), .rdata_o(out_bresp)
  );

  sluice_card #(
    .Units(1), .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes),
    .Snappy(Snappy), .Bloom(Bloom), .Compressors(Compressors), .Xxh3(Xxh3)
  ) u_card (
    .ap_clk, .ap_rst_n(rst_nq), .irq,
    .s_axi_control_awaddr(control_awaddr), .s_axi_control_awvalid(control_awvalid),
    .s_axi_control_awready(control_awready), .s_axi_control_wdata(control_wdata),
    .s_axi_control_wstrb(control_wstrb), .s_axi_control_wvalid(control_wvalid),
    .s_axi_control_wready(control_wready), .s_axi_control_bresp(control_bresp),
    .s_axi_control_bvalid(control_bvalid), .s_axi_control_bready(control_bready),
    .s_axi_control_araddr(control_araddr), .s_axi_control_arvalid(control_arvalid),
    .s_axi_control_arready(control_arready), .s_axi_control_rdata(control_rdata),
    .s_axi_control_rresp(control_rresp), .s_axi_control_rvalid(control_rvalid),
    .s_axi_control_rready(control_rready),
    .m_axi_index_araddr(index_araddr), .m_axi_index_arlen(index_arlen),
    .m_axi_index_arsize(index_arsize), .m_axi_index_arburst(index_arburst),
    .m_axi_index_arvalid(index_arvalid), .m_axi_index_arready(index_arready),
    .m_axi_index_rdata(index_rdata), .m_axi_index_rresp(index_rresp),
    .m_axi_index_rlast(index_rlast), .m_axi_index_rvalid(index_rvalid),
    .m_axi_index_rready(index_rready),
    .m_axi_index_awaddr(index_awaddr), .m_axi_index_awlen(index_awlen),
    .m_axi_index_awsize(index_awsize), .m_axi_index_awburst(index_awburst),
    .m_axi_index_awvalid(index_awvalid), .m_axi_index_awready(index_awready),
    .m_axi_index_wdata(index_wdata), .m_axi_index_wstrb(index_wstrb),
    .m_axi_index_wlast(index_wlast), .m_axi_index_wvalid(index_wvalid),
    .m_axi_index_wready(index_wready), .m_axi_index_bresp(index_bresp),
    .m_axi_index_bvalid(index_bvalid), .m_axi_index_bready(index_bready),
    .m_axi_in_araddr(in_araddr), .m_axi_in_arlen(in_arlen), .m_axi_in_arsize(in_arsize),
    .m_axi_in_arburst(in_arburst), .m_axi_in_arvalid(in_arvalid), .m_axi_in_arready(in_arready),
    .m_axi_in_rdata(in_rdata), .m_axi_in_rresp(in_rresp), .m_axi_in_rlast(in_rlast),
    .m_axi_in_rvalid(in_rvalid), .m_axi_in_rready(in_rready),
    .m_axi_out_awaddr(out_awaddr), .m_axi_out_awlen(out_awlen), .m_axi_out_awsize(out_awsize),
    .m_axi_out_awburst(out_awburst), .m_axi_out_awvalid(out_awvalid),
    .m_axi_out_awready(out_awready), .m_axi_out_wdata(out_wdata), .m_axi_out_wstrb(out_wstrb),
    .m_axi_out_wlast(out_wlast), .m_axi_out_wvalid(out_wvalid), .m_axi_out_wready(out_wready),
    .m_axi_out_bresp(out_bresp), .m_axi_out_bvalid(out_bvalid), .m_axi_out_bready(out_bready)
  );
endmodule
