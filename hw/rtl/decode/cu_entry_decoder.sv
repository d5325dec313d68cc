// Decodes the data blocks of one way: takes block handles, reads the blocks, and emits the keys,
// values, record info and record hashes of their entries in order. Each stream has a FIFO of its
// own, so that keys can run ahead while values wait.
//
//   handles -> read requests
//           -> blocks in flight -> cu_block_chunks -> cu_byte_window -> cu_entry_parser
//                                                                           | events
//                  answers, with tails                               cu_key_expander -> FIFOs
//                          \----------> checker <---- block ends -----------/
//
// With Snappy, cu_block_types reads the type of each block ahead of it, and cu_snappy_stage, between
// chunks and window, decompresses. Everything behind sees what the blocks hold.
//
// With Xxh3, and if the job says so, cu_block_hash sees the chunks, too, and says of each block
// whether its checksum is right. The answer's CRC then counts for nothing.
//
// Steady state: 1 + ceil((user key + 8) / V) + ceil(value / V) cycles per record, and one cycle per
// block to see the restart array. It takes longer only if array and trailer span more than two
// chunks, or if the block's bytes, at V per cycle from chunk to chunk, take longer.
//
// The checker judges blocks in order, after their records have been emitted, because the CRC is
// known last. It reports, in this order of priority: read error, checksum, compression type (also
// of what Snappy allows, and this unit does not), what Snappy does not allow, first fault within
// the block. The end of the run is emitted only after all blocks have passed. A
// corrupt index can point anywhere, so a fault is reported only once the index block that named the
// data block is known to be good: when a handle of a later table, or the end, has arrived.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_entry_decoder
  import sluice_abi_pkg::*;
