// Compresses blocks with Snappy, or leaves them as they are where that does not pay: stored is what
// is smaller by more than an eighth (LevelDB's rule). Words of blocks go in and come out, as
// cu_byte_packer makes them; a block of more than BlockBytes bytes, and what only carries a token,
// passes.
//
//   state  does
//   Fill   takes a block, while it is compressed
//   Wait   until the last of it is compressed, and the block before has left
//   Pass   lets out the rest of a block that is too long
//
// A block leaves while the next is taken: what is kept of a block is kept twice.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_snappy_encoder #(
  parameter int unsigned ValueBytes = 16,    // V: 16, 32 or 64
  parameter int unsigned BlockBytes = 8192,  // that are compressed: a power of two, up to 65,536
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input  logic   clk_i,
  input  logic   rst_ni,  // synchronous

  input  logic   in_valid_i,
  output logic   in_ready_o,
  input  chunk_t in_i,

  output logic   out_valid_o,
  input  logic   out_ready_i,
  output chunk_t out_o,
  output logic   out_raw_o  // the block is not compressed
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned CountBits = $clog2(V + 1);
  localparam int unsigned PlaceBits = $clog2(BlockBytes) + 1;
  localparam int unsigned LaneBits = $clog2(V);
  localparam int unsigned RowBits = PlaceBits - 1 - LaneBits;
  localparam int unsigned Rows = BlockBytes / V;
  localparam int unsigned PreambleBytes = (PlaceBits + 6) / 7;
  localparam int unsigned SizeBits = PlaceBits + 1;  // of what is compressed, which may be longer
  typedef logic [CountBits-1:0] count_t;
  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [SizeBits-1:0] size_t;

  typedef enum logic [1:0] {Fill, Wait, Pass} state_e;
  state_e state_q;
  place_t bytes_q;    // of the block so far
  logic long_q;       // and it goes on
  logic [1:0] token_q;

  // ---- the block comes
  logic row_ready, row_valid, take, lone;  // lone: only a token
  wire place_t bytes_d = bytes_q + place_t'(in_i.bytes);
  wire fills = bytes_d == place_t'(BlockBytes);
  assign lone = in_i.bytes == '0;
  assign row_valid = state_q == Fill && in_valid_i && !lone;

  logic token_valid, token_end, go_q, tokens_room;
  logic [4*PlaceBits:0] token;
  cu_snappy_matcher #(.ValueBytes(V), .BlockBytes(BlockBytes)) u_matcher (
    .clk_i, .rst_ni,
    .row_valid_i(row_valid), .row_ready_o(row_ready), .row_data_i(in_i.data),
    .row_bytes_i(in_i.bytes), .row_last_i(in_i.last || fills),
    .go_i(go_q), .token_valid_o(token_valid), .token_place_o(token[0+:PlaceBits]),
    .token_literals_o(token[PlaceBits+:PlaceBits]),
    .token_copied_o(token[2*PlaceBits+:PlaceBits]),
    .token_offset_o(token[3*PlaceBits+:PlaceBits]), .token_end_o(token_end)
  );
  assign token[4*PlaceBits] = token_end;

  logic write_valid, write_ready;
  logic [4*PlaceBits:0] write;
  logic [5:0] tokens;
  cu_fifo #(.Width(4 * PlaceBits + 1), .Depth(32)) u_tokens (
    .clk_i, .rst_ni, .wvalid_i(token_valid), .wready_o(tokens_room), .wdata_i(token),
    .rvalid_o(write_valid), .rready_i(write_ready), .rdata_o(write), .count_o(tokens)
  );
  always_ff @(posedge clk_i) go_q <= rst_ni && tokens <= 6'd16;

  logic [PlaceBits-2:0] literal_place;
  logic [V*8-1:0] literals;
  logic chunk_valid, word_valid, packer_ready;
  chunk_t chunk, word;
  wire [1:0] unused_token = word.token;
  cu_snappy_writer #(
    .ValueBytes(V), .BlockBytes(BlockBytes), .PreambleBytes(PreambleBytes)
  ) u_writer (
    .clk_i, .rst_ni, .token_valid_i(write_valid), .token_ready_o(write_ready),
    .token_place_i(write[0+:PlaceBits]), .token_literals_i(write[PlaceBits+:PlaceBits]),
    .token_copied_i(write[2*PlaceBits+:PlaceBits]), .token_offset_i(write[3*PlaceBits+:PlaceBits]),
    .token_end_i(write[4*PlaceBits]), .place_o(literal_place), .data_i(literals),
    .out_valid_o(chunk_valid), .out_o(chunk)
  );
  cu_byte_ram #(.Bytes(V), .Depth(BlockBytes)) u_literals (
    .clk_i, .write_i(row_valid && row_ready), .row_i(bytes_q[LaneBits+:RowBits]),
    .data_i(in_i.data), .place_i(literal_place), .data_o(literals)
  );
  cu_byte_packer #(.Bytes(V)) u_packer (
    .clk_i, .rst_ni, .in_valid_i(chunk_valid), .in_ready_o(packer_ready), .in_i(chunk),
    .out_valid_o(word_valid), .out_ready_i(1'b1), .out_o(word)
  );

  // ---- what is kept: rows as they came, and compressed, of which no more than pay
  (* ram_style = "block" *) logic [V*8-1:0] raws[2*Rows];
  (* ram_style = "block" *) logic [V*8-1:0] words[2*Rows];
  logic [V*8-1:0] raw_q, word_q;
  logic half_q;       // of both, for the block that comes
  size_t size_q;      // of what is compressed
  logic done_q;       // all of it is
  logic [RowBits-1:0] row_d;
  wire pays = !long_q && size_q < size_t'(bytes_q) - (size_t'(bytes_q) >> 3);

  // Of the block that leaves:
  logic leaves_q, pays_q, goes_on_q;
  logic [1:0] end_token_q;
  place_t length_q;
  size_t left_q;              // bytes
  logic [RowBits-1:0] row_q;  // which is at the outputs of the RAMs when fetched
  logic fetched_q;
  wire hand_over = state_q == Wait && done_q && !leaves_q;

  always_ff @(posedge clk_i) begin
    if (row_valid && row_ready) raws[{half_q, bytes_q[LaneBits+:RowBits]}] <= in_i.data;
    if (word_valid && size_q < size_t'(BlockBytes)) begin
      words[{half_q, size_q[LaneBits+:RowBits]}] <= word.data;
    end
    raw_q  <= raws[{~half_q, row_d}];
    word_q <= words[{~half_q, row_d}];
    if (word_valid) size_q <= size_q + size_t'(word.bytes);
    if (hand_over || !rst_ni) size_q <= '0;
    done_q <= rst_ni && !hand_over && (done_q || (word_valid && word.last));
  end

  // ---- the block leaves
  logic emit, out_room;
  logic [2:0] unused_held;
  chunk_t out;
  logic out_raw;
  wire last_row = left_q <= size_t'(V);
  assign emit  = leaves_q && fetched_q && out_room;
  assign row_d = emit ? row_q + 1'b1 : row_q;

  always_comb begin
    logic [7*PreambleBytes-1:0] length;
    length  = (7 * PreambleBytes)'(length_q);
    out     = in_i;
    out_raw = 1'b1;
    if (leaves_q) begin
      out = '{data: pays_q ? word_q : raw_q, bytes: last_row ? count_t'(left_q) : count_t'(V),
              last: last_row && !goes_on_q, token: (last_row && !goes_on_q) ? end_token_q : '0};
      out_raw = !pays_q;
      if (pays_q && row_q == '0) begin
        for (int i = 0; i < int'(PreambleBytes); i++) begin
          out.data[8*i+:8] = {i != int'(PreambleBytes) - 1, length[7*i+:7]};
        end
      end
    end
  end

  assign take = in_valid_i && out_room && !leaves_q &&
                (state_q == Pass || (state_q == Fill && lone));
  assign in_ready_o = (state_q == Fill && !lone) ? row_ready
                      : state_q != Wait && out_room && !leaves_q;

  cu_fifo #(.Width($bits(chunk_t) + 1), .Depth(4)) u_out (
    .clk_i, .rst_ni, .wvalid_i(emit || take), .wready_o(out_room), .wdata_i({out, out_raw}),
    .rvalid_o(out_valid_o), .rready_i(out_ready_i), .rdata_o({out_o, out_raw_o}),
    .count_o(unused_held)
  );

  always_ff @(posedge clk_i) begin
    if (row_valid && row_ready) begin
      token_q <= in_i.token;
      long_q  <= fills && !in_i.last;
    end
    if (hand_over) begin
      pays_q      <= pays;
      goes_on_q   <= long_q;
      end_token_q <= token_q;
      length_q    <= bytes_q;
      left_q      <= pays ? size_q : size_t'(bytes_q);
    end
    if (emit) left_q <= left_q - size_t'(V);
    row_q <= leaves_q ? row_d : '0;
    if (!rst_ni) begin
      state_q   <= Fill;
      bytes_q   <= '0;
      half_q    <= 1'b0;
      leaves_q  <= 1'b0;
      fetched_q <= 1'b0;
    end else begin
      unique case (state_q)
        Fill: if (row_valid && row_ready && (in_i.last || fills)) state_q <= Wait;
        Wait: if (hand_over) state_q <= long_q ? Pass : Fill;
        default: if (take && in_i.last) state_q <= Fill;
      endcase
      if (row_valid && row_ready) bytes_q <= bytes_d;
      if (hand_over) begin
        bytes_q  <= '0;
        half_q   <= ~half_q;
        leaves_q <= 1'b1;
      end
      if (emit && last_row) leaves_q <= 1'b0;
      fetched_q <= leaves_q && !(emit && last_row);
    end
  end

  `ASSERT(a_tokens_room, token_valid |-> tokens_room)
  `ASSERT(a_packer_ready, chunk_valid |-> packer_ready)
  `ASSERT(a_lone, state_q == Fill && in_valid_i && lone |-> bytes_q == '0 && in_i.last)
endmodule
