// The header of an entry: shared, unshared and value bytes as varint32s (LevelDB's block format).

package cu_entry_pkg;

  typedef struct packed {
    logic        fast;   // all three varints are well-formed and end within eight bytes
    logic [3:0]  bytes;  // of all three, if fast
    logic [7:0]  ends;   // the byte that is the last of them
    logic [31:0] shared;
    logic [31:0] unshared;
    logic        shared_big;  // 2^big_bits or more
    logic        both_big;    // unshared and the low big_bits bits of shared together
    logic [31:0] value_bytes;
    logic        first_ok;     // the first varint ends within five bytes
    logic [2:0]  first_bytes;  // of the first varint: 5 if it does not end
    logic [34:0] first;        // its value, or the low 35 bits of a longer one
  } header_t;

  // The value of the up to five varint bytes that `b` starts with.
  function automatic logic [34:0] varint(logic [39:0] b);
    logic more = 1'b1;
    logic [34:0] v = '0;
    for (int i = 0; i < 5; i++) begin
      v[7*i+:7] = b[8*i+:7] & {7{more}};
      more &= b[8*i+7];
    end
    return v;
  endfunction

  // Whether the low 32 bits of that are 2^bits or more; bits up to 6.
  function automatic logic varint_big(logic [39:0] b, int unsigned bits);
    logic more = b[7];
    logic big = (b[6:0] >> bits) != '0;
    for (int i = 1; i < 4; i++) begin
      big |= more & (b[8*i+:7] != '0);
      more &= b[8*i+7];
    end
    return big | (more & (b[35:32] != '0));
  endfunction

  // Whether the low bits of two numbers add up to 2^bits or more: a few LUTs, where an adder would
  // take a carry chain, too.
  function automatic logic sum_big(logic [6:0] a, logic [6:0] b, int unsigned bits);
    logic carry = 1'b0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (i < bits) carry = (a[i] & b[i]) | ((a[i] | b[i]) & carry);
    end
    return carry;
  endfunction

  function automatic header_t parse_header(logic [63:0] b, int unsigned big_bits);
    header_t h = '0;
    logic [103:0] padded = {40'h0, b};
    logic [7:0] e1, e2, e3;                     // byte i is the last one of varint 1, 2, 3
    logic none = 1'b1, one = 1'b0, two = 1'b0;  // varints that end before byte i
    for (int i = 0; i < 8; i++) begin
      logic more = b[8*i+7];
      e1[i] = none & ~more;
      e2[i] = one & ~more;
      e3[i] = two & ~more;
      two   = (two & more) | e2[i];
      one   = (one & more) | e1[i];
      none  = none & more;
    end
    h.ends = e3;
    // No varint may have six bytes.
    h.fast = (e3 != '0) & ~e1[5] & ~(e1[0] & e2[6]) & ~(e2[1] & e3[7]);
    h.first = varint(b[39:0]);
    h.shared = h.first[31:0];
    h.shared_big = varint_big(b[39:0], big_bits);
    // Where the varints of a fast header can end: the first one in byte 0 to 4, the second in 1 to 6.
    for (int i = 0; i < 7; i++) begin
      logic [31:0] v = 32'(varint(padded[8*(i+1)+:40]));
      if (i < 5 && e1[i]) h.unshared |= v;
      if (i < 5 && e1[i] && (varint_big(padded[8*(i+1)+:40], big_bits) ||
                             sum_big(b[6:0], padded[8*(i+1)+:7], big_bits))) h.both_big = 1'b1;
      if (i > 0 && e2[i]) h.value_bytes |= v;
    end
    for (int i = 0; i < 8; i++) begin
      if (e3[i]) h.bytes |= 4'(i + 1);
    end
    h.first_ok    = e1[4:0] != '0;
    h.first_bytes = e1[0] ? 3'd1 : e1[1] ? 3'd2 : e1[2] ? 3'd3 : e1[3] ? 3'd4 : 3'd5;
    return h;
  endfunction

endpackage
