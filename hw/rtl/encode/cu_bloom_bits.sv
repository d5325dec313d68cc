// The bits that one lane of probes has set, in block RAM, of rows of 64. A probe takes two cycles:
// its row is read, and written with one more bit. The next probe may be of the same row.

`include "cu_assert.svh"

module cu_bloom_bits #(
  parameter int unsigned Rows = 512,  // a power of two
  localparam int unsigned RowBits = $clog2(Rows)
) (
  input  logic               clk_i,
  input  logic               rst_ni,  // synchronous

  input  logic               set_i,
  input  logic [RowBits+5:0] bit_i,

  input  logic               take_i,  // reads a row and clears it; never within two cycles of set_i
  input  logic [RowBits-1:0] row_i,
  output logic [63:0]        row_o    // in the next cycle
);
  (* ram_style = "block" *) logic [63:0] mem[Rows];
  logic [63:0] read_q, written_q, one, changed;
  logic [RowBits-1:0] row_q;
  logic [5:0] lane_q;
  logic set_q, take_q;
  logic again_q;  // the row is the one just written, which the RAM did not show yet

  wire [RowBits-1:0] row = take_i ? row_i : bit_i[RowBits+5:6];
  assign row_o = read_q;

  always_comb begin
    one = '0;
    one[lane_q] = 1'b1;
    changed = (again_q ? written_q : read_q) | one;
    if (take_q) changed = '0;
  end

  always_ff @(posedge clk_i) begin
    read_q    <= mem[row];
    if (set_q || take_q) mem[row_q] <= changed;
    written_q <= changed;
    row_q     <= row;
    lane_q    <= bit_i[5:0];
    again_q   <= set_q && row_q == row;
    set_q     <= rst_ni && set_i;
    take_q    <= rst_ni && take_i;
  end

  `ASSERT(a_apart, take_i |-> !set_i && !set_q)
endmodule
