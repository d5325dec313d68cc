// cu_byte_packer: bytes in = bytes out, in order; a block's end and its token leave with its last
// byte; a word is full unless it ends a block. An arbitrary byte and an arbitrary end are followed.

module f_byte_packer #(
  parameter int unsigned Bytes = 4,
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input logic                 clk_i,
  input logic                 in_valid_i,
  input logic [Bytes*8-1:0]   in_data_i,
  input logic [CountBits-1:0] in_bytes_i,
  input logic                 in_last_i,
  input logic [1:0]           in_token_i,
  input logic                 out_ready_i,
  input logic                 follow_i,
  input logic [CountBits-1:0] follow_byte_i,
  input logic                 follow_end_i
);
  localparam int unsigned LevelBits = CountBits + 3;
  localparam int unsigned Most = 3 * Bytes;  // held, ending and in the output register

  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic in_ready, out_valid, out_last;
  logic [Bytes*8-1:0] out_data;
  logic [CountBits-1:0] out_bytes;
  logic [1:0] out_token;
  cu_byte_packer #(.Bytes(Bytes)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .in_valid_i, .in_ready_o(in_ready),
    .in_i({in_data_i, in_bytes_i, in_last_i, in_token_i}), .out_valid_o(out_valid), .out_ready_i,
    .out_o({out_data, out_bytes, out_last, out_token})
  );

  wire push = rst_n_q && in_valid_i && in_ready;
  wire pop = rst_n_q && out_valid && out_ready_i;
  wire [LevelBits-1:0] come = push ? LevelBits'(in_bytes_i) : '0;
  wire [LevelBits-1:0] gone = pop ? LevelBits'(out_bytes) : '0;

  logic [LevelBits-1:0] level_q = '0;  // bytes inside
  logic [2:0] ends_q = '0;             // block ends inside
  logic byte_q = 1'b0, end_q = 1'b0;   // followed
  logic [LevelBits-1:0] ahead_q, end_ahead_q;
  logic [2:0] ends_ahead_q;
  logic [7:0] value_q;
  logic [1:0] token_q;
  logic bytes_q;  // the end came with bytes
  logic held_q = 1'b0;
  logic [Bytes*8+CountBits+2:0] held_data_q;

  wire [7:0] followed_byte = 8'(in_data_i >> (8 * follow_byte_i));

  always_ff @(posedge clk_i) begin
    level_q <= level_q + come - gone;
    ends_q  <= ends_q + 3'(push && in_last_i) - 3'(pop && out_last);
    held_q  <= rst_n_q && out_valid && !out_ready_i;
    held_data_q <= {out_data, out_bytes, out_last, out_token};
    if (byte_q) begin
      ahead_q <= ahead_q - gone;
      if (ahead_q < gone) byte_q <= 1'b0;
    end else if (push && follow_i && follow_byte_i < in_bytes_i) begin
      byte_q  <= 1'b1;
      ahead_q <= level_q + LevelBits'(follow_byte_i) - gone;
      value_q <= followed_byte;
    end
    if (end_q) begin
      end_ahead_q <= end_ahead_q - gone;
      if (pop && out_last) ends_ahead_q <= ends_ahead_q - 1'b1;
      if (pop && out_last && ends_ahead_q == '0) end_q <= 1'b0;
    end else if (push && follow_end_i && in_last_i) begin
      end_q        <= 1'b1;
      end_ahead_q  <= level_q + LevelBits'(in_bytes_i) - gone;
      ends_ahead_q <= ends_q - 3'(pop && out_last);
      token_q      <= in_token_i;
      bytes_q      <= in_bytes_i != '0;
    end
  end

  always_ff @(posedge clk_i) begin
    m_bytes : assume (in_bytes_i <= CountBits'(Bytes));
    m_pad   : assume (!in_last_i || (in_data_i >> (8 * in_bytes_i)) == '0);
    m_token : assume (in_token_i == '0 || in_last_i);
    if (rst_n_q) begin
      p_level : assert (level_q <= LevelBits'(Most));
      p_bytes : assert (!out_valid || LevelBits'(out_bytes) <= level_q);
      p_full  : assert (!out_valid || out_last || out_bytes == CountBits'(Bytes));
      p_ends  : assert (!out_valid || !out_last || ends_q != '0);
      p_token : assert (!out_valid || out_token == '0 || out_last);
      p_pad   : assert (!out_valid || (out_data >> (8 * out_bytes)) == '0);
      p_held  : assert (!held_q ||
                        (out_valid && {out_data, out_bytes, out_last, out_token} == held_data_q));
      if (byte_q && pop && ahead_q < gone) begin
        p_byte : assert (8'(out_data >> (8 * ahead_q)) == value_q);
      end
      if (end_q && pop) begin
        p_not_past : assert (LevelBits'(out_bytes) <= end_ahead_q);
        if (out_last && ends_ahead_q == '0) begin
          p_end : assert (LevelBits'(out_bytes) == end_ahead_q && out_token == token_q);
        end else begin
          p_with_byte : assert (!bytes_q || LevelBits'(out_bytes) != end_ahead_q);
        end
      end
    end
  end
endmodule
