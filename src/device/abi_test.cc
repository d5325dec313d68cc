// What the host calls by names of its own is what the unit means (abi/sluice.rdl).

#include <gtest/gtest.h>

#include "sluice/executor.h"
#include "sluice_abi.h"

namespace sluice {
namespace {

static_assert(kMergeStatuses == abi::kMergeStatusCount);
static_assert(kMergeStages == abi::kStallCount);
static_assert(kMaxMergeBlockBytes == abi::kBlockBytesLimit);

TEST(Abi, MergeStatuses) {
  for (size_t i = 0; i < kMergeStatuses; ++i) {
    const auto status = static_cast<MergeStatus>(i);
    EXPECT_EQ(MergeStatusName(status), abi::kMergeStatusNames[i]);
    EXPECT_EQ(MergeStatusText(status), abi::kMergeStatusTexts[i]);
  }
  // The enumerators themselves, as generated from the same names.
  const std::pair<MergeStatus, abi::MergeStatus> pairs[] = {
      {MergeStatus::kOk, abi::MergeStatus::kOk},
      {MergeStatus::kBadDescriptor, abi::MergeStatus::kBadDescriptor},
      {MergeStatus::kIndexChecksum, abi::MergeStatus::kIndexChecksum},
      {MergeStatus::kIndexCorrupt, abi::MergeStatus::kIndexCorrupt},
      {MergeStatus::kBadHandle, abi::MergeStatus::kBadHandle},
      {MergeStatus::kBlockChecksum, abi::MergeStatus::kBlockChecksum},
      {MergeStatus::kBlockType, abi::MergeStatus::kBlockType},
      {MergeStatus::kBlockCorrupt, abi::MergeStatus::kBlockCorrupt},
      {MergeStatus::kRecordType, abi::MergeStatus::kRecordType},
      {MergeStatus::kKeyTooLong, abi::MergeStatus::kKeyTooLong},
      {MergeStatus::kValueTooLong, abi::MergeStatus::kValueTooLong},
      {MergeStatus::kUnsorted, abi::MergeStatus::kUnsorted},
      {MergeStatus::kDataFull, abi::MergeStatus::kDataFull},
      {MergeStatus::kIndexFull, abi::MergeStatus::kIndexFull},
      {MergeStatus::kLimit, abi::MergeStatus::kLimit},
      {MergeStatus::kReadError, abi::MergeStatus::kReadError},
      {MergeStatus::kWriteError, abi::MergeStatus::kWriteError},
      {MergeStatus::kEndToEnd, abi::MergeStatus::kEndToEnd},
      {MergeStatus::kSink, abi::MergeStatus::kSink},
      {MergeStatus::kDevice, abi::MergeStatus::kDevice},
  };
  EXPECT_EQ(std::size(pairs), kMergeStatuses);
  for (const auto& [ours, theirs] : pairs) {
    EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
  }
}

}  // namespace
}  // namespace sluice
