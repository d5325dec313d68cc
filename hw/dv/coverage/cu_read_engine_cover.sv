// Back-pressure on the address channel.

bind cu_read_engine stream_cover u_cover_ar (.clk_i, .rst_ni, .valid_i(m_axi_arvalid_o),
                                             .ready_i(m_axi_arready_i));
