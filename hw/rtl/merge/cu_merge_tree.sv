// Merges the sorted key streams of 2 to 16 ways with Ways - 1 two-way nodes; the lower way wins
// ties. Trailer, way and parity of the output are valid with last.
//
// Nodes are numbered as in a heap: node i merges streams 2i and 2i+1 into stream i; 1 is the
// output, and the inputs are streams Ways to 2*Ways-1. From left to right those are Base..2*Ways-1,
// then Ways..Base-1, where Base is the next power of two. Ways are assigned in that order, so that
// the left side of every node holds the lower ways.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_merge_tree #(
  parameter int unsigned Ways        = 4,
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam type in_key_t = `CU_KEY_T(ValueBytes),
  localparam type key_t = `CU_MERGED_KEY_T(ValueBytes, Ways)
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic [Ways-1:0]    in_valid_i,
  output logic [Ways-1:0]    in_ready_o,
  input  in_key_t [Ways-1:0] in_i,

  output logic               out_valid_o,
  input  logic               out_ready_i,
  output key_t               out_o
);
  localparam int unsigned WayBits = $clog2(Ways);
  localparam int unsigned Base = 1 << $clog2(Ways);

  `ASSERT_PARAM(ways, Ways inside {[2:16]}, "Ways must be 2 to 16")

  for (genvar i = 1; i < 2 * Ways; i++) begin : g_stream
    logic valid, ready, room;
    key_t key;
  end

  for (genvar w = 0; w < Ways; w++) begin : g_way
    localparam int unsigned Stream = (w < 2 * Ways - Base) ? Base + w : Base + w - Ways;
    assign g_stream[Stream].valid = in_valid_i[w];
    assign g_stream[Stream].key   = {in_i[w], WayBits'(w)};
    assign in_ready_o[w]          = g_stream[Stream].ready;
    wire unused_room = g_stream[Stream].room;
  end

  for (genvar i = 1; i < Ways; i++) begin : g_node
    cu_merge_node #(
      .ValueBytes(ValueBytes), .Ways(Ways), .MaxKeyBytes(MaxKeyBytes), .ToNode(32'(i > 1))
    ) u_node (
      .clk_i, .rst_ni,
      .a_valid_i(g_stream[2*i].valid), .a_ready_o(g_stream[2*i].ready),
      .a_room_o(g_stream[2*i].room), .a_i(g_stream[2*i].key),
      .b_valid_i(g_stream[2*i+1].valid), .b_ready_o(g_stream[2*i+1].ready),
      .b_room_o(g_stream[2*i+1].room), .b_i(g_stream[2*i+1].key),
      .out_valid_o(g_stream[i].valid), .out_ready_i(g_stream[i].ready),
      .out_room_i(g_stream[i].room), .out_o(g_stream[i].key)
    );
  end

  assign g_stream[1].ready = out_ready_i;
  assign g_stream[1].room  = 1'b0;
  assign out_valid_o = g_stream[1].valid;
  assign out_o       = g_stream[1].key;
endmodule
