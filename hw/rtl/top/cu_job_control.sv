// Runs one job, from descriptor to completion record.
//
// | state      | action                                                   | leaves when           |
// |------------|----------------------------------------------------------|-----------------------|
// | Idle       | pipeline held in reset                                   | a job is started      |
// | Wake       | pipeline reset released                                  | after 4 cycles        |
// | Head       | read descriptor words up to COMPLETION_ADDR              | last word             |
// | Check      | compare the descriptor with the unit's capabilities      | at once               |
// | Begin, End | read the range keys into cu_visibility_filter            | last word, or no key  |
// | Runs       | hand the table lists to the ways, which do not go yet     | one per way           |
// | Merge      | the ways go, and the pipeline runs                       | all written, or fault |
// | Halt       | ports complete outstanding transfers                     | all idle: Save        |
// | Save       | copy the pipeline's counters to the record               | last word             |
// | Clear      | pipeline reset                                           | after 4 cycles        |
// | Complete   | write the completion record                              | written               |
// | Finish     | set the status register                                  | at once: Idle, Stuck  |
// | Stuck      | refuse jobs as DEVICE; the pipeline is not reset         | all ports idle        |
//
// Every failure becomes the job's status. The pipeline is reset after every job, so that each
// starts from the same state.
//
// No wait is unbounded. A job in which no port moves a beat for QuietCycles, longer than any input
// can keep the unit computing, halts as DEVICE. If its ports then, or while the completion record
// is written, stand still for HaltCycles, longer than any memory takes, it ends without a record.
// The bus may still respond, so the unit accepts no other job before it has, or before the unit is
// reset.

