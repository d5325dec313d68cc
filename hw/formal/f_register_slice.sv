// cu_register_slice: what goes in comes out once, in order; it takes a word in every cycle in which
// it holds at most one, which is full throughput, and shows one whenever it holds any. An arbitrary
// word is followed through (`ahead_q`: words before it).

module f_register_slice #(
  parameter int unsigned Width = 2
) (
  input logic             clk_i,
  input logic             wvalid_i,
  input logic [Width-1:0] wdata_i,
  input logic             rready_i,
  input logic             follow_i  // the word pushed now is the one to follow
);
  // Reset in the first cycle, never again; in the cycle after it, the slice is not ready yet.
  logic rst_n_q = 1'b0, awake_q = 1'b0;
  always_ff @(posedge clk_i) begin
    rst_n_q <= 1'b1;
    awake_q <= rst_n_q;
  end

  logic wready, rvalid;
  logic [Width-1:0] rdata;
  cu_register_slice #(.Width(Width)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .wvalid_i, .wready_o(wready), .wdata_i,
    .rvalid_o(rvalid), .rready_i, .rdata_o(rdata)
  );

  wire push = rst_n_q && wvalid_i && wready;
  wire pop = rst_n_q && rvalid && rready_i;

  logic [1:0] words_q = '0;
  logic following_q = 1'b0, held_q = 1'b0;
  logic [1:0] ahead_q;
  logic [Width-1:0] word_q, held_data_q;

  always_ff @(posedge clk_i) begin
    words_q     <= words_q + 2'(push) - 2'(pop);
    held_q      <= rst_n_q && rvalid && !rready_i;
    held_data_q <= rdata;
    if (push && follow_i && !following_q) begin
      following_q <= 1'b1;
      ahead_q     <= words_q - 2'(pop);
      word_q      <= wdata_i;
    end else if (following_q && pop) begin
      ahead_q <= ahead_q - 1'b1;
      if (ahead_q == '0) following_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n_q) begin
      p_room  : assert (wready == (awake_q && words_q != 2'd2));
      p_there : assert (rvalid == (words_q != '0));
      p_held  : assert (!held_q || (rvalid && rdata == held_data_q));
      if (following_q && pop && ahead_q == '0) begin
        p_word : assert (rdata == word_q);
      end
      if (following_q) begin
        p_order : assert (ahead_q < words_q);
      end
    end
  end
endmodule
