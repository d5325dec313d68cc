// Where headers, keys, values and restart arrays lie in the chunks.

module cu_entry_parser_cover #(
  parameter int unsigned V = 8,
  localparam int unsigned PosBits  = $clog2(V)
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               head_i,  // a header is looked at
  input logic               long_i,  // a long header's varint is
  input logic               window_move_o,
  input logic               window_flush_o,
  input logic [PosBits-1:0] window_pos_i,
  input logic [PosBits:0]   window_bytes_o,
  input logic               ev_key_o,
  input logic               ev_value_o,
  input logic               ev_end_o,
  input logic               ev_eos_o,
  input logic [PosBits:0]   ev_bytes_o,
  input logic               ev_first_o,
  input logic               ev_last_o,
  input logic [PosBits:0]   ev_shared_o,
  input logic [PosBits:0]   ev_span_o,
  input logic               ev_user_o,
  input logic               ev_user_last_o,
  input logic [15:0]        ev_user_bytes_o,
  input logic [31:0]        ev_value_bytes_o
);
  wire header = head_i && window_move_o;
  wire [PosBits+1:0] past = (PosBits + 2)'(window_pos_i) + (PosBits + 2)'(window_bytes_o);
  wire value_known = ev_key_o && ev_last_o;

  c_header_ends_on_chunk : cover property (@(posedge clk_i) disable iff (!rst_ni)
      header && past == (PosBits + 2)'(V));
  c_header_begins_on_chunk : cover property (@(posedge clk_i) disable iff (!rst_ni)
      header && window_pos_i == '0);
  // The first k bytes of the header in one chunk, the rest in the next.
  for (genvar k = 1; k < 5; k++) begin : g_split
    c_header_split : cover property (@(posedge clk_i) disable iff (!rst_ni)
        header && past > (PosBits + 2)'(V) && V - 32'(window_pos_i) == k);
  end
  for (genvar k = 1; k < 6; k++) begin : g_varint
    c_varint_bytes : cover property (@(posedge clk_i) disable iff (!rst_ni)
        long_i && window_move_o && window_bytes_o == k);
  end

  c_key_ends_on_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_key_o && ev_last_o && ev_span_o == (PosBits + 1)'(V));
  c_user_key_ends_on_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_key_o && ev_user_o && ev_user_last_o && ev_user_bytes_o != '0 &&
      ev_user_bytes_o % 16'(V) == '0);
  c_user_key_empty : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_key_o && ev_user_last_o && ev_user_bytes_o == '0);
  c_beat_all_shared : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_key_o && ev_shared_o == (PosBits + 1)'(V));
  c_beat_half_shared : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_key_o && ev_shared_o != '0 && ev_shared_o != (PosBits + 1)'(V));
  c_value_empty : cover property (@(posedge clk_i) disable iff (!rst_ni)
      value_known && ev_value_bytes_o == '0);
  c_value_one_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_value_o && ev_first_o && ev_last_o);
  c_value_ends_on_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_value_o && ev_last_o && ev_bytes_o == (PosBits + 1)'(V));
  c_value_ends_within_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ev_value_o && !ev_first_o && ev_last_o && ev_bytes_o != (PosBits + 1)'(V));
  c_restarts_on_chunk : cover property (@(posedge clk_i) disable iff (!rst_ni)
      head_i && window_flush_o && window_pos_i == '0);
  c_restarts_split : cover property (@(posedge clk_i) disable iff (!rst_ni)
      head_i && window_flush_o && 32'(window_pos_i) + 4 > V);
  c_block_end : cover property (@(posedge clk_i) disable iff (!rst_ni) ev_end_o);
  c_run_end : cover property (@(posedge clk_i) disable iff (!rst_ni) ev_eos_o);
endmodule

bind cu_entry_parser cu_entry_parser_cover #(.V(ValueBytes)) u_cover (
  .head_i(state_q == Head), .long_i(state_q == Varint), .*
);
