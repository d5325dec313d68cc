// Ends of the output: blocks, tables, the task, with and without something before them.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_entry_encoder_cover #(
  parameter int unsigned ValueBytes = 8,
  localparam type record_t = `CU_RECORD_T,
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input logic    clk_i,
  input logic    rst_ni,
  input logic    record_valid_i,
  input logic    record_ready_o,
  input record_t record_i,
  input logic    chunk_valid_o,
  input logic    chunk_ready_i,
  input chunk_t  chunk_o
);
  wire record = record_valid_i && record_ready_o && !record_i.eos;
  wire chunk = chunk_valid_o && chunk_ready_i;
  logic any_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) any_q <= 1'b0;
    else if (record) any_q <= 1'b1;
  end

  `COVER(c_block_end, chunk && chunk_o.last && chunk_o.token == 2'd0)
  `COVER(c_table_cut, chunk && chunk_o.token == 2'd1)
  `COVER(c_task_end, chunk && chunk_o.token == 2'd2 && any_q)
  `COVER(c_task_end_without_data, chunk && chunk_o.token == 2'd2 && !any_q)
  `COVER(c_tombstone, record && record_i.tombstone)
  `COVER(c_empty_key, record && record_i.user_bytes == '0)
  `COVER(c_nothing_shared, record && any_q && record_i.shared == '0)
  `COVER(c_all_shared,
      record && any_q && record_i.user_bytes != '0 && record_i.shared == record_i.user_bytes)
  `COVER(c_shared_ends_on_beat,
      record && record_i.shared != '0 && record_i.shared % 16'(ValueBytes) == '0)
  `COVER(c_value_empty, record && record_i.value_bytes == '0)
  `COVER(c_value_one_beat,
      record && record_i.value_bytes != '0 && record_i.value_bytes < ValueBytes)
  `COVER(c_value_ends_on_beat,
      record && record_i.value_bytes != '0 && record_i.value_bytes % ValueBytes == '0)
  `COVER(c_value_long,
      record && record_i.value_bytes > ValueBytes && record_i.value_bytes % ValueBytes != '0)

  // Varints of the header it writes: value length in 1 to 3 bytes.
  `COVER(c_value_varint_1, record && record_i.value_bytes < 32'd128)
  `COVER(c_value_varint_2,
      record && record_i.value_bytes >= 32'd128 && record_i.value_bytes < 32'd16384)
  `COVER(c_value_varint_3, record && record_i.value_bytes >= 32'd16384)
  `COVER(c_key_varint_2,
      record && 17'(record_i.user_bytes) - 17'(record_i.shared) + 17'd8 >= 17'd128)
endmodule

bind cu_entry_encoder cu_entry_encoder_cover #(.ValueBytes(ValueBytes)) u_cover (.*);
bind cu_entry_encoder stream_cover u_cover_record (.clk_i, .rst_ni, .valid_i(record_valid_i),
                                                  .ready_i(record_ready_o));
bind cu_entry_encoder stream_cover u_cover_key (
    .clk_i, .rst_ni, .valid_i(key_valid_i), .ready_i(key_ready_o)
);
bind cu_entry_encoder stream_cover u_cover_value (
    .clk_i, .rst_ni, .valid_i(value_valid_i), .ready_i(value_ready_o)
);
bind cu_entry_encoder stream_cover u_cover_chunk (.clk_i, .rst_ni, .valid_i(chunk_valid_o),
                                                 .ready_i(chunk_ready_i));
bind cu_entry_encoder stream_cover u_cover_last_key (
    .clk_i, .rst_ni, .valid_i(last_key_valid_o), .ready_i(last_key_ready_i)
);
bind cu_entry_encoder stream_cover u_cover_table_record (
    .clk_i, .rst_ni, .valid_i(table_record_valid_o), .ready_i(table_record_ready_i)
);
