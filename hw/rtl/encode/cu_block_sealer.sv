// Appends the trailer to each block: its type, 0 or 1 (Snappy), and the masked CRC32C of content and
// type, or, with Xxh3 and if the job says so, RocksDB's checksum by XXH3 (cu_block_hash says what
// that is). Reports the size of each block and its place in the table.
//
// In: words of block content, with `last` at a block's end, and tokens. Out: the same words, a
// chunk of 5 bytes after each block, and the tokens; `last` only with tokens, because blocks are
// adjacent. One handle per block; offsets count from the start of the table.
//
// A block's CRC takes some cycles after its last word, in which words of the next block already
// flow: words wait in a FIFO, so that a trailer costs one cycle once the FIFO has filled. XXH3 takes
// ten times as long, for which the FIFO has room in block RAM.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_block_sealer #(
  parameter int unsigned Bytes = 8,  // a power of two, 8 to 64
  parameter int unsigned Xxh3 = 0,   // 1: jobs may ask for XXH3
  localparam type chunk_t = `CU_CHUNK_T(Bytes)
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous

  // Of the job; with Xxh3.
  input  logic        xxh3_i,
  input  logic [31:0] checksum_base_i,  // of modifiers, 0: there are none

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  chunk_t      in_i,
  input  logic        in_compressed_i,  // with a block's last word: type 1

  output logic        out_valid_o,
  input  logic        out_ready_i,
  output chunk_t      out_o,

  output logic        handle_valid_o,
  input  logic        handle_ready_i,
  output logic [63:0] handle_offset_o,
  output logic [31:0] handle_size_o  // content bytes
);
  import cu_crc_pkg::*;

  localparam int unsigned CountBits = $clog2(Bytes + 1);
  // Cycles of a CRC, or of a hash, or more.
  localparam int unsigned WordDepth = (Xxh3 != 0) ? 96 : (Bytes > 32) ? 16 : 8;
  localparam int unsigned CrcDepth = WordDepth + 2;
  localparam int unsigned HandleDepth = 12;
  localparam int unsigned TrailerBytes = 5;
  localparam int unsigned OffsetBits = 48;  // no device has more memory

  `ASSERT_PARAM(bytes, Bytes inside {8, 16, 32, 64}, "Bytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(xxh3, Xxh3 <= 1, "Xxh3 must be 0 or 1")

  typedef struct packed {
    logic [Bytes*8-1:0]   data;
    logic [CountBits-1:0] bytes;
    logic                 block_end;
    logic                 compressed;
    logic [1:0]           token;
  } word_t;

  wire accept = in_valid_i && in_ready_o;
  wire token = in_i.token != '0;
  wire block_end = in_i.last && !token;

  // Words on their way to the output.
  word_t in_word, head;
  logic words_ready, head_valid, head_ready;
  logic [$clog2(WordDepth + 1)-1:0] unused_words;
  logic unused_words_error;  // the host would see it: the CRC is that of what came
  assign in_word = '{data: in_i.data, bytes: in_i.bytes, block_end: block_end,
                     compressed: in_compressed_i, token: in_i.token};
  cu_wide_fifo #(
    .Width($bits(word_t)), .Depth(WordDepth), .WideBits((Xxh3 != 0) ? 1 : 384)
  ) u_words (
    .clk_i, .rst_ni,
    .wvalid_i(accept), .wready_o(words_ready), .wdata_i(in_word),
    .rvalid_o(head_valid), .rready_i(head_ready), .rdata_o(head),
    .count_o(unused_words), .error_o(unused_words_error)
  );

  // Handles.
  logic handles_ready;
  logic [$clog2(HandleDepth + 1)-1:0] unused_handles;
  logic [OffsetBits-1:0] offset_q, handle_offset;
  logic [31:0] size_q;
  wire [31:0] size = size_q + 32'(in_i.bytes);
  cu_fifo #(.Width(OffsetBits + 32), .Depth(HandleDepth)) u_handles (
    .clk_i, .rst_ni,
    .wvalid_i(accept && block_end), .wready_o(handles_ready), .wdata_i({offset_q, size}),
    .rvalid_o(handle_valid_o), .rready_i(handle_ready_i),
    .rdata_o({handle_offset, handle_size_o}),
    .count_o(unused_handles)
  );
  logic hash_ready;  // or none is asked for
  assign in_ready_o = words_ready && handles_ready && hash_ready;
  assign handle_offset_o = 64'(handle_offset);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      offset_q <= '0;
      size_q   <= '0;
    end else if (accept) begin
      if (token) begin
        offset_q <= '0;
      end else if (block_end) begin
        offset_q <= offset_q + OffsetBits'(size) + OffsetBits'(TrailerBytes);
        size_q   <= '0;
      end else begin
        size_q <= size;
      end
    end
  end

  // What type 1 changes in the CRC, as the last byte.
  localparam logic [31:0] TypeShare = add_zero_bytes(32'd1, 1);
  localparam int unsigned CrcCycles = block_crc_cycles(Bytes);

  logic raw_valid;
  logic [31:0] raw_crc;  // of type 0
  logic [CrcCycles-1:0] compressed_q;  // a block whose end is as far
  cu_block_crc #(.Bytes(Bytes)) u_crc (
    .clk_i, .rst_ni, .valid_i(accept && !token), .data_i(in_i.data), .bytes_i(in_i.bytes),
    .last_i(in_i.last), .crc_valid_o(raw_valid), .crc_o(raw_crc)
  );
  always_ff @(posedge clk_i) compressed_q <= CrcCycles'({compressed_q, in_compressed_i});

  logic new_valid;
  logic [31:0] new_sum;  // as it is stored
  wire [31:0] new_crc = raw_crc ^ (compressed_q[CrcCycles-1] ? TypeShare : '0);
  if (Xxh3 != 0) begin : g_xxh3
    import cu_xxh3_pkg::*;

    localparam int unsigned Places = 8;  // blocks whose hash is under way, or more
    logic xxh3_ready, place_ready, hash_valid, place_valid, compressed, mixed_valid_q, sum_valid_q;
    logic [31:0] modifier, hash, mixed_q, modifier_q, sum_q, type_share;
    logic [$clog2(Places+1)-1:0] unused_places;
    assign hash_ready = ~xxh3_i | xxh3_ready;
    cu_xxh3 #(.Bytes(Bytes)) u_xxh3 (
      .clk_i, .rst_ni, .valid_i(xxh3_i && in_valid_i && !token && words_ready && handles_ready),
      .ready_o(xxh3_ready), .data_i(in_i.data), .bytes_i(in_i.bytes), .last_i(in_i.last),
      .hash_valid_o(hash_valid), .hash_ready_i(1'b1), .hash_o(hash)
    );

    // What depends on the block's place in its table.
    wire [31:0] place = offset_q[31:0] + 32'(offset_q[OffsetBits-1:32]);
    cu_fifo #(.Width(33), .Depth(Places)) u_places (
      .clk_i, .rst_ni, .wvalid_i(xxh3_i && accept && block_end), .wready_o(place_ready),
      .wdata_i({in_compressed_i, (checksum_base_i == '0) ? '0 : checksum_base_i ^ place}),
      .rvalid_o(place_valid), .rready_i(hash_valid), .rdata_o({compressed, modifier}),
      .count_o(unused_places)
    );
    assign type_share = compressed ? type_prime() : '0;
    always_ff @(posedge clk_i) begin
      mixed_q       <= hash ^ type_share;
      modifier_q    <= modifier;
      mixed_valid_q <= rst_ni && hash_valid;
      sum_q         <= mixed_q + modifier_q;
      sum_valid_q   <= rst_ni && mixed_valid_q;
    end
    assign new_valid = xxh3_i ? sum_valid_q : raw_valid;
    assign new_sum   = xxh3_i ? sum_q : mask_crc(new_crc);
    `ASSERT(a_place_room, xxh3_i && accept && block_end |-> place_ready)
    `ASSERT(a_place, hash_valid |-> place_valid)
  end else begin : g_crc
    assign hash_ready = 1'b1;
    assign new_valid  = raw_valid;
    assign new_sum    = mask_crc(new_crc);
    logic unused_xxh3;
    assign unused_xxh3 = ^{xxh3_i, checksum_base_i};
  end

  // At most one per word in the FIFO and one for the word before them: never full.
  logic crc_valid, crc_ready, crcs_ready;
  logic [31:0] crc;
  logic [$clog2(CrcDepth + 1)-1:0] unused_crcs;
  cu_fifo #(.Width(32), .Depth(CrcDepth)) u_crcs (
    .clk_i, .rst_ni,
    .wvalid_i(new_valid), .wready_o(crcs_ready), .wdata_i(new_sum),
    .rvalid_o(crc_valid), .rready_i(crc_ready), .rdata_o(crc),
    .count_o(unused_crcs)
  );

  // The output: a trailer goes after a word that ends a block.
  logic trailer_q, type_q;
  always_comb begin
    out_valid_o = trailer_q ? crc_valid : head_valid;
    out_o.data  = head.data;  // what stands behind a trailer does not matter
    if (trailer_q) out_o.data[TrailerBytes*8-1:0] = {crc, 7'h0, type_q};
    out_o.bytes = trailer_q ? CountBits'(TrailerBytes) : head.bytes;
    out_o.token = trailer_q ? 2'd0 : head.token;
    out_o.last  = !trailer_q && head.token != '0;
    head_ready  = !trailer_q && out_ready_i;
    crc_ready   = trailer_q && out_ready_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      trailer_q <= 1'b0;
    end else if (out_valid_o && out_ready_i) begin
      trailer_q <= !trailer_q && head.block_end;
    end
    if (!trailer_q) type_q <= head.compressed;
  end

  `ASSERT(a_crc_room, new_valid |-> crcs_ready)
  `ASSERT(a_full_words, in_valid_i && !in_i.last |-> in_i.bytes == CountBits'(Bytes))
  `ASSERT(a_last_word, in_valid_i && !token |-> in_i.bytes != '0)
  `ASSERT(a_token_empty, in_valid_i && token |-> in_i.last && in_i.bytes == '0 && size_q == '0)
endmodule
