// Finds what a block repeats, four bytes per cycle whatever they are: literals and copies, as
// tokens.
//
// Tables keep, under a hash of the four bytes that begin there, the last place of each. In every
// cycle four places are looked up and entered; each table takes one of them, and a place whose
// table an earlier one has taken goes without. Up to Window bytes from the four candidates on are
// compared, and the first match of four bytes or more that begins behind the last one is taken. A
// match as long as the window goes on for as long as the bytes do that lie one offset behind:
//
//   scan    hashes of the group, tables
//   fetch   candidates come out of the tables; they are read, and what lies one offset behind, each
//           from a RAM
//   compare
//   choose  ends, extends and begins matches
//
// Of a match that begins, the third group behind is the first to be fetched with its offset: Window
// bytes lie between. Literals that go on without a match leave MostLiterals at a time, so that they
// are written meanwhile.
//
// An entry belongs to a block by its epoch, so that what is found depends on the block alone.
// Tables are cleared after a reset, and when epochs begin anew.

`include "cu_assert.svh"

module cu_snappy_matcher #(
  parameter int unsigned ValueBytes = 16,    // V: 16, 32 or 64
  parameter int unsigned BlockBytes = 8192,  // of a block at most: a power of two
  localparam int unsigned CountBits = $clog2(ValueBytes + 1),
  localparam int unsigned PlaceBits = $clog2(BlockBytes) + 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // Rows of a block, full ones but for the last. After it the next may come when token_end_o has.
  input  logic                    row_valid_i,
  output logic                    row_ready_o,
  input  logic [ValueBytes*8-1:0] row_data_i,
  input  logic [CountBits-1:0]    row_bytes_i,  // 1 to V
  input  logic                    row_last_i,

  // Literals from a place on, then a copy. No handshake: while go_i is low, no group begins, and up
  // to six tokens may come.
  input  logic                    go_i,
  output logic                    token_valid_o,
  output logic [PlaceBits-1:0]    token_place_o,
  output logic [PlaceBits-1:0]    token_literals_o,
  output logic [PlaceBits-1:0]    token_copied_o,   // 0, or 4 and more
  output logic [PlaceBits-1:0]    token_offset_o,
  output logic                    token_end_o       // nothing is copied, and the block ends
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Group = 4;    // places per cycle, and bytes of a hash
  localparam int unsigned Window = 12;  // bytes that are compared
  localparam int unsigned MostLiterals = 512;
  localparam int unsigned Shown = Window + Group - 1;
  localparam int unsigned Groups = V / Group;  // of a row
  localparam int unsigned GroupBits = $clog2(Groups);
  localparam int unsigned LeftBits = $clog2(2 * V + 1);
  localparam int unsigned Tables = 16;
  localparam int unsigned TableBits = 4;
  localparam int unsigned IndexBits = 9;
  localparam int unsigned HashBits = IndexBits + TableBits;
  localparam int unsigned EpochBits = 8;
  localparam int unsigned RowBits = PlaceBits - 1 - $clog2(V);

  `ASSERT_PARAM(value_bytes, ValueBytes inside {16, 32, 64}, "ValueBytes must be 16, 32 or 64")
  `ASSERT_PARAM(block_bytes, $onehot(BlockBytes) && BlockBytes >= 8 * ValueBytes,
                "BlockBytes must be a power of two, 8 ValueBytes or more")

  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [EpochBits-1:0] epoch_t;
  typedef logic [3:0] length_t;  // 0 to Window
  typedef struct packed {
    epoch_t epoch;
    place_t place;
  } entry_t;

  // A CRC: any bit of the bytes may change any bit of the hash.
  function automatic logic [HashBits-1:0] hash(logic [31:0] bytes);
    hash = '0;
    for (int i = 31; i >= 0; i--) begin
      hash = {hash[HashBits-2:0], 1'b0} ^ ((hash[HashBits-1] ^ bytes[i]) ? HashBits'('h1cf5) : '0);
    end
  endfunction

  // ---- rows
  logic [V*8-1:0] low_q, high_q;  // the row that is scanned, and the next
  logic [CountBits-1:0] low_bytes_q, high_bytes_q;
  logic low_valid_q, high_valid_q, low_last_q, high_last_q;
  logic scanned_q;  // all of the block
  logic [GroupBits-1:0] group_q;
  logic [RowBits-1:0] write_row_q;
  place_t base_q;   // of the group
  logic clear_q;
  logic ended;

  wire store = row_valid_i && row_ready_o;
  wire scan = go_i && !clear_q && low_valid_q && (low_last_q || high_valid_q);
  wire [LeftBits-1:0] row_left = LeftBits'(low_bytes_q) - LeftBits'({group_q, 2'b00});
  wire [LeftBits-1:0] left = row_left + (low_last_q ? '0 : LeftBits'(high_bytes_q));
  wire final_group = low_last_q && row_left <= LeftBits'(Group);
  wire shift = scan && (final_group || group_q == GroupBits'(Groups - 1));
  wire [2*V*8-1:0] both = {high_q, low_q};
  wire [Shown*8-1:0] shown = both[{1'b0, group_q, 5'b0}+:Shown*8];

  assign row_ready_o = (!high_valid_q || (shift && !high_last_q)) && !scanned_q &&
                       !(low_valid_q && low_last_q);

  always_ff @(posedge clk_i) begin
    if (shift || !low_valid_q) begin
      low_q       <= high_valid_q ? high_q : row_data_i;
      low_bytes_q <= high_valid_q ? high_bytes_q : row_bytes_i;
      low_last_q  <= high_valid_q ? high_last_q : row_last_i;
    end
    if (!high_valid_q || shift) begin
      high_q       <= row_data_i;
      high_bytes_q <= row_bytes_i;
      high_last_q  <= row_last_i;
    end
    if (!rst_ni) begin
      low_valid_q  <= 1'b0;
      high_valid_q <= 1'b0;
      scanned_q    <= 1'b0;
      group_q      <= '0;
      base_q       <= '0;
      write_row_q  <= '0;
    end else begin
      if (shift || !low_valid_q) low_valid_q <= high_valid_q || (store && !low_valid_q);
      if (shift) high_valid_q <= high_valid_q && store;
      else if (low_valid_q && store) high_valid_q <= 1'b1;
      if (store) write_row_q <= write_row_q + 1'b1;
      if (scan) begin
        group_q <= shift ? '0 : group_q + 1'b1;
        base_q  <= base_q + place_t'(Group);
      end
      if (scan && final_group) scanned_q <= 1'b1;
      if (ended) begin
        scanned_q   <= 1'b0;
        base_q      <= '0;
        write_row_q <= '0;
      end
    end
  end

  // ---- scan: tables
  epoch_t epoch_q;
  logic [IndexBits-1:0] clear_index_q;
  logic [Group-1:0][HashBits-1:0] hashes;
  logic [Group-1:0] enters;
  entry_t [Tables-1:0] found_q;

  always_comb begin
    for (int j = 0; j < int'(Group); j++) begin
      hashes[j] = hash(shown[8*j+:32]);
      enters[j] = scan && LeftBits'(j + 4) <= left;
      for (int i = 0; i < j; i++) begin
        if (hashes[i][TableBits-1:0] == hashes[j][TableBits-1:0]) enters[j] = 1'b0;
      end
    end
  end

  for (genvar t = 0; t < Tables; t++) begin : g_table
    (* ram_style = "block" *) entry_t entries[2**IndexBits];
    logic enter;
    logic [IndexBits-1:0] index;
    entry_t entry;
    always_comb begin
      enter = clear_q;
      index = clear_q ? clear_index_q : '0;
      entry = '0;
      for (int j = 0; j < int'(Group); j++) begin
        if (enters[j] && hashes[j][TableBits-1:0] == TableBits'(t)) begin
          enter = 1'b1;
          index = hashes[j][HashBits-1:TableBits];
          entry = '{epoch: epoch_q, place: base_q + place_t'(j)};
        end
      end
    end
    always_ff @(posedge clk_i) begin
      found_q[t] <= entries[index];
      if (enter) entries[index] <= entry;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q       <= 1'b1;
      clear_index_q <= '0;
      epoch_q       <= epoch_t'(1);
    end else begin
      if (clear_q) begin
        clear_index_q <= clear_index_q + 1'b1;
        clear_q       <= clear_index_q != '1;
      end
      if (ended) begin
        epoch_q <= (epoch_q == '1) ? epoch_t'(1) : epoch_q + 1'b1;
        clear_q <= epoch_q == '1;
      end
    end
  end

  // ---- fetch
  typedef struct packed {
    logic                valid;
    logic                last;
    place_t              base;
    logic [Shown*8-1:0]  bytes;
    logic [LeftBits-1:0] left;
  } group_t;
  group_t fetch_q, compare_q;
  logic [Group-1:0] entered_q;
  logic [Group-1:0][TableBits-1:0] table_q;
  logic [Group-1:0] hit, hit_q;
  place_t [Group-1:0] candidate, offset_q;
  logic [Group-1:0][V*8-1:0] there;
  logic [V*8-1:0] behind;
  place_t open_offset, behind_q;  // of the match that is open; of what is compared

  always_ff @(posedge clk_i) begin
    fetch_q   <= '{valid: scan && rst_ni, last: final_group, base: base_q, bytes: shown,
                   left: left};
    entered_q <= enters;
    for (int j = 0; j < int'(Group); j++) table_q[j] <= hashes[j][TableBits-1:0];
    compare_q       <= fetch_q;
    compare_q.valid <= fetch_q.valid && rst_ni;
    hit_q           <= hit;
    behind_q        <= open_offset;
    for (int j = 0; j < int'(Group); j++) offset_q[j] <= fetch_q.base + place_t'(j) - candidate[j];
  end

  for (genvar j = 0; j < Group; j++) begin : g_place
    assign hit[j]       = entered_q[j] && found_q[table_q[j]].epoch == epoch_q;
    assign candidate[j] = found_q[table_q[j]].place;
    cu_byte_ram #(.Bytes(V), .Depth(BlockBytes)) u_there (
      .clk_i, .write_i(store), .row_i(write_row_q), .data_i(row_data_i),
      .place_i(candidate[j][PlaceBits-2:0]), .data_o(there[j])
    );
  end
  wire [PlaceBits-2:0] behind_place = fetch_q.base[PlaceBits-2:0] - open_offset[PlaceBits-2:0];
  cu_byte_ram #(.Bytes(V), .Depth(BlockBytes)) u_behind (
    .clk_i, .write_i(store), .row_i(write_row_q), .data_i(row_data_i),
    .place_i(behind_place), .data_o(behind)
  );

  // ---- compare
  length_t [Group-1:0] length, length_q;
  logic [Group-1:0] same, same_q;  // as one offset behind
  logic choose_q, choose_last_q;
  place_t choose_base_q, choose_behind_q;
  place_t [Group-1:0] choose_offset_q;
  logic [2:0] choose_left_q;  // up to 4

  always_comb begin
    for (int j = 0; j < int'(Group); j++) begin
      length[j] = '0;
      for (int i = int'(Window) - 1; i >= 0; i--) begin
        length[j] = (LeftBits'(i + j) < compare_q.left &&
                     compare_q.bytes[8*(i+j)+:8] == there[j][8*i+:8]) ? length[j] + 1'b1 : '0;
      end
      if (!hit_q[j]) length[j] = '0;
      same[j] = LeftBits'(j) < compare_q.left && compare_q.bytes[8*j+:8] == behind[8*j+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    choose_q        <= compare_q.valid && rst_ni;
    choose_last_q   <= compare_q.last;
    choose_base_q   <= compare_q.base;
    choose_behind_q <= behind_q;
    choose_offset_q <= offset_q;
    choose_left_q   <= compare_q.left >= LeftBits'(Group) ? 3'd4 : compare_q.left[2:0];
    length_q        <= length;
    same_q          <= same;
  end

  // ---- choose
  typedef struct packed {
    place_t place;
    place_t literals;
    place_t copied;
    place_t offset;
  } token_t;
  token_t match_q, match_d;     // the last, which may still grow
  logic match_valid_q, open_q, open_d;
  place_t free_q, free_d;       // first place that no match covers
  logic begins;
  logic [1:0] ending_q;         // 1: the last match, 2: the rest
  logic [2:0] lane, more;       // of the group: first free one; how many continue the match
  wire here = free_q < choose_base_q + place_t'(Group);

  assign open_offset = match_q.offset;

  always_comb begin
    match_d = match_q;
    free_d  = free_q;
    begins  = 1'b0;
    lane    = (free_q < choose_base_q) ? 3'd0 : here ? 3'(free_q - choose_base_q) : 3'd4;
    more    = '0;
    open_d  = open_q && !here;
    if (open_q && here && choose_behind_q == match_q.offset) begin
      open_d = 1'b1;
      for (int j = 0; j < int'(Group); j++) begin
        if (3'(j) >= lane && open_d) begin
          if (same_q[j]) more = more + 3'd1;
          else open_d = 1'b0;
        end
      end
    end
    match_d.copied = match_q.copied + place_t'(more);
    free_d         = free_q + place_t'(more);
    if (choose_base_q > free_q && choose_base_q - free_q >= place_t'(MostLiterals)) begin
      begins  = 1'b1;
      match_d = '{place: free_q, literals: choose_base_q - free_q, copied: '0, offset: '0};
      free_d  = choose_base_q;
    end
    for (int j = int'(Group) - 1; j >= 0; j--) begin
      if (length_q[j] >= length_t'(4) && 3'(j) >= lane + more) begin
        begins  = 1'b1;
        match_d = '{place: free_q + place_t'(more),
                    literals: choose_base_q + place_t'(j) - free_q - place_t'(more),
                    copied: place_t'(length_q[j]), offset: choose_offset_q[j]};
        free_d  = choose_base_q + place_t'(j) + place_t'(length_q[j]);
        open_d  = length_q[j] == length_t'(Window);
      end
    end
  end

  token_t token_q;
  logic token_valid_q, token_end_q;
  place_t stop_q;  // end of the block

  always_ff @(posedge clk_i) begin
    token_q       <= match_q;
    // The match that makes room has grown first.
    if (choose_q && begins) token_q.copied <= match_q.copied + place_t'(more);
    if (ending_q == 2'd2) begin
      token_q <= '{place: free_q, literals: stop_q - free_q, copied: '0, offset: '0};
    end
    token_end_q   <= ending_q == 2'd2;
    if (choose_q) begin
      match_q <= match_d;
      free_q  <= free_d;
      open_q  <= open_d;
      stop_q  <= choose_base_q + place_t'(choose_left_q);
    end
    if (ended || !rst_ni) begin
      free_q <= '0;
      open_q <= 1'b0;
    end
    if (!rst_ni) begin
      match_valid_q <= 1'b0;
      token_valid_q <= 1'b0;
      ending_q      <= '0;
    end else begin
      token_valid_q <= match_valid_q && ((choose_q && begins) || ending_q == 2'd1);
      if (ending_q == 2'd2) token_valid_q <= 1'b1;
      if (choose_q && begins) match_valid_q <= 1'b1;
      if (ending_q == 2'd1) match_valid_q <= 1'b0;
      ending_q <= (choose_q && choose_last_q) ? 2'd1 : (ending_q == 2'd1) ? 2'd2 : 2'd0;
    end
  end

  assign ended            = ending_q == 2'd2;
  assign token_valid_o    = token_valid_q;
  assign token_place_o    = token_q.place;
  assign token_literals_o = token_q.literals;
  assign token_copied_o   = token_q.copied;
  assign token_offset_o   = token_q.offset;
  assign token_end_o      = token_end_q;

  `ASSERT(a_open, choose_q && open_q && here |-> choose_behind_q == match_q.offset)
  `ASSERT(a_full, store && !row_last_i |-> row_bytes_i == CountBits'(V))
endmodule
