// Reads the index blocks of all ways' tables, each way's in order, and emits the handles of their
// data blocks. Data blocks are so much larger than what the index says of them that one walker
// serves all ways in turn: for one index entry, or for a table's descriptor.
//
// Of a way it requests
//
//   descriptor 0, index 0, descriptor 1, index 1, descriptor 2, ...
//
// each descriptor together with the index block before it, so that at most two requests of a way
// wait. What a way has to do next is its phase: ask for its First descriptor; read the Desc that
// was asked for; walk an Entry of the index block at hand; emit the End; nothing (Over). A turn
// begins where all that it needs is there but for the rest of an entry's words, which come whatever
// the other ways do.
//
//   Turn      put the way's place away, pick the next way that can go on
//   Load      take its place
//   Ask       request the first descriptor
//   Desc      take the descriptor's words      DescDone   was there a bus error?
//   IndexAt, IndexSize, Sized, Index   request the index block    Next   and the next descriptor
//   Header    three varints, one byte per cycle; two zeros (shared, unshared) mean the restart array
//   Fits      check the header                 Skip       skip the key
//   Handle    offset, then size, one byte per cycle
//   Bound     check the handle                 Send       emit it
//   Rest      skip the rest of the value
//   Zeros     the rest of the first restart
//   Flush     see how much is left before      Drop       the number of restarts
//   Tail      that, type and CRC, one byte per cycle
//   Known     wait for the block's CRC         Judge      continue, or report a fault
//   End       emit the end
//
// An entry takes one cycle per byte of header and handle, one per word of its key, and five. A block
// must start at or after the end of the previous one, so that no job reads more than its tables
// hold.
//
// Handles are emitted before the CRC of their index block is known; handles of the next table, and
// the end, only afterwards. A table_count_i of 0 is an empty run. A fault ends its way only; status,
// table and offset are those of the latest one.

