#include "merge/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sluice {

namespace {

uint64_t Fold(std::string_view bytes) {
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

}  // namespace

Status CheckTask(const MergeTask& task) {
  if (task.restart_interval == 0) {
    return Status::InvalidArgument("a restart interval of 0 entries");
  }
  const std::vector<SequenceNumber>& snapshots = task.snapshots;
  if (snapshots.empty() ||
      !std::is_sorted(snapshots.begin(), snapshots.end(), std::less_equal<>())) {
    return Status::InvalidArgument("snapshots that do not ascend, or none");
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
  using enum abi::MergeStatus;
  constexpr std::array kWithinABlock = {kBlockType,  kBlockCorrupt, kRecordType,
                                        kKeyTooLong, kValueTooLong, kUnsorted};
  const auto within = [&](abi::MergeStatus status) {
    return std::find(kWithinABlock.begin(), kWithinABlock.end(), status) != kWithinABlock.end();
  };
  return a.status == b.status || (within(a.status) && within(b.status) && a.fault == b.fault);
}

uint64_t RecordChecksum(std::string_view user_key, uint64_t trailer, std::string_view value) {
  const uint64_t lengths = (user_key.size() + kTrailerBytes) << 32 | value.size();
  return Fold(user_key) ^ std::rotl(trailer, 3) ^ std::rotl(Fold(value), 5) ^ lengths;
}

}  // namespace sluice
