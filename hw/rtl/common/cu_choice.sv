// One of several words. One of eight is made of cu_byte_choice.

module cu_choice #(
  parameter int unsigned Width = 64,
  parameter int unsigned Words = 8,
  localparam int unsigned PickBits = (Words > 1) ? $clog2(Words) : 1
) (
  input  logic [Words-1:0][Width-1:0] words_i,
  input  logic [PickBits-1:0]         pick_i,
  output logic [Width-1:0]            word_o
);
  if (Words == 8) begin : g_eight
    localparam int unsigned Bytes = (Width + 7) / 8;
    logic [7:0][Bytes*8-1:0] words;
    logic [Bytes*8-1:0] word;
    for (genvar w = 0; w < 8; w++) begin : g_word
      assign words[w] = (Bytes * 8)'(words_i[w]);
    end
    for (genvar i = 0; i < int'(Bytes); i++) begin : g_byte
      logic [7:0][7:0] bytes;
      for (genvar w = 0; w < 8; w++) begin : g_word
        assign bytes[w] = words[w][8*i+:8];
      end
      cu_byte_choice u_choice (.bytes_i(bytes), .pick_i, .byte_o(word[8*i+:8]));
    end
    assign word_o = word[Width-1:0];
  end else begin : g_any
    assign word_o = words_i[pick_i];
  end
endmodule
