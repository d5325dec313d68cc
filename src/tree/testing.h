// Extents of given records, for tests.

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "table/block_builder.h"
#include "table/testing.h"
#include "tree/extent_builder.h"
#include "tree/extent_space.h"
#include "tree/extent_writer.h"

namespace sluice {

// Records by block, none empty.
using TestBlocks = std::vector<std::vector<TestEntry>>;

// An extent of these blocks; its number is taken from `*next_number`.
inline Extent WriteTestExtent(const TestBlocks& blocks, ExtentSpace* space,
                              std::atomic<uint64_t>* next_number, const ExtentFormat& format = {}) {
  ExtentWriter writer(space, 0, next_number);
  ExtentBuilder builder(
      format, [&](BuiltExtent* built) { return writer.Write(built, writer.TakeNumber()); });
  for (const std::vector<TestEntry>& entries : blocks) {
    BlockBuilder block(4);
    for (const TestEntry& entry : entries) {
      block.Add(entry.key, entry.value);
    }
    EXPECT_TRUE(builder.AddBlock(block.Finish()).ok());
  }
  EXPECT_TRUE(builder.EndExtent().ok());
  std::vector<Extent> extents;
  EXPECT_TRUE(writer.Finish(&extents).ok());
  return extents.at(0);
}

}  // namespace sluice
