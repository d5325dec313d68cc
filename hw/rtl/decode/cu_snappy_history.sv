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
//
// Every byte has a parity bit, from the rows and the RAM into the parity of the chunk that leaves;
// control has twins (cu_twin), and the chunks numbers, which show that the FIFO lets out each of
// them, in order.

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
  input  logic                    piece_parity_i,
  input  logic [PosBits-1:0]      piece_lane_i,
  input  logic [PosBits:0]        piece_copied_i,
  input  logic [PlaceBits-1:0]    piece_offset_i,
  input  logic                    piece_end_i,
  input  logic                    piece_corrupt_i,
  input  logic                    piece_far_i,

  output logic                    out_valid_o,
  input  logic                    out_ready_i,
  output chunk_t                  out_o,
  output logic                    out_parity_o,   // of its data
  output logic                    out_corrupt_o,  // valid with last
  output logic                    out_far_o,      // valid with last
  output logic                    parity_error_o  // level
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned RowBits = PlaceBits - PosBits;
  localparam int unsigned Depth = HistoryBytes / (2 * ValueBytes);  // rows of a bank
  localparam int unsigned AddressBits = $clog2(Depth);
  localparam int unsigned Rows = 16;   // of the FIFO
  localparam int unsigned UnderWay = 8;  // at most
  localparam int unsigned NumberBits = $clog2(Rows) + 1;

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
  typedef struct packed {
    logic       parity;
    logic [7:0] data;
  } byte_t;
  localparam int unsigned ByteBits = $bits(byte_t);

  // Lanes below one.
  function automatic logic [V-1:0] below(lane_t limit);
    for (int i = 0; i < int'(V); i++) below[i] = i < int'(limit);
  endfunction

  // Lanes from one to another, which is of the next row from V on: of this row, and of the next.
  function automatic logic [1:0][V-1:0] span(lane_t first, logic [PosBits+1:0] behind);
    logic [V-1:0] lanes = below(behind[PosBits-1:0]);
    logic over = behind >= (PosBits + 2)'(V);
    return {over ? lanes : '0, ~below(first) & (over ? '1 : lanes)};
  endfunction

  // Lanes turned upwards.
  function automatic byte_t [V-1:0] turned(byte_t [V-1:0] lanes, lane_t by);
    turned = lanes;
    for (int b = 0; b < int'(PosBits); b++) begin
      if (by[b]) begin
        turned = (turned << (ByteBits << b)) | (turned >> (ByteBits * V - (ByteBits << b)));
      end
    end
  endfunction

  // ---- cycle 1
  (* ram_style = "block" *) logic [V*ByteBits-1:0] even_mem[Depth];
  (* ram_style = "block" *) logic [V*ByteBits-1:0] odd_mem[Depth];
  byte_t [1:0][V-1:0] read_q, ram_q;

  place_t place_q, place_d, from;
  assign from = place_q + PlaceBits'(piece_own_i) - piece_offset_i;

  // An even row's partner has the same address, an odd one's the next.
  wire [AddressBits-1:0] odd_address = from.row[1+:AddressBits];
  wire [AddressBits-1:0] even_address = odd_address + AddressBits'(from.row[0]);
  wire [PosBits:0] bytes = piece_own_i + piece_copied_i;
  wire void_piece = piece_corrupt_i || piece_far_i;
  always_comb begin
    place_d = place_q;
    if (piece_valid_i) place_d = piece_end_i ? '0 : place_q + PlaceBits'(bytes);
    if (!rst_ni) place_d = '0;
  end
  always_ff @(posedge clk_i) begin
    read_q[0] <= even_mem[even_address];
    read_q[1] <= odd_mem[odd_address];
    ram_q     <= read_q;
    place_q   <= place_d;
  end

  // ---- cycle 2
  typedef struct packed {
    logic             valid;
    logic [PosBits:0] own;
    logic [PosBits:0] bytes;
    place_t           to;
    place_t           from;
    lane_t            lane;
    lane_t            offset;
    end_t             ends;
  } located_t;
  located_t c2_q, c2_d;
  logic [V*8-1:0] data2_q;
  logic parity2_q;
  byte_t [V-1:0] bytes2;

  assign c2_d = '{
    valid: piece_valid_i && rst_ni, own: void_piece ? '0 : piece_own_i,
    bytes: void_piece ? '0 : bytes, to: place_q, from: from, lane: piece_lane_i,
    offset: piece_offset_i[PosBits-1:0],
    ends: '{at: piece_end_i, corrupt: piece_corrupt_i, too_far: piece_far_i}
  };
  always_ff @(posedge clk_i) begin
    c2_q      <= c2_d;
    data2_q   <= piece_data_i;
    parity2_q <= piece_parity_i;
  end

  wire row_t rows_back = c2_q.to.row - c2_q.from.row;
  wire [PosBits+1:0] own_stop2 = {2'b0, c2_q.to.lane} + {1'b0, c2_q.own};
  wire [PosBits+1:0] stop2 = {2'b0, c2_q.to.lane} + {1'b0, c2_q.bytes};
  logic [V-1:0] kept2;  // by lane: a register has the byte that is copied
  logic [1:0][V-1:0] own2;
  assign own2 = span(c2_q.to.lane, own_stop2);

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      row_t back;
      back = (i < int'(c2_q.from.lane)) ? rows_back - 1'b1 : rows_back;
      kept2[i]  = back < row_t'(4);
      bytes2[i] = '{parity: ^data2_q[8*i+:8], data: data2_q[8*i+:8]};
    end
  end

  // ---- cycle 3
  typedef struct packed {
    logic               valid;
    logic [V-1:0]       own;     // by lane: not copied
    logic [V-1:0]       kept;    // by lane: a register has the byte that is copied
    logic [V-1:0]       second;  // by lane: it comes from the second row
    logic [1:0]         from;    // the first row, modulo 4
    lane_t              offset;
    row_t               row;
    logic [1:0][V-1:0]  write;   // lanes of that row, and of the next
    logic [PosBits+1:0] stop;    // lane behind the piece; V and more are of the next row
    end_t               ends;
  } selected_t;
  selected_t c3_q, c3_d;
  byte_t [V-1:0] bytes3_q;

  assign c3_d = '{
    valid: c2_q.valid && rst_ni, own: own2[0] | own2[1], kept: kept2,
    second: below(c2_q.from.lane), from: c2_q.from.row[1:0], offset: c2_q.offset,
    row: c2_q.to.row, write: span(c2_q.to.lane, stop2), stop: stop2, ends: c2_q.ends
  };
  always_ff @(posedge clk_i) begin
    c3_q     <= c3_d;
    bytes3_q <= turned(bytes2, c2_q.to.lane - c2_q.lane);
  end

  byte_t [3:0][V-1:0] rows_q;
  byte_t [V-1:0] source, copied;

  always_comb begin
    for (int i = 0; i < int'(V); i++) begin
      logic [1:0] at;
      at = c3_q.from + 2'(c3_q.second[i]);
      source[i] = c3_q.kept[i] ? rows_q[at][i] : ram_q[at[0]][i];
    end
    copied = turned(source, c3_q.offset);
  end

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < int'(V); i++) begin
      for (int r = 0; r < 4; r++) begin
        if (c3_q.valid && ((c3_q.write[0][i] && c3_q.row[1:0] == 2'(r)) ||
                           (c3_q.write[1][i] && c3_q.row[1:0] == 2'(r - 1)))) begin
          rows_q[r][i] <= c3_q.own[i] ? bytes3_q[i] : copied[i];
        end
      end
    end
  end

  // ---- cycle 4; the end of a block may need another for what it has in a second row
  typedef struct packed {
    logic  full;
    row_t  row;
    lane_t bytes;
    end_t  ends;
  } row_end_t;
  row_end_t c4_q, c4_d;

  wire full3 = c3_q.valid && c3_q.stop >= (PosBits + 2)'(V);
  wire more4 = c4_q.full && c4_q.ends.at && c4_q.bytes != '0;

  always_comb begin
    c4_d = c4_q;
    if (!more4) begin
      c4_d.bytes   = c3_q.stop[PosBits-1:0];
      c4_d.ends    = c3_q.ends;
      c4_d.ends.at = c3_q.valid && c3_q.ends.at;
    end
    c4_d.full = full3 && rst_ni;
    c4_d.row  = more4 ? c4_q.row + 1'b1 : c3_q.row;
    if (!rst_ni) c4_d.ends.at = 1'b0;
  end
  always_ff @(posedge clk_i) c4_q <= c4_d;

  wire push = c4_q.full || c4_q.ends.at;
  wire last = c4_q.ends.at && !more4;
  byte_t [V-1:0] row;
  logic [V*8-1:0] chunk;
  logic chunk_parity;
  assign row = rows_q[c4_q.row[1:0]];
  always_comb begin
    logic [V-1:0] valid;
    valid = c4_q.full ? '1 : below(c4_q.bytes);
    chunk        = '0;
    chunk_parity = 1'b0;
    for (int i = 0; i < int'(V); i++) begin
      if (valid[i]) begin
        chunk[8*i+:8] = row[i].data;
        chunk_parity ^= row[i].parity;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (c4_q.full && !c4_q.row[0]) even_mem[c4_q.row[1+:AddressBits]] <= row;
    if (c4_q.full && c4_q.row[0]) odd_mem[c4_q.row[1+:AddressBits]] <= row;
  end

  // ---- out: what says how far a chunk goes is under its parity, too
  typedef struct packed {
    logic [PosBits:0]      bytes;
    logic                  last;
    logic                  corrupt;
    logic                  too_far;
    logic [NumberBits-1:0] number;
  } tag_t;
  tag_t tag_in, tag;
  logic [NumberBits-1:0] in_number_q, out_number_q;
  logic [V*8-1:0] out_data;
  logic out_parity;
  logic [$clog2(Rows+1)-1:0] count;
  logic room, go_q, control_error, error_q;
  assign tag_in = '{
    bytes: c4_q.full ? (PosBits + 1)'(V) : (PosBits + 1)'(c4_q.bytes), last: last,
    corrupt: c4_q.ends.corrupt, too_far: c4_q.ends.too_far, number: in_number_q
  };

  cu_fifo #(.Width(V * 8 + $bits(tag_t) + 1), .Depth(Rows)) u_rows (
    .clk_i, .rst_ni,
    .wvalid_i(push), .wready_o(room), .wdata_i({chunk, tag_in, ^tag_in ^ chunk_parity}),
    .rvalid_o(out_valid_o), .rready_i(out_ready_i), .rdata_o({out_data, tag, out_parity}),
    .count_o(count)
  );
  assign out_o         = '{data: out_data, bytes: tag.bytes, last: tag.last, token: '0};
  assign out_parity_o  = out_parity ^ ^tag;
  assign out_corrupt_o = tag.corrupt;
  assign out_far_o     = tag.too_far;
  always_ff @(posedge clk_i) go_q <= count <= ($clog2(Rows + 1))'(Rows - UnderWay);
  assign go_o = go_q && rst_ni;

  cu_twin #(.Width($bits({place_q, c2_q, c3_q, c4_q}))) u_control (
    .clk_i, .rst_ni, .next_i({place_d, c2_d, c3_d, c4_d}), .now_i({place_q, c2_q, c3_q, c4_q}),
    .error_o(control_error)
  );
  assign parity_error_o = error_q | control_error;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_number_q  <= '0;
      out_number_q <= '0;
      error_q      <= 1'b0;
    end else begin
      if (push) in_number_q <= in_number_q + 1'b1;
      if (out_valid_o && out_ready_i) out_number_q <= out_number_q + 1'b1;
      if (out_valid_o && tag.number != out_number_q) error_q <= 1'b1;
      if (c2_q.valid && c2_q.own != '0 && ^data2_q != parity2_q) error_q <= 1'b1;
      if (push && !room) error_q <= 1'b1;
    end
  end

  `ASSERT(a_room, push |-> room)
  `ASSERT(a_gap, more4 |-> !c3_q.valid)
  `ASSERT(a_before, piece_valid_i && !void_piece && piece_copied_i != '0 |->
                    32'(bytes) <= 32'(piece_offset_i))
endmodule
