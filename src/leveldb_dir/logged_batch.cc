#include "leveldb_dir/logged_batch.h"

#include <fmt/format.h>

#include "util/coding.h"

namespace sluice {

namespace {

constexpr size_t kBatchHeaderBytes = 12;

}  // namespace

Status ParseWriteBatch(std::string_view batch, std::vector<LoggedRecord>* records) {
  if (batch.size() < kBatchHeaderBytes) {
    return Status::Corruption(fmt::format("write batch of {} bytes, its header alone has {}",
                                          batch.size(), kBatchHeaderBytes));
  }
  const SequenceNumber sequence = DecodeFixed64(batch.data());
  const uint32_t count = DecodeFixed32(batch.data() + 8);
  if (sequence > kMaxSequence - count) {
    return Status::Corruption(fmt::format("write batch at sequence number {}", sequence));
  }
  std::string_view in = batch.substr(kBatchHeaderBytes);
  uint32_t found = 0;
  for (; !in.empty(); ++found) {
    const size_t at = batch.size() - in.size();
    const auto type = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    LoggedRecord record{};
    const bool is_put = type == static_cast<uint8_t>(RecordType::kValue);
    if (!is_put && type != static_cast<uint8_t>(RecordType::kDeletion)) {
      return Status::Corruption(
          fmt::format("unknown record type {} at byte {} of the write batch", type, at));
    }
    if (!GetLengthPrefixed(&in, &record.user_key) ||
        (is_put && !GetLengthPrefixed(&in, &record.value))) {
      return Status::Corruption(fmt::format("malformed record at byte {} of the write batch", at));
    }
    record.trailer = MakeTrailer(sequence + found, static_cast<RecordType>(type));
    records->push_back(record);
  }
  if (found != count) {
    return Status::Corruption(
        fmt::format("write batch of {} records claims to have {}", found, count));
  }
  return {};
}

}  // namespace sluice
