// The write side as the unit has it, for its bench: entry encoder to write engines.

module write_chain #(
  parameter int unsigned V = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned MaxRestarts = 8192,
  parameter int unsigned MaxBlocks = 8192
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [31:0]           block_bytes_i,
  input  logic [63:0]           table_bytes_i,
  input  logic [15:0]           restart_interval_i,

  input  logic                  rec_valid_i,
  output logic                  rec_ready_o,
  input  logic                  rec_end_i,
  input  logic                  rec_tombstone_i,
  input  logic [15:0]           rec_user_bytes_i,
  input  logic [15:0]           rec_shared_i,
  input  logic [63:0]           rec_trailer_i,
  input  logic [31:0]           rec_value_bytes_i,
  input  logic                  key_valid_i,
  output logic                  key_ready_o,
  input  logic [V*8-1:0]        key_data_i,
  input  logic                  key_last_i,
  input  logic                  value_valid_i,
  output logic                  value_ready_o,
  input  logic [V*8-1:0]        value_data_i,

  output logic                  restart_limit_o,
  output logic                  block_limit_o,
  output logic [63:0]           output_records_o,
  output logic [63:0]           output_checksum_o,
  output logic                  stall_encode_o,
  output logic                  stall_pack_o,
  output logic [63:0]           tables_o,

  input  logic                  start_i,
  input  logic                  halt_i,
  // Of the data port (0) and the index port (1).
  input  logic [1:0][63:0]      addr_i,
  input  logic [1:0][63:0]      limit_i,
  output logic [1:0]            done_o,
  output logic [1:0]            idle_o,
  output logic [1:0]            full_o,
  output logic [1:0]            error_o,
  output logic [1:0][63:0]      used_o,
  output logic [1:0]            stall_o,

  output logic [63:0]           data_awaddr_o,
  output logic [7:0]            data_awlen_o,
  output logic [2:0]            data_awsize_o,
  output logic [1:0]            data_awburst_o,
  output logic                  data_awvalid_o,
  input  logic                  data_awready_i,
  output logic [BusBytes*8-1:0] data_wdata_o,
  output logic [BusBytes-1:0]   data_wstrb_o,
  output logic                  data_wlast_o,
  output logic                  data_wvalid_o,
  input  logic                  data_wready_i,
  input  logic [1:0]            data_bresp_i,
  input  logic                  data_bvalid_i,
  output logic                  data_bready_o,

  output logic [63:0]           index_awaddr_o,
  output logic [7:0]            index_awlen_o,
  output logic [2:0]            index_awsize_o,
  output logic [1:0]            index_awburst_o,
  output logic                  index_awvalid_o,
  input  logic                  index_awready_i,
  output logic [63:0]           index_wdata_o,
  output logic [7:0]            index_wstrb_o,
  output logic                  index_wlast_o,
  output logic                  index_wvalid_o,
  input  logic                  index_wready_i,
  input  logic [1:0]            index_bresp_i,
  input  logic                  index_bvalid_i,
  output logic                  index_bready_o
);
  localparam int unsigned CountBits = $clog2(V + 1);

  typedef struct packed {
    logic                 valid;
    logic [V*8-1:0]       data;
    logic [CountBits-1:0] bytes;
    logic                 last;
    logic [1:0]           token;
  } stream_t;

  stream_t entry, word, sealed, image;
  logic entry_ready, word_ready, sealed_ready, image_ready;

  logic lk_valid, lk_ready, lk_last, tr_valid, tr_ready, tr_task_end;
  logic [V*8-1:0] lk_data;
  logic [15:0] lk_user_bytes;
  logic [63:0] lk_trailer, tr_entries, tr_tombstones;
  logic handle_valid, handle_ready;
  logic [63:0] handle_offset;
  logic [31:0] handle_size;
  logic index_valid, index_ready, index_last, index_empty;
  logic [63:0] index_data;

  cu_entry_encoder #(.V(V), .MaxRestarts(MaxRestarts)) u_encoder (
    .clk_i, .rst_ni, .block_bytes_i, .table_bytes_i, .restart_interval_i,
    .rec_valid_i, .rec_ready_o, .rec_end_i, .rec_tombstone_i, .rec_user_bytes_i, .rec_shared_i,
    .rec_trailer_i, .rec_value_bytes_i,
    .key_valid_i, .key_ready_o, .key_data_i, .key_last_i,
    .value_valid_i, .value_ready_o, .value_data_i,
    .out_valid_o(entry.valid), .out_ready_i(entry_ready), .out_data_o(entry.data),
    .out_bytes_o(entry.bytes), .out_last_o(entry.last), .out_token_o(entry.token),
    .lk_valid_o(lk_valid), .lk_ready_i(lk_ready), .lk_data_o(lk_data), .lk_last_o(lk_last),
    .lk_user_bytes_o(lk_user_bytes), .lk_trailer_o(lk_trailer),
    .tr_valid_o(tr_valid), .tr_ready_i(tr_ready), .tr_task_end_o(tr_task_end),
    .tr_entries_o(tr_entries), .tr_tombstones_o(tr_tombstones),
    .limit_o(restart_limit_o), .output_records_o, .output_checksum_o,
    .content_bytes_o(), .content_fold_o(),
    .stall_encode_o, .stall_pack_o
  );
  cu_byte_packer #(.Bytes(V)) u_content (
    .clk_i, .rst_ni,
    .in_valid_i(entry.valid), .in_ready_o(entry_ready), .in_data_i(entry.data),
    .in_bytes_i(entry.bytes), .in_last_i(entry.last), .in_token_i(entry.token),
    .out_valid_o(word.valid), .out_ready_i(word_ready), .out_data_o(word.data),
    .out_bytes_o(word.bytes), .out_last_o(word.last), .out_token_o(word.token)
  );
  cu_block_sealer #(.Bytes(V)) u_sealer (
    .clk_i, .rst_ni,
    .in_valid_i(word.valid), .in_ready_o(word_ready), .in_data_i(word.data),
    .in_bytes_i(word.bytes), .in_last_i(word.last), .in_token_i(word.token),
    .out_valid_o(sealed.valid), .out_ready_i(sealed_ready), .out_data_o(sealed.data),
    .out_bytes_o(sealed.bytes), .out_last_o(sealed.last), .out_token_o(sealed.token),
    .handle_valid_o(handle_valid), .handle_ready_i(handle_ready),
    .handle_offset_o(handle_offset), .handle_size_o(handle_size)
  );
  cu_byte_packer #(.Bytes(V)) u_image (
    .clk_i, .rst_ni,
    .in_valid_i(sealed.valid), .in_ready_o(sealed_ready), .in_data_i(sealed.data),
    .in_bytes_i(sealed.bytes), .in_last_i(sealed.last), .in_token_i(sealed.token),
    .out_valid_o(image.valid), .out_ready_i(image_ready), .out_data_o(image.data),
    .out_bytes_o(image.bytes), .out_last_o(image.last), .out_token_o(image.token)
  );
  cu_write_engine #(.InBytes(V), .BusBytes(BusBytes)) u_data (
    .clk_i, .rst_ni, .start_i, .addr_i(addr_i[0]), .limit_i(limit_i[0]), .halt_i,
    .done_o(done_o[0]), .idle_o(idle_o[0]), .full_o(full_o[0]), .error_o(error_o[0]),
    .used_o(used_o[0]), .stall_o(stall_o[0]),
    .in_valid_i(image.valid), .in_ready_o(image_ready), .in_data_i(image.data),
    .in_bytes_i(image.bytes), .in_last_i(image.last), .in_token_i(image.token),
    .m_axi_awaddr_o(data_awaddr_o), .m_axi_awlen_o(data_awlen_o), .m_axi_awsize_o(data_awsize_o),
    .m_axi_awburst_o(data_awburst_o), .m_axi_awvalid_o(data_awvalid_o),
    .m_axi_awready_i(data_awready_i), .m_axi_wdata_o(data_wdata_o), .m_axi_wstrb_o(data_wstrb_o),
    .m_axi_wlast_o(data_wlast_o), .m_axi_wvalid_o(data_wvalid_o), .m_axi_wready_i(data_wready_i),
    .m_axi_bresp_i(data_bresp_i), .m_axi_bvalid_i(data_bvalid_i), .m_axi_bready_o(data_bready_o)
  );

  cu_index_encoder #(.V(V), .MaxBlocks(MaxBlocks)) u_index (
    .clk_i, .rst_ni,
    .lk_valid_i(lk_valid), .lk_ready_o(lk_ready), .lk_data_i(lk_data), .lk_last_i(lk_last),
    .lk_user_bytes_i(lk_user_bytes), .lk_trailer_i(lk_trailer),
    .tr_valid_i(tr_valid), .tr_ready_o(tr_ready), .tr_task_end_i(tr_task_end),
    .tr_entries_i(tr_entries), .tr_tombstones_i(tr_tombstones),
    .handle_valid_i(handle_valid), .handle_ready_o(handle_ready),
    .handle_offset_i(handle_offset), .handle_size_i(handle_size),
    .out_valid_o(index_valid), .out_ready_i(index_ready), .out_data_o(index_data),
    .out_last_o(index_last), .out_empty_o(index_empty),
    .limit_o(block_limit_o), .tables_o
  );
  cu_write_engine #(.InBytes(8), .BusBytes(8), .AlignBytes(8)) u_index_area (
    .clk_i, .rst_ni, .start_i, .addr_i(addr_i[1]), .limit_i(limit_i[1]), .halt_i,
    .done_o(done_o[1]), .idle_o(idle_o[1]), .full_o(full_o[1]), .error_o(error_o[1]),
    .used_o(used_o[1]), .stall_o(stall_o[1]),
    .in_valid_i(index_valid), .in_ready_o(index_ready),
    .in_data_i(index_empty ? 64'h0 : index_data),
    .in_bytes_i(index_empty ? 4'd0 : 4'd8), .in_last_i(index_last),
    .in_token_i(index_last ? 2'd2 : 2'd0),
    .m_axi_awaddr_o(index_awaddr_o), .m_axi_awlen_o(index_awlen_o),
    .m_axi_awsize_o(index_awsize_o), .m_axi_awburst_o(index_awburst_o),
    .m_axi_awvalid_o(index_awvalid_o), .m_axi_awready_i(index_awready_i),
    .m_axi_wdata_o(index_wdata_o), .m_axi_wstrb_o(index_wstrb_o), .m_axi_wlast_o(index_wlast_o),
    .m_axi_wvalid_o(index_wvalid_o), .m_axi_wready_i(index_wready_i),
    .m_axi_bresp_i(index_bresp_i), .m_axi_bvalid_i(index_bvalid_i),
    .m_axi_bready_o(index_bready_o)
  );
endmodule
