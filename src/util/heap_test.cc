#include "util/heap.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>
#include <vector>

namespace sluice {
namespace {

// What malloc has from the kernel, in all arenas; under a sanitizer, whose malloc does not say, 0.
size_t HeapBytes() { return ::mallinfo2().arena; }

TEST(HeapTest, TakesMemoryForManyAllocationsAtOnce) {
  constexpr int kPieces = 1000;
  constexpr size_t kPieceBytes = 4200;
  std::thread([] {
    std::vector<void*> pieces;
    pieces.reserve(kPieces);
    size_t bytes = HeapBytes();
    int grown = 0;
    for (int i = 0; i < kPieces; ++i) {
      pieces.push_back(MallocAhead(kPieceBytes));
      ASSERT_NE(pieces.back(), nullptr);
      grown += HeapBytes() != bytes ? 1 : 0;
      bytes = HeapBytes();
    }
    EXPECT_LE(grown, 100);  // 34 are enough for so many; malloc would do it 1000 times
    for (void* const piece : pieces) {
      std::free(piece);
    }
  }).join();
}

}  // namespace
}  // namespace sluice
