// The unit behind five pins, so that it can be placed and routed for a board with fewer pins than it
// has ports: inputs are shifted in, outputs are captured and shifted out. For synthesis only.

module scan_shell #(
  parameter int unsigned Ways = 2,
  parameter int unsigned ValueBytes = 8,
  parameter int unsigned InBytes = 8,
  parameter int unsigned OutBytes = 8
) (
  input  logic clk_i,
  input  logic shift_i,    // the inputs by one; else they stand
  input  logic capture_i,  // the outputs; else they are shifted by one
  input  logic data_i,
  output logic data_o
);
  typedef struct packed {
    logic        rst_n;
    logic [11:0] awaddr;
    logic        awvalid;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
    logic        wvalid;
    logic        bready;
    logic [11:0] araddr;
    logic        arvalid;
    logic        rready;
    logic        index_arready;
    logic [63:0] index_rdata;
    logic [1:0]  index_rresp;
    logic        index_rlast;
    logic        index_rvalid;
    logic        index_awready;
    logic        index_wready;
    logic [1:0]  index_bresp;
    logic        index_bvalid;
    logic        in_arready;
    logic [InBytes*8-1:0] in_rdata;
    logic [1:0]  in_rresp;
    logic        in_rlast;
    logic        in_rvalid;
    logic        out_awready;
    logic        out_wready;
    logic [1:0]  out_bresp;
    logic        out_bvalid;
  } inputs_t;

  typedef struct packed {
    logic [63:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
    logic        valid;
  } address_t;

  typedef struct packed {
    logic        irq;
    logic        awready;
    logic        wready;
    logic [1:0]  bresp;
    logic        bvalid;
    logic        arready;
    logic [31:0] rdata;
    logic [1:0]  rresp;
    logic        rvalid;
    address_t    index_ar;
    logic        index_rready;
    address_t    index_aw;
    logic [63:0] index_wdata;
    logic [7:0]  index_wstrb;
    logic        index_wlast;
    logic        index_wvalid;
    logic        index_bready;
    address_t    in_ar;
    logic        in_rready;
    address_t    out_aw;
    logic [OutBytes*8-1:0] out_wdata;
    logic [OutBytes-1:0]   out_wstrb;
    logic        out_wlast;
    logic        out_wvalid;
    logic        out_bready;
  } outputs_t;

  inputs_t i_q;
  outputs_t o, o_q;

  always_ff @(posedge clk_i) begin
    if (shift_i) i_q <= {i_q[$bits(inputs_t)-2:0], data_i};
    o_q <= capture_i ? o : {o_q[$bits(outputs_t)-2:0], 1'b0};
  end
  assign data_o = o_q[$bits(outputs_t)-1];

  sluice_unit #(
    .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes)
  ) u_unit (
    .ap_clk(clk_i), .ap_rst_n(i_q.rst_n), .irq(o.irq),
    .s_axi_control_awaddr(i_q.awaddr), .s_axi_control_awvalid(i_q.awvalid),
    .s_axi_control_awready(o.awready), .s_axi_control_wdata(i_q.wdata),
    .s_axi_control_wstrb(i_q.wstrb), .s_axi_control_wvalid(i_q.wvalid),
    .s_axi_control_wready(o.wready), .s_axi_control_bresp(o.bresp),
    .s_axi_control_bvalid(o.bvalid), .s_axi_control_bready(i_q.bready),
    .s_axi_control_araddr(i_q.araddr), .s_axi_control_arvalid(i_q.arvalid),
    .s_axi_control_arready(o.arready), .s_axi_control_rdata(o.rdata),
    .s_axi_control_rresp(o.rresp), .s_axi_control_rvalid(o.rvalid),
    .s_axi_control_rready(i_q.rready),
    .m_axi_index_araddr(o.index_ar.addr), .m_axi_index_arlen(o.index_ar.len),
    .m_axi_index_arsize(o.index_ar.size), .m_axi_index_arburst(o.index_ar.burst),
    .m_axi_index_arvalid(o.index_ar.valid), .m_axi_index_arready(i_q.index_arready),
    .m_axi_index_rdata(i_q.index_rdata), .m_axi_index_rresp(i_q.index_rresp),
    .m_axi_index_rlast(i_q.index_rlast), .m_axi_index_rvalid(i_q.index_rvalid),
    .m_axi_index_rready(o.index_rready),
    .m_axi_index_awaddr(o.index_aw.addr), .m_axi_index_awlen(o.index_aw.len),
    .m_axi_index_awsize(o.index_aw.size), .m_axi_index_awburst(o.index_aw.burst),
    .m_axi_index_awvalid(o.index_aw.valid), .m_axi_index_awready(i_q.index_awready),
    .m_axi_index_wdata(o.index_wdata), .m_axi_index_wstrb(o.index_wstrb),
    .m_axi_index_wlast(o.index_wlast), .m_axi_index_wvalid(o.index_wvalid),
    .m_axi_index_wready(i_q.index_wready), .m_axi_index_bresp(i_q.index_bresp),
    .m_axi_index_bvalid(i_q.index_bvalid), .m_axi_index_bready(o.index_bready),
    .m_axi_in_araddr(o.in_ar.addr), .m_axi_in_arlen(o.in_ar.len),
    .m_axi_in_arsize(o.in_ar.size), .m_axi_in_arburst(o.in_ar.burst),
    .m_axi_in_arvalid(o.in_ar.valid), .m_axi_in_arready(i_q.in_arready),
    .m_axi_in_rdata(i_q.in_rdata), .m_axi_in_rresp(i_q.in_rresp),
    .m_axi_in_rlast(i_q.in_rlast), .m_axi_in_rvalid(i_q.in_rvalid),
    .m_axi_in_rready(o.in_rready),
    .m_axi_out_awaddr(o.out_aw.addr), .m_axi_out_awlen(o.out_aw.len),
    .m_axi_out_awsize(o.out_aw.size), .m_axi_out_awburst(o.out_aw.burst),
    .m_axi_out_awvalid(o.out_aw.valid), .m_axi_out_awready(i_q.out_awready),
    .m_axi_out_wdata(o.out_wdata), .m_axi_out_wstrb(o.out_wstrb),
    .m_axi_out_wlast(o.out_wlast), .m_axi_out_wvalid(o.out_wvalid),
    .m_axi_out_wready(i_q.out_wready), .m_axi_out_bresp(i_q.out_bresp),
    .m_axi_out_bvalid(i_q.out_bvalid), .m_axi_out_bready(o.out_bready)
  );
endmodule
