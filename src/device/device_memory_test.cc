#include "device/device_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "util/testing.h"

namespace sluice {
namespace {

constexpr uint64_t kBegin = 4096;
constexpr uint64_t kEnd = 4096 * 65;

// Against a map of pages: what is given out is free, and refused is only what has no room.
TEST(DeviceMemoryTest, RandomSlots) {
  std::mt19937_64 rng(TestSeed());
  DeviceMemory memory(kBegin, kEnd);
  std::map<uint64_t, uint32_t> pages;  // that are taken, and by which slot
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto slot = static_cast<uint32_t>(rng() % 4);
    if (rng() % 4 == 0) {
      memory.Free(slot);
      std::erase_if(pages, [=](const auto& page) { return page.second == slot; });
      continue;
    }
    const uint64_t bytes = rng() % 65536;
    const uint64_t count = (bytes + 4095) / 4096;
    uint64_t address = 0;
    if (memory.Allocate(slot, bytes, &address).ok()) {
      EXPECT_EQ(address % 4096, 0u);
      EXPECT_GE(address, kBegin);
      EXPECT_LE(address + count * 4096, kEnd);
      for (uint64_t page = 0; page < count; ++page) {
        EXPECT_TRUE(pages.emplace(address + page * 4096, slot).second);
      }
      continue;
    }
    ++refused;
    uint64_t in_a_row = 0;
    for (uint64_t page = kBegin; page < kEnd; page += 4096) {
      in_a_row = pages.contains(page) ? 0 : in_a_row + 1;
      ASSERT_LT(in_a_row, count);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(DeviceMemoryTest, SizesThatNoMemoryHas) {
  DeviceMemory memory(kBegin, kEnd);
  uint64_t address = 0;
  for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 4095, kEnd - kBegin + 1}) {
    EXPECT_TRUE(memory.Allocate(0, bytes, &address).IsNotSupported());
  }
  EXPECT_TRUE(memory.Allocate(0, kEnd - kBegin, &address).ok());
}

TEST(DeviceMemoryTest, CountsWhatIsWrittenForATask) {
  DeviceMemory memory(kBegin, kEnd);
  uint64_t one = 0;
  uint64_t two = 0;
  uint64_t other = 0;
  ASSERT_TRUE(memory.Allocate(0, 100, &one).ok());
  ASSERT_TRUE(memory.Allocate(1, 100, &other).ok());
  ASSERT_TRUE(memory.Allocate(0, 5000, &two).ok());
  memory.NoteWritten(one + 7, 10);
  memory.NoteWritten(two + 4999, 1);
  memory.NoteWritten(other, 1000);
  EXPECT_EQ(memory.Written(one), 11u);
  EXPECT_EQ(memory.Written(other), 1000u);
  memory.Free(0);
  EXPECT_EQ(memory.Written(one), 0u);
}

}  // namespace
}  // namespace sluice
