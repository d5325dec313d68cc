// One bound of the key range: compares the beats of a user key with a stored key, combinationally
// per beat. The caller combines the results of the beats and, if all are equal, compares the
// lengths.
//
// The memory is loaded in words of 8 bytes, the last one zero-padded. Words beyond the bound's
// length are read as zero, whatever an earlier job has left there: block RAM can clear its output.

module cu_key_range #(
  parameter int unsigned ValueBytes  = 8,
  parameter int unsigned MaxKeyBytes = 1024,
  localparam int unsigned Beats    = (MaxKeyBytes + ValueBytes - 1) / ValueBytes,
  localparam int unsigned IdxBits  = (Beats > 1) ? $clog2(Beats) : 1,
  localparam int unsigned AddrBits = (MaxKeyBytes > 8) ? $clog2((MaxKeyBytes + 7) / 8) : 1
) (
  input  logic                    clk_i,

  input  logic                    we_i,
  input  logic [AddrBits-1:0]     addr_i,
  input  logic [63:0]             data_i,

  input  logic [15:0]             bytes_i,      // the bound's length, stable before the first beat
  input  logic [IdxBits-1:0]      next_beat_i,  // index of the beat that comes after this edge
  input  logic [ValueBytes*8-1:0] beat_i,
  output logic                    less_o,       // the beat is below the bound's
  output logic                    equal_o
);
  localparam int unsigned V = ValueBytes;
  localparam int unsigned Words = V / 8;

  logic [V*8-1:0] bound, bound_order, beat_order;

  for (genvar w = 0; w < Words; w++) begin : g_word
    (* ram_style = "block" *) logic [63:0] mem[Beats];
    logic [63:0] word_q;
    wire used = 32'(next_beat_i) * V + w * 8 < 32'(bytes_i);
    always_ff @(posedge clk_i) begin
      if (!used) word_q <= '0;
      else word_q <= mem[next_beat_i];
    end
    if (Words == 1) begin : g_narrow
      always_ff @(posedge clk_i) if (we_i) mem[IdxBits'(addr_i)] <= data_i;
    end else begin : g_wide
      localparam int unsigned LaneBits = $clog2(Words);
      always_ff @(posedge clk_i) begin
        if (we_i && LaneBits'(addr_i) == LaneBits'(w)) mem[IdxBits'(addr_i >> LaneBits)] <= data_i;
      end
    end
    assign bound[w*64+:64] = word_q;
  end

  always_comb begin
    for (int unsigned i = 0; i < V; i++) begin
      bound_order[(V-1-i)*8+:8] = bound[i*8+:8];
      beat_order[(V-1-i)*8+:8]  = beat_i[i*8+:8];
    end
  end

  cu_compare #(.Width(V * 8)) u_compare (
    .a_i(beat_order), .b_i(bound_order), .less_o, .equal_o
  );
endmodule
