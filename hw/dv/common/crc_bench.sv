// cu_crc_step and cu_crc_unwind as a message's last word goes through them.

module crc_bench #(
  parameter int unsigned Bytes = 64
) (
  input  logic                     clk_i,
  input  logic [31:0]              state_i,
  input  logic [Bytes*8-1:0]       word_i,
  input  logic [$clog2(Bytes)-1:0] zeros_i,
  output logic [31:0]              step_o,
  output logic [31:0]              crc_o
);
  cu_crc_step #(.Bytes(Bytes)) u_step (.state_i, .word_i, .state_o(step_o));
  cu_crc_unwind #(.MaxBytes(Bytes)) u_unwind (
    .clk_i, .state_i(step_o), .zeros_i, .crc_o
  );
endmodule
