// Where headers, keys, values and restart arrays lie in the chunks.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_entry_parser_cover #(
  parameter int unsigned V = 8,
  localparam int unsigned PosBits = $clog2(V),
  localparam type event_t = `CU_EVENT_T(V)
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               head_i,  // a header is looked at
  input logic               long_i,  // a long header's varint is
  input logic               window_move_o,
  input logic               window_flush_o,
  input logic [PosBits-1:0] window_pos_i,
  input logic [PosBits:0]   window_bytes_o,
  input event_t             event_o
);
  wire header = head_i && window_move_o;
  wire [PosBits+1:0] past = (PosBits + 2)'(window_pos_i) + (PosBits + 2)'(window_bytes_o);
  wire value_known = event_o.key && event_o.last;

  `COVER(c_header_ends_on_chunk, header && past == (PosBits + 2)'(V))
  `COVER(c_header_begins_on_chunk, header && window_pos_i == '0)
  // The first k bytes of the header in one chunk, the rest in the next.
  for (genvar k = 1; k < 5; k++) begin : g_split
    `COVER(c_header_split, header && past > (PosBits + 2)'(V) && V - 32'(window_pos_i) == k)
  end
  for (genvar k = 1; k < 6; k++) begin : g_varint
    `COVER(c_varint_bytes, long_i && window_move_o && window_bytes_o == k)
  end

  `COVER(c_key_ends_on_beat, event_o.key && event_o.last && event_o.span == (PosBits + 1)'(V))
  `COVER(c_user_key_ends_on_beat,
      event_o.key && event_o.user && event_o.user_last && event_o.user_bytes != '0 &&
      event_o.user_bytes % 16'(V) == '0)
  `COVER(c_user_key_empty, event_o.key && event_o.user_last && event_o.user_bytes == '0)
  `COVER(c_beat_all_shared, event_o.key && event_o.shared == (PosBits + 1)'(V))
  `COVER(c_beat_half_shared,
      event_o.key && event_o.shared != '0 && event_o.shared != (PosBits + 1)'(V))
  `COVER(c_value_empty, value_known && event_o.value_bytes == '0)
  `COVER(c_value_one_beat, event_o.value && event_o.first && event_o.last)
  `COVER(c_value_ends_on_beat, event_o.value && event_o.last && event_o.bytes == (PosBits + 1)'(V))
  `COVER(c_value_ends_within_beat,
      event_o.value && !event_o.first && event_o.last && event_o.bytes != (PosBits + 1)'(V))
  `COVER(c_restarts_on_chunk, head_i && window_flush_o && window_pos_i == '0)
  `COVER(c_restarts_split, head_i && window_flush_o && 32'(window_pos_i) + 4 > V)
  `COVER(c_block_end, event_o.block_end)
  `COVER(c_run_end, event_o.eos)
endmodule

bind cu_entry_parser cu_entry_parser_cover #(.V(ValueBytes)) u_cover (
  .head_i(state_q == Head), .long_i(state_q == Varint), .*
);
