// Sums RecordChecksum (include/sluice/executor.h) over records, from their beats as they pass.
//
// The checksum XORs 64-bit words, word i rotated by 11 * (i mod 8). The words of a beat are
// combined first; the position of the beat within its round of 64/V beats then determines the
// rotation of the result. Three stages: hash the beat, rotate it into the record, add the record to
// the sum.

`include "cu_assert.svh"

module cu_record_sum #(
  parameter int unsigned ValueBytes = 16  // 8, 16, 32 or 64
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,  // synchronous

  input  logic                    start_i,       // a record starts; no beat in this cycle
  input  logic [31:0]             user_bytes_i,  // with start_i, as is the next
  input  logic [31:0]             value_bytes_i,
  input  logic                    trailer_valid_i,  // once in a record, after its start
  input  logic [63:0]             trailer_i,
  input  logic                    beat_i,
  input  logic                    value_i,  // the beat is of the value, not of the key
  input  logic [ValueBytes*8-1:0] data_i,   // zero-padded
  input  logic                    end_i,    // the record ends, with this beat or without one

  output logic [63:0]             sum_o     // three cycles late
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Words = V / 8;
  localparam int unsigned Places = 64 / V;
  localparam int unsigned PlaceBits = (Places > 1) ? $clog2(Places) : 1;

  function automatic logic [63:0] rotl(logic [63:0] word, int unsigned by);
    return (word << (by % 64)) | (word >> ((64 - by % 64) % 64));
  endfunction

  // What starts a record's checksum.
  wire [63:0] lengths = {user_bytes_i + 32'd8, value_bytes_i};

  logic value_q, s1_start_q, s1_beat_q, s1_value_q, s1_end_q, s2_end_q;
  logic [PlaceBits-1:0] place_q, place, s1_place_q;
  logic [63:0] xor_hash, s1_xor_hash_q, s1_trailer_q, record_q, record_d, sum_q;

  assign place = (value_i == value_q) ? place_q : '0;

  always_comb begin
    xor_hash = '0;
    for (int i = 0; i < int'(Words); i++) xor_hash ^= rotl(data_i[64*i+:64], 11 * i);
  end

  always_comb begin
    logic [63:0] turned;
    turned = s1_xor_hash_q;
    for (int p = 1; p < int'(Places); p++) begin
      if (s1_place_q == PlaceBits'(p)) turned = rotl(s1_xor_hash_q, 11 * int'(Words) * p);
    end
    record_d = record_q;
    if (s1_start_q) begin
      record_d = s1_xor_hash_q;
    end else if (s1_beat_q) begin
      record_d = record_q ^ (s1_value_q ? rotl(turned, 5) : turned);
    end
    record_d ^= s1_trailer_q;
  end

  always_ff @(posedge clk_i) begin
    s1_xor_hash_q  <= start_i ? lengths : xor_hash;
    s1_trailer_q <= trailer_valid_i ? rotl(trailer_i, 3) : '0;
    s1_place_q <= place;
    s1_value_q <= value_i;
    record_q   <= record_d;
    if (start_i) begin
      value_q <= 1'b0;
      place_q <= '0;
    end else if (beat_i) begin
      value_q <= value_i;
      place_q <= (place == PlaceBits'(Places - 1)) ? '0 : place + 1'b1;
    end
    if (!rst_ni) begin
      s1_start_q <= 1'b0;
      s1_beat_q  <= 1'b0;
      s1_end_q   <= 1'b0;
      s2_end_q   <= 1'b0;
      sum_q      <= '0;
    end else begin
      s1_start_q <= start_i;
      s1_beat_q  <= beat_i;
      s1_end_q   <= end_i;
      s2_end_q   <= s1_end_q;
      if (s2_end_q) sum_q <= sum_q + record_q;
    end
  end
  assign sum_o = sum_q;

  `ASSERT(a_apart, !(start_i && (beat_i || end_i || trailer_valid_i)))
endmodule
