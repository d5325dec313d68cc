// First-word-fall-through FIFO in registers or LUT RAM, for small depths. A word can be read in the
// cycle after it was written. Full throughput; no combinational path between the two sides.

`include "cu_assert.svh"

module cu_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,  // 2 or more
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

  output logic [CountBits-1:0] count_o
);
  localparam int unsigned PtrBits = (Depth > 1) ? $clog2(Depth) : 1;
  localparam logic [PtrBits-1:0] LastSlot = PtrBits'(Depth - 1);

  `ASSERT_PARAM(depth, Depth >= 2, "Depth must be 2 or more")

  logic [Width-1:0] mem[Depth];
  logic [PtrBits-1:0] wptr_q, rptr_q;
  logic [CountBits-1:0] count_q;

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

  assign wready_o = count_q != CountBits'(Depth);
  assign rvalid_o = count_q != '0;
  assign rdata_o  = mem[rptr_q];
  assign count_o  = count_q;

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q] <= wdata_i;
    if (!rst_ni) begin
      wptr_q  <= '0;
      rptr_q  <= '0;
      count_q <= '0;
    end else begin
      if (push) wptr_q <= (wptr_q == LastSlot) ? '0 : wptr_q + 1'b1;
      if (pop) rptr_q <= (rptr_q == LastSlot) ? '0 : rptr_q + 1'b1;
      if (push != pop) count_q <= step(count_q, push);
    end
  end

  `ASSERT(a_depth, count_q <= CountBits'(Depth))
endmodule
