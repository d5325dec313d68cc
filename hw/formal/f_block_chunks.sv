// cu_block_chunks: a block's chunks are those of its beats that hold its bytes, each once and in order,
// first and last marked; and the next block starts with the next beat. Bytes are numbered through all
// beats, modulo 256.

module f_block_chunks #(
  parameter bit Invariants = 1,
  parameter int unsigned BusBytes = 16,
  localparam int unsigned V = 8,
  localparam int unsigned LaneBits = $clog2(BusBytes)
) (
  input logic                clk_i,
  input logic                block_valid_i,
  input logic [LaneBits-1:0] block_lane_i,
  input logic [5:0]          block_bytes_i,
  input logic                beat_valid_i,
  input logic                chunk_ready_i
);
  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [7:0] byte_q = '0;  // number of the beat's first
  logic [BusBytes*8-1:0] beat_data;
  always_comb begin
    for (int i = 0; i < int'(BusBytes); i++) beat_data[8*i+:8] = byte_q + 8'(i);
  end
  // The parity bit stands for whatever rides with a chunk.
  logic [BusBytes/V-1:0] beat_parity;
  always_comb begin
    for (int i = 0; i < int'(BusBytes / V); i++) beat_parity[i] = beat_data[64*i+3];
  end

  logic block_ready, beat_ready, chunk_valid, chunk_first, chunk_last, chunk_parity;
  logic [63:0] chunk_data;
  logic [2:0] chunk_lane;
  cu_block_chunks #(.ValueBytes(V), .BusBytes(BusBytes)) u_dut (
    .clk_i, .rst_ni(rst_n_q), .block_valid_i, .block_ready_o(block_ready), .block_lane_i,
    .block_bytes_i(32'(block_bytes_i)), .beat_valid_i, .beat_ready_o(beat_ready),
    .beat_data_i(beat_data), .beat_parity_i(beat_parity), .chunk_valid_o(chunk_valid),
    .chunk_ready_i, .chunk_data_o(chunk_data), .chunk_parity_o(chunk_parity),
    .chunk_first_o(chunk_first), .chunk_last_o(chunk_last), .chunk_lane_o(chunk_lane)
  );

  wire take = rst_n_q && block_valid_i && block_ready;
  wire pop = rst_n_q && chunk_valid && chunk_ready_i;
  wire block_end = pop && chunk_last;

  // Blocks whose chunks are yet to come, and the place of the next chunk.
  typedef struct packed {
    logic [LaneBits-1:0] lane;
    logic [5:0]          bytes;
  } block_t;
  block_t [1:0] blocks_q;
  logic [1:0] count_q = '0;
  logic [7:0] beat_q = '0;   // number of the first byte of the block's first beat
  logic [7:0] chunk_q = '0;  // chunks of the block so far
  wire [7:0] first_byte = beat_q + 8'(blocks_q[0].lane);
  wire [7:0] last_byte = first_byte + 8'(blocks_q[0].bytes) - 8'd1;
  wire [7:0] here = {first_byte[7:3], 3'b0} + {chunk_q[4:0], 3'b0};

  always_ff @(posedge clk_i) begin
    if (rst_n_q && beat_valid_i && beat_ready) byte_q <= byte_q + 8'(BusBytes);
    if (pop) chunk_q <= chunk_last ? '0 : chunk_q + 1'b1;
    if (block_end) begin
      blocks_q[0] <= blocks_q[1];
      beat_q      <= {last_byte[7:LaneBits], LaneBits'(0)} + 8'(BusBytes);
    end
    if (take) blocks_q[1'(count_q - 2'(block_end))] <= '{lane: block_lane_i, bytes: block_bytes_i};
    count_q <= count_q + 2'(take) - 2'(block_end);
  end

  logic [63:0] numbered;
  always_comb begin
    for (int i = 0; i < 8; i++) numbered[8*i+:8] = here + 8'(i);
  end

  logic held_q = 1'b0, flows_q = 1'b0;
  logic [69:0] held_data_q;
  wire [69:0] shown = {chunk_data, chunk_parity, chunk_first, chunk_last, chunk_lane};
  always_ff @(posedge clk_i) begin
    held_q      <= rst_n_q && chunk_valid && !chunk_ready_i;
    held_data_q <= shown;
    flows_q     <= rst_n_q && beat_valid_i && count_q != 2'(block_end);
  end

  always_comb begin
    m_bytes : assume (block_bytes_i != '0);
    if (rst_n_q) begin
      p_blocks : assert (count_q <= 2'd2);
      p_flows  : assert (!flows_q || chunk_valid);
      p_held   : assert (!held_q || (chunk_valid && shown == held_data_q));
      if (chunk_valid) begin
        p_block  : assert (count_q != '0);
        p_first  : assert (chunk_first == (chunk_q == '0));
        p_lane   : assert (!chunk_first || chunk_lane == first_byte[2:0]);
        p_last   : assert (chunk_last == (here == {last_byte[7:3], 3'b0}));
        p_parity : assert (chunk_parity == here[3]);
        p_data   : assert (chunk_data == numbered);
      end
    end
  end

  if (Invariants) begin : g_invariants
    // The block that is being cut, and how many of its chunks have been: blocks_q[0], or the one
    // behind it, if the last chunk of that one is still to be taken.
    wire valid = u_dut.chunk_valid_q;
    wire behind = valid && u_dut.chunk_last_q;
    wire block_t block = blocks_q[behind];
    wire [7:0] next_beat = {last_byte[7:LaneBits], LaneBits'(0)} + 8'(BusBytes);
    wire [7:0] block_first = (behind ? next_beat : beat_q) + 8'(block.lane);
    wire [7:0] cut = behind ? '0 : chunk_q + 8'(valid);
    wire [7:0] cut_here = {block_first[7:3], 3'b0} + {cut[4:0], 3'b0};
    wire [7:0] end_byte = 8'(block.lane[2:0]) + 8'(block.bytes) - 8'd1;  // from its first chunk on
    wire [7:0] end_0 = 8'(blocks_q[0].lane[2:0]) + 8'(blocks_q[0].bytes) - 8'd1;

    always_comb begin
      if (rst_n_q) begin
        i_count : assert (count_q == 2'(u_dut.busy_q) + 2'(behind) &&
                          (!valid || behind || u_dut.busy_q));
        i_bytes : assert ((count_q == '0 || blocks_q[0].bytes != '0) &&
                          (count_q != 2'd2 || blocks_q[1].bytes != '0));
        i_chunk : assert ((count_q == '0) ? chunk_q == '0 : chunk_q <= (end_0 >> 3));
        if (valid) begin
          i_data : assert (u_dut.chunk_q == numbered && u_dut.chunk_parity_q == here[3] &&
                           u_dut.chunk_first_q == (chunk_q == '0) &&
                           behind == (chunk_q == end_0 >> 3) &&
                           u_dut.chunk_lane_q == first_byte[2:0]);
        end
        if (u_dut.busy_q) begin
          i_cut : assert (u_dut.first_q == (cut == '0) && u_dut.lane_q == block_first[2:0] &&
                          cut <= (end_byte >> 3) &&
                          u_dut.left_q == 30'((end_byte >> 3) - cut) &&
                          u_dut.last_q == (u_dut.left_q == '0) &&
                          (BusBytes == V || u_dut.index_q == cut_here[3]) &&
                          byte_q == {cut_here[7:LaneBits], LaneBits'(0)});
        end else begin
          i_next : assert (byte_q == (valid ? next_beat : beat_q));
        end
        i_beat  : assert (beat_q[LaneBits-1:0] == '0);
      end else begin
        i_reset : assert (byte_q == '0 && beat_q == '0 && chunk_q == '0 && count_q == '0 &&
                          !held_q && !flows_q);
      end
    end
  end
endmodule
