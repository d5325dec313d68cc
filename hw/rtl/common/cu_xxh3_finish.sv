// The end of XXH3: of a message's last bytes, its length and, of one of more than 240 bytes, its
// lanes, the low half of its hash. One message after the other, by one multiplier:
//
//   Idle    take the next message
//   Wait    of a long one: until its lanes are there
//   Read    eight bytes per cycle: of a long message its last stripe, of another one all of it
//   Drain   until what they make has arrived
//   Merge   of a long one: its lanes, read as bytes are
//   Drain2  likewise
//   Mix, Multiply, Mixed    one or two rounds, each of one or two products
//   Out     until the hash is taken
//
//   bytes or lanes, and words of the secret -> keyed -> pairs -> product -> folded -> summed up
//                                                                      \-> added to its lane
//
// A message of up to 240 bytes takes up to 65 cycles, a longer one 50.

`include "cu_assert.svh"

module cu_xxh3_finish
  import cu_xxh3_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        message_valid_i,
  output logic        message_ready_o,  // with its hash: until then its bytes stay where they are
  input  logic [31:0] message_bytes_i,

  output logic [7:0]  read_byte_o,
  input  logic [63:0] read_data_i,      // two cycles later

  input  logic        total_valid_i,    // eight, of a message of more than 240 bytes
  input  logic [2:0]  total_lane_i,
  input  logic [63:0] total_i,
  output logic        totals_taken_o,

  output logic        hash_valid_o,
  input  logic        hash_ready_i,
  output logic [31:0] hash_o
);
  localparam int unsigned ProductCycles = product_cycles(64);
  localparam words_t Words = finish_words();
  localparam logic [63:0] PrimeA = 64'h9e37_79b1_85eb_ca87;
  localparam logic [63:0] PrimeB = 64'hc2b2_ae3d_27d4_eb4f;
  localparam logic [63:0] PrimeC = 64'h1656_67b1_9e37_79f9;
  localparam logic [63:0] MixA = 64'h1656_6791_9e37_79f9;
  localparam logic [63:0] MixB = 64'h9fb2_1c65_1e98_df25;

  typedef enum logic [3:0] {
    Idle, Wait, Read, Drain, Merge, Drain2, Mix, Multiply, Mixed, Out
  } state_e;

  // By the form that its hash has.
  typedef enum logic [2:0] {Empty, Few, Word, Pair, Middle, Longer, Long} form_e;

  state_e state_q;
  form_e form_q, form;
  logic [5:0] count_q;  // reads, or cycles waited, in this state
  logic [5:0] reads_q;  // in all
  logic totals_q;       // all are there
  logic round_q, second_q;  // of two rounds the second; of two products the second
  wire [31:0] bytes = message_bytes_i;

  always_comb begin
    if (bytes[31:8] != '0 || bytes[7:0] > 8'd240) form = Long;
    else if (bytes[7:0] > 8'd128) form = Longer;
    else if (bytes[7:0] > 8'd16) form = Middle;
    else if (bytes[7:0] > 8'd8) form = Pair;
    else if (bytes[7:0] > 8'd3) form = Word;
    else if (bytes[7:0] != '0) form = Few;
    else form = Empty;
  end

  // ------------------------------------------------------------------ reads

  // Reads come in pairs, but those of lanes.
  wire half = count_q[0];
  wire all_read = count_q + 6'd1 == reads_q;
  wire last_pair = form_q == Longer && count_q >= reads_q - 6'd2;
  logic from_end;
  logic [7:0] offset;
  logic [5:0] row;
  always_comb begin
    from_end = 1'b1;
    offset   = '0;
    row      = '0;
    case (form_q)
      Long: begin
        offset = 8'd192 + {2'b0, count_q[2:0], 3'b0};  // less 64
        row    = 6'(LastRow) + count_q;
      end
      Longer: begin
        from_end = last_pair;
        offset   = last_pair ? 8'd240 + {4'b0, half, 3'b0} : {count_q[4:0], 3'b0};
        row      = last_pair ? 6'(FinalRow) + 6'(half) : 6'(MiddleRow) + count_q;
      end
      Middle: begin  // of four reads two from the beginning, two from the end
        from_end = count_q[1];
        offset   = (count_q[1] ? 8'd240 - {1'b0, count_q[4:2], 4'b0} : {1'b0, count_q[4:2], 4'b0}) +
                   {4'b0, half, 3'b0};
        row      = 6'(MiddleRow) + count_q;
      end
      Pair: begin
        from_end = half;
        offset   = half ? 8'd248 : 8'd0;
        row      = 6'(FlipRow) + 6'(half);
      end
      Word: begin
        from_end = half;
        offset   = half ? 8'd252 : 8'd0;
      end
      default: from_end = 1'b0;
    endcase
  end

  // What has been read, or a lane that is merged, on its way to the multiplier.
  typedef struct packed {
    logic       valid;
    logic       half;   // the second of a pair
    logic       lane;   // of the last stripe: a product of its own
    logic       first;  // pair of eight: counted before the first round
    logic       merge;
    logic [2:0] number;  // of the lane
    logic [5:0] row;
  } step_t;
  step_t issue, addressed_q, read_q, aligned_q, late_q, keyed_step_q;
  logic [7:0] offset_q, read_byte_q;
  logic from_end_q;
  assign read_byte_o = read_byte_q;

  assign issue = '{
    valid: state_q == Read || state_q == Merge, half: half && (form_q != Long || state_q == Merge),
    lane: state_q == Read && form_q == Long, first: form_q != Longer || count_q < 6'd16,
    merge: state_q == Merge, number: count_q[2:0],
    row: (state_q == Merge) ? 6'(MergeRow) + count_q : row
  };

  // ------------------------------------------------------------------ lanes

  // Written as they come, and once more with the last stripe.
  (* ram_style = "distributed" *) logic [63:0] lanes[8];
  logic lane_valid_q;
  logic [2:0] lane_number_q;
  logic [63:0] lane_sum_q, lane_read_q, lane_aligned_q, lane_late_q;
  wire [2:0] lane_at = lane_valid_q ? lane_number_q : addressed_q.number;
  wire [63:0] lane_now = lanes[lane_at];
  always_ff @(posedge clk_i) begin
    if (total_valid_i) lanes[total_lane_i] <= total_i;
    else if (lane_valid_q) lanes[lane_number_q] <= lane_now + lane_sum_q;
  end

  // ------------------------------------------------------------------ operands

  logic [63:0] secret_q, keyed_q, plain_q, first_q;
  logic [ProductCycles+1:0][63:0] plains_q;  // beside the products, and one before and after
  logic [31:0] first_plain_q, second_plain_q;  // of up to eight bytes the ends
  logic [63:0] a_q, b_q;
  logic [127:0] product;

  typedef struct packed {
    logic       valid;
    logic       lane;
    logic       first;
    logic       low;  // that half alone
    logic [2:0] number;
  } op_t;
  op_t [ProductCycles:0] ops_q;  // [0]: beside a_q and b_q
  logic folded_valid_q, folded_first_q;
  logic [63:0] folded_q, low_q, sum_first_q, sum_rest_q;

  wire begins = state_q == Idle && message_valid_i;
  wire long_product = state_q == Read && count_q == '0 &&
                      form_q inside {Middle, Longer, Long};  // bytes * PrimeA
  wire mixes = state_q == Multiply && count_q == '0;
  wire pair_step = keyed_step_q.valid && (keyed_step_q.half || keyed_step_q.lane);
  logic [63:0] mix_q, mixed_q;
  logic [63:0] mix_prime;

  always_ff @(posedge clk_i) begin
    offset_q    <= offset;
    from_end_q  <= from_end;
    addressed_q <= issue;
    // Two cycles to the bytes.
    read_byte_q <= offset_q + (from_end_q ? bytes[7:0] : 8'd0);
    read_q      <= addressed_q;
    lane_read_q <= lane_now;
    aligned_q   <= read_q;
    lane_aligned_q <= lane_read_q;
    secret_q    <= Words[aligned_q.row];
    keyed_step_q <= late_q;
    plain_q     <= late_q.merge ? lane_late_q : read_data_i;
    keyed_q     <= (late_q.merge ? lane_late_q : read_data_i) ^ secret_q;
    late_q      <= aligned_q;
    lane_late_q <= lane_aligned_q;
    if (keyed_step_q.valid && !keyed_step_q.half) begin
      first_q       <= keyed_q;
      first_plain_q <= plain_q[31:0];
    end
    if (keyed_step_q.valid && keyed_step_q.half) second_plain_q <= plain_q[31:0];
    plains_q[0] <= plain_q;
    for (int unsigned i = 0; i <= ProductCycles; i++) plains_q[i+1] <= plains_q[i];

    a_q <= keyed_q;
    b_q <= first_q;
    if (keyed_step_q.lane) begin
      a_q <= 64'(keyed_q[31:0]);
      b_q <= 64'(keyed_q[63:32]);
    end
    if (long_product) begin
      a_q <= 64'(bytes);
      b_q <= PrimeA;
    end
    if (mixes) begin
      a_q <= mixed_q;
      b_q <= mix_prime;
    end
    ops_q[0] <= '{valid: pair_step | long_product, lane: keyed_step_q.lane & ~long_product,
                  first: keyed_step_q.first | long_product, low: long_product,
                  number: keyed_step_q.number};
    for (int unsigned i = 0; i < ProductCycles; i++) ops_q[i+1] <= ops_q[i];

    folded_q    <= product[63:0] ^ (ops_q[ProductCycles].low ? '0 : product[127:64]);
    folded_valid_q <= ops_q[ProductCycles].valid & ~ops_q[ProductCycles].lane;
    folded_first_q <= ops_q[ProductCycles].first;
    low_q       <= product[63:0];
    // Of an even lane the neighbour's word comes a cycle later, of an odd one a cycle before.
    lane_sum_q    <= product[63:0] + (ops_q[ProductCycles].number[0] ? plains_q[ProductCycles+1]
                                                                     : plains_q[ProductCycles-1]);
    lane_number_q <= ops_q[ProductCycles].number;
    lane_valid_q  <= ops_q[ProductCycles].valid & ops_q[ProductCycles].lane;

    if (begins) begin
      sum_first_q <= (form == Pair) ? 64'(bytes) : '0;
      sum_rest_q  <= '0;
    end else begin
      if (folded_valid_q) begin
        if (folded_first_q) sum_first_q <= sum_first_q + folded_q;
        else sum_rest_q <= sum_rest_q + folded_q;
      end
      if (form_q == Pair && pair_step) sum_rest_q <= swapped(first_q) + keyed_q;
    end
    if (!rst_ni) begin
      addressed_q.valid  <= 1'b0;
      read_q.valid       <= 1'b0;
      aligned_q.valid    <= 1'b0;
      late_q.valid       <= 1'b0;
      keyed_step_q.valid <= 1'b0;
      for (int unsigned i = 0; i <= ProductCycles; i++) ops_q[i].valid <= 1'b0;
      folded_valid_q     <= 1'b0;
      lane_valid_q       <= 1'b0;
    end
  end

  logic unused_step;
  assign unused_step = ^{keyed_step_q.merge, keyed_step_q.row};

  function automatic logic [63:0] swapped(logic [63:0] word);
    for (int unsigned i = 0; i < 8; i++) swapped[8*i+:8] = word[56-8*i+:8];
  endfunction

  cu_product #(.ABits(64), .BBits(64)) u_product (
    .clk_i, .a_i(a_q), .b_i(b_q), .product_o(product)
  );

  // ------------------------------------------------------------------ mix

  // As long as it takes until the last word that was read has arrived in a sum, or in its lane.
  localparam logic [5:0] SumCycles = 6'(ProductCycles + 7);
  localparam logic [5:0] LaneCycles = 6'(ProductCycles + 5);
  wire drained = (state_q == Drain || state_q == Drain2) &&
                 count_q == ((state_q == Drain && form_q == Long) ? LaneCycles : SumCycles);

  // Of up to three bytes: the last, their number, the first, the one in the middle.
  wire [1:0] few = bytes[1:0];
  wire [7:0] few_last = (few == 2'd1) ? first_plain_q[7:0]
                        : (few == 2'd2) ? first_plain_q[15:8] : first_plain_q[23:16];
  wire [7:0] few_middle = (few == 2'd1) ? first_plain_q[7:0] : first_plain_q[15:8];
  localparam logic [31:0] FewFlip = 32'(secret_word(0)) ^ 32'(secret_word(4));
  localparam logic [63:0] WordFlip = secret_word(8) ^ secret_word(16);
  localparam logic [63:0] EmptyFlip = secret_word(56) ^ secret_word(64);

  logic [63:0] start, mixed;
  logic [31:0] hash_q;
  always_comb begin
    case (form_q)
      Empty:   start = EmptyFlip;
      Few:     start = 64'({few_middle, first_plain_q[7:0], 6'b0, few, few_last} ^ FewFlip);
      Word:    start = {first_plain_q, second_plain_q} ^ WordFlip;
      Longer:  start = sum_first_q;
      default: start = sum_first_q + sum_rest_q;
    endcase

    case (form_q)
      Empty, Few: mixed = mix_q ^ (mix_q >> (second_q ? 29 : 33));
      Word: mixed = second_q ? mix_q ^ ((mix_q >> 35) + 64'(bytes[3:0]))
                             : mix_q ^ {mix_q[14:0], mix_q[63:15]} ^ {mix_q[39:0], mix_q[63:40]};
      default: mixed = mix_q ^ (mix_q >> 37);
    endcase
    case (form_q)
      Empty, Few: mix_prime = second_q ? PrimeC : PrimeB;
      Word:       mix_prime = MixB;
      default:    mix_prime = MixA;
    endcase
  end
  wire [31:0] hash = (form_q == Word) ? mix_q[31:0] ^ mix_q[59:28] : mix_q[31:0] ^ mix_q[63:32];
  wire two_products = form_q inside {Empty, Few, Word};
  wire multiplied = state_q == Multiply && count_q == 6'(ProductCycles + 2);

  always_ff @(posedge clk_i) begin
    mixed_q <= mixed;
    if (multiplied) mix_q <= low_q;
    // A second round begins with what the first has made, and what did not count in it.
    else if (state_q == Mixed) mix_q <= (mix_q ^ (mix_q >> 32)) + sum_rest_q;
    else if (state_q inside {Drain, Drain2}) mix_q <= start;
    if (state_q == Mixed) hash_q <= hash;
    if (!rst_ni) begin
      state_q  <= Idle;
      totals_q <= 1'b0;
    end else begin
      if (total_valid_i && total_lane_i == 3'd7) totals_q <= 1'b1;
      else if (totals_taken_o) totals_q <= 1'b0;
      case (state_q)
        Idle: if (message_valid_i) state_q <= Wait;
        Wait: if (form_q != Long || totals_q) state_q <= (form_q == Empty) ? Drain : Read;
        Read: if (all_read) state_q <= Drain;
        Drain: if (drained) state_q <= (form_q == Long) ? Merge : Mix;
        Merge: if (count_q == 6'd7) state_q <= Drain2;
        Drain2: if (drained) state_q <= Mix;
        Mix: state_q <= Multiply;
        Multiply: if (multiplied) state_q <= (two_products && !second_q) ? Mix : Mixed;
        Mixed: state_q <= (form_q == Longer && !round_q) ? Mix : Out;
        default: if (hash_ready_i) state_q <= Idle;
      endcase
    end
    count_q <= count_q + 6'd1;
    if (state_q inside {Idle, Wait, Mix, Mixed, Out} || (state_q == Read && all_read) ||
        drained || (state_q == Merge && count_q == 6'd7) || multiplied) begin
      count_q <= '0;
    end
    if (begins) begin
      form_q   <= form;
      round_q  <= 1'b0;
      second_q <= 1'b0;
      case (form)
        Long:    reads_q <= 6'd8;
        Longer:  reads_q <= {1'b0, bytes[7:4], 1'b0} + 6'd2;
        Middle:  reads_q <= {1'b0, bytes[7:0] > 8'd96 ? 3'd4 : bytes[7:0] > 8'd64 ? 3'd3
                                   : bytes[7:0] > 8'd32 ? 3'd2 : 3'd1, 2'b0};
        Pair, Word: reads_q <= 6'd2;
        default: reads_q <= 6'd1;
      endcase
    end
    if (multiplied && two_products) second_q <= 1'b1;
    if (state_q == Mixed) round_q <= 1'b1;
  end


  assign hash_o          = hash_q;
  assign hash_valid_o    = state_q == Out;
  assign message_ready_o = hash_valid_o & hash_ready_i;
  assign totals_taken_o  = state_q == Drain2 && count_q == 6'd2;  // all lanes have been read

  `ASSERT(a_totals, total_valid_i |-> !totals_q)
  `ASSERT(a_stays, hash_valid_o && !hash_ready_i |=> hash_valid_o)
endmodule
