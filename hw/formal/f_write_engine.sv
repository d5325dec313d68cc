// cu_write_engine: AXI4 rules of its bursts, and that they write each word of the input once, at its
// place in the area, and nothing outside of it. A job starts after reset, or when the engine is idle
// after a job; an arbitrary burst and an arbitrary word are followed.

module f_write_engine #(
  parameter int unsigned Bytes = 2,
  parameter int unsigned BusBytes = 2,
  parameter int unsigned AlignBytes = 4,
  parameter int unsigned MaxBurstBeats = 2,
  parameter int unsigned FifoBeats = 4,
  parameter int unsigned MaxOutstanding = 2,
  parameter bit Invariants = 1,
  parameter int unsigned Check = 0,  // 0: AXI4; 1: place and area; 2: words
  localparam int unsigned CountBits = $clog2(Bytes + 1),
  localparam int unsigned BusBits = $clog2(BusBytes)
) (
  input logic                 clk_i,
  input logic                 start_i,
  input logic [63:0]          addr_i,
  input logic [2:0]           limit_i,  // units of AlignBytes
  input logic                 halt_i,
  input logic                 in_valid_i,
  input logic [Bytes*8-1:0] in_data_i,
  input logic [CountBits-1:0] in_bytes_i,
  input logic                 in_last_i,
  input logic [1:0]           in_token_i,
  input logic                 awready_i,
  input logic                 wready_i,
  input logic [1:0]           bresp_i,
  input logic                 bvalid_i
);
  localparam int unsigned Cnt = 5;  // bits of a count of beats; an area has fewer than 2^Cnt
  localparam int unsigned Few = 3;  // bits of a count of bursts, modulo: few are in flight
  localparam int unsigned Slots = BusBytes / Bytes;
  localparam int unsigned AlignWords = AlignBytes / Bytes;

  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic done, idle, full, error, stall, in_ready, awvalid, wlast, wvalid, bready;
  logic [63:0] used, awaddr;
  logic [7:0] awlen;
  logic [2:0] awsize;
  logic [1:0] awburst;
  logic [BusBytes*8-1:0] wdata;
  logic [BusBytes-1:0] wstrb;
  cu_write_engine #(
    .Bytes(Bytes), .BusBytes(BusBytes), .MaxBurstBeats(MaxBurstBeats), .FifoBeats(FifoBeats),
    .AlignBytes(AlignBytes), .MaxOutstanding(MaxOutstanding)
  ) u_dut (
    .clk_i, .rst_ni(rst_n_q), .start_i, .addr_i, .limit_i(64'(limit_i) * AlignBytes), .halt_i,
    .done_o(done), .idle_o(idle), .full_o(full), .error_o(error), .used_o(used), .stall_o(stall),
    .in_valid_i, .in_ready_o(in_ready),
    .in_i({in_data_i, in_bytes_i, in_last_i, in_token_i}),
    .m_axi_awaddr_o(awaddr), .m_axi_awlen_o(awlen), .m_axi_awsize_o(awsize),
    .m_axi_awburst_o(awburst), .m_axi_awvalid_o(awvalid), .m_axi_awready_i(awready_i),
    .m_axi_wdata_o(wdata), .m_axi_wstrb_o(wstrb), .m_axi_wlast_o(wlast), .m_axi_wvalid_o(wvalid),
    .m_axi_wready_i(wready_i), .m_axi_bresp_i(bresp_i), .m_axi_bvalid_i(bvalid_i),
    .m_axi_bready_o(bready)
  );

  wire start = rst_n_q && start_i;
  wire aw = rst_n_q && awvalid && awready_i;
  wire w = rst_n_q && wvalid && wready_i;
  wire b = rst_n_q && bvalid_i && bready;
  wire push = rst_n_q && in_valid_i && in_ready;

  // Free constants: which burst and which word are followed.
  logic [Few-1:0] burst_q;
  logic [Cnt-1:0] word_q;
  always_ff @(posedge clk_i) begin
    burst_q <= burst_q;
    word_q  <= word_q;
  end

  logic running_q = 1'b0, ended_q = 1'b0, halted_q = 1'b0, error_q = 1'b0;
  logic [11:0] cursor_q;            // where the next burst must begin, within 4 KiB
  logic [Cnt-1:0] room_q = '0;      // beats of the area that no burst has claimed
  logic [Few-1:0] aws_q = '0, ws_q = '0, bs_q = '0;  // bursts
  logic [Cnt-1:0] beats_q = '0, beat_q = '0;         // beats written; of this burst
  logic aw_known_q = 1'b0, w_known_q = 1'b0;
  logic [7:0] aw_len_q, w_len_q;
  logic [Cnt-1:0] words_q = '0;     // of the input, padding counted
  logic word_known_q = 1'b0;
  logic [Bytes*8-1:0] word_data_q;
  logic aw_held_q = 1'b0, w_held_q = 1'b0;
  logic [71:0] aw_was_q;
  logic [BusBytes*8:0] w_was_q;
  logic [1:0] after_halt_q = '0;

  wire some = in_bytes_i != '0;
  wire table_end = in_token_i != '0;
  wire [Cnt-1:0] words = words_q + Cnt'(some);
  wire [Cnt-1:0] padded = (words + Cnt'(AlignWords - 1)) & ~Cnt'(AlignWords - 1);

  always_ff @(posedge clk_i) begin
    if (start) begin
      running_q <= 1'b1;
      ended_q   <= 1'b0;
      halted_q  <= 1'b0;
      error_q   <= 1'b0;
      cursor_q  <= addr_i[11:0];
      room_q    <= Cnt'(limit_i) * Cnt'(AlignBytes / BusBytes);
      aws_q     <= '0;
      ws_q      <= '0;
      bs_q      <= '0;
      beats_q   <= '0;
      beat_q    <= '0;
      words_q   <= '0;
      aw_known_q   <= 1'b0;
      w_known_q    <= 1'b0;
      word_known_q <= 1'b0;
      after_halt_q <= '0;
    end else begin
      if (halt_i && running_q) halted_q <= 1'b1;
      if (b && bresp_i != '0) error_q <= 1'b1;
      if (push && in_token_i == 2'd2) ended_q <= 1'b1;
      if (push) begin
        words_q <= table_end ? padded : words;
        if (some && words_q == word_q && !halted_q && !halt_i) begin
          word_known_q <= 1'b1;
          word_data_q  <= in_data_i;
        end
      end
      if (aw_known_q && w_known_q) begin  // compared
        aw_known_q <= 1'b0;
        w_known_q  <= 1'b0;
      end
      if (aw) begin
        cursor_q <= cursor_q + ((12'(awlen) + 12'd1) << BusBits);
        room_q   <= room_q - Cnt'(awlen) - 1'b1;
        aws_q    <= aws_q + 1'b1;
        if (aws_q == burst_q) begin
          aw_known_q <= 1'b1;
          aw_len_q   <= awlen;
        end
      end
      if (w) begin
        beats_q <= beats_q + 1'b1;
        beat_q  <= wlast ? '0 : beat_q + 1'b1;
        if (wlast) ws_q <= ws_q + 1'b1;
        if (wlast && ws_q == burst_q) begin
          w_known_q <= 1'b1;
          w_len_q   <= 8'(beat_q);
        end
      end
      if (b) bs_q <= bs_q + 1'b1;
      // The burst that stands at the address channel may still go.
      if (halted_q && aw && !aw_held_q) after_halt_q <= after_halt_q + 1'b1;
    end
    aw_held_q <= rst_n_q && awvalid && !awready_i;
    aw_was_q  <= {awaddr, awlen};
    w_held_q  <= rst_n_q && wvalid && !wready_i;
    w_was_q   <= {wdata, wlast};
  end

  always_ff @(posedge clk_i) begin
    if (rst_n_q) begin
      // The other sides' parts of the contract.
      m_start : assume (!start_i || (idle && addr_i[5:0] == '0 &&
                                     (!running_q || done || (halted_q && aws_q == bs_q))));
      m_space : assume (!start_i || addr_i <= 64'hffff_ffff_0000_0000);
      m_b     : assume (!bvalid_i || (bs_q != aws_q && bs_q != ws_q));
      m_bytes : assume (in_bytes_i <= CountBits'(Bytes));
      m_whole : assume (table_end || (in_bytes_i == CountBits'(Bytes) && !in_last_i));
      m_token : assume (in_token_i != 2'd3);
      m_ended : assume (!in_valid_i || !ended_q);
    end
  end

  if (Invariants) begin : g_invariants
    // The lengths of the bursts whose beats have not all left: of burst number ws_q and on.
    wire [3:0] lengths = u_dut.u_lengths.count_q;
    wire [2:0] first_slot = u_dut.u_lengths.rptr_q;
    wire [2:0] last_slot = u_dut.u_lengths.wptr_q - 3'd1;
    wire [2:0] claimed =  // beats in the FIFO that are a burst's
        (lengths > 4'd0 ? 3'(u_dut.u_lengths.mem[first_slot]) + 3'd1 : 3'd0) +
        (lengths > 4'd1 ? 3'(u_dut.u_lengths.mem[first_slot + 3'd1]) + 3'd1 : 3'd0) -
        3'(u_dut.beat_q);
    wire [Few-1:0] of_burst = burst_q - ws_q;  // the followed burst's place among the lengths
    wire open = 4'(of_burst) + 4'(awvalid) < lengths;           // its beats leave behind its address
    wire early = awvalid && lengths == '0 && aws_q == burst_q;  // its beats have left before it
    always_comb begin
      if (rst_n_q) begin
        // A beat that is on its way to the FIFO finds room there.
        i_store : assert (!u_dut.store_q || u_dut.beats < FifoBeats);
        i_room  : assert (!u_dut.room_q || u_dut.beats < FifoBeats - 1);
        i_avail : assert (u_dut.avail_q <= u_dut.beats);
      end
      if (rst_n_q && Check == 0) begin
        i_state  : assert (u_dut.state_q <= 3'd4 && running_q == (u_dut.state_q != 3'd0));
        i_quiet  : assert ((running_q && !done) || (u_dut.avail_q == '0 && !u_dut.store_q));
        i_halted : assert (!halted_q || done || u_dut.halted_q);
        i_after  : assert (after_halt_q == '0 && (!halted_q || !awvalid || aw_held_q));
        i_error  : assert (error == error_q);
        // Bursts: of those in flight, some still have beats to write, some wait for their answer.
        i_flight : assert (u_dut.flight_q <= 2'(MaxOutstanding) && 2'(awvalid) <= u_dut.flight_q &&
                           aws_q - bs_q == Few'(u_dut.flight_q) - Few'(awvalid));
        i_answer : assert (lengths <= 4'(u_dut.flight_q) &&
                           ws_q - bs_q == Few'(u_dut.flight_q) - Few'(lengths));
        i_slots  : assert (u_dut.u_lengths.wptr_q == first_slot + 3'(lengths));
        i_burst  : assert (!awvalid || 9'(awaddr[BusBits]) + 9'(awlen) <= 9'd1);
        // Beats.
        i_beat   : assert (beat_q == Cnt'(u_dut.beat_q) && u_dut.beat_q <=
                           (lengths != '0 && u_dut.u_lengths.mem[first_slot]));
        i_beats  : assert (u_dut.beats == u_dut.avail_q + claimed);
        i_fifo   : assert (!u_dut.fifo_error && u_dut.beats <= 3'(FifoBeats) &&
                           u_dut.u_beats.stored_q <= 3'(FifoBeats));
        i_read   : assert (u_dut.beat_valid || (lengths == '0 && u_dut.beats <= 3'd1));
        // The followed burst.
        i_open   : assert (open == (aw_known_q && !w_known_q) &&
                           (!open || aw_len_q == 8'(u_dut.u_lengths.mem[first_slot + of_burst])));
        i_early  : assert (early == (w_known_q && !aw_known_q) && (!early || w_len_q == awlen));
        i_same   : assert (!aw_known_q || !w_known_q || aw_len_q == w_len_q);
        i_length : assert (!awvalid || lengths == '0 ||
                           awlen == 8'(u_dut.u_lengths.mem[last_slot]));
      end
      if (!rst_n_q && Check == 0) begin
        i_reset : assert ({running_q, halted_q, error_q, aw_known_q, w_known_q, aw_held_q, w_held_q,
                           aws_q, ws_q, bs_q, beat_q, after_halt_q} == '0);
      end
    end
  end

  if (Check == 0) begin : g_axi
    always_ff @(posedge clk_i) begin
      if (rst_n_q) begin
        p_aw_held   : assert (!aw_held_q || (awvalid && {awaddr, awlen} == aw_was_q));
        p_w_held    : assert (!w_held_q || (wvalid && {wdata, wlast} == w_was_q));
        p_kind      : assert (!awvalid || (awburst == 2'b01 && awsize == 3'(BusBits)));
        p_strobes   : assert (&wstrb && bready);
        // None crosses a multiple of the greatest burst, hence none crosses 4 KiB: an area is too
        // small here to come near one.
        p_4k        : assert (!awvalid || (awaddr >> BusBits) % MaxBurstBeats + 64'(awlen) <
                              64'(MaxBurstBeats));
        p_length    : assert (!awvalid || awlen < 8'(MaxBurstBeats));
        p_wlast     : assert (!aw_known_q || !w_known_q || aw_len_q == w_len_q);
        p_in_flight : assert (aws_q - bs_q <= Few'(MaxOutstanding));
        p_idle      : assert (!idle || (!awvalid && !wvalid && aws_q == bs_q && ws_q == bs_q));
        p_error     : assert (error == error_q);
        p_halt      : assert (after_halt_q == '0);
      end
    end
  end else if (Check == 1) begin : g_area
    always_ff @(posedge clk_i) begin
      if (rst_n_q) begin
        p_place : assert (!awvalid || awaddr[11:0] == cursor_q);
        p_area  : assert (!awvalid || Cnt'(awlen) < room_q);
      end
    end
  end else begin : g_words
    always_ff @(posedge clk_i) begin
      if (rst_n_q) begin
        p_done : assert (!done || (ended_q && idle));
        if (done && !full && !error_q) begin
          p_all  : assert (beats_q == Cnt'(words_q / Slots));
          p_used : assert (used == (64'(words_q) / Slots) << BusBits);
        end
        if (w && word_known_q && beats_q == word_q / Slots) begin
          p_word : assert (wdata[(word_q % Slots)*Bytes*8+:Bytes*8] == word_data_q);
        end
      end
    end
  end
endmodule
