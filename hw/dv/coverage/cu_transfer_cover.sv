// Streams of the transfer: of way 0, where each way has one.

bind cu_transfer stream_cover u_cover_verdict (.clk_i, .rst_ni, .valid_i(verdict_valid_i),
                                             .ready_i(verdict_ready_o));
bind cu_transfer stream_cover u_cover_record (.clk_i, .rst_ni, .valid_i(record_valid_o),
                                            .ready_i(record_ready_i));
bind cu_transfer stream_cover u_cover_kept_value (
    .clk_i, .rst_ni, .valid_i(kept_value_valid_o), .ready_i(kept_value_ready_i)
);
bind cu_transfer stream_cover u_cover_info (.clk_i, .rst_ni, .valid_i(info_valid_i[0]),
                                          .ready_i(info_ready_o[0]));
bind cu_transfer stream_cover u_cover_hash (.clk_i, .rst_ni, .valid_i(hash_valid_i[0]),
                                            .ready_i(hash_ready_o[0]));
bind cu_transfer stream_cover u_cover_value (.clk_i, .rst_ni, .valid_i(value_valid_i[0]),
                                             .ready_i(value_ready_o[0]));
