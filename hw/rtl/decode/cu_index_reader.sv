// Reads the index blocks of one way's tables, in order, and emits the handles of their data blocks.
//
// Two state machines share the read port. The fetcher requests, for tables 0, 1, 2, ..., the
// sequence
//
//   descriptor 0, descriptor 1, index 0, descriptor 2, index 1, ..., descriptor n-1, index n-2,
//   index n-1
//
// so that the next index block is being fetched while handles of the current one wait downstream.
// The walker takes the beats in the same order: descriptors into one of two slots, index blocks
// word by word, entry by entry:
//
//   Header  three varints, one byte per cycle; two zeros (shared, unshared) mean the restart array
//   Zeros   the rest of the first restart                 Skip   skip the key
//   Handle  offset, then size, one byte per cycle         Rest   skip the rest of the value
//   Flush   drop the rest of the block                    Check  wait for the block's CRC
//   Judge   continue, or report a fault                   Next, Begin  next descriptor or block
//
// An entry takes one cycle per byte of header and handle and one per word of its key. Headers are
// checked in parallel with Skip, and handles in parallel with the next entry, each in the cycle
// after it is complete. A fault takes effect one cycle after it is found.
//
// A block must start at or after the end of the previous one, so that no job reads more than its
// tables hold.
//
// Handles are emitted before the CRC of their index block is known; handles of the next table, and
// the end, only afterwards. A table_count_i of 0 is an empty run.

