// Streams of a block sealer.

bind cu_block_sealer stream_cover u_cover_in (
    .clk_i, .rst_ni, .valid_i(in_valid_i), .ready_i(in_ready_o)
);
bind cu_block_sealer stream_cover u_cover_out (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i)
);
bind cu_block_sealer stream_cover u_cover_handle (
    .clk_i, .rst_ni, .valid_i(handle_valid_o), .ready_i(handle_ready_i)
);
