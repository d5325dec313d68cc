// cu_write_engine with a port per field, for benches in C++.

module write_engine_bench #(
  parameter int unsigned Bytes = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned MaxBurstBeats = 16,
  parameter int unsigned FifoBeats = 64,
  parameter int unsigned AlignBytes = 64,
  parameter int unsigned MaxOutstanding = 16,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  start_i,
  input  logic [63:0]           addr_i,
  input  logic [63:0]           limit_i,
  input  logic                  halt_i,
  output logic                  done_o,
  output logic                  idle_o,
  output logic                  full_o,
  output logic                  error_o,
  output logic [63:0]           used_o,
  output logic                  stall_o,
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [Bytes*8-1:0]    in_data_i,
  input  logic [CountBits-1:0]  in_bytes_i,
  input  logic                  in_last_i,
  input  logic [1:0]            in_token_i,
  output logic [63:0]           m_axi_awaddr_o,
  output logic [7:0]            m_axi_awlen_o,
  output logic [2:0]            m_axi_awsize_o,
  output logic [1:0]            m_axi_awburst_o,
  output logic                  m_axi_awvalid_o,
  input  logic                  m_axi_awready_i,
  output logic [BusBytes*8-1:0] m_axi_wdata_o,
  output logic [BusBytes-1:0]   m_axi_wstrb_o,
  output logic                  m_axi_wlast_o,
  output logic                  m_axi_wvalid_o,
  input  logic                  m_axi_wready_i,
  input  logic [1:0]            m_axi_bresp_i,
  input  logic                  m_axi_bvalid_i,
  output logic                  m_axi_bready_o
);
  cu_write_engine #(
    .Bytes(Bytes), .BusBytes(BusBytes), .MaxBurstBeats(MaxBurstBeats), .FifoBeats(FifoBeats),
      .AlignBytes(AlignBytes), .MaxOutstanding(MaxOutstanding)
  ) u_dut (
    .clk_i, .rst_ni, .start_i, .addr_i, .limit_i, .halt_i, .done_o, .idle_o, .full_o, .error_o,
    .used_o, .stall_o, .in_valid_i, .in_ready_o, .m_axi_awaddr_o, .m_axi_awlen_o, .m_axi_awsize_o,
    .m_axi_awburst_o, .m_axi_awvalid_o, .m_axi_awready_i, .m_axi_wdata_o, .m_axi_wstrb_o,
    .m_axi_wlast_o, .m_axi_wvalid_o, .m_axi_wready_i, .m_axi_bresp_i, .m_axi_bvalid_i,
    .m_axi_bready_o, .in_i({in_data_i, in_bytes_i, in_last_i, in_token_i})
  );
endmodule
