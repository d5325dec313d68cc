// First-word-fall-through FIFO for words of any width: in LUT RAM (cu_fifo), or, if they are wide, in
// block RAM (cu_ram_fifo), where a word can be read a cycle later. LUT RAM takes as many LUTs for two
// words as for 32.

`include "cu_assert.svh"

module cu_wide_fifo #(
  parameter int unsigned Width = 512,
  parameter int unsigned Depth = 16,  // 2 or more; of wide words 4
  parameter int unsigned WideBits = 384,  // from here on they are wide
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
  if (Width >= WideBits) begin : g_block_ram
    cu_ram_fifo #(.Width(Width), .Depth(Depth)) u_fifo (
      .clk_i, .rst_ni, .wvalid_i, .wready_o, .wdata_i, .rvalid_o, .rready_i, .rdata_o, .count_o,
      .error_o
    );
  end else begin : g_lut_ram
    cu_fifo #(.Width(Width), .Depth(Depth)) u_fifo (
      .clk_i, .rst_ni, .wvalid_i, .wready_o, .wdata_i, .rvalid_o, .rready_i, .rdata_o, .count_o
    );
    assign error_o = 1'b0;
  end
endmodule
