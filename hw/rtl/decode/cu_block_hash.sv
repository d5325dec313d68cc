// Checks the data blocks of a way against XXH3, as RocksDB's tables store it, beside their decoding:
// takes the chunks that the decoder takes, aligns them to words of the block, and compares. A
// checksum is the low half of the hash of a block's content, XOR its type times a prime, and a
// modifier more, which is 0 or depends on the block's place.
//
// Chunks that wait, blocks ahead of their hash, and hashes ahead of their block's turn have room
// for a few; a chunk is not taken without room.

`include "cu_assert.svh"

module cu_block_hash
  import cu_xxh3_pkg::*;
#(
  parameter int unsigned ValueBytes = 16,  // V: 8, 16, 32 or 64
  localparam int unsigned PosBits = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  // A block is about to come as chunks: bytes of its content and trailer.
  input  logic                    block_i,
  input  logic [31:0]             block_bytes_i,

  output logic                    chunk_ready_o,
  input  logic                    chunk_i,        // taken, with chunk_ready_o
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_first_i,  // of its block
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,   // of the block's first byte, if first

  // Of the next block, from when its answer is there until it is checked: what it stores.
  input  logic                    answer_i,
  input  logic [7:0]              type_i,
  input  logic [31:0]             stored_i,
  input  logic [31:0]             modifier_i,
  output logic                    known_o,
  output logic                    good_o,         // with known_o
  input  logic                    checked_i       // with known_o: on to the next block
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned CountBits = PosBits + 1;
  localparam int unsigned ChunkDepth = 4;
  localparam int unsigned BlockDepth = 8;  // what waits, and may be in cu_block_chunks
  localparam logic [31:0] TrailerBytes = 32'd5;
  localparam logic [31:0] TypePrime = type_prime();

  typedef struct packed {
    logic [V*8-1:0]     data;
    logic               first;
    logic               last;
    logic [PosBits-1:0] lane;
  } chunk_t;

  // ------------------------------------------------------------------ chunks to words

  logic next_valid, next_pop, block_ready, block_valid, block_pop;
  chunk_t next;
  logic [31:0] content;
  logic [$clog2(ChunkDepth+1)-1:0] unused_chunks;
  logic [$clog2(BlockDepth+1)-1:0] unused_blocks;
  cu_fifo #(.Width($bits(chunk_t)), .Depth(ChunkDepth)) u_chunks (
    .clk_i, .rst_ni, .wvalid_i(chunk_i), .wready_o(chunk_ready_o),
    .wdata_i({chunk_data_i, chunk_first_i, chunk_last_i, chunk_lane_i}),
    .rvalid_o(next_valid), .rready_i(next_pop), .rdata_o(next), .count_o(unused_chunks)
  );
  cu_fifo #(.Width(32), .Depth(BlockDepth)) u_blocks (
    .clk_i, .rst_ni, .wvalid_i(block_i), .wready_o(block_ready),
    .wdata_i(block_bytes_i - TrailerBytes),
    .rvalid_o(block_valid), .rready_i(block_pop), .rdata_o(content), .count_o(unused_blocks)
  );

  // The chunk at hand and the next one show a word of the block, from the block's first lane on. A
  // block's last chunk needs no next one: what it shows behind its end are not the block's bytes.
  logic valid_q, chunk_last_q;
  logic [V*8-1:0] chunk_q;
  logic [PosBits-1:0] lane_q;
  logic [31-PosBits:0] whole_q;  // words of the block that are still to come, the last one but
  logic [PosBits-1:0] rest_q;    // for these bytes of it: 0 if it is whole, or the block is empty
  logic empty_q, over_q;         // the block has no content; its last word has left
  logic word_ready;
  wire complete = valid_q & (chunk_last_q | next_valid);
  wire ends = whole_q == '0 || (whole_q == (32 - PosBits)'(1) && rest_q == '0);  // the last word
  wire word_valid = complete & ~over_q;
  wire move = complete & (over_q | word_ready);
  assign next_pop  = next_valid & (~valid_q | move);
  assign block_pop = next_pop & next.first;

  wire [2*V*8-1:0] both = {next.data, chunk_q};
  wire [V*8-1:0] word = (V * 8)'(both >> {lane_q, 3'b000});
  wire [CountBits-1:0] bytes =
      (!ends || (rest_q == '0 && !empty_q)) ? CountBits'(V) : CountBits'(rest_q);

  always_ff @(posedge clk_i) begin
    if (next_pop) begin
      chunk_q      <= next.data;
      chunk_last_q <= next.last;
    end
    if (move && !over_q) begin
      whole_q <= whole_q - 1'b1;
      over_q  <= ends;
    end
    if (block_pop) begin
      lane_q  <= next.lane;
      whole_q <= content[31:PosBits];
      rest_q  <= content[PosBits-1:0];
      empty_q <= content == '0;
      over_q  <= 1'b0;
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (next_pop) valid_q <= 1'b1;
    else if (move) valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------ hash

  logic [V*8-1:0] word_q;
  logic [CountBits-1:0] bytes_q;
  logic last_q, word_valid_q, hash_ready, hash_valid;
  logic [31:0] hash;
  assign word_ready = ~word_valid_q | hash_ready;
  always_ff @(posedge clk_i) begin
    if (word_ready) begin
      word_q  <= word;
      bytes_q <= bytes;
      last_q  <= ends;
    end
    if (!rst_ni) word_valid_q <= 1'b0;
    else if (word_ready) word_valid_q <= word_valid;
  end

  cu_xxh3 #(.Bytes(V)) u_xxh3 (
    .clk_i, .rst_ni, .valid_i(word_valid_q), .ready_o(hash_ready), .data_i(word_q),
    .bytes_i(bytes_q), .last_i(last_q),
    .hash_valid_o(hash_valid), .hash_ready_i(checked_i), .hash_o(hash)
  );

  // ------------------------------------------------------------------ compare

  // Type times prime, as two products; then a step per cycle, as long as the answer stands.
  logic [31:0] high_q, low_q, mixed_q, sum_q;
  logic [3:0] steps_q;
  logic good_q;
  always_ff @(posedge clk_i) begin
    low_q   <= 32'(type_i) * 32'(TypePrime[15:0]);
    high_q  <= {16'(32'(type_i) * 32'(TypePrime[31:16])), 16'b0};
    mixed_q <= hash ^ (low_q + high_q);
    sum_q   <= mixed_q + modifier_i;
    good_q  <= sum_q == stored_i;
    steps_q <= (rst_ni && answer_i && hash_valid && !checked_i) ? {steps_q[2:0], 1'b1} : '0;
  end
  assign known_o = steps_q[3];
  assign good_o  = good_q;

  `ASSERT(a_room, chunk_i |-> chunk_ready_o)
  `ASSERT(a_block_room, block_i |-> block_ready)
  `ASSERT(a_block, next_pop && next.first |-> block_valid)
  `ASSERT(a_over, move && chunk_last_q && !over_q |-> ends)
  `ASSERT(a_checked, checked_i |-> known_o)
endmodule
