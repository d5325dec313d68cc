// The header of an entry: shared, unshared and value bytes as varint32s (LevelDB's block format).

package cu_entry_pkg;

  typedef struct packed {
    logic        fast;         // all three varints are well-formed and end within eight bytes
    logic [3:0]  bytes;        // of all three, if fast
    logic [31:0] shared;
    logic [31:0] unshared;
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

  function automatic header_t parse_header(logic [63:0] b);
    header_t h = '0;
    logic [103:0] padded = {40'h0, b};
    logic [7:0] e1 = '0, e2 = '0, e3 = '0;  // byte i is the last one of varint 1, 2, 3
    logic [1:0] ended = '0;                 // varints before byte i
    for (int i = 0; i < 8; i++) begin
      if (!b[8*i+7]) begin
        e1[i] = ended == 2'd0;
        e2[i] = ended == 2'd1;
        e3[i] = ended == 2'd2;
        if (ended != 2'd3) ended++;
      end
    end
    // No varint may have six bytes.
    h.fast = (e3 != '0) & ~e1[5] & ~(e1[0] & e2[6]) & ~(e2[1] & e3[7]);
    h.first = varint(b[39:0]);
    h.shared = h.first[31:0];
    for (int i = 0; i < 7; i++) begin
      logic [31:0] v = 32'(varint(padded[8*(i+1)+:40]));
      if (e1[i]) h.unshared |= v;
      if (e2[i]) h.value_bytes |= v;
    end
    for (int i = 0; i < 8; i++) begin
      if (e3[i]) h.bytes |= 4'(i + 1);
    end
    h.first_ok    = e1[4:0] != '0;
    h.first_bytes = e1[0] ? 3'd1 : e1[1] ? 3'd2 : e1[2] ? 3'd3 : e1[3] ? 3'd4 : 3'd5;
    return h;
  endfunction

endpackage
