// LevelDB's hash of a user key for its Bloom filter: a chain of rounds, one per word of four bytes.
//
//   hash = 0xbc9f1d34 XOR key bytes * multiplier          the multiplier is 0xc6a4a793
//   for each word:          hash = (hash + word) * multiplier;  hash ^= hash >> 16
//   for 1 to 3 bytes left:  hash = (hash + these) * multiplier;  hash ^= hash >> 24

package cu_bloom_pkg;
  localparam int unsigned WordBytes = 4;

  // What a round does: nothing where a key has no word any more.
  typedef enum logic [1:0] {RoundNone, RoundTail, RoundWord} round_e;

  // Of the word at byte `at` of a beat of which `bytes` are valid.
  function automatic round_e round_at(logic [6:0] bytes, int unsigned at);
    if (bytes >= 7'(at + WordBytes)) return RoundWord;
    return (bytes > 7'(at)) ? RoundTail : RoundNone;
  endfunction

  // The hash before the first round, of the product of key bytes and multiplier.
  function automatic logic [31:0] first_hash(logic [31:0] product);
    return product ^ 32'hbc9f_1d34;
  endfunction

  // By how much the hash grows from one probe to the next.
  function automatic logic [31:0] probe_step(logic [31:0] hash);
    return {hash[16:0], hash[31:17]};
  endfunction

  // Latency of cu_bloom_round.
  function automatic int unsigned round_cycles();
    return 3;
  endfunction

  // Latency of cu_bloom_remainder.
  function automatic int unsigned remainder_steps();
    return 6;
  endfunction
endpackage
