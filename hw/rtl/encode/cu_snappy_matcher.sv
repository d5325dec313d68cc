// Finds what a block repeats, four bytes per cycle whatever they are: literals and copies, as
// tokens.
//
// Tables keep, under a hash of the four bytes that begin there, the last place of each. In every
// cycle four places are looked up and entered; each table takes one of them, and a place whose
// table an earlier one has taken goes without. Up to Window bytes from the four candidates on are
// compared, and of the matches cu_snappy_chooser makes tokens. A match as long as the window goes on
// for as long as the bytes do that lie one offset behind:
//
//   scan     a group of four places, its hashes, and with these the tables
//   fetch    candidates come out of the tables, and are read, each from a RAM
//   compare  byte by byte; what lies one offset behind is read
//   measure  lengths; what lies behind is compared
//
// Of a match that begins, the fourth group behind is the first to be compared with its offset, as
// cu_snappy_chooser takes two cycles more: Window bytes lie between. What is found does not depend
// on Window.
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
  // to nine tokens may come.
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
  localparam int unsigned Window = 16;  // bytes that are compared, V at most
  localparam int unsigned LengthBits = $clog2(Window + 1);
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
  typedef logic [LengthBits-1:0] length_t;  // 0 to Window
  typedef struct packed {
    epoch_t epoch;
    place_t place;
  } entry_t;

  // A CRC: any bit of the bytes may change any bit of the hash. For each of these, the bits of the
  // bytes that do.
  function automatic logic [HashBits-1:0][31:0] crc();
    for (int bit_i = 0; bit_i < 32; bit_i++) begin
      logic [HashBits-1:0] hash = '0;
      for (int i = 31; i >= 0; i--) begin
        hash = {hash[HashBits-2:0], 1'b0} ^
               ((hash[HashBits-1] ^ (i == bit_i)) ? HashBits'('h1cf5) : '0);
      end
      for (int i = 0; i < int'(HashBits); i++) crc[i][bit_i] = hash[i];
    end
  endfunction
  localparam logic [HashBits-1:0][31:0] Crc = crc();

  function automatic logic [HashBits-1:0] hash(logic [31:0] bytes);
    for (int i = 0; i < int'(HashBits); i++) hash[i] = ^(bytes & Crc[i]);
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
  wire [GroupBits-1:0] last_group = GroupBits'((low_bytes_q - 1'b1) >> 2);
  wire row_group = group_q == last_group;  // of the row the last one
  wire final_group = low_last_q && row_group;
  wire shift = scan && row_group;
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
  typedef struct packed {
    logic                valid;
    logic                last;
    place_t              base;
    logic [Shown*8-1:0]  bytes;
  } group_t;
  logic [LeftBits-1:0] fetch_left_q;
  logic [Group-1:0][HashBits-1:0] hashes;
  logic [Group-1:0] fits, enters;
  epoch_t epoch_q;
  logic [IndexBits-1:0] clear_index_q;
  entry_t [Tables-1:0] found_q;

  always_comb begin
    for (int j = 0; j < int'(Group); j++) begin
      hashes[j] = hash(shown[8*j+:32]);
      fits[j]   = scan && LeftBits'(j + 4) <= left;
      enters[j] = fits[j];
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
    // The first of the group that has this table. If it does not fit, none behind it does.
    always_comb begin
      enter = clear_q;
      index = clear_index_q;
      entry = '0;
      for (int j = int'(Group) - 1; j >= 0; j--) begin
        if (!clear_q && hashes[j][TableBits-1:0] == TableBits'(t)) begin
          enter = fits[j];
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
  group_t fetch_q, compare_q;
  logic [Group-1:0] entered_q;
  logic [Group-1:0][TableBits-1:0] table_q;
  logic [Group-1:0] hit, hit_q;
  place_t [Group-1:0] candidate, offset_q;
  logic [Group-1:0][V*8-1:0] there;
  logic [Shown-1:0] mask, mask_q;  // bytes that are of the block

  always_comb begin
    for (int i = 0; i < int'(Shown); i++) mask[i] = LeftBits'(i) < fetch_left_q;
  end

  always_ff @(posedge clk_i) begin
    fetch_q         <= '{valid: scan && rst_ni, last: final_group, base: base_q, bytes: shown};
    fetch_left_q    <= left;
    entered_q       <= enters;
    compare_q       <= fetch_q;
    compare_q.valid <= fetch_q.valid && rst_ni;
    hit_q           <= hit;
    mask_q          <= mask;
    for (int j = 0; j < int'(Group); j++) begin
      table_q[j]  <= hashes[j][TableBits-1:0];
      offset_q[j] <= fetch_q.base + place_t'(j) - candidate[j];
    end
  end

  for (genvar j = 0; j < Group; j++) begin : g_place
    assign hit[j]       = entered_q[j] && found_q[table_q[j]].epoch == epoch_q;
    assign candidate[j] = found_q[table_q[j]].place;
    cu_byte_ram #(.Bytes(V), .Depth(BlockBytes)) u_there (
      .clk_i, .write_i(store), .row_i(write_row_q), .data_i(row_data_i),
      .place_i(candidate[j][PlaceBits-2:0]), .data_o(there[j])
    );
  end

  // ---- compare
  logic [V*8-1:0] behind;
  logic [PlaceBits-2:0] open_offset;  // of the match that is open
  logic [Group-1:0][Window-1:0] equal, equal_q;

  wire [PlaceBits-2:0] behind_place = compare_q.base[PlaceBits-2:0] - open_offset;
  cu_byte_ram #(.Bytes(V), .Depth(BlockBytes)) u_behind (
    .clk_i, .write_i(store), .row_i(write_row_q), .data_i(row_data_i),
    .place_i(behind_place), .data_o(behind)
  );

  always_comb begin
    for (int j = 0; j < int'(Group); j++) begin
      for (int i = 0; i < int'(Window); i++) begin
        equal[j][i] = mask_q[i+j] && compare_q.bytes[8*(i+j)+:8] == there[j][8*i+:8];
      end
    end
  end

  // ---- measure
  logic measure_q, measure_last_q, choose_q, choose_last_q;
  place_t measure_base_q, choose_base_q;
  place_t [Group-1:0] measure_offset_q, choose_offset_q;
  logic [Group*8-1:0] measure_bytes_q;
  logic [Group-1:0] measure_mask_q, measure_hit_q;
  length_t [Group-1:0] length, length_q;
  logic [Group-1:0] same, same_q;  // as one offset behind
  logic [2:0] bytes, bytes_q;      // up to 4

  always_comb begin
    for (int j = 0; j < int'(Group); j++) begin
      logic [Window:0] run;  // as long as this, or longer
      run       = '0;
      length[j] = '0;
      for (int i = 0; i < int'(Window); i++) begin
        run[i] = measure_hit_q[j] && (equal_q[j] | ('1 << (i + 1))) == '1;
      end
      for (int i = 0; i < int'(Window); i++) begin
        if (run[i] && !run[i+1]) length[j] |= length_t'(i + 1);
      end
      same[j] = measure_mask_q[j] && measure_bytes_q[8*j+:8] == behind[8*j+:8];
    end
    bytes = 3'(measure_mask_q[0]) + 3'(measure_mask_q[1]) + 3'(measure_mask_q[2]) +
            3'(measure_mask_q[3]);
  end

  always_ff @(posedge clk_i) begin
    measure_q        <= compare_q.valid && rst_ni;
    measure_last_q   <= compare_q.last;
    measure_base_q   <= compare_q.base;
    measure_bytes_q  <= compare_q.bytes[Group*8-1:0];
    measure_mask_q   <= mask_q[Group-1:0];
    measure_hit_q    <= hit_q;
    measure_offset_q <= offset_q;
    equal_q          <= equal;
    choose_q         <= measure_q && rst_ni;
    choose_last_q    <= measure_last_q;
    choose_base_q    <= measure_base_q;
    choose_offset_q  <= measure_offset_q;
    length_q         <= length;
    same_q           <= same;
    bytes_q          <= bytes;
  end

  cu_snappy_chooser #(.BlockBytes(BlockBytes), .Window(Window)) u_chooser (
    .clk_i, .rst_ni,
    .group_valid_i(choose_q), .group_last_i(choose_last_q), .group_base_i(choose_base_q),
    .group_bytes_i(bytes_q), .length_i(length_q), .offset_i(choose_offset_q), .same_i(same_q),
    .open_offset_o(open_offset),
    .token_valid_o, .token_place_o, .token_literals_o, .token_copied_o, .token_offset_o,
    .token_end_o, .ended_o(ended)
  );

  `ASSERT(a_full, store && !row_last_i |-> row_bytes_i == CountBits'(V))
endmodule
