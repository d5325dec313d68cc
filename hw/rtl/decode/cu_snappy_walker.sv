// Walks the elements of blocks that are compressed with Snappy
// (github.com/google/snappy/blob/main/format_description.txt), one step per cycle. What a step takes
// of the block stands before cu_snappy_parser, which says what it means, has decoded it:
//
//   state      takes                          next
//   Preamble   the varint of a block's        Element, of a raw block Raw
//              length, of a raw block nothing
//   Element    a header, and of a literal     Literal if more of it is to come, Long if the
//              up to V - 1 bytes; with one    header says its length in further bytes
//              of up to five bytes the
//              header of the copy behind
//   Long       nothing, for two cycles        Literal
//   Literal    up to V bytes                  Element
//   Raw        up to V bytes                  Raw
//   Flush      the chunk that the block ends  Preamble
//              in, if its last step begins in
//              the one before
//
// Most literals of text are short: taking a copy along makes a third more bytes per cycle.
//
// Where the next element begins depends on this one only, which must take no longer than a cycle. A
// chunk is therefore decoded before the walk comes to it: as if an element began in each of its
// lanes. The walk selects one of these, and with it the place of the next.
//
// It ends with the block, whatever it finds: what is wrong with a block is for cu_snappy_parser to
// see. Registers have twins (cu_twin), chunks their parity.

