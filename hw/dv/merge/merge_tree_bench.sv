// cu_merge_tree with a port per field, for benches in C++.

`include "cu_streams.svh"

module merge_tree_bench #(
  parameter int unsigned Ways        = 4,
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned CountBits = $clog2(ValueBytes + 1),
  localparam int unsigned WayBits = $clog2(Ways)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic [Ways-1:0]                   in_valid_i,
  output logic [Ways-1:0]                   in_ready_o,
  input  logic [Ways-1:0][ValueBytes*8-1:0] in_data_i,
  input  logic [Ways-1:0][CountBits-1:0]    in_bytes_i,
  input  logic [Ways-1:0]                   in_last_i,
  input  logic [Ways-1:0]                   in_eos_i,
  input  logic [Ways-1:0][63:0]             in_trailer_i,
  input  logic [Ways-1:0]                   in_parity_i,
  output logic                              out_valid_o,
  input  logic                              out_ready_i,
  output logic [ValueBytes*8-1:0]           out_data_o,
  output logic [CountBits-1:0]              out_bytes_o,
  output logic                              out_last_o,
  output logic                              out_eos_o,
  output logic [63:0]                       out_trailer_o,
  output logic                              out_parity_o,
  output logic [WayBits-1:0]                out_way_o
);
  typedef `CU_KEY_T(ValueBytes) key_t;
  key_t [Ways-1:0] key;
  for (genvar w = 0; w < Ways; w++) begin : g_way
    assign key[w] = {in_data_i[w], in_bytes_i[w], in_last_i[w], in_eos_i[w], in_trailer_i[w],
                     in_parity_i[w]};
  end

  cu_merge_tree #(.Ways(Ways), .ValueBytes(ValueBytes), .MaxKeyBytes(MaxKeyBytes)) u_dut (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_i(key), .out_valid_o, .out_ready_i,
    .out_o({out_data_o, out_bytes_o, out_last_o, out_eos_o, out_trailer_o, out_parity_o,
            out_way_o})
  );
endmodule
