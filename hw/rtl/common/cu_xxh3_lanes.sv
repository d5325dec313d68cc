// XXH3's loop over the stripes of 64 bytes of a message of more than 240 bytes: its eight lanes, but
// for the last stripe, which overlaps with the one before and is cu_xxh3_finish's.
//
// A word is taken per cycle, from message to message. The loop of the hash is not one here: the
// products of each block of 16 stripes are summed up from zero in a bank of their own, and what the
// lanes were before is added behind the block, while the next one is summed up; the lanes are then
// scrambled, one per cycle, or, at the message's end, put out.
//
//   words -> keyed words -> products -> word added -> sums, of four banks
//                                                       | a lane per cycle
//                     lanes before ---------------------+-> scramble -> lanes before
//                                                       +-> totals
//
// A stripe counts only if something follows it. Which is known when the next word comes, so that a
// bank also has what each of its sums was before the stripe at hand.

`include "cu_assert.svh"

module cu_xxh3_lanes
  import cu_xxh3_pkg::*;
#(
  parameter int unsigned Bytes = 16  // of a word: 16, 32 or 64
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               valid_i,
  output logic               ready_o,
  input  logic [Bytes*8-1:0] data_i,
  input  logic               last_i,    // of its message; need not be a whole word
  input  logic               totals_i,  // with last: put out the totals

  // All lanes in order, in eight cycles one after the other; no others before they are taken.
  output logic               total_valid_o,
  output logic [2:0]         total_lane_o,
  output logic [63:0]        total_o,
  input  logic               totals_taken_i
);
  localparam int unsigned Lanes = Bytes / 8;   // of a word
  localparam int unsigned Phases = 8 / Lanes;  // words of a stripe
  localparam int unsigned PhaseBits = (Phases > 1) ? $clog2(Phases) : 1;
  localparam int unsigned Banks = 4;
  localparam int unsigned RowBits = 2 + ((Phases > 1) ? PhaseBits : 0);
  localparam int unsigned ProductCycles = product_cycles(32);
  localparam logic [31:0] Prime = 32'h9e37_79b1;
  // Where the lanes begin; lane 0 is lowest.
  localparam logic [7:0][63:0] Start = {
    64'h0000_0000_9e37_79b1, 64'h27d4_eb2f_1656_67c5, 64'h0000_0000_85eb_ca77,
    64'h85eb_ca77_c2b2_ae63, 64'h1656_67b1_9e37_79f9, 64'hc2b2_ae3d_27d4_eb4f,
    64'h9e37_79b1_85eb_ca87, 64'h0000_0000_c2b2_ae3d
  };

  `ASSERT_PARAM(bytes, Bytes inside {16, 32, 64}, "Bytes must be 16, 32 or 64")

  // ------------------------------------------------------------------ words in

  logic [PhaseBits-1:0] phase_q;  // of the next word, in its stripe
  logic [3:0] stripe_q;           // in its block
  logic [1:0] bank_q;
  logic [2:0] banks_free_q;
  logic first_q;                  // block of its message
  logic bank_done;
  wire last_phase = phase_q == PhaseBits'(Phases - 1);
  wire bank_begins = phase_q == '0 && stripe_q == '0;
  wire take = valid_i & ready_o;
  wire block_ends = last_phase && stripe_q == 4'd15;
  assign ready_o = ~bank_begins | (banks_free_q != '0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q      <= '0;
      stripe_q     <= '0;
      bank_q       <= '0;
      first_q      <= 1'b1;
      banks_free_q <= 3'(Banks);
    end else begin
      if (take) begin
        phase_q <= (last_i || last_phase) ? '0 : phase_q + 1'b1;
        if (last_i) stripe_q <= '0;
        else if (last_phase) stripe_q <= stripe_q + 1'b1;
        if (last_i || block_ends) bank_q <= bank_q + 1'b1;
        if (last_i) first_q <= 1'b1;
        else if (block_ends) first_q <= 1'b0;
      end
      if ((take && bank_begins) != bank_done) begin
        banks_free_q <= bank_done ? banks_free_q + 1'b1 : banks_free_q - 1'b1;
      end
    end
  end

  // ------------------------------------------------------------------ products

  typedef struct packed {
    logic                 valid;
    logic [1:0]           bank;
    logic [PhaseBits-1:0] phase;
    logic                 fresh;   // the first stripe of its bank
    logic                 first;   // block of its message
    logic                 last;    // word of its message: does not count
    logic                 totals;
    logic                 ends;    // the bank
  } place_t;

  place_t [ProductCycles+1:0] places_q;  // [0]: beside the keyed words
  place_t sum_place;
  assign sum_place = places_q[ProductCycles+1];
  always_ff @(posedge clk_i) begin
    places_q[0] <= '{valid: take, bank: bank_q, phase: phase_q, fresh: stripe_q == '0,
                     first: first_q, last: last_i, totals: totals_i, ends: last_i | block_ends};
    for (int unsigned i = 0; i <= ProductCycles; i++) places_q[i+1] <= places_q[i];
    if (!rst_ni) for (int unsigned i = 0; i <= ProductCycles + 1; i++) places_q[i].valid <= 1'b0;
  end

  // A lane's words of the secret, by stripe and phase.
  typedef logic [31:0][63:0] keys_t;
  function automatic keys_t keys();
    keys = '0;
    for (int unsigned k = 0; k < 23; k++) keys[k] = secret_word(8 * k);
  endfunction
  localparam keys_t Keys = keys();

  logic [Lanes-1:0][63:0] sum_q;
  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [31:0] low_q, high_q;
    logic [63:0] product;
    logic [ProductCycles:0][63:0] word_q;  // beside them
    wire [4:0] key_row = 5'(stripe_q) + 5'(phase_q) * 5'(Lanes) + 5'(l);
    wire [63:0] keyed = data_i[64*l+:64] ^ Keys[key_row];
    always_ff @(posedge clk_i) begin
      {high_q, low_q} <= keyed;
      word_q[0]       <= data_i[64*(l^1)+:64];  // the neighbour's
      for (int unsigned i = 0; i < ProductCycles; i++) word_q[i+1] <= word_q[i];
      sum_q[l] <= product + word_q[ProductCycles];
    end
    cu_product #(.ABits(32), .BBits(32)) u_product (
      .clk_i, .a_i(high_q), .b_i(low_q), .product_o(product)
    );
  end

  // ------------------------------------------------------------------ sums

  logic [RowBits-1:0] sum_row, read_row;
  logic [2:0] lane_q;  // that leaves
  typedef struct packed {
    logic [1:0]           bank;
    logic [PhaseBits-1:0] phase;  // of the message's last word
    logic                 fresh;
    logic                 first;
    logic                 last;
    logic                 totals;
  } end_t;
  end_t head;

  if (Phases > 1) begin : g_rows
    assign sum_row  = {sum_place.bank, sum_place.phase};
    assign read_row = {head.bank, lane_q[2:3-PhaseBits]};
  end else begin : g_row
    assign sum_row  = sum_place.bank;
    assign read_row = head.bank;
  end

  logic [Lanes-1:0][63:0] now_read, earlier_read;
  for (genvar l = 0; l < Lanes; l++) begin : g_sum
    (* ram_style = "distributed" *) logic [63:0] now[2**RowBits];
    (* ram_style = "distributed" *) logic [63:0] earlier[2**RowBits];
    wire [63:0] old = sum_place.fresh ? '0 : now[sum_row];
    always_ff @(posedge clk_i) begin
      if (sum_place.valid) begin
        now[sum_row]    <= sum_place.last ? old : old + sum_q[l];
        earlier[sum_row] <= old;
      end
    end
    assign now_read[l]    = now[read_row];
    assign earlier_read[l] = earlier[read_row];
  end

  // ------------------------------------------------------------------ lanes, one per cycle

  logic end_ready, head_valid, head_pop;
  logic [2:0] unused_ends;
  cu_fifo #(.Width($bits(end_t)), .Depth(Banks)) u_ends (
    .clk_i, .rst_ni,
    .wvalid_i(sum_place.valid & sum_place.ends), .wready_o(end_ready),
    .wdata_i({sum_place.bank, sum_place.phase, sum_place.fresh, sum_place.first, sum_place.last,
              sum_place.totals}),
    .rvalid_o(head_valid), .rready_i(head_pop), .rdata_o(head), .count_o(unused_ends)
  );

  logic totals_out_q;  // have left, or do, and are not taken yet
  wire totals = head.last & head.totals;
  // Of a message whose totals nobody asks for there is nothing to do.
  wire skip = head.last & ~head.totals;
  wire go = head_valid & ~skip & (lane_q != '0 | ~totals | ~totals_out_q);
  assign head_pop  = head_valid & (skip | (go & (lane_q == 3'd7)));
  assign bank_done = head_pop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      lane_q       <= '0;
      totals_out_q <= 1'b0;
    end else begin
      if (go) lane_q <= lane_q + 1'b1;
      if (go && totals) totals_out_q <= 1'b1;
      else if (totals_taken_i) totals_out_q <= 1'b0;
    end
  end

  // Read; added to the lane; made ready to be multiplied.
  typedef struct packed {
    logic       valid;
    logic [2:0] lane;
    logic       total;  // it leaves
    logic       first;
  } step_t;
  localparam int unsigned ScrambleCycles = product_cycles(32);
  step_t read_q, added_q;
  step_t [ScrambleCycles:0] scrambled_q;
  logic [63:0] sums_q, lane_sum_q, mixed_q;
  logic [2:0] phase_read;
  assign phase_read = (Phases > 1) ? 3'(lane_q >> $clog2(Lanes)) : '0;
  wire uncounted = head.last && phase_read < 3'(head.phase);
  (* ram_style = "distributed" *) logic [63:0] lanes[8];
  wire [63:0] lane_before = read_q.first ? Start[read_q.lane] : lanes[read_q.lane];
  logic [95:0] product;
  logic [63:0] pick;
  if (Lanes == 8) begin : g_pick
    assign pick = uncounted ? earlier_read[lane_q] : now_read[lane_q];
  end else begin : g_pick
    localparam int unsigned LaneBits = $clog2(Lanes);
    assign pick = uncounted ? earlier_read[lane_q[LaneBits-1:0]] : now_read[lane_q[LaneBits-1:0]];
  end

  always_ff @(posedge clk_i) begin
    read_q  <= '{valid: go, lane: lane_q, total: totals, first: head.first};
    // A message's last word in its bank's first stripe: nothing counts, and not all was written.
    sums_q  <= (head.last && head.fresh) ? '0 : pick;
    added_q <= read_q;
    lane_sum_q <= lane_before + sums_q;
    scrambled_q[0] <= '{valid: added_q.valid & ~added_q.total, lane: added_q.lane, total: 1'b0,
                        first: 1'b0};
    for (int unsigned i = 0; i < ScrambleCycles; i++) scrambled_q[i+1] <= scrambled_q[i];
    mixed_q <= lane_sum_q ^ (lane_sum_q >> 47) ^ secret_of(added_q.lane);
    if (scrambled_q[ScrambleCycles].valid) begin
      lanes[scrambled_q[ScrambleCycles].lane] <= product[63:0];
    end
    if (!rst_ni) begin
      read_q.valid  <= 1'b0;
      added_q.valid <= 1'b0;
      for (int unsigned i = 0; i <= ScrambleCycles; i++) scrambled_q[i].valid <= 1'b0;
    end
  end

  function automatic logic [63:0] secret_of(logic [2:0] lane);
    secret_of = '0;
    for (int unsigned l = 0; l < 8; l++) if (lane == 3'(l)) secret_of |= secret_word(128 + 8 * l);
  endfunction

  cu_product #(.ABits(64), .BBits(32)) u_scramble (
    .clk_i, .a_i(mixed_q), .b_i(Prime), .product_o(product)
  );

  assign total_valid_o = added_q.valid & added_q.total;
  assign total_lane_o  = added_q.lane;
  assign total_o       = lane_sum_q;

  logic unused;
  assign unused = ^{product[95:64], scrambled_q[ScrambleCycles].total,
                    scrambled_q[ScrambleCycles].first, added_q.first};

  `ASSERT(a_ends, sum_place.valid && sum_place.ends |-> end_ready)
  `ASSERT(a_banks, banks_free_q <= 3'(Banks))
  // The lane was written since the block before put it to the scrambler.
  `ASSERT(a_lane, read_q.valid && !read_q.first && scrambled_q[ScrambleCycles].valid |->
          scrambled_q[ScrambleCycles].lane != read_q.lane)
endmodule
