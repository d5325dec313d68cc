// Builds LevelDB's Bloom filters of hashes: for each block max(64, keys * bits per key) bits,
// rounded up to bytes, and a byte with the number of probes. A key's probes are the bits at
// (hash + i * step) mod bits, with step = hash rotated right by 17, and sums modulo 2^32.
//
//   state  does
//   Clear  clears all bits, after a reset
//   Wait   until the next block's hashes all are in their places, and its reciprocal is known
//   Probe  sets the bits of all keys
//   Send   sends the filter row by row, and clears its bits
//   End    sends the token that ends the task
//
// Only the remainders of hash and step need a division. From one probe to the next the remainder
// grows by that of the step, and where the sum exceeds 2^32, by as much less as 2^32 leaves: two
// sums, each of which is brought back below `bits` by a subtraction. Bits of a byte stay what they
// are, because `bits` is a multiple of 8: it is bytes that are divided.
//
// Keys go past the lanes one after the other, and have a bit set by each. A key that has more
// probes than there are lanes goes round, and meanwhile the keys behind it wait. Each lane has bits
// of its own; their rows are combined when they are sent. The next block's reciprocal is computed
// meanwhile.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_bloom_builder
  import cu_bloom_pkg::*;
#(
  parameter int unsigned MaxFilterKeys = 2048,   // a power of two
  parameter int unsigned MaxFilterBytes = 4096,  // a power of two
  parameter int unsigned Lanes = 6,              // probes per cycle
  localparam type chunk_t = `CU_CHUNK_T(8),
  localparam int unsigned PlaceBits = $clog2(MaxFilterKeys),
  localparam int unsigned SizeBits = $clog2(MaxFilterBytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,  // synchronous

  input  logic [4:0]           probes_i,  // per key: 1 to 30; stable while there are blocks

  // Hashes of any block, to their places; those of a block take the places after the block before.
  input  logic                 hash_valid_i,
  input  logic [PlaceBits-1:0] hash_place_i,
  input  logic [31:0]          hash_i,
  output logic                 hash_read_o,  // of one more place, in turn

  input  logic                 block_valid_i,  // all of its hashes have come
  output logic                 block_ready_o,
  input  logic [PlaceBits:0]   block_keys_i,
  input  logic [SizeBits-1:0]  block_bytes_i,
  input  logic                 block_end_i,    // the task's end instead

  output logic                 chunk_valid_o,
  input  logic                 chunk_ready_i,
  output chunk_t               chunk_o  // `last` ends a filter; full chunks before
);
  localparam int unsigned Rows = MaxFilterBytes / 8;
  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned RemainderSteps = remainder_steps();
  localparam int unsigned BitBits = RowBits + 6;  // of a bit's place in the filter

  `ASSERT_PARAM(lanes, Lanes >= 2 && Lanes <= 30, "Lanes must be 2 to 30")

  typedef logic [PlaceBits:0] count_t;
  typedef logic [SizeBits-1:0] size_t;
  typedef logic [BitBits-1:0] place_t;

  typedef enum logic [2:0] {Clear, Wait, Probe, Send, End} state_e;
  state_e state_q;

  // ---- the next block
  logic next_valid_q, next_end_q, dividing, divide_q;
  count_t next_keys_q;
  size_t next_bytes_q, next_fold;
  logic [25:0] next_reciprocal;
  wire begin_block = state_q == Wait && next_valid_q && !divide_q && !dividing;
  assign block_ready_o = !next_valid_q;

  cu_bloom_divider #(.DivisorBits(SizeBits)) u_divider (
    .clk_i, .rst_ni, .start_i(divide_q), .divisor_i(next_bytes_q), .busy_o(dividing),
    .reciprocal_o(next_reciprocal), .rest_o(next_fold)
  );

  always_ff @(posedge clk_i) begin
    if (block_valid_i && block_ready_o) begin
      next_keys_q  <= block_keys_i;
      next_bytes_q <= block_bytes_i;
      next_end_q   <= block_end_i;
    end
    divide_q <= rst_ni && block_valid_i && block_ready_o;
    if (!rst_ni) next_valid_q <= 1'b0;
    else if (!next_valid_q) next_valid_q <= block_valid_i;
    else if (begin_block) next_valid_q <= 1'b0;
  end

  // ---- the block at hand
  count_t unread_q;  // hashes that are not read yet
  count_t unset_q;   // keys that have not passed all lanes
  size_t bytes_q;
  size_t fold_q;     // 2^32 mod bits, in bytes
  size_t unfold_q;   // bytes less that
  logic [25:0] reciprocal_q;
  logic step;        // what is before the lanes moves

  (* ram_style = "block" *) logic [31:0] mem[MaxFilterKeys];
  logic [PlaceBits-1:0] place_q;
  logic [31:0] hash_q;
  wire read = state_q == Probe && unread_q != '0 && step;
  assign hash_read_o = read;

  always_ff @(posedge clk_i) begin
    if (hash_valid_i) mem[hash_place_i] <= hash_i;
    if (step) hash_q <= mem[place_q];
    if (begin_block) begin
      bytes_q      <= next_bytes_q;
      fold_q       <= next_fold;
      unfold_q     <= next_bytes_q - next_fold;
      reciprocal_q <= next_reciprocal;
      unread_q     <= next_keys_q;
    end else if (read) begin
      unread_q <= unread_q - 1'b1;
    end
    if (!rst_ni) place_q <= '0;
    else if (read) place_q <= place_q + 1'b1;
  end

  // ---- remainders of hash and step
  logic [RemainderSteps:0] valid_q;  // with hash_q, and behind it
  logic [RemainderSteps-1:0][31:0] passed_q;
  size_t hash_bytes, step_bytes;
  wire [31:0] hash_step = probe_step(hash_q);
  wire [2:0] unused_bits = hash_step[2:0];
  cu_bloom_remainder #(.DivisorBits(SizeBits)) u_hash (
    .clk_i, .step_i(step), .number_i(hash_q[31:3]), .divisor_i(bytes_q),
    .reciprocal_i(reciprocal_q), .remainder_o(hash_bytes)
  );
  cu_bloom_remainder #(.DivisorBits(SizeBits)) u_step (
    .clk_i, .step_i(step), .number_i(hash_step[31:3]), .divisor_i(bytes_q),
    .reciprocal_i(reciprocal_q), .remainder_o(step_bytes)
  );
  always_ff @(posedge clk_i) begin
    if (step) passed_q <= {passed_q[RemainderSteps-2:0], hash_q};
    if (!rst_ni) valid_q <= '0;
    else if (step) valid_q <= {valid_q[RemainderSteps-1:0], read};
  end

  // ---- lanes
  typedef struct packed {
    logic        valid;
    logic [4:0]  left;       // probes to be made
    place_t      place;      // of this probe
    logic        wraps;      // the next hash exceeds 2^32
    logic [31:0] hash;       // the next
    logic [31:0] step;
    place_t      add;        // to the place, if it does not wrap
    place_t      add_wraps;  // if it does
  } probe_t;
  probe_t probe_q[Lanes];
  probe_t first;
  logic again_q;  // a key comes round to the first lane

  always_comb begin
    logic [31:0] hash;
    logic [SizeBits:0] less;
    hash        = passed_q[RemainderSteps-1];
    less        = {1'b0, step_bytes} - {1'b0, fold_q};
    first.valid = valid_q[RemainderSteps];
    first.left  = probes_i;
    first.place = place_t'({hash_bytes, hash[2:0]});
    first.step  = probe_step(hash);
    {first.wraps, first.hash} = {1'b0, hash} + {1'b0, first.step};
    first.add       = place_t'({step_bytes, first.step[2:0]});
    first.add_wraps = place_t'({less[SizeBits] ? step_bytes + unfold_q : less[SizeBits-1:0],
                                first.step[2:0]});
  end

  function automatic probe_t advance(probe_t now, size_t bytes);
    logic [BitBits:0] sum;
    advance       = now;
    advance.valid = now.valid && now.left != 5'd1;
    advance.left  = now.left - 5'd1;
    sum  = {1'b0, now.place} + {1'b0, now.wraps ? now.add_wraps : now.add};
    advance.place = sum[BitBits-1:0];
    if (sum >= (BitBits + 1)'({bytes, 3'b0})) begin
      advance.place = sum[BitBits-1:0] - place_t'({bytes, 3'b0});
    end
    {advance.wraps, advance.hash} = {1'b0, now.hash} + {1'b0, now.step};
  endfunction

  logic done;  // a key has had its last bit set
  always_comb begin
    done = 1'b0;
    for (int i = 0; i < int'(Lanes); i++) done |= probe_q[i].valid && probe_q[i].left == 5'd1;
  end
  assign step = !again_q;

  always_ff @(posedge clk_i) begin
    probe_q[0] <= again_q ? advance(probe_q[Lanes-1], bytes_q) : first;
    for (int i = 1; i < int'(Lanes); i++) probe_q[i] <= advance(probe_q[i-1], bytes_q);
    again_q <= rst_ni && probe_q[Lanes-2].valid && probe_q[Lanes-2].left > 5'd2;
    if (!rst_ni) begin
      for (int i = 0; i < int'(Lanes); i++) probe_q[i].valid <= 1'b0;
    end
    if (begin_block) unset_q <= next_keys_q;
    else if (done) unset_q <= unset_q - 1'b1;
  end

  // ---- rows
  logic take, taken_q, end_q, out_room, may_send;
  logic [RowBits:0] row_q;      // of Clear and Send
  logic [RowBits:0] taken_row_q;
  logic [63:0] row[Lanes];
  logic [2:0] out_count;
  chunk_t out;
  wire last_row = row_q == (RowBits + 1)'(bytes_q >> 3);

  for (genvar i = 0; i < Lanes; i++) begin : g_lane
    cu_bloom_bits #(.Rows(Rows)) u_bits (
      .clk_i, .rst_ni, .set_i(probe_q[i].valid), .bit_i(probe_q[i].place),
      .take_i(take), .row_i(row_q[RowBits-1:0]), .row_o(row[i])
    );
  end

  assign may_send = out_count <= 3'd2;
  assign take     = state_q == Clear || (state_q == Send && may_send);

  always_comb begin
    out = '0;
    for (int i = 0; i < int'(Lanes); i++) out.data |= row[i];
    out.bytes = 4'd8;
    if (taken_row_q == (RowBits + 1)'(bytes_q >> 3)) begin
      out.data |= 64'(probes_i) << {bytes_q[2:0], 3'b0};
      out.bytes = 4'(bytes_q[2:0]) + 4'd1;
      out.last  = 1'b1;
    end
    if (end_q) out = '{data: '0, bytes: '0, last: 1'b1, token: 2'd2};
  end

  cu_fifo #(.Width($bits(chunk_t)), .Depth(4)) u_out (
    .clk_i, .rst_ni, .wvalid_i(taken_q || end_q), .wready_o(out_room), .wdata_i(out),
    .rvalid_o(chunk_valid_o), .rready_i(chunk_ready_i), .rdata_o(chunk_o), .count_o(out_count)
  );

  always_ff @(posedge clk_i) begin
    taken_row_q <= row_q;
    if (!rst_ni) begin
      state_q <= Clear;
      row_q   <= '0;
      taken_q <= 1'b0;
      end_q   <= 1'b0;
    end else begin
      taken_q <= state_q == Send && take;
      end_q   <= state_q == End && may_send;
      if (take) row_q <= row_q + 1'b1;
      unique case (state_q)
        Clear: if (row_q == (RowBits + 1)'(Rows - 1)) state_q <= Wait;
        Wait: begin
          row_q <= '0;
          if (begin_block) state_q <= next_end_q ? End : Probe;
        end
        Probe: if (unset_q == '0) state_q <= Send;
        Send: if (take && last_row) state_q <= Wait;
        default: if (may_send) state_q <= Wait;
      endcase
    end
  end

  `ASSERT(a_out_room, taken_q || end_q |-> out_room)
  `ASSERT(a_probes, block_valid_i |-> probes_i inside {[5'd1:5'd30]})
  `ASSERT(a_bytes, block_valid_i |-> block_bytes_i >= size_t'(8) &&
                                     32'(block_bytes_i) <= MaxFilterBytes)
  `ASSERT(a_in_filter, probe_q[0].valid |-> 32'(probe_q[0].place) < 8 * 32'(bytes_q))
endmodule
