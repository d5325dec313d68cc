// The ports of the HDK's DDR4 controller, for lint: a stand-in that does nothing. Widths as there
// (version 2.0.2).

/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNDRIVEN */
module sh_ddr #(
  parameter int unsigned DDR_PRESENT = 1
) (
  input  logic clk, rst_n, stat_clk, stat_rst_n, CLK_DIMM_DP, CLK_DIMM_DN,
  output logic M_ACT_N,
  output logic [17:0] M_MA,
  output logic [1:0] M_BA, M_BG, M_CKE, M_ODT, M_CS_N, M_CLK_DN, M_CLK_DP,
  output logic M_PAR,
  inout  wire  [63:0] M_DQ,
  inout  wire  [7:0] M_ECC,
  inout  wire  [17:0] M_DQS_DP, M_DQS_DN,
  output logic cl_RST_DIMM_N,
  input  logic [15:0] cl_sh_ddr_axi_awid,
  input  logic [63:0] cl_sh_ddr_axi_awaddr,
  input  logic [7:0] cl_sh_ddr_axi_awlen,
  input  logic [2:0] cl_sh_ddr_axi_awsize,
  input  logic cl_sh_ddr_axi_awvalid,
  input  logic [1:0] cl_sh_ddr_axi_awburst,
  input  logic cl_sh_ddr_axi_awuser,
  output logic cl_sh_ddr_axi_awready,
  input  logic [511:0] cl_sh_ddr_axi_wdata,
  input  logic [63:0] cl_sh_ddr_axi_wstrb,
  input  logic cl_sh_ddr_axi_wlast, cl_sh_ddr_axi_wvalid,
  output logic cl_sh_ddr_axi_wready,
  output logic [15:0] cl_sh_ddr_axi_bid,
  output logic [1:0] cl_sh_ddr_axi_bresp,
  output logic cl_sh_ddr_axi_bvalid,
  input  logic cl_sh_ddr_axi_bready,
  input  logic [15:0] cl_sh_ddr_axi_arid,
  input  logic [63:0] cl_sh_ddr_axi_araddr,
  input  logic [7:0] cl_sh_ddr_axi_arlen,
  input  logic [2:0] cl_sh_ddr_axi_arsize,
  input  logic cl_sh_ddr_axi_arvalid,
  input  logic [1:0] cl_sh_ddr_axi_arburst,
  input  logic cl_sh_ddr_axi_aruser,
  output logic cl_sh_ddr_axi_arready,
  output logic [15:0] cl_sh_ddr_axi_rid,
  output logic [511:0] cl_sh_ddr_axi_rdata,
  output logic [1:0] cl_sh_ddr_axi_rresp,
  output logic cl_sh_ddr_axi_rlast, cl_sh_ddr_axi_rvalid,
  input  logic cl_sh_ddr_axi_rready,
  input  logic [7:0] sh_ddr_stat_bus_addr,
  input  logic [31:0] sh_ddr_stat_bus_wdata,
  input  logic sh_ddr_stat_bus_wr, sh_ddr_stat_bus_rd,
  output logic sh_ddr_stat_bus_ack,
  output logic [31:0] sh_ddr_stat_bus_rdata,
  output logic [7:0] ddr_sh_stat_int,
  output logic sh_cl_ddr_is_ready
);
endmodule
