#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sluice/executor.h"
#include "table/internal_key.h"
#include "util/coding.h"

namespace sluice {

namespace {

uint64_t FoldOf(std::string_view bytes) {
  std::array<uint64_t, 8> lanes{};
  while (bytes.size() >= sizeof(lanes)) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] ^= DecodeFixed64(bytes.data() + 8 * i);
    }
    bytes.remove_prefix(sizeof(lanes));
  }
  for (size_t i = 0; !bytes.empty(); ++i) {
    uint64_t word = 0;
    const size_t n = std::min<size_t>(8, bytes.size());
    std::memcpy(&word, bytes.data(), n);
    lanes[i] ^= word;
    bytes.remove_prefix(n);
  }
  uint64_t fold = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    fold ^= std::rotl(lanes[i], static_cast<int>(11 * i));
  }
  return fold;
}

constexpr std::array<std::string_view, kMergeStatuses> kNames = {
    "ok",          "bad_descriptor", "index_checksum", "index_corrupt",
    "bad_handle",  "block_checksum", "block_type",     "block_corrupt",
    "record_type", "key_too_long",   "value_too_long", "unsorted",
    "data_full",   "index_full",     "limit",          "read_error",
    "write_error", "end_to_end",     "sink",           "device",
};
constexpr std::array<std::string_view, kMergeStatuses> kTexts = {
    "merged",
    "the job descriptor is misaligned, or asks for what the unit is not built for",
    "index block checksum mismatch",
    "malformed index block",
    "index entry that points outside its table, or back into what the one before names",
    "data block checksum mismatch",
    "data block compressed in a way that is not understood here",
    "malformed data block",
    "record of an unknown type",
    "key longer than the limit",
    "value longer than the limit",
    "keys out of order within a run",
    "output area for data blocks is full",
    "output area for index blocks is full",
    "more restarts in a block, blocks in a table, or filters than there is room for",
    "memory answered a read with an error",
    "memory answered a write with an error",
    "records that left are not the records that entered",
    "the finished tables could not be handed over",
    "the device did not answer as it must",
};

}  // namespace

std::string_view MergeStatusName(MergeStatus status) {
  return kNames.at(static_cast<size_t>(status));
}
std::string_view MergeStatusText(MergeStatus status) {
  return kTexts.at(static_cast<size_t>(status));
}

Status CheckTask(const MergeTask& task) {
  if (task.restart_interval == 0) {
    return Status::InvalidArgument("a restart interval of 0 entries");
  }
  const std::vector<SequenceNumber>& snapshots = task.snapshots;
  if (snapshots.empty() ||
      !std::is_sorted(snapshots.begin(), snapshots.end(), std::less_equal<>())) {
    return Status::InvalidArgument("snapshots that do not ascend, or none");
  }
  if (snapshots.back() > kMaxSequence) {
    return Status::InvalidArgument("a snapshot above all sequence numbers");
  }
  if (task.bloom_bits_per_key > kMaxMergeBloomBits) {
    return Status::InvalidArgument(
        fmt::format("filters of {} bits per key", task.bloom_bits_per_key));
  }
  return {};
}

uint64_t ShadowedFrom(const std::vector<SequenceNumber>& snapshots, uint64_t trailer) {
  const auto sees = std::lower_bound(snapshots.begin(), snapshots.end(), TrailerSequence(trailer));
  return sees == snapshots.end()     ? UINT64_MAX
         : sees == snapshots.begin() ? 0
                                     : MakeTrailer(sees[-1] + 1, RecordType{0});
}

Status CheckBalance(const MergeStats& s) {
  if (s.input_records == s.output_records + s.dropped_records &&
      s.input_checksum == s.output_checksum + s.dropped_checksum &&
      s.dropped_shadowed + s.dropped_tombstones <= s.dropped_records) {
    return {};
  }
  return Status::IoError(fmt::format(
      "{} records in, {} out, {} dropped ({} shadowed, {} tombstones); checksums {:016x}, {:016x}, "
      "{:016x}",
      s.input_records, s.output_records, s.dropped_records, s.dropped_shadowed,
      s.dropped_tombstones, s.input_checksum, s.output_checksum, s.dropped_checksum));
}

bool SameFault(const MergeResult& a, const MergeResult& b) {
  using enum MergeStatus;
  constexpr std::array kWithinABlock = {kBlockType,  kBlockCorrupt, kRecordType,
                                        kKeyTooLong, kValueTooLong, kUnsorted};
  const auto within = [&](MergeStatus status) {
    return std::find(kWithinABlock.begin(), kWithinABlock.end(), status) != kWithinABlock.end();
  };
  return a.status == b.status || (within(a.status) && within(b.status) && a.fault == b.fault);
}

uint64_t RecordChecksum(std::string_view user_key, uint64_t trailer, std::string_view value) {
  const uint64_t lengths = (user_key.size() + kTrailerBytes) << 32 | value.size();
  return FoldOf(user_key) ^ std::rotl(trailer, 3) ^ std::rotl(FoldOf(value), 5) ^ lengths;
}

}  // namespace sluice
