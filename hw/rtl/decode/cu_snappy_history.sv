// Makes a block of pieces: bytes of their own, or copies of bytes of the block up to HistoryBytes
// back. The block leaves in full rows of V bytes, but for the last.
//
// A byte's lane is its place in the block modulo V, and remains so: copied bytes and others are
// rotated once, from their lanes to those that they go to, and rows need no packing. The last four
// rows are registers, as the RAM knows a row only later:
//
//   cycle 1  the place is known, and with it where a copy comes from: both banks of the RAM are
//            read, one of even and one of odd rows, as what is copied may lie in two
//   cycle 2  the RAM's output register; for each lane, whether the RAM or a register has its byte
//   cycle 3  bytes are selected, rotated and written to the rows
//   cycle 4  a row that is complete leaves, and goes to the RAM
//
// In cycle 1 the RAM lacks what the three pieces before have made, 3 V bytes at most, and the part of
// a row before that: no row but the last four, which the registers hold in cycle 3.
//
// Nothing in here waits: no piece begins (go_o) without room for all that are under way.

`include "cu_assert.svh"
`include "cu_streams.svh"

module cu_snappy_history #(
  parameter int unsigned ValueBytes   = 8,      // V: 8, 16, 32 or 64
  parameter int unsigned HistoryBytes = 65536,  // a power of two, 8 V or more
  localparam int unsigned PosBits   = $clog2(ValueBytes),
  localparam int unsigned PlaceBits = $clog2(HistoryBytes) + 1,
  localparam type chunk_t = `CU_CHUNK_T(ValueBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  // See cu_snappy_parser.
  output logic                    go_o,
  input  logic                    piece_valid_i,
  input  logic [PosBits:0]        piece_own_i,
  input  logic [ValueBytes*8-1:0] piece_data_i,
  input  logic [PosBits-1:0]      piece_lane_i,
  input  logic [PosBits:0]        piece_copied_i,
  input  logic [PlaceBits-1:0]    piece_offset_i,
  input  logic                    piece_end_i,
  input  logic                    piece_corrupt_i,
  input  logic                    piece_far_i,

  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output chunk_t                  out_o,
  output logic                    out_corrupt_o,  // valid with last
  output logic                    out_far_o       // valid with last
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned RowBits = PlaceBits - PosBits;
  localparam int unsigned Depth = HistoryBytes / (2 * ValueBytes);  // rows of a bank
  localparam int unsigned AddressBits = $clog2(Depth);
  localparam int unsigned Rows = 16;   // of the FIFO
  localparam int unsigned UnderWay = 8;  // at most

  typedef logic [RowBits-1:0] row_t;
  typedef logic [PosBits-1:0] lane_t;
  typedef struct packed {
    row_t  row;
    lane_t lane;
  } place_t;  // in the block, modulo twice the history
  typedef struct packed {
    logic at;
    logic corrupt;
    logic too_far;
  } end_t;

  // Lanes below one.
  function automatic logic [V-1:0] below(lane_t lane);
    for (int i = 0; i < int'(V); i++) below[i] = i < int'(lane);
  endfunction

  // Lanes from one to another, which is of the next row from V on: of this row, and of the next.
  function automatic logic [1:0][V-1:0] span(lane_t first, logic [PosBits+1:0] stop);
    logic [V-1:0] lanes = below(stop[PosBits-1:0]);
    logic over = stop >= (PosBits + 2)'(V);
    return {over ? lanes : '0, ~below(first) & (over ? '1 : lanes)};
  endfunction

  // Lanes turned upwards.
  function automatic logic [V*8-1:0] turned(logic [V*8-1:0] lanes, lane_t by);
    turned = lanes;
    for (int b = 0; b < int'(PosBits); b++) begin
      if (by[b]) turned = (turned << (8 << b)) | (turned >> (8 * V - (8 << b)));
    end
  endfunction

  // ---- cycle 1
  (* ram_style = "block" *) logic [V*8-1:0] even[Depth];
  (* ram_style = "block" *) logic [V*8-1:0] odd[Depth];
  logic [1:0][V*8-1:0] read_q, ram_q;

  place_t place_q, from;
  assign from = place_q + PlaceBits'(piece_own_i) - piece_offset_i;

  // An even row's partner has the same address, an odd one's the next.
  wire [AddressBits-1:0] odd_address = from.row[1+:AddressBits];
  wire [AddressBits-1:0] even_address = odd_address + AddressBits'(from.row[0]);
  wire [PosBits:0] bytes = piece_own_i + piece_copied_i;
  wire void_piece = piece_corrupt_i || piece_far_i;
  always_ff @(posedge clk_i) begin
    read_q[0] <= even[even_address];
    read_q[1] <= odd[odd_address];
    ram_q     <= read_q;
    if (piece_valid_i) place_q <= piece_end_i ? '0 : place_q + PlaceBits'(bytes);
    if (!rst_ni) place_q <= '0;
  end

  // ---- cycle 2
  logic valid2_q;
  logic [PosBits:0] own2_q, bytes2_q;
  place_t to2_q, from2_q;
  lane_t lane2_q, offset2_q;
  logic [V*8-1:0] data2_q;
  end_t end2_q;

  always_ff @(posedge clk_i) begin
    valid2_q  <= piece_valid_i && rst_ni;
    own2_q    <= void_piece ? '0 : piece_own_i;
    bytes2_q  <= void_piece ? '0 : bytes;
    to2_q     <= place_q;
    from2_q   <= from;
    lane2_q   <= piece_lane_i;
    offset2_q <= piece_offset_i[PosBits-1:0];
    data2_q   <= piece_data_i;
    end2_q    <= '{at: piece_end_i, corrupt: piece_corrupt_i, too_far: piece_far_i};
  end

  wire row_t rows_back = to2_q.row - from2_q.row;
  wire [PosBits+1:0] own_stop2 = {2'b0, to2_q.lane} + {1'b0, own2_q};
  wire [PosBits+1:0] stop2 = {2'b0, to2_q.lane} + {1'b0, bytes2_q};
  logic [V-1:0] kept2;  // by lane: a register has the byte that is copied
  logic [1:0][V-1:0] own2;
  assign own2 = span(to2_q.lane, own_stop2);

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      row_t back;
      back = (i < int'(from2_q.lane)) ? rows_back - 1'b1 : rows_back;
      kept2[i] = back < row_t'(4);
    end
  end

  // ---- cycle 3
  logic valid3_q;
  logic [V-1:0] own3_q, kept3_q, second3_q;  // by lane: not copied; kept; from the second row
  logic [1:0] from3_q;                       // row
  lane_t offset3_q;
  row_t row3_q;
  logic [1:0][V-1:0] write3_q;  // lanes of that row, and of the next
  logic [PosBits+1:0] stop3_q;  // lane behind the piece; V and more are of the next row
  logic [V*8-1:0] data3_q;
  end_t end3_q;

  always_ff @(posedge clk_i) begin
    valid3_q  <= valid2_q && rst_ni;
    own3_q    <= own2[0] | own2[1];
    kept3_q   <= kept2;
    second3_q <= below(from2_q.lane);
    from3_q   <= from2_q.row[1:0];
    offset3_q <= offset2_q;
    row3_q    <= to2_q.row;
    write3_q  <= span(to2_q.lane, stop2);
    stop3_q   <= stop2;
    data3_q   <= turned(data2_q, to2_q.lane - lane2_q);
    end3_q    <= end2_q;
  end

  logic [3:0][V-1:0][7:0] rows_q;
  logic [V-1:0][7:0] source, copied;

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      logic [1:0] at;
      at = from3_q + 2'(second3_q[i]);
      source[i] = kept3_q[i] ? rows_q[at][i] : ram_q[at[0]][8*i+:8];
    end
    copied = turned(source, offset3_q);
  end

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(V); i++) begin
      for (int r = 0; r < 4; r++) begin
        if (valid3_q && ((write3_q[0][i] && row3_q[1:0] == 2'(r)) ||
                         (write3_q[1][i] && row3_q[1:0] == 2'(r - 1)))) begin
          rows_q[r][i] <= own3_q[i] ? data3_q[8*i+:8] : copied[i];
        end
      end
    end
  end

  // ---- cycle 4; the end of a block may need another for what it has in a second row
  logic full4_q;
  row_t row4_q;
  lane_t bytes4_q;
  end_t end4_q;

  wire full3 = valid3_q && stop3_q >= (PosBits + 2)'(V);
  wire more4 = full4_q && end4_q.at && bytes4_q != '0;

  always_ff @(posedge clk_i) begin
    full4_q  <= full3 && rst_ni;
    row4_q   <= more4 ? row4_q + 1'b1 : row3_q;
    if (!more4) begin
      bytes4_q  <= stop3_q[PosBits-1:0];
      end4_q    <= end3_q;
      end4_q.at <= valid3_q && end3_q.at;
    end
    if (!rst_ni) end4_q.at <= 1'b0;
  end

  wire push = full4_q || end4_q.at;
  wire last = end4_q.at && !more4;
  logic [V-1:0][7:0] row;
  chunk_t chunk;
  assign row = rows_q[row4_q[1:0]];
  always_comb begin
    logic [V-1:0] valid;
    valid = full4_q ? '1 : below(bytes4_q);
    chunk = '{data: '0, bytes: full4_q ? (PosBits + 1)'(V) : (PosBits + 1)'(bytes4_q), last: last,
              token: '0};
    for (int i = 0; i < int'(V); i++) chunk.data[8*i+:8] = valid[i] ? row[i] : 8'h0;
  end

  always_ff @(posedge clk_i) begin
    if (full4_q && !row4_q[0]) even[row4_q[1+:AddressBits]] <= row;
    if (full4_q && row4_q[0]) odd[row4_q[1+:AddressBits]] <= row;
  end

  logic [$clog2(Rows+1)-1:0] count;
  logic room, go_q;
  cu_fifo #(.Width($bits(chunk_t) + 2), .Depth(Rows)) u_rows (
    .clk_i, .rst_ni,
    .wvalid_i(push), .wready_o(room), .wdata_i({chunk, end4_q.corrupt, end4_q.too_far}),
    .rvalid_o(out_valid_o), .rready_i(out_ready_i), .rdata_o({out_o, out_corrupt_o, out_far_o}),
    .count_o(count)
  );
  always_ff @(posedge clk_i) go_q <= count <= ($clog2(Rows + 1))'(Rows - UnderWay);
  assign go_o = go_q && rst_ni;

  `ASSERT(a_room, push |-> room)
  `ASSERT(a_gap, more4 |-> !valid3_q)
  `ASSERT(a_before, piece_valid_i && !void_piece && piece_copied_i != '0 |->
                    32'(bytes) <= 32'(piece_offset_i))
endmodule
