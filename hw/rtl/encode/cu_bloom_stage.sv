// cu_bloom_filter, guarded against stray bits: there are two, and the second gets every input a
// cycle later. In every cycle its outputs must be those of the first in the cycle before. A bit
// that flips in one of them, wherever that is, changes nothing, or shows two cycles after the first
// wrong output at the latest. Their registers do not hold the same in the same cycle, so that no
// tool merges them.

`include "cu_streams.svh"

module cu_bloom_stage #(
  parameter int unsigned ValueBytes = 16,
  parameter int unsigned MaxKeyBytes = 1024,
  parameter int unsigned MaxFilterKeys = 2048,
  parameter int unsigned MaxFilterBytes = 4096,
  parameter int unsigned Lanes = 6,
  localparam type filter_key_t = `CU_FILTER_KEY_T(ValueBytes),
  localparam type chunk_t = `CU_CHUNK_T(8)
) (
  input  logic        clk_i,
  input  logic        rst_ni,  // synchronous

  // As those of cu_bloom_filter.
  input  logic [7:0]  bits_per_key_i,
  input  logic [4:0]  probes_i,
  input  logic        key_valid_i,
  output logic        key_ready_o,
  input  filter_key_t key_i,
  output logic        chunk_valid_o,
  input  logic        chunk_ready_i,
  output chunk_t      chunk_o,
  output logic        overflow_o,

  output logic        stray_o  // level, two cycles late: the two differ
);
  typedef struct packed {
    logic        rst_n;
    logic [7:0]  bits_per_key;
    logic [4:0]  probes;
    logic        key_valid;
    filter_key_t key;
    logic        chunk_ready;
  } in_t;
  typedef struct packed {
    logic   key_ready;
    logic   chunk_valid;
    chunk_t chunk;
    logic   overflow;
  } out_t;

  in_t in, in_q;
  out_t out, out_q, second;
  logic stray_q;
  assign in = '{rst_n: rst_ni, bits_per_key: bits_per_key_i, probes: probes_i,
                key_valid: key_valid_i, key: key_i, chunk_ready: chunk_ready_i};
  assign key_ready_o   = out.key_ready;
  assign chunk_valid_o = out.chunk_valid;
  assign chunk_o       = out.chunk;
  assign overflow_o    = out.overflow;
  assign stray_o       = stray_q;

  cu_bloom_filter #(
    .ValueBytes(ValueBytes), .MaxKeyBytes(MaxKeyBytes), .MaxFilterKeys(MaxFilterKeys),
    .MaxFilterBytes(MaxFilterBytes), .Lanes(Lanes)
  ) u_first (
    .clk_i, .rst_ni(in.rst_n), .bits_per_key_i(in.bits_per_key), .probes_i(in.probes),
    .key_valid_i(in.key_valid), .key_ready_o(out.key_ready), .key_i(in.key),
    .chunk_valid_o(out.chunk_valid), .chunk_ready_i(in.chunk_ready), .chunk_o(out.chunk),
    .overflow_o(out.overflow)
  );
  // Its reset ends a cycle later, but begins at once: before the first, nothing is known of in_q.
  wire second_rst_n = rst_ni && in_q.rst_n;
  cu_bloom_filter #(
    .ValueBytes(ValueBytes), .MaxKeyBytes(MaxKeyBytes), .MaxFilterKeys(MaxFilterKeys),
    .MaxFilterBytes(MaxFilterBytes), .Lanes(Lanes)
  ) u_second (
    .clk_i, .rst_ni(second_rst_n), .bits_per_key_i(in_q.bits_per_key), .probes_i(in_q.probes),
    .key_valid_i(in_q.key_valid), .key_ready_o(second.key_ready), .key_i(in_q.key),
    .chunk_valid_o(second.chunk_valid), .chunk_ready_i(in_q.chunk_ready), .chunk_o(second.chunk),
    .overflow_o(second.overflow)
  );

  wire controls_agree = {out_q.key_ready, out_q.chunk_valid, out_q.overflow} ==
                        {second.key_ready, second.chunk_valid, second.overflow};
  wire chunks_agree = !second.chunk_valid || counted(out_q.chunk) == counted(second.chunk);

  // Behind a chunk's bytes may stand anything: behind a trailer, what the FIFO of words holds.
  function automatic chunk_t counted(chunk_t chunk);
    for (int i = 0; i < 8; i++) begin
      if (4'(i) >= chunk.bytes) chunk.data[8*i+:8] = '0;
    end
    return chunk;
  endfunction

  always_ff @(posedge clk_i) begin
    in_q    <= in;
    out_q   <= out;
    stray_q <= rst_ni && in_q.rst_n && (stray_q || !controls_agree || !chunks_agree);
  end
endmodule
