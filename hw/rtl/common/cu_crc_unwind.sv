// The CRC32C state before `zeros_i` zero bytes were taken in. Combinational: a stage of constant
// matrix and 2:1 multiplexer per bit of zeros_i.

module cu_crc_unwind #(
  parameter int unsigned MaxBytes = 8,  // zeros_i < MaxBytes; a power of two, 2 or more
  localparam int unsigned CountBits = $clog2(MaxBytes)
) (
  input  logic [31:0]          state_i,
  input  logic [CountBits-1:0] zeros_i,
  output logic [31:0]          state_o
);
  import cu_crc_pkg::*;

  logic [CountBits:0][31:0] stage;
  assign stage[0] = state_i;
  assign state_o  = stage[CountBits];

  for (genvar b = 0; b < CountBits; b++) begin : g_stage
    localparam unwind_masks_t Masks = unwind_masks(1 << b);
    always_comb begin
      stage[b+1] = stage[b];
      if (zeros_i[b]) begin
        for (int i = 0; i < 32; i++) stage[b+1][i] = ^(stage[b] & Masks[i]);
      end
    end
  end
endmodule
