// cu_fifo and cu_ram_fifo: what goes in comes out once, in order, and both sides say truly whether
// there is room and a word. An arbitrary word is followed through (`ahead_q`: words before it).

module f_fifo #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4,
  parameter int unsigned Ram = 0,      // cu_ram_fifo
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input logic             clk_i,
  input logic             wvalid_i,
  input logic [Width-1:0] wdata_i,
  input logic             rready_i,
  input logic             follow_i  // the word pushed now is the one to follow
);
  // Reset in the first cycle, never again.
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic wready, rvalid, error;
  logic [Width-1:0] rdata;
  logic [CountBits-1:0] count;
  if (Ram != 0) begin : g_ram
    cu_ram_fifo #(.Width(Width), .Depth(Depth)) u_dut (
      .clk_i, .rst_ni(rst_n_q), .wvalid_i, .wready_o(wready), .wdata_i,
      .rvalid_o(rvalid), .rready_i, .rdata_o(rdata), .count_o(count), .error_o(error)
    );
  end else begin : g_lut
    cu_fifo #(.Width(Width), .Depth(Depth)) u_dut (
      .clk_i, .rst_ni(rst_n_q), .wvalid_i, .wready_o(wready), .wdata_i,
      .rvalid_o(rvalid), .rready_i, .rdata_o(rdata), .count_o(count)
    );
    assign error = 1'b0;
  end

  wire push = rst_n_q && wvalid_i && wready;
  wire pop = rst_n_q && rvalid && rready_i;

  logic [CountBits-1:0] words_q = '0;
  logic following_q = 1'b0, pushed_q = 1'b0, held_q = 1'b0;
  logic [CountBits-1:0] ahead_q;
  logic [Width-1:0] word_q, held_data_q;

  always_ff @(posedge clk_i) begin
    words_q  <= words_q + CountBits'(push) - CountBits'(pop);
    pushed_q <= push;
    held_q   <= rst_n_q && rvalid && !rready_i;
    held_data_q <= rdata;
    if (push && follow_i && !following_q) begin
      following_q <= 1'b1;
      ahead_q     <= words_q - CountBits'(pop);
      word_q      <= wdata_i;
    end else if (following_q && pop) begin
      ahead_q <= ahead_q - 1'b1;
      if (ahead_q == '0) following_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n_q) begin
      p_count : assert (count == words_q);
      p_full  : assert (wready == (words_q != CountBits'(Depth)));
      p_empty : assert (!(rvalid && words_q == '0));
      // A RAM takes a cycle to be read: of the word pushed last, nothing is seen yet.
      p_there : assert (rvalid || words_q == CountBits'(Ram != 0 && pushed_q));
      p_sound : assert (!error);
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
