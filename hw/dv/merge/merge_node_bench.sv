// cu_merge_node with a port per field, for benches in C++.

module merge_node_bench #(
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned CountBits = $clog2(ValueBytes + 1)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    a_valid_i,
  output logic                    a_ready_o,
  input  logic [ValueBytes*8-1:0] a_data_i,
  input  logic [CountBits-1:0]    a_bytes_i,
  input  logic                    a_last_i,
  input  logic                    a_eos_i,
  input  logic [63:0]             a_trailer_i,
  input  logic                    a_way_i,
  input  logic                    b_valid_i,
  output logic                    b_ready_o,
  input  logic [ValueBytes*8-1:0] b_data_i,
  input  logic [CountBits-1:0]    b_bytes_i,
  input  logic                    b_last_i,
  input  logic                    b_eos_i,
  input  logic [63:0]             b_trailer_i,
  input  logic                    b_way_i,
  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output logic [ValueBytes*8-1:0] out_data_o,
  output logic [CountBits-1:0]    out_bytes_o,
  output logic                    out_last_o,
  output logic                    out_eos_o,
  output logic [63:0]             out_trailer_o,
  output logic                    out_way_o
);
  logic unused_parity;

  cu_merge_node #(.ValueBytes(ValueBytes), .Ways(2), .MaxKeyBytes(MaxKeyBytes)) u_dut (
    .clk_i, .rst_ni, .a_valid_i, .a_ready_o, .a_room_o(), .b_valid_i, .b_ready_o, .b_room_o(),
    .out_valid_o, .out_ready_i, .out_room_i(1'b0),
    .a_i({a_data_i, a_bytes_i, a_last_i, a_eos_i, a_trailer_i, 1'b0, a_way_i}),
    .b_i({b_data_i, b_bytes_i, b_last_i, b_eos_i, b_trailer_i, 1'b0, b_way_i}),
    .out_o({out_data_o, out_bytes_o, out_last_o, out_eos_o, out_trailer_o, unused_parity,
            out_way_o})
  );
endmodule
