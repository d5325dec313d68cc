// The header of an entry: shared, unshared and value bytes as varint32s (LevelDB's block format).

package cu_entry_pkg;

  // Two bytes hold the lengths of all keys below 16 KiB, and four those of all values below 256 MiB.
  // Longer varints, which few headers have, are found one by one, from `first`.
  localparam int unsigned KeyVarint = 2;
  localparam int unsigned ValueVarint = 4;

  typedef struct packed {
    logic        fast;   // no varint is longer than that; they end within eight bytes
    logic [3:0]  bytes;  // of all three, if fast
    logic [7:0]  ends;   // the byte that is the last of them, if fast
    logic [7*KeyVarint-1:0]   shared;
    logic [7*KeyVarint-1:0]   unshared;
    logic        shared_big;  // 2^big_bits or more
    logic        both_big;    // unshared and the low big_bits bits of shared together
    logic [7*ValueVarint-1:0] value_bytes;
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

  function automatic logic [7*KeyVarint-1:0] key_varint(logic [14:0] b);
    return {b[14:8] & {7{b[7]}}, b[6:0]};
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
    logic [7:0] more;     // of byte i: its varint goes on
    logic [1:0] e1;       // byte i is the last one of varint 1, and so on
    logic [3:1] e2;
    logic [4:2] value_at;  // the third varint begins in byte i
    logic [1:0][7*KeyVarint-1:0] unshared;  // if the second begins in byte 1, 2
    logic [4:2][7*ValueVarint-1:0] value;
    for (int i = 0; i < 8; i++) more[i] = b[8*i+7];
    e1 = {more[0] & ~more[1], ~more[0]};
    e2 = {e1[1] & more[2] & ~more[3],
          (e1[1] & ~more[2]) | (e1[0] & more[1] & ~more[2]),
          e1[0] & ~more[1]};
    value_at = e2;
    for (int i = 2; i < 5; i++) begin
      logic goes_on = value_at[i];
      for (int n = 0; n < int'(ValueVarint); n++) begin
        h.ends[i+n] |= goes_on & ~more[i+n];
        goes_on &= more[i+n];
      end
    end
    h.fast = h.ends != '0;
    for (int i = 0; i < 8; i++) begin
      if (h.ends[i]) h.bytes |= 4'(i + 1);
    end

    h.first = varint(b[39:0]);
    h.shared = key_varint(b[14:0]);
    h.shared_big = (h.shared >> big_bits) != '0;
    for (int i = 0; i < 2; i++) begin
      unshared[i] = key_varint(b[8*(i+1)+:15]);
      if (e1[i]) h.unshared |= unshared[i];
      if (e1[i] && ((unshared[i] >> big_bits) != '0 ||
                    sum_big(b[6:0], b[8*(i+1)+:7], big_bits))) h.both_big = 1'b1;
    end
    for (int i = 2; i < 5; i++) begin
      value[i] = (7*ValueVarint)'(varint(40'(b[8*i+:32])));
      if (value_at[i]) h.value_bytes |= value[i];
    end

    h.first_ok    = more[4:0] != '1;
    h.first_bytes = !more[0] ? 3'd1 : !more[1] ? 3'd2 : !more[2] ? 3'd3 : !more[3] ? 3'd4 : 3'd5;
    return h;
  endfunction

endpackage
