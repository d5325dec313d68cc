// Makes write bursts of a narrow master bursts of a wide port. Bursts do not cross 4 KiB, and
// answers, which bypass this module, are in order.
//
// A burst is asked for only once all of its data is here. So a master that is slow with its data
// does not hold up the others at the port.

`include "cu_assert.svh"

module f2_write_widen #(
  parameter int unsigned BusBytes  = 8,   // of the master: 8 to WideBytes
  parameter int unsigned WideBytes = 64,  // of the port
  parameter int unsigned RoomBeats = 8,   // wide ones; the longest burst's or more
  parameter int unsigned Bursts    = 8    // that may be on their way through here
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,  // synchronous

  input  logic [63:0]            s_axi_awaddr_i,
  input  logic [7:0]             s_axi_awlen_i,
  input  logic                   s_axi_awvalid_i,
  output logic                   s_axi_awready_o,
  input  logic [BusBytes*8-1:0]  s_axi_wdata_i,
  input  logic [BusBytes-1:0]    s_axi_wstrb_i,
  input  logic                   s_axi_wvalid_i,
  output logic                   s_axi_wready_o,

  output logic [63:0]            m_axi_awaddr_o,
  output logic [7:0]             m_axi_awlen_o,
  output logic                   m_axi_awvalid_o,
  input  logic                   m_axi_awready_i,
  output logic [WideBytes*8-1:0] m_axi_wdata_o,
  output logic [WideBytes-1:0]   m_axi_wstrb_o,
  output logic                   m_axi_wlast_o,
  output logic                   m_axi_wvalid_o,
  input  logic                   m_axi_wready_i
);
  localparam int unsigned Lanes = WideBytes / BusBytes;
  localparam int unsigned LaneBits = (Lanes > 1) ? $clog2(Lanes) : 1;
  localparam int unsigned WideBits = $clog2(WideBytes);
  localparam int unsigned CountBits = $clog2(Bursts + 1);

  // ------------------------------------------------------------------ addresses
  logic [LaneBits-1:0] lane;  // of the first beat
  if (Lanes > 1) begin : g_lane
    assign lane = s_axi_awaddr_i[WideBits-1:$clog2(BusBytes)];
  end else begin : g_no_lane
    assign lane = '0;
  end

  logic [63:WideBits] row;
  logic [CountBits-1:0] complete_q;  // bursts whose data is here
  logic order_ready, address_ready, address_valid;
  logic [CountBits-1:0] unused_order, unused_addresses;
  wire [8:0] last_lane = 9'(lane) + 9'(s_axi_awlen_i);
  wire [7:0] wide_len = 8'(last_lane / 9'(Lanes));
  wire take = s_axi_awvalid_i & s_axi_awready_o;
  wire ask = m_axi_awvalid_o & m_axi_awready_i;

  assign s_axi_awready_o = order_ready & address_ready;
  assign m_axi_awaddr_o  = {row, WideBits'(0)};
  assign m_axi_awvalid_o = complete_q != '0;

  cu_fifo #(.Width(64 - WideBits + 8), .Depth(Bursts)) u_addresses (
    .clk_i, .rst_ni,
    .wvalid_i(take), .wready_o(address_ready), .wdata_i({s_axi_awaddr_i[63:WideBits], wide_len}),
    .rvalid_o(address_valid), .rready_i(ask), .rdata_o({row, m_axi_awlen_o}),
    .count_o(unused_addresses)
  );

  // ------------------------------------------------------------------ data
  logic [LaneBits-1:0] first_lane;
  logic [7:0] len, beat_q;
  logic order_valid, beats_ready, unused_error;
  logic [$clog2(RoomBeats+1)-1:0] unused_beats;
  logic [WideBytes*8-1:0] data_d;  // of the wide beat, with what comes now
  logic [WideBytes-1:0] strb_d;
  wire [8:0] at = 9'(first_lane) + 9'(beat_q);
  wire last = beat_q == len;
  wire wide_end = last | (at % 9'(Lanes) == 9'(Lanes - 1));
  wire move = s_axi_wvalid_i & s_axi_wready_o;
  wire whole = move & last;  // a burst

  assign s_axi_wready_o = order_valid & beats_ready;

  if (Lanes > 1) begin : g_gather
    logic [WideBytes*8-1:0] data_q;
    logic [WideBytes-1:0] strb_q;
    always_ff @(posedge clk_i) begin
      if (move) data_q <= data_d;
      if (!rst_ni) strb_q <= '0;
      else if (move) strb_q <= wide_end ? '0 : strb_d;
    end
    always_comb begin
      data_d = data_q;
      strb_d = strb_q;
      data_d[at[LaneBits-1:0]*BusBytes*8+:BusBytes*8] = s_axi_wdata_i;
      strb_d[at[LaneBits-1:0]*BusBytes+:BusBytes]     = s_axi_wstrb_i;
    end
  end else begin : g_pass
    assign data_d = s_axi_wdata_i;
    assign strb_d = s_axi_wstrb_i;
  end

  cu_fifo #(.Width(LaneBits + 8), .Depth(Bursts)) u_order (
    .clk_i, .rst_ni,
    .wvalid_i(take), .wready_o(order_ready), .wdata_i({lane, s_axi_awlen_i}),
    .rvalid_o(order_valid), .rready_i(whole), .rdata_o({first_lane, len}), .count_o(unused_order)
  );
  cu_ram_fifo #(.Width(WideBytes * 9 + 1), .Depth(RoomBeats)) u_beats (
    .clk_i, .rst_ni,
    .wvalid_i(move & wide_end), .wready_o(beats_ready), .wdata_i({last, strb_d, data_d}),
    .rvalid_o(m_axi_wvalid_o), .rready_i(m_axi_wready_i),
    .rdata_o({m_axi_wlast_o, m_axi_wstrb_o, m_axi_wdata_o}), .count_o(unused_beats),
    .error_o(unused_error)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q     <= '0;
      complete_q <= '0;
    end else begin
      if (move) beat_q <= last ? '0 : beat_q + 1'b1;
      complete_q <= complete_q + CountBits'(whole) - CountBits'(ask);
    end
  end

  logic unused;  // where the first byte lies in its beat, strobes say
  assign unused = ^s_axi_awaddr_i[WideBits-1:0];

  `ASSERT(a_address, complete_q != '0 |-> address_valid)
  `ASSERT(a_fits, s_axi_awvalid_i |-> 32'(wide_len) < RoomBeats)
  `ASSERT(a_aw_stable,
      m_axi_awvalid_o && !m_axi_awready_i |=>
      m_axi_awvalid_o && $stable({m_axi_awaddr_o, m_axi_awlen_o}))
endmodule