`include "cu_assert.svh"

module cu_job_control #(
  parameter int unsigned Ways = 2,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned QuietCycles = 1 << 24,
  parameter int unsigned HaltCycles = 1 << 16,
  parameter int unsigned Bloom = 0,
  parameter int unsigned Compressors = 0,
  parameter int unsigned Xxh3 = 0,
  localparam int unsigned RangeAddrBits = $clog2((MaxKeyBytes + 7) / 8)
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        pipe_rst_no,

  // Control registers
  input  logic        job_valid_i,
  output logic        job_ready_o,
  input  logic [63:0] job_addr_i,
  output logic        job_done_o,
  output logic [7:0]  job_status_o,

  // A client of the index read engine
  output logic        req_valid_o,
  input  logic        req_ready_i,
  output logic [63:0] req_addr_o,
  output logic [31:0] req_bytes_o,
  input  logic        beat_valid_i,
  input  logic [63:0] beat_data_i,
  input  logic        done_valid_i,
  input  logic        done_error_i,

  // Job parameters, stable from Begin to Clear
  output logic        bottommost_o,
  output logic        has_begin_o,
  output logic        has_end_o,
  output logic        compress_o,
  output logic        xxh3_o,           // never without Xxh3
  output logic [31:0] checksum_base_o,  // of output tables
  output logic [31:0] block_bytes_o,
  output logic [15:0] restart_interval_o,
  output logic [63:0] table_bytes_o,
  output logic [sluice_abi_pkg::JobSnapshotCount-1:0][55:0] snapshots_o,
  output logic [15:0] begin_bytes_o,
  output logic [15:0] end_bytes_o,
  output logic        range_we_o,
  output logic        range_sel_o,
  output logic [RangeAddrBits-1:0] range_addr_o,
  output logic [63:0] range_data_o,
  output logic        write_start_o,  // pulse: both write engines
  output logic [63:0] data_addr_o,
  output logic [63:0] data_limit_o,
  output logic [63:0] index_addr_o,
  output logic [63:0] index_limit_o,
  output logic [7:0]  bloom_bits_o,    // 0: no filters, and always without Bloom
  output logic [4:0]  bloom_probes_o,
  output logic [63:0] filter_addr_o,
  output logic [63:0] filter_limit_o,
  output logic [Ways-1:0] way_load_o,  // pulse per way, with its tables
  output logic [47:0] way_tables_o,
  output logic [15:0] way_count_o,
  output logic        way_start_o,     // level: all ways have their tables, read without an error

  // What the pipeline says
  input  logic        data_done_i,
  input  logic        index_done_i,
  input  logic        filter_done_i,  // or there are no filters
  input  logic        data_full_i,
  input  logic        index_full_i,
  input  logic        write_error_i,
  input  logic        limit_i,
  input  logic [Ways-1:0]       fault_valid_i,
  input  logic [Ways-1:0][7:0]  fault_status_i,
  input  logic [Ways-1:0][15:0] fault_table_i,
  input  logic [Ways-1:0][63:0] fault_offset_i,
  // Of a way's index: counts if there is none above, which is in an earlier block.
  input  logic [Ways-1:0]       index_fault_valid_i,
  input  logic [7:0]            index_fault_status_i,
  input  logic [15:0]           index_fault_table_i,
  input  logic [63:0]           index_fault_offset_i,
  output logic        halt_o,
  input  logic        ports_idle_i,
  input  logic        ports_move_i,   // a beat, an address or an answer

  output logic        parity_error_o,      // of the descriptor; level

  // What it has counted, read in Save
  input  logic [63:0] input_records_i,
  input  logic [63:0] output_records_i,
  input  logic [63:0] dropped_records_i,
  input  logic [Ways-1:0][63:0] input_bytes_i,
  input  logic [63:0] data_used_i,
  input  logic [63:0] index_used_i,
  input  logic [63:0] filter_used_i,
  input  logic [63:0] content_sum_i,
  input  logic [63:0] tables_i,
  input  logic [63:0] input_checksum_i,
  input  logic [63:0] output_checksum_i,
  input  logic [63:0] dropped_checksum_i,
  input  logic [sluice_abi_pkg::StallCount-1:0] stall_i,

  // The completion record, through the index write engine
  output logic        record_start_o,
  output logic [63:0] record_addr_o,
  output logic        record_valid_o,
  input  logic        record_ready_i,
  output logic [63:0] record_data_o,
  output logic        record_last_o   // an empty beat
);
  import sluice_abi_pkg::*;

  // What concerns filters stands last in both, but for the base of checksums by XXH3, and the sum
  // that compression adds to the record.
  localparam int unsigned HeadWords = ((Xxh3 != 0)    ? JobChecksumBase
                                       : (Bloom != 0) ? JobFilterBytes : JobCompletionAddr) / 8 + 1;
  localparam int unsigned HeadBits = $clog2(HeadWords);
  localparam int unsigned RecordWords =
      (Compressors != 0) ? CompletionContentSum / 8 + 1 : CompletionFilterBytes / 8 + Bloom;
  localparam int unsigned StallWord = CompletionStalls / 8;

  `ASSERT_PARAM(bloom, Bloom <= 1, "Bloom must be 0 or 1")
  `ASSERT_PARAM(xxh3, Xxh3 <= 1, "Xxh3 must be 0 or 1")
  `ASSERT_PARAM(quiet_cycles, QuietCycles >= HaltCycles, "QuietCycles must be HaltCycles or more")

  typedef enum logic [3:0] {
    Idle, Wake, Head, Check, Begin, End, Runs, Merge, Halt, Save, Clear, Complete, Finish, Stuck
  } state_e;

  state_e state_q, state_d;
  logic asked_q, asked_d;        // this state's read request has been taken
  logic [15:0] word_q, word_d;   // words received, or cycles waited, in this state
  logic [7:0] status_q, status_d;
  logic [47:0] addr_q;           // of the descriptor; no device has more memory
  logic [HeadWords-1:0][63:0] head_q;
  logic head_parity_q;           // of its words as they were read
  logic [63:0] record_mem[RecordWords];
  logic trusted_q, trusted_d;    // the descriptor is one: its completion address can be written
  logic misplaced_q;             // a run's tables are not aligned
  logic stuck_q, stuck_d;        // a port may still owe an answer

  // ---- descriptor fields
  wire [63:0] head_word = head_q[JobHead/8];
  wire [7:0] runs = head_word[JobHeadRunsLsb+:JobHeadRunsWidth];
  assign bottommost_o       = head_word[JobHeadBottommostLsb];
  assign has_begin_o        = head_word[JobHeadHasBeginLsb];
  assign has_end_o          = head_word[JobHeadHasEndLsb];
  assign compress_o         = head_word[JobHeadCompressLsb];
  assign block_bytes_o      = head_q[JobBlock/8][JobBlockBlockBytesLsb+:JobBlockBlockBytesWidth];
  assign restart_interval_o =
      head_q[JobBlock/8][JobBlockRestartIntervalLsb+:JobBlockRestartIntervalWidth];
  assign table_bytes_o      = head_q[JobTableBytes/8];
  assign begin_bytes_o      = head_q[JobRange/8][JobRangeBeginBytesLsb+:JobRangeBeginBytesWidth];
  assign end_bytes_o        = head_q[JobRange/8][JobRangeEndBytesLsb+:JobRangeEndBytesWidth];
  assign data_addr_o        = head_q[JobDataAddr/8];
  assign data_limit_o       = head_q[JobDataBytes/8];
  assign index_addr_o       = head_q[JobIndexAddr/8];
  assign index_limit_o      = head_q[JobIndexBytes/8];
  assign record_addr_o      = head_q[JobCompletionAddr/8];

  always_comb begin
    for (int unsigned s = 0; s < JobSnapshotCount; s++) begin
      snapshots_o[s] = head_q[JobSnapshot/8+s][55:0];
    end
  end

  // Whether it can make the filters that it is asked for, if any.
  wire [7:0] bloom_bits = head_q[JobBlock/8][JobBlockBloomBitsLsb+:JobBlockBloomBitsWidth];
  logic can_filter;
  assign bloom_bits_o   = (Bloom != 0) ? bloom_bits : '0;
  assign bloom_probes_o = head_q[JobBlock/8][JobBlockBloomProbesLsb+:JobBlockBloomProbesWidth];
  if (Bloom != 0) begin : g_filters
    assign filter_addr_o  = head_q[JobFilterAddr/8];
    assign filter_limit_o = head_q[JobFilterBytes/8];
    assign can_filter     = bloom_bits == '0 ||
                            (bloom_probes_o inside {[5'd1:5'd30]} && filter_addr_o[5:0] == '0 &&
                             filter_limit_o[5:0] == '0);
  end else begin : g_no_filters
    assign filter_addr_o  = '0;
    assign filter_limit_o = '0;
    assign can_filter     = bloom_bits == '0;
  end

  // Whether its blocks have, and get, checksums by XXH3.
  wire asks_xxh3 = head_word[JobHeadXxh3Lsb];
  if (Xxh3 != 0) begin : g_xxh3
    assign xxh3_o          = asks_xxh3;
    assign checksum_base_o = head_q[JobChecksumBase/8][31:0];
  end else begin : g_crc
    assign xxh3_o          = 1'b0;
    assign checksum_base_o = '0;
  end

  wire is_job = head_word[JobHeadMagicLsb+:JobHeadMagicWidth] == Magic &&
                head_word[JobHeadVersionLsb+:JobHeadVersionWidth] == Version &&
                record_addr_o[5:0] == '0;
  wire can_do = runs >= 8'd1 && 32'(runs) <= Ways && block_bytes_o != '0 &&
                block_bytes_o <= BlockBytesLimit &&
                restart_interval_o != '0 && table_bytes_o != '0 &&
                32'(begin_bytes_o) <= MaxKeyBytes && 32'(end_bytes_o) <= MaxKeyBytes &&
                data_addr_o[5:0] == '0 && data_limit_o[5:0] == '0 &&
                index_addr_o[5:0] == '0 && index_limit_o[5:0] == '0 &&
                head_q[JobBeginAddr/8][2:0] == '0 && head_q[JobEndAddr/8][2:0] == '0 &&
                can_filter && (Compressors != 0 || !compress_o) && (Xxh3 != 0 || !asks_xxh3);
  // Registered: the read ends some cycles after its last word, and Check comes then.
  logic is_job_q, can_do_q;
  always_ff @(posedge clk_i) begin
    is_job_q <= is_job;
    can_do_q <= can_do;
  end

  // ---- the fault of the lowest way that has one
  logic way_fault, way_fault_index;
  logic [7:0] way_fault_run, way_fault_status;
  always_comb begin
    way_fault        = 1'b0;
    way_fault_index  = 1'b0;
    way_fault_run    = '0;
    way_fault_status = '0;
    for (int w = int'(Ways) - 1; w >= 0; w--) begin
      if (index_fault_valid_i[w]) begin
        way_fault        = 1'b1;
        way_fault_index  = 1'b1;
        way_fault_run    = 8'(w);
        way_fault_status = index_fault_status_i;
      end
      if (fault_valid_i[w]) begin
        way_fault        = 1'b1;
        way_fault_index  = 1'b0;
        way_fault_run    = 8'(w);
        way_fault_status = fault_status_i[w];
      end
    end
  end

  // Its place: one in a way's blocks stays where it is until Save. Another index can have a fault
  // meanwhile, so one in an index is kept here.
  localparam int unsigned WayBits = (Ways > 1) ? $clog2(Ways) : 1;
  logic way_fault_q;  // and it is in a way's blocks
  logic [7:0] fault_run_q;
  logic [15:0] index_fault_table_q;
  logic [47:0] index_fault_offset_q;
  wire [WayBits-1:0] fault_way = fault_run_q[WayBits-1:0];
  always_ff @(posedge clk_i) begin
    if (state_q == Merge && way_fault) begin
      way_fault_q          <= ~way_fault_index;
      fault_run_q          <= way_fault_run;
      index_fault_table_q  <= index_fault_table_i;
      index_fault_offset_q <= index_fault_offset_i[47:0];
    end
    if (state_q == Idle) begin
      way_fault_q <= 1'b0;
      fault_run_q <= '0;
    end
    if (state_q == Idle || (state_q == Merge && way_fault && ~way_fault_index)) begin
      index_fault_table_q  <= '0;
      index_fault_offset_q <= '0;
    end
  end

  // Whether a + b is c, bit by bit and without a carry chain, for a LUT each: a, b and ~c then add up
  // to -1, that is, without their carries, to the complement of these.
  function automatic logic [63:0] sum_bits(logic [63:0] a, logic [63:0] b, logic [63:0] c);
    return a ^ b ^ ~c ^ (((a & b) | ((a | b) & ~c)) << 1);
  endfunction

  // Registered: the counts stand still before the task's end has passed through the write engines.
  logic [63:0] checksum_sum_q;
  logic [47:0] records_sum_q;
  wire intact = (checksum_sum_q == '1) && (records_sum_q == '1);
  logic intact_q;
  always_ff @(posedge clk_i) begin
    checksum_sum_q <= sum_bits(output_checksum_i, dropped_checksum_i, input_checksum_i);
    records_sum_q  <= 48'(sum_bits(output_records_i, dropped_records_i, input_records_i));
    intact_q       <= intact;
  end

  // Words of the range's keys. Registered: the range has come some cycles before Begin.
  wire [15:0] begin_words = has_begin_o ? (begin_bytes_o + 16'd7) >> 3 : '0;
  wire [15:0] end_words = has_end_o ? (end_bytes_o + 16'd7) >> 3 : '0;
  logic [15:0] begin_words_q, end_words_q;
  always_ff @(posedge clk_i) begin
    begin_words_q <= begin_words;
    end_words_q   <= end_words;
  end

  // ---- bit flips: parameters are used as long as the job lasts
  // Of what head_q holds, some cycles late: summed up six bits at a time, as a LUT takes them.
  localparam int unsigned Sixes = (64 * HeadWords + 5) / 6;
  localparam int unsigned SixSixes = (Sixes + 5) / 6;
  wire [6*Sixes-1:0] head_bits = (6 * Sixes)'(head_q);
  logic [Sixes-1:0] sixes_q;
  wire [6*SixSixes-1:0] six_bits = (6 * SixSixes)'(sixes_q);
  logic [SixSixes-1:0] six_sixes_q;
  logic parity_now_q;
  for (genvar i = 0; i < Sixes; i++) begin : g_six
    always_ff @(posedge clk_i) sixes_q[i] <= ^head_bits[6*i+:6];
  end
  for (genvar i = 0; i < SixSixes; i++) begin : g_six_sixes
    always_ff @(posedge clk_i) six_sixes_q[i] <= ^six_bits[6*i+:6];
  end
  logic parity_error_q;
  wire words_error = (state_q inside {Begin, End}) &
                     ({begin_words_q, end_words_q} != {begin_words, end_words});
  always_ff @(posedge clk_i) begin
    parity_now_q <= ^six_sixes_q;
    if (state_q inside {Wake, Head, Check} || !rst_ni) parity_error_q <= 1'b0;
    else if (parity_now_q != head_parity_q || words_error) parity_error_q <= 1'b1;
  end
  assign parity_error_o = parity_error_q;

  // ---- state machine
  wire reading = state_q inside {Head, Begin, End, Runs};
  logic [15:0] read_words;
  logic [1:0] request;
  logic read_done_q;  // the engine has closed the request of this state
  logic changes;      // of state; maybe not when ports_idle_i ends it

  always_comb begin
    unique case (state_q)
      Head: read_words = 16'(HeadWords);
      Begin: read_words = begin_words_q;
      End: read_words = end_words_q;
      default: read_words = 16'(Ways);
    endcase
    unique case (state_q)
      Head: request = 2'd0;
      Begin: request = 2'd1;
      End: request = 2'd2;
      default: request = 2'd3;
    endcase
  end
  wire [3:0][47:0] request_addr = {addr_q + 48'(JobRun), head_q[JobEndAddr/8][47:0],
                                   head_q[JobBeginAddr/8][47:0], addr_q};
  assign req_addr_o  = 64'(request_addr[request]);
  assign req_bytes_o = {13'd0, read_words, 3'd0};
  assign req_valid_o = reading & ~asked_q & (read_words != '0);

  wire beat = reading & beat_valid_i;
  wire read_over = (read_words == '0) | (read_done_q & (word_q == read_words));

  // A way without a run has no tables, wherever they are.
  wire has_run = word_q[7:0] < runs;
  assign way_tables_o = beat_data_i[JobRunAddrLsb+:JobRunAddrWidth];
  assign way_count_o  = has_run ? beat_data_i[JobRunCountLsb+:JobRunCountWidth] : '0;
  always_comb begin
    for (int w = 0; w < int'(Ways); w++) begin
      way_load_o[w] = beat & (state_q == Runs) & (word_q == 16'(w));
    end
  end
  assign way_start_o = state_q == Merge;

  // Key bytes past the key's end are whatever stands in memory: they must be zero for comparisons.
  // Registered: the runs are read before a key is compared.
  logic [7:0][7:0] range_word_q;
  wire [15:0] key_bytes = (state_q == End) ? end_bytes_o : begin_bytes_o;
  wire key_rest = (key_bytes >> 3) == word_q;  // the word holds the last bytes of the key, or none
  assign range_data_o = range_word_q;
  always_ff @(posedge clk_i) begin
    range_we_o   <= rst_ni & beat & (state_q inside {Begin, End});
    range_sel_o  <= state_q == End;
    range_addr_o <= word_q[RangeAddrBits-1:0];
    for (int unsigned i = 0; i < 8; i++) begin
      range_word_q[i] <= (key_rest && 3'(i) >= key_bytes[2:0]) ? '0 : beat_data_i[8*i+:8];
    end
  end

  // Registered, in a state's first cycle, to cut the path from the descriptor's check.
  logic write_start_q, record_start_q, resetting_q;
  assign write_start_o  = write_start_q;
  assign record_start_o = record_start_q;
  // After the record's words comes an empty beat that ends the engine's job.
  logic record_valid_q, record_last_q;
  assign record_valid_o = record_valid_q;  // in Complete, but for its last cycles
  assign record_data_o  = record_mem[word_q[4:0]];
  assign record_last_o  = record_last_q;

  assign job_ready_o  = (state_q == Idle) | (state_q == Stuck & ~ports_idle_i);
  assign job_done_o   = state_q == Finish;
  assign job_status_o = status_q;
  // Until the reset, a cycle into Clear, takes hold.
  assign halt_o       = (state_q inside {Halt, Save}) | resetting_q | stuck_q;

  // ---- standstill
  localparam int unsigned QuietBits = $clog2(QuietCycles + 1);
  logic [QuietBits-1:0] quiet_q;  // cycles of this state in which no port has moved
  wire halted_long = quiet_q >= QuietBits'(HaltCycles);
  wire quiet_long  = quiet_q == QuietBits'(QuietCycles);

  always_comb begin
    state_d        = state_q;
    asked_d        = asked_q | (req_valid_o & req_ready_i);
    word_d         = word_q + 16'(beat);
    status_d       = status_q;
    trusted_d      = trusted_q;
    stuck_d        = stuck_q;

    unique case (state_q)
      Idle: begin
        status_d       = MergeStatusOk;
        trusted_d      = 1'b0;
        if (job_valid_i) state_d = Wake;
      end
      Wake: begin
        word_d = word_q + 16'd1;
        if (word_q == 16'd3) begin
          state_d = Head;
          if (addr_q[5:0] != '0) begin
            status_d = MergeStatusBadDescriptor;
            state_d  = Halt;
          end
        end
      end
      Head: if (read_over) state_d = Check;
      Check: begin
        trusted_d = is_job_q;
        state_d   = Begin;
        if (!is_job_q || !can_do_q) begin
          status_d = MergeStatusBadDescriptor;
          state_d  = Halt;
        end
      end
      Begin: if (read_over) state_d = End;
      End: if (read_over) state_d = Runs;
      Runs: if (read_over) begin
        state_d = Merge;
        if (misplaced_q) begin
          status_d = MergeStatusBadDescriptor;
          state_d  = Halt;
        end
      end
      Merge: begin
        if (way_fault) begin
          // A fault without a cause is none of the input's.
          status_d = (way_fault_status == MergeStatusOk) ? MergeStatusEndToEnd : way_fault_status;
          state_d  = Halt;
        end else if (write_error_i) begin
          status_d = MergeStatusWriteError;
          state_d  = Halt;
        end else if (data_full_i) begin
          status_d = MergeStatusDataFull;
          state_d  = Halt;
        end else if (index_full_i) begin
          status_d = MergeStatusIndexFull;
          state_d  = Halt;
        end else if (limit_i) begin
          status_d = MergeStatusLimit;
          state_d  = Halt;
        end else if (data_done_i && index_done_i && filter_done_i) begin
          if (!intact_q) status_d = MergeStatusEndToEnd;
          state_d = Halt;
        end
      end
      Halt: if (halted_long) stuck_d = 1'b1;
      Save: begin
        word_d = word_q + 16'd1;
        if (word_q == 16'(RecordWords - 1)) state_d = Clear;
      end
      Clear: begin
        word_d = word_q + 16'd1;
        // The pipeline is in reset for the first two cycles and settles in the others.
        if (word_q == 16'd3) state_d = trusted_q ? Complete : Finish;
      end
      Complete: begin
        if (record_valid_q && record_ready_i) word_d = word_q + 16'd1;
        if (!record_valid_q && index_done_i) begin
          if (write_error_i) status_d = MergeStatusWriteError;
          state_d = Finish;
        end
        if (halted_long) stuck_d = 1'b1;
      end
      Finish: state_d = stuck_q ? Stuck : Idle;
      Stuck: if (job_valid_i) state_d = Finish;
      default: state_d = Idle;
    endcase

    if (reading && done_valid_i && done_error_i) begin
      status_d = MergeStatusReadError;
      state_d  = Halt;
    end
    if (quiet_long && (state_q inside {Head, Begin, End, Runs, Merge})) begin
      status_d = MergeStatusDevice;
      state_d  = Halt;
    end
    if (stuck_d && !stuck_q) begin
      status_d = MergeStatusDevice;
      state_d  = Finish;
    end
    changes = state_d != state_q;
    if (changes) begin
      word_d  = '0;
      asked_d = 1'b0;
    end
    // Late. In these states nothing is counted that the next one would have to find at zero.
    if (ports_idle_i && (state_q inside {Halt, Stuck})) begin
      state_d  = (state_q == Halt) ? Save : Idle;
      status_d = status_q;
      stuck_d  = stuck_q && state_q != Stuck;
    end
  end

  // state_d == Idle, without what is on the way to other states.
  wire idle_next = (state_q == Idle && !job_valid_i) || (state_q == Finish && !stuck_q) ||
                   (state_q == Stuck && ports_idle_i);
  logic pipe_rst_nq;
  assign pipe_rst_no = pipe_rst_nq & rst_ni;

  logic [47:0] cycles_q;
  logic [StallCount-1:0][47:0] stalls_q;

  // One way after the other, over and over: the counts stand still before the last round, unless the
  // task has failed.
  logic [WayBits-1:0] sum_way_q;
  logic [47:0] sum_q, input_bytes_q;
  wire sum_last = sum_way_q == WayBits'(Ways - 1);
  wire [47:0] sum = sum_q + input_bytes_i[sum_way_q][47:0];
  always_ff @(posedge clk_i) begin
    sum_q     <= sum;
    sum_way_q <= sum_way_q + 1'b1;
    if (sum_last) input_bytes_q <= sum;
    if (sum_last || !rst_ni) begin
      sum_q     <= '0;
      sum_way_q <= '0;
    end
  end
  logic unused_counts;  // no device has as much memory
  always_comb begin
    unused_counts = ^{input_records_i[63:48], output_records_i[63:48], dropped_records_i[63:48],
                      data_used_i[63:48], index_used_i[63:48], filter_used_i[63:48],
                      tables_i[63:48], index_fault_offset_i[63:48], job_addr_i[63:48]};
    for (int w = 0; w < int'(Ways); w++) begin
      unused_counts ^= ^{input_bytes_i[w][63:48], fault_offset_i[w][63:48]};
    end
  end

  // The record's words, but for the place of a fault in a way's blocks.
  localparam int unsigned Fours = (CompletionBytes + 31) / 32;
  logic [4*Fours-1:0][63:0] record;
  logic [Fours-1:0][3:0][63:0] words;
  assign words = record;
  always_comb begin
    record = '0;
    record[CompletionStatus/8] = {16'd0, Magic, index_fault_table_q, fault_run_q, status_q};
    record[CompletionFaultOffset/8]     = 64'(index_fault_offset_q);
    record[CompletionCycles/8]          = 64'(cycles_q);
    record[CompletionInputRecords/8]    = 64'(input_records_i[47:0]);
    record[CompletionOutputRecords/8]   = 64'(output_records_i[47:0]);
    record[CompletionDroppedRecords/8]  = 64'(dropped_records_i[47:0]);
    record[CompletionInputBytes/8]      = 64'(input_bytes_q);
    record[CompletionDataBytes/8]       = 64'(data_used_i[47:0]);
    record[CompletionIndexBytes/8]      = 64'(index_used_i[47:0]);
    record[CompletionTables/8]          = 64'(tables_i[47:0]);
    record[CompletionInputChecksum/8]   = input_checksum_i;
    record[CompletionOutputChecksum/8]  = output_checksum_i;
    record[CompletionDroppedChecksum/8] = dropped_checksum_i;
    for (int unsigned s = 0; s < StallCount; s++) record[StallWord+s] = 64'(stalls_q[s]);
    if (Bloom != 0) record[CompletionFilterBytes/8] = 64'(filter_used_i[47:0]);
    if (Compressors != 0) record[CompletionContentSum/8] = content_sum_i;
  end

  // Saved in two steps: of each four words one, or zeros, and then all of these together.
  logic [Fours:0][63:0] picked_q;
  logic [63:0] saved;
  logic save_q;
  logic [4:0] save_word_q;
  always_comb begin
    saved = '0;
    for (int unsigned f = 0; f <= Fours; f++) saved |= picked_q[f];
  end
  always_ff @(posedge clk_i) begin
    save_q      <= state_q == Save;
    save_word_q <= word_q[4:0];
    for (int unsigned f = 0; f < Fours; f++) begin
      picked_q[f] <= (word_q[4:2] == 3'(f)) ? words[f][word_q[1:0]] : '0;
    end
    picked_q[Fours] <= '0;
    if (way_fault_q && word_q[4:0] == 5'(CompletionStatus/8)) begin
      picked_q[Fours][CompletionStatusTableLsb+:16] <= fault_table_i[fault_way];
    end
    if (way_fault_q && word_q[4:0] == 5'(CompletionFaultOffset/8)) begin
      picked_q[Fours] <= 64'(fault_offset_i[fault_way][47:0]);
    end
    if (save_q) record_mem[save_word_q] <= saved;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) addr_q <= job_addr_i[47:0];
    if (beat && state_q == Head) begin
      head_q[word_q[HeadBits-1:0]] <= beat_data_i;
      head_parity_q                <= head_parity_q ^ (^beat_data_i);
    end
    if (state_q == Wake) head_parity_q <= 1'b0;

    if (state_q == Idle) cycles_q <= '0;
    else if (state_d != Save) cycles_q <= cycles_q + 48'd1;
    for (int s = 0; s < int'(StallCount); s++) begin
      if (state_q == Idle) stalls_q[s] <= '0;
      else if (state_q == Merge) stalls_q[s] <= stalls_q[s] + 48'(stall_i[s]);
    end

    if (state_q != Runs) misplaced_q <= 1'b0;
    else if (beat && has_run && way_tables_o[2:0] != '0) misplaced_q <= 1'b1;

    if (!rst_ni) begin
      state_q     <= Idle;
      asked_q     <= 1'b0;
      word_q      <= '0;
      pipe_rst_nq <= 1'b0;
      read_done_q <= 1'b0;
      trusted_q   <= 1'b0;
      write_start_q  <= 1'b0;
      record_start_q <= 1'b0;
      record_valid_q <= 1'b0;
      record_last_q  <= 1'b0;
      resetting_q    <= 1'b0;
      stuck_q        <= 1'b0;
      quiet_q        <= '0;
    end else begin
      state_q     <= state_d;
      asked_q     <= asked_d;
      word_q      <= word_d;
      trusted_q   <= trusted_d;
      read_done_q <= ~changes & (read_done_q | (reading & done_valid_i));
      write_start_q  <= (state_q == Check) && (state_d == Begin);
      record_start_q <= (state_q == Clear) && (state_d == Complete);
      resetting_q    <= (state_q == Save) && (state_d == Clear);
      record_valid_q <= (state_q == Clear && word_q[1:0] == 2'd3 && trusted_q) ||
                        (record_valid_q && !(record_last_q && record_ready_i) && !halted_long);
      record_last_q  <= record_valid_q &&
                        (record_ready_i ? word_q[4:0] == 5'(RecordWords - 1) : record_last_q);
      stuck_q        <= stuck_d;
      quiet_q        <= (ports_move_i || changes) ? '0 : quiet_q + 1'b1;
      pipe_rst_nq <= !(idle_next || (state_q == Clear && word_q < 16'd2));
    end
    status_q <= status_d;
  end

  `ASSERT(a_idle_next, idle_next == (state_d == Idle))
  `ASSERT(a_words, !words_error)
  `ASSERT(a_record, record_valid_q == (state_q == Complete && word_q <= 16'(RecordWords)))
  `ASSERT(a_record_last, record_valid_q |-> record_last_q == (word_q == 16'(RecordWords)))
  `ASSERT(a_checked, state_q == Check |-> {is_job_q, can_do_q} == {is_job, can_do})
  `ASSERT(a_settled, state_q == Merge && data_done_i && index_done_i |->
          intact_q == (input_checksum_i == output_checksum_i + dropped_checksum_i &&
                       input_records_i[47:0] == output_records_i[47:0] + dropped_records_i[47:0]))
  `ASSERT(a_beat_wanted, beat_valid_i && reading |-> word_q < read_words)
endmodule
