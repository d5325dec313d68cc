// XXH3 with 64 bits, without a seed, of messages of any length; its low half. A message comes in
// words, of which all but the last are whole, and the last has a byte at least, unless it is all of
// an empty message. A word is taken per cycle, from message to message, while cu_xxh3_finish keeps
// up: it has four messages to work on, and takes 50 cycles for a long one.

`include "cu_assert.svh"

module cu_xxh3 #(
  parameter int unsigned Bytes = 16,  // of a word: 8, 16, 32 or 64
  localparam int unsigned CountBits = $clog2(Bytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [Bytes*8-1:0]   data_i,
  input  logic [CountBits-1:0] bytes_i,
  input  logic                 last_i,

  output logic                 hash_valid_o,
  input  logic                 hash_ready_i,
  output logic [31:0]          hash_o
);
  localparam int unsigned Slots = 4;
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned WordBits = 8 - $clog2(Bytes);
  localparam int unsigned ByteBits = $clog2(Bytes);
  // Words of a message of 240 bytes, and what its last one holds.
  localparam int unsigned ShortWords = 240 / Bytes;
  localparam int unsigned ShortBytes = 240 % Bytes;

  `ASSERT_PARAM(bytes, Bytes inside {8, 16, 32, 64}, "Bytes must be 8, 16, 32 or 64")

  // ------------------------------------------------------------------ words and lengths

  logic [SlotBits-1:0] write_slot_q, read_slot_q;
  logic [$clog2(Slots+1)-1:0] slots_q;  // in use
  logic begins_q;                       // the next word begins a message
  logic [31-ByteBits:0] words_q;        // of the message so far
  logic lanes_ready, length_valid, length_ready, length_pop;
  logic [31:0] length_in, length;
  logic [$clog2(Slots+1)-1:0] unused_lengths;
  wire take = valid_i & ready_o;
  assign ready_o   = lanes_ready & ~(begins_q & (slots_q == ($bits(slots_q))'(Slots)));
  assign length_in = {words_q, ByteBits'(0)} + 32'(bytes_i);
  wire long = words_q > (32 - ByteBits)'(ShortWords) ||
              (words_q == (32 - ByteBits)'(ShortWords) && bytes_i > CountBits'(ShortBytes));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begins_q     <= 1'b1;
      words_q      <= '0;
      write_slot_q <= '0;
      read_slot_q  <= '0;
      slots_q      <= '0;
    end else begin
      if (take) begin
        begins_q <= last_i;
        words_q  <= last_i ? '0 : words_q + 1'b1;
        if (last_i) write_slot_q <= write_slot_q + 1'b1;
      end
      if (length_pop) read_slot_q <= read_slot_q + 1'b1;
      if ((take && begins_q) != length_pop) begin
        slots_q <= length_pop ? slots_q - 1'b1 : slots_q + 1'b1;
      end
    end
  end

  cu_fifo #(.Width(32), .Depth(Slots)) u_lengths (
    .clk_i, .rst_ni,
    .wvalid_i(take & last_i), .wready_o(length_ready), .wdata_i(length_in),
    .rvalid_o(length_valid), .rready_i(length_pop), .rdata_o(length), .count_o(unused_lengths)
  );

  logic [7:0] read_byte;
  logic [63:0] read_data;
  cu_xxh3_tail #(.Bytes(Bytes), .Slots(Slots)) u_tail (
    .clk_i, .write_i(take), .write_slot_i(write_slot_q), .write_word_i(words_q[WordBits-1:0]),
    .data_i, .read_slot_i(read_slot_q), .read_byte_i(read_byte), .data_o(read_data)
  );

  // ------------------------------------------------------------------ lanes

  // They take 16 bytes at least.
  localparam int unsigned LaneBytes = (Bytes > 16) ? Bytes : 16;
  logic lanes_valid;
  logic [LaneBytes*8-1:0] lanes_data;
  if (Bytes == 8) begin : g_pairs
    logic [63:0] low_q;
    wire second = words_q[0];
    always_ff @(posedge clk_i) if (take && !second) low_q <= data_i;
    assign lanes_valid = take & (second | last_i);
    assign lanes_data  = second ? {data_i, low_q} : {64'b0, data_i};
  end else begin : g_words
    assign lanes_valid = take;
    assign lanes_data  = data_i;
  end

  logic total_valid, totals_taken;
  logic [2:0] total_lane;
  logic [63:0] total;
  cu_xxh3_lanes #(.Bytes(LaneBytes)) u_lanes (
    .clk_i, .rst_ni,
    .valid_i(lanes_valid), .ready_o(lanes_ready), .data_i(lanes_data), .last_i, .totals_i(long),
    .total_valid_o(total_valid), .total_lane_o(total_lane), .total_o(total),
    .totals_taken_i(totals_taken)
  );

  // ------------------------------------------------------------------ hashes

  logic made_valid, made_ready;
  logic [31:0] made;
  cu_xxh3_finish u_finish (
    .clk_i, .rst_ni,
    .message_valid_i(length_valid), .message_ready_o(length_pop), .message_bytes_i(length),
    .read_byte_o(read_byte), .read_data_i(read_data),
    .total_valid_i(total_valid), .total_lane_i(total_lane), .total_i(total),
    .totals_taken_o(totals_taken),
    .hash_valid_o(made_valid), .hash_ready_i(made_ready), .hash_o(made)
  );

  logic [3:0] unused_hashes;
  cu_fifo #(.Width(32), .Depth(8)) u_hashes (
    .clk_i, .rst_ni, .wvalid_i(made_valid), .wready_o(made_ready), .wdata_i(made),
    .rvalid_o(hash_valid_o), .rready_i(hash_ready_i), .rdata_o(hash_o), .count_o(unused_hashes)
  );

  `ASSERT(a_length, take && last_i |-> length_ready)
  `ASSERT(a_words, valid_i && !last_i |-> bytes_i == CountBits'(Bytes))
  `ASSERT(a_last_word, valid_i && last_i |-> bytes_i != '0 || begins_q)
endmodule
