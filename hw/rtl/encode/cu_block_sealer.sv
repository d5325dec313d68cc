// Appends the trailer to each block: its type, 0 or 1 (Snappy), and the masked CRC32C of content and
// type. Reports the size of each block and its place in the table.
//
// In: words of block content, with `last` at a block's end, and tokens. Out: the same words, a
// chunk of 5 bytes after each block, and the tokens; `last` only with tokens, because blocks are
// adjacent. One handle per block; offsets count from the start of the table.
//
// A block's CRC takes some cycles after its last word, in which words of the next block already
// flow: words wait in a FIFO, so that a trailer costs one cycle once the FIFO has filled.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_block_sealer #(
  parameter int unsigned Bytes = 8,  // a power of two, 8 to 64
  localparam type chunk_t = `CU_CHUNK_T(Bytes)
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous

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
  localparam int unsigned WordDepth = (Bytes > 32) ? 16 : 8;  // cycles of a CRC, or more
  localparam int unsigned CrcDepth = WordDepth + 2;
  localparam int unsigned HandleDepth = 12;
  localparam int unsigned TrailerBytes = 5;
  localparam int unsigned OffsetBits = 48;  // no device has more memory

  `ASSERT_PARAM(bytes, Bytes inside {8, 16, 32, 64}, "Bytes must be 8, 16, 32 or 64")

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
  cu_wide_fifo #(.Width($bits(word_t)), .Depth(WordDepth)) u_words (
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
  assign in_ready_o = words_ready && handles_ready;
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

  // At most one CRC per word in the FIFO and one for the word before them: never full.
  logic crc_valid, crc_ready, crcs_ready;
  logic [31:0] crc;
  wire [31:0] new_crc = raw_crc ^ (compressed_q[CrcCycles-1] ? TypeShare : '0);
  logic [$clog2(CrcDepth + 1)-1:0] unused_crcs;
  cu_fifo #(.Width(32), .Depth(CrcDepth)) u_crcs (
    .clk_i, .rst_ni,
    .wvalid_i(raw_valid), .wready_o(crcs_ready), .wdata_i(mask_crc(new_crc)),
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

  `ASSERT(a_crc_room, raw_valid |-> crcs_ready)
  `ASSERT(a_full_words, in_valid_i && !in_i.last |-> in_i.bytes == CountBits'(Bytes))
  `ASSERT(a_last_word, in_valid_i && !token |-> in_i.bytes != '0)
  `ASSERT(a_token_empty, in_valid_i && token |-> in_i.last && in_i.bytes == '0 && size_q == '0)
endmodule
