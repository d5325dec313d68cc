// The write side as the unit has it, for its bench: entry encoder to write engines.

`include "cu_streams.svh"

module write_chain #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned MaxRestarts = 8192,
  parameter int unsigned MaxBlocks = 8192
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic [31:0]             block_bytes_i,
  input  logic [63:0]             table_bytes_i,
  input  logic [15:0]             restart_interval_i,

  input  logic                    record_valid_i,
  output logic                    record_ready_o,
  input  logic                    record_eos_i,
  input  logic                    record_tombstone_i,
  input  logic [15:0]             record_user_bytes_i,
  input  logic [15:0]             record_shared_i,
  input  logic [63:0]             record_trailer_i,
  input  logic [31:0]             record_value_bytes_i,
  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  logic [ValueBytes*8-1:0] key_data_i,
  input  logic                    key_last_i,
  input  logic                    value_valid_i,
  output logic                    value_ready_o,
  input  logic [ValueBytes*8-1:0] value_data_i,

  output logic                    restart_limit_o,
  output logic                    block_limit_o,
  output logic [63:0]             output_records_o,
  output logic [63:0]             output_checksum_o,
  output logic                    stall_encode_o,
  output logic                    stall_pack_o,
  output logic [63:0]             tables_o,

  input  logic                    start_i,
  input  logic                    halt_i,
  // Data port (0) and index port (1).
  input  logic [1:0][63:0]        addr_i,
  input  logic [1:0][63:0]        limit_i,
  output logic [1:0]              done_o,
  output logic [1:0]              idle_o,
  output logic [1:0]              full_o,
  output logic [1:0]              error_o,
  output logic [1:0][63:0]        used_o,
  output logic [1:0]              stall_o,

  output logic [63:0]             data_awaddr_o,
  output logic [7:0]              data_awlen_o,
  output logic [2:0]              data_awsize_o,
  output logic [1:0]              data_awburst_o,
  output logic                    data_awvalid_o,
  input  logic                    data_awready_i,
  output logic [BusBytes*8-1:0]   data_wdata_o,
  output logic [BusBytes-1:0]     data_wstrb_o,
  output logic                    data_wlast_o,
  output logic                    data_wvalid_o,
  input  logic                    data_wready_i,
  input  logic [1:0]              data_bresp_i,
  input  logic                    data_bvalid_i,
  output logic                    data_bready_o,

  output logic [63:0]             index_awaddr_o,
  output logic [7:0]              index_awlen_o,
  output logic [2:0]              index_awsize_o,
  output logic [1:0]              index_awburst_o,
  output logic                    index_awvalid_o,
  input  logic                    index_awready_i,
  output logic [63:0]             index_wdata_o,
  output logic [7:0]              index_wstrb_o,
  output logic                    index_wlast_o,
  output logic                    index_wvalid_o,
  input  logic                    index_wready_i,
  input  logic [1:0]              index_bresp_i,
  input  logic                    index_bvalid_i,
  output logic                    index_bready_o
);
  typedef `CU_CHUNK_T(ValueBytes) chunk_t;
  typedef `CU_LAST_KEY_T(ValueBytes) last_key_t;
  typedef `CU_TABLE_RECORD_T table_record_t;

  chunk_t entry, block_word, sealed, image;
  logic entry_valid, block_word_valid, sealed_valid, image_valid;
  logic entry_ready, block_word_ready, sealed_ready, image_ready;

  last_key_t last_key;
  table_record_t table_record;
  logic last_key_valid, last_key_ready, table_record_valid, table_record_ready;
  logic handle_valid, handle_ready;
  logic [63:0] handle_offset;
  logic [31:0] handle_size;
  logic index_valid, index_ready, index_last, index_empty;
  logic [63:0] index_data;

  cu_entry_encoder #(.ValueBytes(ValueBytes), .MaxRestarts(MaxRestarts)) u_encoder (
    .clk_i, .rst_ni, .block_bytes_i, .table_bytes_i, .restart_interval_i,
    .record_valid_i, .record_ready_o,
    .record_i({record_eos_i, record_tombstone_i, record_user_bytes_i, record_shared_i,
               record_trailer_i, record_value_bytes_i}),
    .key_valid_i, .key_ready_o, .key_data_i, .key_last_i,
    .value_valid_i, .value_ready_o, .value_data_i,
    .chunk_valid_o(entry_valid), .chunk_ready_i(entry_ready), .chunk_o(entry),
    .last_key_valid_o(last_key_valid), .last_key_ready_i(last_key_ready), .last_key_o(last_key),
    .table_record_valid_o(table_record_valid), .table_record_ready_i(table_record_ready),
    .table_record_o(table_record),
    .filters_i(1'b0), .filter_key_valid_o(), .filter_key_ready_i(1'b0), .filter_key_o(),
    .filter_key_error_o(), .limit_o(restart_limit_o), .output_records_o, .output_checksum_o,
    .content_bytes_o(), .content_checksum_o(),
    .stall_encode_o, .stall_pack_o
  );
  cu_byte_packer #(.Bytes(ValueBytes)) u_content (
    .clk_i, .rst_ni,
    .in_valid_i(entry_valid), .in_ready_o(entry_ready), .in_i(entry),
    .out_valid_o(block_word_valid), .out_ready_i(block_word_ready), .out_o(block_word)
  );
  cu_block_sealer #(.Bytes(ValueBytes)) u_sealer (
    .xxh3_i(1'b0), .checksum_base_i('0),
    .clk_i, .rst_ni,
    .in_valid_i(block_word_valid), .in_ready_o(block_word_ready), .in_i(block_word),
    .in_compressed_i(1'b0), .out_valid_o(sealed_valid), .out_ready_i(sealed_ready), .out_o(sealed),
    .handle_valid_o(handle_valid), .handle_ready_i(handle_ready),
    .handle_offset_o(handle_offset), .handle_size_o(handle_size)
  );
  cu_byte_packer #(.Bytes(ValueBytes)) u_image (
    .clk_i, .rst_ni,
    .in_valid_i(sealed_valid), .in_ready_o(sealed_ready), .in_i(sealed),
    .out_valid_o(image_valid), .out_ready_i(image_ready), .out_o(image)
  );
  cu_write_engine #(.Bytes(ValueBytes), .BusBytes(BusBytes)) u_data (
    .clk_i, .rst_ni, .start_i, .addr_i(addr_i[0]), .limit_i(limit_i[0]), .halt_i,
    .done_o(done_o[0]), .idle_o(idle_o[0]), .full_o(full_o[0]), .error_o(error_o[0]),
    .used_o(used_o[0]), .stall_o(stall_o[0]),
    .in_valid_i(image_valid), .in_ready_o(image_ready), .in_i(image),
    .m_axi_awaddr_o(data_awaddr_o), .m_axi_awlen_o(data_awlen_o), .m_axi_awsize_o(data_awsize_o),
    .m_axi_awburst_o(data_awburst_o), .m_axi_awvalid_o(data_awvalid_o),
    .m_axi_awready_i(data_awready_i), .m_axi_wdata_o(data_wdata_o), .m_axi_wstrb_o(data_wstrb_o),
    .m_axi_wlast_o(data_wlast_o), .m_axi_wvalid_o(data_wvalid_o), .m_axi_wready_i(data_wready_i),
    .m_axi_bresp_i(data_bresp_i), .m_axi_bvalid_i(data_bvalid_i), .m_axi_bready_o(data_bready_o)
  );

  cu_index_encoder #(.ValueBytes(ValueBytes), .MaxBlocks(MaxBlocks)) u_index (
    .clk_i, .rst_ni,
    .last_key_valid_i(last_key_valid), .last_key_ready_o(last_key_ready), .last_key_i(last_key),
    .table_record_valid_i(table_record_valid), .table_record_ready_o(table_record_ready),
    .table_record_i(table_record),
    .handle_valid_i(handle_valid), .handle_ready_o(handle_ready),
    .handle_offset_i(handle_offset), .handle_size_i(handle_size),
    .out_valid_o(index_valid), .out_ready_i(index_ready), .out_data_o(index_data),
    .out_last_o(index_last), .out_empty_o(index_empty),
    .limit_o(block_limit_o), .tables_o
  );
  cu_write_engine #(.Bytes(8), .BusBytes(8), .AlignBytes(8)) u_index_area (
    .clk_i, .rst_ni, .start_i, .addr_i(addr_i[1]), .limit_i(limit_i[1]), .halt_i,
    .done_o(done_o[1]), .idle_o(idle_o[1]), .full_o(full_o[1]), .error_o(error_o[1]),
    .used_o(used_o[1]), .stall_o(stall_o[1]),
    .in_valid_i(index_valid), .in_ready_o(index_ready),
    .in_i({index_empty ? 64'h0 : index_data, index_empty ? 4'd0 : 4'd8, index_last,
           index_last ? 2'd2 : 2'd0}),
    .m_axi_awaddr_o(index_awaddr_o), .m_axi_awlen_o(index_awlen_o),
    .m_axi_awsize_o(index_awsize_o), .m_axi_awburst_o(index_awburst_o),
    .m_axi_awvalid_o(index_awvalid_o), .m_axi_awready_i(index_awready_i),
    .m_axi_wdata_o(index_wdata_o), .m_axi_wstrb_o(index_wstrb_o), .m_axi_wlast_o(index_wlast_o),
    .m_axi_wvalid_o(index_wvalid_o), .m_axi_wready_i(index_wready_i),
    .m_axi_bresp_i(index_bresp_i), .m_axi_bvalid_i(index_bvalid_i),
    .m_axi_bready_o(index_bready_o)
  );
endmodule
