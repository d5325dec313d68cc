// BlockIndex: any bytes.

#include <string>

#include "fuzz/fuzz.h"
#include "table/block_builder.h"
#include "table/testing.h"
#include "tree/block_index.h"

namespace sluice::fuzz {

void RunHead(std::string_view input) {
  const ExactCopy contents(input);
  BlockIndex index;
  if (!BlockIndex::Parse(contents.view(), &index).ok()) {
    return;
  }
  for (size_t i = 0; i < index.blocks(); ++i) {
    const std::string key(index.last_key(i));
    Check(index.Find(key) <= index.blocks(), "what is found is there, or none");
    index.MayHold(i, BloomHash(UserKey(key)));
    index.PrefetchFilter(i, BloomHash(UserKey(key)));
  }
  for (const std::string_view user_key : {"", "a", "key", "a longer key than a word has bytes"}) {
    Check(index.Find(InternalKey(user_key, kMaxSequence)) <= index.blocks(),
          "what is found is there, or none");
  }
}

std::string MakeHeadSeed(Random* random) {
  BlockBuilder block(static_cast<uint32_t>(Uniform(random, 1, 16)));
  const bool filters = Uniform(random, 0, 1) != 0;
  uint64_t offset = 0;
  for (const TestEntry& entry : RandomEntries(random, {.count = SkewedSize(random, 100)})) {
    const BlockHandle handle{offset, Uniform(random, 1, 5000)};
    offset += handle.size + kBlockTrailerBytes;
    std::string value;
    handle.AppendTo(&value);
    if (filters) {
      AppendBloomFilter({BloomHash(UserKey(entry.key))}, 10, &value);
    }
    block.Add(entry.key, value);
  }
  return std::string(block.Finish());
}

}  // namespace sluice::fuzz
