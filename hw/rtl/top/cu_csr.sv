// Control and capability registers on AXI4-Lite (abi/sluice.rdl), with the ap_ctrl_chain protocol
// of Vitis RTL kernels.
//
// One read and one write at a time. An address without a register reads as 0 and ignores writes.
// Bytes that wstrb does not select keep their value.

`include "cu_assert.svh"

module cu_csr #(
  parameter int unsigned Ways = 2,
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned InBytes = 64,
  parameter int unsigned OutBytes = 64,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned MaxRestarts = 8192,
  parameter int unsigned MaxBlocks = 8192,
  parameter int unsigned Snappy = 0,
  parameter int unsigned Bloom = 0,
  parameter int unsigned Compressors = 0,
  parameter int unsigned Xxh3 = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [11:0] s_axi_awaddr_i,
  input  logic        s_axi_awvalid_i,
  output logic        s_axi_awready_o,
  input  logic [31:0] s_axi_wdata_i,
  input  logic [3:0]  s_axi_wstrb_i,
  input  logic        s_axi_wvalid_i,
  output logic        s_axi_wready_o,
  output logic [1:0]  s_axi_bresp_o,
  output logic        s_axi_bvalid_o,
  input  logic        s_axi_bready_i,
  input  logic [11:0] s_axi_araddr_i,
  input  logic        s_axi_arvalid_i,
  output logic        s_axi_arready_o,
  output logic [31:0] s_axi_rdata_o,
  output logic [1:0]  s_axi_rresp_o,
  output logic        s_axi_rvalid_o,
  input  logic        s_axi_rready_i,
  output logic        interrupt_o,

  output logic        job_valid_o,  // a start is waiting
  input  logic        job_ready_i,  // and is taken
  output logic [63:0] job_addr_o,
  input  logic        job_done_i,   // pulse: the job taken last is complete
  input  logic [7:0]  job_status_i  // with job_done_i
);
  import sluice_abi_pkg::*;

  logic start_q, busy_q, done_q;
  logic gie_q;
  logic [1:0] ier_q, isr_q;
  logic [63:0] job_addr_q;
  logic [7:0] status_q;

  // A job waits until the last one's completion has been acknowledged.
  assign job_valid_o = start_q & ~done_q & ~busy_q;
  assign job_addr_o  = job_addr_q;
  assign interrupt_o = gie_q & |(isr_q & ier_q);
  wire job_taken = job_valid_o & job_ready_i;

  // ---- writes: address and data are taken together
  logic bvalid_q;
  wire write = s_axi_awvalid_i & s_axi_wvalid_i & ~bvalid_q;
  assign s_axi_awready_o = write;
  assign s_axi_wready_o  = write;
  assign s_axi_bresp_o   = 2'b00;
  assign s_axi_bvalid_o  = bvalid_q;

  wire [11:0] waddr = {s_axi_awaddr_i[11:2], 2'b00};
  logic [31:0] wmask;
  always_comb for (int i = 0; i < 4; i++) wmask[8*i+:8] = {8{s_axi_wstrb_i[i]}};
  wire [31:0] wbits = s_axi_wdata_i & wmask;
  wire write_ctrl = write & (waddr == 12'(ControlCtrl));
  wire continued = write_ctrl & wbits[ControlCtrlContinueLsb];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bvalid_q   <= 1'b0;
      start_q    <= 1'b0;
      busy_q     <= 1'b0;
      done_q     <= 1'b0;
      gie_q      <= 1'b0;
      ier_q      <= '0;
      isr_q      <= '0;
      job_addr_q <= '0;
      status_q   <= '0;
    end else begin
      if (write) bvalid_q <= 1'b1;
      else if (s_axi_bready_i) bvalid_q <= 1'b0;

      if (write_ctrl && wbits[ControlCtrlStartLsb]) start_q <= 1'b1;
      else if (job_taken) start_q <= 1'b0;
      if (job_taken) busy_q <= 1'b1;
      else if (job_done_i) busy_q <= 1'b0;
      if (job_done_i) done_q <= 1'b1;
      else if (continued) done_q <= 1'b0;
      if (job_done_i) status_q <= job_status_i;

      if (write && waddr == 12'(ControlGie)) gie_q <= (gie_q & ~wmask[0]) | wbits[0];
      if (write && waddr == 12'(ControlIer)) ier_q <= (ier_q & ~wmask[1:0]) | wbits[1:0];
      isr_q <= (isr_q ^ ((write && waddr == 12'(ControlIsr)) ? wbits[1:0] : 2'b00))
               | ({job_taken, job_done_i} & ier_q);
      if (write && waddr == 12'(ControlJobAddrLo)) begin
        job_addr_q[31:0] <= (job_addr_q[31:0] & ~wmask) | wbits;
      end
      if (write && waddr == 12'(ControlJobAddrHi)) begin
        job_addr_q[63:32] <= (job_addr_q[63:32] & ~wmask) | wbits;
      end
    end
  end

  // ---- reads
  logic rvalid_q;
  logic [31:0] rdata_q, rdata_d;
  assign s_axi_arready_o = ~rvalid_q;
  assign s_axi_rvalid_o  = rvalid_q;
  assign s_axi_rdata_o   = rdata_q;
  assign s_axi_rresp_o   = 2'b00;

  always_comb begin
    rdata_d = '0;
    unique case ({s_axi_araddr_i[11:2], 2'b00})
      12'(ControlCtrl): begin
        rdata_d[ControlCtrlStartLsb] = start_q;
        rdata_d[ControlCtrlDoneLsb]  = done_q;
        rdata_d[ControlCtrlIdleLsb]  = ~start_q & ~busy_q;
        rdata_d[ControlCtrlReadyLsb] = ~start_q;
      end
      12'(ControlGie): rdata_d[0] = gie_q;
      12'(ControlIer): rdata_d[1:0] = ier_q;
      12'(ControlIsr): rdata_d[1:0] = isr_q;
      12'(ControlJobAddrLo): rdata_d = job_addr_q[31:0];
      12'(ControlJobAddrHi): rdata_d = job_addr_q[63:32];
      12'(ControlStatus): rdata_d[7:0] = status_q;
      12'(CapabilityId): rdata_d = {Magic, 8'd0, Version};
      12'(CapabilityWays): rdata_d = Ways;
      12'(CapabilityValueBytes): rdata_d = ValueBytes;
      12'(CapabilityInBytes): rdata_d = InBytes;
      12'(CapabilityOutBytes): rdata_d = OutBytes;
      12'(CapabilityMaxKeyBytes): rdata_d = MaxKeyBytes;
      12'(CapabilityMaxValueBytes): rdata_d = ValueBytesLimit;
      12'(CapabilityMaxRestarts): rdata_d = MaxRestarts;
      12'(CapabilityMaxBlocks): rdata_d = MaxBlocks;
      12'(CapabilityFeatures): begin
        rdata_d[CapabilityFeaturesSnappyLsb] = Snappy != 0;
        rdata_d[CapabilityFeaturesBloomLsb]  = Bloom != 0;
        rdata_d[CapabilityFeaturesCompressorsLsb+:CapabilityFeaturesCompressorsWidth] =
            CapabilityFeaturesCompressorsWidth'(Compressors);
        rdata_d[CapabilityFeaturesXxh3Lsb] = Xxh3 != 0;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rvalid_q <= 1'b0;
    end else if (s_axi_arvalid_i && s_axi_arready_o) begin
      rvalid_q <= 1'b1;
    end else if (s_axi_rready_i) begin
      rvalid_q <= 1'b0;
    end
    if (s_axi_arvalid_i && s_axi_arready_o) rdata_q <= rdata_d;
  end

  logic unused_addr;
  assign unused_addr = ^{s_axi_awaddr_i[1:0], s_axi_araddr_i[1:0]};

  `ASSERT(a_bstable, s_axi_bvalid_o && !s_axi_bready_i |=> s_axi_bvalid_o)
  `ASSERT(a_rstable, s_axi_rvalid_o && !s_axi_rready_i |=> s_axi_rvalid_o && $stable(s_axi_rdata_o))
endmodule
