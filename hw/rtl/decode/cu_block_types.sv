// Asks for the type of each block ahead of the block. It stands behind the block, and is needed
// before the first byte: so it is read twice, first by itself, in a request of one byte just before
// that of the block. Answers come in order, so that its beat is just before the block's, and
// nothing waits for another round trip. A block costs one more beat of the port, and two cycles.
//
// Whether the block then shows the same type is for others to check: no CRC covers this one.

module cu_block_types #(
  parameter int unsigned BusBytes = 64,  // W: a power of two
  localparam int unsigned LaneBits = $clog2(BusBytes)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,  // synchronous

  // Requests of blocks, which become two each.
  input  logic                  block_req_valid_i,
  output logic                  block_req_ready_o,
  input  logic [63:0]           block_req_addr_i,
  input  logic [31:0]           block_req_bytes_i,  // trailer counted
  output logic                  req_valid_o,
  input  logic                  req_ready_i,
  output logic [63:0]           req_addr_o,
  output logic [31:0]           req_bytes_o,

  // Of two answers, that of the block; errors of either.
  input  logic                  done_valid_i,
  output logic                  done_ready_o,
  input  logic                  done_error_i,
  output logic                  block_done_valid_o,
  input  logic                  block_done_ready_i,
  output logic                  block_done_error_o,

  // The blocks asked for, in order, to be cut into chunks once their type is known.
  input  logic                  asked_valid_i,
  output logic                  asked_ready_o,
  input  logic [LaneBits-1:0]   asked_lane_i,
  input  logic [LaneBits-1:0]   asked_bytes_i,  // trailer counted, modulo W
  output logic                  block_valid_o,
  input  logic                  block_ready_i,
  output logic [7:0]            block_type_o,
  input  logic                  room_i,  // for one more block

  // Their beats; those that are not taken here go on.
  input  logic                  beat_valid_i,
  input  logic [BusBytes*8-1:0] beat_data_i,
  output logic                  beat_take_o
);
  logic second_q;  // the type has been asked for, the block is next
  logic type_done_q, type_error_q;
  logic busy_q;    // a block's beats are being cut
  logic known_q;
  logic [7:0] type_q;

  assign block_req_ready_o = second_q & req_ready_i;
  assign req_valid_o = block_req_valid_i;
  assign req_addr_o  = second_q ? block_req_addr_i
                                : block_req_addr_i + {32'h0, block_req_bytes_i} - 64'd5;
  assign req_bytes_o = second_q ? block_req_bytes_i : 32'd1;

  assign done_ready_o       = ~type_done_q | block_done_ready_i;
  assign block_done_valid_o = type_done_q & done_valid_i;
  assign block_done_error_o = done_error_i | type_error_q;

  wire [LaneBits-1:0] type_lane = asked_lane_i + asked_bytes_i - LaneBits'(5);
  assign beat_take_o   = asked_valid_i & ~busy_q & ~known_q & beat_valid_i;
  assign block_valid_o = asked_valid_i & known_q & room_i;
  assign asked_ready_o = block_valid_o & block_ready_i;
  assign block_type_o  = type_q;

  always_ff @(posedge clk_i) begin
    if (beat_take_o) type_q <= beat_data_i[{3'b0, type_lane} * 8+:8];
    if (done_valid_i && !type_done_q) type_error_q <= done_error_i;
    if (!rst_ni) begin
      second_q    <= 1'b0;
      type_done_q <= 1'b0;
      busy_q      <= 1'b0;
      known_q     <= 1'b0;
    end else begin
      if (req_valid_o && req_ready_i) second_q <= ~second_q;
      if (done_valid_i && done_ready_o) type_done_q <= ~type_done_q;
      if (block_ready_i) busy_q <= block_valid_o;
      if (beat_take_o) known_q <= 1'b1;
      else if (asked_ready_o) known_q <= 1'b0;
    end
  end
endmodule
