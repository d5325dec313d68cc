// Tables between file and device: the same blocks and entries with other compression, and the rest
// of a table around blocks that an executor made.
//
// Devices that take raw blocks only are fed through RecodeTable(..., kNone); what any executor
// writes (MergeOutput) goes to disk through RecodeBlocks, compressed if wanted, and FinishTable.
// All check each block's checksum on the way. Errors say the offset in what was given; the caller adds
// which table it was. Thread-safe.

#pragma once

#include <string>
#include <string_view>

#include "sluice/env.h"
#include "table/block_sum.h"
#include "table/codec.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

struct RecodedTable {
  std::string image;  // data blocks, then the index block, uncompressed; each with its trailer
  BlockHandle index;  // in image

  std::string_view data() const { return std::string_view(image).substr(0, index.offset); }
  // With trailer.
  std::string_view index_block() const { return std::string_view(image).substr(index.offset); }
};

// Copies the table whose index stands at `index` of `image`, block by block in index order. Blocks
// become raw (kNone), or compressed where that saves an eighth (one compressed so already is left as
// it is). Index keys stay the same. `dictionary`: that of the table; the new one has none.
// `sum`: of its data blocks, and of those of the new one.
Status RecodeTable(std::string_view image, const BlockHandle& index, Compression to,
                   RecodedTable* out, const ZstdDictionary* dictionary = nullptr,
                   const BlockSum& sum = {});

// The same for a table whose index block, with trailer, stands apart from its data.
Status RecodeBlocks(std::string_view data, std::string_view index_block, Compression to,
                    RecodedTable* out);

struct FinishOptions {
  int bloom_bits_per_key = 0;                    // 0: no filter, and the data is not even looked at
  Compression compression = Compression::kNone;  // of index and metaindex
};

// Writes the table file that `data` (data blocks with trailers, to stand at the start of the file)
// and `index_block` (with trailer) make, adding filter, metaindex and footer. Neither syncs nor
// closes `file`, which is empty so far.
Status FinishTable(std::string_view data, std::string_view index_block,
                   const FinishOptions& options, WritableFile* file);

}  // namespace sluice
