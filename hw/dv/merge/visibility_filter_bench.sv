// cu_visibility_filter with a port per field, for benches in C++.

module visibility_filter_bench #(
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned Ways        = 4,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned CountBits = $clog2(ValueBytes + 1),
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1,
  localparam int unsigned RangeBits = (MaxKeyBytes > 8) ? $clog2((MaxKeyBytes + 7) / 8) : 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [55:0]             snapshot_i,
  input  logic                    bottommost_i,
  input  logic                    has_begin_i,
  input  logic                    has_end_i,
  input  logic [15:0]             begin_bytes_i,
  input  logic [15:0]             end_bytes_i,
  input  logic                    range_we_i,
  input  logic                    range_sel_i,
  input  logic [RangeBits-1:0]    range_addr_i,
  input  logic [63:0]             range_data_i,
  input  logic                    key_valid_i,
  output logic                    key_ready_o,
  input  logic [ValueBytes*8-1:0] key_data_i,
  input  logic [CountBits-1:0]    key_bytes_i,
  input  logic                    key_last_i,
  input  logic                    key_eos_i,
  input  logic [63:0]             key_trailer_i,
  input  logic [WayBits-1:0]      key_way_i,
  input  logic                    key_parity_i,
  output logic                    verdict_valid_o,
  input  logic                    verdict_ready_i,
  output logic                    verdict_eos_o,
  output logic [WayBits-1:0]      verdict_way_o,
  output logic                    verdict_in_range_o,
  output logic                    verdict_keep_o,
  output logic                    verdict_tombstone_o,
  output logic [15:0]             verdict_user_bytes_o,
  output logic [15:0]             verdict_shared_o,
  output logic [63:0]             verdict_trailer_o,
  output logic                    kept_key_valid_o,
  input  logic                    kept_key_ready_i,
  output logic [ValueBytes*8-1:0] kept_key_data_o,
  output logic                    kept_key_last_o,
  output logic                    parity_error_o
);
  cu_visibility_filter #(.ValueBytes(ValueBytes), .Ways(Ways), .MaxKeyBytes(MaxKeyBytes)) u_dut (
    .clk_i, .rst_ni, .snapshot_i, .bottommost_i, .has_begin_i, .has_end_i, .begin_bytes_i,
    .end_bytes_i, .range_we_i, .range_sel_i, .range_addr_i, .range_data_i, .key_valid_i,
    .key_ready_o, .verdict_valid_o, .verdict_ready_i, .kept_key_valid_o, .kept_key_ready_i,
    .kept_key_data_o, .kept_key_last_o, .parity_error_o,
    .key_i({key_data_i, key_bytes_i, key_last_i, key_eos_i, key_trailer_i, key_parity_i,
      key_way_i}),
    .verdict_o({verdict_eos_o, verdict_way_o, verdict_in_range_o, verdict_keep_o,
      verdict_tombstone_o, verdict_user_bytes_o, verdict_shared_o, verdict_trailer_o})
  );
endmodule