#(
  parameter int unsigned ValueBytes      = 8,     // V: 8, 16, 32 or 64
  parameter int unsigned BusBytes        = 64,    // W >= V
  parameter int unsigned MaxKeyBytes     = 1024,  // user key
  parameter int unsigned MaxValueBytes   = ValueBytesLimit,
  parameter int unsigned InFlight        = 8,   // blocks requested ahead
  parameter int unsigned ValueFifoBeats  = 64,  // a power of two
  parameter int unsigned RecordFifoDepth = 32,
  parameter int unsigned KeyFifoBeats    = 16,
  parameter int unsigned Snappy          = 0,   // 1: blocks may be compressed with it
  parameter int unsigned ParityBytes     = ValueBytes,  // of a beat under one parity bit: V or 1
  parameter int unsigned Xxh3            = 0,   // 1: blocks may have checksums by XXH3
  localparam int unsigned Parities = ValueBytes / ParityBytes,
  localparam int unsigned Chunks = BusBytes / ValueBytes,
  localparam type key_t = `CU_KEY_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    xxh3_i,  // with Xxh3: the job's blocks have it

  input  logic                    handle_valid_i,
  output logic                    handle_ready_o,
  input  logic                    handle_end_i,
  input  logic [63:0]             handle_addr_i,
  input  logic [31:0]             handle_bytes_i,
  input  logic [63:0]             handle_offset_i,
  input  logic [15:0]             handle_table_i,
  input  logic [31:0]             handle_base_i,  // with Xxh3: of modifiers, 0: there are none

  output logic                    req_valid_o,
  input  logic                    req_ready_i,
  output logic [63:0]             req_addr_o,
  output logic [31:0]             req_bytes_o,
  input  logic                    beat_valid_i,
  output logic                    beat_ready_o,
  input  logic [BusBytes*8-1:0]   beat_data_i,
  input  logic [Chunks*Parities-1:0] beat_parity_i,
  input  logic                    done_valid_i,
  output logic                    done_ready_o,
  input  logic                    done_good_i,  // the CRC is the stored one
  input  logic [39:0]             done_tail_i,  // type and number of restarts, as they are stored
  input  logic [31:0]             done_stored_i,  // with Xxh3: the stored checksum
  input  logic                    done_error_i,

  output logic                    key_valid_o,
  input  logic                    key_ready_i,
  output key_t                    key_o,

  output logic                    info_valid_o,
  input  logic                    info_ready_i,
  output logic [31:0]             info_value_bytes_o,
  output logic [15:0]             info_tag_o,  // cu_tag_pkg

  output logic                    hash_valid_o,
  input  logic                    hash_ready_i,
  output logic [63:0]             hash_o,

  output logic                    value_valid_o,
  input  logic                    value_ready_i,
  output logic [ValueBytes*8-1:0] value_data_o,

  output logic                    fault_valid_o,
  output logic [7:0]              fault_status_o,  // merge_status_e
  output logic [15:0]             fault_table_o,
  output logic [63:0]             fault_offset_o,

  output logic [63:0]             input_bytes_o,   // of the blocks that have passed
  output logic                    parity_error_o,  // level
  output logic                    settled_o        // level: all announced has left
);
  localparam int unsigned V = ValueBytes;
  typedef `CU_EVENT_T(V) event_t;
  typedef `CU_BLOCK_END_T block_end_t;
  localparam int unsigned PosBits = $clog2(V);
  localparam int unsigned CountBits = PosBits + 1;
  localparam int unsigned LaneBits = $clog2(BusBytes);
  localparam int unsigned OffsetBits = 48;  // no device has more memory
  localparam int unsigned Checks = 8;  // blocks parsed whose CRC may still be unknown

  `ASSERT_PARAM(value_bytes, ValueBytes inside {8, 16, 32, 64},
                "ValueBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(bus_bytes, BusBytes >= ValueBytes, "BusBytes must be ValueBytes or more")
  `ASSERT_PARAM(max_key_bytes, MaxKeyBytes inside {[8:65000]}, "MaxKeyBytes must be 8 to 65000")
  `ASSERT_PARAM(snappy, Snappy <= 1, "Snappy must be 0 or 1")
  `ASSERT_PARAM(xxh3, Xxh3 <= 1, "Xxh3 must be 0 or 1")
  `ASSERT_PARAM(parity_bytes, Snappy == 0 || ParityBytes == ValueBytes,
                "With Snappy, ParityBytes must be ValueBytes")
  `ASSERT_PARAM(value_fifo_beats, $onehot(ValueFifoBeats), "ValueFifoBeats must be a power of two")

  // ------------------------------------------------------------------ handles in

  logic fault_q;  // found; reported when the index is known to be good
  logic lane_ready, info_ready, reported_q;
  logic any_handle_q, last_end_q;
  logic [15:0] last_table_q;

  logic ask_valid, ask_ready;  // requests of blocks
  logic [31:0] ask_bytes;
  wire room = lane_ready & info_ready & ~fault_q;
  assign ask_valid      = handle_valid_i & ~handle_end_i & room;
  assign ask_bytes      = handle_bytes_i + 32'd5;
  assign handle_ready_o = fault_q | (room & (handle_end_i | ask_ready));
  wire accept = handle_valid_i & handle_ready_o;

  always_ff @(posedge clk_i) begin
    if (accept) last_table_q <= handle_table_i;
    if (!rst_ni) begin
      any_handle_q <= 1'b0;
      last_end_q   <= 1'b0;
    end else if (accept) begin
      any_handle_q <= 1'b1;
      last_end_q   <= handle_end_i;
    end
  end

  logic unused_offset;
  assign unused_offset = ^handle_offset_i[63:OffsetBits];

  typedef struct packed {
    logic        run_end;
    logic [31:0] bytes;
  } info_t;

  // Of a block from its handle until it is checked. There are InFlight + 1 + Checks at most, so that
  // the two places in their ring need no count.
  localparam int unsigned Names = 2 ** $clog2(InFlight + 1 + Checks);
  typedef struct packed {
    logic [31:0] stored_bytes;  // and the trailer
    logic [15:0] table_no;
    logic [OffsetBits-1:0] offset;
  } name_t;

  logic lane_valid, lane_pop;
  logic [LaneBits-1:0] lane;
  logic [31:0] lane_bytes;
  logic info_valid, info_pop, info_take;
  info_t info;
  logic check_pop;
  name_t name;
  logic [$clog2(Names)-1:0] asked_q, checked_q;
  logic [$clog2(InFlight+1)-1:0] unused_lanes, unused_info;
  wire asked = accept & ~handle_end_i & ~fault_q;

  cu_fifo #(.Width(LaneBits + 32), .Depth(InFlight)) u_lanes (
    .clk_i, .rst_ni,
    .wvalid_i(asked), .wready_o(lane_ready), .wdata_i({handle_addr_i[LaneBits-1:0], ask_bytes}),
    .rvalid_o(lane_valid), .rready_i(lane_pop), .rdata_o({lane, lane_bytes}),
    .count_o(unused_lanes)
  );
  cu_fifo #(.Width($bits(info_t)), .Depth(InFlight)) u_info (
    .clk_i, .rst_ni,
    .wvalid_i(accept & ~fault_q), .wready_o(info_ready), .wdata_i({handle_end_i, handle_bytes_i}),
    .rvalid_o(info_valid), .rready_i(info_take), .rdata_o(info),
    .count_o(unused_info)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q   <= '0;
      checked_q <= '0;
    end else begin
      if (asked) asked_q <= asked_q + 1'b1;
      if (check_pop) checked_q <= checked_q + 1'b1;
    end
  end
  // The name is of use two cycles after checked_q has come to it. If words are wide, it is in block
  // RAM, too.
  wire name_t asked_name = {ask_bytes, handle_table_i, handle_offset_i[OffsetBits-1:0]};
  if (V > 32) begin : g_names
    (* ram_style = "block" *) name_t names[Names];
    name_t name_q;
    always_ff @(posedge clk_i) begin
      if (asked) names[asked_q] <= asked_name;
      name_q <= names[checked_q];
    end
    assign name = name_q;
  end else begin : g_names
    name_t names[Names];
    always_ff @(posedge clk_i) if (asked) names[asked_q] <= asked_name;
    assign name = names[checked_q];
  end

  // ------------------------------------------------------------------ chunks and window

  logic chunk_valid, chunk_ready, chunk_first, chunk_last;
  logic [V*8-1:0] chunk_data;
  logic [Parities-1:0] chunk_parity, plain_parity;
  logic [PosBits-1:0] chunk_lane;
  wire [31:0] tail_restarts = done_tail_i[31:0];  // of a block that is stored raw
  wire [7:0] tail_type = done_tail_i[39:32];
  logic cut_valid, cut_ready, cut_beat_ready;  // blocks to be cut, and their beats
  logic cut_chunk_valid, cut_chunk_ready;      // as they come; with Xxh3, the hash must have room
  // To the window.
  logic plain_valid, plain_ready, plain_first, plain_last;
  logic [V*8-1:0] plain_data;
  logic [PosBits-1:0] plain_lane;
  // To the parser: the next block, or the end.
  logic next_valid;
  logic [31:0] next_bytes;
  // To the checker: the next answer, and what it compares.
  logic answer_valid, answer_ready, answer_error;
  logic plain_tail_valid, type_known, type_differs, corrupt, too_far;
  logic [31:0] plain_restarts;
  logic stop, snappy_parity_error;

  cu_block_chunks #(
    .ValueBytes(V), .BusBytes(BusBytes), .ParityBytes(ParityBytes)
  ) u_chunks (
    .clk_i, .rst_ni,
    .block_valid_i(cut_valid), .block_ready_o(cut_ready),
    .block_lane_i(lane), .block_bytes_i(lane_bytes),
    .beat_valid_i, .beat_ready_o(cut_beat_ready), .beat_data_i, .beat_parity_i,
    .chunk_valid_o(cut_chunk_valid), .chunk_ready_i(cut_chunk_ready), .chunk_data_o(chunk_data),
    .chunk_parity_o(chunk_parity),
    .chunk_first_o(chunk_first), .chunk_last_o(chunk_last), .chunk_lane_o(chunk_lane)
  );

  logic win_ready, win_move, win_flush, win_flushed;
  logic [63:0] win_head;
  logic win_cross, win_ahead_move, win_ahead_cross, win_ahead_flush;
  logic [PosBits-1:0] win_pos, win_ahead_pos;
  logic [V*8-1:0] win_ring;
  logic win_parity, win_parity_error;
  logic [CountBits-1:0] win_bytes;
  logic [PosBits-1:0] win_ahead_bytes;

  cu_byte_window #(.ValueBytes(V), .ParityBytes(ParityBytes)) u_window (
    .clk_i, .rst_ni,
    .chunk_valid_i(plain_valid), .chunk_ready_o(plain_ready), .chunk_data_i(plain_data),
    .chunk_parity_i(plain_parity),
    .chunk_first_i(plain_first), .chunk_last_i(plain_last), .chunk_lane_i(plain_lane),
    .ready_o(win_ready), .head_o(win_head), .pos_o(win_pos),
    .ring_o(win_ring), .parity_o(win_parity),
    .move_i(win_move), .bytes_i(win_bytes), .cross_i(win_cross), .flush_i(win_flush),
    .ahead_move_i(win_ahead_move), .ahead_bytes_i(win_ahead_bytes),
    .ahead_cross_i(win_ahead_cross), .ahead_flush_i(win_ahead_flush),
    .ahead_pos_o(win_ahead_pos), .flushed_o(win_flushed),
    .parity_error_o(win_parity_error)
  );

  // ------------------------------------------------------------------ parse and expand

  logic key_room, value_room, info_room, hash_room, check_room, all_checked;
  logic key_take, value_take, record_take, check_take, expander_fault;
  event_t parsed;
  block_end_t block_end;
  merge_status_e header_status;
  logic parser_parity_error, expander_parity_error;

  cu_entry_parser #(
    .ValueBytes(V), .MaxKeyBytes(MaxKeyBytes), .MaxValueBytes(MaxValueBytes)
  ) u_parser (
    .clk_i, .rst_ni,
    .block_valid_i(next_valid), .block_ready_o(info_pop), .block_end_i(info.run_end),
    .block_bytes_i(next_bytes),
    .window_ready_i(win_ready), .window_head_i(win_head), .window_pos_i(win_pos),
    .window_ring_i(win_ring), .window_parity_i(win_parity),
    .window_move_o(win_move), .window_bytes_o(win_bytes), .window_cross_o(win_cross),
    .window_ahead_move_o(win_ahead_move), .window_ahead_bytes_o(win_ahead_bytes),
    .window_ahead_cross_o(win_ahead_cross), .window_ahead_flush_o(win_ahead_flush),
    .window_ahead_pos_i(win_ahead_pos),
    .window_flush_o(win_flush), .window_flushed_i(win_flushed),
    .key_room_i(key_room), .value_room_i(value_room), .record_room_i(info_room & hash_room),
    .check_room_i(check_room), .all_checked_i(all_checked),
    .fault_i(expander_fault | stop),
    .key_take_o(key_take), .value_take_o(value_take), .record_take_o(record_take),
    .check_take_o(check_take),
    .event_o(parsed), .header_status_o(header_status), .block_end_o(block_end),
    .parity_error_o(parser_parity_error)
  );

  logic new_key_valid, new_value_valid, new_info_valid, new_hash_valid, new_end_valid;
  key_t new_key;
  logic [V*8-1:0] new_value_data;
  logic [63:0] new_hash;
  logic [31:0] new_info_value_bytes;
  logic [15:0] new_info_tag;
  merge_status_e new_end_status;

  cu_key_expander #(.ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_key_expander (
    .clk_i, .rst_ni, .silent_i(fault_q), .event_i(parsed), .header_status_i(header_status),
    .key_valid_o(new_key_valid), .key_o(new_key),
    .value_valid_o(new_value_valid), .value_data_o(new_value_data),
    .info_valid_o(new_info_valid), .info_value_bytes_o(new_info_value_bytes),
    .info_tag_o(new_info_tag),
    .hash_valid_o(new_hash_valid), .hash_o(new_hash),
    .end_valid_o(new_end_valid), .end_status_o(new_end_status), .fault_o(expander_fault),
    .parity_error_o(expander_parity_error)
  );
  logic keys_error, values_error, fifo_error_q;
  always_ff @(posedge clk_i) fifo_error_q <= rst_ni & (fifo_error_q | keys_error | values_error);
  assign parity_error_o = win_parity_error | parser_parity_error | expander_parity_error |
                          fifo_error_q | snappy_parity_error;

  // ------------------------------------------------------------------ compressed blocks, or none

  if (Snappy != 0) begin : g_snappy
    logic block_valid, block_ready, block_room, beat_take, length_valid;
    logic [7:0] block_type, decoded_type;
    logic [31:0] length;

    cu_block_types #(.BusBytes(BusBytes)) u_types (
      .clk_i, .rst_ni,
      .block_req_valid_i(ask_valid), .block_req_ready_o(ask_ready),
      .block_req_addr_i(handle_addr_i), .block_req_bytes_i(ask_bytes),
      .req_valid_o, .req_ready_i, .req_addr_o, .req_bytes_o,
      .done_valid_i, .done_ready_o, .done_error_i,
      .block_done_valid_o(answer_valid), .block_done_ready_i(answer_ready),
      .block_done_error_o(answer_error),
      .asked_valid_i(lane_valid), .asked_ready_o(lane_pop), .asked_lane_i(lane),
      .asked_bytes_i(lane_bytes[LaneBits-1:0]),
      .block_valid_o(block_valid), .block_ready_i(block_ready), .block_type_o(block_type),
      .room_i(block_room),
      .beat_valid_i, .beat_data_i, .beat_take_o(beat_take)
    );
    assign cut_valid    = block_valid;
    assign block_ready  = cut_ready;
    assign beat_ready_o = beat_take | cut_beat_ready;

    cu_snappy_stage #(.ValueBytes(V), .Tails(Checks)) u_stage (
      .clk_i, .rst_ni,
      .block_valid_i(block_valid & block_ready), .room_o(block_room),
      .block_bytes_i(lane_bytes - 32'd5), .block_type_i(block_type),
      .chunk_valid_i(chunk_valid), .chunk_ready_o(chunk_ready), .chunk_data_i(chunk_data),
      .chunk_parity_i(chunk_parity), .chunk_first_i(chunk_first), .chunk_last_i(chunk_last),
      .chunk_lane_i(chunk_lane),
      .out_valid_o(plain_valid), .out_ready_i(plain_ready), .out_data_o(plain_data),
      .out_parity_o(plain_parity), .out_first_o(plain_first), .out_last_o(plain_last),
      .length_valid_o(length_valid), .length_ready_i(info_take & ~info.run_end),
      .length_o(length),
      .block_end_i(parsed.block_end), .stop_o(stop),
      .tail_valid_o(plain_tail_valid), .tail_ready_i(check_pop), .tail_type_o(decoded_type),
      .tail_restarts_o(plain_restarts), .tail_corrupt_o(corrupt), .tail_far_o(too_far),
      .parity_error_o(snappy_parity_error)
    );
    assign plain_lane   = '0;
    assign next_valid   = info_valid & (info.run_end | length_valid);
    assign next_bytes   = length;
    assign info_take    = next_valid & info_pop;
    assign type_known   = tail_type[7:1] == '0;
    assign type_differs = tail_type != decoded_type;
    logic unused_stored;  // of stored blocks
    assign unused_stored = ^{tail_restarts, info.bytes};
  end else begin : g_raw
    assign ask_ready    = req_ready_i;
    assign req_valid_o  = ask_valid;
    assign req_addr_o   = handle_addr_i;
    assign req_bytes_o  = ask_bytes;
    assign answer_valid = done_valid_i;
    assign answer_error = done_error_i;
    assign done_ready_o = answer_ready;
    assign cut_valid    = lane_valid;
    assign lane_pop     = cut_ready;
    assign beat_ready_o = cut_beat_ready;
    assign plain_valid  = chunk_valid;
    assign chunk_ready  = plain_ready;
    assign plain_data   = chunk_data;
    assign plain_parity = chunk_parity;
    assign plain_first  = chunk_first;
    assign plain_last   = chunk_last;
    assign plain_lane   = chunk_lane;
    assign next_valid   = info_valid;
    assign next_bytes   = info.bytes;
    assign info_take    = info_pop;
    assign type_known   = tail_type == 8'd0;
    assign type_differs = 1'b0;
    assign corrupt      = 1'b0;
    assign too_far      = 1'b0;
    assign stop         = 1'b0;
    assign plain_tail_valid    = 1'b1;
    assign plain_restarts      = tail_restarts;
    assign snappy_parity_error = 1'b0;
  end

  // ------------------------------------------------------------------ hashes, or none

  logic sum_known, sum_good;  // what the checker must know of the next block
  if (Xxh3 != 0) begin : g_xxh3
    logic tap_ready, hash_known, hash_good;
    wire tap_room = tap_ready | ~xxh3_i;
    assign chunk_valid     = cut_chunk_valid & tap_room;
    assign cut_chunk_ready = chunk_ready & tap_room;

    // What depends on a block's place in its table, by the names of blocks.
    (* ram_style = "distributed" *) logic [31:0] modifiers[Names];
    wire [31:0] place = handle_offset_i[31:0] + 32'(handle_offset_i[OffsetBits-1:32]);
    always_ff @(posedge clk_i) begin
      if (asked) modifiers[asked_q] <= (handle_base_i == '0) ? '0 : handle_base_i ^ place;
    end

    cu_block_hash #(.ValueBytes(V)) u_hash (
      .clk_i, .rst_ni,
      .block_i(xxh3_i & cut_valid & cut_ready), .block_bytes_i(lane_bytes),
      .chunk_ready_o(tap_ready), .chunk_i(xxh3_i & chunk_valid & chunk_ready),
      .chunk_data_i(chunk_data), .chunk_first_i(chunk_first), .chunk_last_i(chunk_last),
      .chunk_lane_i(chunk_lane),
      .answer_i(answer_valid), .type_i(tail_type), .stored_i(done_stored_i),
      .modifier_i(modifiers[checked_q]), .known_o(hash_known), .good_o(hash_good),
      .checked_i(xxh3_i & check_pop)
    );
    assign sum_known = hash_known | ~xxh3_i;
    assign sum_good  = xxh3_i ? hash_good : done_good_i;
  end else begin : g_crc
    assign chunk_valid     = cut_chunk_valid;
    assign cut_chunk_ready = chunk_ready;
    assign sum_known       = 1'b1;
    assign sum_good        = done_good_i;
    logic unused_xxh3;
    assign unused_xxh3 = ^{xxh3_i, handle_base_i, done_stored_i};
  end

  // ------------------------------------------------------------------ out

  // A record lost to a bit flip never gives its places back.
  logic all_keys, all_values, all_infos, all_hashes;
  assign settled_o = all_keys & all_values & all_infos & all_hashes;
  logic [$clog2(KeyFifoBeats+1)-1:0] unused_keys;
  logic [$clog2(ValueFifoBeats+1)-1:0] unused_values;
  logic [$clog2(RecordFifoDepth+1)-1:0] unused_infos, unused_hashes;
  logic key_wready, value_wready, info_wready, hash_wready;

  cu_credit #(.Depth(KeyFifoBeats)) u_key_credit (
    .clk_i, .rst_ni, .take_i(key_take), .give_i(key_valid_o & key_ready_i),
    .avail_o(key_room), .all_o(all_keys)
  );
  cu_wide_fifo #(.Width($bits(key_t)), .Depth(KeyFifoBeats)) u_keys (
    .clk_i, .rst_ni, .wvalid_i(new_key_valid), .wready_o(key_wready),
    .wdata_i(new_key),
    .rvalid_o(key_valid_o), .rready_i(key_ready_i),
    .rdata_o(key_o),
    .count_o(unused_keys), .error_o(keys_error)
  );

  cu_credit #(.Depth(ValueFifoBeats)) u_value_credit (
    .clk_i, .rst_ni, .take_i(value_take), .give_i(value_valid_o & value_ready_i),
    .avail_o(value_room), .all_o(all_values)
  );
  cu_ram_fifo #(.Width(V * 8), .Depth(ValueFifoBeats)) u_values (
    .clk_i, .rst_ni, .wvalid_i(new_value_valid), .wready_o(value_wready), .wdata_i(new_value_data),
    .rvalid_o(value_valid_o), .rready_i(value_ready_i), .rdata_o(value_data_o),
    .count_o(unused_values), .error_o(values_error)
  );

  cu_credit #(.Depth(RecordFifoDepth)) u_info_credit (
    .clk_i, .rst_ni, .take_i(record_take), .give_i(info_valid_o & info_ready_i),
    .avail_o(info_room), .all_o(all_infos)
  );
  cu_fifo #(.Width(32 + 16), .Depth(RecordFifoDepth)) u_records (
    .clk_i, .rst_ni, .wvalid_i(new_info_valid), .wready_o(info_wready),
    .wdata_i({new_info_value_bytes, new_info_tag}),
    .rvalid_o(info_valid_o), .rready_i(info_ready_i), .rdata_o({info_value_bytes_o, info_tag_o}),
    .count_o(unused_infos)
  );

  cu_credit #(.Depth(RecordFifoDepth)) u_hash_credit (
    .clk_i, .rst_ni, .take_i(record_take), .give_i(hash_valid_o & hash_ready_i),
    .avail_o(hash_room), .all_o(all_hashes)
  );
  cu_fifo #(.Width(64), .Depth(RecordFifoDepth)) u_hashes (
    .clk_i, .rst_ni, .wvalid_i(new_hash_valid), .wready_o(hash_wready), .wdata_i(new_hash),
    .rvalid_o(hash_valid_o), .rready_i(hash_ready_i), .rdata_o(hash_o),
    .count_o(unused_hashes)
  );

  // ------------------------------------------------------------------ check blocks

  block_end_t check;
  merge_status_e content;  // first fault within the block: comes when its events are through
  logic check_valid, check_wready, content_valid, content_wready;
  logic [$clog2(Checks+1)-1:0] unused_checks, unused_contents;

  cu_credit #(.Depth(Checks)) u_check_credit (
    .clk_i, .rst_ni, .take_i(check_take), .give_i(check_pop),
    .avail_o(check_room), .all_o(all_checked)
  );
  cu_fifo #(.Width($bits(block_end_t)), .Depth(Checks)) u_checks (
    .clk_i, .rst_ni, .wvalid_i(parsed.block_end), .wready_o(check_wready), .wdata_i(block_end),
    .rvalid_o(check_valid), .rready_i(check_pop), .rdata_o(check),
    .count_o(unused_checks)
  );
  cu_fifo #(.Width($bits(merge_status_e)), .Depth(Checks)) u_contents (
    .clk_i, .rst_ni, .wvalid_i(new_end_valid), .wready_o(content_wready), .wdata_i(new_end_status),
    .rvalid_o(content_valid), .rready_i(check_pop), .rdata_o({content}),
    .count_o(unused_contents)
  );

  // Comparisons in one cycle, the decision in the next.
  logic judge_q, array_bad_q, crc_bad_q, type_bad_q, differs_q;
  merge_status_e verdict, status_q;
  logic [15:0] fault_table_q;
  logic [OffsetBits-1:0] fault_offset_q, input_bytes_q;

  // An array has one word per restart, and their number. array_words + ~plain_restarts is zero then;
  // a sum a + b is zero, without a carry chain, if a ^ b is (a | b) << 1.
  wire [31:0] array_words = {2'b00, check.restart_bytes[31:2]};

  assign check_pop    = judge_q & content_valid & ~fault_q;
  assign answer_ready = check_pop;

  always_ff @(posedge clk_i) begin
    array_bad_q <= ~check.restart_zero || check.restart_bytes[1:0] != 2'b00 ||
                   (array_words ^ ~plain_restarts) != ((array_words | ~plain_restarts) << 1);
    crc_bad_q   <= ~sum_good;
    type_bad_q  <= ~type_known | too_far;
    differs_q   <= type_differs;
    if (!rst_ni) judge_q <= 1'b0;
    else judge_q <= check_valid & plain_tail_valid & answer_valid & sum_known & ~check_pop;
  end

  always_comb begin
    verdict = MergeStatusOk;
    if (answer_error) verdict = MergeStatusReadError;
    else if (crc_bad_q) verdict = MergeStatusBlockChecksum;
    else if (differs_q) verdict = MergeStatusReadError;  // the type was not what it is
    else if (type_bad_q) verdict = MergeStatusBlockType;
    else if (corrupt) verdict = MergeStatusBlockCorrupt;
    else if (content != MergeStatusOk) verdict = content;
    else if (array_bad_q) verdict = MergeStatusBlockCorrupt;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fault_q       <= 1'b0;
      reported_q    <= 1'b0;
      input_bytes_q <= '0;
    end else begin
      if (check_pop && verdict == MergeStatusOk) begin
        input_bytes_q <= input_bytes_q + OffsetBits'(name.stored_bytes);
      end
      if (check_pop && verdict != MergeStatusOk) begin
        fault_q        <= 1'b1;
        status_q       <= verdict;
        fault_table_q  <= name.table_no;
        fault_offset_q <= name.offset;
      end
      if (fault_q && any_handle_q && (last_end_q || last_table_q != fault_table_q)) begin
        reported_q <= 1'b1;
      end
    end
  end

  assign fault_valid_o  = reported_q;
  assign fault_status_o = status_q;
  assign fault_table_o  = fault_table_q;
  assign fault_offset_o = 64'(fault_offset_q);
  assign input_bytes_o  = 64'(input_bytes_q);

  `ASSERT(a_key_place, new_key_valid |-> key_wready)
  `ASSERT(a_value_place, new_value_valid |-> value_wready)
  `ASSERT(a_record_place, new_info_valid |-> info_wready)
  `ASSERT(a_hash_place, new_hash_valid |-> hash_wready)
  `ASSERT(a_name_place, asked |-> $bits(asked_q)'(asked_q + 1'b1) != checked_q)
  `ASSERT(a_name, check_valid |-> asked_q != checked_q)
  `ASSERT(a_check_place, parsed.block_end |-> check_wready)
  `ASSERT(a_content_place, new_end_valid |-> content_wready)
endmodule
