// cu_commit_fifo: a word is read once and in order if it was committed, and never if it was dropped.
// An arbitrary word is followed through.

module f_commit_fifo #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4,
  parameter int unsigned BlockRam = 0,
  localparam int unsigned CountBits = $clog2(Depth + 2)
) (
  input logic             clk_i,
  input logic             wvalid_i,
  input logic [Width-1:0] wdata_i,
  input logic             commit_i,
  input logic             drop_i,
  input logic             rready_i,
  input logic             follow_i  // the word pushed now is the one to follow
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic wready, rvalid;
  logic [Width-1:0] rdata;
  cu_commit_fifo #(.Width(Width), .Depth(Depth), .BlockRam(BlockRam)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .wvalid_i, .wready_o(wready), .wdata_i, .commit_i, .drop_i,
    .rvalid_o(rvalid), .rready_i, .rdata_o(rdata)
  );

  wire push = rst_n_q && wvalid_i && wready;
  wire pop = rst_n_q && rvalid && rready_i;

  logic [CountBits-1:0] visible_q = '0, open_q = '0;  // words committed; not yet
  logic following_q = 1'b0, committed_q, held_q = 1'b0, visible_before_q = 1'b0;
  logic [CountBits-1:0] ahead_q;
  logic [Width-1:0] word_q, held_data_q;

  always_ff @(posedge clk_i) begin
    if (push && commit_i) begin
      visible_q <= visible_q + open_q + CountBits'(1) - CountBits'(pop);
      open_q    <= '0;
    end else begin
      visible_q <= visible_q - CountBits'(pop);
      if (push) open_q <= drop_i ? '0 : open_q + 1'b1;
    end
    visible_before_q <= rst_n_q && visible_q > CountBits'(pop);
    held_q      <= rst_n_q && rvalid && !rready_i;
    held_data_q <= rdata;
    if (following_q) begin
      if (pop) ahead_q <= ahead_q - 1'b1;
      if (pop && ahead_q == '0) following_q <= 1'b0;
      if (push && commit_i) committed_q <= 1'b1;
      if (push && drop_i && !committed_q) following_q <= 1'b0;
    end else if (push && follow_i && !drop_i) begin
      following_q <= 1'b1;
      committed_q <= commit_i;
      ahead_q     <= visible_q + open_q - CountBits'(pop);
      word_q      <= wdata_i;
    end
  end

  always_ff @(posedge clk_i) begin
    // The writer's side of the contract.
    m_one_fate : assume (!(commit_i && drop_i));
    m_room     : assume (!wvalid_i || open_q != CountBits'(Depth - 1) || commit_i || drop_i);
    if (rst_n_q) begin
      // With block RAM, the output register holds a word more, and is filled a cycle late.
      p_full  : assert (wready == (visible_q + open_q !=
                                   CountBits'(Depth) + CountBits'(BlockRam != 0 && rvalid)));
      p_empty : assert ((visible_q != '0) ? rvalid || (BlockRam != 0 && !visible_before_q)
                                          : !rvalid);
      p_held  : assert (!held_q || (rvalid && rdata == held_data_q));
      if (following_q && pop && ahead_q == '0) begin
        p_word : assert (rdata == word_q && committed_q);
      end
    end
  end
endmodule
