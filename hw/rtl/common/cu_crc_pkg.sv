// CRC32C as linear maps over GF(2), for datapaths of any width.
//
// State convention: `s` is the running remainder in reflected form, all ones before a message and
// inverted after it. Data bit n (byte n/8, least significant bit first) meets state bit 0 after n
// single-bit steps, so a whole word is one matrix: next = M * (word XOR state in its low 32 bits).

package cu_crc_pkg;

  localparam logic [31:0] Polynomial = 32'h82f6_3b78;

  // Masks of the word bits that each next-state bit is the parity of, for words up to 64 bytes.
  typedef logic [31:0][511:0] step_masks_t;
  // Masks of the state bits that each unwound-state bit is the parity of.
  typedef logic [31:0][31:0] unwind_masks_t;
  // A state for each byte of a word.
  typedef logic [63:0][31:0] starts_t;

  function automatic logic [31:0] step_bit(logic [31:0] s);
    return (s >> 1) ^ (s[0] ? Polynomial : 32'h0);
  endfunction

  // The state before one zero bit was taken in.
  function automatic logic [31:0] unstep_bit(logic [31:0] s);
    return s[31] ? (((s ^ Polynomial) << 1) | 32'h1) : (s << 1);
  endfunction

  function automatic step_masks_t step_masks(int unsigned bytes);
    step_masks_t masks = '0;
    logic [31:0] column = Polynomial;  // what the word's last bit contributes
    for (int n = int'(8 * bytes) - 1; n >= 0; n--) begin
      for (int i = 0; i < 32; i++) masks[i][n] = column[i];
      column = step_bit(column);
    end
    return masks;
  endfunction

  function automatic unwind_masks_t unwind_masks(int unsigned bytes);
    unwind_masks_t masks = '0;
    for (int j = 0; j < 32; j++) begin
      logic [31:0] column = 32'h1 << j;
      for (int n = 0; n < int'(8 * bytes); n++) column = unstep_bit(column);
      for (int i = 0; i < 32; i++) masks[i][j] = column[i];
    end
    return masks;
  endfunction

  // What the all-ones initial state becomes from each byte of a word to the word's end.
  function automatic starts_t starts(int unsigned bytes);
    logic [31:0] state = '1;
    starts = '0;
    for (int unsigned i = bytes; i > 0; i--) begin
      for (int n = 0; n < 8; n++) state = step_bit(state);
      starts[i-1] = state;
    end
  endfunction

  // x^209 is x^144 + x^54 + x^39 + x^14 + 1 modulo the polynomial: no power before it is a sum of as
  // few below it. A bit of a word that has 209 bits or more behind it can therefore be replaced by
  // five that are so many steps nearer to the word's end. What is left takes far fewer gates.
  localparam int unsigned FoldedBits = 209;
  localparam int unsigned FoldSteps[5] = '{65, 155, 170, 195, 209};

  // A word with the same CRC from state zero, of which only the last FoldedBits bits are not zero.
  function automatic logic [511:0] fold(logic [511:0] word, int unsigned bytes);
    for (int n = 0; n < int'(8 * bytes - FoldedBits); n++) begin
      for (int t = 0; t < 5; t++) word[n+int'(FoldSteps[t])] ^= word[n];
      word[n] = 1'b0;
    end
    return word;
  endfunction

  // Latency of cu_crc_unwind.
  function automatic int unsigned unwind_cycles(int unsigned max_bytes);
    return ($clog2(max_bytes) + 1) / 2;
  endfunction

  // Latency of cu_block_crc.
  function automatic int unsigned block_crc_cycles(int unsigned bytes);
    return unwind_cycles(bytes) + ((8 * bytes > FoldedBits) ? 4 : 3);
  endfunction

  function automatic logic [31:0] add_zero_bytes(logic [31:0] state, int unsigned bytes);
    for (int unsigned i = 0; i < 8 * bytes; i++) state = step_bit(state);
    return state;
  endfunction

  localparam logic [31:0] MaskDelta = 32'ha282_ead8;

  // LevelDB's masking of stored CRCs.
  function automatic logic [31:0] mask_crc(logic [31:0] crc);
    return {crc[14:0], crc[31:15]} + MaskDelta;
  endfunction

  // Whether mask_crc(crc) is `masked`, without a carry chain: crc rotated, the constant and ~masked
  // then add up to -1, that is, without their carries, to the complement of these.
  function automatic logic is_masked(logic [31:0] crc, logic [31:0] masked);
    logic [31:0] a = {crc[14:0], crc[31:15]};
    logic [31:0] b = ~masked;
    logic [31:0] carries = ((a & b) | ((a | b) & MaskDelta)) << 1;
    return (a ^ b ^ MaskDelta ^ carries) == '1;
  endfunction

endpackage
