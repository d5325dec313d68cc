// Writes: what may be written, and how it gets into a batch.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "db/db_impl.h"
#include "util/kept_buffer.h"
#include "util/thread_owned.h"
#include "write/batch_format.h"

namespace sluice {

namespace {

// What a write takes beside key and value, at most (batch_format.h).
constexpr size_t kMostWriteHead = kMaxVarint64Bytes + 2 * kMaxVarint32Bytes;

}  // namespace

Status DBImpl::CheckWrite(const Subtable& subtable, std::string_view key,
                          std::string_view value) const {
  if (key.size() > kMaxKeyBytes) {
    return Status::InvalidArgument(
        fmt::format("key of {} bytes; the most is {}", key.size(), kMaxKeyBytes));
  }
  if (value.size() > kMaxValueBytes) {
    return Status::InvalidArgument(
        fmt::format("value of {} bytes; the most is {}", value.size(), kMaxValueBytes));
  }
  return db_.subtables.CheckLive(static_cast<const SubtableImpl&>(subtable));
}

Status DBImpl::WriteOne(const WriteOptions& options, const BatchWrite& write) {
  thread_local ThreadOwned<std::string> kept;
  KeptBuffer batch(&*kept);
  batch->reserve(WriteTask::kHeadroom + write.key.size() + write.value.size() + kMostWriteHead);
  batch->append(WriteTask::kHeadroom, '\0');
  AppendWrite(write, &*batch);
  return writes_.Write(std::string_view(*batch).substr(WriteTask::kHeadroom), 1, options.sync,
                       batch->data());
}

Status DBImpl::Put(const WriteOptions& options, Subtable* subtable, std::string_view key,
                   std::string_view value) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, value));
  return WriteOne(options, {EntryType::kValue, target.id(), key, value});
}

Status DBImpl::Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, {}));
  return WriteOne(options, {EntryType::kDeletion, target.id(), key, {}});
}

Status DBImpl::CheckBatch(const WriteBatch& batch) {
  if (batch.bytes() > kMaxValueBytes) {
    return Status::InvalidArgument(
        fmt::format("batch of {} bytes; the most is {}", batch.bytes(), kMaxValueBytes));
  }
  std::string_view rep = batch.rep();
  const SubtableImpl* const default_subtable = db_.subtables.default_subtable();
  const SubtableImpl* subtable = default_subtable;
  for (BatchWrite write; !rep.empty();) {
    if (!ReadWrite(&rep, &write)) {
      return Status::InvalidArgument("malformed batch");
    }
    if (write.subtable != subtable->id()) {
      subtable = write.subtable == default_subtable->id() ? default_subtable
                                                          : db_.subtables.Find(write.subtable);
      if (subtable == nullptr) {
        return Status::InvalidArgument(
            fmt::format("batch writes to sub-table {}, which is not there", write.subtable));
      }
    }
    if (write.type == EntryType::kRangeDeletion) {
      SLUICE_RETURN_IF_ERROR(CheckWrite(*subtable, write.value, {}));
      write.value = {};
    }
    SLUICE_RETURN_IF_ERROR(CheckWrite(*subtable, write.key, write.value));
  }
  return {};
}

Status DBImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  if (batch.count() == 0 && !options.sync) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(CheckBatch(batch));
  return writes_.Write(batch.rep(), batch.count(), options.sync);
}

void DBImpl::WriteAsync(const WriteOptions& options, WriteBatch batch, WriteCallback callback) {
  if (const Status status = CheckBatch(batch);
      !status.ok() || (batch.count() == 0 && !options.sync)) {
    return callback(status);
  }
  const uint32_t count = batch.count();
  writes_.WriteAsync(batch.TakeRep(), count, options.sync, std::move(callback));
}

Status DBImpl::DeleteRange(const WriteOptions& options, Subtable* subtable, std::string_view begin,
                           std::string_view end) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, begin, {}));
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, end, {}));
  if (!end.empty() && begin >= end) {
    return db_.CheckWritable();
  }
  return WriteOne(options, {EntryType::kRangeDeletion, target.id(), begin, end});
}

}  // namespace sluice
