// Encodes kept records as block contents: entries with shared prefixes, restart arrays, and the
// ends of blocks and tables, by the rules of include/sluice/executor.h.
//
//   state      chunk                                            next
//   StRecord   header (1 cycle)                                 StKey
//              at a table's or the task's end: none             StClose, if a block is open
//              then: token                                      StRecord, StDone
//   StKey      a key beat without the shared prefix; also the   StKey, StTrailer,
//              trailer, if it fits into the last beat           StValue or the entry's end
//   StTrailer  the trailer                                      StValue or the entry's end
//   StValue    a value beat                                     StValue or the entry's end
//   StClose    restart array and count                          StClose, StRecord
//   StDone, StLimit: none, until reset
//
// After an entry, the next state is StRecord, or StClose if the block is full. A record that starts
// a new table is accepted only after block and table have been closed.
//
// The room left in block and table is counted down, so that "full" is a sign bit. An entry is
// subtracted in the cycle after its header, when its size has been added up; every entry takes at
// least two cycles.
//
// The decisions of a cycle depend on registers only. A record waits in one register while its
// header is computed into the next; if the block is closed meanwhile, the header is computed again.
// Each step takes one cycle, which the previous record takes at least. The bounds of key and value
// beats are precomputed in the same way.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_entry_encoder #(
  parameter int unsigned ValueBytes = 16,     // 8, 16, 32 or 64
  parameter int unsigned MaxRestarts = 8192,  // of a block
  parameter int unsigned MaxKeyBytes = 1024,  // of a user key; below 2^14 - 8
  parameter int unsigned Bloom = 0,           // 1: keys go to filters, too
  localparam type record_t = `CU_RECORD_T,
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes),
  localparam type last_key_t = `CU_LAST_KEY_T(ValueBytes),
  localparam type table_record_t = `CU_TABLE_RECORD_T,
  localparam type filter_key_t = `CU_FILTER_KEY_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // Stable while records flow.
  input  logic [31:0]             block_bytes_i,
  input  logic [63:0]             table_bytes_i,
  input  logic [15:0]             restart_interval_i,
  input  logic                    filters_i,  // there are to be filters; only with Bloom

  input  logic                    record_valid_i,
  output logic                    record_ready_o,
  input  record_t                 record_i,  // values have less than 2^28 bytes

  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  logic [ValueBytes*8-1:0] key_data_i,
  input  logic                    key_last_i,

  input  logic                    value_valid_i,
  output logic                    value_ready_o,
  input  logic [ValueBytes*8-1:0] value_data_i,

  output logic                    chunk_valid_o,
  input  logic                    chunk_ready_i,
  output chunk_t                  chunk_o,

  // To the index: the last user key of each block, and a record after each table's last block.
  output logic                    last_key_valid_o,
  input  logic                    last_key_ready_i,
  output last_key_t               last_key_o,

  output logic                    table_record_valid_o,
  input  logic                    table_record_ready_i,
  output table_record_t           table_record_o,

  // With Bloom: the keys of each block.
  output logic                    filter_key_valid_o,
  input  logic                    filter_key_ready_i,
  output filter_key_t             filter_key_o,
  output logic                    filter_key_error_o,  // level: a stray bit among them

  output logic                    limit_o,  // more restarts than there is room for; nothing follows
  output logic [63:0]             output_records_o,
  output logic [63:0]             output_checksum_o,  // lags by three cycles
  // Over the blocks ended so far: their length according to the headers of their entries, and the
  // XOR of the bytes written, provided that restart arrays are intact.
  output logic [63:0]             content_bytes_o,
  output logic [7:0]              content_checksum_o,
  output logic                    stall_encode_o,
  output logic                    stall_pack_o
);
  import cu_varint_pkg::*;

  localparam int unsigned V = ValueBytes;
  localparam int unsigned CountBits = $clog2(V + 1);
  localparam int unsigned BeatBits = $clog2(V);
  localparam int unsigned RestartBits = $clog2(MaxRestarts + 1);
  localparam int unsigned TrailerBytes = 8;
  localparam int unsigned SealBytes = 5;

  `ASSERT_PARAM(value_bytes, ValueBytes inside {8, 16, 32, 64},
                "ValueBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(max_key_bytes, MaxKeyBytes < 2 ** 14 - 8,
                "MaxKeyBytes must leave the header 8 bytes")
  `ASSERT_PARAM(bloom, Bloom <= 1, "Bloom must be 0 or 1")

  typedef enum logic [2:0] {
    StRecord, StKey, StTrailer, StValue, StClose, StDone, StLimit
  } state_e;

  state_e state_q, state_d;
  chunk_t chunk;
  logic emit, room;
  logic table_record_full_q;  // a table record waits

  // Events of this cycle.
  logic take_record, take_key, take_trailer, take_value, entry_end, close_block;
  logic end_table, end_task, over;

  // The record being written.
  logic [15:0] key_left_q, skip_q;
  logic [31:0] value_left_q;
  logic value_none_q, value_last_q;  // nothing is left of the value; one beat or nothing is
  logic [63:0] trailer_q;

  // The open block and table.
  logic block_open_q, table_open_q;
  logic [16:0] restart_left_q;  // entries until the next restart, less one: then the sign
  logic [31:0] content_q;       // bytes of entries
  logic signed [33:0] block_room_q, block_room;
  logic signed [64:0] table_room_q;
  logic [63:0] entries_q, tombstones_q, records_q, content_bytes_q;

  // An entry's size, accounted for in the cycle after its header.
  logic account_q;
  logic [31:0] entry_bytes_q;
  logic [31:0] entry_room_q;  // and of its restart

  // -------------------------------------------------------------- header

  // A beat of the key: which of its bytes are written.
  typedef struct packed {
    logic                 last;
    logic                 skip_all;
    logic [BeatBits-1:0]  skip;   // if not all
    logic [CountBits-1:0] bytes;  // after those
    logic                 trailer_fits;
  } beat_t;

  // Whether n is 2^bits at most, without a carry chain.
  function automatic logic at_most(logic [31:0] n, int unsigned bits);
    return (n >> bits) == '0 || n == (32'd1 << bits);
  endfunction

  // `bytes` are in the beat. A shared prefix never exceeds the key.
  function automatic beat_t plan(logic last, logic [CountBits-1:0] bytes, logic skip_all,
                                 logic [BeatBits-1:0] skip);
    beat_t beat = '{last: last, skip_all: skip_all, skip: skip, bytes: '0, trailer_fits: 1'b0};
    beat.bytes = bytes - (skip_all ? CountBits'(V) : CountBits'(skip));
    beat.trailer_fits = beat.bytes <= CountBits'(V - TrailerBytes);
    return beat;
  endfunction

  typedef struct packed {
    logic        task_end;
    logic        same_key;  // as the record before
    logic        tombstone;
    logic [15:0] user_bytes;
    logic [15:0] shared;
    logic [15:0] unshared;
    logic [15:0] whole;  // unshared at a restart
    logic [63:0] trailer;
    logic [31:0] value_bytes;
  } entry_t;

  // The record's header in the current block.
  typedef struct packed {
    logic        restart;
    logic [63:0] data;
    logic [3:0]  bytes;
    logic [15:0] shared;
    logic [15:0] unshared;
    logic        value_none;
    logic        value_last;
    beat_t       beat;  // the first one
  } header_t;

  entry_t record_q;
  header_t head_d, head_q;
  beat_t beat_q;
  logic record_valid_q, head_valid_q;

  always_comb begin
    varint_t shared_code, unshared_code, value_code;
    logic [3:0] value_at;
    logic key_one;  // its user key is in one beat
    head_d.restart    = state_q == StClose || !block_open_q || restart_left_q[16];
    head_d.shared     = head_d.restart ? 16'd0 : record_q.shared;
    head_d.unshared   = head_d.restart ? record_q.whole : record_q.unshared;
    head_d.value_none = record_q.value_bytes == '0;
    head_d.value_last = at_most(record_q.value_bytes, BeatBits);
    shared_code   = varint(56'(head_d.shared[13:0]));
    unshared_code = varint(56'(head_d.unshared[13:0]));
    value_code    = varint(56'(record_q.value_bytes[27:0]));
    value_at      = shared_code.bytes + unshared_code.bytes;
    head_d.bytes  = value_at + value_code.bytes;
    head_d.data   = shared_code.data | (unshared_code.data << {shared_code.bytes[1:0], 3'b0})
                    | (value_code.data << {value_at[2:0], 3'b0});
    key_one       = at_most(32'(record_q.user_bytes), BeatBits);
    head_d.beat   = plan(key_one, key_one ? record_q.user_bytes[CountBits-1:0] : CountBits'(V),
                         head_d.shared[15:BeatBits] != '0, head_d.shared[BeatBits-1:0]);
  end

  wire take = take_record || end_task;
  assign record_ready_o = !record_valid_q || take;

  always_ff @(posedge clk_i) begin
    if (record_ready_o && record_valid_i) begin
      record_q <= '{
        task_end: record_i.eos,
        same_key: record_i.shared == record_i.user_bytes &&
                  record_i.user_bytes == record_q.user_bytes,
        tombstone: record_i.tombstone, user_bytes: record_i.user_bytes, shared: record_i.shared,
        unshared: record_i.user_bytes - record_i.shared + 16'(TrailerBytes),
        whole: record_i.user_bytes + 16'(TrailerBytes), trailer: record_i.trailer,
        value_bytes: record_i.value_bytes
      };
    end
    head_q <= head_d;
    if (!rst_ni) begin
      record_valid_q  <= 1'b0;
      head_valid_q <= 1'b0;
    end else begin
      if (record_ready_o) record_valid_q <= record_valid_i;
      head_valid_q <= record_valid_q && !take;
    end
  end

  wire table_ends = record_q.task_end || (table_open_q && table_room_q < 0 && !record_q.same_key);

  // -------------------------------------------------------------- key

  // Turned rather than shifted, for the multiplexers of cu_byte_rotate. In each eight lanes the trailer
  // is the same: it takes eight lanes in a row.
  logic [V*8-1:0] key_turned, key_rest, trailer_behind;
  logic [63:0] trailer_turned;
  cu_byte_rotate #(.Bytes(V), .OutBytes(V)) u_key_turn (
    .data_i(key_data_i), .pos_i(beat_q.skip), .data_o(key_turned)
  );
  cu_byte_rotate #(.Bytes(8), .OutBytes(8), .Left(1)) u_trailer_turn (
    .data_i(trailer_q), .pos_i(beat_q.bytes[2:0]), .data_o(trailer_turned)
  );
  wire [BeatBits-1:0] trailer_at = beat_q.bytes[BeatBits-1:0];
  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      logic rest, behind;
      rest   = !beat_q.skip_all && i + int'(beat_q.skip) < int'(V);
      behind = i >= int'(trailer_at) && i < int'(trailer_at) + int'(TrailerBytes);
      key_rest[8*i+:8]       = key_turned[8*i+:8] & {8{rest}};
      trailer_behind[8*i+:8] = trailer_turned[8*(i%8)+:8] & {8{behind}};
    end
  end

  // The beat after this one: V bytes less are left of key and prefix.
  beat_t next_beat;
  wire next_last = at_most(32'(key_left_q), BeatBits + 1);
  always_comb begin
    logic [CountBits-1:0] bytes;
    bytes = CountBits'(V);
    if (next_last) bytes = {key_left_q[BeatBits+1], key_left_q[BeatBits-1:0]};
    next_beat = plan(next_last, bytes, skip_q[15:BeatBits+1] != '0,
                     beat_q.skip_all ? skip_q[BeatBits-1:0] : '0);
  end

  // -------------------------------------------------------------- restarts, index side, checksum

  logic restarts_full, array_last, filter_room;
  // A table record still waiting for the index encoder belongs to an earlier table.
  wire close = state_q == StClose && room && !table_record_full_q && filter_room;
  logic [RestartBits-1:0] restarts;
  logic [V*8-1:0] array_data;
  logic [7:0] array_checksum, chunk_checksum;
  logic [CountBits-1:0] array_bytes;
  cu_restart_array #(.Bytes(V), .MaxRestarts(MaxRestarts)) u_restarts (
    .clk_i, .rst_ni,
    .push_i(take_record && head_q.restart), .push_offset_i(content_q),
    .full_o(restarts_full), .count_o(restarts),
    .next_i(close),
    .data_o(array_data), .bytes_o(array_bytes), .last_o(array_last),
    .checksum_o(array_checksum)
  );

  logic last_key_room, last_key_busy;
  cu_last_key #(.ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_last_key (
    .clk_i, .rst_ni,
    .ready_o(last_key_room), .busy_o(last_key_busy),
    .start_i(take_record), .user_bytes_i(record_q.user_bytes), .trailer_i(record_q.trailer),
    .beat_i(take_key), .data_i(key_data_i), .close_i(close_block),
    .last_key_valid_o, .last_key_ready_i, .last_key_o
  );

  if (Bloom != 0) begin : g_filter_keys
    cu_filter_keys #(.ValueBytes(V)) u_filter_keys (
      .clk_i, .rst_ni, .enable_i(filters_i), .ready_o(filter_room),
      .start_i(take_record), .user_bytes_i(record_q.user_bytes),
      .beat_i(take_key), .data_i(key_data_i), .last_i(beat_q.last), .block_end_i(close_block),
      .task_end_i(end_task), .key_valid_o(filter_key_valid_o), .key_ready_i(filter_key_ready_i),
      .key_o(filter_key_o), .error_o(filter_key_error_o)
    );
  end else begin : g_no_filter_keys
    assign filter_room        = 1'b1;
    assign filter_key_valid_o = 1'b0;
    assign filter_key_o       = '0;
    assign filter_key_error_o = 1'b0;
    logic unused_filters;
    assign unused_filters = filters_i & filter_key_ready_i;
  end

  cu_record_sum #(.ValueBytes(V)) u_sum (
    .clk_i, .rst_ni,
    .start_i(take_record), .user_bytes_i(32'(record_q.user_bytes)),
    .value_bytes_i(record_q.value_bytes), .trailer_valid_i(take_trailer), .trailer_i(trailer_q),
    .beat_i(take_key || take_value), .value_i(take_value),
    .data_i(take_value ? value_data_i : key_data_i), .end_i(entry_end),
    .sum_o(output_checksum_o)
  );

  logic checksum_valid_q;
  logic [V*8-1:0] checksum_data_q;
  always_ff @(posedge clk_i) begin
    checksum_valid_q <= rst_ni && emit;
    checksum_data_q  <= chunk.data;
  end
  cu_xor_checksum #(.Bytes(V)) u_checksum (
    .clk_i, .rst_ni, .valid_i(checksum_valid_q), .data_i(checksum_data_q),
    .checksum_o(chunk_checksum)
  );

  // Bytes of the block being closed, including its trailer.
  wire [31:0] block_content = content_q + (32'(restarts) << 2) + 4;
  wire [31:0] block_total = block_content + SealBytes;

  // -------------------------------------------------------------- state machine

  assign block_room = block_room_q - (account_q ? 34'(entry_room_q) : 34'd0);

  always_comb begin
    state_d     = state_q;
    emit        = 1'b0;
    chunk       = '0;
    take_record = 1'b0;
    take_key    = 1'b0;
    take_trailer = 1'b0;
    take_value  = 1'b0;
    entry_end   = 1'b0;
    close_block = 1'b0;
    end_table   = 1'b0;
    end_task    = 1'b0;
    over        = 1'b0;
    unique case (state_q)
      StRecord: begin
        if (head_valid_q && room) begin
          if (!table_ends) begin
            over        = head_q.restart && block_open_q && restarts_full;
            take_record = last_key_room && !over;
            emit        = take_record;
            chunk.data  = (V*8)'(head_q.data);
            chunk.bytes = CountBits'(head_q.bytes);
            if (take_record) state_d = StKey;
            if (over) state_d = StLimit;
          end else if (block_open_q) begin
            state_d = StClose;
          end else if (!table_record_full_q && filter_room) begin
            end_table   = table_open_q;
            end_task    = !table_open_q;
            emit        = 1'b1;
            chunk.last  = 1'b1;
            chunk.token = end_task ? 2'd2 : 2'd1;
            if (end_task) state_d = StDone;
          end
        end
      end
      StKey: begin
        if (key_valid_i && room && filter_room) begin
          take_key    = 1'b1;
          chunk.data  = key_rest;
          chunk.bytes = beat_q.bytes;
          emit        = beat_q.bytes != '0;
          if (beat_q.last) begin
            if (beat_q.trailer_fits) begin
              chunk.data  = key_rest | trailer_behind;
              chunk.bytes = beat_q.bytes + CountBits'(TrailerBytes);
              emit        = 1'b1;
              take_trailer = 1'b1;
              entry_end   = value_none_q;
              state_d     = StValue;
            end else begin
              state_d = StTrailer;
            end
          end
        end
      end
      StTrailer: begin
        if (room) begin
          emit        = 1'b1;
          take_trailer = 1'b1;
          chunk.data  = (V*8)'(trailer_q);
          chunk.bytes = CountBits'(TrailerBytes);
          entry_end   = value_none_q;
          state_d     = StValue;
        end
      end
      StValue: begin
        if (value_valid_i && room) begin
          take_value  = 1'b1;
          emit        = 1'b1;
          chunk.data  = value_data_i;
          entry_end   = value_last_q;
          chunk.bytes = entry_end ? value_left_q[CountBits-1:0] : CountBits'(V);
        end
      end
      StClose: begin
        if (close) begin
          emit        = 1'b1;
          chunk.data  = array_data;
          chunk.bytes = array_bytes;
          chunk.last  = array_last;
          close_block = array_last;
          if (array_last) state_d = StRecord;
        end
      end
      StDone, StLimit: ;
    endcase
    if (entry_end) state_d = (block_room < 0) ? StClose : StRecord;
  end

  assign key_ready_o   = take_key;
  assign value_ready_o = take_value;

  // With a block's first entry it loses five bytes more: a block is full if entries + 4 * restarts + 4
  // >= block_bytes.
  wire [4:0] restart_room = block_open_q ? {2'b0, head_q.restart, 2'b0} : 5'd9;

  // A new count and the next one share a carry chain, which adds minus one or what is gone.
  wire open_table = take_record && !table_open_q;
  wire [64:0] table_before = open_table ? {1'b0, table_bytes_i} : table_room_q;
  wire [64:0] table_less = open_table ? '1 : ~65'(block_total);
  wire [64:0] table_room = 65'(({table_less, 1'b1} + {table_before, !open_table}) >> 1);
  wire [16:0] restart_less = head_q.restart ? -17'd2 : '1;
  wire [16:0] restart_left = restart_less +
                             (head_q.restart ? {1'b0, restart_interval_i} : restart_left_q);
  wire [31:0] value_less = take_record ? '0 : -V;
  wire [31:0] value_left = value_less + (take_record ? record_q.value_bytes : value_left_q);
  wire [15:0] key_less = take_record ? '0 : -16'(V);
  wire [15:0] key_left = key_less + (take_record ? record_q.user_bytes : key_left_q);

  // -------------------------------------------------------------- registers

  always_ff @(posedge clk_i) begin
    entry_bytes_q <= record_q.value_bytes + 32'(head_q.unshared + 16'(head_q.bytes));
    entry_room_q  <= record_q.value_bytes
                     + 32'(head_q.unshared + 16'(5'(head_q.bytes) + restart_room));
    if (take_record || take_key) key_left_q <= key_left;
    if (take_record || take_value) value_left_q <= value_left;
    if (take_record) begin
      skip_q       <= head_q.shared;
      beat_q       <= head_q.beat;
      value_none_q <= head_q.value_none;
      value_last_q <= head_q.value_last;
      trailer_q    <= record_q.trailer;
      restart_left_q <= restart_left;
    end
    if (take_key) begin
      skip_q     <= beat_q.skip_all ? skip_q - 16'(V) : '0;
      beat_q     <= next_beat;
    end
    if (take_value) begin
      value_last_q <= at_most(value_left_q, BeatBits + 1);
    end

    if (take_record && !block_open_q) block_room_q <= signed'(34'(block_bytes_i));
    else block_room_q <= block_room;
    if (open_table || close_block) table_room_q <= signed'(table_room);
    if (end_table || end_task) begin
      table_record_o <= '{task_end: end_task, entries: entries_q, tombstones: tombstones_q};
    end
    if (!rst_ni) begin
      state_q      <= StRecord;
      block_open_q <= 1'b0;
      table_open_q <= 1'b0;
      account_q    <= 1'b0;
      table_record_full_q    <= 1'b0;
      content_q    <= '0;
      entries_q    <= '0;
      tombstones_q <= '0;
      records_q    <= '0;
      content_bytes_q <= '0;
    end else begin
      state_q <= state_d;
      account_q <= take_record;
      if (account_q) content_q <= content_q + entry_bytes_q;
      if (take_record) begin
        block_open_q <= 1'b1;
        table_open_q <= 1'b1;
        entries_q    <= entries_q + 64'd1;
        tombstones_q <= tombstones_q + 64'(record_q.tombstone);
      end
      if (entry_end) records_q <= records_q + 64'd1;
      if (close_block) begin
        block_open_q <= 1'b0;
        content_q    <= '0;
        content_bytes_q <= content_bytes_q + 64'(block_content);
      end
      if (end_table) begin
        table_open_q <= 1'b0;
        entries_q    <= '0;
        tombstones_q <= '0;
      end
      if (end_table || end_task) table_record_full_q <= 1'b1;
      else if (table_record_valid_o && table_record_ready_i) table_record_full_q <= 1'b0;
    end
  end

  // More than one place, so that room does not depend on a simultaneous read. What it might lose or
  // double would be missed in the block, or by its checksum.
  localparam int unsigned OutDepth = (V > 32) ? 4 : 2;
  logic [$clog2(OutDepth+1)-1:0] unused_out;
  logic unused_out_error;
  cu_wide_fifo #(.Width($bits(chunk_t)), .Depth(OutDepth)) u_out (
    .clk_i, .rst_ni, .wvalid_i(emit), .wready_o(room), .wdata_i(chunk),
    .rvalid_o(chunk_valid_o), .rready_i(chunk_ready_i), .rdata_o(chunk_o), .count_o(unused_out),
    .error_o(unused_out_error)
  );

  // After the keys of the table's blocks; those of the next table wait for it.
  assign table_record_valid_o  = table_record_full_q && !last_key_busy;

  assign content_checksum_o = chunk_checksum ^ array_checksum;
  assign limit_o          = state_q == StLimit;
  assign output_records_o = records_q;
  assign content_bytes_o  = content_bytes_q;
  assign stall_encode_o   = room && filter_room && ((state_q == StRecord && !head_valid_q)
                                     || (state_q == StKey && !key_valid_i)
                                     || (state_q == StValue && !value_valid_i));
  assign stall_pack_o     = !room || !filter_room || (state_q == StClose && table_record_full_q)
                            || (state_q == StRecord && head_valid_q
                                && (table_ends ? !block_open_q && table_record_full_q
                                               : !last_key_room));

  `ASSERT(a_key_last, key_valid_i && state_q == StKey |-> key_last_i == beat_q.last)
  `ASSERT(a_shared, record_valid_i && !record_i.eos |-> record_i.shared <= record_i.user_bytes)
  `ASSERT(a_value_limit, record_valid_i && !record_i.eos |-> record_i.value_bytes[31:28] == '0)
  `ASSERT(a_out_stable,
      chunk_valid_o && !chunk_ready_i |=> chunk_valid_o && $stable(chunk_o))
endmodule
