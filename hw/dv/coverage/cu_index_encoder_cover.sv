// Streams of the index encoder.

bind cu_index_encoder stream_cover u_cover_last_key (
    .clk_i, .rst_ni, .valid_i(last_key_valid_i), .ready_i(last_key_ready_o)
);
bind cu_index_encoder stream_cover u_cover_table_record (
    .clk_i, .rst_ni, .valid_i(table_record_valid_i), .ready_i(table_record_ready_o)
);
bind cu_index_encoder stream_cover u_cover_handle (
    .clk_i, .rst_ni, .valid_i(handle_valid_i), .ready_i(handle_ready_o)
);
bind cu_index_encoder stream_cover u_cover_out (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i)
);
