// The whole read side as the unit has it: the index reader and entry decoders of all ways behind their
// two read engines. All outputs are brought out for the bench.

`include "cu_streams.svh"

module read_path_bench #(
  parameter int unsigned Ways          = 2,
  parameter int unsigned ValueBytes    = 8,
  parameter int unsigned BusBytes      = 64,
  parameter int unsigned MaxKeyBytes   = 1024,
  parameter int unsigned MaxValueBytes = 1 << 17
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,

  input  logic                                 start_i,  // loads way after way, and starts
  input  logic [Ways-1:0][47:0]                tables_addr_i,
  input  logic [Ways-1:0][15:0]                table_count_i,

  output logic [Ways-1:0]                      key_valid_o,
  input  logic [Ways-1:0]                      key_ready_i,
  output logic [Ways-1:0][ValueBytes*8-1:0]    key_data_o,
  output logic [Ways-1:0][7:0]                 key_bytes_o,
  output logic [Ways-1:0]                      key_last_o,
  output logic [Ways-1:0]                      key_eos_o,
  output logic [Ways-1:0][63:0]                key_trailer_o,
  output logic [Ways-1:0]                      info_valid_o,
  input  logic [Ways-1:0]                      info_ready_i,
  output logic [Ways-1:0][31:0]                info_value_bytes_o,
  output logic [Ways-1:0][15:0]                info_tag_o,
  output logic [Ways-1:0]                      hash_valid_o,
  input  logic [Ways-1:0]                      hash_ready_i,
  output logic [Ways-1:0][63:0]                hash_o,
  output logic [Ways-1:0]                      value_valid_o,
  input  logic [Ways-1:0]                      value_ready_i,
  output logic [Ways-1:0][ValueBytes*8-1:0]    value_data_o,

  output logic [Ways-1:0]                      index_fault_o,
  output logic [7:0]                           index_status_o,
  output logic [15:0]                          index_table_o,
  output logic [63:0]                          index_offset_o,
  output logic [Ways-1:0]                      data_fault_o,
  output logic [Ways-1:0][7:0]                 data_status_o,
  output logic [Ways-1:0][15:0]                data_table_o,
  output logic [Ways-1:0][63:0]                data_offset_o,
  output logic [Ways-1:0][63:0]                input_bytes_o,
  output logic [Ways-1:0]                      parity_error_o,

  input  logic                                 halt_i,
  output logic                                 idle_o,

  output logic [63:0]                          x_araddr_o,
  output logic [7:0]                           x_arlen_o,
  output logic [2:0]                           x_arsize_o,
  output logic [1:0]                           x_arburst_o,
  output logic                                 x_arvalid_o,
  input  logic                                 x_arready_i,
  input  logic [63:0]                          x_rdata_i,
  input  logic [1:0]                           x_rresp_i,
  input  logic                                 x_rlast_i,
  input  logic                                 x_rvalid_i,
  output logic                                 x_rready_o,

  output logic [63:0]                          d_araddr_o,
  output logic [7:0]                           d_arlen_o,
  output logic [2:0]                           d_arsize_o,
  output logic [1:0]                           d_arburst_o,
  output logic                                 d_arvalid_o,
  input  logic                                 d_arready_i,
  input  logic [BusBytes*8-1:0]                d_rdata_i,
  input  logic [1:0]                           d_rresp_i,
  input  logic                                 d_rlast_i,
  input  logic                                 d_rvalid_i,
  output logic                                 d_rready_o
);
  typedef `CU_KEY_T(ValueBytes) key_t;

  logic [Ways-1:0] x_req_valid, x_req_ready, x_beat_valid, x_beat_ready;
  logic [Ways-1:0] x_done_valid, x_done_ready, x_done_error;
  logic [Ways-1:0][63:0] x_beat_data;
  logic [Ways-1:0][31:0] x_done_crc;
  logic [63:0] x_req_addr;
  logic [31:0] x_req_bytes;
  logic [Ways-1:0] d_req_valid, d_req_ready, d_beat_valid, d_beat_ready;
  logic [Ways-1:0] d_done_valid, d_done_ready, d_done_good, d_done_error;
  logic [Ways-1:0][39:0] d_done_tail;
  logic [Ways-1:0][63:0] d_req_addr;
  logic [Ways-1:0][BusBytes*8-1:0] d_beat_data;
  localparam int unsigned ParityBytes = (ValueBytes > 32) ? 1 : ValueBytes;  // as in the unit
  logic [Ways-1:0][BusBytes/ParityBytes-1:0] d_beat_parity;
  logic [Ways-1:0][31:0] d_req_bytes;
  logic x_idle, d_idle;

  assign idle_o = x_idle & d_idle;

  cu_read_engine #(.Clients(Ways), .BusBytes(8)) u_index_read (
    .clk_i, .rst_ni,
    .req_valid_i(x_req_valid), .req_ready_o(x_req_ready), .req_addr_i({Ways{x_req_addr}}),
    .req_bytes_i({Ways{x_req_bytes}}), .beat_valid_o(x_beat_valid), .beat_ready_i(x_beat_ready),
    .beat_data_o(x_beat_data), .done_valid_o(x_done_valid), .done_ready_i(x_done_ready),
    .done_crc_o(x_done_crc), .done_good_o(), .done_tail_o(), .done_stored_o(),
    .done_error_o(x_done_error), .halt_i, .idle_o(x_idle), .stall_o(),
    .beat_parity_o(), .fifo_error_o(),
    .m_axi_araddr_o(x_araddr_o), .m_axi_arlen_o(x_arlen_o), .m_axi_arsize_o(x_arsize_o),
    .m_axi_arburst_o(x_arburst_o), .m_axi_arvalid_o(x_arvalid_o), .m_axi_arready_i(x_arready_i),
    .m_axi_rdata_i(x_rdata_i), .m_axi_rresp_i(x_rresp_i), .m_axi_rlast_i(x_rlast_i),
    .m_axi_rvalid_i(x_rvalid_i), .m_axi_rready_o(x_rready_o)
  );

  cu_read_engine #(
    .Clients(Ways), .BusBytes(BusBytes), .ParityBytes(ParityBytes), .Tails(1)
  ) u_data_read (
    .clk_i, .rst_ni,
    .req_valid_i(d_req_valid), .req_ready_o(d_req_ready), .req_addr_i(d_req_addr),
    .req_bytes_i(d_req_bytes), .beat_valid_o(d_beat_valid), .beat_ready_i(d_beat_ready),
    .beat_data_o(d_beat_data), .done_valid_o(d_done_valid), .done_ready_i(d_done_ready),
    .done_crc_o(), .done_good_o(d_done_good), .done_tail_o(d_done_tail),
    .done_stored_o(),
    .done_error_o(d_done_error), .halt_i, .idle_o(d_idle), .stall_o(),
    .beat_parity_o(d_beat_parity), .fifo_error_o(),
    .m_axi_araddr_o(d_araddr_o), .m_axi_arlen_o(d_arlen_o), .m_axi_arsize_o(d_arsize_o),
    .m_axi_arburst_o(d_arburst_o), .m_axi_arvalid_o(d_arvalid_o), .m_axi_arready_i(d_arready_i),
    .m_axi_rdata_i(d_rdata_i), .m_axi_rresp_i(d_rresp_i), .m_axi_rlast_i(d_rlast_i),
    .m_axi_rvalid_i(d_rvalid_i), .m_axi_rready_o(d_rready_o)
  );

  logic [Ways:0] load_q;  // then start
  logic [47:0] load_addr;
  logic [15:0] load_count;
  always_ff @(posedge clk_i) load_q <= rst_ni ? {load_q[Ways-1:0], start_i} : '0;
  always_comb begin
    load_addr  = '0;
    load_count = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (load_q[w]) begin
        load_addr  = tables_addr_i[w];
        load_count = table_count_i[w];
      end
    end
  end

  logic [Ways-1:0] h_valid, h_ready, h_end;
  logic [Ways-1:0][63:0] h_addr, h_offset;
  logic [Ways-1:0][31:0] h_bytes;
  logic [Ways-1:0][15:0] h_table;
  cu_index_reader #(.Ways(Ways)) u_index_reader (
    .clk_i, .rst_ni, .xxh3_i(1'b0), .load_i(load_q[Ways-1:0]), .tables_addr_i(load_addr),
    .table_count_i(load_count), .start_i(load_q[Ways]),
    .req_valid_o(x_req_valid), .req_ready_i(x_req_ready), .req_addr_o(x_req_addr),
    .req_bytes_o(x_req_bytes), .beat_valid_i(x_beat_valid), .beat_ready_o(x_beat_ready),
    .beat_data_i(x_beat_data), .done_valid_i(x_done_valid), .done_ready_o(x_done_ready),
    .done_crc_i(x_done_crc), .done_error_i(x_done_error),
    .handle_valid_o(h_valid), .handle_ready_i(h_ready), .handle_end_o(h_end),
    .handle_addr_o(h_addr), .handle_bytes_o(h_bytes), .handle_offset_o(h_offset),
    .handle_table_o(h_table), .handle_base_o(), .fault_valid_o(index_fault_o), .fault_status_o(index_status_o),
    .fault_table_o(index_table_o), .fault_offset_o(index_offset_o)
  );

  for (genvar w = 0; w < Ways; w++) begin : g_way
    key_t key;
    logic unused_parity;
    assign {key_data_o[w], key_last_o[w], key_eos_o[w], key_trailer_o[w], unused_parity} =
        {key.data, key.last, key.eos, key.trailer, key.parity};
    assign key_bytes_o[w] = 8'(key.bytes);

    cu_entry_decoder #(
      .ValueBytes(ValueBytes), .BusBytes(BusBytes), .MaxKeyBytes(MaxKeyBytes),
      .MaxValueBytes(MaxValueBytes), .ParityBytes(ParityBytes)
    ) u_entry_decoder (
      .clk_i, .rst_ni, .xxh3_i(1'b0), .handle_base_i('0), .done_stored_i('0),
      .handle_valid_i(h_valid[w]), .handle_ready_o(h_ready[w]), .handle_end_i(h_end[w]),
      .handle_addr_i(h_addr[w]), .handle_bytes_i(h_bytes[w]), .handle_offset_i(h_offset[w]),
      .handle_table_i(h_table[w]),
      .req_valid_o(d_req_valid[w]), .req_ready_i(d_req_ready[w]), .req_addr_o(d_req_addr[w]),
      .req_bytes_o(d_req_bytes[w]), .beat_valid_i(d_beat_valid[w]),
      .beat_ready_o(d_beat_ready[w]), .beat_data_i(d_beat_data[w]),
      .beat_parity_i(d_beat_parity[w]), .parity_error_o(parity_error_o[w]), .settled_o(),
      .done_valid_i(d_done_valid[w]), .done_ready_o(d_done_ready[w]),
      .done_good_i(d_done_good[w]), .done_tail_i(d_done_tail[w]),
      .done_error_i(d_done_error[w]),
      .key_valid_o(key_valid_o[w]), .key_ready_i(key_ready_i[w]), .key_o(key),
      .info_valid_o(info_valid_o[w]), .info_ready_i(info_ready_i[w]),
      .info_value_bytes_o(info_value_bytes_o[w]), .info_tag_o(info_tag_o[w]),
      .hash_valid_o(hash_valid_o[w]), .hash_ready_i(hash_ready_i[w]), .hash_o(hash_o[w]),
      .value_valid_o(value_valid_o[w]), .value_ready_i(value_ready_i[w]),
      .value_data_o(value_data_o[w]),
      .fault_valid_o(data_fault_o[w]), .fault_status_o(data_status_o[w]),
      .fault_table_o(data_table_o[w]), .fault_offset_o(data_offset_o[w]),
      .input_bytes_o(input_bytes_o[w])
    );
  end
endmodule
