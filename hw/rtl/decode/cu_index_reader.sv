// Reads the index blocks of one way's tables, in order, and emits the handles of their data blocks.
//
// Two machines share the read port. The fetcher requests, for tables 0, 1, 2, ..., the sequence
//
//   descriptor 0, descriptor 1, index 0, descriptor 2, index 1, ..., descriptor n-1, index n-2,
//   index n-1
//
// so that the next index block is under way while handles of this one wait downstream. The walker
// takes the beats in the same order: descriptors into one of two slots, index blocks through a byte
// window, entry by entry:
//
//   Head   header; shared = unshared = 0 is the restart array      Long   varint by varint
//   Skip   the key: not needed                                     Handle offset, then size
//   Rest   what the value holds beyond its handle                  Flush  to the block's end
//   Check  the block's CRC is known: go on, or report              Begin  the next descriptor or block
//
// Handles leave before their block's CRC is known; the next table's, and the end, only afterwards.
// A table_count_i of 0 is an empty run.

module cu_index_reader
  import sluice_abi_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        start_i,  // once after reset
  input  logic [47:0] tables_addr_i,  // 8-byte aligned
  input  logic [15:0] table_count_i,

  output logic        req_valid_o,
  input  logic        req_ready_i,
  output logic [63:0] req_addr_o,
  output logic [31:0] req_bytes_o,
  input  logic        beat_valid_i,
  output logic        beat_ready_o,
  input  logic [63:0] beat_data_i,
  input  logic        done_valid_i,
  output logic        done_ready_o,
  input  logic [31:0] done_crc_i,
  input  logic        done_error_i,

  output logic        handle_valid_o,
  input  logic        handle_ready_i,
  output logic        handle_end_o,
  output logic [63:0] handle_addr_o,
  output logic [31:0] handle_bytes_o,
  output logic [63:0] handle_offset_o,
  output logic [15:0] handle_table_o,

  output logic        fault_valid_o,
  output logic [7:0]  fault_status_o,  // merge_status_e
  output logic [15:0] fault_table_o,
  output logic [63:0] fault_offset_o   // of the index block, or else descriptor, in the device
);
  import cu_entry_pkg::*;

  localparam logic [31:0] RestartBytes = 32'd8;           // the least that follows the entries
  localparam logic [31:0] MaxBlockBytes = 32'hffff_ffef;  // so that the trailer fits a request

  typedef struct packed {
    logic [63:0] data_bytes;
    logic [63:0] data_addr;
    logic [31:0] index_bytes;
    logic [63:0] index_addr;
    logic        bad;  // no size for an index block: it is not fetched
  } desc_t;

  desc_t [1:0] desc_q;
  logic [16:0] descs_q;    // descriptors read
  logic        running_q;  // between start and the end or a fault
  logic        fault_q;
  logic [15:0] count_q;
  logic [47:0] tables_q;

  function automatic logic [63:0] desc_addr(logic [16:0] n);
    return {16'h0, tables_q} + {42'h0, n, 5'h0};
  endfunction

  // ------------------------------------------------------------------ fetcher

  logic [16:0] fetch_desc_q, fetch_index_q;  // next to be requested
  logic fetch_valid_q;
  logic [63:0] fetch_addr_q;
  logic [31:0] fetch_bytes_q;
  logic want_desc, want_index, fetch_next;
  logic [63:0] slot_addr;
  logic [31:0] slot_bytes;
  logic slot_bad;

  assign slot_addr  = desc_q[fetch_index_q[0]].index_addr;
  assign slot_bytes = desc_q[fetch_index_q[0]].index_bytes;
  assign slot_bad   = desc_q[fetch_index_q[0]].bad;
  // One descriptor ahead of the index blocks.
  assign want_desc  = (fetch_desc_q != {1'b0, count_q}) & (fetch_desc_q <= fetch_index_q + 17'd1);
  assign want_index = ~want_desc & (fetch_index_q != {1'b0, count_q}) &
                      (fetch_index_q < descs_q);
  assign fetch_next = running_q & ~fault_q & (~fetch_valid_q | req_ready_i);

  always_ff @(posedge clk_i) begin
    if (fetch_next) begin
      fetch_addr_q     <= want_index ? slot_addr
                          : desc_addr(fetch_desc_q);
      fetch_bytes_q    <= want_index ? slot_bytes + 32'd5
                          : TableDescriptorBytes;
    end
    if (!rst_ni) begin
      fetch_valid_q <= 1'b0;
      fetch_desc_q  <= '0;
      fetch_index_q <= '0;
    end else begin
      if (req_ready_i) fetch_valid_q <= 1'b0;
      if (fetch_next) begin
        fetch_valid_q <= want_desc | (want_index & ~slot_bad);
        fetch_desc_q  <= fetch_desc_q + 17'(want_desc);
        fetch_index_q <= fetch_index_q + 17'(want_index);
      end
    end
  end

  assign req_valid_o = fetch_valid_q;
  assign req_addr_o  = fetch_addr_q;
  assign req_bytes_o = fetch_bytes_q;

  // ------------------------------------------------------------------ window on index blocks

  logic open_block, open_ready;
  desc_t slot;  // of the table at hand
  logic chunk_valid, chunk_ready, chunk_first, chunk_last;
  logic [63:0] chunk_data;
  logic chunk_parity;  // not used: what strays here leads to blocks that are none
  logic [2:0] chunk_lane;
  logic tail_valid, tail_pop;
  logic [31:0] tail_restarts, tail_crc;
  logic [7:0] tail_type;
  logic win_ready, win_move, win_flush, win_flushed;
  logic [63:0] win_head;
  logic [3:0] win_bytes;
  logic block_beat_ready, to_block;

  cu_block_chunks #(.ValueBytes(8), .BusBytes(8), .Tails(2)) u_chunks (
    .clk_i, .rst_ni,
    .block_valid_i(open_block), .block_ready_o(open_ready),
    .block_lane_i(slot.index_addr[2:0]), .block_bytes_i(slot.index_bytes + 32'd5),
    .beat_valid_i(beat_valid_i & to_block), .beat_ready_o(block_beat_ready), .beat_data_i,
    .beat_parity_i(1'b0), .chunk_parity_o(chunk_parity),
    .chunk_valid_o(chunk_valid), .chunk_ready_i(chunk_ready), .chunk_data_o(chunk_data),
    .chunk_first_o(chunk_first), .chunk_last_o(chunk_last), .chunk_lane_o(chunk_lane),
    .tail_valid_o(tail_valid), .tail_ready_i(tail_pop),
    .tail_o({tail_crc, tail_type, tail_restarts})
  );

  logic [2:0] unused_pos, unused_next_pos;
  logic [63:0] unused_ring;
  logic unused_parity, unused_flipped;
  cu_byte_window #(.ValueBytes(8)) u_window (
    .clk_i, .rst_ni,
    .chunk_valid_i(chunk_valid), .chunk_ready_o(chunk_ready), .chunk_data_i(chunk_data),
    .chunk_parity_i(chunk_parity),
    .chunk_first_i(chunk_first), .chunk_last_i(chunk_last), .chunk_lane_i(chunk_lane),
    .ready_o(win_ready), .head_o(win_head), .pos_o(unused_pos),
    .next_pos_o(unused_next_pos), .ring_o(unused_ring), .parity_o(unused_parity),
    .move_i(win_move), .bytes_i(win_bytes), .flush_i(win_flush), .flushed_o(win_flushed),
    .flipped_o(unused_flipped)
  );

  // ------------------------------------------------------------------ walker

  typedef enum logic [3:0] {
    Idle, Begin, Desc, DescDone, Head, Long, Skip, Handle, Rest, Flush, Check, End, Done
  } state_e;

  state_e state_q, state_d;
  logic [16:0] table_q, table_d;      // at hand
  logic [1:0] word_q, word_d;         // of the descriptor
  logic [1:0] varint_q, varint_d;     // that Long is at
  logic first_q, first_d;             // cycle after the header
  logic size_q, size_d;               // Handle is at the size
  logic more_q, more_d;               // Handle is in the second five bytes of a varint
  logic [31:0] left_q, left_d;        // bytes of the block's content from the position on
  logic [31:0] rest_q, rest_d;        // from the restart array on
  logic rest_zero_q, rest_zero_d;
  logic [31:0] shared_q, shared_d, unshared_q, unshared_d, value_q, value_d;
  logic [31:0] skip_q, skip_d;        // bytes of the key still to be skipped
  logic [31:0] value_left_q, value_left_d;
  logic [32:0] key_before_q, key_before_d;
  logic [63:0] acc_q, acc_d, offset_q, offset_d;
  merge_status_e content_q, content_d;  // first fault in the block
  merge_status_e verdict;
  logic raw_valid_q, raw_valid_d;       // a handle in (offset_q, acc_q) is to be checked
  logic raw_free, out_free;
  logic report;
  logic [63:0] report_offset;

  header_t head;
  assign head = parse_header(win_head);

  assign slot = desc_q[table_q[0]];

  logic [32:0] key_bytes;
  logic [33:0] need;
  logic header_bad, too_short, varint_ends;
  logic [2:0] varint_bytes;
  logic [63:0] varint_value;

  assign key_bytes = {1'b0, shared_q} + {1'b0, unshared_q};
  assign need      = {2'b0, unshared_q} + {2'b0, value_q} + {2'b0, RestartBytes};
  assign header_bad = need > {2'b0, left_q} || {1'b0, shared_q} > key_before_q ||
                      key_bytes < 33'd8;
  assign too_short = left_q < RestartBytes;

  // Five bytes of a varint64 at a time.
  assign varint_bytes = head.first_bytes;
  assign varint_ends  = head.first_ok;
  assign varint_value = more_q ? (acc_q | (64'(head.first) << 35)) : 64'(head.first);

  function automatic logic [3:0] at_most_8(logic [31:0] n);
    return (n[31:3] != '0) ? 4'd8 : {1'b0, n[2:0]};
  endfunction

  // A handle's block and trailer must lie in the table.
  logic [64:0] handle_end;
  logic handle_bad, handle_valid_q;
  assign handle_end = {1'b0, offset_q} + {1'b0, acc_q} + 65'd5;
  assign handle_bad = raw_valid_q & (acc_q > {32'h0, MaxBlockBytes} || handle_end[64] ||
                                     handle_end[63:0] > slot.data_bytes);
  assign out_free   = ~handle_valid_q | handle_ready_i;
  assign raw_free   = ~raw_valid_q | out_free;

  wire faulty = content_q != MergeStatusOk;
  merge_status_e block_verdict;
  wire array_ok = rest_zero_q & (rest_q[1:0] == '0) &
                  (tail_restarts == {2'b00, rest_q[31:2]} - 32'd1);
  always_comb begin
    block_verdict = MergeStatusOk;
    if (done_error_i) block_verdict = MergeStatusReadError;
    else if (cu_crc_pkg::mask_crc(done_crc_i) != tail_crc) block_verdict = MergeStatusIndexChecksum;
    else if (tail_type != '0) block_verdict = MergeStatusIndexCorrupt;
    else if (faulty) block_verdict = content_q;
    else if (!array_ok) block_verdict = MergeStatusIndexCorrupt;
  end


  always_comb begin
    state_d      = state_q;
    table_d      = table_q;
    word_d       = word_q;
    varint_d     = varint_q;
    first_d      = first_q;
    size_d       = size_q;
    more_d       = more_q;
    left_d       = left_q;
    rest_d       = rest_q;
    rest_zero_d  = rest_zero_q;
    shared_d     = shared_q;
    unshared_d   = unshared_q;
    value_d      = value_q;
    skip_d       = skip_q;
    value_left_d = value_left_q;
    key_before_d = key_before_q;
    acc_d        = acc_q;
    offset_d     = offset_q;
    content_d    = content_q;
    raw_valid_d  = raw_valid_q & ~raw_free & ~handle_bad;
    win_move     = 1'b0;
    win_bytes    = '0;
    open_block   = 1'b0;
    to_block     = 1'b0;
    tail_pop     = 1'b0;
    done_ready_o = 1'b0;
    report       = 1'b0;
    report_offset = slot.index_addr;
    verdict      = MergeStatusReadError;

    case (state_q)
      Idle: if (running_q) state_d = (count_q == '0) ? End : Begin;

      Begin: begin
        left_d       = slot.index_bytes;
        key_before_d = '0;
        content_d    = MergeStatusOk;
        if (descs_q != {1'b0, count_q} && descs_q <= table_q + 17'd1) begin
          state_d = Desc;
        end else if (slot.bad) begin
          report  = 1'b1;
          verdict = MergeStatusIndexCorrupt;
        end else begin
          open_block = 1'b1;
          if (open_ready) state_d = Head;
        end
      end

      Desc: if (beat_valid_i) begin
        word_d = word_q + 1'b1;
        if (word_q == 2'd3) state_d = DescDone;
      end

      DescDone: begin
        done_ready_o  = 1'b1;
        report_offset = desc_addr(descs_q);
        if (done_valid_i) begin
          report  = done_error_i;
          state_d = Begin;
        end
      end

      Head: begin
        to_block  = 1'b1;
        win_bytes = head.bytes;
        if (win_ready) begin
          rest_d      = left_q;
          rest_zero_d = win_head[31:0] == '0;
          varint_d    = 2'd0;
          first_d     = 1'b1;
          if (too_short) begin
            content_d = MergeStatusIndexCorrupt;
            state_d   = Flush;
          end else if (!head.fast) begin
            state_d = Long;
          end else if (head.shared == '0 && head.unshared == '0) begin
            state_d = Flush;
          end else begin
            win_move   = 1'b1;
            shared_d   = head.shared;
            unshared_d = head.unshared;
            skip_d     = head.unshared;
            value_d    = head.value_bytes;
            state_d    = Skip;
          end
        end
      end

      Long: begin
        to_block  = 1'b1;
        win_bytes = {1'b0, head.first_bytes};
        if (win_ready) begin
          if (too_short || !head.first_ok) begin
            content_d = MergeStatusIndexCorrupt;
            state_d   = Flush;
          end else begin
            win_move = 1'b1;
            varint_d = varint_q + 1'b1;
            if (varint_q == 2'd0) shared_d = head.first[31:0];
            if (varint_q == 2'd1) unshared_d = head.first[31:0];
            if (varint_q == 2'd2) begin
              value_d = head.first[31:0];
              skip_d  = unshared_q;
              state_d = Skip;
            end
          end
        end
      end

      Skip: begin
        to_block  = 1'b1;
        win_bytes = at_most_8(skip_q);
        size_d    = 1'b0;
        more_d    = 1'b0;
        value_left_d = value_q;
        if (first_q && header_bad) begin
          content_d = MergeStatusIndexCorrupt;
          state_d   = Flush;
        end else if (win_ready) begin
          first_d      = 1'b0;
          key_before_d = key_bytes;
          win_move     = 1'b1;
          skip_d       = skip_q - 32'(win_bytes);
          if (skip_q <= 32'd8) state_d = Handle;
        end
      end

      Handle: begin
        to_block  = 1'b1;
        win_bytes = {1'b0, varint_bytes};
        if (win_ready && raw_free) begin
          if (32'(varint_bytes) > value_left_q || (!varint_ends && more_q)) begin
            content_d = MergeStatusIndexCorrupt;
            state_d   = Flush;
          end else begin
            win_move     = 1'b1;
            value_left_d = value_left_q - 32'(varint_bytes);
            acc_d        = varint_value;
            more_d       = ~varint_ends;
            if (varint_ends) begin
              size_d = 1'b1;
              if (!size_q) begin
                offset_d = varint_value;
              end else begin
                raw_valid_d = 1'b1;
                state_d     = (value_left_d == '0) ? Head : Rest;
              end
            end
          end
        end
      end

      Rest: begin
        to_block  = 1'b1;
        win_bytes = at_most_8(value_left_q);
        if (win_ready) begin
          win_move     = 1'b1;
          value_left_d = value_left_q - 32'(win_bytes);
          if (value_left_q <= 32'd8) state_d = Head;
        end
      end

      Flush: begin
        to_block = 1'b1;
        if (win_flushed) state_d = Check;
      end

      Check: begin
        if (tail_valid && done_valid_i && !raw_valid_q) begin
          tail_pop     = 1'b1;
          done_ready_o = 1'b1;
          verdict      = block_verdict;
          report       = verdict != MergeStatusOk;
          table_d      = table_q + 17'd1;
          state_d      = (table_d == {1'b0, count_q}) ? End : Begin;
        end
      end

      End: if (out_free) state_d = Done;

      default: ;  // Done
    endcase

    if (win_move) left_d = left_q - 32'(win_bytes);
    // Content faults stand in the order of the block: a handle's comes before what follows it.
    if (handle_bad && !faulty) begin
      content_d = MergeStatusBadHandle;
      state_d   = Flush;
      win_move  = 1'b0;
    end
    if (report) state_d = Done;
  end

  assign win_flush    = state_q == Flush;
  assign beat_ready_o = (state_q == Desc) | (to_block & block_beat_ready);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      tables_q <= tables_addr_i;
      count_q  <= table_count_i;
    end
    word_q       <= word_d;
    varint_q     <= varint_d;
    first_q      <= first_d;
    size_q       <= size_d;
    more_q       <= more_d;
    left_q       <= left_d;
    rest_q       <= rest_d;
    rest_zero_q  <= rest_zero_d;
    shared_q     <= shared_d;
    unshared_q   <= unshared_d;
    value_q      <= value_d;
    skip_q       <= skip_d;
    value_left_q <= value_left_d;
    key_before_q <= key_before_d;
    acc_q        <= acc_d;
    offset_q     <= offset_d;
    if (state_q == Desc && beat_valid_i) begin
      case (word_q)
        2'd0: desc_q[descs_q[0]].index_addr <= beat_data_i;
        2'd1: begin
          desc_q[descs_q[0]].index_bytes <= beat_data_i[31:0];
          desc_q[descs_q[0]].bad <= beat_data_i[31:0] < RestartBytes ||
                                    beat_data_i[31:0] > MaxBlockBytes;
        end
        2'd2: desc_q[descs_q[0]].data_addr <= beat_data_i;
        default: desc_q[descs_q[0]].data_bytes <= beat_data_i;
      endcase
    end
    if (!rst_ni) begin
      state_q     <= Idle;
      running_q   <= 1'b0;
      word_q      <= '0;
      table_q     <= '0;
      descs_q     <= '0;
      raw_valid_q <= 1'b0;
      content_q   <= MergeStatusOk;
      fault_q     <= 1'b0;
    end else begin
      state_q     <= state_d;
      running_q   <= running_q | start_i;
      table_q     <= table_d;
      descs_q     <= descs_q + 17'(state_q == DescDone && done_valid_i && !done_error_i);
      raw_valid_q <= raw_valid_d;
      content_q   <= content_d;
      fault_q     <= fault_q | report;
    end
  end

  // ------------------------------------------------------------------ out

  logic handle_end_q;
  logic [63:0] handle_addr_q, handle_offset_q;
  logic [31:0] handle_bytes_q;
  logic [15:0] handle_table_q, fault_table_q;
  logic [63:0] fault_offset_q;
  merge_status_e fault_status_q;

  always_ff @(posedge clk_i) begin
    if (out_free) begin
      handle_end_q    <= state_q == End;
      handle_addr_q   <= slot.data_addr + offset_q;
      handle_bytes_q  <= acc_q[31:0];
      handle_offset_q <= offset_q;
      handle_table_q  <= table_q[15:0];
    end
    if (report) begin
      fault_status_q <= verdict;
      fault_table_q  <= (state_q == DescDone) ? descs_q[15:0] : table_q[15:0];
      fault_offset_q <= report_offset;
    end
    if (!rst_ni) handle_valid_q <= 1'b0;
    else if (out_free) handle_valid_q <= (state_q == End) | (raw_valid_q & ~handle_bad);
  end

  assign handle_valid_o  = handle_valid_q;
  assign handle_end_o    = handle_end_q;
  assign handle_addr_o   = handle_addr_q;
  assign handle_bytes_o  = handle_bytes_q;
  assign handle_offset_o = handle_offset_q;
  assign handle_table_o  = handle_table_q;
  assign fault_valid_o   = fault_q;
  assign fault_status_o  = fault_status_q;
  assign fault_table_o   = fault_table_q;
  assign fault_offset_o  = fault_offset_q;

`ifndef SYNTHESIS
  a_tables_aligned : assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i |-> tables_addr_i[2:0] == '0 && !running_q);
  c_long : cover property (@(posedge clk_i) state_q == Long);
  c_varint64 : cover property (@(posedge clk_i) state_q == Handle && more_q);
  c_prefetched : cover property (@(posedge clk_i) state_q == Begin && fetch_index_q > table_q);
`endif
endmodule
