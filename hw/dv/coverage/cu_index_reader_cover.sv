// Streams of an index reader.

bind cu_index_reader stream_cover u_cover_req (
    .clk_i, .rst_ni, .valid_i(req_valid_o), .ready_i(req_ready_i)
);
bind cu_index_reader stream_cover u_cover_beat (
    .clk_i, .rst_ni, .valid_i(beat_valid_i), .ready_i(beat_ready_o)
);
bind cu_index_reader stream_cover u_cover_done (
    .clk_i, .rst_ni, .valid_i(done_valid_i), .ready_i(done_ready_o)
);
bind cu_index_reader stream_cover u_cover_handle (
    .clk_i, .rst_ni, .valid_i(handle_valid_o), .ready_i(handle_ready_i)
);