`include "cu_assert.svh"

module cu_index_reader
  import sluice_abi_pkg::*;
#(
  parameter int unsigned Ways = 4,
  parameter int unsigned Xxh3 = 0   // 1: jobs may have tables with XXH3
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   xxh3_i,         // with Xxh3: the job's tables have it

  input  logic [Ways-1:0]        load_i,         // once per way after reset, one way in a cycle
  input  logic [47:0]            tables_addr_i,  // 8-byte aligned, if any, at start
  input  logic [15:0]            table_count_i,
  input  logic                   start_i,        // after all loads, for a cycle at least

  output logic [Ways-1:0]        req_valid_o,
  input  logic [Ways-1:0]        req_ready_i,
  output logic [63:0]            req_addr_o,
  output logic [31:0]            req_bytes_o,
  input  logic [Ways-1:0]        beat_valid_i,
  output logic [Ways-1:0]        beat_ready_o,
  input  logic [Ways-1:0][63:0]  beat_data_i,
  input  logic [Ways-1:0]        done_valid_i,
  output logic [Ways-1:0]        done_ready_o,
  input  logic [Ways-1:0][31:0]  done_crc_i,
  input  logic [Ways-1:0]        done_error_i,

  output logic [Ways-1:0]        handle_valid_o,
  input  logic [Ways-1:0]        handle_ready_i,
  output logic [Ways-1:0]        handle_end_o,
  output logic [Ways-1:0][63:0]  handle_addr_o,
  output logic [Ways-1:0][31:0]  handle_bytes_o,
  output logic [Ways-1:0][63:0]  handle_offset_o,
  output logic [Ways-1:0][15:0]  handle_table_o,
  output logic [Ways-1:0][31:0]  handle_base_o,  // with Xxh3: of its table's checksums

  output logic [Ways-1:0]        fault_valid_o,
  output logic [7:0]             fault_status_o,  // merge_status_e
  output logic [15:0]            fault_table_o,
  output logic [63:0]            fault_offset_o   // of the index block, or else descriptor
);
  localparam logic [31:0] RestartBytes = 32'd8;           // the least that follows the entries
  localparam logic [3:0] CountBytes = 4'd4;               // of the number of restarts
  localparam logic [31:0] MaxBlockBytes = 32'hffff_ffef;  // so that the trailer fits a request
  localparam logic [31:0] TrailerBytes = 32'd5;
  localparam int unsigned OffsetBits = 48;  // and of addresses: no device has more memory
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1;

  // Words of a descriptor.
  localparam logic [1:0] IndexAddr = 2'd0, IndexBytes = 2'd1, DataAddr = 2'd2, DataBytes = 2'd3;

  typedef enum logic [4:0] {
    Turn, Load, Ask, Desc, DescDone, IndexAt, IndexSize, Sized, Index, Next, Header, Fits, Skip,
    Handle, Bound, Send, Rest, Zeros, Flush, Drop, Tail, Known, Judge, End
  } state_e;

  typedef enum logic [2:0] {FirstPhase, DescPhase, EntryPhase, EndPhase, OverPhase} phase_e;

  typedef enum logic [2:0] {Shared, Unshared, Value, Offset, Size} field_e;

  // Of a way, between turns.
  typedef struct packed {
    logic [15:0]         table_no;
    logic [2:0]          pos;         // in the word
    logic [31:0]         left;        // bytes of the block's content from the position on
    logic [32:0]         key_before;  // bytes of the previous key
    logic [OffsetBits:0] passed;      // of the table: the end of the block that was named last
  } place_t;

  // Of all ways.
  (* ram_style = "distributed" *) logic [63:0] tables[Ways];
  (* ram_style = "distributed" *) logic [63:0] desc[4*Ways];
  (* ram_style = "distributed" *) place_t places[Ways];
  phase_e [Ways-1:0] phase_q;
  logic running_q;  // since start

  // Of the way at hand.
  logic [WayBits-1:0] way_q, way_d;
  state_e state_q, state_d;
  phase_e phase_d;  // as of the next cycle
  place_t place_q, place_d, place_here;  // here: as it was put away
  logic [1:0] word_q, word_d;         // of the descriptor
  field_e field_q, field_d;           // the varint at hand
  logic [3:0] group_q, group_d;       // its next seven bits, or the next byte of the tail
  logic [31:0] skip_q, skip_d;        // of key, value or restarts from the position on
  logic zeros_q, zeros_d;             // all bytes of the entry so far
  logic [31:0] shared_q, unshared_q, value_q;
  logic [OffsetBits-1:0] offset_q;
  logic [31:0] size_q;
  logic offset_long_q, size_long_q;   // they have more bits
  logic size_high_q, size_bad_q, header_bad_q, handle_bad_q;
  logic last_q;                       // the table at hand is the last one
  merge_status_e content_q, content_d;  // fault in the block
  merge_status_e verdict;
  logic report;
  logic crc_bad_q, type_bad_q, array_bad_q;
  logic [31:0] tail_q;  // the last four bytes

  // ------------------------------------------------------------------ turns

  logic [Ways-1:0] able, able_after, pick;
  logic [WayBits-1:0] load_way;
  logic [Ways-1:0] handle_valid_q;

  // The lowest bit that is set, without a carry chain.
  function automatic logic [Ways-1:0] lowest(logic [Ways-1:0] bits);
    logic below = 1'b0;
    for (int unsigned i = 0; i < Ways; i++) begin
      lowest[i] = bits[i] & ~below;
      below |= bits[i];
    end
  endfunction

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      case (phase_q[w])
        FirstPhase: able[w] = running_q;
        DescPhase:  able[w] = done_valid_i[w];  // its words came before
        EntryPhase: able[w] = beat_valid_i[w] & ~handle_valid_q[w];
        EndPhase:   able[w] = ~handle_valid_q[w];
        default:    able[w] = 1'b0;
      endcase
      able_after[w] = able[w] & (WayBits'(w) > way_q);
    end
    pick  = (able_after != '0) ? lowest(able_after) : lowest(able);
    way_d = '0;
    load_way = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (pick[w]) way_d |= WayBits'(w);
      if (load_i[w]) load_way |= WayBits'(w);
    end
  end

  // ------------------------------------------------------------------ requests

  logic [Ways-1:0] fetch_valid_q;
  logic [OffsetBits-1:0] fetch_addr_q;
  logic [31:0] fetch_bytes_q;
  logic [63:0] desc_word;
  logic fetch;
  wire fetch_free = fetch_valid_q == '0;

  wire [15:0] table_next = place_q.table_no + 16'd1;
  logic [47:0] tables_addr;
  logic [15:0] table_count;
  assign {table_count, tables_addr} = tables[way_q];
  wire [OffsetBits-1:0] desc_addr =
      tables_addr + {27'h0, (state_q == Next) ? table_next : place_q.table_no, 5'h0};

  always_ff @(posedge clk_i) begin
    if (state_q == IndexAt && fetch_free) fetch_addr_q <= desc_word[OffsetBits-1:0];
    if (state_q == IndexSize) fetch_bytes_q <= desc_word[31:0] + TrailerBytes;
    if ((state_q == Ask || state_q == Next) && fetch_free) begin
      fetch_addr_q  <= desc_addr;
      fetch_bytes_q <= TableDescriptorBytes;
    end
    for (int unsigned w = 0; w < Ways; w++) begin
      if (fetch && way_q == WayBits'(w)) fetch_valid_q[w] <= 1'b1;
      else if (req_ready_i[w]) fetch_valid_q[w] <= 1'b0;
    end
    if (!rst_ni) fetch_valid_q <= '0;
  end

  assign req_valid_o = fetch_valid_q;
  assign req_addr_o  = 64'(fetch_addr_q);
  assign req_bytes_o = fetch_bytes_q;

  // ------------------------------------------------------------------ walker

  logic [63:0] words;
  cu_choice #(.Width(64), .Words(Ways)) u_words (
    .words_i(beat_data_i), .pick_i(way_q), .word_o(words)
  );
  logic [31:0] done_crc;
  cu_choice #(.Width(32), .Words(Ways)) u_done_crc (
    .words_i(done_crc_i), .pick_i(way_q), .word_o(done_crc)
  );
  wire word_valid = beat_valid_i[way_q];
  wire done_valid = done_valid_i[way_q];
  wire done_error = done_error_i[way_q];
  logic word_pop, done_pop;

  wire [7:0] next_byte = words[{place_q.pos, 3'b0}+:8];
  wire more = next_byte[7];
  wire at_count = place_q.left == 32'(CountBytes);
  wire too_short = (field_q == Shared) & (group_q == '0) & (place_q.left < RestartBytes);
  logic take_byte;  // of a varint
  logic [OffsetBits-1:0] next_bits;  // of the varint
  for (genvar b = 0; b < OffsetBits; b++) begin : g_bit
    assign next_bits[b] = next_byte[b%7] & (b < 7 || group_q != '0);
  end

  // What is skipped is skipped up to the end of the word, or to its own end.
  wire [3:0] in_word = 4'd8 - {1'b0, place_q.pos};
  wire skip_long = skip_q[31:4] != '0;
  wire skip_rest = skip_long | (skip_q[3:0] > in_word);  // there is more in the next word
  wire word_ends = skip_long | (skip_q[3:0] >= in_word);
  wire [3:0] skip_now = word_ends ? in_word : skip_q[3:0];
  logic by_byte, skipping;  // in this cycle
  logic [3:0] move;         // bytes
  logic [31:0] left_from, left_d, skip_from;
  logic [3:0] skip_less;
  logic [1:0] skip_pick;
  wire [3:0][31:0] skip_froms = {place_q.left, value_q, unshared_q, skip_q};

  // A header: the entry that it describes must fit into the block.
  wire [32:0] key_bytes = {1'b0, shared_q} + {1'b0, unshared_q};
  wire [33:0] need = {2'b0, unshared_q} + {2'b0, value_q} + {2'b0, RestartBytes};
  wire header_bad = need > {2'b0, place_q.left} || {1'b0, shared_q} > place_q.key_before ||
                    key_bytes < 33'd8;

  // A handle: its block and trailer must lie in the table, after the previous block.
  wire [OffsetBits:0] handle_end = {1'b0, offset_q} + (OffsetBits + 1)'(size_q) +
                                   (OffsetBits + 1)'(TrailerBytes);
  wire handle_bad = offset_long_q || size_long_q || size_q > MaxBlockBytes ||
                    64'(handle_end) > desc_word || {1'b0, offset_q} < place_q.passed;
  wire send = (state_q == Send) & ~handle_bad_q;

  logic [1:0] desc_field;
  always_comb begin
    case (state_q)
      IndexSize: desc_field = IndexBytes;
      Fits:      desc_field = (Xxh3 != 0) ? IndexBytes : IndexAddr;  // for base_q
      Bound:     desc_field = DataBytes;
      Send:      desc_field = DataAddr;
      default:   desc_field = IndexAddr;
    endcase
  end
  assign desc_word = desc[{way_q, desc_field}];
  assign place_here = places[way_q];

  always_comb begin
    state_d   = state_q;
    phase_d   = phase_q[way_q];
    place_d   = place_q;
    word_d    = word_q;
    field_d   = field_q;
    group_d   = group_q;
    zeros_d   = zeros_q;
    content_d = content_q;
    fetch     = 1'b0;
    take_byte = 1'b0;
    by_byte   = 1'b0;
    skipping  = 1'b0;
    word_pop  = 1'b0;
    done_pop  = 1'b0;
    report    = 1'b0;
    verdict   = MergeStatusReadError;

    case (state_q)
      Turn: if (able != '0) state_d = Load;

      Load: begin
        place_d   = place_here;
        word_d    = '0;
        field_d   = Shared;
        group_d   = '0;
        content_d = MergeStatusOk;
        case (phase_q[way_q])
          DescPhase:  state_d = Desc;
          EntryPhase: state_d = Header;
          EndPhase:   state_d = End;
          default: begin
            place_d.table_no = '0;
            state_d = Ask;
          end
        endcase
      end

      Ask: if (fetch_free) begin
        fetch   = table_count != '0;
        phase_d = fetch ? DescPhase : EndPhase;
        state_d = Turn;
      end

      Desc: begin
        word_pop = word_valid;
        word_d   = word_q + {1'b0, word_valid};
        if (word_valid && word_q == 2'd3) state_d = DescDone;
      end

      DescDone: if (done_valid) begin
        done_pop = 1'b1;
        report   = done_error;
        state_d  = IndexAt;
      end

      IndexAt: begin
        place_d.pos = desc_word[2:0];
        if (fetch_free) state_d = IndexSize;
      end

      IndexSize: begin
        place_d.key_before = '0;
        place_d.passed     = '0;
        state_d = Sized;
      end

      Sized: state_d = Index;

      Index: begin
        report  = size_bad_q;
        verdict = MergeStatusIndexCorrupt;
        fetch   = ~size_bad_q;
        state_d = Next;
      end

      Next: begin
        phase_d = EntryPhase;
        fetch   = fetch_free & ~last_q;
        if (fetch_free) state_d = Turn;
      end

      Header: if (word_valid) begin
        if (at_count || too_short) begin
          content_d = MergeStatusIndexCorrupt;
          state_d   = Flush;
        end else begin
          take_byte = 1'b1;
          by_byte   = 1'b1;
          zeros_d   = (zeros_q | (field_q == Shared && group_q == '0)) & (next_byte == '0);
          if (!more) begin
            field_d = (field_q == Shared) ? Unshared : Value;
            if (field_q == Unshared && zeros_q && next_byte == '0) state_d = Zeros;
            if (field_q == Value) state_d = Fits;
          end else if (group_q == 4'd4) begin
            content_d = MergeStatusIndexCorrupt;
            state_d   = Flush;
          end
        end
      end

      Fits: begin
        place_d.key_before = key_bytes;
        field_d = Offset;
        state_d = Skip;
      end

      Skip: if (header_bad_q) begin
        content_d = MergeStatusIndexCorrupt;
        state_d   = Flush;
      end else if (word_valid) begin
        skipping = 1'b1;
        if (!skip_rest) state_d = Handle;
      end

      Handle: if (word_valid) begin
        if (skip_q == '0) begin
          content_d = MergeStatusIndexCorrupt;
          state_d   = Flush;
        end else begin
          take_byte = 1'b1;
          by_byte   = 1'b1;
          if (!more) begin
            field_d = Size;
            if (field_q == Size) state_d = Bound;
          end else if (group_q == 4'd9) begin
            content_d = MergeStatusIndexCorrupt;
            state_d   = Flush;
          end
        end
      end

      Bound: begin
        place_d.passed = handle_end;
        state_d = Send;
      end

      Send: if (handle_bad_q) begin
        content_d = MergeStatusBadHandle;
        state_d   = Flush;
      end else begin
        state_d = (skip_q == '0) ? Turn : Rest;
      end

      Rest: if (word_valid) begin
        skipping = 1'b1;
        if (!skip_rest) state_d = Turn;
      end

      Zeros: if (word_valid) begin
        by_byte = 1'b1;
        zeros_d = zeros_q & (next_byte == '0);
        group_d = 4'd1;
        if (group_q != '0) state_d = Flush;
      end

      Flush: begin
        group_d = '0;
        state_d = Drop;
      end

      Drop: if (word_valid) begin
        skipping = 1'b1;
        if (!skip_rest) state_d = Tail;
      end

      Tail: if (word_valid) begin
        by_byte = 1'b1;
        group_d = group_q + 4'd1;
        if (group_q == 4'd8) begin
          word_pop = 1'b1;
          state_d  = Known;
        end
      end

      Known: if (done_valid) state_d = Judge;

      Judge: begin
        done_pop = 1'b1;
        verdict  = MergeStatusOk;
        if (done_error) verdict = MergeStatusReadError;
        else if (crc_bad_q) verdict = MergeStatusIndexChecksum;
        else if (type_bad_q) verdict = MergeStatusIndexCorrupt;
        else if (content_q != MergeStatusOk) verdict = content_q;
        else if (array_bad_q) verdict = MergeStatusIndexCorrupt;
        report  = verdict != MergeStatusOk;
        place_d.table_no = table_next;
        phase_d = last_q ? EndPhase : DescPhase;
        state_d = Turn;
      end

      default: begin  // End
        phase_d = OverPhase;
        state_d = Turn;
      end
    endcase

    move = skipping ? skip_now : {3'b0, by_byte};
    if (take_byte) group_d = more ? group_q + 1'b1 : '0;
    if (by_byte || skipping) place_d.pos = place_q.pos + move[2:0];
    if ((by_byte && place_q.pos == 3'd7) || (skipping && word_ends)) word_pop = 1'b1;
    if (report) begin
      phase_d = OverPhase;
      state_d = Turn;
    end
    place_d.left = left_d;
  end

  // A count less a few. High bits take a LUT each: in their carry chain one operand is constant.
  function automatic logic [31:0] minus(logic [31:0] count, logic [3:0] few);
    return 32'(({~32'(few), 1'b1} + {count, 1'b1}) >> 1);
  endfunction

  always_comb begin
    left_from = place_q.left;
    if (state_q == Load) left_from = place_here.left;
    if (state_q == IndexSize) left_from = desc_word[31:0];
    // The restart array is compared with what is left behind its first element.
    left_d = minus(left_from, (state_q inside {Load, Drop, Tail}) ? 4'd0 : move);

    skip_pick = {state_q == Flush || (state_q == Skip && skipping && !skip_rest),
                 state_q == Flush || state_q == Fits};
    case (skip_pick)
      2'd0: skip_less = skipping ? skip_now : (state_q == Handle) ? {3'b0, by_byte} : 4'd0;
      2'd3: skip_less = CountBytes;
      default: skip_less = 4'd0;
    endcase
    skip_from = skip_froms[skip_pick];
    skip_d = minus(skip_from, skip_less);
  end

  // Bits of a varint beyond n that the next seven set.
  function automatic logic beyond(int unsigned n, logic [3:0] group, logic [6:0] bits);
    beyond = 1'b0;
    for (int unsigned i = n; i < 64; i++) if (group == 4'(i / 7)) beyond |= bits[i%7];
  endfunction

  always_ff @(posedge clk_i) begin
    if (load_i != '0) tables[load_way] <= {table_count_i, tables_addr_i};
    if (state_q == Turn) places[way_q] <= place_q;
    if (state_q == Desc && word_valid) desc[{way_q, word_q}] <= words;
    place_q   <= place_d;
    word_q    <= word_d;
    field_q   <= field_d;
    group_q   <= group_d;
    skip_q    <= skip_d;
    zeros_q   <= zeros_d;
    content_q <= content_d;
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
    size_high_q <= desc_word[63:32] != '0 && (Xxh3 == 0 || !xxh3_i);  // in IndexSize, for Sized
    size_bad_q  <= size_high_q || place_q.left < RestartBytes || place_q.left > MaxBlockBytes;
    if (state_q == Fits) header_bad_q <= header_bad;
    if (state_q == Bound) handle_bad_q <= handle_bad;
    last_q    <= table_next == table_count;
    crc_bad_q <= ~cu_crc_pkg::is_masked(done_crc, tail_q);
    if (state_q == Tail && word_valid) begin
      tail_q <= {next_byte, tail_q[31:8]};
      if (group_q == 4'd4) begin
        // Zeros has consumed four bytes of the restart array.
        array_bad_q <= ~zeros_q || place_q.left[1:0] != '0 ||
                       tail_q != {2'b00, place_q.left[31:2]};
        type_bad_q  <= next_byte != '0;
      end
    end
    if (!rst_ni) begin
      way_q     <= '0;
      state_q   <= Turn;
      running_q <= 1'b0;
      for (int unsigned w = 0; w < Ways; w++) phase_q[w] <= FirstPhase;
    end else begin
      if (state_q == Turn && able != '0) way_q <= way_d;
      state_q   <= state_d;
      running_q <= running_q | start_i;
      if (state_q != Turn) phase_q[way_q] <= phase_d;
    end
  end

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      beat_ready_o[w] = word_pop & (way_q == WayBits'(w));
      done_ready_o[w] = done_pop & (way_q == WayBits'(w));
    end
  end

  // ------------------------------------------------------------------ out

  logic [Ways-1:0] handle_end_q, fault_q;
  logic [Ways-1:0][OffsetBits-1:0] handle_addr_q, handle_offset_q;
  logic [Ways-1:0][31:0] handle_bytes_q;
  logic [Ways-1:0][15:0] handle_table_q;
  logic [15:0] fault_table_q;
  logic [OffsetBits-1:0] fault_offset_q;
  merge_status_e fault_status_q;

  wire [OffsetBits-1:0] handle_addr = desc_word[OffsetBits-1:0] + offset_q;
  wire out = send | (state_q == End);

  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < Ways; w++) begin
      if (out && way_q == WayBits'(w)) begin
        handle_end_q[w]    <= ~send;
        handle_addr_q[w]   <= handle_addr;
        handle_bytes_q[w]  <= size_q;
        handle_offset_q[w] <= offset_q;
        handle_table_q[w]  <= place_q.table_no;
      end
    end
    if (report) begin
      fault_status_q <= verdict;
      fault_table_q  <= place_q.table_no;
      fault_offset_q <= (state_q == DescDone) ? desc_addr : desc_word[OffsetBits-1:0];
    end
    for (int unsigned w = 0; w < Ways; w++) begin
      if (out && way_q == WayBits'(w)) handle_valid_q[w] <= 1'b1;
      else if (handle_ready_i[w]) handle_valid_q[w] <= 1'b0;
      if (report && way_q == WayBits'(w)) fault_q[w] <= 1'b1;
    end
    if (!rst_ni) begin
      handle_valid_q <= '0;
      fault_q        <= '0;
    end
  end

  if (Xxh3 != 0) begin : g_bases
    // Beside the size of the table's index.
    logic [31:0] base_q;
    logic [Ways-1:0][31:0] handle_base_q;
    always_ff @(posedge clk_i) begin
      if (state_q == Fits) base_q <= desc_word[63:32];
      for (int unsigned w = 0; w < Ways; w++) begin
        if (out && way_q == WayBits'(w)) handle_base_q[w] <= base_q;
      end
    end
    assign handle_base_o = handle_base_q;
  end else begin : g_no_bases
    assign handle_base_o = '0;
    logic unused_xxh3;
    assign unused_xxh3 = xxh3_i;
  end

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      handle_addr_o[w]   = 64'(handle_addr_q[w]);
      handle_offset_o[w] = 64'(handle_offset_q[w]);
    end
  end

  assign handle_valid_o = handle_valid_q;
  assign handle_end_o   = handle_end_q;
  assign handle_bytes_o = handle_bytes_q;
  assign handle_table_o = handle_table_q;
  assign fault_valid_o  = fault_q;
  assign fault_status_o = fault_status_q;
  assign fault_table_o  = fault_table_q;
  assign fault_offset_o = 64'(fault_offset_q);

  `ASSERT_PARAM(xxh3, Xxh3 <= 1, "Xxh3 must be 0 or 1")
  `ASSERT(a_free, out |-> !handle_valid_q[way_q])
  `ASSERT(a_left, state_q == Flush |-> place_q.left >= 32'(CountBytes))
  `ASSERT(a_load_before_start, load_i != '0 |-> $onehot(load_i) && !start_i && !running_q)
  `ASSERT(a_tables_aligned, state_q == Ask && table_count != '0 |-> tables_addr[2:0] == '0)
  `COVER(c_long, state_q == Header && group_q == 4'd4)
  `COVER(c_varint64, state_q == Handle && group_q == 4'd5)
  `COVER(c_other_way, state_q == Load && phase_q[way_q] == EntryPhase && way_q != $past(way_q))
endmodule