`include "cu_assert.svh"

module cu_index_reader
  import sluice_abi_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        load_i,         // once after reset
  input  logic [47:0] tables_addr_i,  // 8-byte aligned, at start
  input  logic [15:0] table_count_i,
  input  logic        start_i,        // after load, for a cycle at least

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
  localparam logic [31:0] RestartBytes = 32'd8;           // the least that follows the entries
  localparam logic [31:0] MaxBlockBytes = 32'hffff_ffef;  // so that the trailer fits a request
  localparam logic [31:0] TrailerBytes = 32'd5;
  localparam int unsigned OffsetBits = 48;  // and of addresses: no device has more memory

  // Words of a descriptor.
  localparam logic [1:0] IndexAddr = 2'd0, IndexBytes = 2'd1, DataAddr = 2'd2, DataBytes = 2'd3;

  // For two tables, indexed by the lowest bit of their number.
  (* ram_style = "distributed" *) logic [63:0] desc[8];
  logic [1:0] bad_q;          // impossible size of an index block: not fetched
  logic [1:0][2:0] lane_q;    // of the index block's first byte
  logic [16:0] descs_q;       // descriptors read
  logic        running_q;     // between start and the end or a fault
  logic        fault_q;
  logic [15:0] count_q;
  logic [47:0] tables_q;

  function automatic logic [OffsetBits-1:0] desc_addr(logic [16:0] n);
    return tables_q + {26'h0, n, 5'h0};
  endfunction

  // Of numbers of tables, the low bits: the first is ahead of the second by none to two (a_ahead).
  function automatic logic by_two(logic [1:0] ahead, logic [1:0] n);
    return (ahead[1] != n[1]) & (ahead[0] == n[0]);
  endfunction

  // ------------------------------------------------------------------ fetcher

  logic [16:0] fetch_desc_q, fetch_index_q;  // next to be requested
  logic fetch_valid_q, fetch_half_q;  // half: of an index block, the address is there
  logic [OffsetBits-1:0] fetch_addr_q, fetch_word;
  logic [31:0] fetch_bytes_q;
  logic want_desc, want_index, fetch_next;

  assign fetch_word = OffsetBits'(desc[{fetch_index_q[0], fetch_half_q ? IndexBytes : IndexAddr}]);
  // One descriptor ahead of the index blocks.
  assign want_desc  = ~fetch_half_q & (fetch_desc_q != {1'b0, count_q}) &
                      ~by_two(fetch_desc_q[1:0], fetch_index_q[1:0]);
  assign want_index = ~want_desc & (fetch_index_q != {1'b0, count_q}) &
                      (fetch_index_q[1:0] != descs_q[1:0]);
  assign fetch_next = running_q & ~fault_q & (~fetch_valid_q | req_ready_i);

  always_ff @(posedge clk_i) begin
    if (fetch_next) begin
      if (!fetch_half_q) fetch_addr_q <= want_desc ? desc_addr(fetch_desc_q) : fetch_word;
      fetch_bytes_q <= fetch_half_q ? fetch_word[31:0] + TrailerBytes : TableDescriptorBytes;
    end
    if (!rst_ni) begin
      fetch_valid_q <= 1'b0;
      fetch_half_q  <= 1'b0;
      fetch_desc_q  <= '0;
      fetch_index_q <= '0;
    end else begin
      if (req_ready_i) fetch_valid_q <= 1'b0;
      if (fetch_next) begin
        fetch_valid_q <= want_desc | (fetch_half_q & ~bad_q[fetch_index_q[0]]);
        fetch_half_q  <= want_index & ~fetch_half_q;
        fetch_desc_q  <= fetch_desc_q + 17'(want_desc);
        fetch_index_q <= fetch_index_q + 17'(fetch_half_q);
      end
    end
  end

  assign req_valid_o = fetch_valid_q;
  assign req_addr_o  = 64'(fetch_addr_q);
  assign req_bytes_o = fetch_bytes_q;

  // ------------------------------------------------------------------ words of index blocks

  logic open_block, open_ready;
  logic [63:0] desc_word;  // of the table at hand
  logic [2:0] open_lane;
  logic [31:0] open_bytes;
  logic chunk_valid, chunk_ready, chunk_last, unused_first;
  logic [63:0] chunk_data, words;
  logic [2:0] unused_lane;
  logic unused_parity;  // a flipped bit here leads to blocks that do not exist
  logic tail_valid, tail_pop;
  logic [31:0] tail_restarts, tail_crc;
  logic [7:0] tail_type;
  logic word_valid, word_pop, word_last;
  logic [1:0] unused_words;
  logic block_beat_ready;

  cu_block_chunks #(.ValueBytes(8), .BusBytes(8), .Tails(2)) u_chunks (
    .clk_i, .rst_ni,
    .block_valid_i(open_block), .block_ready_o(open_ready),
    .block_lane_i(open_lane), .block_bytes_i(open_bytes),
    .beat_valid_i, .beat_ready_o(block_beat_ready), .beat_data_i,
    .beat_parity_i(1'b0), .chunk_parity_o(unused_parity),
    .chunk_valid_o(chunk_valid), .chunk_ready_i(chunk_ready), .chunk_data_o(chunk_data),
    .chunk_first_o(unused_first), .chunk_last_o(chunk_last), .chunk_lane_o(unused_lane),
    .tail_valid_o(tail_valid), .tail_ready_i(tail_pop),
    .tail_o({tail_crc, tail_type, tail_restarts})
  );

  // Decouples the walker from the read port.
  cu_fifo #(.Width(65), .Depth(2)) u_words (
    .clk_i, .rst_ni,
    .wvalid_i(chunk_valid), .wready_o(chunk_ready), .wdata_i({chunk_last, chunk_data}),
    .rvalid_o(word_valid), .rready_i(word_pop), .rdata_o({word_last, words}),
    .count_o(unused_words)
  );

  // ------------------------------------------------------------------ walker

  typedef enum logic [3:0] {
    Idle, Next, Begin, Reject, Desc, DescDone, Header, Zeros, Skip, Handle, Rest, Flush, Check,
    Judge, End, Done
  } state_e;

  typedef enum logic [2:0] {Shared, Unshared, Value, Offset, Size} field_e;

  state_e state_q, state_d;
  logic [16:0] table_q, table_d;      // at hand
  logic [1:0] word_q, word_d;         // of the descriptor
  logic [2:0] pos_q, pos_d;           // in the word
  field_e field_q, field_d;           // the varint at hand
  logic [3:0] group_q, group_d;       // its next seven bits
  logic [31:0] left_q, left_d;        // bytes of the block's content from the position on
  logic [31:0] skip_q, skip_d;        // of key or value from the position on
  logic zeros_q, zeros_d;             // all bytes of the entry so far
  logic [31:0] shared_q, unshared_q, value_q;
  logic [OffsetBits-1:0] offset_q;
  logic [31:0] size_q;
  logic offset_long_q, size_long_q;   // they have more bits
  logic [32:0] key_before_q;
  logic header_q, header_d;           // the header is whole since this cycle
  logic header_bad_q;
  logic corrupt_q, corrupt_d;         // Header or Handle was wrong
  logic no_handle_q, no_handle_d;     // it was Handle
  logic ended_q;                      // after Next: there is no table
  logic desc_next_q;                  // a descriptor comes before the index block
  merge_status_e content_q, content_d;  // first fault in the block
  merge_status_e verdict;
  logic report;
  logic out_free;

  wire [7:0] next_byte = words[{pos_q, 3'b0}+:8];
  wire more = next_byte[7];
  wire none_left = left_q == '0;
  logic take_byte;  // of a varint
  logic [OffsetBits-1:0] next_bits;  // of the varint
  for (genvar b = 0; b < OffsetBits; b++) begin : g_bit
    assign next_bits[b] = next_byte[b%7] & (b < 7 || group_q != '0);
  end

  // Key and value are skipped up to the end of the word, or to their own end.
  wire [3:0] in_word = 4'd8 - {1'b0, pos_q};
  wire skip_long = skip_q[31:4] != '0;
  wire skip_rest = skip_long | (skip_q[3:0] > in_word);  // there is more in the next word
  wire word_ends = skip_long | (skip_q[3:0] >= in_word);
  wire [3:0] skip_now = word_ends ? in_word : skip_q[3:0];
  logic [3:0] move;

  // A header: the entry that it describes must fit into the block.
  wire [32:0] key_bytes = {1'b0, shared_q} + {1'b0, unshared_q};
  wire [33:0] need = {2'b0, unshared_q} + {2'b0, value_q} + {2'b0, RestartBytes};
  wire header_bad = need > {2'b0, left_q} || {1'b0, shared_q} > key_before_q || key_bytes < 33'd8;

  // A handle: its block and trailer must lie in the table, after the previous block. Checked, then
  // emitted.
  typedef enum logic [1:0] {None, Whole, Checked} handle_e;
  handle_e handle_q, handle_d;
  logic handle_bad_q;
  logic [OffsetBits:0] passed_q;  // of the table: the end of the block that was named last
  wire skipping = (state_q == Skip) | (state_q == Rest);
  wire by_byte = (state_q == Header) | (state_q == Zeros) |
                 ((state_q == Handle) & (handle_q == None));
  wire [OffsetBits:0] handle_end = {1'b0, offset_q} + (OffsetBits + 1)'(size_q) +
                                   (OffsetBits + 1)'(TrailerBytes);
  wire handle_bad = offset_long_q || size_long_q || size_q > MaxBlockBytes ||
                    64'(handle_end) > desc_word || {1'b0, offset_q} < passed_q;
  wire send = (handle_q == Checked) & ~handle_bad_q & out_free;
  wire refuse = (handle_q == Checked) & handle_bad_q;

  logic [1:0] desc_field;
  always_comb begin
    desc_field = IndexAddr;
    if (state_q == Next || state_q == Begin) desc_field = IndexBytes;
    if (handle_q == Whole) desc_field = DataBytes;
    if (handle_q == Checked) desc_field = DataAddr;
  end
  assign desc_word = desc[{table_q[0], desc_field}];
  assign open_lane  = lane_q[table_q[0]];
  always_ff @(posedge clk_i) open_bytes <= desc_word[31:0] + TrailerBytes;  // in Next, for Begin

  // The block's end, compared in Check.
  logic crc_bad_q, type_bad_q, array_bad_q;
  wire known = tail_valid & done_valid_i & (handle_q == None);

  always_comb begin
    state_d      = state_q;
    table_d      = table_q;
    word_d       = word_q;
    pos_d        = pos_q;
    field_d      = field_q;
    group_d      = group_q;
    left_d       = left_q;
    skip_d       = skip_q;
    zeros_d      = zeros_q;
    header_d     = 1'b0;
    corrupt_d    = 1'b0;
    no_handle_d  = 1'b0;
    content_d    = content_q;
    handle_d     = handle_q;
    take_byte    = 1'b0;
    move         = '0;
    word_pop     = 1'b0;
    open_block   = 1'b0;
    tail_pop     = 1'b0;
    done_ready_o = 1'b0;
    report       = 1'b0;
    verdict      = MergeStatusReadError;

    if (handle_q == Whole) handle_d = Checked;
    if (send || refuse) handle_d = None;

    case (state_q)
      Idle: if (running_q) state_d = Next;

      Next: state_d = Begin;

      Begin: begin
        left_d    = desc_word[31:0];
        field_d   = Shared;
        group_d   = '0;
        content_d = MergeStatusOk;
        if (ended_q) begin
          state_d = End;
        end else if (desc_next_q) begin
          state_d = Desc;
        end else if (bad_q[table_q[0]]) begin
          state_d = Reject;
        end else begin
          open_block = 1'b1;
          if (open_ready) state_d = Header;
        end
      end

      Reject: begin
        report  = 1'b1;
        verdict = MergeStatusIndexCorrupt;
      end

      Desc: if (beat_valid_i) begin
        word_d = word_q + 1'b1;
        if (word_q == 2'd3) state_d = DescDone;
      end

      DescDone: begin
        done_ready_o = 1'b1;
        if (done_valid_i) begin
          report  = done_error_i;
          state_d = Next;
        end
      end

      Header: if (word_valid) begin
        take_byte = 1'b1;
        move      = 4'd1;
        skip_d    = unshared_q;
        zeros_d   = (zeros_q | (field_q == Shared && group_q == '0)) & (next_byte == '0);
        if (!more) begin
          field_d = (field_q == Shared) ? Unshared : Value;
          if (field_q == Unshared && zeros_q && next_byte == '0) state_d = Zeros;
          if (field_q == Value) begin
            header_d = 1'b1;
            state_d  = Skip;
          end
        end
        if ((field_q == Shared && group_q == '0 && left_q < RestartBytes) || none_left ||
            (group_q == 4'd4 && more)) begin
          corrupt_d = 1'b1;
        end
      end

      Zeros: if (word_valid) begin
        move    = 4'd1;
        zeros_d = zeros_q & (next_byte == '0);
        group_d = 4'd1;
        if (group_q != '0) state_d = Flush;
      end

      Skip: if (word_valid) begin
        move    = skip_now;
        skip_d  = skip_q - 32'(move);
        field_d = Offset;
        if (!skip_rest) begin
          skip_d  = value_q;
          state_d = Handle;
        end
      end

      Handle: if (word_valid && handle_q == None) begin
        take_byte = 1'b1;
        move      = 4'd1;
        skip_d    = skip_q - 32'd1;
        if (!more) begin
          field_d = Size;
          if (field_q == Size) begin
            field_d  = Shared;
            handle_d = Whole;
            state_d  = (skip_q == 32'd1) ? Header : Rest;
          end
        end
        if (skip_q == '0 || (group_q == 4'd9 && more)) begin
          corrupt_d   = 1'b1;
          no_handle_d = 1'b1;
        end
      end

      Rest: if (word_valid) begin
        move   = skip_now;
        skip_d = skip_q - 32'(move);
        if (!skip_rest) state_d = Header;
      end

      Flush: begin
        word_pop = word_valid;
        if (word_valid && word_last) state_d = Check;
      end

      Check: if (known) state_d = Judge;

      Judge: begin
        tail_pop     = 1'b1;
        done_ready_o = 1'b1;
        verdict      = MergeStatusOk;
        if (done_error_i) verdict = MergeStatusReadError;
        else if (crc_bad_q) verdict = MergeStatusIndexChecksum;
        else if (type_bad_q) verdict = MergeStatusIndexCorrupt;
        else if (content_q != MergeStatusOk) verdict = content_q;
        else if (array_bad_q) verdict = MergeStatusIndexCorrupt;
        report  = verdict != MergeStatusOk;
        table_d = table_q + 17'd1;
        state_d = Next;
      end

      End: if (out_free) state_d = Done;

      default: ;  // Done
    endcase

    if (take_byte) group_d = more ? group_q + 1'b1 : '0;
    // The block's last word goes with Flush only.
    pos_d = (state_q == Begin) ? open_lane : pos_q + move[2:0];
    if (word_valid && !word_last && ((by_byte && pos_q == 3'd7) || (skipping && word_ends))) begin
      word_pop = 1'b1;
    end
    if (state_q != Begin) left_d = left_q - 32'(move);

    if (no_handle_q) handle_d = None;
    if ((corrupt_q || header_bad_q) && content_q == MergeStatusOk) begin
      content_d = MergeStatusIndexCorrupt;
      state_d   = Flush;
    end
    // Content faults are reported in the order of the block: a bad handle before what follows it.
    if (refuse) begin
      content_d = MergeStatusBadHandle;
      if (state_q != Flush && state_q != Check) state_d = Flush;
    end
    if (report) state_d = Done;
  end

  assign beat_ready_o = (state_q == Desc) | block_beat_ready;

  // Bits of a varint beyond n that the next seven set.
  function automatic logic beyond(int unsigned n, logic [3:0] group, logic [6:0] bits);
    beyond = 1'b0;
    for (int unsigned i = n; i < 64; i++) if (group == 4'(i / 7)) beyond |= bits[i%7];
  endfunction

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      tables_q <= tables_addr_i;
      count_q  <= table_count_i;
    end
    word_q  <= word_d;
    pos_q   <= pos_d;
    field_q <= field_d;
    group_q <= group_d;
    left_q  <= left_d;
    skip_q  <= skip_d;
    zeros_q <= zeros_d;
    // The first seven bits of a varint clear the others.
    if (take_byte) begin
      for (int i = 0; i < int'(OffsetBits); i++) begin
        if (group_q == 4'(i / 7) || group_q == '0) begin
          if (field_q == Shared && i < 32) shared_q[i%32] <= next_bits[i];
          if (field_q == Unshared && i < 32) unshared_q[i%32] <= next_bits[i];
          if (field_q == Value && i < 32) value_q[i%32] <= next_bits[i];
          if (field_q == Size && i < 32) size_q[i%32] <= next_bits[i];
          if (field_q == Offset) offset_q[i] <= next_bits[i];
        end
      end
      if (field_q == Offset) begin
        offset_long_q <= (offset_long_q & (group_q != '0)) |
                         beyond(OffsetBits, group_q, next_byte[6:0]);
      end
      if (field_q == Size) begin
        size_long_q <= (size_long_q & (group_q != '0)) | beyond(32, group_q, next_byte[6:0]);
      end
    end
    if (state_q == Begin) key_before_q <= '0;
    else if (header_q) key_before_q <= key_bytes;
    if (state_q == Begin) passed_q <= '0;
    if (handle_q == Whole) begin
      handle_bad_q <= handle_bad;
      passed_q     <= handle_end;
    end
    ended_q      <= table_q == {1'b0, count_q};
    desc_next_q  <= descs_q != {1'b0, count_q} && !by_two(descs_q[1:0], table_q[1:0]);
    crc_bad_q    <= cu_crc_pkg::mask_crc(done_crc_i) != tail_crc;
    type_bad_q   <= tail_type != '0;
    // Zeros has consumed four bytes of the restart array.
    array_bad_q  <= ~zeros_q || left_q[1:0] != '0 || tail_restarts != {2'b00, left_q[31:2]};
    if (state_q == Desc && beat_valid_i) begin
      desc[{descs_q[0], word_q}] <= beat_data_i;
      if (word_q == IndexAddr) lane_q[descs_q[0]] <= beat_data_i[2:0];
      if (word_q == IndexBytes) begin
        bad_q[descs_q[0]] <= beat_data_i < 64'(RestartBytes) || beat_data_i > 64'(MaxBlockBytes);
      end
    end
    if (!rst_ni) begin
      state_q      <= Idle;
      running_q    <= 1'b0;
      word_q       <= '0;
      table_q      <= '0;
      descs_q      <= '0;
      header_q     <= 1'b0;
      header_bad_q <= 1'b0;
      corrupt_q    <= 1'b0;
      no_handle_q  <= 1'b0;
      handle_q     <= None;
      content_q    <= MergeStatusOk;
      fault_q      <= 1'b0;
    end else begin
      state_q      <= state_d;
      running_q    <= running_q | start_i;
      table_q      <= table_d;
      descs_q      <= descs_q + 17'(state_q == DescDone && done_valid_i && !done_error_i);
      header_q     <= header_d;
      header_bad_q <= header_q & header_bad;
      corrupt_q    <= corrupt_d;
      no_handle_q  <= no_handle_d;
      handle_q     <= handle_d;
      content_q    <= content_d;
      fault_q      <= fault_q | report;
    end
  end

  // ------------------------------------------------------------------ out

  logic handle_valid_q, handle_end_q;
  logic [OffsetBits-1:0] handle_addr_q;
  logic [OffsetBits-1:0] handle_offset_q;
  logic [31:0] handle_bytes_q;
  logic [15:0] handle_table_q, fault_table_q;
  logic [OffsetBits-1:0] fault_offset_q;
  merge_status_e fault_status_q;

  assign out_free = ~handle_valid_q | handle_ready_i;

  always_ff @(posedge clk_i) begin
    if (out_free) begin
      handle_end_q    <= state_q == End;
      handle_addr_q   <= desc_word[OffsetBits-1:0] + offset_q;
      handle_bytes_q  <= size_q;
      handle_offset_q <= offset_q;
      handle_table_q  <= table_q[15:0];
    end
    if (report) begin
      fault_status_q <= verdict;
      fault_table_q  <= (state_q == DescDone) ? descs_q[15:0] : table_q[15:0];
      fault_offset_q <= (state_q == DescDone) ? desc_addr(descs_q)
                                                : desc_word[OffsetBits-1:0];
    end
    if (!rst_ni) handle_valid_q <= 1'b0;
    else if (out_free) handle_valid_q <= (state_q == End) | send;
  end

  assign handle_valid_o  = handle_valid_q;
  assign handle_end_o    = handle_end_q;
  assign handle_addr_o   = 64'(handle_addr_q);
  assign handle_bytes_o  = handle_bytes_q;
  assign handle_offset_o = 64'(handle_offset_q);
  assign handle_table_o  = handle_table_q;
  assign fault_valid_o   = fault_q;
  assign fault_status_o  = fault_status_q;
  assign fault_table_o   = fault_table_q;
  assign fault_offset_o  = 64'(fault_offset_q);

  `ASSERT(a_ahead, fetch_desc_q - fetch_index_q <= 17'd2 && descs_q - fetch_index_q <= 17'd2 &&
                   descs_q - table_q <= 17'd2)
  `ASSERT(a_load_before_start, load_i |-> !start_i && !running_q)
  `ASSERT(a_tables_aligned, start_i |-> tables_q[2:0] == '0)
  `COVER(c_long, state_q == Header && group_q == 4'd4)
  `COVER(c_varint64, state_q == Handle && group_q == 4'd5)
  `COVER(c_prefetched, state_q == Begin && fetch_index_q > table_q)
endmodule
