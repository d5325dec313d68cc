// Collects the restart offsets of the open block; when it ends, emits the array and its length as
// chunks.
//
// A row holds Bytes/4 offsets, with one memory per column, so that one row leaves per cycle. The
// length uses a free column of the last row if there is one. Chunks are valid from the second cycle
// after the last push; taking the last one (next_i with last_o) empties the array.
//
// Protection against bit flips: the XOR of the bytes and the number of the offsets that leave must
// equal those of the offsets that came.

`include "cu_assert.svh"

module cu_restart_array #(
  parameter int unsigned Bytes = 8,           // of a chunk: a power of two, 8 or more
  parameter int unsigned MaxRestarts = 8192,  // a multiple of Bytes/4, more than one row
  localparam int unsigned CountBits = $clog2(Bytes + 1),
  localparam int unsigned RestartBits = $clog2(MaxRestarts + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,  // synchronous

  input  logic                   push_i,  // not when full
  input  logic [31:0]            push_offset_i,
  output logic                   full_o,
  output logic [RestartBits-1:0] count_o,

  input  logic                   next_i,     // the chunk is taken
  output logic [Bytes*8-1:0]     data_o,
  output logic [CountBits-1:0]   bytes_o,
  output logic                   last_o,
  output logic [7:0]             checksum_o  // of all that came and left: zero between arrays
);
  localparam int unsigned Lanes = Bytes / 4;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned Rows = MaxRestarts / Lanes;
  localparam int unsigned RowBits = $clog2(Rows);

  `ASSERT_PARAM(bytes, $onehot(Bytes) && Bytes >= 8, "Bytes must be a power of two, 8 or more")
  `ASSERT_PARAM(max_restarts, MaxRestarts % Lanes == 0 && Rows >= 2,
                "MaxRestarts must fill two or more rows of Bytes/4")

  logic [RestartBits-1:0] count_q;
  logic [RestartBits-1:0] left_q, left_d;  // restarts from the shown row on; while closing
  logic [RowBits-1:0] row_q, row_d;
  logic closing_q;
  logic [Lanes-1:0][31:0] row_data;

  wire [RestartBits-1:0] left = closing_q ? left_q : count_q;
  assign full_o  = count_q == RestartBits'(MaxRestarts);
  assign count_o = count_q;
  assign last_o  = left < RestartBits'(Lanes);
  assign bytes_o = last_o ? CountBits'((32'(left) + 32'd1) << 2) : CountBits'(Bytes);

  always_comb begin
    row_d  = row_q;
    left_d = left - RestartBits'(Lanes);
    if (next_i) row_d = last_o ? '0 : row_q + 1'b1;
    for (int i = 0; i < int'(Lanes); i++) begin
      if (RestartBits'(i) < left) begin
        data_o[32*i+:32] = row_data[i];
      end else begin
        data_o[32*i+:32] = (RestartBits'(i) == left) ? 32'(count_q) : 32'h0;
      end
    end
  end

  for (genvar i = 0; i < Lanes; i++) begin : g_lane
    logic [31:0] mem[Rows];
    always_ff @(posedge clk_i) begin
      if (push_i && count_q[LaneBits-1:0] == LaneBits'(i)) begin
        mem[count_q[LaneBits+:RowBits]] <= push_offset_i;
      end
      row_data[i] <= mem[row_d];
    end
  end

  always_ff @(posedge clk_i) begin
    left_q <= next_i ? left_d : left;
    row_q  <= row_d;
    if (next_i) closing_q <= !last_o;
    if (push_i) count_q <= count_q + 1'b1;
    if (next_i && last_o) count_q <= '0;
    if (!rst_ni) begin
      count_q   <= '0;
      row_q     <= '0;
      closing_q <= 1'b0;
    end
  end

  logic [RestartBits-1:0] pushed_q;  // as count_q
  logic [7:0] in_checksum, out_checksum;
  wire taken = next_i && last_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || taken) pushed_q <= '0;
    else if (push_i) pushed_q <= pushed_q + 1'b1;
  end
  cu_xor_checksum #(.Bytes(4)) u_in_checksum (
    .clk_i, .rst_ni, .valid_i(push_i || taken), .data_i(push_i ? push_offset_i : 32'(pushed_q)),
    .checksum_o(in_checksum)
  );
  cu_xor_checksum #(.Bytes(Bytes)) u_out_checksum (
    .clk_i, .rst_ni, .valid_i(next_i), .data_i(data_o), .checksum_o(out_checksum)
  );
  assign checksum_o = in_checksum ^ out_checksum;

  `ASSERT(a_room, push_i |-> !full_o)
  `ASSERT(a_apart, push_i |-> !next_i && !closing_q)
endmodule
