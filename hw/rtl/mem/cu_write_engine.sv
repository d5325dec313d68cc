// Writes a stream of words to one memory area in AXI4 bursts.
//
// Words of Bytes bytes are gathered into beats of BusBytes. At a table's end, zeros are added up to
// a multiple of AlignBytes, so that all strobes are set and the next table starts aligned. A burst
// extends to the next multiple of the largest burst (so that none crosses 4 KiB) and is issued only
// once all of its beats are available: an issued burst always completes.
//
// Nothing is written beyond `limit_i`: the beat that does not fit raises full_o, and the engine
// discards it and the rest of the task. After halt_i, issued bursts complete, no further bursts are
// issued, input is discarded, and done_o stays low until the next start. Start only when idle.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_write_engine #(
  parameter int unsigned Bytes = 16,           // a power of two
  parameter int unsigned BusBytes = 64,        // a power of two, Bytes or more
  parameter int unsigned MaxBurstBeats = 16,   // a power of two, 256 at most
  parameter int unsigned FifoBeats = 64,       // 2 * MaxBurstBeats or more
  parameter int unsigned AlignBytes = 64,      // a power of two, BusBytes or more
  parameter int unsigned MaxOutstanding = 16,  // bursts
  localparam type chunk_t = `CU_CHUNK_T(Bytes)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,  // synchronous

  input  logic                  start_i,
  input  logic [63:0]           addr_i,   // a multiple of 64
  input  logic [63:0]           limit_i,  // bytes; a multiple of 64
  input  logic                  halt_i,
  output logic                  done_o,   // all is written; until the next start
  output logic                  idle_o,   // no burst is under way
  output logic                  full_o,
  output logic                  error_o,  // of memory's answer, or in the FIFO of beats
  output logic [63:0]           used_o,   // bytes, padding counted
  output logic                  stall_o,

  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  chunk_t                in_i,

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
  localparam int unsigned CountBits = $clog2(Bytes + 1);
  localparam int unsigned BusBits = $clog2(BusBytes);
  localparam int unsigned Slots = BusBytes / Bytes;
  localparam int unsigned SlotBits = (Slots > 1) ? $clog2(Slots) : 1;
  localparam int unsigned BurstBeats =
      (MaxBurstBeats * BusBytes > 4096) ? 4096 / BusBytes : MaxBurstBeats;
  localparam int unsigned BurstBits = $clog2(BurstBeats);
  localparam int unsigned AvailBits = $clog2(FifoBeats + 1);
  localparam int unsigned AlignBeatBits = $clog2(AlignBytes / BusBytes);
  localparam int unsigned LengthDepth = 8;
  localparam int unsigned FlightBits = $clog2(MaxOutstanding + 1);

  `ASSERT_PARAM(bus_bytes, $onehot(BusBytes) && BusBytes >= Bytes && BusBytes % Bytes == 0,
                "BusBytes must be a power of two and Bytes or more")
  `ASSERT_PARAM(max_burst_beats, $onehot(BurstBeats) && BurstBeats inside {[2:256]},
                "MaxBurstBeats must be a power of two up to 256")
  `ASSERT_PARAM(fifo_beats, FifoBeats >= 2 * BurstBeats, "FifoBeats must hold two bursts")
  `ASSERT_PARAM(align_bytes, $onehot(AlignBytes) && AlignBytes >= BusBytes && AlignBytes <= 64,
                "AlignBytes must be a power of two, BusBytes to 64")

  typedef enum logic [2:0] {StIdle, StRun, StPad, StDrain, StDone} state_e;

  // -------------------------------------------------------------- words to beats

  state_e state_q, state_d;
  logic ending_q;  // padding the last table of the task
  logic full_q, halted_q, error_q;
  logic [AvailBits-1:0] avail_q;    // beats in the FIFO that no burst has claimed yet
  logic [FlightBits-1:0] flight_q;  // bursts issued and not answered
  logic [63-BusBits:0] used_q;   // beats
  logic [63-BusBits:0] spent_q;  // ~spent_q more fit: counting up takes no LUT per bit
  logic [Slots-1:0][Bytes*8-1:0] gather_q;
  logic room_q;   // for this beat, whatever is on its way to the FIFO
  logic store_q;  // gather_q goes to the FIFO
  logic [SlotBits-1:0] slot_q;

  wire swallow = full_q || halted_q;
  wire accept = in_valid_i && in_ready_o;
  wire some_bytes = in_i.bytes != '0;
  wire task_end = in_i.token == 2'd2;
  wire table_end = in_i.token != '0;
  logic fifo_ready, fifo_error, push;
  wire beat_done = some_bytes && slot_q == SlotBits'(Slots - 1);
  wire beat_open = some_bytes || slot_q != '0;
  wire push_beat = push && !swallow;
  wire none_left = &spent_q;
  wire store = push_beat && !none_left;

  assign in_ready_o = halted_q || (state_q == StRun && (swallow || room_q));

  // Not padded: nothing written, or a whole number of units after this cycle's beat.
  logic aligned, aligned_next;
  if (AlignBeatBits > 0) begin : g_aligned
    assign aligned      = used_q[AlignBeatBits-1:0] == '0;
    assign aligned_next = &used_q[AlignBeatBits-1:0];
  end else begin : g_always_aligned
    assign aligned      = 1'b1;
    assign aligned_next = 1'b1;
  end

  always_comb begin
    state_d = state_q;
    push    = 1'b0;
    unique case (state_q)
      StRun: begin
        if (accept) begin
          push = beat_done || (table_end && beat_open);
          if (table_end) begin
            if (swallow || (push ? aligned_next : aligned)) begin
              if (task_end) state_d = StDrain;
            end else begin
              state_d = StPad;
            end
          end
        end
      end
      StPad: begin
        if (swallow || room_q) begin
          push = 1'b1;
          if (swallow || aligned_next) state_d = ending_q ? StDrain : StRun;
        end
      end
      StDrain: if (avail_q == '0 && flight_q == '0 && !store_q && !halted_q) state_d = StDone;
      StIdle, StDone: ;
    endcase
    if (start_i) state_d = StRun;
  end

  // -------------------------------------------------------------- beats to bursts

  logic [63-BusBits:0] addr_q;  // beats
  logic [AvailBits-1:0] burst;
  logic issue, aw_valid_q, lengths_ready, length_valid;
  logic [63-BusBits:0] aw_addr_q;
  logic [BurstBits-1:0] aw_len_q, length, beat_q;
  logic beat_valid;
  logic [AvailBits-1:0] beats;
  logic [$clog2(LengthDepth + 1)-1:0] unused_lengths;

  wire fifo_rst_n = rst_ni && !start_i;
  wire [BurstBits:0] to_boundary = (BurstBits+1)'(BurstBeats) - {1'b0, addr_q[BurstBits-1:0]};
  // Available beats and those before them since a boundary: with BurstBeats, they reach the next.
  wire [AvailBits:0] since = {1'b0, avail_q} + (AvailBits + 1)'(addr_q[BurstBits-1:0]);
  wire reaches = since >= (AvailBits + 1)'(BurstBeats);
  wire b_done = m_axi_bvalid_i && m_axi_bready_o;
  wire w_done = m_axi_wvalid_o && m_axi_wready_i;

  assign burst = reaches ? AvailBits'(to_boundary) : avail_q;
  assign issue = (reaches || (state_q == StDrain && avail_q != '0))
                 && !halt_i && !halted_q && lengths_ready
                 && flight_q != FlightBits'(MaxOutstanding)
                 && (!aw_valid_q || m_axi_awready_i);

  // What a burst to the boundary leaves; that and a new beat. issue is late: it only chooses.
  wire [AvailBits-1:0] rest = avail_q + AvailBits'(addr_q[BurstBits-1:0]) - AvailBits'(BurstBeats);
  wire [AvailBits-1:0] rest_more = avail_q + AvailBits'(addr_q[BurstBits-1:0]) -
                                   AvailBits'(BurstBeats - 1);
  logic [AvailBits-1:0] avail_d;
  always_comb begin
    avail_d = store_q ? avail_q + 1'b1 : avail_q;
    if (issue) avail_d = !reaches ? AvailBits'(store_q) : store_q ? rest_more : rest;
  end

  // A burst is issued when its last beat is in the FIFO, and its beats leave from the next cycle on:
  // as soon as one that has just come can be read.
  cu_ram_fifo #(.Width(BusBytes * 8), .Depth(FifoBeats)) u_beats (
    .clk_i, .rst_ni(fifo_rst_n),
    .wvalid_i(store_q), .wready_o(fifo_ready), .wdata_i(gather_q),
    .rvalid_o(beat_valid), .rready_i(w_done), .rdata_o(m_axi_wdata_o), .count_o(beats),
    .error_o(fifo_error)
  );
  cu_fifo #(.Width(BurstBits), .Depth(LengthDepth)) u_lengths (
    .clk_i, .rst_ni(fifo_rst_n),
    .wvalid_i(issue), .wready_o(lengths_ready), .wdata_i(BurstBits'(burst - 1'b1)),
    .rvalid_o(length_valid), .rready_i(w_done && m_axi_wlast_o), .rdata_o(length),
    .count_o(unused_lengths)
  );

  assign m_axi_awvalid_o = aw_valid_q;
  assign m_axi_awaddr_o  = {aw_addr_q, BusBits'(0)};
  assign m_axi_awlen_o   = 8'(aw_len_q);
  assign m_axi_awsize_o  = 3'(BusBits);
  assign m_axi_awburst_o = 2'b01;
  assign m_axi_wvalid_o  = length_valid;
  assign m_axi_wstrb_o   = '1;
  assign m_axi_wlast_o   = beat_q == length;
  assign m_axi_bready_o  = 1'b1;

  assign done_o  = state_q == StDone;
  assign idle_o  = flight_q == '0;
  assign full_o  = full_q;
  assign error_o = error_q;
  assign used_o  = {used_q, BusBits'(0)};
  assign stall_o = (m_axi_wvalid_o && !m_axi_wready_i) || (m_axi_awvalid_o && !m_axi_awready_i);

  always_ff @(posedge clk_i) begin
    // A beat's first word clears the others.
    for (int unsigned s = 0; s < Slots; s++) begin
      if (state_q == StPad || (s != 0 && accept && slot_q == '0)) gather_q[s] <= '0;
      else if (accept && some_bytes && slot_q == SlotBits'(s)) gather_q[s] <= in_i.data;
    end
    if (accept && table_end) ending_q <= task_end;
    if (issue) begin
      aw_addr_q <= addr_q;
      aw_len_q  <= BurstBits'(burst - 1'b1);
    end
    if (start_i) begin
      addr_q <= addr_i[63:BusBits];
      spent_q <= ~limit_i[63:BusBits];
    end else begin
      if (issue) addr_q <= addr_q + (64-BusBits)'(burst);
      if (store) spent_q <= spent_q + 1'b1;
    end
    if (!rst_ni) begin
      state_q    <= StIdle;
      store_q    <= 1'b0;
      room_q     <= 1'b0;
      full_q     <= 1'b0;
      halted_q   <= 1'b0;
      error_q    <= 1'b0;
      used_q     <= '0;
      slot_q     <= '0;
      avail_q    <= '0;
      flight_q   <= '0;
      aw_valid_q <= 1'b0;
      beat_q     <= '0;
    end else begin
      state_q <= state_d;
      store_q <= store && !start_i;
      // Two beats may be on their way, and one more comes in the next cycle.
      room_q  <= beats <= AvailBits'(FifoBeats - 3);
      avail_q <= avail_d;
      if (store) used_q <= used_q + 1'b1;
      if (push_beat && none_left) full_q <= 1'b1;
      if (halt_i && state_q != StIdle && state_q != StDone) halted_q <= 1'b1;
      if ((b_done && m_axi_bresp_i != '0) || fifo_error) error_q <= 1'b1;
      if (accept) begin
        if (push || !beat_open) slot_q <= '0;
        else if (some_bytes) slot_q <= slot_q + 1'b1;
      end
      flight_q <= flight_q + FlightBits'(issue) - FlightBits'(b_done);
      if (issue) aw_valid_q <= 1'b1;
      else if (m_axi_awready_i) aw_valid_q <= 1'b0;
      if (w_done) beat_q <= m_axi_wlast_o ? '0 : beat_q + 1'b1;
      if (start_i) begin
        full_q   <= 1'b0;
        halted_q <= 1'b0;
        error_q  <= 1'b0;
        used_q   <= '0;
        slot_q   <= '0;
        avail_q  <= '0;
      end
    end
  end

  `ASSERT(a_start_idle, start_i |-> idle_o)
  `ASSERT(a_addr, start_i |-> addr_i[5:0] == '0 && limit_i[5:0] == '0)
  `ASSERT(a_room, store_q |-> fifo_ready, clk_i, !rst_ni || start_i)
  `ASSERT(a_claimed, m_axi_wvalid_o |-> beat_valid, clk_i, !rst_ni || start_i)
  `ASSERT(a_answer, m_axi_bvalid_i |-> flight_q != '0)
  `ASSERT(a_partial_ends, accept && !table_end |-> in_i.bytes == CountBits'(Bytes) && !in_i.last)
  `ASSERT(a_aw_stable,
      m_axi_awvalid_o && !m_axi_awready_i |=>
      m_axi_awvalid_o && $stable({m_axi_awaddr_o, m_axi_awlen_o}))
  `ASSERT(a_w_stable,
      m_axi_wvalid_o && !m_axi_wready_i |=>
      m_axi_wvalid_o && $stable({m_axi_wdata_o, m_axi_wlast_o}))
  `ASSERT(a_4k,
      m_axi_awvalid_o |->
      {1'b0, m_axi_awaddr_o[11:0]} + 13'((32'(m_axi_awlen_o) + 1) * BusBytes) <= 13'd4096)
endmodule
