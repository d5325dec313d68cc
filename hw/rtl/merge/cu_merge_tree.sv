// Merges N sorted key streams (2 to 16, any number) with N-1 two-way nodes; the lower way wins
// ties. Trailer, way and parity of the output are valid with last.
//
// Nodes are numbered as in a heap: node i merges streams 2i and 2i+1 into stream i, 1 is the
// output, and inputs are streams N to 2N-1. From left to right those are Base..2N-1, then
// N..Base-1, with Base the next power of two: ways are dealt in that order, so that the left side
// of every node holds the lower ways.

module cu_merge_tree #(
  parameter int unsigned N           = 4,
  parameter int unsigned V           = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned KB = $clog2(V + 1),
  localparam int unsigned WB = (N > 1) ? $clog2(N) : 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic [N-1:0]            in_valid_i,
  output logic [N-1:0]            in_ready_o,
  input  logic [N-1:0][V*8-1:0]   in_data_i,
  input  logic [N-1:0][KB-1:0]    in_bytes_i,
  input  logic [N-1:0]            in_last_i,
  input  logic [N-1:0]            in_eos_i,
  input  logic [N-1:0][63:0]      in_trailer_i,
  input  logic [N-1:0]            in_parity_i,  // rides along

  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [V*8-1:0]          out_data_o,
  output logic [KB-1:0]           out_bytes_o,
  output logic                    out_last_o,
  output logic                    out_eos_o,
  output logic [63:0]             out_trailer_o,
  output logic [WB-1:0]           out_way_o,
  output logic                    out_parity_o
);
  localparam int unsigned Base = 1 << $clog2(N);

  typedef struct packed {
    logic           valid;
    logic [V*8-1:0] data;
    logic [KB-1:0]  bytes;
    logic           last;
    logic           eos;
    logic [63:0]    trailer;
    logic           parity;
    logic [WB-1:0]  way;
  } key_t;

  for (genvar i = 1; i < 2 * N; i++) begin : g_stream
    key_t key;
    logic ready;
  end

  for (genvar w = 0; w < N; w++) begin : g_way
    localparam int unsigned Stream = (w < 2 * N - Base) ? Base + w : Base + w - N;
    assign g_stream[Stream].key = '{
      valid: in_valid_i[w], data: in_data_i[w], bytes: in_bytes_i[w], last: in_last_i[w],
      eos: in_eos_i[w], trailer: in_trailer_i[w], parity: in_parity_i[w],
      way: WB'(w)
    };
    assign in_ready_o[w] = g_stream[Stream].ready;
  end

  for (genvar i = 1; i < N; i++) begin : g_node
    cu_merge_node #(.V(V), .WayBits(WB + 1), .MaxKeyBytes(MaxKeyBytes)) u_node (
      .clk_i, .rst_ni,
      .a_valid_i(g_stream[2*i].key.valid), .a_ready_o(g_stream[2*i].ready),
      .a_data_i(g_stream[2*i].key.data), .a_bytes_i(g_stream[2*i].key.bytes),
      .a_last_i(g_stream[2*i].key.last), .a_eos_i(g_stream[2*i].key.eos),
      .a_trailer_i(g_stream[2*i].key.trailer),
      .a_way_i({g_stream[2*i].key.parity, g_stream[2*i].key.way}),
      .b_valid_i(g_stream[2*i+1].key.valid), .b_ready_o(g_stream[2*i+1].ready),
      .b_data_i(g_stream[2*i+1].key.data), .b_bytes_i(g_stream[2*i+1].key.bytes),
      .b_last_i(g_stream[2*i+1].key.last), .b_eos_i(g_stream[2*i+1].key.eos),
      .b_trailer_i(g_stream[2*i+1].key.trailer),
      .b_way_i({g_stream[2*i+1].key.parity, g_stream[2*i+1].key.way}),
      .out_valid_o(g_stream[i].key.valid), .out_ready_i(g_stream[i].ready),
      .out_data_o(g_stream[i].key.data), .out_bytes_o(g_stream[i].key.bytes),
      .out_last_o(g_stream[i].key.last), .out_eos_o(g_stream[i].key.eos),
      .out_trailer_o(g_stream[i].key.trailer),
      .out_way_o({g_stream[i].key.parity, g_stream[i].key.way})
    );
  end

  assign g_stream[1].ready = out_ready_i;
  assign out_valid_o   = g_stream[1].key.valid;
  assign out_data_o    = g_stream[1].key.data;
  assign out_bytes_o   = g_stream[1].key.bytes;
  assign out_last_o    = g_stream[1].key.last;
  assign out_eos_o     = g_stream[1].key.eos;
  assign out_trailer_o = g_stream[1].key.trailer;
  assign out_way_o     = g_stream[1].key.way;
  assign out_parity_o  = g_stream[1].key.parity;

`ifndef SYNTHESIS
  initial begin
    if (N < 2 || N > 16) $fatal(1, "N must be 2 to 16");
  end
`endif
endmodule
