// cu_read_engine with port names as cocotbext-axi expects them: no direction suffixes, and AXI IDs.

module cu_read_engine_axi #(
  parameter int unsigned Clients       = 3,
  parameter int unsigned BusBytes      = 64,
  parameter int unsigned FifoBeats     = 64,
  parameter int unsigned MaxBurstBeats = 16,
  parameter int unsigned Requests      = 4
) (
  input  logic                               clk,
  input  logic                               rst_n,

  input  logic [Clients-1:0]                 req_valid,
  output logic [Clients-1:0]                 req_ready,
  input  logic [Clients-1:0][63:0]           req_addr,
  input  logic [Clients-1:0][31:0]           req_bytes,
  output logic [Clients-1:0]                 beat_valid,
  input  logic [Clients-1:0]                 beat_ready,
  output logic [Clients-1:0][BusBytes*8-1:0] beat_data,
  output logic [Clients-1:0]                 done_valid,
  input  logic [Clients-1:0]                 done_ready,
  output logic [Clients-1:0][31:0]           done_crc,
  output logic [Clients-1:0]                 done_error,
  input  logic                               halt,
  output logic                               idle,

  output logic                               m_axi_arid,
  output logic [63:0]                        m_axi_araddr,
  output logic [7:0]                         m_axi_arlen,
  output logic [2:0]                         m_axi_arsize,
  output logic [1:0]                         m_axi_arburst,
  output logic                               m_axi_arvalid,
  input  logic                               m_axi_arready,
  input  logic                               m_axi_rid,
  input  logic [BusBytes*8-1:0]              m_axi_rdata,
  input  logic [1:0]                         m_axi_rresp,
  input  logic                               m_axi_rlast,
  input  logic                               m_axi_rvalid,
  output logic                               m_axi_rready
);
  assign m_axi_arid = 1'b0;
  wire unused = m_axi_rid;

  cu_read_engine #(
    .Clients(Clients), .BusBytes(BusBytes), .FifoBeats(FifoBeats), .MaxBurstBeats(MaxBurstBeats),
    .Requests(Requests)
  ) u_engine (
    .clk_i(clk), .rst_ni(rst_n),
    .req_valid_i(req_valid), .req_ready_o(req_ready), .req_addr_i(req_addr),
    .req_bytes_i(req_bytes),
    .beat_valid_o(beat_valid), .beat_ready_i(beat_ready), .beat_data_o(beat_data),
    .done_valid_o(done_valid), .done_ready_i(done_ready), .done_crc_o(done_crc),
    .done_good_o(), .done_tail_o(), .done_stored_o(), .done_error_o(done_error),
    .halt_i(halt), .idle_o(idle), .stall_o(), .beat_parity_o(), .fifo_error_o(),
    .m_axi_araddr_o(m_axi_araddr), .m_axi_arlen_o(m_axi_arlen), .m_axi_arsize_o(m_axi_arsize),
    .m_axi_arburst_o(m_axi_arburst), .m_axi_arvalid_o(m_axi_arvalid),
    .m_axi_arready_i(m_axi_arready), .m_axi_rdata_i(m_axi_rdata), .m_axi_rresp_i(m_axi_rresp),
    .m_axi_rlast_i(m_axi_rlast), .m_axi_rvalid_i(m_axi_rvalid), .m_axi_rready_o(m_axi_rready)
  );
endmodule
