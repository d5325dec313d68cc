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

  // Of literals and copies, what decides about the next chunk: registers beside the lengths.
  typedef struct packed {
    logic       some;
    logic       last;  // the chunk takes all that is left
    logic [1:0] head;  // bytes of its header
  } literals_t;
  typedef struct packed {
    logic some;
    logic last;  // one piece makes all that is left
    logic odd;   // 64 bytes would leave less than the four that a short copy needs
  } copy_t;

  // The token at hand, less what has been written.
  logic valid_q, end_q, begun_q;  // begun: the preamble
  place_t place_q, length_q, copied_q, offset_q;  // length: of literals
  logic far_q;                    // the offset does not fit a short copy
  literals_t literals_q, literals_in, literals_next;
  copy_t copy_q, copy_in, copy_next;

  always_comb begin
    literals_in.some = token_literals_i != '0;
    literals_in.head = !literals_in.some ? 2'd0
                       : (token_literals_i <= place_t'(60)) ? 2'd1
                       : (token_literals_i <= place_t'(256)) ? 2'd2 : 2'd3;
    // Up to 60 have a header of one byte.
    literals_in.last = token_literals_i <= place_t'((V > 61) ? V - 2 : V - 1);
    literals_next.some = literals_q.some && !literals_q.last;
    literals_next.head = '0;
    literals_next.last = length_q <= place_t'(2 * V) - place_t'(literals_q.head);
  end

  always_comb begin
    copy_in   = '{some: token_copied_i != '0, last: token_copied_i <= place_t'(64),
                  odd: token_copied_i inside {[65:67]}};
    copy_next = '{some: !copy_q.last, last: copy_q.odd || copied_q <= place_t'(128),
                  odd: copied_q inside {[129:131]}};
  end

  logic finish;
  logic [1:0] head_bytes;
  logic [23:0] head;
  count_t taken;     // literals
  logic [5:0] code;  // of what is copied, its length less one
  logic wide;
  wire place_t length_code = length_q - 1'b1;

  always_comb begin
    head_bytes = 2'(PreambleBytes);
    head       = '0;
    taken      = '0;
    code       = copy_q.last ? copied_q[5:0] - 6'd1 : copy_q.odd ? 6'd59 : 6'd63;
    wide       = far_q || !copy_q.last || copied_q > place_t'(11);
    if (begun_q && literals_q.some) begin
      head_bytes = literals_q.head;
      unique case (literals_q.head)
        2'd1:    head = 24'({length_code[5:0], 2'b00});
        2'd2:    head = {8'h0, length_code[7:0], 8'hf0};
        default: head = {16'(length_code), 8'hf4};
      endcase
      taken = literals_q.last ? count_t'(length_q) : count_t'(V) - count_t'(literals_q.head);
    end else if (begun_q) begin
      head_bytes = !copy_q.some ? 2'd0 : wide ? 2'd3 : 2'd2;
      head       = wide ? {16'(offset_q), code, 2'b10}
                   : {8'h0, 8'(offset_q), 3'(offset_q >> 8), 3'(code - 6'd3), 2'b01};
    end
    finish = begun_q && (literals_q.some ? literals_q.last && !copy_q.some : copy_q.last);
  end

  assign token_ready_o = !valid_q || finish;

  always_ff @(posedge clk_i) begin
    if (begun_q && literals_q.some) begin
      place_q    <= place_q + place_t'(taken);
      length_q   <= length_q - place_t'(V) + place_t'(literals_q.head);
      literals_q <= literals_next;
    end else if (begun_q) begin
      copied_q <= copy_q.odd ? place_t'({1'b1, copied_q[1:0]}) : copied_q - place_t'(64);
      copy_q   <= copy_next;
    end
    if (token_ready_o) begin
      place_q    <= token_place_i;
      length_q   <= token_literals_i;
      literals_q <= literals_in;
      copied_q   <= token_copied_i;
      copy_q     <= copy_in;
      offset_q   <= token_offset_i;
      far_q      <= 32'(token_offset_i) >= 2048;
      end_q      <= token_end_i;
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
  assign place_o = place_q[PlaceBits-2:0] - (PlaceBits - 1)'(literals_q.head);

  logic read_q, last_q, out_q;
  logic [1:0] head_bytes_q;
  logic [23:0] head_q;
  count_t bytes_q;
  chunk_t out, chunk_q;

  always_comb begin
    out = '{data: '0, bytes: bytes_q, last: last_q, token: '0};
    for (int i = 0; i < int'(V); i++) begin
      if (i < int'(head_bytes_q) && i < 3) out.data[8*i+:8] = head_q[8*(i%3)+:8];
      else if (i < int'(bytes_q)) out.data[8*i+:8] = data_i[8*i+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    read_q       <= valid_q && rst_ni;
    last_q       <= finish && end_q;
    head_bytes_q <= head_bytes;
    head_q       <= head;
    bytes_q      <= count_t'(head_bytes) + taken;
    out_q        <= read_q && rst_ni;
    chunk_q   <= out;
  end

  assign out_valid_o = out_q;
  assign out_o       = chunk_q;

  `ASSERT_PARAM(block_bytes, BlockBytes <= 65536, "BlockBytes must be 65,536 or less")
endmodule
