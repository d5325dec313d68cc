// Constants of XXH3 with 64 bits and without a seed, and where its final form takes them from.
//
// docs/hardware.md, "XXH3", says how the hash of a block comes about.

package cu_xxh3_pkg;

  // xxHash's default secret; byte 0 is lowest.
  localparam logic [191:0][7:0] Secret = {
    64'h7e40_4bbb_cafb_d7af, 64'h2804_1695_8f3a_cb45, 64'hce31_d07a_d1b8_f88f,
    64'hfca1_477d_58be_162b, 64'h9e68_d429_2655_16d3, 64'h49da_f0b7_51dd_0d17,
    64'heb63_13fa_ffa0_81c5, 64'hc3eb_d334_83ac_c5ea, 64'h6473_78d9_c97e_9fc8,
    64'h3159_b4cd_4be0_518a, 64'h1d4f_0bc7_c7bb_dcf9, 64'h3f34_9ce3_3f76_faa8,
    64'hd8ac_dea9_46ef_1938, 64'h4ef9_0da2_9748_6471, 64'ha32e_531b_8b65_d088,
    64'hcb00_c391_bb52_283c, 64'h4c26_3a81_e690_35e0, 64'h8e24_43f7_7446_08b8,
    64'h2172_ffcc_7dd0_5a82, 64'h78e5_c0cc_4ee6_79cb, 64'h1f67_b3b7_a4a4_4072,
    64'hdb97_9083_e96d_d4de, 64'h1cad_21f7_2c81_017c, 64'hbe4b_a423_396c_feb8
  };

  // What RocksDB multiplies a block's type with.
  function automatic logic [31:0] type_prime();
    return 32'h6b90_83d9;
  endfunction

  // The secret's word from a byte on.
  function automatic logic [63:0] secret_word(int unsigned offset);
    for (int unsigned i = 0; i < 8; i++) secret_word[8*i+:8] = Secret[offset+i];
  endfunction

  // Rows of the table of words that cu_xxh3_finish reads.
  localparam int unsigned MiddleRow = 0;   // by 8 bytes from 0 on, then from 3 on
  localparam int unsigned FinalRow = 30;   // the last 16 bytes of up to 240
  localparam int unsigned LastRow = 32;    // the last stripe, one per lane
  localparam int unsigned MergeRow = 40;   // the lanes
  localparam int unsigned FlipRow = 48;    // up to 16 bytes

  typedef logic [63:0][63:0] words_t;
  function automatic words_t finish_words();
    finish_words = '0;
    for (int unsigned k = 0; k < 16; k++) finish_words[MiddleRow+k] = secret_word(8 * k);
    for (int unsigned k = 0; k < 14; k++) finish_words[MiddleRow+16+k] = secret_word(3 + 8 * k);
    for (int unsigned k = 0; k < 2; k++) finish_words[FinalRow+k] = secret_word(119 + 8 * k);
    for (int unsigned k = 0; k < 8; k++) begin
      finish_words[LastRow+k]  = secret_word(121 + 8 * k);
      finish_words[MergeRow+k] = secret_word(11 + 8 * k);
    end
    finish_words[FlipRow]   = secret_word(24) ^ secret_word(32);
    finish_words[FlipRow+1] = secret_word(40) ^ secret_word(48);
  endfunction

  // Latency of cu_product.
  function automatic int unsigned product_cycles(int unsigned b_bits);
    return 2 + $clog2((b_bits + 16) / 17);
  endfunction

endpackage
