// The XOR of all bytes of a stream. It is the same on both sides of whatever only moves bytes about,
// and one flipped bit always changes it.

module cu_byte_fold #(
  parameter int unsigned Bytes = 8  // a power of two
) (
  input  logic               clk_i,
  input  logic               rst_ni,  // synchronous

  input  logic               valid_i,
  input  logic [Bytes*8-1:0] data_i,  // zero-padded
  output logic [7:0]         fold_o   // two cycles late
);
  logic [7:0] fold, beat_q, fold_q;

  always_comb begin
    fold = '0;
    for (int i = 0; i < int'(Bytes); i++) fold ^= data_i[8*i+:8];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
      fold_q <= '0;
    end else begin
      beat_q <= valid_i ? fold : '0;
      fold_q <= fold_q ^ beat_q;
    end
  end
  assign fold_o = fold_q;
endmodule
