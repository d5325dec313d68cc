// A window of two chunks on a stream of blocks, with a read position: shows V bytes from the
// position on, moves it by up to V bytes per cycle, and never leaves a block unless told to: moving
// past a block's last chunk only wraps the position.
//
// While ready_o, the window holds V bytes from the position on, or all that are left of the block.
// head_o, the next eight bytes, is a register: what parses it starts from a clock edge.
//
// Chunks go to two banks in turn, each a window register and one more behind it. So a flush can
// drop both chunks of the window and find the next two in their places: the end of a block mostly
// stands in two chunks, and costs one cycle.
//
// Chunks come with a parity bit, which is checked when they leave.

module cu_byte_window #(
  parameter int unsigned ValueBytes = 8,  // V: 8, 16, 32 or 64
  localparam int unsigned PosBits   = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic [PosBits-1:0]      chunk_lane_i,

  output logic                    ready_o,
  output logic [63:0]             head_o,
  output logic [PosBits-1:0]      pos_o,
  output logic [PosBits-1:0]      next_pos_o,  // after this cycle
  // Byte i from the position on stands in lane (pos_o + i) mod V.
  output logic [ValueBytes*8-1:0] ring_o,
  output logic                    parity_o,  // of ring_o

  input  logic                    move_i,   // only while ready_o
  input  logic [PosBits:0]        bytes_i,  // 0..V
  input  logic                    flush_i,  // drop the chunks from the position on, up to two
  output logic                    flushed_o, // and with them the last of the block
  output logic                    flipped_o  // a bit has strayed; level
);
  localparam int unsigned V = ValueBytes;

  typedef struct packed {
    logic               valid;
    logic               first;
    logic               last;
    logic [PosBits-1:0] lane;
  } tag_t;

  // By bank: in the window, and behind it.
  logic [1:0][V*8-1:0] data_q, next_q;
  logic [1:0] data_parity_q, next_parity_q;
  tag_t [1:0] tag_q, tag_d, next_tag_q;
  logic low_q, low_d;  // bank of the window's first chunk
  logic in_q;          // bank of the next chunk to come
  logic [1:0] drop, load;
  tag_t lo_tag_d, in_tag;
  logic [PosBits-1:0] pos_q, pos_d;
  logic ready_q;
  logic [63:0] head_q;
  logic [PosBits:0] sum;
  logic [V*8-1:0] ring_d;

  assign sum = {1'b0, pos_q} + bytes_i;

  wire lo_valid = tag_q[low_q].valid;
  wire lo_last = tag_q[low_q].last;
  wire hi_valid = tag_q[~low_q].valid;
  wire drop_lo = (move_i & sum[PosBits] & ~lo_last) | (flush_i & lo_valid);
  wire drop_hi = flush_i & lo_valid & ~lo_last & hi_valid;

  assign flushed_o = (flush_i & lo_valid & lo_last) | (drop_hi & tag_q[~low_q].last);
  assign drop      = low_q ? {drop_lo, drop_hi} : {drop_hi, drop_lo};
  assign load      = drop | ~{tag_q[1].valid, tag_q[0].valid};
  assign low_d     = low_q ^ (drop_lo & ~drop_hi);
  assign in_tag    = '{valid: chunk_valid_i, first: chunk_first_i, last: chunk_last_i,
                       lane: chunk_lane_i};
  assign chunk_ready_o = ~next_tag_q[in_q].valid | load[in_q];

  assign tag_d[0] = load[0] ? next_tag_q[0] : tag_q[0];
  assign tag_d[1] = load[1] ? next_tag_q[1] : tag_q[1];
  assign lo_tag_d = tag_d[low_d];

  always_comb begin
    pos_d = pos_q;
    if (move_i) pos_d = sum[PosBits-1:0];
    if ((drop_lo || !lo_valid) && lo_tag_d.first) pos_d = lo_tag_d.lane;
    for (int i = 0; i < int'(V); i++) begin
      logic bank;
      bank = low_d ^ (PosBits'(i) < pos_d);
      ring_d[8*i+:8] = load[bank] ? next_q[bank][8*i+:8] : data_q[bank][8*i+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 2; b++) begin
      if (load[b]) begin
        data_q[b]        <= next_q[b];
        data_parity_q[b] <= next_parity_q[b];
      end
      if (chunk_ready_o && in_q == 1'(b)) begin
        next_q[b]        <= chunk_data_i;
        next_parity_q[b] <= chunk_parity_i;
      end
    end
    pos_q <= pos_d;
    for (int i = 0; i < 8; i++) head_q[8*i+:8] <= ring_d[{pos_d + PosBits'(i), 3'b0}+:8];
    if (!rst_ni) begin
      tag_q      <= '0;
      next_tag_q <= '0;
      low_q      <= 1'b0;
      in_q       <= 1'b0;
      ready_q    <= 1'b0;
    end else begin
      tag_q <= tag_d;
      for (int b = 0; b < 2; b++) begin
        if (load[b]) next_tag_q[b].valid <= 1'b0;
        if (chunk_ready_o && in_q == 1'(b)) next_tag_q[b] <= in_tag;
      end
      low_q   <= low_d;
      in_q    <= in_q ^ (chunk_ready_o & chunk_valid_i);
      ready_q <= lo_tag_d.valid & (lo_tag_d.last | tag_d[~low_d].valid);
    end
  end

  assign ready_o = ready_q;
  assign head_o  = head_q;
  assign pos_o   = pos_q;
  assign next_pos_o = pos_d;

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      ring_o[8*i+:8] = data_q[low_q ^ (PosBits'(i) < pos_q)][8*i+:8];
    end
  end
  assign parity_o = ^ring_o;

  logic flipped_q;
  assign flipped_o = flipped_q;
  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 2; b++) begin
      if (load[b] && tag_q[b].valid && ^{data_parity_q[b], data_q[b]}) flipped_q <= 1'b1;
    end
    if (move_i && !(lo_valid && (lo_last || hi_valid))) flipped_q <= 1'b1;  // ready_q is wrong
    if (!rst_ni) flipped_q <= 1'b0;
  end

`ifndef SYNTHESIS
  a_move : assert property (@(posedge clk_i) disable iff (!rst_ni) move_i |-> ready_q && !flush_i);
  a_bytes : assert property (@(posedge clk_i) disable iff (!rst_ni)
      move_i |-> bytes_i <= (PosBits + 1)'(V));
  a_order : assert property (@(posedge clk_i) disable iff (!rst_ni)
      hi_valid |-> lo_valid);
  c_both : cover property (@(posedge clk_i) drop_hi);
`endif
endmodule
