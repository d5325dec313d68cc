// The CRC32C, unmasked, of each block that passes as words, and of a type byte of 0 behind it: that
// of a raw block in LevelDB's tables.
//
// The CRC is linear: each word's contribution is computed ahead, so that the loop contains only the
// update of the state. The end of the calculation (the type byte, taking back the zeros of the last
// word) is a separate pipeline, beside which words of the next block already flow. Long words are
// folded first (cu_crc_pkg).

`include "cu_assert.svh"

module cu_block_crc #(
  parameter int unsigned Bytes = 8,  // a power of two, 8 to 64
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,  // synchronous

  input  logic                 valid_i,
  input  logic [Bytes*8-1:0]   data_i,   // zero-padded
  input  logic [CountBits-1:0] bytes_i,  // Bytes, unless it is a block's last word
  input  logic                 last_i,   // of its block

  output logic                 crc_valid_o,  // block_crc_cycles(Bytes) after a block's last word
  output logic [31:0]          crc_o
);
  import cu_crc_pkg::*;

  localparam int unsigned ZeroBits = $clog2(Bytes);
  localparam int unsigned UnwindCycles = unwind_cycles(Bytes);
  localparam logic [31:0] Initial = add_zero_bytes('1, Bytes);  // after a first word of zeros

  `ASSERT_PARAM(bytes, Bytes inside {8, 16, 32, 64}, "Bytes must be 8, 16, 32 or 64")

  logic first_q;  // the next word is a block's first
  logic share_valid_q, share_first_q, share_end_q, state_end_q, typed_end_q;
  logic [CountBits-1:0] share_bytes_q, state_bytes_q;
  logic [ZeroBits-1:0] zeros_q;
  logic [31:0] share, share_q, stepped, state_q, typed_q;
  logic [UnwindCycles-1:0] unwind_end_q;

  // The words as they enter the calculation.
  logic word_valid, word_first, word_last;
  logic [CountBits-1:0] word_bytes;
  if (8 * Bytes > FoldedBits) begin : g_fold
    localparam int unsigned Low = 8 * Bytes - FoldedBits;
    logic [FoldedBits-1:0] folded_q;
    logic valid_q, word_first_q, last_q;
    logic [CountBits-1:0] bytes_q;
    always_ff @(posedge clk_i) begin
      folded_q     <= FoldedBits'(fold(512'(data_i), Bytes) >> Low);
      word_first_q <= first_q;
      last_q       <= last_i;
      bytes_q      <= bytes_i;
      valid_q      <= rst_ni && valid_i;
    end
    assign word_valid = valid_q;
    assign word_first = word_first_q;
    assign word_last  = last_q;
    assign word_bytes = bytes_q;
    cu_crc_step #(.Bytes(Bytes)) u_share (
      .state_i('0), .word_i({folded_q, Low'(0)}), .state_o(share)
    );
  end else begin : g_whole
    assign word_valid = valid_i;
    assign word_first = first_q;
    assign word_last  = last_i;
    assign word_bytes = bytes_i;
    cu_crc_step #(.Bytes(Bytes)) u_share (.state_i('0), .word_i(data_i), .state_o(share));
  end
  cu_crc_step #(.Bytes(Bytes)) u_step (.state_i(state_q), .word_i('0), .state_o(stepped));
  cu_crc_unwind #(.MaxBytes(Bytes)) u_unwind (
    .clk_i, .state_i(typed_q), .zeros_i(zeros_q), .crc_o
  );
  assign crc_valid_o = unwind_end_q[UnwindCycles-1];

  always_ff @(posedge clk_i) begin
    share_q       <= share;
    share_first_q <= word_first;
    share_bytes_q <= word_bytes;
    if (share_valid_q) state_q <= share_q ^ (share_first_q ? Initial : stepped);
    state_bytes_q <= share_bytes_q;
    typed_q       <= add_zero_bytes(state_q, 1);
    zeros_q       <= ZeroBits'(CountBits'(Bytes) - state_bytes_q);
    if (!rst_ni) begin
      first_q       <= 1'b1;
      share_valid_q <= 1'b0;
      share_end_q   <= 1'b0;
      state_end_q   <= 1'b0;
      typed_end_q   <= 1'b0;
      unwind_end_q  <= '0;
    end else begin
      if (valid_i) first_q <= last_i;
      share_valid_q <= word_valid;
      share_end_q   <= word_valid && word_last;
      state_end_q   <= share_end_q;
      typed_end_q   <= state_end_q;
      unwind_end_q  <= UnwindCycles'({unwind_end_q, typed_end_q});
    end
  end

  `ASSERT(a_full_words, valid_i && !last_i |-> bytes_i == CountBits'(Bytes))
endmodule
