// Checks everything that can be checked about a table.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

struct TableReport {
  uint64_t file_bytes = 0;
  uint64_t data_blocks = 0;
  uint64_t compressed_blocks = 0;  // of these
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  uint64_t references = 0;  // to values kept elsewhere; LevelDB has none
  uint64_t key_bytes = 0;   // of internal keys
  uint64_t value_bytes = 0;
  std::string smallest;  // internal keys; empty if there are no entries
  std::string largest;
  std::string filter_name;  // as the metaindex has it; empty if there is none
};

// Told how many bytes of the total are checked.
using VerifyProgress = std::function<void(uint64_t done, uint64_t total)>;

// Ok if all of this holds; otherwise an error that names the file, the offset and the fault:
//  * footer: magic; both handles lie in the file; nothing but their plain encoding and zeros;
//  * every block, those that the metaindex names too: its CRC; its compression is known and its
//    contents decompress; none overlaps another;
//  * blocks of entries: entries tile them; restarts are ascending, at entries that share nothing;
//  * data blocks: not empty; keys are internal keys of a known type, strictly ascending throughout
//    the table;
//  * index: one well-formed handle per block; its key is not before the block's last key and
//    before the next block's first;
//  * metaindex: names strictly ascending; Bloom filter: well-formed, matches every key;
//  * parts of an extent's head: well-formed, name the blocks that the index does, with the same keys;
//    their filters match every key.
// `report` may be null, and is filled in as far as the check came. `progress`, which may be null,
// is told of each data block.
Status VerifyTable(Env* env, const std::string& path, TableReport* report,
                   const VerifyProgress& progress = nullptr);

// The same for a file's bytes in memory.
Status VerifyTableImage(std::string_view image, const std::string& name, TableReport* report);

}  // namespace sluice
