// First-word-fall-through FIFO in registers or LUT RAM, for small depths. A word written in one
// cycle can be read in the next. Full throughput; no combinational path from read to write side.

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

  logic [Width-1:0] mem[Depth];
  logic [PtrBits-1:0] wptr_q, rptr_q;
  logic [CountBits-1:0] count_q;

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
      count_q <= count_q + CountBits'(push) - CountBits'(pop);
    end
  end

`ifndef SYNTHESIS
  a_depth : assert property (@(posedge clk_i) disable iff (!rst_ni) count_q <= CountBits'(Depth));
`endif
endmodule
