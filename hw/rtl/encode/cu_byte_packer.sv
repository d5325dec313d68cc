// Packs chunks of 0 to Bytes left-justified bytes into full words. Zeros must stand behind the bytes
// of a last chunk; behind those of others may stand anything.
//
// A partial word is emitted only with `last`. A chunk of 0 bytes with last (a token) flushes the
// bytes held, and passes as a word of 0 bytes if there are none. One chunk per cycle; a last chunk
// that spills into a second word takes another cycle, in which the next chunk is accepted unless it
// is a full word or a last chunk.
//
// The chunk is rotated rather than shifted: the bytes that wrap around belong to the next word, and
// the position says how many of them are valid. What holds bytes takes the rotated chunk as it is,
// lane by lane: no multiplexer stands before it.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_byte_packer #(
  parameter int unsigned Bytes = 8,  // a power of two, 2 or more
  localparam type chunk_t = `CU_CHUNK_T(Bytes)
) (
  input  logic   clk_i,
  input  logic   rst_ni,  // synchronous

  input  logic   in_valid_i,
  output logic   in_ready_o,
  input  chunk_t in_i,

  output logic   out_valid_o,
  input  logic   out_ready_i,
  output chunk_t out_o
);
  localparam int unsigned PosBits = $clog2(Bytes);
  localparam int unsigned CountBits = $clog2(Bytes + 1);

  `ASSERT_PARAM(bytes, $onehot(Bytes) && Bytes >= 2, "Bytes must be a power of two, 2 or more")

  typedef logic [Bytes-1:0][7:0] word_t;

  word_t hold_q, rotated, out_data_q;
  logic [PosBits-1:0] pos_q, pos_d;           // bytes held
  logic flush_q, flush_d;                     // what is held ends a block
  logic [1:0] flush_token_q, flush_token_d;
  logic out_valid_q, out_last_q, emit, emit_last;
  logic [1:0] out_token_q, emit_token;
  logic [CountBits-1:0] out_bytes_q, emit_bytes;

  wire room = !out_valid_q || out_ready_i;
  wire accept = in_valid_i && in_ready_o;
  wire [CountBits-1:0] total = CountBits'(pos_q) + in_i.bytes;
  wire full = total[PosBits];
  wire [PosBits-1:0] spill = total[PosBits-1:0];

  assign in_ready_o = room && (!flush_q || (!full_chunk(in_i.bytes) && !in_i.last));

  function automatic logic full_chunk(logic [CountBits-1:0] bytes);
    return bytes[PosBits];
  endfunction

  // The bytes held end a block in a cycle of their own: the chunk then stays where it is.
  wire [PosBits-1:0] turn = flush_q ? '0 : pos_q;
  cu_byte_rotate #(.Bytes(Bytes), .OutBytes(Bytes), .Left(1)) u_rotate (
    .data_i(in_i.data), .pos_i(turn), .data_o(rotated)
  );

  always_comb begin
    pos_d         = pos_q;
    flush_d       = flush_q;
    flush_token_d = flush_token_q;
    emit          = 1'b0;
    emit_bytes    = CountBits'(Bytes);
    emit_last     = 1'b0;
    emit_token    = '0;
    if (flush_q) begin
      if (room) begin
        emit       = 1'b1;
        emit_bytes = CountBits'(pos_q);
        emit_last  = 1'b1;
        emit_token = flush_token_q;
        flush_d    = 1'b0;
        pos_d      = accept ? in_i.bytes[PosBits-1:0] : '0;
      end
    end else if (accept) begin
      emit  = full || in_i.last;
      pos_d = (in_i.last && !full) ? '0 : spill;
      if (in_i.last) begin
        emit_bytes = full ? CountBits'(Bytes) : total;
        if (full && spill != '0) begin
          flush_d       = 1'b1;
          flush_token_d = in_i.token;
        end else begin
          emit_last  = 1'b1;
          emit_token = in_i.token;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(Bytes); i++) begin
      if (accept && (flush_q || full || i >= int'(pos_q))) hold_q[i] <= rotated[i];
      if (room && emit) begin
        out_data_q[i] <= (i < int'(pos_q)) ? hold_q[i] : rotated[i];
        if (flush_q && i >= int'(pos_q)) out_data_q[i] <= '0;
      end
    end
    if (room && emit) begin
      out_bytes_q <= emit_bytes;
      out_last_q  <= emit_last;
      out_token_q <= emit_token;
    end
    flush_token_q <= flush_token_d;
    if (!rst_ni) begin
      pos_q       <= '0;
      flush_q     <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      pos_q   <= pos_d;
      flush_q <= flush_d;
      if (room) out_valid_q <= emit;
    end
  end

  assign out_valid_o = out_valid_q;
  assign out_o       = '{
    data: out_data_q, bytes: out_bytes_q, last: out_last_q, token: out_token_q
  };

  `ASSERT(a_in_bytes, in_valid_i |-> in_i.bytes <= CountBits'(Bytes))
  `ASSERT(a_in_zero_padded, in_valid_i && in_i.last |-> (in_i.data >> (8 * in_i.bytes)) == '0)
  `ASSERT(a_in_token_last, in_valid_i && in_i.token != '0 |-> in_i.last)
  `ASSERT(a_out_zero_padded, out_valid_o |-> (out_o.data >> (8 * out_o.bytes)) == '0)
  `ASSERT(a_out_partial_last, out_valid_o && out_o.bytes != CountBits'(Bytes) |-> out_o.last)
endmodule
