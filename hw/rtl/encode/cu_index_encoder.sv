// Writes the index area as 8-byte words: for each table its index block with trailer, padded to 8
// bytes, then its table record (abi/sluice.rdl).
//
//   last keys, table records -> items, key beats --\
//   handles of data blocks ----------------------> cu_index_entries -> packer -> sealer -> packer
//                                                       | place of the data      | size     | words
//                                                       v                        v          v
//                                                       table records, one after each token
//
// The last word of a table record waits until it is known whether another table follows.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_index_encoder #(
  parameter int unsigned ValueBytes = 16,   // 8, 16, 32 or 64
  parameter int unsigned MaxBlocks = 8192,  // of a table
  parameter int unsigned AlignBytes = 64,   // of the tables in the data area; a power of two
  parameter int unsigned KeyFifoBytes = 512,
  localparam type last_key_t = `CU_LAST_KEY_T(ValueBytes),
  localparam type table_record_t = `CU_TABLE_RECORD_T
) (
  input  logic          clk_i,
  input  logic          rst_ni,  // synchronous

  // Last keys and table records come in order, never both at once.
  input  logic          last_key_valid_i,
  output logic          last_key_ready_o,
  input  last_key_t     last_key_i,

  input  logic          table_record_valid_i,
  output logic          table_record_ready_o,
  input  table_record_t table_record_i,

  input  logic          handle_valid_i,
  output logic          handle_ready_o,
  input  logic [63:0]   handle_offset_i,
  input  logic [31:0]   handle_size_i,

  output logic          out_valid_o,
  input  logic          out_ready_i,
  output logic [63:0]   out_data_o,
  output logic          out_last_o,   // the task ends with this word
  output logic          out_empty_o,  // there were no tables: not a word, only the end

  output logic          limit_o,  // more blocks in a table than there is room for
  output logic [63:0]   tables_o
);
  import cu_varint_pkg::*;
  import sluice_abi_pkg::*;

  localparam int unsigned V = ValueBytes;
  localparam int unsigned ItemDepth = 8;
  localparam int unsigned KeyDepth = KeyFifoBytes / V;
  localparam int unsigned SealBytes = 5;
  localparam int unsigned RecordWords = TableRecordBytes / 8;
  localparam int unsigned OffsetBits = 48;  // no device has more memory, or records

  `ASSERT_PARAM(align_bytes, $onehot(AlignBytes), "AlignBytes must be a power of two")

  // -------------------------------------------------------------- in

  // One item per last key or table record; a last key's beats stand in a FIFO of their own.
  typedef struct packed {
    logic        is_table;
    logic        task_end;
    logic [63:0] a;  // trailer, or entries
    logic [OffsetBits-1:0] b;  // user key bytes, or tombstones
  } item_t;

  item_t item_in, item;
  logic key_first_q, item_push, items_ready, item_valid, item_pop;
  logic keys_ready, key_valid, key_pop;
  logic [V*8-1:0] key_data;
  logic [$clog2(ItemDepth + 1)-1:0] unused_items;
  logic [$clog2(KeyDepth + 1)-1:0] unused_keys;
  logic unused_keys_error;  // the host would see it: each key must be the last of its block

  always_comb begin
    item_in = '{is_table: 1'b0, task_end: 1'b0, a: last_key_i.trailer,
                b: OffsetBits'(last_key_i.user_bytes)};
    if (!last_key_valid_i) begin
      item_in = '{is_table: 1'b1, task_end: table_record_i.task_end, a: table_record_i.entries,
                  b: table_record_i.tombstones[OffsetBits-1:0]};
    end
  end
  assign last_key_ready_o     = items_ready && keys_ready;
  assign table_record_ready_o = items_ready && !last_key_valid_i;
  assign item_push = (last_key_valid_i && last_key_ready_o && key_first_q) ||
                     (table_record_valid_i && table_record_ready_o);

  cu_fifo #(.Width($bits(item_t)), .Depth(ItemDepth)) u_items (
    .clk_i, .rst_ni,
    .wvalid_i(item_push), .wready_o(items_ready), .wdata_i(item_in),
    .rvalid_o(item_valid), .rready_i(item_pop), .rdata_o(item),
    .count_o(unused_items)
  );
  cu_wide_fifo #(.Width(V*8), .Depth(KeyDepth)) u_keys (
    .clk_i, .rst_ni,
    .wvalid_i(last_key_valid_i && last_key_ready_o), .wready_o(keys_ready),
    .wdata_i(last_key_i.data),
    .rvalid_o(key_valid), .rready_i(key_pop), .rdata_o(key_data),
    .count_o(unused_keys), .error_o(unused_keys_error)
  );

  // The next handle, with the bytes of its code: an entry's header needs them at once.
  logic handle_valid_q, handle_pop;
  logic [OffsetBits-1:0] handle_offset_q;
  logic [31:0] handle_size_q;
  logic [3:0] code_bytes_q;
  assign handle_ready_o = !handle_valid_q;
  always_ff @(posedge clk_i) begin
    handle_valid_q <= rst_ni && (handle_valid_q ? !handle_pop : handle_valid_i);
    if (!handle_valid_q) begin
      handle_offset_q <= handle_offset_i[OffsetBits-1:0];
      handle_size_q   <= handle_size_i;
      code_bytes_q    <= varint_bytes(56'(handle_offset_i[OffsetBits-1:0])) +
                         varint_bytes(56'(handle_size_i));
    end
  end

  // -------------------------------------------------------------- index blocks

  typedef `CU_CHUNK_T(8) chunk_t;

  chunk_t entry, word, sealed, image;
  logic entry_valid, word_valid, sealed_valid, image_valid;
  logic entry_ready, word_ready, sealed_ready, image_ready;
  logic table_push, table_valid_q, table_pop;
  logic [OffsetBits-1:0] table_offset, table_bytes;

  cu_index_entries #(.ValueBytes(V), .MaxBlocks(MaxBlocks), .AlignBytes(AlignBytes)) u_entries (
    .clk_i, .rst_ni,
    .item_valid_i(item_valid), .item_ready_o(item_pop), .item_table_i(item.is_table),
    .item_task_end_i(item.task_end), .item_user_bytes_i(item.b[15:0]), .item_trailer_i(item.a),
    .key_valid_i(key_valid), .key_ready_o(key_pop), .key_data_i(key_data),
    .handle_valid_i(handle_valid_q), .handle_ready_o(handle_pop),
    .handle_offset_i(handle_offset_q), .handle_size_i(handle_size_q),
    .handle_code_bytes_i(code_bytes_q),
    .out_valid_o(entry_valid), .out_ready_i(entry_ready), .out_o(entry),
    .table_valid_o(table_push), .table_ready_i(!table_valid_q),
    .table_offset_o(table_offset), .table_bytes_o(table_bytes),
    .limit_o
  );
  cu_byte_packer #(.Bytes(8)) u_content (
    .clk_i, .rst_ni,
    .in_valid_i(entry_valid), .in_ready_o(entry_ready), .in_i(entry),
    .out_valid_o(word_valid), .out_ready_i(word_ready), .out_o(word)
  );

  logic block_valid, block_pop;
  logic [31:0] block_size;
  logic [63:0] unused_offset;
  cu_block_sealer #(.Bytes(8)) u_sealer (
    .clk_i, .rst_ni, .xxh3_i(1'b0), .checksum_base_i('0),
    .in_valid_i(word_valid), .in_ready_o(word_ready), .in_i(word),
    .in_compressed_i(1'b0), .out_valid_o(sealed_valid), .out_ready_i(sealed_ready), .out_o(sealed),
    .handle_valid_o(block_valid), .handle_ready_i(block_pop),
    .handle_offset_o(unused_offset), .handle_size_o(block_size)
  );
  cu_byte_packer #(.Bytes(8)) u_image (
    .clk_i, .rst_ni,
    .in_valid_i(sealed_valid), .in_ready_o(sealed_ready), .in_i(sealed),
    .out_valid_o(image_valid), .out_ready_i(image_ready), .out_o(image)
  );

  // -------------------------------------------------------------- table records

  // Of the table whose record is next: tombstones, entries, bytes, offset.
  logic [3:0][OffsetBits-1:0] table_q;
  always_ff @(posedge clk_i) begin
    table_valid_q <= rst_ni && (table_valid_q ? !table_pop : table_push);
    if (!table_valid_q) table_q <= {item.b, item.a[OffsetBits-1:0], table_bytes, table_offset};
  end

  logic record_q, record_d;   // a table record is being sent
  logic [2:0] index_q;        // its next word
  logic [OffsetBits-1:0] used_q, start_q;  // bytes sent; of which before this table's index block
  logic [RecordWords-1:0][63:0] record;
  logic final_word;

  always_comb begin
    record = '0;
    record[TableRecordDataOffset/8]  = 64'(table_q[0]);
    record[TableRecordDataBytes/8]   = 64'(table_q[1]);
    record[TableRecordIndexOffset/8] = 64'(start_q);
    record[TableRecordIndexBytes/8]  = 64'(block_size) + 64'(SealBytes);
    record[TableRecordEntries/8]     = 64'(table_q[2]);
    record[TableRecordTombstones/8]  = 64'(table_q[3]);
  end
  assign final_word = record_q && index_q == 3'(RecordWords - 1);

  always_comb begin
    record_d    = record_q;
    out_valid_o = 1'b0;
    out_data_o  = image.data;
    out_last_o  = 1'b0;
    out_empty_o = 1'b0;
    image_ready = 1'b0;
    block_pop   = 1'b0;
    table_pop   = 1'b0;
    if (record_q) begin
      out_data_o  = record[index_q];
      out_valid_o = table_valid_q && block_valid && (!final_word || image_valid);
      out_last_o  = final_word && image.token == 2'd2;
      if (final_word && out_valid_o && out_ready_i) begin
        image_ready = out_last_o;
        block_pop   = 1'b1;
        table_pop   = 1'b1;
        record_d    = 1'b0;
      end
    end else if (image_valid) begin
      out_last_o  = image.token == 2'd2;
      out_empty_o = out_last_o;
      out_valid_o = image.bytes != '0 || out_last_o;
      image_ready = out_ready_i || !out_valid_o;
      record_d    = image_ready && image.token == 2'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      key_first_q <= 1'b1;
      record_q   <= 1'b0;
      index_q    <= '0;
      used_q     <= '0;
      start_q    <= '0;
      tables_o   <= '0;
    end else begin
      if (last_key_valid_i && last_key_ready_o) key_first_q <= last_key_i.last;
      record_q <= record_d;
      if (out_valid_o && out_ready_i && !out_empty_o) begin
        used_q <= used_q + OffsetBits'(8);
        if (record_q) index_q <= final_word ? '0 : index_q + 1'b1;
        if (final_word) begin
          start_q  <= used_q + OffsetBits'(8);
          tables_o <= tables_o + 64'd1;
        end
      end
    end
  end

  `ASSERT(a_counts, table_record_valid_i |-> table_record_i.entries[63:OffsetBits] == '0 &&
                                             table_record_i.tombstones[63:OffsetBits] == '0)
  `ASSERT(a_offset, handle_valid_i |-> handle_offset_i[63:OffsetBits] == '0)
  `ASSERT(a_in_order, !(last_key_valid_i && table_record_valid_i))
  `ASSERT(a_token_last, image_valid && image.token != '0 |-> image.last)
  `ASSERT(a_task_end, image_valid && image.token == 2'd2 |-> image.bytes == '0)
endmodule
