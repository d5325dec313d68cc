// Writes a block in Snappy's format from tokens: a chunk per cycle, of a literal's header with its
// first bytes, of more of its bytes, or of a copy of up to 64 bytes.
//
// The length of the block comes first in the format, but is known last: PreambleBytes zeros stand
// for it.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_snappy_writer #(
  parameter int unsigned ValueBytes    = 16,    // V
  parameter int unsigned BlockBytes    = 8192,  // of a block at most: a power of two, up to 65,536
  parameter int unsigned PreambleBytes = 2,
  localparam int unsigned PlaceBits = $clog2(BlockBytes) + 1,
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // See cu_snappy_matcher.
  input  logic                    token_valid_i,
  output logic                    token_ready_o,
  input  logic [PlaceBits-1:0]    token_place_i,
  input  logic [PlaceBits-1:0]    token_literals_i,
  input  logic [PlaceBits-1:0]    token_copied_i,
  input  logic [PlaceBits-1:0]    token_offset_i,
  input  logic                    token_end_i,

  // The block's bytes from a place on, a cycle later.
  output logic [PlaceBits-2:0]    place_o,
  input  logic [ValueBytes*8-1:0] data_i,

  output logic                    out_valid_o,  // without a handshake
  output chunk_t                  out_o
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned CountBits = $clog2(V + 1);
  typedef logic [CountBits-1:0] count_t;
  typedef logic [PlaceBits-1:0] place_t;

  // The token at hand, less what has been written.
  logic valid_q, end_q, begun_q, headed_q;  // begun: the preamble; headed: the literal's header
  place_t place_q, literals_q, copied_q, offset_q;

  logic step, finish;
  logic [1:0] head_bytes;
  logic [23:0] head;
  count_t taken;               // literals
  place_t piece;               // copied
  logic wide_piece;
  wire place_t literal_code = literals_q - 1'b1;
  wire [5:0] piece_code = piece[5:0] - 6'd1;

  always_comb begin
    head_bytes = '0;
    head       = '0;
    taken      = '0;
    piece      = '0;
    wide_piece = 1'b0;
    if (begun_q && literals_q != '0) begin
      if (!headed_q) begin
        if (literal_code < place_t'(60)) begin
          head_bytes = 2'd1;
          head       = 24'({literal_code[5:0], 2'b00});
        end else if (literal_code < place_t'(256)) begin
          head_bytes = 2'd2;
          head       = {8'h0, literal_code[7:0], 8'hf0};
        end else begin
          head_bytes = 2'd3;
          head       = {16'(literal_code), 8'hf4};
        end
      end
      taken = count_t'(V) - count_t'(head_bytes);
      if (literals_q < place_t'(taken)) taken = count_t'(literals_q);
    end else if (begun_q && copied_q != '0) begin
      // No piece is left with less than the four bytes that a short copy needs.
      piece = (copied_q <= place_t'(64)) ? copied_q
              : (copied_q < place_t'(68)) ? place_t'(60) : place_t'(64);
      wide_piece = piece > place_t'(11) || 32'(offset_q) >= 2048;
      head_bytes = wide_piece ? 2'd3 : 2'd2;
      head       = wide_piece ? {16'(offset_q), piece_code, 2'b10}
                   : {8'h0, 8'(offset_q), 3'(offset_q >> 8), 3'(piece_code - 6'd3), 2'b01};
    end
    if (!begun_q) head_bytes = 2'(PreambleBytes);
    step   = valid_q;
    finish = begun_q && literals_q == place_t'(taken) && copied_q == piece;
  end

  assign token_ready_o = !valid_q || finish;

  always_ff @(posedge clk_i) begin
    if (step) begin
      place_q    <= place_q + place_t'(taken);
      literals_q <= literals_q - place_t'(taken);
      copied_q   <= copied_q - piece;
      headed_q   <= begun_q && literals_q != '0;
    end
    if (token_ready_o) begin
      place_q    <= token_place_i;
      literals_q <= token_literals_i;
      copied_q   <= token_copied_i;
      offset_q   <= token_offset_i;
      end_q      <= token_end_i;
      headed_q   <= 1'b0;
    end
    if (!rst_ni) begin
      valid_q <= 1'b0;
      begun_q <= 1'b0;
    end else begin
      if (token_ready_o) valid_q <= token_valid_i;
      if (valid_q) begun_q <= !(finish && end_q);
    end
  end

  // The header takes the place of the bytes before the literal.
  assign place_o = place_q[PlaceBits-2:0] - (PlaceBits - 1)'(head_bytes);

  logic out_q, last_q;
  logic [1:0] head_bytes_q;
  logic [23:0] head_q;
  count_t bytes_q;
  chunk_t out;

  always_ff @(posedge clk_i) begin
    out_q        <= step && rst_ni;
    last_q       <= finish && end_q;
    head_bytes_q <= head_bytes;
    head_q       <= head;
    bytes_q      <= count_t'(head_bytes) + taken;
  end

  always_comb begin
    out = '{data: '0, bytes: bytes_q, last: last_q, token: '0};
    for (int i = 0; i < int'(V); i++) begin
      if (i < int'(head_bytes_q) && i < 3) out.data[8*i+:8] = head_q[8*(i%3)+:8];
      else if (i < int'(bytes_q)) out.data[8*i+:8] = data_i[8*i+:8];
    end
  end

  assign out_valid_o = out_q;
  assign out_o       = out;

  `ASSERT_PARAM(block_bytes, BlockBytes <= 65536, "BlockBytes must be 65,536 or less")
endmodule
