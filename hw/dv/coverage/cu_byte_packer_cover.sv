// How chunks meet words.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_byte_packer_cover #(
  parameter int unsigned Bytes = 8,
  localparam int unsigned CountBits = $clog2(Bytes + 1),
  localparam type chunk_t = `CU_CHUNK_T(Bytes)
) (
  input logic   clk_i,
  input logic   rst_ni,
  input logic   in_valid_i,
  input logic   in_ready_o,
  input chunk_t in_i,
  input logic   out_valid_o,
  input logic   out_ready_i,
  input chunk_t out_o
);
  wire out = out_valid_o && out_ready_i;
  `COVER(c_empty_chunk, in_valid_i && in_ready_o && in_i.bytes == '0 && in_i.last)
  `COVER(c_full_chunk, in_valid_i && in_ready_o && in_i.bytes == CountBits'(Bytes))
  `COVER(c_ends_on_beat, out && out_o.last && out_o.bytes == CountBits'(Bytes))
  `COVER(c_ends_within_beat,
      out && out_o.last && out_o.bytes != CountBits'(Bytes) && out_o.bytes != '0)
  `COVER(c_empty_word, out && out_o.last && out_o.bytes == '0)
endmodule

bind cu_byte_packer cu_byte_packer_cover #(.Bytes(Bytes)) u_cover (.*);
bind cu_byte_packer stream_cover u_cover_in (.clk_i, .rst_ni, .valid_i(in_valid_i),
                                             .ready_i(in_ready_o));
bind cu_byte_packer stream_cover u_cover_out (.clk_i, .rst_ni, .valid_i(out_valid_o),
                                              .ready_i(out_ready_i));
