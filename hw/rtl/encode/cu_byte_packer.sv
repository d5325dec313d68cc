// Concatenates chunks of 0 to Bytes left-justified bytes into full words.
//
// A partial word leaves only with `last`. A chunk of 0 bytes with last (a token) sends what is
// held, and passes as a word of 0 bytes if nothing is. One chunk per cycle; a last chunk that
// spills over into a second word takes another cycle, in which the next chunk is taken all the
// same unless it is a full word or a last one.
//
// The chunk is rotated, not shifted: the bytes that wrap around are those of the next word, and
// where they are not valid yet, the position says so.

module cu_byte_packer #(
  parameter int unsigned Bytes = 8,  // a power of two, 2 or more
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,  // synchronous

  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [Bytes*8-1:0]   in_data_i,
  input  logic [CountBits-1:0] in_bytes_i,
  input  logic                 in_last_i,
  input  logic [1:0]           in_token_i,

  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output logic [Bytes*8-1:0]   out_data_o,
  output logic [CountBits-1:0] out_bytes_o,
  output logic                 out_last_o,
  output logic [1:0]           out_token_o
);
  localparam int unsigned PosBits = $clog2(Bytes);

  if (Bytes != 2 ** PosBits || Bytes < 2) begin : g_check
    $fatal(1, "cu_byte_packer: Bytes must be a power of two");
  end

  typedef logic [Bytes-1:0][7:0] word_t;

  word_t hold_q, rotated, merged, out_data_q;
  logic [PosBits-1:0] pos_q, pos_d;           // bytes held
  logic flush_q, flush_d;                     // what is held ends a block
  logic [1:0] flush_token_q, flush_token_d;
  logic out_valid_q, out_last_q, emit, emit_last, hold_rotated;
  logic [1:0] out_token_q, emit_token;
  logic [CountBits-1:0] out_bytes_q, emit_bytes;

  wire room = !out_valid_q || out_ready_i;
  wire accept = in_valid_i && in_ready_o;
  wire [CountBits-1:0] total = CountBits'(pos_q) + in_bytes_i;
  wire full = total[PosBits];
  wire [PosBits-1:0] spill = total[PosBits-1:0];

  assign in_ready_o = room && (!flush_q || (!full_chunk(in_bytes_i) && !in_last_i));

  function automatic logic full_chunk(logic [CountBits-1:0] bytes);
    return bytes[PosBits];
  endfunction

  always_comb begin
    // Rotation by the position, in steps of powers of two.
    rotated = in_data_i;
    for (int b = 0; b < int'(PosBits); b++) begin
      if (pos_q[b]) begin
        rotated = (rotated << (8 << b)) | (rotated >> (8 * Bytes - (8 << b)));
      end
    end
    for (int i = 0; i < int'(Bytes); i++) begin
      merged[i] = (i < int'(pos_q)) ? hold_q[i] : flush_q ? 8'h0 : rotated[i];
    end
  end

  always_comb begin
    pos_d         = pos_q;
    flush_d       = flush_q;
    flush_token_d = flush_token_q;
    emit          = 1'b0;
    emit_bytes    = CountBits'(Bytes);
    emit_last     = 1'b0;
    emit_token    = '0;
    hold_rotated  = full;
    if (flush_q) begin
      if (room) begin
        emit       = 1'b1;
        emit_bytes = CountBits'(pos_q);
        emit_last  = 1'b1;
        emit_token = flush_token_q;
        flush_d    = 1'b0;
        pos_d      = accept ? in_bytes_i[PosBits-1:0] : '0;
      end
    end else if (accept) begin
      emit  = full || in_last_i;
      pos_d = (in_last_i && !full) ? '0 : spill;
      if (in_last_i) begin
        emit_bytes = full ? CountBits'(Bytes) : total;
        if (full && spill != '0) begin
          flush_d       = 1'b1;
          flush_token_d = in_token_i;
        end else begin
          emit_last  = 1'b1;
          emit_token = in_token_i;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) hold_q <= flush_q ? in_data_i : hold_rotated ? rotated : merged;
    if (room && emit) begin
      out_data_q  <= merged;
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
  assign out_data_o  = out_data_q;
  assign out_bytes_o = out_bytes_q;
  assign out_last_o  = out_last_q;
  assign out_token_o = out_token_q;

`ifndef SYNTHESIS
  a_in_bytes : assert property (@(posedge clk_i) disable iff (!rst_ni)
    in_valid_i |-> in_bytes_i <= CountBits'(Bytes));
  a_in_zero_padded : assert property (@(posedge clk_i) disable iff (!rst_ni)
    in_valid_i |-> (in_data_i >> (8 * in_bytes_i)) == '0);
  a_in_token_last : assert property (@(posedge clk_i) disable iff (!rst_ni)
    in_valid_i && in_token_i != '0 |-> in_last_i);
  a_out_zero_padded : assert property (@(posedge clk_i) disable iff (!rst_ni)
    out_valid_o |-> (out_data_o >> (8 * out_bytes_o)) == '0);
  a_out_partial_last : assert property (@(posedge clk_i) disable iff (!rst_ni)
    out_valid_o && out_bytes_o != CountBits'(Bytes) |-> out_last_o);
`endif
endmodule
