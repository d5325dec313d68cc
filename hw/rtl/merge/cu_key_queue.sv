// Keys of one side of a merge node: a FIFO of beats whose reader can rewind to the first beat of
// the key at its head, so that a key that lost a comparison is read again for the next one.
//
// The queue holds a key of maximum length, so that a comparison that runs to the last beat always
// has room. (A single buffer for the common prefix, shared by both sides, would also do: the equal
// beats are those of the last output. But it needs a third memory beside two small FIFOs, and LUT
// RAM comes with at least 32 or 64 words; it is smaller only at 8 bytes per beat, and one level
// deeper.)
//
// The head is a register, valid if next_valid_o was high in the previous cycle. Its next value is
// an output as well, so that the comparison of the two sides' next heads is registered by the time
// they become the heads.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_key_queue #(
  parameter int unsigned ValueBytes = 8,
  parameter int unsigned Beats      = 128,  // power of two, room for the longest key
  parameter int unsigned Ways       = 2,
  localparam type key_t = `CU_MERGED_KEY_T(ValueBytes, Ways),
  localparam type beat_t = `CU_KEY_BEAT_T(ValueBytes)
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic        in_room_o,  // ready in the next cycle
  input  key_t        in_i,

  output key_t        head_o,

  output logic        next_valid_o,
  output beat_t       next_o,
  output logic [63:0] next_trailer_o,

  input  logic        pop_i,    // on to the next beat
  input  logic        free_i,   // with pop only: the key has won, no way back
  input  logic        rewind_i  // back to the first beat; not with pop
);
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1;
  localparam int unsigned PtrBits = $clog2(Beats);
  // Trailers and ways, one per key.
  localparam int unsigned Keys = 4;
  localparam int unsigned KeyPtrBits = $clog2(Keys);

  `ASSERT_PARAM(beats, $onehot(Beats), "Beats must be a power of two")

  typedef struct packed {
    logic [63:0]        trailer;
    logic               parity;
    logic [WayBits-1:0] way;
  } tail_t;

  beat_t mem[Beats];
  tail_t key_mem[Keys];

  // One more bit than an index needs tells full from empty.
  logic [PtrBits:0] write_q, read_q, read_d, read_next_q, base_q;
  logic [KeyPtrBits:0] key_write_q, key_read_q, key_read_d, key_read_next_q;
  beat_t head_q, next;
  tail_t key_q, key_next;

  wire full = (write_q ^ base_q) == {1'b1, {PtrBits{1'b0}}};
  wire key_full = (key_write_q ^ key_read_q) == {1'b1, {KeyPtrBits{1'b0}}};
  assign in_ready_o = !full && !key_full;
  wire push = in_valid_i && in_ready_o;

  // Without a comparison behind push, which is late. A beat or key that leaves makes room for one.
  wire [PtrBits:0] write_next = write_q + 1'b1;
  wire [KeyPtrBits:0] key_write_next = key_write_q + 1'b1;
  wire full_next = (write_next ^ base_q) == {1'b1, {PtrBits{1'b0}}};
  wire key_full_next = (key_write_next ^ key_read_q) == {1'b1, {KeyPtrBits{1'b0}}};
  assign in_room_o = (free_i || !(full || (push && full_next))) &&
                     ((free_i && head_q.last) ||
                      !(key_full || (push && in_i.last && key_full_next)));

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
    if (push) mem[write_q[PtrBits-1:0]] <= {in_i.data, in_i.bytes, in_i.last, in_i.eos};
    if (push) key_mem[key_write_q[KeyPtrBits-1:0]] <= {in_i.trailer, in_i.parity, in_i.way};
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
      if (push) write_q <= write_next;
      if (push && in_i.last) key_write_q <= key_write_next;
      read_q          <= read_d;
      read_next_q     <= read_d + 1'b1;
      key_read_q      <= key_read_d;
      key_read_next_q <= key_read_d + 1'b1;
      if (free_i) base_q <= read_d;
    end
  end

  assign head_o         = {head_q, key_q};
  assign next_o         = next;
  assign next_trailer_o = key_next.trailer;

`ifndef SYNTHESIS
  logic valid_q, room_q;
  always_ff @(posedge clk_i) valid_q <= rst_ni && next_valid_o;
  always_ff @(posedge clk_i) room_q <= !rst_ni || in_room_o;

  `ASSERT(a_room, in_ready_o == room_q)
  `ASSERT(a_pop_valid, pop_i |-> valid_q)
  `ASSERT(a_free, free_i |-> pop_i)
  `ASSERT(a_pop_or_rewind, !(pop_i && rewind_i))
  // A key longer than the queue could never be compared to its end.
  `ASSERT(a_key_fits, full |-> read_q != write_q)
`endif
endmodule
