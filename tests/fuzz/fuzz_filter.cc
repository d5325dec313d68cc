// FilterBlock, BloomMayMatch and BloomBitsEstimate: any bytes.

#include "fuzz/fuzz.h"
#include "table/filter.h"
#include "table/testing.h"

namespace sluice::fuzz {

void RunFilter(std::string_view input) {
  const ExactCopy contents(input);
  BloomMayMatch(contents.view(), BloomHash(contents.view()));
  BloomBitsEstimate estimate;
  for (const uint64_t keys : {1, 10, 1000}) {
    estimate.Add(contents.view(), keys);
  }
  Check(estimate.bits_per_key() >= 0 && estimate.bits_per_key() <= 1000,
        "an estimate is plausible");
  FilterBlock block;
  if (!FilterBlock::Parse(contents.view(), &block).ok()) {
    return;
  }
  for (uint64_t shift = 0; shift < 64; ++shift) {
    for (const uint64_t offset : {uint64_t{1} << shift, (uint64_t{1} << shift) * 5 - 1}) {
      const std::string_view filter = block.FilterOf(offset);
      Check(filter.empty() ||
                (filter.data() >= contents.view().data() &&
                 filter.data() + filter.size() <= contents.view().data() + contents.view().size()),
            "a filter lies in its block");
      Check(block.KeyMayMatch(offset, "key") || block.IndexOf(offset) < block.count(),
            "no filter, no verdict");
    }
  }
}

std::string MakeFilterSeed(Random* random) {
  FilterBlockBuilder builder(static_cast<int>(Uniform(random, 1, 40)));
  uint64_t offset = 0;
  for (uint64_t blocks = SkewedSize(random, 12); blocks > 0; --blocks) {
    builder.StartBlock(offset);
    for (uint64_t keys = SkewedSize(random, 60); keys > 0; --keys) {
      builder.AddKey(std::to_string((*random)()));
    }
    offset += Uniform(random, 1, 5000);
  }
  return std::string(builder.Finish());
}

}  // namespace sluice::fuzz
