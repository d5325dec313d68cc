// The data of the unit's streams, a packed struct each. They are macros because their widths depend
// on parameters of the modules at both ends, which a package cannot know. A module declares a type
// in its parameter list, so that its ports can have it:
//
//   module cu_x #(
//     parameter int unsigned Bytes = 8,
//     localparam type chunk_t = `CU_CHUNK_T(Bytes)
//   ) (
//     input  logic   chunk_valid_i,
//     output logic   chunk_ready_o,
//     input  chunk_t chunk_i,
//
// Packed structs of equal width can be connected, so each module declares its own. Handshakes are
// separate ports.

`ifndef CU_STREAMS_SVH
`define CU_STREAMS_SVH

// Parser to key expander: the result of a cycle; there is no back-pressure. At most one of the
// first six fields is set.
//
//   head         bytes of a header were consumed
//   key, value   a beat of a key or of a value
//   fault        the block is corrupt
//   block_end    the end of a block; see CU_BLOCK_END_T
//   eos          the end of the run
//   head_parity  parity of the window's head
//   data         a key or value beat, else what the window shows; lanes below `shared` are invalid
//   parity       parity of all of `data`
//   bytes        bytes of the user key, or of the value, in this beat: 0 to ValueBytes
//   first, last  first and last beat of the internal key, or of the value
//   shared       lanes of a key beat that come from the previous key
//   span         bytes of the internal key in this beat
//   user         the beat holds bytes of the user key; user_last: its last beat
//   user_bytes   length of the user key
//   value_bytes  length of the value
`define CU_EVENT_T(ValueBytes) \
  struct packed { \
    logic                                head; \
    logic                                key; \
    logic                                value; \
    logic                                fault; \
    logic                                block_end; \
    logic                                eos; \
    logic                                head_parity; \
    logic [(ValueBytes)*8-1:0]           data; \
    logic                                parity; \
    logic [$clog2((ValueBytes) + 1)-1:0] bytes; \
    logic                                first; \
    logic                                last; \
    logic [$clog2((ValueBytes) + 1)-1:0] shared; \
    logic [$clog2((ValueBytes) + 1)-1:0] span; \
    logic                                user; \
    logic                                user_last; \
    logic [15:0]                         user_bytes; \
    logic [31:0]                         value_bytes; \
  }

// Parser to the checker of blocks, with the event block_end: bytes of the block without its
// trailer, bytes from the restart array to the block's end, and whether the first restart is 0.
`define CU_BLOCK_END_T \
  struct packed { \
    logic [31:0] restart_bytes; \
    logic        restart_zero; \
  }

// A beat of a user key: its bytes, zero-padded; how many are valid (ValueBytes unless last, 0 for
// an empty key). eos, with last, ends the stream and is no key.
`define CU_KEY_BEAT_T(ValueBytes) \
  struct packed { \
    logic [(ValueBytes)*8-1:0]           data; \
    logic [$clog2((ValueBytes) + 1)-1:0] bytes; \
    logic                                last; \
    logic                                eos; \
  }

// Decoders to merge tree: user keys. Valid with last: the trailer, and the parity of key, trailer
// and the last beat's `bytes`.
`define CU_KEY_T(ValueBytes) \
  struct packed { \
    logic [(ValueBytes)*8-1:0]           data; \
    logic [$clog2((ValueBytes) + 1)-1:0] bytes; \
    logic                                last; \
    logic                                eos; \
    logic [63:0]                         trailer; \
    logic                                parity; \
  }

// Within the tree and from it to the visibility filter: the same, and the way, valid with last.
`define CU_MERGED_KEY_T(ValueBytes, Ways) \
  struct packed { \
    logic [(ValueBytes)*8-1:0]                    data; \
    logic [$clog2((ValueBytes) + 1)-1:0]          bytes; \
    logic                                         last; \
    logic                                         eos; \
    logic [63:0]                                  trailer; \
    logic                                         parity; \
    logic [(((Ways) > 1) ? $clog2(Ways) : 1)-1:0] way; \
  }

// Visibility filter to transfer: one per record in merged order, and one with eos. `shared` is the
// common prefix with the previous kept user key, `tag` that of cu_tag_pkg but for the lengths.
`define CU_VERDICT_T(Ways) \
  struct packed { \
    logic                                         eos; \
    logic [(((Ways) > 1) ? $clog2(Ways) : 1)-1:0] way; \
    logic                                         in_range; \
    logic                                         keep; \
    logic                                         tombstone; \
    logic [15:0]                                  user_bytes; \
    logic [15:0]                                  shared; \
    logic [63:0]                                  trailer; \
    logic [15:0]                                  tag; \
  }

// Transfer to entry encoder: one per kept record, and one with eos.
`define CU_RECORD_T \
  struct packed { \
    logic        eos; \
    logic        tombstone; \
    logic [15:0] user_bytes; \
    logic [15:0] shared; \
    logic [63:0] trailer; \
    logic [31:0] value_bytes; \
  }

// Encoders, packers, sealers, write engines: 0 to Bytes left-justified bytes, the rest zero, but for
// what stands behind a sealer's trailer. A block (after sealing: a table) ends with `last`. Token: 0
// none, 1 table end, 2 task end.
`define CU_CHUNK_T(Bytes) \
  struct packed { \
    logic [(Bytes)*8-1:0]           data; \
    logic [$clog2((Bytes) + 1)-1:0] bytes; \
    logic                           last; \
    logic [1:0]                     token; \
  }

// Entry encoder to index encoder: beats of the last user key of each block; user_bytes and trailer
// are those of the whole key.
`define CU_LAST_KEY_T(ValueBytes) \
  struct packed { \
    logic [(ValueBytes)*8-1:0] data; \
    logic                      last; \
    logic [15:0]               user_bytes; \
    logic [63:0]               trailer; \
  }

// Keys of data blocks to their filters: beats of the user keys of all records of a block, then one
// with block_end, which is no key; after the last block one with task_end. user_bytes is that of
// the whole key, in each of its beats.
`define CU_FILTER_KEY_T(ValueBytes) \
  struct packed { \
    logic [(ValueBytes)*8-1:0] data; \
    logic                      last; \
    logic [15:0]               user_bytes; \
    logic                      block_end; \
    logic                      task_end; \
  }

// Entry encoder to index encoder: one per table, after its last key, and one with task_end.
`define CU_TABLE_RECORD_T \
  struct packed { \
    logic        task_end; \
    logic [63:0] entries; \
    logic [63:0] tombstones; \
  }

`endif
