// cu_merge_node merges: its output is sorted by user key ascending, trailer descending, way ascending,
// and holds each key of either side once; its end comes once, after both sides' ends and all keys.
// An arbitrary key is followed through. Order is that around an arbitrary key and way: once something
// not before it has left, nothing before it does, if that holds of both inputs. Keys are of 0 to 2
// bytes, in beats of one byte.

module f_merge_node #(
  parameter int unsigned Check = 0,  // 0: protocol; 1: order; 2: the followed key
  localparam int unsigned V = 1,
  localparam int unsigned MaxKeyBytes = 2
) (
  input logic       clk_i,
  input logic [1:0] valid_i,  // of a, of b
  input logic [1:0] data_i,
  input logic [1:0] bytes_i,
  input logic [1:0] last_i,
  input logic [1:0] eos_i,
  input logic [1:0] trailer_i,
  input logic       out_ready_i,
  input logic       follow_i,      // the key ending now on this side is the one to follow
  input logic       follow_side_i
);
  typedef struct packed {
    logic [1:0] data;   // first byte, second: one bit of each is used
    logic [1:0] bytes;
    logic       trailer;
  } key_t;

  logic rst_n_q = 1'b0;
  always_ff @(posedge clk_i) rst_n_q <= 1'b1;

  logic [1:0] ready;
  logic out_valid, out_bytes, out_last, out_eos, unused_parity, out_way;
  logic [7:0] out_data;
  logic [63:0] out_trailer;
  cu_merge_node #(.ValueBytes(V), .Ways(2), .MaxKeyBytes(MaxKeyBytes)) u_dut (
    .clk_i, .rst_ni(rst_n_q),
    .a_valid_i(valid_i[0]), .a_ready_o(ready[0]),
    .a_i({7'b0, data_i[0], bytes_i[0], last_i[0], eos_i[0], 63'b0, trailer_i[0], 1'b0, 1'b0}),
    .b_valid_i(valid_i[1]), .b_ready_o(ready[1]),
    .b_i({7'b0, data_i[1], bytes_i[1], last_i[1], eos_i[1], 63'b0, trailer_i[1], 1'b0, 1'b1}),
    .out_valid_o(out_valid), .out_ready_i,
    .out_o({out_data, out_bytes, out_last, out_eos, out_trailer, unused_parity, out_way})
  );

  // What the order is checked around, in any proof another one.
  key_t pivot_q;
  logic pivot_way_q;
  always_ff @(posedge clk_i) begin
    pivot_q     <= pivot_q;
    pivot_way_q <= pivot_way_q;
  end

  // A key of this way comes before the pivot: of the same padded bytes, the shorter one; of the same
  // user key, the larger trailer; of the same key, the lower way.
  function automatic logic precedes(key_t key, logic way);
    return {key.data, key.bytes, !key.trailer, way} <
           {pivot_q.data, pivot_q.bytes, !pivot_q.trailer, pivot_way_q};
  endfunction

  // ---- both inputs: sorted keys, then an end
  logic [1:0] push, mid_q = '0, ended_q = '0, past_q = '0;
  logic [1:0] first_data_q;
  key_t [1:0] key;
  logic [1:0][3:0] keys_q = '0;  // complete ones inside
  for (genvar s = 0; s < 2; s++) begin : g_side
    assign push[s] = rst_n_q && valid_i[s] && ready[s];
    assign key[s]  = '{data: mid_q[s] ? {first_data_q[s], data_i[s]} : {data_i[s], 1'b0},
                       bytes: 2'(mid_q[s]) + 2'(bytes_i[s]), trailer: trailer_i[s]};
    wire key_in = push[s] && last_i[s] && !eos_i[s];
    wire key_out = rst_n_q && out_valid && out_ready_i && out_last && !out_eos &&
                   out_way == 1'(s);
    always_ff @(posedge clk_i) begin
      if (push[s]) mid_q[s] <= !last_i[s];
      if (push[s]) first_data_q[s] <= data_i[s];
      if (key_in && !precedes(key[s], 1'(s))) past_q[s] <= 1'b1;
      if (push[s] && eos_i[s]) ended_q[s] <= 1'b1;
      keys_q[s] <= keys_q[s] + 4'(key_in) - 4'(key_out);
    end
    always_ff @(posedge clk_i) begin
      if (valid_i[s]) begin
        m_padded : assume (bytes_i[s] || !data_i[s]);
        m_empty  : assume (bytes_i[s] || (last_i[s] && !mid_q[s]));
        m_length : assume (!mid_q[s] || last_i[s]);
        m_end    : assume (!ended_q[s]);
        m_eos    : assume (!eos_i[s] || (!mid_q[s] && last_i[s] && !bytes_i[s]));
        m_sorted : assume (eos_i[s] || !last_i[s] || !past_q[s] || !precedes(key[s], 1'(s)));
      end
    end
  end

  // ---- the output
  wire pop = rst_n_q && out_valid && out_ready_i;
  wire key_pop = pop && out_last && !out_eos;
  logic out_mid_q = 1'b0, out_past_q = 1'b0, out_ended_q = 1'b0, held_q = 1'b0;
  logic out_first_q;
  key_t out_key;
  logic [77:0] held_data_q;
  logic [3:0] stuck_q = '0;
  logic following_q = 1'b0, side_q;
  logic [3:0] ahead_q;
  key_t followed_q;

  assign out_key = '{data: out_mid_q ? {out_first_q, out_data[0]} : {out_data[0], 1'b0},
                     bytes: 2'(out_mid_q) + 2'(out_bytes), trailer: out_trailer[0]};
  // Each side stands at a complete key or at its end: there is something to say.
  wire decidable = (keys_q[0] != '0 || ended_q[0]) && (keys_q[1] != '0 || ended_q[1]) &&
                   !out_ended_q;

  always_ff @(posedge clk_i) begin
    if (pop) out_mid_q <= !out_last;
    if (pop) out_first_q <= out_data[0];
    if (key_pop && !precedes(out_key, out_way)) out_past_q <= 1'b1;
    if (pop && out_eos) out_ended_q <= 1'b1;
    held_q <= rst_n_q && out_valid && !out_ready_i;
    held_data_q <= {out_data, out_bytes, out_last, out_eos, out_trailer, out_way};
    stuck_q <= (rst_n_q && decidable && !out_valid) ? stuck_q + 1'b1 : '0;
    if (following_q) begin
      if (key_pop && out_way == side_q) begin
        ahead_q <= ahead_q - 1'b1;
        if (ahead_q == '0) following_q <= 1'b0;
      end
    end else if (follow_i && push[follow_side_i] && last_i[follow_side_i] &&
                 !eos_i[follow_side_i]) begin
      following_q <= 1'b1;
      side_q      <= follow_side_i;
      ahead_q     <= keys_q[follow_side_i] - 4'(key_pop && out_way == follow_side_i);
      followed_q  <= key[follow_side_i];
    end
  end

  if (Check == 0) begin : g_protocol
    always_ff @(posedge clk_i) begin
      if (rst_n_q) begin
        p_moves  : assert (stuck_q <= 4'd3);
        p_held   : assert (!held_q || (out_valid && held_data_q ==
                           {out_data, out_bytes, out_last, out_eos, out_trailer, out_way}));
        p_silent : assert (!out_ended_q || !out_valid);
      end
      if (key_pop) p_from : assert (keys_q[out_way] != '0);
      if (pop && out_eos) begin
        p_end : assert (&ended_q && keys_q == '0 && !out_mid_q && out_last);
      end
    end
  end else if (Check == 1) begin : g_order
    always_ff @(posedge clk_i) begin
      if (key_pop) p_sorted : assert (!out_past_q || !precedes(out_key, out_way));
    end
  end else begin : g_key
    always_ff @(posedge clk_i) begin
      if (key_pop && following_q && out_way == side_q && ahead_q == '0) begin
        p_key : assert (out_key == followed_q);
      end
    end
  end
endmodule
