// cu_write_engine with port names as cocotbext-axi expects them: no direction suffixes, and AXI IDs.

module cu_write_engine_axi #(
  parameter int unsigned Bytes       = 16,
  parameter int unsigned BusBytes      = 64,
  parameter int unsigned MaxBurstBeats = 16,
  parameter int unsigned FifoBeats     = 32,
  localparam int unsigned CountBits    = $clog2(Bytes + 1)
) (
  input  logic                  clk,
  input  logic                  rst_n,

  input  logic                  start,
  input  logic [63:0]           addr,
  input  logic [63:0]           limit,
  input  logic                  halt,
  output logic                  done,
  output logic                  idle,
  output logic                  full,
  output logic                  error,
  output logic [63:0]           used,

  input  logic                  in_valid,
  output logic                  in_ready,
  input  logic [Bytes*8-1:0]  in_data,
  input  logic [CountBits-1:0]  in_bytes,
  input  logic                  in_last,
  input  logic [1:0]            in_token,

  output logic                  m_axi_awid,
  output logic [63:0]           m_axi_awaddr,
  output logic [7:0]            m_axi_awlen,
  output logic [2:0]            m_axi_awsize,
  output logic [1:0]            m_axi_awburst,
  output logic                  m_axi_awvalid,
  input  logic                  m_axi_awready,
  output logic [BusBytes*8-1:0] m_axi_wdata,
  output logic [BusBytes-1:0]   m_axi_wstrb,
  output logic                  m_axi_wlast,
  output logic                  m_axi_wvalid,
  input  logic                  m_axi_wready,
  input  logic                  m_axi_bid,
  input  logic [1:0]            m_axi_bresp,
  input  logic                  m_axi_bvalid,
  output logic                  m_axi_bready
);
  assign m_axi_awid = 1'b0;
  wire unused = m_axi_bid;

  cu_write_engine #(
    .Bytes(Bytes), .BusBytes(BusBytes), .MaxBurstBeats(MaxBurstBeats), .FifoBeats(FifoBeats)
  ) u_engine (
    .clk_i(clk), .rst_ni(rst_n),
    .start_i(start), .addr_i(addr), .limit_i(limit), .halt_i(halt), .done_o(done), .idle_o(idle),
    .full_o(full), .error_o(error), .used_o(used), .stall_o(),
    .in_valid_i(in_valid), .in_ready_o(in_ready),
    .in_i({in_data, in_bytes, in_last, in_token}),
    .m_axi_awaddr_o(m_axi_awaddr), .m_axi_awlen_o(m_axi_awlen), .m_axi_awsize_o(m_axi_awsize),
    .m_axi_awburst_o(m_axi_awburst), .m_axi_awvalid_o(m_axi_awvalid),
    .m_axi_awready_i(m_axi_awready), .m_axi_wdata_o(m_axi_wdata), .m_axi_wstrb_o(m_axi_wstrb),
    .m_axi_wlast_o(m_axi_wlast), .m_axi_wvalid_o(m_axi_wvalid), .m_axi_wready_i(m_axi_wready),
    .m_axi_bresp_i(m_axi_bresp), .m_axi_bvalid_i(m_axi_bvalid), .m_axi_bready_o(m_axi_bready)
  );
endmodule
