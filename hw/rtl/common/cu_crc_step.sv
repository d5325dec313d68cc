// Advances a CRC32C state by one word of Bytes bytes, combinationally. Bytes before the first or
// after the last byte of a message must be zero: leading zeros do not change a zero state, and
// cu_crc_unwind takes trailing ones back. A message therefore starts from state zero, and the
// all-ones initial state is replaced: by its first four bytes inverted, or by what the initial state
// becomes until the end of the first word (cu_crc_pkg::starts), added there.

module cu_crc_step #(
  parameter int unsigned Bytes = 8  // 4 to 64
) (
  input  logic [31:0]        state_i,
  input  logic [Bytes*8-1:0] word_i,
  output logic [31:0]        state_o
);
  import cu_crc_pkg::*;

  localparam step_masks_t Masks = step_masks(Bytes);

  logic [Bytes*8-1:0] mixed;
  always_comb begin
    mixed = word_i;
    mixed[31:0] = mixed[31:0] ^ state_i;
    for (int i = 0; i < 32; i++) state_o[i] = ^(mixed & Masks[i][Bytes*8-1:0]);
  end
endmodule
