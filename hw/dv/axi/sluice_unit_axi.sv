// sluice_unit as cocotbext-axi expects it: AXI IDs, and clock and reset named as in the other tests.

module sluice_unit_axi #(
  parameter int unsigned Ways = 2,
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned InBytes = 64,
  parameter int unsigned OutBytes = 64
) (
  input  logic                  clk,
  input  logic                  rst_n,
  output logic                  interrupt,

  input  logic [11:0]           s_axi_control_awaddr,
  input  logic                  s_axi_control_awvalid,
  output logic                  s_axi_control_awready,
  input  logic [31:0]           s_axi_control_wdata,
  input  logic [3:0]            s_axi_control_wstrb,
  input  logic                  s_axi_control_wvalid,
  output logic                  s_axi_control_wready,
  output logic [1:0]            s_axi_control_bresp,
  output logic                  s_axi_control_bvalid,
  input  logic                  s_axi_control_bready,
  input  logic [11:0]           s_axi_control_araddr,
  input  logic                  s_axi_control_arvalid,
  output logic                  s_axi_control_arready,
  output logic [31:0]           s_axi_control_rdata,
  output logic [1:0]            s_axi_control_rresp,
  output logic                  s_axi_control_rvalid,
  input  logic                  s_axi_control_rready,

  output logic                  m_axi_index_arid,
  output logic [63:0]           m_axi_index_araddr,
  output logic [7:0]            m_axi_index_arlen,
  output logic [2:0]            m_axi_index_arsize,
  output logic [1:0]            m_axi_index_arburst,
  output logic                  m_axi_index_arvalid,
  input  logic                  m_axi_index_arready,
  input  logic                  m_axi_index_rid,
  input  logic [63:0]           m_axi_index_rdata,
  input  logic [1:0]            m_axi_index_rresp,
  input  logic                  m_axi_index_rlast,
  input  logic                  m_axi_index_rvalid,
  output logic                  m_axi_index_rready,
  output logic                  m_axi_index_awid,
  output logic [63:0]           m_axi_index_awaddr,
  output logic [7:0]            m_axi_index_awlen,
  output logic [2:0]            m_axi_index_awsize,
  output logic [1:0]            m_axi_index_awburst,
  output logic                  m_axi_index_awvalid,
  input  logic                  m_axi_index_awready,
  output logic [63:0]           m_axi_index_wdata,
  output logic [7:0]            m_axi_index_wstrb,
  output logic                  m_axi_index_wlast,
  output logic                  m_axi_index_wvalid,
  input  logic                  m_axi_index_wready,
  input  logic                  m_axi_index_bid,
  input  logic [1:0]            m_axi_index_bresp,
  input  logic                  m_axi_index_bvalid,
  output logic                  m_axi_index_bready,

  output logic                  m_axi_in_arid,
  output logic [63:0]           m_axi_in_araddr,
  output logic [7:0]            m_axi_in_arlen,
  output logic [2:0]            m_axi_in_arsize,
  output logic [1:0]            m_axi_in_arburst,
  output logic                  m_axi_in_arvalid,
  input  logic                  m_axi_in_arready,
  input  logic                  m_axi_in_rid,
  input  logic [InBytes*8-1:0]  m_axi_in_rdata,
  input  logic [1:0]            m_axi_in_rresp,
  input  logic                  m_axi_in_rlast,
  input  logic                  m_axi_in_rvalid,
  output logic                  m_axi_in_rready,

  output logic                  m_axi_out_awid,
  output logic [63:0]           m_axi_out_awaddr,
  output logic [7:0]            m_axi_out_awlen,
  output logic [2:0]            m_axi_out_awsize,
  output logic [1:0]            m_axi_out_awburst,
  output logic                  m_axi_out_awvalid,
  input  logic                  m_axi_out_awready,
  output logic [OutBytes*8-1:0] m_axi_out_wdata,
  output logic [OutBytes-1:0]   m_axi_out_wstrb,
  output logic                  m_axi_out_wlast,
  output logic                  m_axi_out_wvalid,
  input  logic                  m_axi_out_wready,
  input  logic                  m_axi_out_bid,
  input  logic [1:0]            m_axi_out_bresp,
  input  logic                  m_axi_out_bvalid,
  output logic                  m_axi_out_bready
);
  assign {m_axi_index_arid, m_axi_index_awid, m_axi_in_arid, m_axi_out_awid} = '0;
  wire unused = ^{m_axi_index_rid, m_axi_index_bid, m_axi_in_rid, m_axi_out_bid};

  sluice_unit #(
    .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes)
  ) u_unit (
    .ap_clk(clk), .ap_rst_n(rst_n), .irq(interrupt), .*
  );
endmodule
