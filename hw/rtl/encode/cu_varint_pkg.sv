// LEB128 varints of up to 8 bytes.

package cu_varint_pkg;

  typedef struct packed {
    logic [3:0]  bytes;  // 1 to 8
    logic [63:0] data;   // left-justified: byte 0 first; zero from `bytes` on
  } varint_t;

  function automatic logic [3:0] varint_bytes(logic [55:0] value);
    logic [3:0] bytes = 4'd1;
    for (int i = 1; i < 8; i++) if (|(value >> (7 * i))) bytes = 4'(i + 1);
    return bytes;
  endfunction

  function automatic varint_t varint(logic [55:0] value);
    varint_t v;
    v = '{bytes: varint_bytes(value), data: '0};
    for (int i = 0; i < 8; i++) begin
      v.data[8*i+:7] = value[7*i+:7];
      v.data[8*i+7]  = 4'(i + 1) < v.bytes;
    end
    return v;
  endfunction

endpackage
