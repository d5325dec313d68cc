// First-word-fall-through FIFO in block RAM, for larger depths. The RAM's output register is the
// output of the FIFO, so a word can be read two cycles after it was written. Full throughput; Depth
// includes the word in the output register.
//
// Its counters and flags say the same thing several times. If a bit of one flips, error_o is high in
// that cycle: a flag that says that there is a word would let out the one that the RAM held before.

`include "cu_assert.svh"

module cu_ram_fifo #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,  // 4 or more
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,  // synchronous

  input  logic                 wvalid_i,
  output logic                 wready_o,
  input  logic [Width-1:0]     wdata_i,

  output logic                 rvalid_o,
  input  logic                 rready_i,
  output logic [Width-1:0]     rdata_o,

  output logic [CountBits-1:0] count_o,
  output logic                 error_o   // counters and flags contradict each other
);
  `ASSERT_PARAM(depth, Depth >= 4, "Depth must be 4 or more")

  localparam int unsigned PtrBits = $clog2(Depth);
  localparam logic [PtrBits-1:0] LastSlot = PtrBits'(Depth - 1);

  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  logic [Width-1:0] rdata_q;
  logic [PtrBits-1:0] wptr_q, rptr_q;
  logic [CountBits-1:0] count_q, stored_q;  // all words; words not yet in the output register
  logic full_q, stored_any_q, rvalid_q;

  // One more or one less, without an adder: what decides is late.
  function automatic logic [CountBits-1:0] step(logic [CountBits-1:0] n, logic up);
    logic ones = 1'b1, zeros = 1'b1;  // so are all bits below
    for (int unsigned i = 0; i < CountBits; i++) begin
      step[i] = n[i] ^ (up ? ones : zeros);
      ones  &= n[i];
      zeros &= ~n[i];
    end
  endfunction

  wire push = wvalid_i & wready_o;
  wire pop = rvalid_o & rready_i;
  wire load = stored_any_q & (~rvalid_q | rready_i);

  assign wready_o = ~full_q;
  assign rvalid_o = rvalid_q;
  assign rdata_o  = rdata_q;
  assign count_o  = count_q;

  // push and pop are late: they only choose among what follows from the counters.
  logic full_d, stored_any_d;
  always_comb begin
    full_d = count_q == CountBits'(Depth);
    if (push && !pop) full_d = count_q == CountBits'(Depth - 1);
    else if (pop && !push) full_d = 1'b0;
    stored_any_d = push || (load ? stored_q != CountBits'(1) : stored_q != '0);
  end

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q] <= wdata_i;
    if (load) rdata_q <= mem[rptr_q];
    if (!rst_ni) begin
      wptr_q       <= '0;
      rptr_q       <= '0;
      count_q      <= '0;
      stored_q     <= '0;
      full_q       <= 1'b0;
      stored_any_q <= 1'b0;
      rvalid_q     <= 1'b0;
    end else begin
      if (push) wptr_q <= (wptr_q == LastSlot) ? '0 : wptr_q + 1'b1;
      if (load) rptr_q <= (rptr_q == LastSlot) ? '0 : rptr_q + 1'b1;
      if (push != pop) count_q <= step(count_q, push);
      if (push != load) stored_q <= step(stored_q, push);
      full_q       <= full_d;
      stored_any_q <= stored_any_d;
      if (load) rvalid_q <= 1'b1;
      else if (pop) rvalid_q <= 1'b0;
    end
  end

  assign error_o = (stored_any_q != (stored_q != '0)) | (full_q != (count_q == CountBits'(Depth))) |
                   (count_q != stored_q + CountBits'(rvalid_q));

  `ASSERT(a_depth, count_q <= CountBits'(Depth))
  `ASSERT(a_sound, !error_o)
endmodule
