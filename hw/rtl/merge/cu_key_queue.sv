// Keys of one side of a merge node: a FIFO of beats whose reader can go back to the first beat of
// the key at its head. A key that lost a comparison is thereby read again for the next one.
//
// The queue holds a key of full length, so that a comparison that runs to the last beat always has
// room. (One buffer for the common prefix, shared by both sides, would do too: the beats that were
// equal are those of the last output. But it takes a third memory beside two small FIFOs, and LUT
// RAM has 32 or 64 words at least; it is smaller at 8 bytes per beat only, and a level deeper.)
//
// The head is a register, valid if next_valid_o was high the cycle before. What it will hold after
// the coming edge is an output as well: a comparison of the two sides' next heads is ready,
// registered, when they become the heads.

module cu_key_queue #(
  parameter int unsigned V       = 8,
  parameter int unsigned Beats   = 128,  // power of two, room for the longest key
  parameter int unsigned WayBits = 1,
  localparam int unsigned KB = $clog2(V + 1)
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [V*8-1:0]     in_data_i,
  input  logic [KB-1:0]      in_bytes_i,
  input  logic               in_last_i,
  input  logic               in_eos_i,
  input  logic [63:0]        in_trailer_i,  // with last, as the way
  input  logic [WayBits-1:0] in_way_i,

  output logic [V*8-1:0]     head_data_o,
  output logic [KB-1:0]      head_bytes_o,
  output logic               head_last_o,
  output logic               head_eos_o,
  output logic [63:0]        head_trailer_o,
  output logic [WayBits-1:0] head_way_o,

  output logic               next_valid_o,
  output logic [V*8-1:0]     next_data_o,
  output logic [KB-1:0]      next_bytes_o,
  output logic               next_last_o,
  output logic               next_eos_o,
  output logic [63:0]        next_trailer_o,

  input  logic               pop_i,    // on to the next beat
  input  logic               free_i,   // with pop only: the key has won, no way back
  input  logic               rewind_i  // back to the first beat; not with pop
);
  localparam int unsigned PtrBits = $clog2(Beats);
  // Trailers and ways, one per key.
  localparam int unsigned Keys = 4;
  localparam int unsigned KeyPtrBits = $clog2(Keys);

  typedef struct packed {
    logic [V*8-1:0] data;
    logic [KB-1:0]  bytes;
    logic           last;
    logic           eos;
  } beat_t;

  typedef struct packed {
    logic [63:0]        trailer;
    logic [WayBits-1:0] way;
  } key_t;

  beat_t mem[Beats];
  key_t key_mem[Keys];

  // One more bit than an index needs tells full from empty.
  logic [PtrBits:0] write_q, read_q, read_d, read_next_q, base_q;
  logic [KeyPtrBits:0] key_write_q, key_read_q, key_read_d, key_read_next_q;
  beat_t head_q, next;
  key_t key_q, key_next;

  wire full = (write_q ^ base_q) == {1'b1, {PtrBits{1'b0}}};
  wire key_full = (key_write_q ^ key_read_q) == {1'b1, {KeyPtrBits{1'b0}}};
  assign in_ready_o = !full && !key_full;
  wire push = in_valid_i && in_ready_o;

  always_comb begin
    read_d = read_q;
    if (pop_i) read_d = read_next_q;
    if (rewind_i) read_d = base_q;
    key_read_d = (free_i && head_q.last) ? key_read_next_q : key_read_q;
  end

  assign next = mem[read_d[PtrBits-1:0]];
  assign key_next = key_mem[key_read_d[KeyPtrBits-1:0]];
  assign next_valid_o = read_d != write_q;

  always_ff @(posedge clk_i) begin
    if (push) mem[write_q[PtrBits-1:0]] <= {in_data_i, in_bytes_i, in_last_i, in_eos_i};
    if (push) key_mem[key_write_q[KeyPtrBits-1:0]] <= {in_trailer_i, in_way_i};
    head_q <= next;
    key_q  <= key_next;
    if (!rst_ni) begin
      write_q     <= '0;
      read_q      <= '0;
      read_next_q <= (PtrBits + 1)'(1);
      base_q      <= '0;
      key_write_q <= '0;
      key_read_q  <= '0;
      key_read_next_q <= (KeyPtrBits + 1)'(1);
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (push && in_last_i) key_write_q <= key_write_q + 1'b1;
      read_q          <= read_d;
      read_next_q     <= read_d + 1'b1;
      key_read_q      <= key_read_d;
      key_read_next_q <= key_read_d + 1'b1;
      if (free_i) base_q <= read_d;
    end
  end

  assign head_data_o    = head_q.data;
  assign head_bytes_o   = head_q.bytes;
  assign head_last_o    = head_q.last;
  assign head_eos_o     = head_q.eos;
  assign head_trailer_o = key_q.trailer;
  assign head_way_o     = key_q.way;
  assign next_data_o    = next.data;
  assign next_bytes_o   = next.bytes;
  assign next_last_o    = next.last;
  assign next_eos_o     = next.eos;
  assign next_trailer_o = key_next.trailer;

`ifndef SYNTHESIS
  logic valid_q;
  always_ff @(posedge clk_i) valid_q <= rst_ni && next_valid_o;

  a_pop_valid : assert property (@(posedge clk_i) disable iff (!rst_ni) pop_i |-> valid_q);
  a_free : assert property (@(posedge clk_i) disable iff (!rst_ni) free_i |-> pop_i);
  a_pop_or_rewind : assert property (@(posedge clk_i) disable iff (!rst_ni) !(pop_i && rewind_i));
  // A key longer than the queue could never be compared to its end.
  a_key_fits : assert property (@(posedge clk_i) disable iff (!rst_ni) full |-> read_q != write_q);
  initial begin
    if ((1 << PtrBits) != Beats) $fatal(1, "Beats must be a power of two");
  end
`endif
endmodule
