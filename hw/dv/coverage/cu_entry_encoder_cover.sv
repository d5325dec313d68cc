// Ends of the output: blocks, tables, the task, with and without something before them.

module cu_entry_encoder_cover #(
  parameter int unsigned V = 8,
  parameter int unsigned CountBits = 4
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 rec_valid_i,
  input logic                 rec_ready_o,
  input logic                 rec_end_i,
  input logic                 rec_tombstone_i,
  input logic [15:0]          rec_user_bytes_i,
  input logic [15:0]          rec_shared_i,
  input logic [31:0]          rec_value_bytes_i,
  input logic                 out_valid_o,
  input logic                 out_ready_i,
  input logic [CountBits-1:0] out_bytes_o,
  input logic                 out_last_o,
  input logic [1:0]           out_token_o
);
  wire record = rec_valid_i && rec_ready_o && !rec_end_i;
  wire chunk = out_valid_o && out_ready_i;
  logic any_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) any_q <= 1'b0;
    else if (record) any_q <= 1'b1;
  end

  c_block_end : cover property (@(posedge clk_i) disable iff (!rst_ni)
      chunk && out_last_o && out_token_o == 2'd0);
  c_table_cut : cover property (@(posedge clk_i) disable iff (!rst_ni)
      chunk && out_token_o == 2'd1);
  c_task_end : cover property (@(posedge clk_i) disable iff (!rst_ni)
      chunk && out_token_o == 2'd2 && any_q);
  c_task_end_without_data : cover property (@(posedge clk_i) disable iff (!rst_ni)
      chunk && out_token_o == 2'd2 && !any_q);
  c_tombstone : cover property (@(posedge clk_i) disable iff (!rst_ni) record && rec_tombstone_i);
  c_empty_key : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_user_bytes_i == '0);
  c_nothing_shared : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && any_q && rec_shared_i == '0);
  c_all_shared : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && any_q && rec_user_bytes_i != '0 && rec_shared_i == rec_user_bytes_i);
  c_shared_ends_on_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_shared_i != '0 && rec_shared_i % 16'(V) == '0);
  c_value_empty : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i == '0);
  c_value_one_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i != '0 && rec_value_bytes_i < V);
  c_value_ends_on_beat : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i != '0 && rec_value_bytes_i % V == '0);
  c_value_long : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i > V && rec_value_bytes_i % V != '0);

  // Varints of the header it writes: value length in 1 to 3 bytes.
  c_value_varint_1 : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i < 32'd128);
  c_value_varint_2 : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i >= 32'd128 && rec_value_bytes_i < 32'd16384);
  c_value_varint_3 : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && rec_value_bytes_i >= 32'd16384);
  c_key_varint_2 : cover property (@(posedge clk_i) disable iff (!rst_ni)
      record && 17'(rec_user_bytes_i) - 17'(rec_shared_i) + 17'd8 >= 17'd128);
endmodule

bind cu_entry_encoder cu_entry_encoder_cover #(.V(V), .CountBits(CountBits)) u_cover (.*);
bind cu_entry_encoder stream_cover u_cover_rec (.clk_i, .rst_ni, .valid_i(rec_valid_i), .ready_i(rec_ready_o));
bind cu_entry_encoder stream_cover u_cover_key (.clk_i, .rst_ni, .valid_i(key_valid_i), .ready_i(key_ready_o));
bind cu_entry_encoder stream_cover u_cover_value (.clk_i, .rst_ni, .valid_i(value_valid_i), .ready_i(value_ready_o));
bind cu_entry_encoder stream_cover u_cover_out (.clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i));
bind cu_entry_encoder stream_cover u_cover_lk (.clk_i, .rst_ni, .valid_i(lk_valid_o), .ready_i(lk_ready_i));
bind cu_entry_encoder stream_cover u_cover_tr (.clk_i, .rst_ni, .valid_i(tr_valid_o), .ready_i(tr_ready_i));
