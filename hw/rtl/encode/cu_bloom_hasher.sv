// Hashes user keys for Bloom filters, several at once: a round of the hash needs the one before it,
// but different keys do not need each other.
//
// The beats of a key wait in a slot of a RAM. Keys go round a ring of Turn cycles, which are the
// rounds for the words of one beat: a key takes a beat per turn, and in each cycle another key
// takes one. When a key leaves the ring, the next that waits takes its place. There are more slots
// than places in the ring, so that keys can come meanwhile. A key may go round while it still
// comes; it takes nothing in a turn for which there is no beat yet.
//
// Keys end in any order. A hash therefore goes to the place of its key, and a block is ready as
// soon as none of its keys is in a slot. Blocks are ready in order.
//
// A block of more than MaxFilterKeys keys, or whose filter is longer than MaxFilterBytes, never
// ends: it is an overflow, after which nothing is taken any more.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_bloom_hasher #(
  parameter int unsigned ValueBytes = 16,        // V: 8, 16, 32 or 64
  parameter int unsigned MaxKeyBytes = 1024,     // more than V
  parameter int unsigned MaxFilterKeys = 2048,   // of a block; a power of two
  parameter int unsigned MaxFilterBytes = 4096,  // a power of two
  localparam type filter_key_t = `CU_FILTER_KEY_T(ValueBytes),
  localparam int unsigned PlaceBits = $clog2(MaxFilterKeys),
  localparam int unsigned SizeBits = $clog2(MaxFilterBytes + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,  // synchronous

  input  logic [7:0]           bits_per_key_i,  // 1 or more; stable while keys come

  input  logic                 key_valid_i,
  output logic                 key_ready_o,
  input  filter_key_t          key_i,

  // Each key has the next of MaxFilterKeys places, in turn.
  output logic                 hash_valid_o,
  output logic [PlaceBits-1:0] hash_place_o,
  output logic [31:0]          hash_o,
  input  logic                 hash_read_i,  // one hash less waits in its place

  // A block whose hashes all are in their places.
  output logic                 block_valid_o,
  input  logic                 block_ready_i,
  output logic [PlaceBits:0]   block_keys_o,
  output logic [SizeBits-1:0]  block_bytes_o,  // of its filter, without the number of probes
  output logic                 block_end_o,    // it is none, but the task's end

  output logic                 overflow_o
);
  import cu_bloom_pkg::*;

  localparam int unsigned V = ValueBytes;
  localparam int unsigned Words = V / WordBytes;
  localparam int unsigned RoundCycles = round_cycles();
  localparam int unsigned Turn = Words * RoundCycles;
  localparam int unsigned Slots = 2 ** $clog2(Turn + 2);
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned BeatBits = $clog2(V);
  localparam int unsigned CountBits = $clog2(V + 1);
  localparam int unsigned Rows = (MaxKeyBytes + V - 1) / V;
  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned TagBits = 4;  // of a block among those that are not taken yet
  localparam int unsigned SumBits = SizeBits + 4;

  `ASSERT_PARAM(value_bytes, ValueBytes inside {8, 16, 32, 64},
                "ValueBytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(max_key_bytes, MaxKeyBytes > ValueBytes && MaxKeyBytes < 2 ** 16,
                "MaxKeyBytes must be more than ValueBytes, and below 2^16")
  `ASSERT_PARAM(max_filter_keys, $onehot(MaxFilterKeys) && MaxFilterKeys >= 4,
                "MaxFilterKeys must be a power of two, 4 or more")
  `ASSERT_PARAM(max_filter_bytes, $onehot(MaxFilterBytes) && MaxFilterBytes >= 32,
                "MaxFilterBytes must be a power of two, 32 or more")

  typedef logic [SlotBits-1:0] slot_t;
  typedef logic [RowBits-1:0] row_t;
  typedef logic [TagBits-1:0] tag_t;

  // ---- keys come
  logic slot_valid_q, place_valid, every_place, blocks_ready, overflow_q;
  slot_t slot_q;          // the next free one
  logic loading_q;        // the last beat of a key is still to come
  slot_t load_slot_q;
  row_t load_row_q;       // to be written next
  logic [PlaceBits-1:0] place_q;
  logic [PlaceBits:0] keys_q;  // of the open block
  logic [SumBits-1:0] bits_q;  // of its filter
  tag_t tag_in_q, tag_out_q;

  wire too_long = bits_q > SumBits'(8 * MaxFilterBytes);
  wire no_key = key_i.block_end || key_i.task_end;
  wire too_many = keys_q[PlaceBits] && !no_key;
  wire room = no_key ? blocks_ready : slot_valid_q && place_valid && !too_many;
  assign key_ready_o = loading_q || (room && !overflow_q && !too_long);
  assign overflow_o  = overflow_q;

  wire take = key_valid_i && key_ready_o;
  wire beat = take && !no_key;
  wire start = beat && !loading_q;
  wire end_block = take && no_key;
  wire slot_t slot = loading_q ? load_slot_q : slot_q;
  wire row_t row = loading_q ? load_row_q : '0;

  always_ff @(posedge clk_i) begin
    if (start) load_slot_q <= slot_q;
    if (beat) load_row_q <= row + 1'b1;
    if (!rst_ni) begin
      loading_q  <= 1'b0;
      place_q    <= '0;
      keys_q     <= '0;
      bits_q     <= '0;
      tag_in_q   <= '0;
      overflow_q <= 1'b0;
    end else begin
      if (beat) loading_q <= !key_i.last;
      if (start) begin
        place_q <= place_q + 1'b1;
        keys_q  <= keys_q + 1'b1;
        bits_q  <= bits_q + SumBits'(bits_per_key_i);
      end
      if (end_block) begin
        keys_q   <= '0;
        bits_q   <= '0;
        tag_in_q <= tag_in_q + 1'b1;
      end
      overflow_q <= overflow_q || too_long || (key_valid_i && !loading_q && too_many);
    end
  end

  // A place is free again when its hash has been read.
  cu_credit #(.Depth(MaxFilterKeys)) u_places (
    .clk_i, .rst_ni, .take_i(start), .give_i(hash_read_i), .avail_o(place_valid),
    .all_o(every_place)
  );
  wire unused_every_place = every_place;

  // ---- slots
  logic [Slots-1:0] busy_q;
  tag_t tag_q[Slots];
  logic [PlaceBits-1:0] place_mem[Slots];
  logic finish_q;
  slot_t finish_slot_q;

  // The next free slot, and the one after it.
  slot_t other;
  logic other_valid;
  always_comb begin
    other       = '0;
    other_valid = 1'b0;
    for (int i = 0; i < int'(Slots); i++) begin
      if (!busy_q[i] && !(slot_valid_q && slot_q == slot_t'(i))) begin
        other       = slot_t'(i);
        other_valid = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      place_mem[slot_q] <= place_q;
      tag_q[slot_q]     <= tag_in_q;
    end
    if (!rst_ni) begin
      busy_q       <= '0;
      slot_valid_q <= 1'b0;
    end else begin
      if (start) busy_q[slot_q] <= 1'b1;
      if (finish_q) busy_q[finish_slot_q] <= 1'b0;
      if (start || !slot_valid_q) begin
        slot_q       <= other;
        slot_valid_q <= other_valid;
      end
    end
  end

  // ---- the hash before the first round, and keys that wait to go round
  logic [31:0] length_q, length_product;
  logic [2:0] wait_q;
  slot_t wait_slot_q[3];
  logic fresh_valid, fresh_ready, fresh_room;
  slot_t fresh_slot;
  logic [31:0] fresh_hash;
  logic [SlotBits:0] unused_fresh;

  cu_bloom_product u_length (
    .clk_i, .number_i(length_q), .product_o(length_product)
  );
  always_ff @(posedge clk_i) begin
    length_q       <= 32'(key_i.user_bytes);
    wait_slot_q[0] <= slot_q;
    for (int i = 1; i < 3; i++) wait_slot_q[i] <= wait_slot_q[i-1];
    wait_q <= rst_ni ? {wait_q[1:0], start} : '0;
  end
  cu_fifo #(.Width(SlotBits + 32), .Depth(Slots)) u_fresh (
    .clk_i, .rst_ni, .wvalid_i(wait_q[2]), .wready_o(fresh_room),
    .wdata_i({wait_slot_q[2], first_hash(length_product)}), .rvalid_o(fresh_valid),
    .rready_i(fresh_ready), .rdata_o({fresh_slot, fresh_hash}), .count_o(unused_fresh)
  );

  // ---- the ring
  typedef struct packed {
    logic valid;
    slot_t slot;
    row_t row;   // of the next beat
    logic none;  // there is no beat in this turn
    logic last;  // it is the last
  } item_t;
  item_t ring_q[Turn];
  logic [31:0] init_q;
  logic again_q;  // not init_q

  wire again = ring_q[Turn-1].valid && !ring_q[Turn-1].last;
  wire slot_t next_slot = again ? ring_q[Turn-1].slot : fresh_slot;
  wire row_t next_row = again ? ring_q[Turn-1].row : '0;
  wire none = loading_q && next_slot == load_slot_q && next_row == load_row_q;
  assign fresh_ready = !again;

  // What a row holds: the beat, how many of its bytes are valid, and whether it is the last.
  localparam int unsigned RowWidth = V * 8 + CountBits + 1;
  (* ram_style = "block" *) logic [RowWidth-1:0] mem[Slots * 2 ** RowBits];
  logic [RowWidth-1:0] row_q;
  logic [CountBits-1:0] bytes;
  always_comb begin
    bytes = CountBits'(key_i.user_bytes[BeatBits-1:0]);
    if (!key_i.last || (bytes == '0 && key_i.user_bytes != '0)) bytes = CountBits'(V);
  end
  wire [V*8-1:0] row_data = row_q[V*8-1:0];
  wire [CountBits-1:0] row_bytes = row_q[V*8+:CountBits];

  always_ff @(posedge clk_i) begin
    if (beat) mem[{slot, row}] <= {key_i.last, bytes, key_i.data};
    row_q      <= mem[{next_slot, next_row}];
    init_q     <= fresh_hash;
    again_q    <= again;
    ring_q[0]  <= '{
      valid: rst_ni && (again || fresh_valid), slot: next_slot,
      row: none ? next_row : next_row + 1'b1, none: none, last: 1'b0
    };
    for (int i = 1; i < int'(Turn); i++) ring_q[i] <= ring_q[i-1];
    ring_q[1].last <= !ring_q[0].none && row_q[RowWidth-1];
    if (!rst_ni) begin
      for (int i = 1; i < int'(Turn); i++) ring_q[i].valid <= 1'b0;
    end
  end

  // Each round takes its word when it is its turn.
  logic [31:0] hash[Words+1];
  assign hash[0] = again_q ? hash[Words] : init_q;
  for (genvar w = 0; w < Words; w++) begin : g_round
    localparam int unsigned Delay = w * RoundCycles;
    logic [31:0] word[Delay+1];
    round_e round_of[Delay+1];
    assign word[0]     = row_data[32*w+:32];
    assign round_of[0] = ring_q[0].none ? RoundNone : round_at(7'(row_bytes), WordBytes * w);
    for (genvar i = 0; i < Delay; i++) begin : g_delay
      logic [31:0] word_q;
      round_e round_q;
      always_ff @(posedge clk_i) begin
        word_q  <= word[i];
        round_q <= round_of[i];
      end
      assign word[i+1]     = word_q;
      assign round_of[i+1] = round_q;
    end
    cu_bloom_round u_round (
      .clk_i, .hash_i(hash[w]), .word_i(word[Delay]), .round_i(round_of[Delay]),
      .hash_o(hash[w+1])
    );
  end

  always_ff @(posedge clk_i) begin
    finish_q      <= rst_ni && ring_q[Turn-1].valid && ring_q[Turn-1].last;
    finish_slot_q <= ring_q[Turn-1].slot;
  end
  assign hash_valid_o = finish_q;
  assign hash_place_o = place_mem[finish_slot_q];
  assign hash_o       = hash[Words];

  // ---- blocks end
  logic head_valid, head_take, pending, complete_q;
  logic [TagBits-1:0] unused_blocks;
  wire [SizeBits-1:0] block_bytes = (bits_q <= SumBits'(64)) ? SizeBits'(8)
                                    : SizeBits'((bits_q + SumBits'(7)) >> 3);
  cu_fifo #(.Width(PlaceBits + 2 + SizeBits), .Depth(2 ** TagBits - 1)) u_blocks (
    .clk_i, .rst_ni, .wvalid_i(end_block), .wready_o(blocks_ready),
    .wdata_i({keys_q, block_bytes, key_i.task_end}), .rvalid_o(head_valid), .rready_i(head_take),
    .rdata_o({block_keys_o, block_bytes_o, block_end_o}), .count_o(unused_blocks)
  );

  always_comb begin
    pending = 1'b0;
    for (int i = 0; i < int'(Slots); i++) pending |= busy_q[i] && tag_q[i] == tag_out_q;
  end
  assign block_valid_o = complete_q;
  assign head_take     = complete_q && block_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      complete_q <= 1'b0;
      tag_out_q  <= '0;
    end else begin
      complete_q <= head_valid && !head_take && (complete_q || !pending);
      if (head_take) tag_out_q <= tag_out_q + 1'b1;
    end
  end

  `ASSERT(a_fresh_room, wait_q[2] |-> fresh_room)
  `ASSERT(a_fits, start |-> 32'(key_i.user_bytes) <= MaxKeyBytes)
  `ASSERT(a_last, beat |-> key_i.last == (32'(row) + 1 >= (32'(key_i.user_bytes) + V - 1) / V))
  `ASSERT(a_whole_keys, end_block |-> !loading_q)
  `ASSERT(a_whole_blocks, take && key_i.task_end |-> keys_q == '0)
  `ASSERT(a_bits_per_key, key_valid_i |-> bits_per_key_i != '0)
endmodule
