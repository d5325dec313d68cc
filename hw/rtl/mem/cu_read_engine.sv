// Shared AXI4 read master: splits its clients' requests into bursts, delivers each client's beats
// through a FIFO of its own, and computes the CRC32C of each request on the way.
//
// Bursts are aligned to MaxBurstBeats beats, so that none crosses 4 KiB, and are issued only if the
// client's FIFO has room for a whole burst: rready is always high, and a client that stalls does
// not block the others. There is one ID; responses arrive in order.
//
//   request -> register -> cutter -> candidate burst -> round robin -> AR register      (per client,
//                                                                      from round robin shared)
//   R -> s0: beat -> client FIFO
//           -> s1: message bytes masked -> wide words folded -> s2: CRC of the word
//           -> s3: client's state -> s4: unwound after some cycles -> client's done FIFO
//
// With Tails, it also compares the CRC with the stored one, the last four bytes of a request, and says
// which five bytes come before it: for all clients in one place, where the bytes pass. With Stored,
// it says these four, too, for who knows of other checksums.
//
// Of an address the lower 48 bits count: no device has more memory.
//
// A client may have Requests requests in flight, from the first burst until its done is taken.
// After halt_i no burst is issued; once idle_o is high, none is outstanding and the engine can be
// reset.

`include "cu_assert.svh"

module cu_read_engine #(
  parameter int unsigned Clients       = 2,
  parameter int unsigned BusBytes      = 64,   // W: 8, 16, 32 or 64
  parameter int unsigned FifoBeats     = 256,  // per client, 2 * MaxBurstBeats or more
  parameter int unsigned MaxBurstBeats = 16,   // a power of two, at most 4096 / BusBytes
  parameter int unsigned Requests      = 8,    // in flight per client, 2 or more
  parameter int unsigned ParityBytes   = BusBytes,  // of a beat under one parity bit
  parameter int unsigned Tails         = 0,    // 1: of blocks of nine bytes or more
  parameter int unsigned Stored        = 0,    // 1: with Tails
  localparam int unsigned Parities = BusBytes / ParityBytes
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,

  input  logic [Clients-1:0]                 req_valid_i,
  output logic [Clients-1:0]                 req_ready_o,
  input  logic [Clients-1:0][63:0]           req_addr_i,
  input  logic [Clients-1:0][31:0]           req_bytes_i,

  output logic [Clients-1:0]                 beat_valid_o,
  input  logic [Clients-1:0]                 beat_ready_i,
  output logic [Clients-1:0][BusBytes*8-1:0] beat_data_o,
  output logic [Clients-1:0][Parities-1:0]   beat_parity_o,  // of the beat as its CRC saw it

  output logic [Clients-1:0]                 done_valid_o,
  input  logic [Clients-1:0]                 done_ready_i,
  output logic [Clients-1:0][31:0]           done_crc_o,    // without Tails
  output logic [Clients-1:0]                 done_good_o,   // with Tails: it is the stored one
  output logic [Clients-1:0][39:0]           done_tail_o,   // with Tails: what stands before that
  output logic [Clients-1:0][31:0]           done_stored_o, // with Stored: the last four bytes
  output logic [Clients-1:0]                 done_error_o,

  input  logic                               halt_i,
  output logic                               idle_o,
  output logic                               stall_o,
  output logic                               fifo_error_o,  // level: a client's FIFO is out of step

  output logic [63:0]                        m_axi_araddr_o,
  output logic [7:0]                         m_axi_arlen_o,
  output logic [2:0]                         m_axi_arsize_o,
  output logic [1:0]                         m_axi_arburst_o,
  output logic                               m_axi_arvalid_o,
  input  logic                               m_axi_arready_i,
  input  logic [BusBytes*8-1:0]              m_axi_rdata_i,
  input  logic [1:0]                         m_axi_rresp_i,
  input  logic                               m_axi_rlast_i,
  input  logic                               m_axi_rvalid_i,
  output logic                               m_axi_rready_o
);
  localparam int unsigned W = BusBytes;
  localparam int unsigned AddrBits = 48;
  localparam int unsigned LaneBits = $clog2(W);
  localparam int unsigned BurstBits = $clog2(MaxBurstBeats);
  localparam int unsigned BeatBits = BurstBits + 1;  // 0..MaxBurstBeats
  localparam int unsigned LeftBits = 33 - LaneBits;  // beats of a request
  localparam int unsigned EndBits = LaneBits + BeatBits;
  localparam int unsigned ClientBits = (Clients > 1) ? $clog2(Clients) : 1;
  localparam int unsigned RoomBits = $clog2(FifoBeats + 1);
  localparam int unsigned CreditBits = $clog2(Requests + 1);
  localparam int unsigned MaxBursts = 64;  // outstanding

  `ASSERT_PARAM(bus_bytes, BusBytes inside {8, 16, 32, 64}, "BusBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(max_burst_beats, MaxBurstBeats >= 2 && $onehot(MaxBurstBeats) &&
                                 MaxBurstBeats * BusBytes <= 4096,
                "MaxBurstBeats must be a power of two within 4 KiB")
  `ASSERT_PARAM(fifo_beats, FifoBeats >= 2 * MaxBurstBeats, "FifoBeats must hold two bursts")
  `ASSERT_PARAM(requests, Requests >= 2, "Requests must be 2 or more")
  `ASSERT_PARAM(clients, Clients >= 1, "Clients must be 1 or more")
  `ASSERT_PARAM(stored, Stored == 0 || Tails != 0, "With Stored, Tails must be 1")

  // A burst as the answer side needs it. `end_pos` is where the request's CRC message ends,
  // counted from lane 0 of the burst's first beat; 0 if it ended before, anything behind the burst
  // if it goes on.
  typedef struct packed {
    logic [ClientBits-1:0] client;
    logic                  first;    // of its request
    logic                  last;     // of its request
    logic [LaneBits-1:0]   lane;     // first byte, if first
    logic [LaneBits-1:0]   stored;   // first byte of the stored CRC, for Tails
    logic [EndBits-1:0]    end_pos;
  } burst_t;

  // ------------------------------------------------------------------ per client: cut into bursts

  typedef struct packed {
    logic [AddrBits-1:LaneBits] addr;  // in beats
    logic [BeatBits-1:0] beats;
    logic                first;
    logic                last;
    logic [LaneBits-1:0] lane;
    logic [LaneBits-1:0] stored;
    logic [EndBits-1:0]  end_pos;
  } cand_t;

  logic [Clients-1:0] eligible, grant, fifo_pop, done_pop;
  cand_t [Clients-1:0] cand;

  for (genvar c = 0; c < Clients; c++) begin : g_cut
    // The request that waits: one is enough, because cutting takes longer than accepting.
    logic                next_valid_q, next_ready;
    logic [AddrBits-1:0] next_addr_q;
    logic [31:0]         next_bytes_q;
    // The request being cut.
    logic                busy_q, busy_d, first_q, first_d;
    logic [AddrBits-1:LaneBits] addr_q, addr_d;
    logic [LaneBits-1:0] lane_q, lane_d;
    logic [LeftBits-1:0] left_q, left_d;  // beats
    logic [LaneBits-1:0] end_q, end_d;      // lane behind its message,
    logic                early_q, early_d;  // which ends in the last beat but one
    // The next burst to be issued.
    logic                cand_valid_q, cand_valid_d;
    cand_t               cand_q, cand_d;
    // Unreserved beats of the FIFO, one cycle late: grants and pops of the last cycle are accounted
    // for in this one.
    logic [RoomBits-1:0]   room_q, room_d;
    logic                  granted_q, popped_q;
    logic [BeatBits-1:0]   granted_beats_q;
    logic                  roomy_q, roomy_two_q;  // room for one burst of any length, for two
    logic [CreditBits-1:0] credit_q;        // requests that may still start

    logic [BurstBits-1:0] to_boundary;  // beats to the next aligned burst, less one
    logic [BeatBits-1:0]  beats;
    logic                 ends;
    logic [LeftBits-1:0]  left;  // of a new request, or behind the burst
    logic [LaneBits-1:0]  new_end;
    logic                 far, over;  // the message ends behind any burst; has ended
    logic [EndBits-1:0]   new_end_pos;

    assign to_boundary = ~addr_q[LaneBits+:BurstBits];
    assign ends        = ~far & (left_q[BeatBits-1:0] <= BeatBits'(to_boundary) + 1'b1);
    assign beats       = ends ? BeatBits'(left_q) : BeatBits'(to_boundary) + 1'b1;
    // Of the stored CRC.
    assign new_end     = next_bytes_q[LaneBits-1:0] + next_addr_q[LaneBits-1:0];

    // Of a message of four bytes at least; of a shorter one the CRC means nothing.
    assign far         = left_q[LeftBits-1:BeatBits] != '0;
    assign over        = early_q & (left_q == LeftBits'(1));
    assign new_end_pos = over ? '0 : {far ? '1 : left_q[BeatBits-1:0] - 1'b1 - BeatBits'(early_q),
                                      end_q};

    wire cut = busy_q & (~cand_valid_q | grant[c]);
    assign next_ready = (~busy_q | (cut & ends)) & (credit_q != '0);
    wire begins = next_valid_q & next_ready;
    // Which of them comes late: the client looks at many of these before it takes one.
    wire [CreditBits-1:0] credit_if_done = begins ? credit_q : credit_q + 1'b1;
    wire [CreditBits-1:0] credit_if_not  = begins ? credit_q - 1'b1 : credit_q;

    // Of a new request whole beats, and up to two for where its first and last byte stand. It shares
    // a carry chain with what is left.
    wire [LaneBits+1:0] more = (LaneBits + 2)'(next_bytes_q[LaneBits-1:0]) +
                               (LaneBits + 2)'(next_addr_q[LaneBits-1:0]) + (LaneBits + 2)'(W - 1);
    wire [LeftBits-1:0] change = begins ? LeftBits'(more[LaneBits+1:LaneBits])
                                        : ~LeftBits'(to_boundary);  // that and one less
    assign left = change + (begins ? LeftBits'(next_bytes_q[31:LaneBits]) : left_q);
    logic unused_more;
    assign unused_more = ^more[LaneBits-1:0];

    always_comb begin
      busy_d  = busy_q;
      first_d = first_q;
      addr_d  = addr_q;
      lane_d  = lane_q;
      left_d  = left_q;
      end_d   = end_q;
      early_d = early_q;
      cand_valid_d = cand_valid_q & ~grant[c];
      cand_d  = cand_q;
      if (cut) begin
        cand_valid_d = 1'b1;
        cand_d = '{addr: addr_q, beats: beats, first: first_q, last: ends, lane: lane_q,
                   stored: (Tails != 0) ? end_q : '0, end_pos: new_end_pos};
        busy_d  = ~ends;
        first_d = 1'b0;
        // Of what follows the burst, if anything does: on from the boundary.
        addr_d  = {addr_q[AddrBits-1:LaneBits+BurstBits] + 1'b1, BurstBits'(0)};
      end
      if (cut || begins) left_d = left;
      if (begins) begin
        busy_d  = 1'b1;
        first_d = 1'b1;
        addr_d  = next_addr_q[AddrBits-1:LaneBits];
        lane_d  = next_addr_q[LaneBits-1:0];
        end_d   = new_end - LaneBits'(4);
        early_d = new_end inside {LaneBits'(1), LaneBits'(2), LaneBits'(3)};
      end
      room_d = room_q + RoomBits'(popped_q) - (granted_q ? RoomBits'(granted_beats_q) : '0);
    end

    assign req_ready_o[c] = ~next_valid_q;

    always_ff @(posedge clk_i) begin
      if (!next_valid_q) begin
        next_addr_q  <= req_addr_i[c][AddrBits-1:0];
        next_bytes_q <= req_bytes_i[c];
      end
      addr_q <= addr_d;
      lane_q <= lane_d;
      left_q <= left_d;
      end_q  <= end_d;
      early_q <= early_d;
      first_q <= first_d;
      cand_q <= cand_d;
      granted_beats_q <= cand_q.beats;
      if (!rst_ni) begin
        next_valid_q <= 1'b0;
        busy_q       <= 1'b0;
        cand_valid_q <= 1'b0;
        room_q       <= RoomBits'(FifoBeats);
        roomy_q      <= 1'b1;
        roomy_two_q  <= 1'b1;
        granted_q    <= 1'b0;
        popped_q     <= 1'b0;
        credit_q     <= CreditBits'(Requests);
      end else begin
        next_valid_q <= next_valid_q ? ~next_ready : req_valid_i[c];
        busy_q       <= busy_d;
        cand_valid_q <= cand_valid_d;
        room_q       <= room_d;
        roomy_q      <= room_d >= RoomBits'(MaxBurstBeats);
        roomy_two_q  <= room_d >= RoomBits'(2 * MaxBurstBeats);
        granted_q    <= grant[c];
        popped_q     <= fifo_pop[c];
        if (done_pop[c]) credit_q <= credit_if_done;
        else             credit_q <= credit_if_not;
      end
    end

    assign cand[c]     = cand_q;
    assign eligible[c] = cand_valid_q & (granted_q ? roomy_two_q : roomy_q);

    `ASSERT(a_request, req_valid_i[c] |-> req_bytes_i[c] != 0)
    `ASSERT(a_room, grant[c] |-> room_d >= RoomBits'(cand_q.beats))
  end

  // ------------------------------------------------------------------ shared: issue

  logic [Clients-1:0] after_q;  // clients after the one served last: they have priority
  logic [Clients-1:0] eligible_after, pick;
  logic burst_ready, ar_free;
  logic arvalid_q, idle_q;
  logic [AddrBits-1:LaneBits] araddr_q;
  logic [7:0] arlen_q;
  cand_t chosen;
  logic [ClientBits-1:0] chosen_client;
  burst_t burst_in, burst;
  logic burst_valid, burst_pop;

  // The lowest bit that is set, without a carry chain.
  function automatic logic [Clients-1:0] lowest(logic [Clients-1:0] bits);
    logic below = 1'b0;
    for (int unsigned c = 0; c < Clients; c++) begin
      lowest[c] = bits[c] & ~below;
      below |= bits[c];
    end
  endfunction

  assign ar_free        = ~arvalid_q | m_axi_arready_i;
  assign eligible_after = eligible & after_q;
  assign pick           = (eligible_after != '0) ? lowest(eligible_after) : lowest(eligible);
  assign grant          = (ar_free & burst_ready & ~halt_i) ? pick : '0;

  cu_choice #(.Width($bits(cand_t)), .Words(Clients)) u_chosen (
    .words_i(cand), .pick_i(chosen_client), .word_o(chosen)
  );
  always_comb begin
    chosen_client = '0;
    for (int c = 0; c < int'(Clients); c++) begin
      if (pick[c]) chosen_client |= ClientBits'(c);
    end
    burst_in = '{client: chosen_client, first: chosen.first, last: chosen.last,
                 lane: chosen.lane, stored: chosen.stored, end_pos: chosen.end_pos};
  end

  always_ff @(posedge clk_i) begin
    if (ar_free) begin
      araddr_q <= chosen.addr;
      arlen_q  <= 8'(chosen.beats) - 8'd1;
    end
    if (!rst_ni) begin
      arvalid_q <= 1'b0;
      after_q   <= '0;
    end else begin
      if (ar_free) arvalid_q <= grant != '0;
      if (grant != '0) after_q <= ~(grant | (grant - 1'b1));
    end
  end

  assign m_axi_araddr_o  = 64'({araddr_q, LaneBits'(0)});
  logic unused_addr;
  always_comb begin
    unused_addr = 1'b0;
    for (int c = 0; c < int'(Clients); c++) unused_addr ^= ^req_addr_i[c][63:AddrBits];
  end
  assign m_axi_arlen_o   = arlen_q;
  assign m_axi_arsize_o  = 3'(LaneBits);
  assign m_axi_arburst_o = 2'b01;
  assign m_axi_arvalid_o = arvalid_q;
  assign m_axi_rready_o  = 1'b1;
  assign stall_o         = arvalid_q & ~m_axi_arready_i;
  assign idle_o          = idle_q;

  // A register: what waits for the ports to be idle is late.
  logic [$clog2(MaxBursts+1)-1:0] bursts;
  wire none_left = (bursts == '0) | ((bursts == 1) & burst_pop);
  always_ff @(posedge clk_i) idle_q <= ~rst_ni | (none_left & (grant == '0));
  `ASSERT(a_idle, idle_q == !burst_valid)

  cu_fifo #(.Width($bits(burst_t)), .Depth(MaxBursts)) u_bursts (
    .clk_i, .rst_ni,
    .wvalid_i(grant != '0), .wready_o(burst_ready), .wdata_i(burst_in),
    .rvalid_o(burst_valid), .rready_i(burst_pop), .rdata_o(burst),
    .count_o(bursts)
  );

  // ------------------------------------------------------------------ s0: beats as they arrive

  wire r_beat = m_axi_rvalid_i & burst_valid;
  assign burst_pop = r_beat & m_axi_rlast_i;

  typedef struct packed {
    logic                  valid;
    logic [ClientBits-1:0] client;
    logic                  first;  // beat of its request
    logic                  last;   // beat of its request
    logic                  error;
    logic [LaneBits-1:0]   lane;
    logic [LaneBits-1:0]   stored;
    logic                  message;   // the beat holds message bytes
    logic [LaneBits:0]     end_lane;  // behind them
  } beat_t;

  logic mid_q;  // within a burst
  logic [EndBits-1:0] next_end_q, end_pos;
  beat_t s0_q;
  logic [W*8-1:0] s0_data_q;

  assign end_pos = mid_q ? next_end_q : burst.end_pos;

  always_ff @(posedge clk_i) begin
    s0_data_q <= m_axi_rdata_i;
    s0_q <= '{valid: r_beat, client: burst.client, first: burst.first & ~mid_q,
              last: burst.last & m_axi_rlast_i, error: m_axi_rresp_i != 2'b00,
              lane: burst.lane, stored: burst.stored, message: end_pos != '0,
              end_lane: (end_pos[EndBits-1:LaneBits] != '0) ? (LaneBits + 1)'(W)
                                                            : {1'b0, end_pos[LaneBits-1:0]}};
    if (r_beat) begin
      next_end_q <= (end_pos[EndBits-1:LaneBits] == '0) ? '0 : end_pos - EndBits'(W);
    end
    if (!rst_ni) begin
      mid_q <= 1'b0;
      s0_q.valid <= 1'b0;
    end else if (r_beat) begin
      mid_q <= ~m_axi_rlast_i;
    end
  end

  // The CRC covers the beats as they arrive; parity covers them from here on.
  logic [Clients-1:0] s0_client;
  logic [Parities-1:0] parity;
  always_comb begin
    for (int unsigned p = 0; p < Parities; p++) begin
      parity[p] = ^s0_data_q[p*ParityBytes*8+:ParityBytes*8];
    end
  end
  logic [Clients-1:0] beats_error, beats_error_q;
  logic fifo_error_q;
  assign fifo_error_o = fifo_error_q;
  always_ff @(posedge clk_i) begin
    beats_error_q <= rst_ni ? beats_error : '0;
    fifo_error_q  <= rst_ni & (fifo_error_q | (beats_error_q != '0));
  end

  for (genvar c = 0; c < Clients; c++) begin : g_beats
    logic wready;
    logic [RoomBits-1:0] unused_beats;
    assign s0_client[c] = s0_q.valid & (s0_q.client == ClientBits'(c));
    assign fifo_pop[c]  = beat_valid_o[c] & beat_ready_i[c];
    cu_ram_fifo #(.Width(W * 8 + Parities), .Depth(FifoBeats)) u_beats (
      .clk_i, .rst_ni,
      .wvalid_i(s0_client[c]), .wready_o(wready), .wdata_i({parity, s0_data_q}),
      .rvalid_o(beat_valid_o[c]), .rready_i(beat_ready_i[c]),
      .rdata_o({beat_parity_o[c], beat_data_o[c]}), .count_o(unused_beats),
      .error_o(beats_error[c])
    );
    `ASSERT(a_reserved, s0_client[c] |-> wready)
  end

  // ------------------------------------------------------------------ s1: mask message bytes

  logic [W*8-1:0] s1_word_q;
  logic [W-1:0] before_end, before_begin;  // lanes

  // Lanes below n, by eights and within them: the two meet in the LUT that takes a lane's byte.
  function automatic logic [W-1:0] lanes_below(logic [LaneBits:0] n);
    for (int unsigned i = 0; i < W; i++) begin
      lanes_below[i] = (LaneBits - 2)'(i >> 3) < n[LaneBits:3] ||
                       ((LaneBits - 2)'(i >> 3) == n[LaneBits:3] && 3'(i) < n[2:0]);
    end
  endfunction

  assign before_end   = lanes_below(s0_q.end_lane);
  assign before_begin = lanes_below(s0_q.first ? {1'b0, s0_q.lane} : '0);

  typedef struct packed {
    logic                  valid;
    logic [ClientBits-1:0] client;
    logic                  first;
    logic                  last;
    logic                  error;
    logic                  message;  // the beat holds message bytes
    logic [LaneBits-1:0]   zeros;    // after them
  } crc_beat_t;

  crc_beat_t s1_q, folded_q, s2_q;
  logic [LaneBits-1:0] s1_lane_q;
  logic [31:0] share;  // of the word, from state zero
  logic [31:0] start_d, start_q;  // what the initial state has become by the end of the word
  logic [31:0] s2_crc_d, s2_crc_q;

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(W); i++) begin
      s1_word_q[8*i+:8] <= s0_data_q[8*i+:8];
      if (before_begin[i] || !before_end[i]) s1_word_q[8*i+:8] <= '0;
    end
    s1_q <= '{valid: s0_q.valid, client: s0_q.client, first: s0_q.first, last: s0_q.last,
              error: s0_q.error, message: s0_q.message,
              zeros: LaneBits'((LaneBits + 1)'(W) - s0_q.end_lane)};
    s1_lane_q  <= s0_q.lane;
    folded_q <= s1_q;
    start_q  <= s1_q.first ? start_d : '0;
    s2_q     <= folded_q;
    s2_crc_q <= s2_crc_d;
    if (!rst_ni) begin
      s1_q.valid     <= 1'b0;
      folded_q.valid <= 1'b0;
      s2_q.valid     <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ s2, s3: one CRC for all

  // The step is linear: the word's share is computed ahead, the loop holds only the state's.
  if (W * 8 > cu_crc_pkg::FoldedBits) begin : g_fold
    localparam int unsigned Low = W * 8 - cu_crc_pkg::FoldedBits;
    logic [cu_crc_pkg::FoldedBits-1:0] word_q;
    always_ff @(posedge clk_i) begin
      word_q <= cu_crc_pkg::FoldedBits'(cu_crc_pkg::fold(512'(s1_word_q), W) >> Low);
    end
    cu_crc_step #(.Bytes(W)) u_share (
      .state_i('0), .word_i({word_q, Low'(0)}), .state_o(share)
    );
  end else begin : g_whole
    logic [31:0] share_d;
    cu_crc_step #(.Bytes(W)) u_share (.state_i('0), .word_i(s1_word_q), .state_o(share_d));
    always_ff @(posedge clk_i) share <= share_d;
  end
  localparam cu_crc_pkg::starts_t Starts = cu_crc_pkg::starts(W);
  always_comb begin
    start_d = '0;
    for (int l = 0; l < int'(W); l++) if (s1_lane_q == LaneBits'(l)) start_d |= Starts[l];
  end
  assign s2_crc_d = start_q ^ share;

  typedef struct packed {
    logic [31:0]         crc;
    logic [LaneBits-1:0] zeros;
    logic                error;
  } state_t;

  (* ram_style = "distributed" *) state_t states[Clients];
  state_t old_state, new_state;
  logic [31:0] stepped;

  cu_crc_step #(.Bytes(W)) u_state (.state_i(old_state.crc), .word_i('0), .state_o(stepped));

  always_comb begin
    old_state = states[s2_q.client];
    if (s2_q.first) old_state = '0;
    new_state = old_state;
    if (s2_q.message) begin
      new_state.crc   = stepped ^ s2_crc_q;
      new_state.zeros = s2_q.zeros;
    end
    new_state.error = old_state.error | s2_q.error;
  end

  // ------------------------------------------------------------------ s4: unwind and deliver

  typedef struct packed {
    logic                  valid;
    logic [ClientBits-1:0] client;
    logic                  error;
  } end_t;

  localparam int unsigned UnwindCycles = cu_crc_pkg::unwind_cycles(W);
  end_t [UnwindCycles:0] ends_q;  // s3, and beside the unwinding
  end_t s4;
  logic [31:0] s3_crc_q;
  logic [LaneBits-1:0] s3_zeros_q;
  logic [31:0] crc;

  cu_crc_unwind #(.MaxBytes(W)) u_unwind (
    .clk_i, .state_i(s3_crc_q), .zeros_i(s3_zeros_q), .crc_o(crc)
  );

  assign s4 = ends_q[UnwindCycles];

  always_ff @(posedge clk_i) begin
    if (s2_q.valid) states[s2_q.client] <= new_state;
    s3_crc_q   <= new_state.crc;
    s3_zeros_q <= new_state.zeros;
    ends_q[0] <= '{valid: s2_q.valid & s2_q.last, client: s2_q.client, error: new_state.error};
    for (int i = 0; i < int'(UnwindCycles); i++) ends_q[i+1] <= ends_q[i];
    if (!rst_ni) begin
      for (int i = 0; i <= int'(UnwindCycles); i++) ends_q[i].valid <= 1'b0;
    end
  end

  // What goes with an error bit: the CRC, or what is known of the tail.
  localparam int unsigned TailBits = (Tails != 0) ? 41 : 32;
  localparam int unsigned AnswerBits = TailBits + ((Stored != 0) ? 32 : 0);
  logic [AnswerBits-1:0] answer;
  logic [Clients-1:0][AnswerBits-1:0] done_answer;

  if (Tails != 0) begin : g_tails
    // The last nine bytes, maybe from two beats of the client. They wait for their CRC.
    localparam int unsigned Depth = 16;  // ends between s0 and s4, or more
    (* ram_style = "distributed" *) logic [63:0] previous[Clients];
    logic [71:0] s0_tail, tail;
    logic tail_room, tail_valid;
    logic [$clog2(Depth+1)-1:0] unused_tails;
    wire s0_ends = s0_q.valid & s0_q.last;
    wire [63:0] s0_before = previous[s0_q.client];
    always_ff @(posedge clk_i) if (s0_q.valid) previous[s0_q.client] <= s0_data_q[W*8-1-:64];

    cu_byte_select #(.OutBytes(9), .Positions(W)) u_tail (
      .data_i({s0_data_q, s0_before}), .pos_i(s0_q.stored + LaneBits'(3)), .data_o(s0_tail)
    );
    cu_fifo #(.Width(72), .Depth(Depth)) u_tails (
      .clk_i, .rst_ni,
      .wvalid_i(s0_ends), .wready_o(tail_room), .wdata_i(s0_tail),
      .rvalid_o(tail_valid), .rready_i(s4.valid), .rdata_o(tail), .count_o(unused_tails)
    );
    assign answer[TailBits-1:0] = {cu_crc_pkg::is_masked(crc, tail[71:40]), tail[39:0]};
    if (Stored != 0) begin : g_stored
      assign answer[AnswerBits-1:TailBits] = tail[71:40];
    end
    `ASSERT(a_tail_room, s0_ends |-> tail_room)
    `ASSERT(a_tail, s4.valid |-> tail_valid)
  end else begin : g_crcs
    assign answer = crc;
    wire unused_stored = ^s0_q.stored;
  end

  for (genvar c = 0; c < Clients; c++) begin : g_done
    logic wready;
    logic [CreditBits-1:0] unused_done;
    wire push = s4.valid & (s4.client == ClientBits'(c));
    assign done_pop[c] = done_valid_o[c] & done_ready_i[c];
    assign done_crc_o[c]  = (Tails != 0) ? '0 : done_answer[c][31:0];
    assign done_good_o[c] = (Tails != 0) & done_answer[c][TailBits-1];
    assign done_tail_o[c] = (Tails != 0) ? 40'(done_answer[c]) : '0;
    assign done_stored_o[c] = (Stored != 0) ? done_answer[c][AnswerBits-1-:32] : '0;
    cu_fifo #(.Width(1 + AnswerBits), .Depth(Requests)) u_done (
      .clk_i, .rst_ni,
      .wvalid_i(push), .wready_o(wready), .wdata_i({s4.error, answer}),
      .rvalid_o(done_valid_o[c]), .rready_i(done_ready_i[c]),
      .rdata_o({done_error_o[c], done_answer[c]}),
      .count_o(unused_done)
    );
    `ASSERT(a_credit, push |-> wready)
  end

  `ASSERT(a_4k,
      m_axi_arvalid_o |->
      13'(m_axi_araddr_o[11:0]) + ((13'(m_axi_arlen_o) + 13'd1) << LaneBits) <= 13'd4096)
  `ASSERT(a_ar_stable,
      m_axi_arvalid_o && !m_axi_arready_i |=>
      m_axi_arvalid_o && $stable({m_axi_araddr_o, m_axi_arlen_o}))
  `COVER(c_early_end, s0_q.valid && !s0_q.last && s0_q.end_lane < (LaneBits + 1)'(W))
  `COVER(c_stored_crc_alone, s0_q.valid && s0_q.last && !s0_q.message)
endmodule
