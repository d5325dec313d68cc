// Rows of bytes in block RAM, written by row and read from any byte on. What was read comes a cycle
// later, and stays until the next.

`include "cu_assert.svh"

module cu_byte_ram #(
  parameter int unsigned Bytes = 16,    // of a row
  parameter int unsigned Depth = 8192,  // bytes in all; both powers of two
  localparam int unsigned LaneBits = $clog2(Bytes),
  localparam int unsigned PlaceBits = $clog2(Depth)
) (
  input  logic                          clk_i,

  input  logic                          write_i,
  input  logic [PlaceBits-LaneBits-1:0] row_i,
  input  logic [Bytes*8-1:0]            data_i,

  input  logic [PlaceBits-1:0]          place_i,
  output logic [Bytes*8-1:0]            data_o  // from that byte on, and round
);
  localparam int unsigned AddressBits = PlaceBits - LaneBits - 1;  // in one of two banks

  `ASSERT_PARAM(depth, $onehot(Bytes) && $onehot(Depth) && Depth >= 4 * Bytes,
                "Depth must be a power of two, four rows or more")

  (* ram_style = "block" *) logic [Bytes*8-1:0] even[2**AddressBits];
  (* ram_style = "block" *) logic [Bytes*8-1:0] odd[2**AddressBits];
  logic [Bytes*8-1:0] even_q, odd_q;
  logic [LaneBits-1:0] lane_q;
  logic [Bytes-1:0] from_odd, from_odd_q;  // by lane

  // The row behind an even one has the same address, behind an odd one the next.
  wire [AddressBits-1:0] address = place_i[PlaceBits-1:LaneBits+1];

  always_comb begin
    for (int i = 0; i < int'(Bytes); i++) begin
      from_odd[i] = place_i[LaneBits] ^ (i < int'(place_i[LaneBits-1:0]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_i && !row_i[0]) even[row_i[PlaceBits-LaneBits-1:1]] <= data_i;
    if (write_i && row_i[0]) odd[row_i[PlaceBits-LaneBits-1:1]] <= data_i;
    even_q     <= even[address + AddressBits'(place_i[LaneBits])];
    odd_q      <= odd[address];
    lane_q     <= place_i[LaneBits-1:0];
    from_odd_q <= from_odd;
  end

  always_comb begin
    for (int i = 0; i < int'(Bytes); i++) begin
      data_o[8*i+:8] = from_odd_q[i] ? odd_q[8*i+:8] : even_q[8*i+:8];
    end
    // Rotated by the lane, in steps of powers of two.
    for (int b = 0; b < int'(LaneBits); b++) begin
      if (lane_q[b]) data_o = (data_o >> (8 << b)) | (data_o << (8 * Bytes - (8 << b)));
    end
  end
endmodule
