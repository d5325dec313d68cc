// Streams of the index reader, those of its first way. Its requests never wait.

bind cu_index_reader stream_cover u_cover_beat (
    .clk_i, .rst_ni, .valid_i(beat_valid_i[0]), .ready_i(beat_ready_o[0])
);
bind cu_index_reader stream_cover u_cover_done (
    .clk_i, .rst_ni, .valid_i(done_valid_i[0]), .ready_i(done_ready_o[0])
);
bind cu_index_reader stream_cover u_cover_handle (
    .clk_i, .rst_ni, .valid_i(handle_valid_o[0]), .ready_i(handle_ready_i[0])
);
