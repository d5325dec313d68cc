// cu_credit: there is credit exactly while fewer than Depth places are taken.

module f_credit #(
  parameter int unsigned Depth = 5,
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input logic clk_i,
  input logic take_i,
  input logic give_i
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic avail, all_free;
  cu_credit #(.Depth(Depth)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .take_i, .give_i, .avail_o(avail), .all_o(all_free)
  );

  logic [CountBits-1:0] taken_q = '0;
  always_ff @(posedge clk_i) begin
    if (rst_n_q) taken_q <= taken_q + CountBits'(take_i) - CountBits'(give_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_n_q) begin
      m_take : assume (!take_i || avail);
      m_give : assume (!give_i || taken_q != '0);
      p_avail : assert (avail == (taken_q != CountBits'(Depth)));
      p_all   : assert (all_free == (taken_q == '0));
      p_bound : assert (taken_q <= CountBits'(Depth));
    end
  end
endmodule
