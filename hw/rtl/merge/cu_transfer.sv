// Joins verdicts with the records' values: passes on those of kept records and discards the others.
// max(1, ceil(value/V)) cycles per record, without gaps:
//
//   issue  takes a verdict and the winner's record info as soon as the previous record moves its
//          last beat; emits kept records
//   move   moves the value's beats, one per cycle
//   count  takes the record's hash, which follows its value, independently of the other two
//
// Every record that a way's decoder has announced must come out of the merge tree, once, unchanged
// and in its turn: the tag of each verdict must be that of the way's next record info.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_transfer #(
  parameter int unsigned ValueBytes = 8,
  parameter int unsigned Ways = 4,
  localparam type verdict_t = `CU_VERDICT_T(Ways),
  localparam type record_t = `CU_RECORD_T
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,

  input  logic                              verdict_valid_i,
  output logic                              verdict_ready_o,
  input  verdict_t                          verdict_i,

  input  logic [Ways-1:0]                   info_valid_i,
  output logic [Ways-1:0]                   info_ready_o,
  input  logic [Ways-1:0][31:0]             info_value_bytes_i,
  input  logic [Ways-1:0][15:0]             info_tag_i,

  input  logic [Ways-1:0]                   hash_valid_i,
  output logic [Ways-1:0]                   hash_ready_o,
  input  logic [Ways-1:0][63:0]             hash_i,

  input  logic [Ways-1:0]                   value_valid_i,
  output logic [Ways-1:0]                   value_ready_o,
  input  logic [Ways-1:0][ValueBytes*8-1:0] value_data_i,

  output logic                              record_valid_o,
  input  logic                              record_ready_i,
  output record_t                           record_o,

  // Values of kept records.
  output logic                              kept_value_valid_o,
  input  logic                              kept_value_ready_i,
  output logic [ValueBytes*8-1:0]           kept_value_data_o,

  // Over records in range; final when the end has come out.
  output logic [63:0]                       input_records_o,
  output logic [63:0]                       dropped_records_o,
  output logic [63:0]                       input_checksum_o,
  output logic [63:0]                       dropped_checksum_o,
  output logic                              stall_merge_o,  // level: idle for want of a verdict
  output logic                              stall_value_o,  // level: ... of info, value or hash

  output logic                              tag_error_o     // level; also of the FIFO of values
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1;
  localparam int unsigned VBits = $clog2(V);
  localparam int unsigned LeftBits = 32 - VBits;
  localparam int unsigned OutDepth = 16;

  `ASSERT_PARAM(value_bytes, ValueBytes inside {8, 16, 32, 64},
                "ValueBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(ways, Ways inside {[1:16]}, "Ways must be 1 to 16")

  // ------------------------------------------------------------ move
  logic busy_q;  // a record with beats left
  logic [WayBits-1:0] way_q;
  logic keep_q, final_q;
  logic [LeftBits-1:0] left_q;  // beats after this one
  logic value_there, kept_value_ready;
  logic [V*8-1:0] value_data;
  cu_choice #(.Width(V * 8), .Words(Ways)) u_value_data (
    .words_i(value_data_i), .pick_i(way_q), .word_o(value_data)
  );

  assign value_there = value_valid_i[way_q];
  wire move = busy_q && value_there && (!keep_q || kept_value_ready);
  wire free = !busy_q || (move && final_q);

  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      value_ready_o[w] = busy_q && (!keep_q || kept_value_ready) && way_q == WayBits'(w);
    end
  end

  // ------------------------------------------------------------ issue
  logic ended_q, info_there, record_ready;
  logic [31:0] value_bytes;
  logic counting, count_ready;  // hashes are due; there is room for one more to be due

  logic [15:0] info_tag;
  assign info_there = info_valid_i[verdict_i.way];
  cu_choice #(.Width(32), .Words(Ways)) u_value_bytes (
    .words_i(info_value_bytes_i), .pick_i(verdict_i.way), .word_o(value_bytes)
  );
  cu_choice #(.Width(16), .Words(Ways)) u_info_tag (
    .words_i(info_tag_i), .pick_i(verdict_i.way), .word_o(info_tag)
  );

  // The end waits for the counters.
  assign verdict_ready_o = free && !ended_q && record_ready
                      && (verdict_i.eos ? !counting : count_ready && info_there);
  wire issue = verdict_valid_i && verdict_ready_o;
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      info_ready_o[w] = verdict_valid_i && !verdict_i.eos && free && !ended_q && record_ready
                        && count_ready && verdict_i.way == WayBits'(w);
    end
  end

  // A new count and the next one share a carry chain, which adds minus one or nothing. An empty value
  // has no beats to count.
  wire less = issue ? value_bytes[VBits-1:0] == '0 : 1'b1;
  wire [LeftBits-1:0] left = (issue ? value_bytes[31:VBits] : left_q) + {LeftBits{less}};

  always_ff @(posedge clk_i) begin
    if (issue) begin
      way_q   <= verdict_i.way;
      keep_q  <= verdict_i.keep;
      final_q <= value_bytes <= V;
    end else if (move) begin
      final_q <= left_q == LeftBits'(1);
    end
    if (issue || move) left_q <= left;
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      if (issue) busy_q <= !verdict_i.eos && value_bytes != '0;
      else if (free) busy_q <= 1'b0;
      if (issue && verdict_i.eos) ended_q <= 1'b1;
    end
  end

  // ------------------------------------------------------------ tags
  logic tagged_q, tag_error_q, values_error;
  cu_tag_pkg::tag_t tag_q;  // 0 if right

  always_ff @(posedge clk_i) begin
    tag_q <= verdict_i.tag ^ info_tag ^
             cu_tag_pkg::fold({32'(verdict_i.user_bytes) + 32'd8, value_bytes});
    if (!rst_ni) begin
      tagged_q    <= 1'b0;
      tag_error_q <= 1'b0;
    end else begin
      tagged_q <= issue && !verdict_i.eos;
      if ((tagged_q && tag_q != '0) || values_error) tag_error_q <= 1'b1;
    end
  end
  assign tag_error_o = tag_error_q;

  // ------------------------------------------------------------ count
  logic [WayBits-1:0] count_way;
  logic count_in_range, count_drop, counted;
  logic count_q, drop_q;
  logic [63:0] hash, hash_q;
  logic [3:0] unused_counting;

  cu_fifo #(.Width(WayBits + 2), .Depth(8)) u_counting (
    .clk_i, .rst_ni, .wvalid_i(issue && !verdict_i.eos), .wready_o(count_ready),
    .wdata_i({verdict_i.way, verdict_i.in_range, verdict_i.in_range && !verdict_i.keep}),
    .rvalid_o(counting), .rready_i(counted), .rdata_o({count_way, count_in_range, count_drop}),
    .count_o(unused_counting)
  );

  assign counted = hash_valid_i[count_way];
  cu_choice #(.Width(64), .Words(Ways)) u_hash (
    .words_i(hash_i), .pick_i(count_way), .word_o(hash)
  );
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) hash_ready_o[w] = counting && count_way == WayBits'(w);
  end

  always_ff @(posedge clk_i) begin
    hash_q  <= hash;
    count_q <= rst_ni && counting && counted && count_in_range;
    drop_q  <= rst_ni && counting && counted && count_drop;
  end

  // One cycle after the hash, like the end in its FIFO.
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

  assign stall_merge_o = !busy_q && !verdict_valid_i && !ended_q;
  assign stall_value_o = busy_q ? !value_there
                                : verdict_valid_i && !ended_q && !verdict_i.eos
                                  && !(info_there && count_ready);

  // ------------------------------------------------------------ out
  logic [4:0] unused_records, unused_values;

  record_t record;
  assign record = '{
    eos: verdict_i.eos, tombstone: verdict_i.tombstone, user_bytes: verdict_i.user_bytes,
    shared: verdict_i.shared, trailer: verdict_i.trailer, value_bytes: value_bytes
  };
  cu_fifo #(.Width($bits(record_t)), .Depth(OutDepth)) u_records (
    .clk_i, .rst_ni,
    .wvalid_i(issue && (verdict_i.eos || verdict_i.keep)), .wready_o(record_ready),
    .wdata_i(record),
    .rvalid_o(record_valid_o), .rready_i(record_ready_i), .rdata_o(record_o),
    .count_o(unused_records)
  );

  cu_wide_fifo #(.Width(V * 8), .Depth(OutDepth)) u_values (
    .clk_i, .rst_ni, .wvalid_i(busy_q && value_there && keep_q), .wready_o(kept_value_ready),
    .wdata_i(value_data),
    .rvalid_o(kept_value_valid_o), .rready_i(kept_value_ready_i),
    .rdata_o(kept_value_data_o), .count_o(unused_values), .error_o(values_error)
  );

  `ASSERT(a_keep_in_range, verdict_valid_i && verdict_i.keep |-> verdict_i.in_range)
  `ASSERT(a_way, verdict_valid_i |-> 32'(verdict_i.way) < Ways)
  `COVER(c_back_to_back, move && final_q && issue)
endmodule
