// Joins verdicts with the records' values: those of kept records go on, the others' are discarded.
// max(1, ceil(value/V)) cycles per record, with none in between:
//
//   issue  takes a verdict and the winner's record info as soon as the record before it moves its
//          last beat; passes kept records on
//   move   the value's beats, one per cycle
//   count  takes the record's hash, which comes after its value, behind the others' backs

module cu_transfer #(
  parameter int unsigned V = 8,
  parameter int unsigned N = 4,
  localparam int unsigned WB = (N > 1) ? $clog2(N) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  vd_valid_i,
  output logic                  vd_ready_o,
  input  logic                  vd_end_i,
  input  logic [WB-1:0]         vd_way_i,
  input  logic                  vd_in_range_i,
  input  logic                  vd_keep_i,
  input  logic                  vd_tombstone_i,
  input  logic [15:0]           vd_user_bytes_i,
  input  logic [15:0]           vd_shared_i,
  input  logic [63:0]           vd_trailer_i,

  input  logic [N-1:0]          rec_valid_i,
  output logic [N-1:0]          rec_ready_o,
  input  logic [N-1:0][31:0]    rec_value_bytes_i,

  input  logic [N-1:0]          hash_valid_i,
  output logic [N-1:0]          hash_ready_o,
  input  logic [N-1:0][63:0]    hash_i,

  input  logic [N-1:0]          value_valid_i,
  output logic [N-1:0]          value_ready_o,
  input  logic [N-1:0][V*8-1:0] value_data_i,

  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic                  out_end_o,
  output logic                  out_tombstone_o,
  output logic [15:0]           out_user_bytes_o,
  output logic [15:0]           out_shared_o,
  output logic [63:0]           out_trailer_o,
  output logic [31:0]           out_value_bytes_o,

  output logic                  ov_valid_o,
  input  logic                  ov_ready_i,
  output logic [V*8-1:0]        ov_data_o,

  // Over records in range; final when the end has come out.
  output logic [63:0]           input_records_o,
  output logic [63:0]           dropped_records_o,
  output logic [63:0]           input_checksum_o,
  output logic [63:0]           dropped_checksum_o,
  output logic                  stall_merge_o,  // level: idle for want of a verdict
  output logic                  stall_value_o   // level: ... of the winner's info, value or hash
);
  localparam int unsigned VBits = $clog2(V);
  localparam int unsigned OutDepth = 16;
  localparam int unsigned RecordBits = 1 + 1 + 16 + 16 + 64 + 32;

  // ------------------------------------------------------------ move
  logic busy_q;  // a record with beats left
  logic [WB-1:0] way_q;
  logic keep_q, final_q;
  logic [31:0] left_q;  // beats after this one
  logic value_there, ov_ready;

  assign value_there = value_valid_i[way_q];
  wire move = busy_q && value_there && (!keep_q || ov_ready);
  wire free = !busy_q || (move && final_q);

  always_comb begin
    for (int unsigned w = 0; w < N; w++) begin
      value_ready_o[w] = busy_q && (!keep_q || ov_ready) && way_q == WB'(w);
    end
  end

  // ------------------------------------------------------------ issue
  logic ended_q, rec_there, record_ready;
  logic [31:0] value_bytes;
  logic counting, count_ready;  // hashes are due; there is room for one more to be due

  assign rec_there   = rec_valid_i[vd_way_i];
  assign value_bytes = rec_value_bytes_i[vd_way_i];

  // The end waits for the counters.
  assign vd_ready_o = free && !ended_q && record_ready
                      && (vd_end_i ? !counting : count_ready && rec_there);
  wire issue = vd_valid_i && vd_ready_o;
  always_comb begin
    for (int unsigned w = 0; w < N; w++) begin
      rec_ready_o[w] = vd_valid_i && !vd_end_i && free && !ended_q && record_ready && count_ready
                       && vd_way_i == WB'(w);
    end
  end

  always_ff @(posedge clk_i) begin
    if (issue) begin
      way_q   <= vd_way_i;
      keep_q  <= vd_keep_i;
      left_q  <= (value_bytes - 1'b1) >> VBits;
      final_q <= value_bytes <= V;
    end else if (move) begin
      left_q  <= left_q - 1'b1;
      final_q <= left_q == 32'd1;
    end
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      if (issue) busy_q <= !vd_end_i && value_bytes != '0;
      else if (free) busy_q <= 1'b0;
      if (issue && vd_end_i) ended_q <= 1'b1;
    end
  end

  // ------------------------------------------------------------ count
  logic [WB-1:0] count_way;
  logic count_in_range, count_drop, counted;
  logic count_q, drop_q;
  logic [63:0] hash_q;
  logic [3:0] unused_counting;

  cu_fifo #(.Width(WB + 2), .Depth(8)) u_counting (
    .clk_i, .rst_ni, .wvalid_i(issue && !vd_end_i), .wready_o(count_ready),
    .wdata_i({vd_way_i, vd_in_range_i, vd_in_range_i && !vd_keep_i}),
    .rvalid_o(counting), .rready_i(counted), .rdata_o({count_way, count_in_range, count_drop}),
    .count_o(unused_counting)
  );

  assign counted = hash_valid_i[count_way];
  always_comb begin
    for (int unsigned w = 0; w < N; w++) hash_ready_o[w] = counting && count_way == WB'(w);
  end

  always_ff @(posedge clk_i) begin
    hash_q  <= hash_i[count_way];
    count_q <= rst_ni && counting && counted && count_in_range;
    drop_q  <= rst_ni && counting && counted && count_drop;
  end

  // A cycle behind the hash, as the end in its FIFO is.
  logic [63:0] input_records_q, dropped_records_q, input_checksum_q, dropped_checksum_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      input_records_q    <= '0;
      dropped_records_q  <= '0;
      input_checksum_q   <= '0;
      dropped_checksum_q <= '0;
    end else begin
      if (count_q) begin
        input_records_q  <= input_records_q + 1'b1;
        input_checksum_q <= input_checksum_q + hash_q;
      end
      if (drop_q) begin
        dropped_records_q  <= dropped_records_q + 1'b1;
        dropped_checksum_q <= dropped_checksum_q + hash_q;
      end
    end
  end

  assign input_records_o    = input_records_q;
  assign dropped_records_o  = dropped_records_q;
  assign input_checksum_o   = input_checksum_q;
  assign dropped_checksum_o = dropped_checksum_q;

  assign stall_merge_o = !busy_q && !vd_valid_i && !ended_q;
  assign stall_value_o = busy_q ? !value_there
                                : vd_valid_i && !ended_q && !vd_end_i
                                  && !(rec_there && count_ready);

  // ------------------------------------------------------------ out
  logic [4:0] unused_records, unused_values;

  cu_fifo #(.Width(RecordBits), .Depth(OutDepth)) u_records (
    .clk_i, .rst_ni, .wvalid_i(issue && (vd_end_i || vd_keep_i)), .wready_o(record_ready),
    .wdata_i({vd_end_i, vd_tombstone_i, vd_user_bytes_i, vd_shared_i, vd_trailer_i, value_bytes}),
    .rvalid_o(out_valid_o), .rready_i(out_ready_i),
    .rdata_o({out_end_o, out_tombstone_o, out_user_bytes_o, out_shared_o, out_trailer_o,
              out_value_bytes_o}),
    .count_o(unused_records)
  );

  cu_fifo #(.Width(V * 8), .Depth(OutDepth)) u_values (
    .clk_i, .rst_ni, .wvalid_i(busy_q && value_there && keep_q), .wready_o(ov_ready),
    .wdata_i(value_data_i[way_q]),
    .rvalid_o(ov_valid_o), .rready_i(ov_ready_i), .rdata_o(ov_data_o), .count_o(unused_values)
  );

`ifndef SYNTHESIS
  initial begin
    if (V != 8 && V != 16 && V != 32 && V != 64) $fatal(1, "V must be 8, 16, 32 or 64");
    if (N < 1 || N > 16) $fatal(1, "N must be 1 to 16");
  end

  a_keep_in_range : assert property (@(posedge clk_i) disable iff (!rst_ni)
      vd_valid_i && vd_keep_i |-> vd_in_range_i);
  a_way : assert property (@(posedge clk_i) disable iff (!rst_ni)
      vd_valid_i |-> 32'(vd_way_i) < N);
  c_back_to_back : cover property (@(posedge clk_i) move && final_q && issue);
`endif
endmodule
