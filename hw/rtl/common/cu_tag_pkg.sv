// The tag of a record: 16 bits that tell whether the keys that leave the merge tree are those that
// entered it. The decoder derives them from the record's checksum, cu_visibility_filter from the key
// that the tree puts out, and cu_transfer compares the two.
//
//   tag = fold(RecordChecksum without the value's fold) XOR spread(trailer)
//
// with RecordChecksum of include/sluice/executor.h. A single stray bit always changes it. Words of a
// key can be folded before they are rotated.

package cu_tag_pkg;
  typedef logic [15:0] tag_t;

  function automatic tag_t fold(logic [63:0] word);
    return word[15:0] ^ word[31:16] ^ word[47:32] ^ word[63:48];
  endfunction

  function automatic tag_t rotate(tag_t tag, int unsigned by);
    return (tag << (by % 16)) | (tag >> ((16 - by % 16) % 16));
  endfunction

  // The low bits of the sequence number in reverse: without them, records whose keys and sequence
  // numbers count up in step can all have the same tag.
  function automatic tag_t spread(logic [63:0] trailer);
    tag_t reversed;
    for (int i = 0; i < 16; i++) reversed[i] = trailer[8+15-i];
    return rotate(reversed, 1);
  endfunction
endpackage
