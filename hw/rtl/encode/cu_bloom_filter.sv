// LevelDB's Bloom filter of each block, from its user keys: cu_bloom_hasher hashes them,
// cu_bloom_builder makes the filters, and cu_block_sealer puts a trailer behind each, as behind a
// block that is stored raw. cu_bloom_stage guards all of this against stray bits.

`include "cu_streams.svh"

module cu_bloom_filter #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned MaxFilterKeys = 2048,
  parameter int unsigned MaxFilterBytes = 4096,
  parameter int unsigned Lanes = 6,
  localparam type filter_key_t = `CU_FILTER_KEY_T(ValueBytes),
  localparam type chunk_t = `CU_CHUNK_T(8)
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous

  // Stable while keys come and filters leave.
  input  logic [7:0]  bits_per_key_i,  // 1 or more
  input  logic [4:0]  probes_i,        // 1 to 30

  input  logic        key_valid_i,
  output logic        key_ready_o,
  input  filter_key_t key_i,

  output logic        chunk_valid_o,
  input  logic        chunk_ready_i,
  output chunk_t      chunk_o,     // filters and trailers; `last` with the token of the task's end

  output logic        overflow_o   // level: a block has no filter, and nothing follows
);
  localparam int unsigned PlaceBits = $clog2(MaxFilterKeys);
  localparam int unsigned SizeBits = $clog2(MaxFilterBytes + 1);

  logic hash_valid, hash_read, block_valid, block_ready, block_end, filter_valid, filter_ready;
  chunk_t filter;
  logic [PlaceBits-1:0] hash_place;
  logic [31:0] hash;
  logic [PlaceBits:0] block_keys;
  logic [SizeBits-1:0] block_bytes;

  cu_bloom_hasher #(
    .ValueBytes(ValueBytes), .MaxKeyBytes(MaxKeyBytes), .MaxFilterKeys(MaxFilterKeys),
    .MaxFilterBytes(MaxFilterBytes)
  ) u_hasher (
    .clk_i, .rst_ni, .bits_per_key_i, .key_valid_i, .key_ready_o, .key_i,
    .hash_valid_o(hash_valid), .hash_place_o(hash_place), .hash_o(hash), .hash_read_i(hash_read),
    .block_valid_o(block_valid), .block_ready_i(block_ready), .block_keys_o(block_keys),
    .block_bytes_o(block_bytes), .block_end_o(block_end), .overflow_o
  );

  cu_bloom_builder #(
    .MaxFilterKeys(MaxFilterKeys), .MaxFilterBytes(MaxFilterBytes), .Lanes(Lanes)
  ) u_builder (
    .clk_i, .rst_ni, .probes_i, .hash_valid_i(hash_valid), .hash_place_i(hash_place),
    .hash_i(hash), .hash_read_o(hash_read), .block_valid_i(block_valid),
    .block_ready_o(block_ready), .block_keys_i(block_keys), .block_bytes_i(block_bytes),
    .block_end_i(block_end), .chunk_valid_o(filter_valid), .chunk_ready_i(filter_ready),
    .chunk_o(filter)
  );

  logic unused_handle;
  logic [63:0] unused_offset;
  logic [31:0] unused_size;
  cu_block_sealer #(.Bytes(8)) u_sealer (
    .clk_i, .rst_ni, .xxh3_i(1'b0), .checksum_base_i('0),
    .in_valid_i(filter_valid), .in_ready_o(filter_ready), .in_i(filter),
    .in_compressed_i(1'b0),
    .out_valid_o(chunk_valid_o), .out_ready_i(chunk_ready_i), .out_o(chunk_o),
    .handle_valid_o(unused_handle), .handle_ready_i(1'b1), .handle_offset_o(unused_offset),
    .handle_size_o(unused_size)
  );
endmodule
