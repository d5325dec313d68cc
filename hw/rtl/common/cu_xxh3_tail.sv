// The last 256 bytes of each of the last few messages, or all that a shorter one has: written in
// words, read by eight bytes from any byte on, which come two cycles later.

`include "cu_assert.svh"

module cu_xxh3_tail #(
  parameter int unsigned Bytes = 16,  // of a word: 8, 16, 32 or 64
  parameter int unsigned Slots = 4,   // messages: a power of two
  localparam int unsigned SlotBits = $clog2(Slots),
  localparam int unsigned WordBits = 8 - $clog2(Bytes)
) (
  input  logic                clk_i,

  input  logic                write_i,
  input  logic [SlotBits-1:0] write_slot_i,
  input  logic [WordBits-1:0] write_word_i,
  input  logic [Bytes*8-1:0]  data_i,

  input  logic [SlotBits-1:0] read_slot_i,
  input  logic [7:0]          read_byte_i,
  output logic [63:0]         data_o  // from that byte on, and round
);
  // A unit of eight bytes and the next one are in two banks.
  localparam int unsigned Banks = (Bytes > 16) ? Bytes / 8 : 2;
  localparam int unsigned BankBits = $clog2(Banks);
  localparam int unsigned RowBits = 5 - BankBits;  // of a slot

  `ASSERT_PARAM(bytes, Bytes inside {8, 16, 32, 64}, "Bytes must be 8, 16, 32 or 64")
  `ASSERT_PARAM(slots, $onehot(Slots) && Slots >= 2, "Slots must be a power of two, 2 or more")

  wire [4:0] unit = read_byte_i[7:3];
  wire [BankBits-1:0] bank = unit[BankBits-1:0];
  wire [RowBits-1:0] row = unit[4:BankBits];
  logic [Banks-1:0][63:0] rows_q;
  logic [BankBits-1:0] bank_q;
  logic [2:0] byte_q;

  for (genvar b = 0; b < Banks; b++) begin : g_bank
    (* ram_style = "distributed" *) logic [63:0] bytes[Slots*2**RowBits];
    logic write;
    logic [63:0] word;
    logic [RowBits-1:0] write_row;
    if (Bytes == 8) begin : g_half
      assign write     = write_i && write_word_i[0] == 1'(b);
      assign word      = data_i;
      assign write_row = write_word_i[WordBits-1:1];
    end else begin : g_whole
      assign write     = write_i;
      assign word      = data_i[64*b+:64];
      assign write_row = write_word_i;
    end
    // The unit's bank, or one behind it in the same row; in banks before it the next row follows.
    wire [RowBits-1:0] read_row = row + RowBits'(int'(bank) > b);
    always_ff @(posedge clk_i) begin
      if (write) bytes[{write_slot_i, write_row}] <= word;
      rows_q[b] <= bytes[{read_slot_i, read_row}];
    end
  end

  wire [BankBits-1:0] next_bank = bank_q + 1'b1;
  wire [127:0] both = {rows_q[next_bank], rows_q[bank_q]};
  always_ff @(posedge clk_i) begin
    bank_q <= bank;
    byte_q <= read_byte_i[2:0];
    data_o <= 64'(both >> {byte_q, 3'b000});
  end
endmodule
