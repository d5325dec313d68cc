// Streams of the index encoder.

bind cu_index_encoder stream_cover u_cover_lk (.clk_i, .rst_ni, .valid_i(lk_valid_i), .ready_i(lk_ready_o));
bind cu_index_encoder stream_cover u_cover_tr (.clk_i, .rst_ni, .valid_i(tr_valid_i), .ready_i(tr_ready_o));
bind cu_index_encoder stream_cover u_cover_handle (.clk_i, .rst_ni, .valid_i(handle_valid_i), .ready_i(handle_ready_o));
bind cu_index_encoder stream_cover u_cover_out (.clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i));
