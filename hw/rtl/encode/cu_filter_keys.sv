// Takes the user keys of kept records, as they are encoded, to the stage that makes filters of them:
// beats, and behind the keys of each block, and of the task, a beat that says so.
//
// Nothing but its keys says what a filter must be, so whatever is lost, altered or repeated on the
// way here must show. What goes into the FIFO and what comes out of it is summed up, in its order:
// whenever the FIFO is empty, both sums must be the same. A word of zeros changes a sum, too.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_filter_keys #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned Depth = 32,
  localparam type filter_key_t = `CU_FILTER_KEY_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  input  logic                    enable_i,      // stable while records flow; 0: nothing is taken
  output logic                    ready_o,       // a beat or an end may come
  input  logic                    start_i,       // a record starts
  input  logic [15:0]             user_bytes_i,  // with start_i
  input  logic                    beat_i,        // one of its key beats; only when ready
  input  logic [ValueBytes*8-1:0] data_i,
  input  logic                    last_i,
  input  logic                    block_end_i,   // only when ready, as is the next
  input  logic                    task_end_i,

  output logic                    key_valid_o,
  input  logic                    key_ready_i,
  output filter_key_t             key_o,

  output logic                    error_o        // level: a stray bit
);
  localparam int unsigned Width = $bits(filter_key_t);
  localparam int unsigned CountBits = $clog2(Depth + 1);

  logic [15:0] user_bytes_q, user_bytes_d;
  logic user_bytes_error, room, error_q;
  logic [CountBits-1:0] count;
  logic [Width-1:0] in_sum_q, out_sum_q;
  filter_key_t in;

  assign user_bytes_d = start_i ? user_bytes_i : user_bytes_q;
  cu_twin #(.Width(16)) u_user_bytes (
    .clk_i, .rst_ni, .next_i(user_bytes_d), .now_i(user_bytes_q), .error_o(user_bytes_error)
  );

  always_comb begin
    in = '0;
    if (beat_i) in = '{data: data_i, last: last_i, user_bytes: user_bytes_q, default: '0};
    in.block_end = block_end_i;
    in.task_end  = task_end_i;
  end

  wire push = enable_i && (beat_i || block_end_i || task_end_i);
  wire pop = key_valid_o && key_ready_i;
  assign ready_o = !enable_i || room;
  assign error_o = error_q;

  cu_fifo #(.Width(Width), .Depth(Depth)) u_keys (
    .clk_i, .rst_ni, .wvalid_i(push), .wready_o(room), .wdata_i(in),
    .rvalid_o(key_valid_o), .rready_i(key_ready_i), .rdata_o(key_o), .count_o(count)
  );

  function automatic logic [Width-1:0] add(logic [Width-1:0] sum, logic [Width-1:0] word);
    return {sum[Width-2:0], ~sum[Width-1]} ^ word;
  endfunction

  always_ff @(posedge clk_i) begin
    user_bytes_q <= user_bytes_d;
    if (!rst_ni) begin
      in_sum_q  <= '0;
      out_sum_q <= '0;
      error_q   <= 1'b0;
    end else begin
      if (push) in_sum_q <= add(in_sum_q, in);
      if (pop) out_sum_q <= add(out_sum_q, key_o);
      error_q <= error_q || user_bytes_error || (count == '0 && in_sum_q != out_sum_q);
    end
  end

  `ASSERT(a_room, push |-> room)
  `ASSERT(a_one, $onehot0({beat_i, block_end_i, task_end_i}))
  `ASSERT(a_sums, count == '0 |-> in_sum_q == out_sum_q)
endmodule