`include "cu_assert.svh"

module cu_snappy_walker #(
  parameter int unsigned ValueBytes = 8,  // V: 8, 16, 32 or 64
  localparam int unsigned PosBits = $clog2(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // See cu_snappy_trim.
  input  logic                    chunk_valid_i,
  output logic                    chunk_ready_o,
  input  logic [ValueBytes*8-1:0] chunk_data_i,
  input  logic                    chunk_parity_i,
  input  logic                    chunk_first_i,
  input  logic                    chunk_last_i,
  input  logic                    chunk_raw_i,
  input  logic [PosBits-1:0]      chunk_lane_i,
  input  logic [PosBits+1:0]      chunk_stop_i,

  // Steps, without a handshake: while go_i is low, none begins, and one more may come.
  input  logic                    go_i,
  output logic                    step_valid_o,
  output logic                    step_start_o,    // the preamble
  output logic                    step_raw_o,
  output logic                    step_element_o,  // a header
  output logic                    step_joined_o,   // a literal's, with a copy's behind it
  output logic                    step_more_o,     // of the literal there is more to come
  output logic                    step_end_o,      // the block ends with it, or before
  output logic                    step_over_o,     // it ends before
  output logic [PosBits:0]        step_bytes_o,    // taken
  output logic [PosBits-1:0]      step_lane_o,
  output logic [ValueBytes*8-1:0] step_data_o,     // from that lane on, cyclic
  output logic                    step_parity_o,   // of all of it
  input  logic [31:0]             long_length_i,   // of a literal, in the same cycle

  output logic                    error_o  // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned StopBits = PosBits + 2;
  localparam int unsigned HeadBytes = 8;  // of all headers of an element
  typedef logic [PosBits-1:0] lane_t;
  typedef logic [PosBits:0] next_t;  // a place from lane 0 of the chunk on
  typedef logic [StopBits-1:0] stop_t;

  typedef enum logic [2:0] {Preamble, Element, Long, Measure, Literal, Raw, Flush} state_e;

  typedef struct packed {
    logic  valid;
    logic  first;
    logic  last;
    logic  raw;
    lane_t lane;
    stop_t stop;
  } tag_t;
  typedef struct packed {
    logic           parity;
    logic [V*8-1:0] data;
  } chunk_t;

  // What an element would be if it began in a lane.
  typedef struct packed {
    next_t next;
    logic  joined;
    logic  lengthy;
    logic  more;
  } lane_info_t;

  typedef struct packed {
    logic  valid;
    logic  start;
    logic  raw;
    logic  element;
    logic  joined;
    logic  more;
    logic  ends;
    lane_t lane;
    next_t next;
    stop_t stop;
  } step_t;

  // ---- chunks: the one that is walked, two behind it, and one that has come while these wait
  tag_t [3:0] tag_q, tag_d;
  chunk_t [3:0] chunk_q, chunk_d;
  logic shift;
  logic [3:0] load;
  tag_t in_tag;
  chunk_t in_chunk;

  assign in_tag = '{valid: chunk_valid_i, first: chunk_first_i, last: chunk_last_i,
                    raw: chunk_raw_i, lane: chunk_lane_i, stop: chunk_stop_i};
  assign in_chunk = '{parity: chunk_parity_i, data: chunk_data_i};
  assign chunk_ready_o = !tag_q[3].valid;

  // A chunk is walked when what may belong to its last element is there, too.
  wire decoded = tag_q[1].valid && (tag_q[1].last || tag_q[2].valid);
  assign load[0] = (!tag_q[0].valid || shift) && decoded;
  assign load[1] = !tag_q[1].valid || load[0];
  assign load[2] = !tag_q[2].valid || load[1];
  assign load[3] = !tag_q[3].valid && !load[2];

  always_comb begin
    tag_d   = tag_q;
    chunk_d = chunk_q;
    if (shift) tag_d[0].valid = 1'b0;
    if (load[2]) tag_d[3].valid = 1'b0;
    for (int i = 0; i < 2; i++) begin
      if (load[i]) begin
        tag_d[i]   = tag_q[i+1];
        chunk_d[i] = chunk_q[i+1];
      end
    end
    if (load[2]) begin
      tag_d[2]   = tag_q[3].valid ? tag_q[3] : in_tag;
      chunk_d[2] = tag_q[3].valid ? chunk_q[3] : in_chunk;
    end
    if (load[3]) begin
      tag_d[3]   = in_tag;
      chunk_d[3] = in_chunk;
    end
    if (!rst_ni) tag_d = '0;
  end

  // ---- lanes of the next chunk
  lane_info_t [V-1:0] info_q, info;
  next_t first_next_q, first_next;  // behind the preamble
  wire [(V+HeadBytes)*8-1:0] ahead = {chunk_q[2].data[HeadBytes*8-1:0], chunk_q[1].data};

  for (genvar p = 0; p < V; p++) begin : g_lane
    logic [5:0] code;
    logic [1:0] kind, second;
    logic lengthy, more, joined;
    next_t taken;
    wire whole = tag_q[1].stop >= stop_t'(p + HeadBytes);  // of the block, all the head
    assign kind = ahead[8*p+:2];
    assign code = ahead[8*p+2+:6];
    always_comb begin
      second = 2'b00;
      for (int i = 0; i < 5; i++) begin
        if (code[2:0] == 3'(i)) second = ahead[8*(p+2+i)+:2];
      end
      lengthy   = kind == 2'b00 && code >= 6'd60;
      more   = kind == 2'b00 && !lengthy && 32'(code) >= V - 1;
      joined = kind == 2'b00 && whole && code < 6'd5 &&
               (second == 2'b01 || (second == 2'b10 && code < 6'd4));
      unique case (kind)
        2'b01:   taken = next_t'(2);
        2'b10:   taken = next_t'(3);
        2'b11:   taken = next_t'(5);
        default: taken = lengthy ? next_t'(code[1:0]) + next_t'(2) : more ? next_t'(V)
                         : next_t'(code) + (joined ? (second[1] ? next_t'(5) : next_t'(4))
                                                   : next_t'(2));
      endcase
    end
    assign info[p] = '{next: next_t'(p) + taken, joined: joined, lengthy: lengthy, more: more};
  end

  always_comb begin
    logic [4:0] stops;
    stops = '0;
    for (int p = 0; p < int'(V); p++) begin
      if (tag_q[1].lane == lane_t'(p)) begin
        for (int i = 0; i < 5; i++) stops[i] |= !ahead[8*(p+i)+7];
      end
    end
    first_next = next_t'(tag_q[1].lane) + (stops[0] ? next_t'(1) : stops[1] ? next_t'(2)
                                           : stops[2] ? next_t'(3) : stops[3] ? next_t'(4)
                                           : next_t'(5));
  end

  // ---- the walk
  typedef struct packed {
    state_e      state;
    lane_t       lane;
    logic [31:0] left;   // of the literal
    logic        few;    // no more than V bytes of it
  } walk_t;
  walk_t walk_q, walk_d;
  step_t step_q, step_d;
  logic [V*8-1:0] data, data_q;
  logic parity_q;
  lane_info_t at;
  next_t next;
  logic [5:0] code;  // of a literal

  assign at   = info_q[walk_q.lane];
  assign code = chunk_q[0].data[{walk_q.lane, 3'd2}+:6];

  wire next_t over_chunk = {1'b1, walk_q.lane};
  always_comb begin
    unique case (walk_q.state)
      Preamble: next = tag_q[0].raw ? next_t'(walk_q.lane) : first_next_q;
      Element:  next = at.next;
      Literal:  next = walk_q.few ? next_t'(walk_q.lane) + walk_q.left[PosBits:0] : over_chunk;
      default: begin
        next = over_chunk;
        if (tag_q[0].stop < stop_t'(over_chunk)) next = tag_q[0].stop[PosBits:0];
      end
    endcase
  end
  wire walks = walk_q.state inside {Preamble, Element, Literal, Raw};
  wire step = walks && tag_q[0].valid && go_i;
  wire ends = stop_t'(next) >= tag_q[0].stop;
  assign shift = (step && (ends || next[PosBits])) || (walk_q.state == Flush && tag_q[0].valid);

  always_comb begin
    walk_d = walk_q;
    if (step) begin
      walk_d.lane = next[PosBits-1:0];
      unique case (walk_q.state)
        Preamble: walk_d.state = tag_q[0].raw ? Raw : Element;
        Element:  walk_d.state = at.lengthy ? Long : at.more ? Literal : Element;
        Literal:  walk_d.state = walk_q.few ? Element : Literal;
        default: ;
      endcase
      if (ends) walk_d.state = tag_q[0].last ? Preamble : Flush;
    end
    if (walk_q.state == Flush && tag_q[0].valid && tag_q[0].last) walk_d.state = Preamble;
    if (walk_q.state == Long) walk_d.state = Measure;
    if (walk_q.state == Measure) walk_d.state = (walk_q.left == '0) ? Element : Literal;
    if (load[0] && tag_q[1].first) walk_d.lane = tag_q[1].lane;

    unique case (walk_q.state)
      Element: begin
        walk_d.left  = 32'(code) - 32'(V - 2);
        walk_d.few = 32'(code) <= 2 * V - 2;
      end
      Long:    walk_d.left = long_length_i + 32'd1;
      Measure: walk_d.few = walk_q.left <= V;
      Literal:
        if (step) begin
          walk_d.left  = walk_q.left - V;
          walk_d.few = walk_q.left <= 2 * V;
        end
      default: ;
    endcase
    if (!rst_ni) walk_d = '0;
  end

  always_comb begin
    step_d = '{valid: step && rst_ni, start: walk_q.state == Preamble, raw: tag_q[0].raw,
               element: walk_q.state == Element, joined: at.joined && walk_q.state == Element,
               more: (walk_q.state == Element && at.more) ||
                     (walk_q.state == Literal && !walk_q.few),
               ends: ends, lane: walk_q.lane, next: next, stop: tag_q[0].stop};
    for (int i = 0; i < int'(V); i++) begin
      data[8*i+:8] = (i < int'(walk_q.lane)) ? chunk_q[1].data[8*i+:8] : chunk_q[0].data[8*i+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    tag_q    <= tag_d;
    chunk_q  <= chunk_d;
    walk_q   <= walk_d;
    step_q   <= step_d;
    data_q   <= data;
    parity_q <= ^data;
    if (load[0]) begin
      info_q       <= info;
      first_next_q <= first_next;
    end
  end

  assign step_valid_o   = step_q.valid;
  assign step_start_o   = step_q.start;
  assign step_raw_o     = step_q.raw;
  assign step_element_o = step_q.element;
  assign step_joined_o  = step_q.joined;
  assign step_more_o    = step_q.more;
  assign step_end_o     = step_q.ends;
  assign step_over_o    = stop_t'(step_q.next) > step_q.stop;
  assign step_bytes_o   = step_q.next - next_t'(step_q.lane);
  assign step_lane_o    = step_q.lane;
  assign step_data_o    = data_q;
  assign step_parity_o  = parity_q;

  // ---- guards
  logic twin_error, info_error, error_q, left_q, odd_q;  // a chunk has left; its parity is wrong
  cu_twin #(.Width($bits({tag_q, walk_q, step_q}))) u_control (
    .clk_i, .rst_ni, .next_i({tag_d, walk_d, step_d}), .now_i({tag_q, walk_q, step_q}),
    .error_o(twin_error)
  );
  cu_twin #(.Width($bits({info_q, first_next_q}))) u_info (
    .clk_i, .rst_ni,
    .next_i(load[0] ? {info, first_next} : {info_q, first_next_q}),
    .now_i({info_q, first_next_q}), .error_o(info_error)
  );
  always_ff @(posedge clk_i) begin
    left_q  <= shift && tag_q[0].valid && rst_ni;
    odd_q   <= ^chunk_q[0];
    error_q <= rst_ni && (error_q || (left_q && odd_q) || ^data_q != parity_q);
  end
  assign error_o = twin_error || info_error || error_q;

  `ASSERT(a_first, step && walk_q.state == Preamble |-> tag_q[0].first)
  `ASSERT(a_next, step && !ends && next[PosBits] |-> !tag_q[0].last)
endmodule
