// The Compaction Unit: AXI4-Lite control, an interrupt line, and three AXI4 masters: the index port
// (descriptors, index blocks, table and completion records; 8 bytes), the data read port and the
// data write port. Port names follow Vitis RTL kernels. docs/hardware.md draws the pipeline.

`include "cu_assert.svh"
`include "cu_streams.svh"

module sluice_unit #(
  parameter int unsigned Ways = 2,           // runs that one job can merge: 2 to 16
  parameter int unsigned ValueBytes = 16,    // datapath (V): 8, 16, 32 or 64
  parameter int unsigned InBytes = 64,       // data read port (W_in): V to 64
  parameter int unsigned OutBytes = 64,      // data write port (W_out): V to 64
  parameter int unsigned MaxKeyBytes = 1024, // user keys; a multiple of 64
  parameter int unsigned MaxRestarts = 8192, // in an output block
  parameter int unsigned MaxBlocks = 8192,   // in an output table
  parameter int unsigned InFifoBeats = 256,  // read-ahead per way
  parameter int unsigned ValueFifoBeats = 64, // values that wait, per way
  parameter int unsigned Snappy = 0,         // 1: input blocks may be compressed with it
  parameter int unsigned Bloom = 0,          // 1: jobs may ask for filters of output blocks
  parameter int unsigned Compressors = 0,    // jobs may ask them to compress output blocks: 0 to 8
  parameter int unsigned Xxh3 = 0            // 1: jobs may have checksums by XXH3 in data blocks
) (
  input  logic ap_clk,
  input  logic ap_rst_n,
  output logic irq,

  input  logic [11:0] s_axi_control_awaddr,
  input  logic        s_axi_control_awvalid,
  output logic        s_axi_control_awready,
  input  logic [31:0] s_axi_control_wdata,
  input  logic [3:0]  s_axi_control_wstrb,
  input  logic        s_axi_control_wvalid,
  output logic        s_axi_control_wready,
  output logic [1:0]  s_axi_control_bresp,
  output logic        s_axi_control_bvalid,
  input  logic        s_axi_control_bready,
  input  logic [11:0] s_axi_control_araddr,
  input  logic        s_axi_control_arvalid,
  output logic        s_axi_control_arready,
  output logic [31:0] s_axi_control_rdata,
  output logic [1:0]  s_axi_control_rresp,
  output logic        s_axi_control_rvalid,
  input  logic        s_axi_control_rready,

  output logic [63:0] m_axi_index_araddr,
  output logic [7:0]  m_axi_index_arlen,
  output logic [2:0]  m_axi_index_arsize,
  output logic [1:0]  m_axi_index_arburst,
  output logic        m_axi_index_arvalid,
  input  logic        m_axi_index_arready,
  input  logic [63:0] m_axi_index_rdata,
  input  logic [1:0]  m_axi_index_rresp,
  input  logic        m_axi_index_rlast,
  input  logic        m_axi_index_rvalid,
  output logic        m_axi_index_rready,
  output logic [63:0] m_axi_index_awaddr,
  output logic [7:0]  m_axi_index_awlen,
  output logic [2:0]  m_axi_index_awsize,
  output logic [1:0]  m_axi_index_awburst,
  output logic        m_axi_index_awvalid,
  input  logic        m_axi_index_awready,
  output logic [63:0] m_axi_index_wdata,
  output logic [7:0]  m_axi_index_wstrb,
  output logic        m_axi_index_wlast,
  output logic        m_axi_index_wvalid,
  input  logic        m_axi_index_wready,
  input  logic [1:0]  m_axi_index_bresp,
  input  logic        m_axi_index_bvalid,
  output logic        m_axi_index_bready,

  output logic [63:0] m_axi_in_araddr,
  output logic [7:0]  m_axi_in_arlen,
  output logic [2:0]  m_axi_in_arsize,
  output logic [1:0]  m_axi_in_arburst,
  output logic        m_axi_in_arvalid,
  input  logic        m_axi_in_arready,
  input  logic [InBytes*8-1:0] m_axi_in_rdata,
  input  logic [1:0]  m_axi_in_rresp,
  input  logic        m_axi_in_rlast,
  input  logic        m_axi_in_rvalid,
  output logic        m_axi_in_rready,

  output logic [63:0] m_axi_out_awaddr,
  output logic [7:0]  m_axi_out_awlen,
  output logic [2:0]  m_axi_out_awsize,
  output logic [1:0]  m_axi_out_awburst,
  output logic        m_axi_out_awvalid,
  input  logic        m_axi_out_awready,
  output logic [OutBytes*8-1:0] m_axi_out_wdata,
  output logic [OutBytes-1:0]   m_axi_out_wstrb,
  output logic        m_axi_out_wlast,
  output logic        m_axi_out_wvalid,
  input  logic        m_axi_out_wready,
  input  logic [1:0]  m_axi_out_bresp,
  input  logic        m_axi_out_bvalid,
  output logic        m_axi_out_bready
);
  import sluice_abi_pkg::*;

  localparam int unsigned V = ValueBytes;

  typedef `CU_KEY_T(V) key_t;
  typedef `CU_MERGED_KEY_T(V, Ways) merged_key_t;
  typedef `CU_VERDICT_T(Ways) verdict_t;
  typedef `CU_RECORD_T record_t;
  typedef `CU_CHUNK_T(V) chunk_t;
  typedef `CU_LAST_KEY_T(V) last_key_t;
  typedef `CU_TABLE_RECORD_T table_record_t;
  typedef `CU_CHUNK_T(8) index_chunk_t;
  typedef `CU_FILTER_KEY_T(V) filter_key_t;

  localparam int unsigned RangeAddrBits = $clog2((MaxKeyBytes + 7) / 8);
  // Enough for handles at the decoders' pace, a block in 4 KiB / V cycles, with keys of 256 bytes and
  // a latency of 200 cycles; not more, because the ways' first read-ahead delays one another.
  localparam int unsigned IndexFifoBeats = (ValueBytes > 16) ? 4 * ValueBytes : 64;
  // No port need move while all ways consume their read-ahead: in the worst case entries of 4 bytes,
  // each of which expands to a longest key that is dropped.
  localparam int unsigned QuietCycles =
      2 * Ways * (InFifoBeats * InBytes / 4) * (MaxKeyBytes / ValueBytes + 8);

  `ASSERT_PARAM(ways, Ways inside {[2:16]}, "Ways must be 2 to 16")
  `ASSERT_PARAM(value_bytes, ValueBytes inside {8, 16, 32, 64},
                "ValueBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(in_bytes, InBytes inside {8, 16, 32, 64} && InBytes >= ValueBytes,
                "InBytes must be a power of two, ValueBytes to 64")
  `ASSERT_PARAM(out_bytes, OutBytes inside {8, 16, 32, 64} && OutBytes >= ValueBytes,
                "OutBytes must be a power of two, ValueBytes to 64")
  `ASSERT_PARAM(max_key_bytes, MaxKeyBytes % 64 == 0 && MaxKeyBytes <= 16320,
                "MaxKeyBytes must be a multiple of 64 up to 16320")
  `ASSERT_PARAM(snappy, Snappy <= 1, "Snappy must be 0 or 1")
  `ASSERT_PARAM(bloom, Bloom <= 1, "Bloom must be 0 or 1")
  `ASSERT_PARAM(compressors, Compressors == 0 || (Compressors <= 8 && ValueBytes > 8),
                "Compressors must be 0 to 8, and 0 with ValueBytes 8")
  `ASSERT_PARAM(xxh3, Xxh3 <= 1, "Xxh3 must be 0 or 1")

  // ------------------------------------------------------------------ control
  logic job_valid, job_ready, job_done;
  logic [63:0] job_addr;
  logic [7:0] job_status;

  cu_csr #(
    .Ways(Ways), .ValueBytes(ValueBytes), .InBytes(InBytes), .OutBytes(OutBytes),
    .MaxKeyBytes(MaxKeyBytes), .MaxRestarts(MaxRestarts), .MaxBlocks(MaxBlocks), .Snappy(Snappy),
    .Bloom(Bloom), .Compressors(Compressors), .Xxh3(Xxh3)
  ) u_csr (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .s_axi_awaddr_i(s_axi_control_awaddr), .s_axi_awvalid_i(s_axi_control_awvalid),
    .s_axi_awready_o(s_axi_control_awready), .s_axi_wdata_i(s_axi_control_wdata),
    .s_axi_wstrb_i(s_axi_control_wstrb), .s_axi_wvalid_i(s_axi_control_wvalid),
    .s_axi_wready_o(s_axi_control_wready), .s_axi_bresp_o(s_axi_control_bresp),
    .s_axi_bvalid_o(s_axi_control_bvalid), .s_axi_bready_i(s_axi_control_bready),
    .s_axi_araddr_i(s_axi_control_araddr), .s_axi_arvalid_i(s_axi_control_arvalid),
    .s_axi_arready_o(s_axi_control_arready), .s_axi_rdata_o(s_axi_control_rdata),
    .s_axi_rresp_o(s_axi_control_rresp), .s_axi_rvalid_o(s_axi_control_rvalid),
    .s_axi_rready_i(s_axi_control_rready), .interrupt_o(irq),
    .job_valid_o(job_valid), .job_ready_i(job_ready), .job_addr_o(job_addr),
    .job_done_i(job_done), .job_status_i(job_status)
  );

  logic rst_n;  // the pipeline's
  logic bottommost, has_begin, has_end, compress, xxh3;
  logic [31:0] block_bytes, checksum_base;
  logic [15:0] restart_interval, begin_bytes, end_bytes;
  logic [63:0] table_bytes;
  logic [sluice_abi_pkg::JobSnapshotCount-1:0][55:0] snapshots;
  logic range_we, range_sel;
  logic [RangeAddrBits-1:0] range_addr;
  logic [63:0] range_data;
  logic write_start;
  logic [63:0] data_addr, data_limit, index_addr, index_limit, filter_addr, filter_limit;
  logic [7:0] bloom_bits;
  logic [4:0] bloom_probes;
  logic [Ways-1:0] way_load;
  logic way_start;
  logic [47:0] way_tables;
  logic [15:0] way_count;
  logic data_done, index_done, data_full, index_full, data_werror, index_werror;
  logic filter_done, filter_werror, filter_limit_hit, filter_error;
  logic entry_limit, index_limit_hit, job_parity_error;
  logic halt, in_idle, index_ridle, out_idle, index_widle, filter_idle;
  logic [63:0] input_records, output_records, dropped_records, data_used, index_used, tables;
  logic [63:0] filter_used;
  logic [63:0] input_checksum, output_checksum, dropped_checksum, content_sum;
  logic [Ways-1:0][63:0] input_bytes;
  logic [StallCount-1:0] stall;
  logic record_start, record_valid, record_ready, record_last;
  logic [63:0] record_addr, record_data;

  logic [Ways-1:0] fault_valid;
  logic [Ways-1:0][7:0] fault_status;
  logic [Ways-1:0][15:0] fault_table;
  logic [Ways-1:0][63:0] fault_offset;
  logic [Ways-1:0] index_fault_valid;
  logic [7:0] index_fault_status;
  logic [15:0] index_fault_table;
  logic [63:0] index_fault_offset;

  // ------------------------------------------------------------------ reading
  // Clients of the index port: the index reader for each way, then job control.
  logic [Ways:0] ireq_valid, ireq_ready, ibeat_valid, ibeat_ready, idone_valid, idone_ready;
  logic [Ways:0] idone_error;
  logic [Ways:0][63:0] ireq_addr, ibeat_data;
  logic [63:0] index_req_addr;  // the same for all ways
  logic [31:0] index_req_bytes;
  logic [Ways:0] ibeat_parity;
  logic [Ways:0][31:0] ireq_bytes, idone_crc;
  logic [Ways:0] unused_idone_good;
  logic [Ways:0][39:0] unused_idone_tail;
  logic [Ways:0][31:0] unused_idone_stored;

  assign ibeat_ready[Ways] = 1'b1;
  assign idone_ready[Ways] = 1'b1;
  logic unused_crc;  // job control's: structures in memory have none
  assign unused_crc = ^idone_crc[Ways];

  logic [Ways-1:0] dreq_valid, dreq_ready, dbeat_valid, dbeat_ready, ddone_valid, ddone_ready;
  logic [Ways-1:0] ddone_error, ddone_good;
  logic [Ways-1:0][39:0] ddone_tail;
  logic [Ways-1:0][31:0] ddone_stored;
  logic [Ways-1:0][63:0] dreq_addr;
  logic [Ways-1:0][31:0] dreq_bytes, unused_ddone_crc;
  logic [Ways-1:0][InBytes*8-1:0] dbeat_data;
  // The window of a decoder needs a parity bit per byte. Where it is wide, all of them are made here,
  // once; elsewhere one comes with a chunk, as from Snappy's decoder.
  localparam int unsigned ParityBytes = (V > 32 && Snappy == 0) ? 1 : V;
  logic [Ways-1:0][InBytes/ParityBytes-1:0] dbeat_parity;

  // Registered: a cycle more or less does not matter for the length of a standstill. What Snappy
  // makes of the read-ahead is up to 22 times as much, so that each beat which is taken counts.
  logic ports_move_q;
  logic beats_move;
  if (Snappy != 0) begin : g_expanding
    assign beats_move = (dbeat_valid & dbeat_ready) != '0;
  end else begin : g_plain
    assign beats_move = 1'b0;
  end
  always_ff @(posedge ap_clk) begin
    ports_move_q <= m_axi_index_rvalid | m_axi_in_rvalid | m_axi_index_bvalid | m_axi_out_bvalid |
                    beats_move |
                    (m_axi_index_arvalid & m_axi_index_arready) |
                    (m_axi_in_arvalid & m_axi_in_arready) |
                    (m_axi_index_wvalid & m_axi_index_wready) |
                    (m_axi_out_wvalid & m_axi_out_wready);
  end

  cu_job_control #(
    .Ways(Ways), .MaxKeyBytes(MaxKeyBytes), .QuietCycles(QuietCycles), .Bloom(Bloom),
    .Compressors(Compressors), .Xxh3(Xxh3)
  ) u_job_control (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .pipe_rst_no(rst_n),
    .job_valid_i(job_valid), .job_ready_o(job_ready), .job_addr_i(job_addr),
    .job_done_o(job_done), .job_status_o(job_status),
    .req_valid_o(ireq_valid[Ways]), .req_ready_i(ireq_ready[Ways]), .req_addr_o(ireq_addr[Ways]),
    .req_bytes_o(ireq_bytes[Ways]), .beat_valid_i(ibeat_valid[Ways]),
    .beat_data_i(ibeat_data[Ways]),
    .done_valid_i(idone_valid[Ways]), .done_error_i(idone_error[Ways]),
    .bottommost_o(bottommost), .has_begin_o(has_begin), .has_end_o(has_end),
    .compress_o(compress), .xxh3_o(xxh3), .checksum_base_o(checksum_base),
    .block_bytes_o(block_bytes), .restart_interval_o(restart_interval),
    .table_bytes_o(table_bytes), .snapshots_o(snapshots), .begin_bytes_o(begin_bytes),
    .end_bytes_o(end_bytes), .range_we_o(range_we), .range_sel_o(range_sel),
    .range_addr_o(range_addr), .range_data_o(range_data), .write_start_o(write_start),
    .data_addr_o(data_addr), .data_limit_o(data_limit), .index_addr_o(index_addr),
    .index_limit_o(index_limit), .bloom_bits_o(bloom_bits), .bloom_probes_o(bloom_probes),
    .filter_addr_o(filter_addr), .filter_limit_o(filter_limit),
    .way_load_o(way_load), .way_tables_o(way_tables),
    .way_count_o(way_count), .way_start_o(way_start),
    .data_done_i(data_done), .index_done_i(index_done), .filter_done_i(filter_done),
    .data_full_i(data_full), .index_full_i(index_full),
    .write_error_i(data_werror | index_werror | filter_werror),
    .limit_i(entry_limit | index_limit_hit | filter_limit_hit),
    .fault_valid_i(fault_valid), .fault_status_i(fault_status), .fault_table_i(fault_table),
    .fault_offset_i(fault_offset), .index_fault_valid_i(index_fault_valid),
    .index_fault_status_i(index_fault_status), .index_fault_table_i(index_fault_table),
    .index_fault_offset_i(index_fault_offset), .halt_o(halt),
    .ports_idle_i(in_idle & index_ridle & out_idle & index_widle & filter_idle),
    .ports_move_i(ports_move_q),
    .parity_error_o(job_parity_error),
    .input_records_i(input_records), .output_records_i(output_records),
    .dropped_records_i(dropped_records), .input_bytes_i(input_bytes), .data_used_i(data_used),
    .index_used_i(index_used), .filter_used_i(filter_used), .content_sum_i(content_sum),
    .tables_i(tables),
    .input_checksum_i(input_checksum),
    .output_checksum_i(output_checksum), .dropped_checksum_i(dropped_checksum), .stall_i(stall),
    .record_start_o(record_start), .record_addr_o(record_addr), .record_valid_o(record_valid),
    .record_ready_i(record_ready), .record_data_o(record_data), .record_last_o(record_last)
  );

  logic unused_index_stall, ififo_error, dfifo_error;
  cu_read_engine #(.Clients(Ways + 1), .BusBytes(8), .FifoBeats(IndexFifoBeats)) u_index_read (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .req_valid_i(ireq_valid), .req_ready_o(ireq_ready), .req_addr_i(ireq_addr),
    .req_bytes_i(ireq_bytes), .beat_valid_o(ibeat_valid), .beat_ready_i(ibeat_ready),
    .beat_data_o(ibeat_data), .done_valid_o(idone_valid), .done_ready_i(idone_ready),
    .done_crc_o(idone_crc), .done_good_o(unused_idone_good), .done_tail_o(unused_idone_tail),
    .done_stored_o(unused_idone_stored),
    .done_error_o(idone_error), .halt_i(halt), .idle_o(index_ridle),
    .stall_o(unused_index_stall), .beat_parity_o(ibeat_parity), .fifo_error_o(ififo_error),
    .m_axi_araddr_o(m_axi_index_araddr), .m_axi_arlen_o(m_axi_index_arlen),
    .m_axi_arsize_o(m_axi_index_arsize), .m_axi_arburst_o(m_axi_index_arburst),
    .m_axi_arvalid_o(m_axi_index_arvalid), .m_axi_arready_i(m_axi_index_arready),
    .m_axi_rdata_i(m_axi_index_rdata), .m_axi_rresp_i(m_axi_index_rresp),
    .m_axi_rlast_i(m_axi_index_rlast), .m_axi_rvalid_i(m_axi_index_rvalid),
    .m_axi_rready_o(m_axi_index_rready)
  );

  // After the read-ahead FIFO, the index is protected by the checks of what it points to.
  logic index_parity_error_q;
  logic [Ways:0] ibeat_moved_q, ibeat_odd_q;
  always_ff @(posedge ap_clk) begin
    ibeat_moved_q <= ibeat_valid & ibeat_ready;
    for (int w = 0; w <= int'(Ways); w++) begin
      ibeat_odd_q[w] <= ^{ibeat_parity[w], ibeat_data[w]};
    end
    if ((ibeat_moved_q & ibeat_odd_q) != '0) index_parity_error_q <= 1'b1;
    if (!rst_n) begin
      ibeat_moved_q        <= '0;
      index_parity_error_q <= 1'b0;
    end
  end

  cu_read_engine #(
    .Clients(Ways), .BusBytes(InBytes), .FifoBeats(InFifoBeats), .ParityBytes(ParityBytes),
    .Tails(1), .Stored(Xxh3), .Requests((Snappy != 0) ? 16 : 8)  // for the same blocks two each
  ) u_data_read (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .req_valid_i(dreq_valid), .req_ready_o(dreq_ready), .req_addr_i(dreq_addr),
    .req_bytes_i(dreq_bytes), .beat_valid_o(dbeat_valid), .beat_ready_i(dbeat_ready),
    .beat_data_o(dbeat_data), .done_valid_o(ddone_valid), .done_ready_i(ddone_ready),
    .done_crc_o(unused_ddone_crc), .done_good_o(ddone_good), .done_tail_o(ddone_tail),
    .done_stored_o(ddone_stored), .done_error_o(ddone_error), .halt_i(halt), .idle_o(in_idle),
    .stall_o(stall[StallRead]), .beat_parity_o(dbeat_parity), .fifo_error_o(dfifo_error),
    .m_axi_araddr_o(m_axi_in_araddr), .m_axi_arlen_o(m_axi_in_arlen),
    .m_axi_arsize_o(m_axi_in_arsize), .m_axi_arburst_o(m_axi_in_arburst),
    .m_axi_arvalid_o(m_axi_in_arvalid), .m_axi_arready_i(m_axi_in_arready),
    .m_axi_rdata_i(m_axi_in_rdata), .m_axi_rresp_i(m_axi_in_rresp),
    .m_axi_rlast_i(m_axi_in_rlast), .m_axi_rvalid_i(m_axi_in_rvalid),
    .m_axi_rready_o(m_axi_in_rready)
  );

  // --------------------------------------------------------------- the ways
  logic [Ways-1:0] key_valid, key_ready, parity_error, settled;
  key_t [Ways-1:0] key;
  logic [Ways-1:0] info_valid, info_ready, value_valid, value_ready;
  logic [Ways-1:0][31:0] info_value_bytes;
  logic [Ways-1:0][15:0] info_tag;
  logic [Ways-1:0] hash_valid, hash_ready;
  logic [Ways-1:0][63:0] hash;
  logic [Ways-1:0][V*8-1:0] value_data;

  logic [Ways-1:0] handle_valid, handle_ready, handle_end;
  logic [Ways-1:0][63:0] handle_addr, handle_offset;
  logic [Ways-1:0][31:0] handle_bytes, handle_base;
  logic [Ways-1:0][15:0] handle_table;

  assign ireq_addr[Ways-1:0]  = {Ways{index_req_addr}};
  assign ireq_bytes[Ways-1:0] = {Ways{index_req_bytes}};
  cu_index_reader #(.Ways(Ways), .Xxh3(Xxh3)) u_index_reader (
    .clk_i(ap_clk), .rst_ni(rst_n), .xxh3_i(xxh3),
    .load_i(way_load), .tables_addr_i(way_tables), .table_count_i(way_count), .start_i(way_start),
    .req_valid_o(ireq_valid[Ways-1:0]), .req_ready_i(ireq_ready[Ways-1:0]),
    .req_addr_o(index_req_addr), .req_bytes_o(index_req_bytes),
    .beat_valid_i(ibeat_valid[Ways-1:0]), .beat_ready_o(ibeat_ready[Ways-1:0]),
    .beat_data_i(ibeat_data[Ways-1:0]), .done_valid_i(idone_valid[Ways-1:0]),
    .done_ready_o(idone_ready[Ways-1:0]), .done_crc_i(idone_crc[Ways-1:0]),
    .done_error_i(idone_error[Ways-1:0]),
    .handle_valid_o(handle_valid), .handle_ready_i(handle_ready), .handle_end_o(handle_end),
    .handle_addr_o(handle_addr), .handle_bytes_o(handle_bytes), .handle_offset_o(handle_offset),
    .handle_table_o(handle_table), .handle_base_o(handle_base),
    .fault_valid_o(index_fault_valid), .fault_status_o(index_fault_status),
    .fault_table_o(index_fault_table), .fault_offset_o(index_fault_offset)
  );

  for (genvar w = 0; w < Ways; w++) begin : g_way
    cu_entry_decoder #(
      .ValueBytes(V), .BusBytes(InBytes), .MaxKeyBytes(MaxKeyBytes),
      .ValueFifoBeats(ValueFifoBeats), .Snappy(Snappy), .ParityBytes(ParityBytes),
      .Xxh3(Xxh3)
    ) u_entry_decoder (
      .clk_i(ap_clk), .rst_ni(rst_n), .xxh3_i(xxh3),
      .handle_valid_i(handle_valid[w]), .handle_ready_o(handle_ready[w]),
      .handle_end_i(handle_end[w]), .handle_addr_i(handle_addr[w]),
      .handle_bytes_i(handle_bytes[w]), .handle_offset_i(handle_offset[w]),
      .handle_table_i(handle_table[w]), .handle_base_i(handle_base[w]),
      .req_valid_o(dreq_valid[w]), .req_ready_i(dreq_ready[w]), .req_addr_o(dreq_addr[w]),
      .req_bytes_o(dreq_bytes[w]), .beat_valid_i(dbeat_valid[w]),
      .beat_ready_o(dbeat_ready[w]), .beat_data_i(dbeat_data[w]),
      .beat_parity_i(dbeat_parity[w]),
      .done_valid_i(ddone_valid[w]), .done_ready_o(ddone_ready[w]), .done_good_i(ddone_good[w]),
      .done_tail_i(ddone_tail[w]), .done_stored_i(ddone_stored[w]),
      .done_error_i(ddone_error[w]),
      .key_valid_o(key_valid[w]), .key_ready_i(key_ready[w]), .key_o(key[w]),
      .info_valid_o(info_valid[w]), .info_ready_i(info_ready[w]),
      .info_value_bytes_o(info_value_bytes[w]), .info_tag_o(info_tag[w]),
      .hash_valid_o(hash_valid[w]), .hash_ready_i(hash_ready[w]), .hash_o(hash[w]),
      .value_valid_o(value_valid[w]), .value_ready_i(value_ready[w]),
      .value_data_o(value_data[w]),
      .fault_valid_o(fault_valid[w]), .fault_status_o(fault_status[w]),
      .fault_table_o(fault_table[w]), .fault_offset_o(fault_offset[w]),
      .input_bytes_o(input_bytes[w]), .parity_error_o(parity_error[w]), .settled_o(settled[w])
    );
  end

  // ---------------------------------------------------------------- merging
  merged_key_t merged_key;
  logic merged_key_valid, merged_key_ready, verdict_parity_error, order_error, tag_error;

  cu_merge_tree #(.Ways(Ways), .ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_merge_tree (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .in_valid_i(key_valid), .in_ready_o(key_ready), .in_i(key),
    .out_valid_o(merged_key_valid), .out_ready_i(merged_key_ready), .out_o(merged_key)
  );

  verdict_t verdict;
  logic verdict_valid, verdict_ready, kept_key_valid, kept_key_ready, kept_key_last;
  logic [V*8-1:0] kept_key_data;

  cu_visibility_filter #(
    .ValueBytes(V), .Ways(Ways), .MaxKeyBytes(MaxKeyBytes),
    .Snapshots(sluice_abi_pkg::JobSnapshotCount)
  ) u_visibility_filter (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .snapshots_i(snapshots), .bottommost_i(bottommost), .has_begin_i(has_begin),
    .has_end_i(has_end), .begin_bytes_i(begin_bytes), .end_bytes_i(end_bytes),
    .range_we_i(range_we), .range_sel_i(range_sel), .range_addr_i(range_addr),
    .range_data_i(range_data),
    .key_valid_i(merged_key_valid), .key_ready_o(merged_key_ready), .key_i(merged_key),
    .verdict_valid_o(verdict_valid), .verdict_ready_i(verdict_ready), .verdict_o(verdict),
    .kept_key_valid_o(kept_key_valid), .kept_key_ready_i(kept_key_ready),
    .kept_key_data_o(kept_key_data), .kept_key_last_o(kept_key_last),
    .parity_error_o(verdict_parity_error), .order_error_o(order_error)
  );

  record_t kept_record;
  logic kept_record_valid, kept_record_ready;
  logic kept_value_valid, kept_value_ready;
  logic [V*8-1:0] kept_value_data;

  cu_transfer #(.ValueBytes(V), .Ways(Ways)) u_transfer (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .verdict_valid_i(verdict_valid), .verdict_ready_o(verdict_ready), .verdict_i(verdict),
    .info_valid_i(info_valid), .info_ready_o(info_ready), .info_value_bytes_i(info_value_bytes),
    .info_tag_i(info_tag),
    .hash_valid_i(hash_valid), .hash_ready_o(hash_ready), .hash_i(hash),
    .value_valid_i(value_valid), .value_ready_o(value_ready), .value_data_i(value_data),
    .record_valid_o(kept_record_valid), .record_ready_i(kept_record_ready), .record_o(kept_record),
    .kept_value_valid_o(kept_value_valid), .kept_value_ready_i(kept_value_ready),
    .kept_value_data_o(kept_value_data),
    .input_records_o(input_records), .dropped_records_o(dropped_records),
    .input_checksum_o(input_checksum), .dropped_checksum_o(dropped_checksum),
    .stall_merge_o(stall[StallMerge]), .stall_value_o(stall[StallValue]),
    .tag_error_o(tag_error)
  );

  // --------------------------------------------------------------- encoding
  // Chunks of blocks; words of blocks; as they are stored; with their trailers; words of tables.
  chunk_t chunk, block_word, stored_word, sealed, image;
  logic chunk_valid, chunk_ready, block_word_valid, block_word_ready, sealed_valid, sealed_ready;
  logic stored_word_valid, stored_word_ready, stored_compressed, compress_error;
  logic image_valid, image_ready, made_valid, made_ready;
  logic [63:0] made_offset;  // handles of output blocks
  logic [31:0] made_size;
  last_key_t last_key;
  table_record_t table_record;
  logic last_key_valid, last_key_ready, table_record_valid, table_record_ready;

  logic [63:0] content_bytes, encoded_checksum;
  logic [7:0] content_checksum;

  logic filter_key_valid, filter_key_ready, filter_key_error;
  filter_key_t filter_key;

  cu_entry_encoder #(
    .ValueBytes(V), .MaxKeyBytes(MaxKeyBytes), .MaxRestarts(MaxRestarts), .Bloom(Bloom)
  ) u_entry_encoder (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .block_bytes_i(block_bytes), .table_bytes_i(table_bytes),
    .restart_interval_i(restart_interval), .filters_i(bloom_bits != '0),
    .record_valid_i(kept_record_valid), .record_ready_o(kept_record_ready), .record_i(kept_record),
    .key_valid_i(kept_key_valid), .key_ready_o(kept_key_ready), .key_data_i(kept_key_data),
    .key_last_i(kept_key_last),
    .value_valid_i(kept_value_valid), .value_ready_o(kept_value_ready),
    .value_data_i(kept_value_data),
    .chunk_valid_o(chunk_valid), .chunk_ready_i(chunk_ready), .chunk_o(chunk),
    .last_key_valid_o(last_key_valid), .last_key_ready_i(last_key_ready), .last_key_o(last_key),
    .table_record_valid_o(table_record_valid), .table_record_ready_i(table_record_ready),
    .table_record_o(table_record),
    .filter_key_valid_o(filter_key_valid), .filter_key_ready_i(filter_key_ready),
    .filter_key_o(filter_key), .filter_key_error_o(filter_key_error),
    .limit_o(entry_limit), .output_records_o(output_records),
    .output_checksum_o(encoded_checksum), .content_bytes_o(content_bytes),
    .content_checksum_o(content_checksum), .stall_encode_o(stall[StallEncode]),
    .stall_pack_o(stall[StallPack])
  );

  cu_byte_packer #(.Bytes(V)) u_block_packer (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .in_valid_i(chunk_valid), .in_ready_o(chunk_ready), .in_i(chunk),
    .out_valid_o(block_word_valid), .out_ready_i(block_word_ready), .out_o(block_word)
  );

  // Between the encoder's checksum and the CRC, bytes are only moved together. If they change there,
  // if beats change between their CRC and the decoders, if the merge tree puts out other records than
  // it was given, or not in order, or if parts of records are left over or missing at the end, the
  // checksum is falsified, and the job ends as END_TO_END.
  logic [63:0] sealed_content_q;
  logic [7:0] sealed_checksum;
  logic integrity_error_q;
  wire block_word_moves = block_word_valid & block_word_ready;
  always_ff @(posedge ap_clk) begin
    integrity_error_q <= index_parity_error_q | job_parity_error | ififo_error | dfifo_error |
                         (parity_error != '0) | verdict_parity_error | order_error | tag_error |
                         (settled != '1) | kept_key_valid | kept_value_valid |
                         filter_key_error | filter_error | compress_error;
  end
  cu_xor_checksum #(.Bytes(V)) u_sealed_checksum (
    .clk_i(ap_clk), .rst_ni(rst_n), .valid_i(block_word_moves), .data_i(block_word.data),
    .checksum_o(sealed_checksum)
  );
  always_ff @(posedge ap_clk) begin
    if (!rst_n) sealed_content_q <= '0;
    else if (block_word_moves) sealed_content_q <= sealed_content_q + 64'(block_word.bytes);
  end
  wire [9:0] falsified = {integrity_error_q, content_bytes != sealed_content_q,
                          content_checksum ^ sealed_checksum};
  always_ff @(posedge ap_clk) output_checksum <= encoded_checksum + 64'(falsified);

  // What blocks become here is covered by the host's check of their contents.
  if (Compressors != 0) begin : g_compress
    cu_compress_stage #(.ValueBytes(V), .Compressors(Compressors)) u_stage (
      .clk_i(ap_clk), .rst_ni(rst_n), .compress_i(compress),
      .in_valid_i(block_word_valid), .in_ready_o(block_word_ready), .in_i(block_word),
      .out_valid_o(stored_word_valid), .out_ready_i(stored_word_ready), .out_o(stored_word),
      .out_compressed_o(stored_compressed), .content_sum_o(content_sum), .error_o(compress_error)
    );
  end else begin : g_raw
    assign stored_word_valid = block_word_valid;
    assign block_word_ready  = stored_word_ready;
    assign stored_word       = block_word;
    assign stored_compressed = 1'b0;
    assign content_sum       = '0;
    assign compress_error    = 1'b0;
    logic unused_compress;
    assign unused_compress = compress;
  end

  cu_block_sealer #(.Bytes(V), .Xxh3(Xxh3)) u_block_sealer (
    .clk_i(ap_clk), .rst_ni(rst_n), .xxh3_i(xxh3), .checksum_base_i(checksum_base),
    .in_valid_i(stored_word_valid), .in_ready_o(stored_word_ready), .in_i(stored_word),
    .in_compressed_i(stored_compressed),
    .out_valid_o(sealed_valid), .out_ready_i(sealed_ready), .out_o(sealed),
    .handle_valid_o(made_valid), .handle_ready_i(made_ready),
    .handle_offset_o(made_offset), .handle_size_o(made_size)
  );

  cu_byte_packer #(.Bytes(V)) u_table_packer (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .in_valid_i(sealed_valid), .in_ready_o(sealed_ready), .in_i(sealed),
    .out_valid_o(image_valid), .out_ready_i(image_ready), .out_o(image)
  );

  cu_write_engine #(.Bytes(V), .BusBytes(OutBytes)) u_data_write (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .start_i(write_start), .addr_i(data_addr), .limit_i(data_limit),
    .in_valid_i(image_valid), .in_ready_o(image_ready), .in_i(image),
    .used_o(data_used), .done_o(data_done), .full_o(data_full), .error_o(data_werror),
    .halt_i(halt), .idle_o(out_idle), .stall_o(stall[StallWrite]),
    .m_axi_awaddr_o(m_axi_out_awaddr), .m_axi_awlen_o(m_axi_out_awlen),
    .m_axi_awsize_o(m_axi_out_awsize), .m_axi_awburst_o(m_axi_out_awburst),
    .m_axi_awvalid_o(m_axi_out_awvalid), .m_axi_awready_i(m_axi_out_awready),
    .m_axi_wdata_o(m_axi_out_wdata), .m_axi_wstrb_o(m_axi_out_wstrb),
    .m_axi_wlast_o(m_axi_out_wlast), .m_axi_wvalid_o(m_axi_out_wvalid),
    .m_axi_wready_i(m_axi_out_wready), .m_axi_bresp_i(m_axi_out_bresp),
    .m_axi_bvalid_i(m_axi_out_bvalid), .m_axi_bready_o(m_axi_out_bready)
  );

  logic index_out_valid, index_out_ready, index_out_last, index_out_empty;
  logic [63:0] index_out_data;

  cu_index_encoder #(.ValueBytes(V), .MaxBlocks(MaxBlocks)) u_index_encoder (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .last_key_valid_i(last_key_valid), .last_key_ready_o(last_key_ready), .last_key_i(last_key),
    .handle_valid_i(made_valid), .handle_ready_o(made_ready),
    .handle_offset_i(made_offset), .handle_size_i(made_size),
    .table_record_valid_i(table_record_valid), .table_record_ready_o(table_record_ready),
    .table_record_i(table_record),
    .out_valid_o(index_out_valid), .out_ready_i(index_out_ready), .out_data_o(index_out_data),
    .out_last_o(index_out_last), .out_empty_o(index_out_empty), .limit_o(index_limit_hit),
    .tables_o(tables)
  );

  // The index port's writer takes the index area during a merge, then the completion record.
  logic recording_q, index_write_valid, index_write_ready;
  index_chunk_t index_write;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || write_start) recording_q <= 1'b0;
    else if (record_start) recording_q <= 1'b1;
  end
  assign index_write_valid = recording_q ? record_valid : index_out_valid;
  always_comb begin
    index_write.data  = recording_q ? record_data : index_out_data;
    index_write.last  = recording_q ? record_last : index_out_last;
    index_write.bytes = (recording_q ? record_last : index_out_empty) ? 4'd0 : 4'd8;
    index_write.token = index_write.last ? 2'd2 : 2'd0;
  end
  assign record_ready    = recording_q & index_write_ready;
  assign index_out_ready = ~recording_q & index_write_ready;

  logic unused_index_wstall;
  logic [63:0] index_awaddr;
  logic [7:0] index_awlen;
  logic index_awvalid, index_awready, index_wlast, index_wvalid, index_wready;
  logic [63:0] index_wdata;
  logic [7:0] index_wstrb;
  logic [1:0] index_bresp;
  logic index_bvalid, index_bready;
  logic [2:0] index_awsize;
  logic [1:0] index_awburst;

  cu_write_engine #(.Bytes(8), .BusBytes(8), .AlignBytes(8)) u_index_write (
    .clk_i(ap_clk), .rst_ni(rst_n),
    .start_i(write_start | record_start), .addr_i(record_start ? record_addr : index_addr),
    .limit_i(record_start ? 64'(CompletionBytes + 63) & ~64'd63 : index_limit),
    .in_valid_i(index_write_valid), .in_ready_o(index_write_ready), .in_i(index_write),
    .used_o(index_used), .done_o(index_done), .full_o(index_full), .error_o(index_werror),
    .halt_i(halt), .idle_o(index_widle), .stall_o(unused_index_wstall),
    .m_axi_awaddr_o(index_awaddr), .m_axi_awlen_o(index_awlen), .m_axi_awsize_o(index_awsize),
    .m_axi_awburst_o(index_awburst), .m_axi_awvalid_o(index_awvalid),
    .m_axi_awready_i(index_awready), .m_axi_wdata_o(index_wdata), .m_axi_wstrb_o(index_wstrb),
    .m_axi_wlast_o(index_wlast), .m_axi_wvalid_o(index_wvalid), .m_axi_wready_i(index_wready),
    .m_axi_bresp_i(index_bresp), .m_axi_bvalid_i(index_bvalid), .m_axi_bready_o(index_bready)
  );

  // ---------------------------------------------------------------- filters
  if (Bloom != 0) begin : g_bloom
    // They leave through the index port, which has time for them.
    index_chunk_t filter_chunk, filter_word;
    logic filter_chunk_valid, filter_chunk_ready, filter_word_valid, filter_word_ready;
    logic overflow, full, written;

    cu_bloom_stage #(.ValueBytes(V), .MaxKeyBytes(MaxKeyBytes)) u_stage (
      .clk_i(ap_clk), .rst_ni(rst_n), .bits_per_key_i(bloom_bits), .probes_i(bloom_probes),
      .key_valid_i(filter_key_valid), .key_ready_o(filter_key_ready), .key_i(filter_key),
      .chunk_valid_o(filter_chunk_valid), .chunk_ready_i(filter_chunk_ready),
      .chunk_o(filter_chunk), .overflow_o(overflow), .stray_o(filter_error)
    );
    assign filter_limit_hit = overflow | full;
    assign filter_done      = bloom_bits == '0 | written;

    // Filters follow each other without a gap.
    cu_byte_packer #(.Bytes(8)) u_packer (
      .clk_i(ap_clk), .rst_ni(rst_n), .in_valid_i(filter_chunk_valid),
      .in_ready_o(filter_chunk_ready), .in_i(filter_chunk),
      .out_valid_o(filter_word_valid), .out_ready_i(filter_word_ready), .out_o(filter_word)
    );

    logic [63:0] awaddr;
    logic [7:0] awlen;
    logic [2:0] unused_awsize;
    logic [1:0] unused_awburst;
    logic awvalid, awready, wlast, wvalid, wready, bvalid, bready, unused_stall;
    logic [63:0] wdata;
    logic [7:0] wstrb;
    cu_write_engine #(.Bytes(8), .BusBytes(8), .AlignBytes(8)) u_write (
      .clk_i(ap_clk), .rst_ni(rst_n),
      .start_i(write_start && bloom_bits != '0), .addr_i(filter_addr), .limit_i(filter_limit),
      .in_valid_i(filter_word_valid), .in_ready_o(filter_word_ready), .in_i(filter_word),
      .used_o(filter_used), .done_o(written), .full_o(full), .error_o(filter_werror),
      .halt_i(halt), .idle_o(filter_idle), .stall_o(unused_stall),
      .m_axi_awaddr_o(awaddr), .m_axi_awlen_o(awlen), .m_axi_awsize_o(unused_awsize),
      .m_axi_awburst_o(unused_awburst), .m_axi_awvalid_o(awvalid), .m_axi_awready_i(awready),
      .m_axi_wdata_o(wdata), .m_axi_wstrb_o(wstrb), .m_axi_wlast_o(wlast),
      .m_axi_wvalid_o(wvalid), .m_axi_wready_i(wready),
      .m_axi_bresp_i(index_bresp), .m_axi_bvalid_i(bvalid), .m_axi_bready_o(bready)
    );

    logic [1:0] unused_idle, unused_beat;
    logic unused_index_burst;
    assign unused_index_burst = ^{index_awsize, index_awburst};
    cu_axi_write_arbiter #(.Units(2), .BusBytes(8)) u_arbiter (
      .clk_i(ap_clk), .rst_ni(rst_n), .isolate_i('0), .idle_o(unused_idle), .beat_o(unused_beat),
      .s_axi_awaddr_i({awaddr, index_awaddr}), .s_axi_awlen_i({awlen, index_awlen}),
      .s_axi_awvalid_i({awvalid, index_awvalid}), .s_axi_awready_o({awready, index_awready}),
      .s_axi_wdata_i({wdata, index_wdata}), .s_axi_wstrb_i({wstrb, index_wstrb}),
      .s_axi_wlast_i({wlast, index_wlast}), .s_axi_wvalid_i({wvalid, index_wvalid}),
      .s_axi_wready_o({wready, index_wready}), .s_axi_bresp_o(index_bresp),
      .s_axi_bvalid_o({bvalid, index_bvalid}), .s_axi_bready_i({bready, index_bready}),
      .m_axi_awaddr_o(m_axi_index_awaddr), .m_axi_awlen_o(m_axi_index_awlen),
      .m_axi_awsize_o(m_axi_index_awsize), .m_axi_awburst_o(m_axi_index_awburst),
      .m_axi_awvalid_o(m_axi_index_awvalid), .m_axi_awready_i(m_axi_index_awready),
      .m_axi_wdata_o(m_axi_index_wdata), .m_axi_wstrb_o(m_axi_index_wstrb),
      .m_axi_wlast_o(m_axi_index_wlast), .m_axi_wvalid_o(m_axi_index_wvalid),
      .m_axi_wready_i(m_axi_index_wready), .m_axi_bresp_i(m_axi_index_bresp),
      .m_axi_bvalid_i(m_axi_index_bvalid), .m_axi_bready_o(m_axi_index_bready)
    );
  end else begin : g_no_bloom
    assign filter_key_ready = 1'b1;
    assign filter_limit_hit = 1'b0;
    assign filter_error     = 1'b0;
    assign filter_werror    = 1'b0;
    assign filter_done      = 1'b1;
    assign filter_idle      = 1'b1;
    assign filter_used      = '0;
    logic unused_filter;
    assign unused_filter = ^{filter_key_valid, filter_key, bloom_probes, filter_addr, filter_limit};

    assign m_axi_index_awaddr  = index_awaddr;
    assign m_axi_index_awlen   = index_awlen;
    assign m_axi_index_awsize  = index_awsize;
    assign m_axi_index_awburst = index_awburst;
    assign m_axi_index_awvalid = index_awvalid;
    assign m_axi_index_wdata   = index_wdata;
    assign m_axi_index_wstrb   = index_wstrb;
    assign m_axi_index_wlast   = index_wlast;
    assign m_axi_index_wvalid  = index_wvalid;
    assign m_axi_index_bready  = index_bready;
    assign index_awready = m_axi_index_awready;
    assign index_wready  = m_axi_index_wready;
    assign index_bresp   = m_axi_index_bresp;
    assign index_bvalid  = m_axi_index_bvalid;
  end
endmodule
