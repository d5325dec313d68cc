// Streams of an entry decoder.

bind cu_entry_decoder stream_cover u_cover_handle (
    .clk_i, .rst_ni, .valid_i(handle_valid_i), .ready_i(handle_ready_o)
);
bind cu_entry_decoder stream_cover u_cover_req (
    .clk_i, .rst_ni, .valid_i(req_valid_o), .ready_i(req_ready_i)
);
bind cu_entry_decoder stream_cover u_cover_beat (
    .clk_i, .rst_ni, .valid_i(beat_valid_i), .ready_i(beat_ready_o)
);
bind cu_entry_decoder stream_cover u_cover_done (
    .clk_i, .rst_ni, .valid_i(done_valid_i), .ready_i(done_ready_o)
);
bind cu_entry_decoder stream_cover u_cover_key (
    .clk_i, .rst_ni, .valid_i(key_valid_o), .ready_i(key_ready_i)
);
bind cu_entry_decoder stream_cover u_cover_info (
    .clk_i, .rst_ni, .valid_i(info_valid_o), .ready_i(info_ready_i)
);
bind cu_entry_decoder stream_cover u_cover_hash (
    .clk_i, .rst_ni, .valid_i(hash_valid_o), .ready_i(hash_ready_i)
);
bind cu_entry_decoder stream_cover u_cover_value (
    .clk_i, .rst_ni, .valid_i(value_valid_o), .ready_i(value_ready_i)
);
