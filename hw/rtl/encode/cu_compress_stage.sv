// Compresses blocks with several cu_snappy_encoder, which take them in turn: each needs V / 4 times
// as long for a block as it takes to come. While one compresses a block, the next one, behind a FIFO
// that holds a whole block, takes the next. Blocks leave in their order. What only carries a token
// takes its turn as a block does.
//
// The CRCs of what the blocks held before are summed up: no other sum of the unit covers what is
// made of them here.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_compress_stage #(
  parameter int unsigned ValueBytes  = 16,    // V: 16, 32 or 64
  parameter int unsigned Compressors = 4,     // 1 to 8
  parameter int unsigned BlockBytes  = 8192,  // that are compressed: a power of two, up to 65,536
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input  logic   clk_i,
  input  logic   rst_ni,  // synchronous

  input  logic   compress_i,  // otherwise all blocks pass; stable from the reset on

  // Words, as cu_byte_packer makes them.
  input  logic   in_valid_i,
  output logic   in_ready_o,
  input  chunk_t in_i,

  output logic   out_valid_o,
  input  logic   out_ready_i,
  output chunk_t out_o,
  output logic   out_compressed_o,  // the block is

  output logic [63:0] content_sum_o,  // modulo 2^64, of cu_block_crc of all blocks that have come

  output logic   error_o  // a bit of a FIFO's counters has strayed
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned TurnBits = (Compressors > 1) ? $clog2(Compressors) : 1;
  localparam logic [TurnBits-1:0] LastTurn = TurnBits'(Compressors - 1);
  localparam int unsigned Words = BlockBytes / V;

  `ASSERT_PARAM(compressors, Compressors inside {[1:8]}, "Compressors must be 1 to 8")

  logic [TurnBits-1:0] in_turn_q, out_turn_q;
  logic [Compressors-1:0] room, valid, raw, stray;
  chunk_t [Compressors-1:0] made;

  for (genvar c = 0; c < Compressors; c++) begin : g_compressor
    logic waits, takes;
    chunk_t waiting;
    logic [$clog2(Words + 1)-1:0] unused_words;
    cu_ram_fifo #(.Width($bits(chunk_t)), .Depth(Words)) u_words (
      .clk_i, .rst_ni,
      .wvalid_i(in_valid_i && compress_i && in_turn_q == TurnBits'(c)), .wready_o(room[c]),
      .wdata_i(in_i), .rvalid_o(waits), .rready_i(takes), .rdata_o(waiting),
      .count_o(unused_words), .error_o(stray[c])
    );
    cu_snappy_encoder #(.ValueBytes(V), .BlockBytes(BlockBytes)) u_encoder (
      .clk_i, .rst_ni, .in_valid_i(waits), .in_ready_o(takes), .in_i(waiting),
      .out_valid_o(valid[c]), .out_ready_i(out_ready_i && out_turn_q == TurnBits'(c)),
      .out_o(made[c]), .out_raw_o(raw[c])
    );
  end

  logic crc_valid;
  logic [31:0] crc;
  cu_block_crc #(.Bytes(V)) u_crc (
    .clk_i, .rst_ni, .valid_i(in_valid_i && in_ready_o && in_i.token == '0), .data_i(in_i.data),
    .bytes_i(in_i.bytes), .last_i(in_i.last), .crc_valid_o(crc_valid), .crc_o(crc)
  );

  always_comb begin
    in_ready_o       = room[in_turn_q];
    out_valid_o      = valid[out_turn_q];
    out_o            = made[out_turn_q];
    out_compressed_o = !raw[out_turn_q];
    if (!compress_i) begin
      in_ready_o       = out_ready_i;
      out_valid_o      = in_valid_i;
      out_o            = in_i;
      out_compressed_o = 1'b0;
    end
  end

  function automatic logic [TurnBits-1:0] next(logic [TurnBits-1:0] turn);
    return (turn == LastTurn) ? '0 : turn + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_turn_q  <= '0;
      out_turn_q <= '0;
      error_o    <= 1'b0;
      content_sum_o <= '0;
    end else begin
      if (in_valid_i && in_ready_o && in_i.last) in_turn_q <= next(in_turn_q);
      if (out_valid_o && out_ready_i && out_o.last) out_turn_q <= next(out_turn_q);
      if (stray != '0) error_o <= 1'b1;
      if (crc_valid) content_sum_o <= content_sum_o + 64'(crc);
    end
  end
endmodule
