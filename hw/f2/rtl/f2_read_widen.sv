// Makes read bursts of a narrow master bursts of a wide port: it asks for the wide beats that hold
// the burst's, and gives them out again in pieces. Bursts do not cross 4 KiB, and answers are in
// order.
//
// A burst is asked for only if there is room for all of its beats here. So the wide port is never
// held up, however slowly the master takes its own. Of a master as wide as the port, only the
// address changes, which becomes a multiple of the width.

`include "cu_assert.svh"

module f2_read_widen #(
  parameter int unsigned BusBytes  = 8,   // of the master: 8 to WideBytes
  parameter int unsigned WideBytes = 64,  // of the port
  parameter int unsigned RoomBeats = 16,  // wide ones; the longest burst's or more
  parameter int unsigned Bursts    = 32   // that may be outstanding
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,  // synchronous

  input  logic [63:0]            s_axi_araddr_i,
  input  logic [7:0]             s_axi_arlen_i,
  input  logic                   s_axi_arvalid_i,
  output logic                   s_axi_arready_o,
  output logic [BusBytes*8-1:0]  s_axi_rdata_o,
  output logic [1:0]             s_axi_rresp_o,
  output logic                   s_axi_rlast_o,
  output logic                   s_axi_rvalid_o,
  input  logic                   s_axi_rready_i,

  output logic [63:0]            m_axi_araddr_o,
  output logic [7:0]             m_axi_arlen_o,
  output logic                   m_axi_arvalid_o,
  input  logic                   m_axi_arready_i,
  input  logic [WideBytes*8-1:0] m_axi_rdata_i,
  input  logic [1:0]             m_axi_rresp_i,
  input  logic                   m_axi_rvalid_i
);
  localparam int unsigned Lanes = WideBytes / BusBytes;
  localparam int unsigned LaneBits = (Lanes > 1) ? $clog2(Lanes) : 1;
  localparam int unsigned WideBits = $clog2(WideBytes);
  localparam int unsigned RoomBits = $clog2(RoomBeats + 1);

  // ------------------------------------------------------------------ addresses
  logic [LaneBits-1:0] lane;  // of the first beat
  if (Lanes > 1) begin : g_lane
    assign lane = s_axi_araddr_i[WideBits-1:$clog2(BusBytes)];
  end else begin : g_no_lane
    assign lane = '0;
  end

  logic [RoomBits-1:0] room_q;  // beats that are neither here nor asked for
  logic order_ready;
  wire [8:0] last_lane = 9'(lane) + 9'(s_axi_arlen_i);
  wire [7:0] wide_len = 8'(last_lane / 9'(Lanes));
  wire go = order_ready & (16'(room_q) > 16'(wide_len));
  wire ask = m_axi_arvalid_o & m_axi_arready_i;

  assign m_axi_araddr_o  = {s_axi_araddr_i[63:WideBits], WideBits'(0)};
  assign m_axi_arlen_o   = wide_len;
  assign m_axi_arvalid_o = s_axi_arvalid_i & go;
  assign s_axi_arready_o = m_axi_arready_i & go;

  // ------------------------------------------------------------------ data
  logic [LaneBits-1:0] first_lane;
  logic [7:0] len, beat_q;
  logic order_valid, beat_valid, beat_ready, unused_error;
  logic [$clog2(Bursts+1)-1:0] unused_bursts;
  logic [RoomBits-1:0] unused_beats;
  logic [WideBytes*8-1:0] wide;
  wire [8:0] at = 9'(first_lane) + 9'(beat_q);
  wire give = s_axi_rvalid_o & s_axi_rready_i;
  wire wide_end = s_axi_rlast_o | (at % 9'(Lanes) == 9'(Lanes - 1));
  wire pop = give & wide_end;

  cu_fifo #(.Width(LaneBits + 8), .Depth(Bursts)) u_order (
    .clk_i, .rst_ni,
    .wvalid_i(ask), .wready_o(order_ready), .wdata_i({lane, s_axi_arlen_i}),
    .rvalid_o(order_valid), .rready_i(give & s_axi_rlast_o), .rdata_o({first_lane, len}),
    .count_o(unused_bursts)
  );
  cu_ram_fifo #(.Width(WideBytes * 8 + 2), .Depth(RoomBeats)) u_beats (
    .clk_i, .rst_ni,
    .wvalid_i(m_axi_rvalid_i), .wready_o(beat_ready), .wdata_i({m_axi_rresp_i, m_axi_rdata_i}),
    .rvalid_o(beat_valid), .rready_i(pop), .rdata_o({s_axi_rresp_o, wide}),
    .count_o(unused_beats), .error_o(unused_error)
  );

  assign s_axi_rvalid_o = order_valid & beat_valid;
  assign s_axi_rlast_o  = beat_q == len;
  if (Lanes > 1) begin : g_pick
    assign s_axi_rdata_o = wide[at[LaneBits-1:0]*BusBytes*8+:BusBytes*8];
  end else begin : g_all
    assign s_axi_rdata_o = wide;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
      room_q <= RoomBits'(RoomBeats);
    end else begin
      if (give) beat_q <= s_axi_rlast_o ? '0 : beat_q + 1'b1;
      room_q <= room_q - (ask ? RoomBits'(wide_len) + 1'b1 : '0) + RoomBits'(pop);
    end
  end

  logic unused;  // the room was there; the master knows where the first byte lies in its beat
  assign unused = ^{beat_ready, s_axi_araddr_i[WideBits-1:0]};

  `ASSERT(a_room, m_axi_rvalid_i |-> beat_ready)
  `ASSERT(a_fits, s_axi_arvalid_i |-> 32'(wide_len) < RoomBeats)
  `ASSERT(a_held, s_axi_rvalid_o && !s_axi_rready_i |=> s_axi_rvalid_o && $stable(s_axi_rdata_o))
endmodule
