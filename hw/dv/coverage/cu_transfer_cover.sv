// Streams of the transfer: of way 0, where each way has one.

bind cu_transfer stream_cover u_cover_vd (.clk_i, .rst_ni, .valid_i(vd_valid_i), .ready_i(vd_ready_o));
bind cu_transfer stream_cover u_cover_out (.clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i));
bind cu_transfer stream_cover u_cover_ov (.clk_i, .rst_ni, .valid_i(ov_valid_o), .ready_i(ov_ready_i));
bind cu_transfer stream_cover u_cover_rec (.clk_i, .rst_ni, .valid_i(rec_valid_i[0]),
                                           .ready_i(rec_ready_o[0]));
bind cu_transfer stream_cover u_cover_hash (.clk_i, .rst_ni, .valid_i(hash_valid_i[0]),
                                            .ready_i(hash_ready_o[0]));
bind cu_transfer stream_cover u_cover_value (.clk_i, .rst_ni, .valid_i(value_valid_i[0]),
                                             .ready_i(value_ready_o[0]));
