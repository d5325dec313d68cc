// Takes `zeros_i` zero bytes back out of a CRC32C state, and inverts it: the CRC. Each stage handles two bits of zeros_i, the
// larger one first, each by a constant matrix and a multiplexer: together they are smaller than one
// multiplexer of three matrices. One result per cycle, after cu_crc_pkg::unwind_cycles(MaxBytes)
// cycles.

module cu_crc_unwind #(
  parameter int unsigned MaxBytes = 8,  // zeros_i < MaxBytes; a power of two, 2 or more
  localparam int unsigned CountBits = $clog2(MaxBytes)
) (
  input  logic                 clk_i,
  input  logic [31:0]          state_i,
  input  logic [CountBits-1:0] zeros_i,
  output logic [31:0]          crc_o
);
  import cu_crc_pkg::*;

  localparam int unsigned Stages = unwind_cycles(MaxBytes);

  logic [Stages:0][31:0] state;
  logic [Stages:0][2*Stages-1:0] zeros;  // zeros still to be taken back, next two bits lowest
  assign state[0] = state_i;
  assign zeros[0] = (2 * Stages)'(zeros_i);
  assign crc_o    = state[Stages];
  wire unused_zeros = ^zeros[Stages];

  for (genvar s = 0; s < Stages; s++) begin : g_stage
    localparam unwind_masks_t One = unwind_masks(1 << (2 * s));
    localparam unwind_masks_t Two = unwind_masks(2 << (2 * s));
    logic [31:0] less_two, state_q;
    always_comb begin
      for (int i = 0; i < 32; i++) begin
        less_two[i] = zeros[s][1] ? ^(state[s] & Two[i]) : state[s][i];
      end
    end
    logic [2*Stages-1:0] zeros_q;
    always_ff @(posedge clk_i) begin
      zeros_q <= zeros[s] >> 2;
      for (int i = 0; i < 32; i++) begin
        state_q[i] <= (zeros[s][0] ? ^(less_two & One[i]) : less_two[i]) ^ (s == Stages - 1);
      end
    end
    assign state[s+1] = state_q;
    assign zeros[s+1] = zeros_q;
  end
endmodule
