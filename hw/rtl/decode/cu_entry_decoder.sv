// Decodes the data blocks of one way: takes block handles, reads the blocks, and emits the keys,
// values, record info and record hashes of their entries in order, each through a FIFO of its own so
// that keys race ahead while values wait.
//
//   handles -> read requests
//           -> blocks in flight -> cu_block_chunks -> cu_byte_window -> cu_entry_parser
//                                        | tails                            | events
//                                        v                           cu_entry_finish -> FIFOs
//                                     checker <---- block ends -----------/
//
// Steady state: 1 + ceil((user key + 8) / V) + ceil(value / V) cycles per record, and on top one per
// block, which sees the restart array; more only where array and trailer fill more than two chunks,
// or the block's bytes, at V a cycle from chunk to chunk, take longer.
//
// The checker decides block by block, behind the records, which are emitted before their block's CRC
// is known: read error, checksum, compression type, then the first fault within the block. The end
// of the run is emitted only when all blocks have passed. A faulty index can point anywhere, so a
// fault is not reported before the index block that the handle came from is known to be good: when a
// handle of a later table, or the end, has arrived.

module cu_entry_decoder
  import sluice_abi_pkg::*;
#(
  parameter int unsigned ValueBytes     = 8,    // V: 8, 16, 32 or 64
  parameter int unsigned BusBytes       = 64,   // W >= V
  parameter int unsigned MaxKeyBytes    = 1024, // user key
  parameter int unsigned MaxValueBytes  = ValueBytesLimit,
  parameter int unsigned InFlight       = 8,    // blocks requested ahead
  parameter int unsigned ValueFifoBeats = 64,   // a power of two
  parameter int unsigned RecFifo        = 32,
  parameter int unsigned KeyFifo        = 16,
  localparam int unsigned Chunks = BusBytes / ValueBytes
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  logic                          handle_valid_i,
  output logic                          handle_ready_o,
  input  logic                          handle_end_i,
  input  logic [63:0]                   handle_addr_i,
  input  logic [31:0]                   handle_bytes_i,
  input  logic [63:0]                   handle_offset_i,
  input  logic [15:0]                   handle_table_i,

  output logic                          req_valid_o,
  input  logic                          req_ready_i,
  output logic [63:0]                   req_addr_o,
  output logic [31:0]                   req_bytes_o,
  input  logic                          beat_valid_i,
  output logic                          beat_ready_o,
  input  logic [BusBytes*8-1:0]         beat_data_i,
  input  logic [Chunks-1:0]             beat_parity_i,  // of V bytes each
  input  logic                          done_valid_i,
  output logic                          done_ready_o,
  input  logic [31:0]                   done_crc_i,
  input  logic                          done_error_i,

  output logic                          key_valid_o,
  input  logic                          key_ready_i,
  output logic [ValueBytes*8-1:0]       key_data_o,
  output logic [$clog2(ValueBytes+1)-1:0] key_bytes_o,
  output logic                          key_last_o,
  output logic                          key_eos_o,
  output logic [63:0]                   key_trailer_o,
  output logic                          key_parity_o,  // of the whole key: see cu_entry_finish

  output logic                          rec_valid_o,
  input  logic                          rec_ready_i,
  output logic [31:0]                   rec_value_bytes_o,

  output logic                          hash_valid_o,
  input  logic                          hash_ready_i,
  output logic [63:0]                   hash_o,

  output logic                          value_valid_o,
  input  logic                          value_ready_i,
  output logic [ValueBytes*8-1:0]       value_data_o,

  output logic                          fault_valid_o,
  output logic [7:0]                    fault_status_o,  // merge_status_e
  output logic [15:0]                   fault_table_o,
  output logic [63:0]                   fault_offset_o,

  output logic [63:0]                   input_bytes_o,   // of the blocks that have passed
  output logic                          flipped_o,       // a bit has strayed; level
  output logic                          settled_o        // all that was announced has left; level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned PosBits = $clog2(V);
  localparam int unsigned SpanBits = PosBits + 1;
  localparam int unsigned LaneBits = $clog2(BusBytes);
  localparam int unsigned Checks = 8;  // blocks parsed whose CRC may still be unknown

  if (V < 8 || V > 64 || (V & (V - 1)) != 0) begin : g_check_v
    $fatal(1, "cu_entry_decoder: ValueBytes must be 8, 16, 32 or 64");
  end
  if (BusBytes < V || MaxKeyBytes < 8 || MaxKeyBytes > 65000) begin : g_check_w
    $fatal(1, "cu_entry_decoder: BusBytes below ValueBytes, or MaxKeyBytes out of range");
  end
  if ((ValueFifoBeats & (ValueFifoBeats - 1)) != 0) begin : g_check_fifo
    $fatal(1, "cu_entry_decoder: ValueFifoBeats must be a power of two");
  end

  // ------------------------------------------------------------------ handles in

  logic fault_q;  // found; reported when the index is known to be good
  logic lane_ready, info_ready, reported_q;
  logic any_handle_q, last_end_q;
  logic [15:0] last_table_q;

  wire room = lane_ready & info_ready & ~fault_q;
  assign req_valid_o    = handle_valid_i & ~handle_end_i & room;
  assign req_addr_o     = handle_addr_i;
  assign req_bytes_o    = handle_bytes_i + 32'd5;
  assign handle_ready_o = fault_q | (room & (handle_end_i | req_ready_i));
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

  typedef struct packed {
    logic        run_end;
    logic [31:0] bytes;
    logic [15:0] table_no;
    logic [63:0] offset;
  } info_t;

  logic lane_valid, lane_pop;
  logic [LaneBits-1:0] lane;
  logic [31:0] lane_bytes;
  logic info_valid, info_pop;
  info_t info;
  logic [$clog2(InFlight+1)-1:0] unused_lanes, unused_info;

  cu_fifo #(.Width(LaneBits + 32), .Depth(InFlight)) u_lanes (
    .clk_i, .rst_ni,
    .wvalid_i(accept & ~handle_end_i & ~fault_q), .wready_o(lane_ready),
    .wdata_i({handle_addr_i[LaneBits-1:0], req_bytes_o}),
    .rvalid_o(lane_valid), .rready_i(lane_pop), .rdata_o({lane, lane_bytes}),
    .count_o(unused_lanes)
  );
  cu_fifo #(.Width($bits(info_t)), .Depth(InFlight)) u_info (
    .clk_i, .rst_ni,
    .wvalid_i(accept & ~fault_q), .wready_o(info_ready),
    .wdata_i({handle_end_i, handle_bytes_i, handle_table_i, handle_offset_i}),
    .rvalid_o(info_valid), .rready_i(info_pop), .rdata_o(info),
    .count_o(unused_info)
  );

  // ------------------------------------------------------------------ chunks and window

  logic chunk_valid, chunk_ready, chunk_first, chunk_last;
  logic [V*8-1:0] chunk_data;
  logic chunk_parity;
  logic [PosBits-1:0] chunk_lane;
  logic tail_valid, check_pop;
  logic [31:0] tail_restarts, tail_crc;
  logic [7:0] tail_type;

  cu_block_chunks #(.ValueBytes(V), .BusBytes(BusBytes), .Tails(Checks)) u_chunks (
    .clk_i, .rst_ni,
    .block_valid_i(lane_valid), .block_ready_o(lane_pop),
    .block_lane_i(lane), .block_bytes_i(lane_bytes),
    .beat_valid_i, .beat_ready_o, .beat_data_i, .beat_parity_i,
    .chunk_valid_o(chunk_valid), .chunk_ready_i(chunk_ready), .chunk_data_o(chunk_data),
    .chunk_parity_o(chunk_parity),
    .chunk_first_o(chunk_first), .chunk_last_o(chunk_last), .chunk_lane_o(chunk_lane),
    .tail_valid_o(tail_valid), .tail_ready_i(check_pop),
    .tail_o({tail_crc, tail_type, tail_restarts})
  );

  logic win_ready, win_move, win_flush, win_flushed;
  logic [63:0] win_head;
  logic win_cross, win_ahead_move, win_ahead_cross, win_ahead_flush;
  logic [PosBits-1:0] win_pos, win_ahead_pos;
  logic [V*8-1:0] win_ring;
  logic win_parity, win_flipped;
  logic [SpanBits-1:0] win_bytes;
  logic [PosBits-1:0] win_ahead_bytes;

  cu_byte_window #(.ValueBytes(V)) u_window (
    .clk_i, .rst_ni,
    .chunk_valid_i(chunk_valid), .chunk_ready_o(chunk_ready), .chunk_data_i(chunk_data),
    .chunk_parity_i(chunk_parity),
    .chunk_first_i(chunk_first), .chunk_last_i(chunk_last), .chunk_lane_i(chunk_lane),
    .ready_o(win_ready), .head_o(win_head), .pos_o(win_pos),
    .ring_o(win_ring), .parity_o(win_parity),
    .move_i(win_move), .bytes_i(win_bytes), .cross_i(win_cross), .flush_i(win_flush),
    .ahead_move_i(win_ahead_move), .ahead_bytes_i(win_ahead_bytes),
    .ahead_cross_i(win_ahead_cross), .ahead_flush_i(win_ahead_flush),
    .ahead_pos_o(win_ahead_pos), .flushed_o(win_flushed),
    .flipped_o(win_flipped)
  );

  // ------------------------------------------------------------------ parse and finish

  logic key_room, value_room, rec_room, hash_room, check_room, all_checked;
  logic key_take, value_take, record_take, check_take, finish_fault;
  logic ev_head, ev_key, ev_value, ev_fault, ev_end, ev_eos, ev_first, ev_last, ev_user;
  logic ev_user_last, ev_head_parity, ev_parity, parser_flipped, finish_flipped;
  logic [V*8-1:0] ev_data;
  logic [SpanBits-1:0] ev_bytes, ev_shared, ev_span;
  logic [15:0] ev_user_bytes;
  logic [31:0] ev_value_bytes, ev_block_bytes, ev_restart_bytes;
  logic ev_restart_zero;
  merge_status_e ev_status;

  cu_entry_parser #(
    .ValueBytes(V), .MaxKeyBytes(MaxKeyBytes), .MaxValueBytes(MaxValueBytes)
  ) u_parser (
    .clk_i, .rst_ni,
    .block_valid_i(info_valid), .block_ready_o(info_pop), .block_end_i(info.run_end),
    .block_bytes_i(info.bytes),
    .window_ready_i(win_ready), .window_head_i(win_head), .window_pos_i(win_pos),
    .window_ring_i(win_ring), .window_parity_i(win_parity),
    .window_move_o(win_move), .window_bytes_o(win_bytes), .window_cross_o(win_cross),
    .window_ahead_move_o(win_ahead_move), .window_ahead_bytes_o(win_ahead_bytes),
    .window_ahead_cross_o(win_ahead_cross), .window_ahead_flush_o(win_ahead_flush),
    .window_ahead_pos_i(win_ahead_pos),
    .window_flush_o(win_flush), .window_flushed_i(win_flushed),
    .key_room_i(key_room), .value_room_i(value_room), .record_room_i(rec_room & hash_room),
    .check_room_i(check_room), .all_checked_i(all_checked), .fault_i(finish_fault),
    .key_take_o(key_take), .value_take_o(value_take), .record_take_o(record_take),
    .check_take_o(check_take),
    .ev_head_o(ev_head), .ev_head_parity_o(ev_head_parity), .ev_parity_o(ev_parity),
    .ev_key_o(ev_key), .ev_value_o(ev_value), .ev_fault_o(ev_fault), .ev_end_o(ev_end),
    .ev_eos_o(ev_eos), .ev_data_o(ev_data), .ev_bytes_o(ev_bytes), .ev_first_o(ev_first),
    .ev_last_o(ev_last), .ev_shared_o(ev_shared), .ev_span_o(ev_span), .ev_user_o(ev_user),
    .ev_user_last_o(ev_user_last), .ev_user_bytes_o(ev_user_bytes),
    .ev_value_bytes_o(ev_value_bytes), .ev_status_o(ev_status),
    .ev_block_bytes_o(ev_block_bytes), .ev_restart_bytes_o(ev_restart_bytes),
    .ev_restart_zero_o(ev_restart_zero), .flipped_o(parser_flipped)
  );

  logic f_key_valid, f_key_last, f_key_eos, f_value_valid, f_rec_valid, f_hash_valid, f_end_valid;
  logic [V*8-1:0] f_key_data, f_value_data;
  logic [SpanBits-1:0] f_key_bytes;
  logic [63:0] f_key_trailer, f_hash;
  logic f_key_parity;
  logic [31:0] f_rec_value_bytes;
  merge_status_e f_end_status;

  cu_entry_finish #(.ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_finish (
    .clk_i, .rst_ni, .silent_i(fault_q),
    .ev_head_i(ev_head), .ev_head_parity_i(ev_head_parity), .ev_parity_i(ev_parity),
    .ev_key_i(ev_key), .ev_value_i(ev_value), .ev_fault_i(ev_fault), .ev_end_i(ev_end),
    .ev_eos_i(ev_eos), .ev_data_i(ev_data), .ev_bytes_i(ev_bytes), .ev_first_i(ev_first),
    .ev_last_i(ev_last), .ev_shared_i(ev_shared), .ev_span_i(ev_span), .ev_user_i(ev_user),
    .ev_user_last_i(ev_user_last), .ev_user_bytes_i(ev_user_bytes),
    .ev_value_bytes_i(ev_value_bytes), .ev_status_i(ev_status),
    .key_valid_o(f_key_valid), .key_data_o(f_key_data), .key_bytes_o(f_key_bytes),
    .key_last_o(f_key_last), .key_eos_o(f_key_eos), .key_trailer_o(f_key_trailer),
    .key_parity_o(f_key_parity),
    .value_valid_o(f_value_valid), .value_data_o(f_value_data),
    .record_valid_o(f_rec_valid), .record_value_bytes_o(f_rec_value_bytes),
    .hash_valid_o(f_hash_valid), .hash_o(f_hash),
    .end_valid_o(f_end_valid), .end_status_o(f_end_status), .fault_o(finish_fault),
    .flipped_o(finish_flipped)
  );
  assign flipped_o = win_flipped | parser_flipped | finish_flipped;

  // ------------------------------------------------------------------ out

  // A record that got lost on its way never gives its places back.
  logic all_keys, all_values, all_records, all_hashes;
  assign settled_o = all_keys & all_values & all_records & all_hashes;
  logic [$clog2(KeyFifo+1)-1:0] unused_keys;
  logic [$clog2(ValueFifoBeats+1)-1:0] unused_values;
  logic [$clog2(RecFifo+1)-1:0] unused_records, unused_hashes;
  logic key_wready, value_wready, rec_wready, hash_wready;

  cu_credit #(.Depth(KeyFifo)) u_key_credit (
    .clk_i, .rst_ni, .take_i(key_take), .give_i(key_valid_o & key_ready_i),
    .avail_o(key_room), .all_o(all_keys)
  );
  cu_fifo #(.Width(V * 8 + SpanBits + 67), .Depth(KeyFifo)) u_keys (
    .clk_i, .rst_ni, .wvalid_i(f_key_valid), .wready_o(key_wready),
    .wdata_i({f_key_data, f_key_bytes, f_key_last, f_key_eos, f_key_trailer,
              f_key_parity}),
    .rvalid_o(key_valid_o), .rready_i(key_ready_i),
    .rdata_o({key_data_o, key_bytes_o, key_last_o, key_eos_o, key_trailer_o, key_parity_o}),
    .count_o(unused_keys)
  );

  cu_credit #(.Depth(ValueFifoBeats)) u_value_credit (
    .clk_i, .rst_ni, .take_i(value_take), .give_i(value_valid_o & value_ready_i),
    .avail_o(value_room), .all_o(all_values)
  );
  cu_ram_fifo #(.Width(V * 8), .Depth(ValueFifoBeats)) u_values (
    .clk_i, .rst_ni, .wvalid_i(f_value_valid), .wready_o(value_wready), .wdata_i(f_value_data),
    .rvalid_o(value_valid_o), .rready_i(value_ready_i), .rdata_o(value_data_o),
    .count_o(unused_values)
  );

  cu_credit #(.Depth(RecFifo)) u_rec_credit (
    .clk_i, .rst_ni, .take_i(record_take), .give_i(rec_valid_o & rec_ready_i),
    .avail_o(rec_room), .all_o(all_records)
  );
  cu_fifo #(.Width(32), .Depth(RecFifo)) u_records (
    .clk_i, .rst_ni, .wvalid_i(f_rec_valid), .wready_o(rec_wready), .wdata_i(f_rec_value_bytes),
    .rvalid_o(rec_valid_o), .rready_i(rec_ready_i), .rdata_o(rec_value_bytes_o),
    .count_o(unused_records)
  );

  cu_credit #(.Depth(RecFifo)) u_hash_credit (
    .clk_i, .rst_ni, .take_i(record_take), .give_i(hash_valid_o & hash_ready_i),
    .avail_o(hash_room), .all_o(all_hashes)
  );
  cu_fifo #(.Width(64), .Depth(RecFifo)) u_hashes (
    .clk_i, .rst_ni, .wvalid_i(f_hash_valid), .wready_o(hash_wready), .wdata_i(f_hash),
    .rvalid_o(hash_valid_o), .rready_i(hash_ready_i), .rdata_o(hash_o),
    .count_o(unused_hashes)
  );

  // ------------------------------------------------------------------ check blocks

  typedef struct packed {
    logic [31:0]   bytes;
    logic [31:0]   restart_bytes;
    logic          restart_zero;
    logic [15:0]   table_no;
    logic [63:0]   offset;
  } check_t;

  check_t check;
  merge_status_e content;  // first fault within the block: comes when its events are through
  logic [15:0] table_q;
  logic [63:0] offset_q;
  logic check_valid, check_wready, content_valid, content_wready;
  logic [$clog2(Checks+1)-1:0] unused_checks, unused_contents;

  always_ff @(posedge clk_i) begin
    if (info_valid && info_pop) begin
      table_q  <= info.table_no;
      offset_q <= info.offset;
    end
  end

  cu_credit #(.Depth(Checks)) u_check_credit (
    .clk_i, .rst_ni, .take_i(check_take), .give_i(check_pop),
    .avail_o(check_room), .all_o(all_checked)
  );
  cu_fifo #(.Width($bits(check_t)), .Depth(Checks)) u_checks (
    .clk_i, .rst_ni, .wvalid_i(ev_end), .wready_o(check_wready),
    .wdata_i({ev_block_bytes, ev_restart_bytes, ev_restart_zero, table_q, offset_q}),
    .rvalid_o(check_valid), .rready_i(check_pop), .rdata_o(check),
    .count_o(unused_checks)
  );
  cu_fifo #(.Width($bits(merge_status_e)), .Depth(Checks)) u_contents (
    .clk_i, .rst_ni, .wvalid_i(f_end_valid), .wready_o(content_wready), .wdata_i(f_end_status),
    .rvalid_o(content_valid), .rready_i(check_pop), .rdata_o({content}),
    .count_o(unused_contents)
  );

  // Compared in one cycle, judged in the next.
  logic judge_q, array_bad_q, crc_bad_q, type_bad_q;
  merge_status_e verdict, status_q;
  logic [15:0] fault_table_q;
  logic [63:0] fault_offset_q, input_bytes_q;

  assign check_pop    = judge_q & content_valid & ~fault_q;
  assign done_ready_o = check_pop;

  always_ff @(posedge clk_i) begin
    array_bad_q <= ~check.restart_zero || check.restart_bytes[1:0] != 2'b00 ||
                   tail_restarts != {2'b00, check.restart_bytes[31:2]} - 32'd1;
    crc_bad_q   <= cu_crc_pkg::mask_crc(done_crc_i) != tail_crc;
    type_bad_q  <= tail_type != 8'd0;
    if (!rst_ni) judge_q <= 1'b0;
    else judge_q <= check_valid & tail_valid & done_valid_i & ~check_pop;
  end

  always_comb begin
    verdict = MergeStatusOk;
    if (done_error_i) verdict = MergeStatusReadError;
    else if (crc_bad_q) verdict = MergeStatusBlockChecksum;
    else if (type_bad_q) verdict = MergeStatusBlockType;
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
        input_bytes_q <= input_bytes_q + 64'(check.bytes) + 64'd5;
      end
      if (check_pop && verdict != MergeStatusOk) begin
        fault_q        <= 1'b1;
        status_q       <= verdict;
        fault_table_q  <= check.table_no;
        fault_offset_q <= check.offset;
      end
      if (fault_q && any_handle_q && (last_end_q || last_table_q != fault_table_q)) begin
        reported_q <= 1'b1;
      end
    end
  end

  assign fault_valid_o  = reported_q;
  assign fault_status_o = status_q;
  assign fault_table_o  = fault_table_q;
  assign fault_offset_o = fault_offset_q;
  assign input_bytes_o  = input_bytes_q;

`ifndef SYNTHESIS
  a_key_place : assert property (@(posedge clk_i) disable iff (!rst_ni)
      f_key_valid |-> key_wready);
  a_value_place : assert property (@(posedge clk_i) disable iff (!rst_ni)
      f_value_valid |-> value_wready);
  a_record_place : assert property (@(posedge clk_i) disable iff (!rst_ni)
      f_rec_valid |-> rec_wready);
  a_hash_place : assert property (@(posedge clk_i) disable iff (!rst_ni)
      f_hash_valid |-> hash_wready);
  a_check_place : assert property (@(posedge clk_i) disable iff (!rst_ni)
      ev_end |-> check_wready);
  a_content_place : assert property (@(posedge clk_i) disable iff (!rst_ni)
      f_end_valid |-> content_wready);
`endif
endmodule
