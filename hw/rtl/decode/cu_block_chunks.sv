// Cuts the bus beats of consecutive blocks into chunks of ValueBytes, and drops those before the
// chunk of a block's first byte and after that of its last.

`include "cu_assert.svh"

module cu_block_chunks #(
  parameter int unsigned ValueBytes = 8,   // V
  parameter int unsigned BusBytes   = 64,  // W >= V
  parameter int unsigned ParityBytes = ValueBytes,  // under one parity bit
  localparam int unsigned PosBits   = $clog2(ValueBytes),
  localparam int unsigned LaneBits  = $clog2(BusBytes),
  localparam int unsigned Chunks    = BusBytes / ValueBytes,  // per beat
  localparam int unsigned Parities  = ValueBytes / ParityBytes
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  // One per block, in the order of the beats: lane of its first byte, and bytes, trailer counted.
  input  logic                    block_valid_i,
  output logic                    block_ready_o,
  input  logic [LaneBits-1:0]     block_lane_i,
  input  logic [31:0]             block_bytes_i,

  input  logic                    beat_valid_i,
  output logic                    beat_ready_o,
  input  logic [BusBytes*8-1:0]   beat_data_i,
  input  logic [Chunks*Parities-1:0] beat_parity_i,

  output logic                    chunk_valid_o,
  input  logic                    chunk_ready_i,
  output logic [ValueBytes*8-1:0] chunk_data_o,
  output logic [Parities-1:0]     chunk_parity_o,
  output logic                    chunk_first_o,  // of its block
  output logic                    chunk_last_o,   // of its block
  output logic [PosBits-1:0]      chunk_lane_o    // of the block's first byte, if first
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned IndexBits = (Chunks > 1) ? $clog2(Chunks) : 1;
  localparam int unsigned LeftBits = 33 - PosBits;

  `ASSERT_PARAM(value_bytes, ValueBytes >= 8, "ValueBytes must be 8 or more")
  `ASSERT_PARAM(bus_bytes, BusBytes >= ValueBytes && BusBytes % ValueBytes == 0,
                "BusBytes must be a multiple of ValueBytes")

  logic busy_q, first_q;
  logic [IndexBits-1:0] index_q, first_index;
  logic [LeftBits-1:0] left_q;  // chunks after this one
  logic last_q;                 // left_q is 0
  logic [PosBits-1:0] lane_q;   // of the block's first byte
  logic chunk_valid_q, chunk_first_q, chunk_last_q;
  // No chunk comes before the first reset: the window would keep it, and its parities need not fit.
  initial chunk_valid_q = 1'b0;
  logic [V*8-1:0] chunk_q, picked;
  logic [Parities-1:0] chunk_parity_q, picked_parity;
  logic [PosBits-1:0] chunk_lane_q;

  wire taken = chunk_valid_o & chunk_ready_i;
  wire load = busy_q & beat_valid_i & (~chunk_valid_q | taken);

  if (Chunks > 1) begin : g_pick
    assign first_index  = block_lane_i[LaneBits-1:PosBits];
    assign picked       = beat_data_i[index_q*V*8+:V*8];
    assign picked_parity = beat_parity_i[index_q*Parities+:Parities];
    assign beat_ready_o = load & (last_q | (index_q == IndexBits'(Chunks - 1)));
  end else begin : g_whole
    assign first_index  = '0;
    assign picked       = beat_data_i;
    assign picked_parity = beat_parity_i;
    assign beat_ready_o = load;
  end

  // Of the block's last byte, counted from lane 0 of its first chunk: the lane, and whether it is in
  // a chunk before or after the one that the bytes alone would fill. A new count and the next one
  // share a carry chain, which adds one, minus one, or nothing.
  wire [PosBits+1:0] last_lane = (PosBits + 2)'(block_bytes_i[PosBits-1:0]) +
                                 (PosBits + 2)'(block_lane_i[PosBits-1:0]) - 1'b1;
  wire begins = block_valid_i & block_ready_o;
  wire less = ~begins | last_lane[PosBits+1];
  wire more = begins & ~last_lane[PosBits+1] & last_lane[PosBits];
  wire [LeftBits-1:0] count = begins ? LeftBits'(block_bytes_i[31:PosBits]) : left_q;
  wire [LeftBits-1:0] left = LeftBits'(({{LeftBits{less}}, 1'b1} + {count, more}) >> 1);

  assign block_ready_o = ~busy_q | (load & last_q);
  assign chunk_valid_o = chunk_valid_q;
  assign chunk_data_o  = chunk_q;
  assign chunk_parity_o = chunk_parity_q;
  assign chunk_first_o = chunk_first_q;
  assign chunk_last_o  = chunk_last_q;
  assign chunk_lane_o  = chunk_lane_q;

  always_ff @(posedge clk_i) begin
    if (load) begin
      chunk_q       <= picked;
      chunk_parity_q <= picked_parity;
      chunk_first_q <= first_q;
      chunk_last_q  <= last_q;
      chunk_lane_q  <= lane_q;
      index_q       <= index_q + 1'b1;
      last_q        <= left_q == LeftBits'(1);
      first_q       <= 1'b0;
    end
    if (load || begins) left_q <= left;
    if (begins) begin
      index_q <= first_index;
      last_q  <= block_bytes_i[31:PosBits+1] == '0 &&
                 {1'b0, block_bytes_i[PosBits:0]} + (PosBits + 2)'(block_lane_i[PosBits-1:0])
                     <= (PosBits + 2)'(V);
      lane_q  <= block_lane_i[PosBits-1:0];
      first_q <= 1'b1;
    end
    if (!rst_ni) begin
      busy_q        <= 1'b0;
      chunk_valid_q <= 1'b0;
    end else begin
      if (block_ready_o) busy_q <= block_valid_i;
      if (load) chunk_valid_q <= 1'b1;
      else if (taken) chunk_valid_q <= 1'b0;
    end
  end

  logic unused_last_lane;
  assign unused_last_lane = ^last_lane[PosBits-1:0];

  `ASSERT(a_bytes, block_valid_i |-> block_bytes_i != 0)
endmodule
