// Prepares the chunks of blocks for cu_snappy_walker: drops those that only hold what lies behind a
// block, such as its trailer, and says of the others how far their block goes. A block's last chunk
// is the one in which it ends.

`include "cu_assert.svh"

module cu_snappy_trim #(
  parameter int unsigned ValueBytes = 8,  // V: 8, 16, 32 or 64
  localparam int unsigned PosBits = $clog2(ValueBytes)
) (
  input  logic               clk_i,
  input  logic               rst_ni,  // synchronous

  // See cu_snappy_decoder.
  input  logic               block_valid_i,
  output logic               block_ready_o,
  input  logic [31:0]        block_bytes_i,
  input  logic               block_raw_i,
  input  logic               chunk_valid_i,
  output logic               chunk_ready_o,
  input  logic               chunk_first_i,
  input  logic               chunk_last_i,
  input  logic [PosBits-1:0] chunk_lane_i,

  // Chunks with something of a block, at least one of each.
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic               out_last_o,
  output logic               out_raw_o,
  output logic [PosBits+1:0] out_stop_o,  // the block's bytes from lane 0 of this chunk on, or 2 V
  output logic               error_o      // level
);
  localparam int unsigned V = ValueBytes;

  typedef struct packed {
    logic        block;  // there is one
    logic        raw;
    logic        over;   // and it has ended
    logic [32:0] left;   // bytes
  } state_t;
  state_t state_q, state_d;
  logic twin_error, error_q;

  wire [32:0] left = state_q.left + (chunk_first_i ? 33'(chunk_lane_i) : '0);
  wire ends = left <= 33'(V);
  wire move = chunk_valid_i && chunk_ready_o;

  assign chunk_ready_o = state_q.block && (state_q.over || out_ready_i);
  assign block_ready_o = !state_q.block || (move && chunk_last_i);
  assign out_valid_o   = chunk_valid_i && state_q.block && !state_q.over;
  assign out_last_o    = ends || chunk_last_i;
  assign out_raw_o     = state_q.raw;
  assign out_stop_o    = (left[32:PosBits+1] != '0) ? (PosBits + 2)'(2 * V) : left[PosBits+1:0];
  assign error_o       = twin_error || error_q;

  always_comb begin
    state_d = state_q;
    if (move) begin
      state_d.left  = left - 33'(V);
      state_d.over  = (state_q.over || ends) && !chunk_last_i;
      state_d.block = !chunk_last_i;
    end
    if (block_valid_i && block_ready_o) begin
      state_d.block = 1'b1;
      state_d.raw   = block_raw_i;
      state_d.left  = {1'b0, block_bytes_i};
    end
    if (!rst_ni) state_d = '0;
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    error_q <= rst_ni && (error_q || (move && chunk_last_i && !state_q.over && !ends));
  end

  cu_twin #(.Width($bits(state_t))) u_state (
    .clk_i, .rst_ni, .next_i(state_d), .now_i(state_q), .error_o(twin_error)
  );
endmodule
