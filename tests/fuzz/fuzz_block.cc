// Block and BlockIterator: any contents, any order of calls.

#include <vector>

#include "fuzz/fuzz.h"
#include "table/block.h"
#include "table/block_builder.h"
#include "table/testing.h"

namespace sluice::fuzz {

namespace {

void Walk(const Block& block, KeyKind kind) {
  const size_t most = block.entries().size() / 3 + 1;  // an entry has three bytes at least
  std::vector<TestEntry> forward;
  BlockIterator it(block, kind);
  size_t end = 0;
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    Check(forward.size() < most, "a walk ends");
    Check(it.offset() == end && it.end_offset() > end, "entries tile the block");
    end = it.end_offset();
    if (kind == KeyKind::kInternal) {
      Check(it.key().size() >= kTrailerBytes, "keys are internal keys");
    }
    forward.push_back({std::string(it.key()), std::string(it.value())});
  }
  Check(!it.status().ok() || end == block.entries().size(), "a clean walk sees everything");
  size_t steps = 0;
  for (it.SeekToLast(); it.Valid(); it.Prev()) {
    Check(++steps <= most, "a walk back ends");
  }
  if (kind == KeyKind::kPlain) {
    return;
  }
  for (size_t i = 0; i < forward.size(); i += 1 + forward.size() / 16) {
    it.Seek(forward[i].key);
    if (it.Valid()) {
      Check(CompareInternalKeys(it.key(), forward[i].key) >= 0,
            "a seek ends at or after its target");
      it.Prev();
    }
  }
}

}  // namespace

void RunBlock(std::string_view input) {
  const ExactCopy contents(input);
  Block block;
  if (Block::Parse(contents.view(), &block).ok()) {
    Walk(block, KeyKind::kInternal);
    Walk(block, KeyKind::kPlain);
  }
}

std::string MakeBlockSeed(Random* random) {
  BlockBuilder builder(static_cast<uint32_t>(1 << Uniform(random, 0, 4)));
  for (const TestEntry& entry : RandomEntries(
           random,
           {.count = SkewedSize(random, 60), .most_key_bytes = 20, .most_value_bytes = 40})) {
    builder.Add(entry.key, entry.value);
  }
  return std::string(builder.Finish());
}

}  // namespace sluice::fuzz
