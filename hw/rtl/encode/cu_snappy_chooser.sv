// Chooses among the matches that cu_snappy_matcher has found, a group of four places per cycle, and
// makes tokens of them: the first match of four bytes or more that begins behind the last one is
// taken. A match as long as the window is open: it goes on with the groups that it ends in for as
// long as these bytes are those one offset behind. Literals that go on without a match leave
// MostLiterals at a time, so that they are written meanwhile.
//
//   pick    what each state would make of the group: a match from each of its places on, with one
//           that is open or without
//   choose  the state says which of these it is, and gets its next
//   extend  places where matches begin and end
//   token   lengths
//
// Only choose depends on the group before. Its state is how far the last match reaches: behind which
// place of the group, as one bit for each, or how many places beyond its first.

`include "cu_assert.svh"

module cu_snappy_chooser #(
  parameter int unsigned BlockBytes = 8192,  // of a block at most: a power of two
  parameter int unsigned Window     = 16,    // the longest match that is found at once
  localparam int unsigned Group      = 4,
  localparam int unsigned PlaceBits  = $clog2(BlockBytes) + 1,
  localparam int unsigned LengthBits = $clog2(Window + 1)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,  // synchronous

  // Groups of a block, and for each place the match that begins there.
  input  logic                              group_valid_i,
  input  logic                              group_last_i,
  input  logic [PlaceBits-1:0]              group_base_i,
  input  logic [2:0]                        group_bytes_i,  // 4, or what is left
  input  logic [Group-1:0][LengthBits-1:0]  length_i,       // 0 to Window
  input  logic [Group-1:0][PlaceBits-1:0]   offset_i,
  input  logic [Group-1:0]                  same_i,         // as the byte one offset behind

  // Of the match that is open: what a group's bytes are compared with three cycles before its
  // choice, which is two after it has come.
  output logic [PlaceBits-2:0]              open_offset_o,

  // See cu_snappy_matcher.
  output logic                              token_valid_o,
  output logic [PlaceBits-1:0]              token_place_o,
  output logic [PlaceBits-1:0]              token_literals_o,
  output logic [PlaceBits-1:0]              token_copied_o,
  output logic [PlaceBits-1:0]              token_offset_o,
  output logic                              token_end_o,
  output logic                              ended_o  // pulse: the next block may come
);
  localparam int unsigned MostLiterals = 512;
  localparam int unsigned SkipBits = $clog2(Window);  // a match ends Window + 3 places on at most

  `ASSERT_PARAM(window, Window inside {8, 16}, "Window must be 8 or 16")

  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [Group-1:0] places_t;  // by place of the group
  typedef logic [SkipBits-1:0] skip_t;

  // ---- pick
  typedef struct packed {
    logic                         valid;
    logic                         last;
    place_t                       base;
    logic [2:0]                   bytes;
    logic [Group-1:0][SkipBits:0] stop;     // where a match would end, from the base on
    places_t                      full;     // it would be open
    place_t [Group-1:0]           offset;
    places_t [Group-1:0]          closed;   // by where the last match ends: the one that is taken
    places_t [Group-1:0]          open;     // the same if that one is open
    places_t                      goes_on;  // and it stays so
    logic [Group-1:0][2:0]        extent;   // or where it ends
    logic                         many;     // literals so far
  } group_t;
  group_t group, group_q;

  place_t end_q;  // of the last match, as of three groups ago
  wire place_t literals = group_base_i - end_q;

  always_comb begin
    group        = '0;
    group.valid  = group_valid_i && rst_ni;
    group.last   = group_last_i;
    group.base   = group_base_i;
    group.bytes  = group_bytes_i;
    group.offset = offset_i;
    group.many   = literals >= place_t'(MostLiterals);
    for (int j = 0; j < int'(Group); j++) begin
      group.stop[j] = (SkipBits + 1)'(j) + (SkipBits + 1)'(length_i[j]);
      group.full[j] = length_i[j] == LengthBits'(Window);
    end
    for (int at = 0; at < int'(Group); at++) begin
      logic goes_on, taken, taken_open;
      goes_on           = 1'b1;
      taken             = 1'b0;
      taken_open        = 1'b0;
      group.extent[at]  = 3'(Group);
      for (int j = at; j < int'(Group); j++) begin
        logic match;
        match = length_i[j] >= LengthBits'(4);
        if (goes_on && !same_i[j]) group.extent[at] = 3'(j);
        goes_on             = goes_on && same_i[j];
        group.closed[at][j] = match && !taken;
        taken               = taken || match;
        group.open[at][j]   = match && !goes_on && !taken_open;
        taken_open          = taken_open || (match && !goes_on);
      end
      group.goes_on[at] = goes_on;
    end
  end

  // ---- choose
  typedef struct packed {
    places_t closed;  // the last match ends before this place
    places_t open;    // and may go on there
    skip_t   skip;    // or this many places from the base on, if 4 or more
    logic    skip_open;
  } state_t;
  localparam state_t Start = '{closed: places_t'(1), open: '0, skip: '0, skip_open: 1'b0};
  state_t state_q, state_d;
  places_t pick;
  logic goes_on, many;
  logic [1:0] moved_q;  // in the last cycles, end_q would be another
  place_t offset_q, offset_d;
  wire beyond = state_q.skip[SkipBits-1:2] != '0;
  wire skip_t next_skip = {state_q.skip[SkipBits-1:2] - 1'b1, state_q.skip[1:0]};
  logic rest;  // here ends the last match, and none begins

  always_comb begin
    pick     = '0;
    goes_on  = 1'b0;
    rest     = 1'b0;
    offset_d = '0;
    for (int at = 0; at < int'(Group); at++) begin
      pick    |= (state_q.closed[at] ? group_q.closed[at] : '0) |
                 (state_q.open[at] ? group_q.open[at] : '0);
      goes_on |= state_q.open[at] && group_q.goes_on[at];
      rest    |= (state_q.closed[at] && group_q.closed[at] == '0) ||
                 (state_q.open[at] && group_q.open[at] == '0 && !group_q.goes_on[at]);
    end
    many = group_q.many && moved_q == '0 && state_q.closed[0] && pick == '0;

    state_d           = '0;
    state_d.closed[0] = rest;
    state_d.open[0]   = goes_on;
    for (int at = 0; at < int'(Group); at++) begin
      logic ends;
      ends = next_skip == skip_t'(at) && beyond;
      state_d.closed[at] |= ends && !state_q.skip_open;
      state_d.open[at]   |= ends && state_q.skip_open;
    end
    state_d.skip      = beyond ? next_skip : '0;
    state_d.skip_open = beyond && state_q.skip_open;
    for (int j = 0; j < int'(Group); j++) begin
      skip_t stop;  // from the next base on; a match that is open ends beyond the next group
      stop = skip_t'(group_q.stop[j] - (SkipBits + 1)'(Group));
      if (pick[j]) begin
        state_d.skip      |= stop;
        state_d.skip_open |= group_q.full[j];
        for (int at = 0; at < int'(Group); at++) state_d.closed[at] |= stop == skip_t'(at);
        offset_d |= group_q.offset[j];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    group_q <= group;
    moved_q <= {moved_q[0], group_q.valid && (!state_q.closed[0] || pick != '0 || many)};
    if (group_q.valid && pick != '0) offset_q <= offset_d;
    if (group_q.valid) state_q <= group_q.last ? Start : state_d;
    if (!rst_ni) state_q <= Start;
  end
  assign open_offset_o = offset_q[PlaceBits-2:0];

  // ---- extend
  typedef struct packed {
    logic              valid;
    logic              last;
    place_t            base;
    logic [2:0]        bytes;
    logic              begins;  // a match, or what is none but ends literals
    logic              copies;
    logic [1:0]        first;   // place of the group where it does
    logic [SkipBits:0] stop;    // where it ends
    logic              grows;   // the match before
    logic [2:0]        extent;
  } chosen_t;
  chosen_t chosen, chosen_q;

  always_comb begin
    chosen         = '0;
    chosen.valid   = group_q.valid && rst_ni;
    chosen.last    = group_q.last;
    chosen.base    = group_q.base;
    chosen.bytes   = group_q.bytes;
    chosen.copies  = pick != '0;
    chosen.begins  = pick != '0 || many;
    chosen.grows = state_q.open != '0;
    for (int j = 0; j < int'(Group); j++) begin
      if (pick[j]) begin
        chosen.first |= 2'(j);
        chosen.stop  |= group_q.stop[j];
      end
      if (state_q.open[j]) chosen.extent |= group_q.extent[j];
    end
  end

  typedef struct packed {
    place_t place;   // of its literals
    place_t first;   // of what is copied
    place_t stop;
    place_t offset;
  } match_t;
  place_t place_q, first_q, copied_from_q;  // of the last match, which may still grow up to end_q
  match_t token_q;
  logic match_valid_q, token_valid_q, token_end_q;
  logic [1:0] ending_q;      // 1: the last match, 2: the rest
  place_t block_q;           // end of the block
  wire place_t grown = chosen_q.grows ? chosen_q.base + place_t'(chosen_q.extent) : end_q;
  wire begins = chosen_q.valid && chosen_q.begins;

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen;
    if (chosen_q.valid) begin
      end_q   <= grown;
      block_q <= chosen_q.base + place_t'(chosen_q.bytes);
    end
    if (begins) begin
      place_q       <= grown;
      first_q       <= {chosen_q.base[PlaceBits-1:2], chosen_q.first};
      copied_from_q <= chosen_q.copies ? offset_q : '0;
      end_q         <= chosen_q.base + place_t'(chosen_q.stop);
    end
    token_q     <= '{place: place_q, first: first_q, stop: begins ? grown : end_q,
                     offset: copied_from_q};
    token_end_q <= ending_q == 2'd2;
    if (ending_q == 2'd2) token_q <= '{place: end_q, first: block_q, stop: block_q, offset: '0};
    if (ended_o || !rst_ni) end_q <= '0;
    if (!rst_ni) begin
      match_valid_q <= 1'b0;
      token_valid_q <= 1'b0;
      ending_q      <= '0;
    end else begin
      token_valid_q <= (match_valid_q && (begins || ending_q == 2'd1)) || ending_q == 2'd2;
      if (begins) match_valid_q <= 1'b1;
      if (ending_q == 2'd1) match_valid_q <= 1'b0;
      ending_q <= (chosen_q.valid && chosen_q.last) ? 2'd1 : (ending_q == 2'd1) ? 2'd2 : 2'd0;
    end
  end

  // ---- token
  assign ended_o          = ending_q == 2'd2;
  assign token_valid_o    = token_valid_q;
  assign token_place_o    = token_q.place;
  assign token_literals_o = token_q.first - token_q.place;
  assign token_copied_o   = token_q.stop - token_q.first;
  assign token_offset_o   = token_q.offset;
  assign token_end_o      = token_end_q;

  `ASSERT(a_state, group_q.valid |-> $onehot({state_q.closed, state_q.open, beyond}))
  `ASSERT(a_open, group_q.valid && state_q.open != '0 |-> offset_q == $past(offset_q, 3))
endmodule
