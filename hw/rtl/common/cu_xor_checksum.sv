// XOR of all bytes of a stream. Two points between which bytes are only moved compute the same
// value, and any single flipped bit changes it.

module cu_xor_checksum #(
  parameter int unsigned Bytes = 8  // a power of two
) (
  input  logic               clk_i,
  input  logic               rst_ni,  // synchronous

  input  logic               valid_i,
  input  logic [Bytes*8-1:0] data_i,     // zero-padded
  output logic [7:0]         checksum_o  // two cycles late
);
  logic [7:0] beat, beat_q, checksum_q;

  always_comb begin
    beat = '0;
    for (int i = 0; i < int'(Bytes); i++) beat ^= data_i[8*i+:8];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q     <= '0;
      checksum_q <= '0;
    end else begin
      beat_q     <= valid_i ? beat : '0;
      checksum_q <= checksum_q ^ beat_q;
    end
  end
  assign checksum_o = checksum_q;
endmodule
