// A window of two chunks on a stream of blocks, with a read position: shows V bytes from the
// position on, moves it by up to V bytes per cycle, and never leaves a block unless told to: moving
// past a block's last chunk only wraps the position.
//
// While ready_o, the window holds V bytes from the position on, or all that are left of the block.
// head_o, the next eight bytes, is a register: what parses it starts from a clock edge.

module cu_byte_window #(
  parameter int unsigned ValueBytes = 8,  // V: 8, 16, 32 or 64
  localparam int unsigned PosBits   = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,

  output logic                    ready_o,
  output logic [63:0]             head_o,
  output logic [PosBits-1:0]      pos_o,
  // Byte i from the position on stands in lane (pos_o + i) mod V.
  output logic [ValueBytes*8-1:0] ring_o,

  input  logic                    move_i,   // only while ready_o
  input  logic [PosBits:0]        bytes_i,  // 0..V
  input  logic                    flush_i,  // drop the chunk at the position
  output logic                    flushed_o // and with it the last of the block
);
  localparam int unsigned V = ValueBytes;

  typedef struct packed {
    logic               valid;
    logic               first;
    logic               last;
    logic [PosBits-1:0] lane;
  } tag_t;

  logic [V*8-1:0] lo_q, hi_q, lo_d, hi_d;
  tag_t lo_tag_q, hi_tag_q, lo_tag_d, hi_tag_d, in_tag;
  logic [PosBits-1:0] pos_q, pos_d;
  logic ready_q;
  logic [63:0] head_q;
  logic [PosBits:0] sum;
  logic [V*16-1:0] both;

  wire shift = (move_i & sum[PosBits] & ~lo_tag_q.last) | (flush_i & lo_tag_q.valid);
  wire advance = shift | ~lo_tag_q.valid;

  assign sum           = {1'b0, pos_q} + bytes_i;
  assign flushed_o     = flush_i & lo_tag_q.valid & lo_tag_q.last;
  assign chunk_ready_o = advance | ~hi_tag_q.valid;
  assign in_tag        = '{valid: chunk_valid_i, first: chunk_first_i, last: chunk_last_i,
                           lane: chunk_lane_i};

  always_comb begin
    lo_d     = advance ? hi_q : lo_q;
    lo_tag_d = advance ? hi_tag_q : lo_tag_q;
    hi_d     = chunk_ready_o ? chunk_data_i : hi_q;
    hi_tag_d = chunk_ready_o ? in_tag : hi_tag_q;
    pos_d    = pos_q;
    if (move_i) pos_d = sum[PosBits-1:0];
    if (advance && hi_tag_q.first) pos_d = hi_tag_q.lane;
  end

  assign both = {hi_d, lo_d};

  always_ff @(posedge clk_i) begin
    lo_q   <= lo_d;
    hi_q   <= hi_d;
    pos_q  <= pos_d;
    head_q <= both[{1'b0, pos_d} * 8+:64];
    if (!rst_ni) begin
      lo_tag_q <= '0;
      hi_tag_q <= '0;
      ready_q  <= 1'b0;
    end else begin
      lo_tag_q <= lo_tag_d;
      hi_tag_q <= hi_tag_d;
      ready_q  <= lo_tag_d.valid & (lo_tag_d.last | hi_tag_d.valid);
    end
  end

  assign ready_o = ready_q;
  assign head_o  = head_q;
  assign pos_o   = pos_q;

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      ring_o[8*i+:8] = (PosBits'(i) >= pos_q) ? lo_q[8*i+:8] : hi_q[8*i+:8];
    end
  end

`ifndef SYNTHESIS
  a_move : assert property (@(posedge clk_i) disable iff (!rst_ni) move_i |-> ready_q && !flush_i);
  a_bytes : assert property (@(posedge clk_i) disable iff (!rst_ni)
      move_i |-> bytes_i <= (PosBits + 1)'(V));
`endif
endmodule
