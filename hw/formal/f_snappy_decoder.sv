// cu_snappy_decoder against a reference, which follows Snappy's description of its format: of any
// block of up to N bytes that says to hold Limit bytes at most, at any lane, with anything around
// it, the decoder makes what the reference makes, says that it is corrupt if the reference does, and
// is done after Cycles cycles at the latest. Of a corrupt block it makes what is right, as far as it
// goes. Like the library, both take a literal of 2^32 bytes for an empty one. What comes out is taken
// at once. One bit of each byte is followed.

module f_snappy_decoder #(
  parameter int unsigned V = 8,
  parameter int unsigned N = 5,
  parameter int unsigned Limit = 8,
  parameter int unsigned Cycles = 32,
  localparam int unsigned PosBits = $clog2(V),
  localparam int unsigned Trailer = 5,
  localparam int unsigned Chunks = (V - 1 + N + Trailer + V - 1) / V
) (
  input logic clk_i,
  input logic out_ready_i
);
  logic rst_n_q = 1'b0;
  logic [6:0] cycle_q = '0;
  always_ff @(posedge clk_i) begin
    rst_n_q <= 1'b1;
    cycle_q <= cycle_q + 1'b1;
  end

  // Any, but the same in every cycle: the bytes of the chunks, where the block is, the followed bit.
  logic [Chunks*V-1:0][7:0] memory_q;
  logic [PosBits-1:0] lane_q;
  logic [3:0] bytes_q;
  logic raw_q;
  logic [2:0] bit_q;
  always_ff @(posedge clk_i) begin
    memory_q <= memory_q;
    lane_q   <= lane_q;
    bytes_q  <= bytes_q;
    raw_q    <= raw_q;
    bit_q    <= bit_q;
  end

  // ---- the reference
  logic [N-1:0][7:0] block;
  assign block = (N*8)'(memory_q >> {lane_q, 3'b0});

  logic [Limit-1:0] wanted;  // the followed bit of each byte
  logic [5:0] made;          // bytes; of a corrupt block, that may come
  logic corrupt, modest;     // modest: it says Limit bytes at most

  // A byte of the block, or zero behind it.
  function automatic logic [7:0] at(logic [N-1:0][7:0] b, logic [3:0] place);
    at = 8'd0;
    for (int unsigned i = 0; i < N; i++) if (place == 4'(i)) at = b[i];
  endfunction

  always_comb begin
    logic [3:0] place;
    logic [34:0] claim;
    logic ended;
    wanted  = '0;
    made    = '0;
    corrupt = 1'b0;
    place   = '0;
    claim   = '0;
    ended   = 1'b0;
    for (int unsigned i = 0; i < 5; i++) begin
      if (!ended && i < N) begin
        claim |= 35'(block[i][6:0]) << (7 * i);
        ended = !block[i][7];
        place = 4'(i + 1);
      end
    end
    if (!ended || place > bytes_q || claim[34:32] != '0) corrupt = 1'b1;
    modest = corrupt || claim <= 35'(Limit);
    if (raw_q) begin
      corrupt = 1'b0;
      modest   = 1'b1;
      for (int unsigned i = 0; i < N; i++) wanted[i] = block[i][bit_q];
      made = 6'(bytes_q);
    end else begin
      for (int unsigned e = 0; e < N - 1; e++) begin
        logic [7:0] tag;
        logic [31:0] number, length, offset;
        logic [3:0] header;
        tag    = '0;
        number = '0;
        length = '0;
        offset = '0;
        header = '0;
        if (!corrupt && place < bytes_q) begin
          tag    = at(block, place);
          number = {at(block, place + 4'd4), at(block, place + 4'd3), at(block, place + 4'd2),
                    at(block, place + 4'd1)};
          unique case (tag[1:0])
            2'b00: begin
              length = 32'(tag[7:2]);
              header = 4'd1;
              if (tag[7:2] >= 6'd60) begin
                length = number & (32'hffff_ffff >> (8 * (6'd63 - tag[7:2])));
                header = 4'(tag[7:2] - 6'd58);
              end
              length = length + 1'b1;
            end
            2'b01: begin
              length = 32'(tag[4:2]) + 32'd4;
              offset = {21'd0, tag[7:5], number[7:0]};
              header = 4'd2;
            end
            2'b10: begin
              length = 32'(tag[7:2]) + 32'd1;
              offset = 32'(number[15:0]);
              header = 4'd3;
            end
            default: begin
              length = 32'(tag[7:2]) + 32'd1;
              offset = number;
              header = 4'd5;
            end
          endcase
          if (5'(place) + 5'(header) > 5'(bytes_q)) corrupt = 1'b1;
          if (length > 32'(claim) - 32'(made)) corrupt = 1'b1;
          place = place + header;
          if (tag[1:0] == 2'b00) begin
            if (!corrupt) begin
              // What is there of it may be made, even if it lacks the rest.
              for (int unsigned i = 0; i < N; i++) begin
                if (32'(i) < length && place < bytes_q) begin
                  for (int unsigned o = 0; o < Limit; o++) begin
                    if (made == 6'(o)) wanted[o] = 1'(at(block, place) >> bit_q);
                  end
                  made  = made + 1'b1;
                  place = place + 1'b1;
                end else if (32'(i) < length) corrupt = 1'b1;
              end
              if (length > 32'(N)) corrupt = 1'b1;
            end
          end else begin
            if (offset == '0 || offset > 32'(made)) corrupt = 1'b1;
            if (!corrupt) begin
              for (int unsigned i = 0; i < Limit; i++) begin
                if (32'(i) < length) begin
                  for (int unsigned o = 0; o < Limit; o++) begin
                    if (made == 6'(o)) wanted[o] = 1'(wanted >> (6'(o) - offset[5:0]));
                  end
                  made = made + 1'b1;
                end
              end
            end
          end
        end
      end
      if (!corrupt && 35'(made) != claim) corrupt = 1'b1;
    end
  end

  // ---- the block and its chunks
  logic block_sent_q = 1'b0;
  logic [1:0] chunk_q = '0;
  logic block_ready, chunk_ready;
  wire [5:0] last_byte = 6'(lane_q) + 6'(bytes_q) + 6'(Trailer) - 6'd1;
  wire [1:0] last_chunk = 2'(last_byte >> PosBits);
  wire block_valid = rst_n_q && !block_sent_q;
  wire chunk_valid = rst_n_q && chunk_q <= last_chunk;
  wire [V*8-1:0] data = (V*8)'(memory_q >> (8 * V * chunk_q));
  always_ff @(posedge clk_i) begin
    if (block_valid && block_ready) block_sent_q <= 1'b1;
    if (chunk_valid && chunk_ready) chunk_q <= chunk_q + 1'b1;
  end

  typedef struct packed {  // CU_CHUNK_T
    logic [V*8-1:0]   data;
    logic [PosBits:0] bytes;
    logic             last;
    logic [1:0]       token;
  } chunk_t;
  chunk_t out;
  logic length_valid, out_valid, out_parity, out_corrupt, out_far, parity_error;
  logic [31:0] length;
  cu_snappy_decoder #(.ValueBytes(V), .HistoryBytes(8 * V)) u_dut (
    .clk_i, .rst_ni(rst_n_q),
    .block_valid_i(block_valid), .block_ready_o(block_ready), .block_bytes_i(32'(bytes_q)),
    .block_raw_i(raw_q),
    .chunk_valid_i(chunk_valid), .chunk_ready_o(chunk_ready), .chunk_data_i(data),
    .chunk_parity_i(^data), .chunk_first_i(chunk_q == '0), .chunk_last_i(chunk_q == last_chunk),
    .chunk_lane_i(lane_q),
    .length_valid_o(length_valid), .length_o(length),
    .out_valid_o(out_valid), .out_ready_i, .out_o(out), .out_parity_o(out_parity),
    .out_corrupt_o(out_corrupt), .out_far_o(out_far), .parity_error_o(parity_error)
  );

  // ---- what comes out
  logic done_q = 1'b0;
  logic [5:0] gone_q = '0;  // bytes
  wire take = rst_n_q && out_valid && out_ready_i;
  wire [5:0] gone = gone_q + 6'(out.bytes);
  logic differs;
  always_comb begin
    differs = 1'b0;
    for (int unsigned i = 0; i < V; i++) begin
      if (i < 32'(out.bytes) && 1'(wanted >> (gone_q + 6'(i))) != 1'(out.data[8*i+:8] >> bit_q)) begin
        differs = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      gone_q <= gone;
      done_q <= out.last;
    end
  end

  always_comb begin
    m_bytes : assume (bytes_q != '0 && bytes_q <= 4'(N));
    m_small : assume (modest);
    m_ready : assume (out_ready_i);
    if (rst_n_q) begin
      p_parity_error : assert (!parity_error);
      p_done   : assert (done_q || cycle_q < 7'(Cycles));
      p_length : assert (!length_valid || corrupt || length == 32'(made));
      if (take) begin
        p_once    : assert (!done_q);
        p_bytes   : assert (out.bytes <= (PosBits + 1)'(V) && gone <= made && !differs);
        p_whole   : assert (out.last || out.bytes == (PosBits + 1)'(V));
        p_corrupt : assert (!out.last || (out_corrupt == corrupt && !out_far));
        p_all     : assert (!out.last || corrupt || gone == made);
        p_even    : assert (out_parity == ^out.data);
      end
    end
  end
endmodule
