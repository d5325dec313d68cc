// FIFO with deferred commit: words stay invisible to the reader until they are committed, and can
// be dropped until then. Commit or drop may accompany the last word written.
//
// Wide words are in block RAM, whose output register is then the output of the FIFO: a word can be
// read a cycle later, and there is room for one more.

`include "cu_assert.svh"

module cu_commit_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,  // power of two
  parameter int unsigned BlockRam = 32'(Width >= 384)
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             wvalid_i,
  output logic             wready_o,
  input  logic [Width-1:0] wdata_i,
  input  logic             commit_i,  // with a word: it and all before it can be read
  input  logic             drop_i,    // with a word: forget it and all since the last commit

  output logic             rvalid_o,
  input  logic             rready_i,
  output logic [Width-1:0] rdata_o
);
  localparam int unsigned PtrBits = $clog2(Depth);

  `ASSERT_PARAM(depth, $onehot(Depth), "Depth must be a power of two")

  logic [PtrBits:0] write_q, commit_q, read_q;
  logic full_q, valid_q;

  wire push = wvalid_i && wready_o;
  logic pop;  // out of the memory
  wire commit = push && commit_i;
  wire [PtrBits:0] write_next = write_q + 1'b1;
  wire [PtrBits:0] read_next = read_q + 1'b1;

  assign wready_o = !full_q;

  if (BlockRam != 0) begin : g_block_ram
    (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
    logic [Width-1:0] rdata_q;
    logic rvalid_q;
    assign pop      = valid_q && (!rvalid_q || rready_i);
    assign rvalid_o = rvalid_q;
    assign rdata_o  = rdata_q;
    always_ff @(posedge clk_i) begin
      if (push) mem[write_q[PtrBits-1:0]] <= wdata_i;
      if (pop) rdata_q <= mem[read_q[PtrBits-1:0]];
      if (!rst_ni) rvalid_q <= 1'b0;
      else if (!rvalid_q || rready_i) rvalid_q <= valid_q;
    end
  end else begin : g_lut_ram
    logic [Width-1:0] mem[Depth];
    assign pop      = rvalid_o && rready_i;
    assign rvalid_o = valid_q;
    assign rdata_o  = mem[read_q[PtrBits-1:0]];
    always_ff @(posedge clk_i) if (push) mem[write_q[PtrBits-1:0]] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q  <= '0;
      commit_q <= '0;
      read_q   <= '0;
      full_q   <= 1'b0;
      valid_q  <= 1'b0;
    end else begin
      if (push) write_q <= drop_i ? commit_q : write_next;
      if (commit) commit_q <= write_next;
      if (pop) read_q <= read_next;
      // What decides is late, so it only chooses among comparisons.
      if (pop) valid_q <= commit ? write_q != read_q : read_next != commit_q;
      else valid_q <= commit || read_q != commit_q;
      if (pop) full_q <= 1'b0;
      else if (push && !drop_i) full_q <= (write_next ^ read_q) == {1'b1, {PtrBits{1'b0}}};
    end
  end

  `ASSERT(a_one_fate, !(commit_i && drop_i))
  `ASSERT(a_valid, valid_q == (read_q != commit_q))
  // Uncommitted words alone must never fill it, because no reader could make room.
  `ASSERT(a_room, !wready_o |-> commit_q != read_q)
endmodule
