#include "merge/task_file.h"

#include <fmt/format.h>

#include <memory>

#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "sluicetk";
constexpr uint32_t kVersion = 4;
constexpr uint32_t kBottommost = 1;
constexpr uint32_t kHasBegin = 2;
constexpr uint32_t kHasEnd = 4;
constexpr uint32_t kCompress = 8;
constexpr uint32_t kXxh3 = 16;

// Appends to a file and keeps the CRC of all of it.
class Writer {
 public:
  explicit Writer(WritableFile* file) : file_(file) {}

  Status Append(std::string_view bytes) {
    crc_ = ExtendCrc32c(crc_, bytes);
    return file_->Append(bytes);
  }
  Status Finish() {
    std::string crc;
    PutFixed32(&crc, MaskCrc(crc_));
    SLUICE_RETURN_IF_ERROR(file_->Append(crc));
    SLUICE_RETURN_IF_ERROR(file_->Sync());
    return file_->Close();
  }

 private:
  WritableFile* const file_;
  uint32_t crc_ = 0;
};

std::string Head(const MergeTask& task, std::string_view note) {
  std::string head(kMagic);
  PutFixed32(&head, kVersion);
  PutLengthPrefixed(&head, note);
  PutFixed32(&head, (task.bottommost ? kBottommost : 0) | (task.has_begin ? kHasBegin : 0) |
                        (task.has_end ? kHasEnd : 0) | (task.compress ? kCompress : 0) |
                        (task.checksum == BlockChecksum::kXxh3 ? kXxh3 : 0));
  PutFixed32(&head, task.block_bytes);
  PutFixed32(&head, task.restart_interval);
  PutFixed32(&head, task.bloom_bits_per_key);
  PutFixed32(&head, task.checksum_base);
  PutFixed64(&head, task.table_bytes);
  PutFixed32(&head, static_cast<uint32_t>(task.snapshots.size()));
  for (const SequenceNumber snapshot : task.snapshots) {
    PutFixed64(&head, snapshot);
  }
  PutLengthPrefixed(&head, task.begin);
  PutLengthPrefixed(&head, task.end);
  PutFixed32(&head, static_cast<uint32_t>(task.runs.size()));
  return head;
}

bool Get(std::string_view* in, size_t n, std::string_view* out) {
  if (in->size() < n) {
    return false;
  }
  *out = in->substr(0, n);
  in->remove_prefix(n);
  return true;
}

bool GetFixed32(std::string_view* in, uint32_t* value) {
  std::string_view bytes;
  if (!Get(in, sizeof(*value), &bytes)) {
    return false;
  }
  *value = DecodeFixed32(bytes.data());
  return true;
}

bool GetFixed64(std::string_view* in, uint64_t* value) {
  std::string_view bytes;
  if (!Get(in, sizeof(*value), &bytes)) {
    return false;
  }
  *value = DecodeFixed64(bytes.data());
  return true;
}

bool GetSnapshots(std::string_view* in, std::vector<SequenceNumber>* snapshots) {
  snapshots->clear();
  uint32_t count;
  if (!GetFixed32(in, &count)) {
    return false;
  }
  for (SequenceNumber snapshot; count > 0 && GetFixed64(in, &snapshot); --count) {
    snapshots->push_back(snapshot);
  }
  return count == 0;
}

bool ParseHead(std::string_view* in, TaskFile* out, uint32_t* runs) {
  MergeTask& task = out->task;
  std::string_view note;
  std::string_view begin;
  std::string_view end;
  uint32_t flags;
  if (!GetLengthPrefixed(in, &note) || !GetFixed32(in, &flags) ||
      !GetFixed32(in, &task.block_bytes) || !GetFixed32(in, &task.restart_interval) ||
      !GetFixed32(in, &task.bloom_bits_per_key) || !GetFixed32(in, &task.checksum_base) ||
      !GetFixed64(in, &task.table_bytes) || !GetSnapshots(in, &task.snapshots) ||
      !GetLengthPrefixed(in, &begin) || !GetLengthPrefixed(in, &end) || !GetFixed32(in, runs)) {
    return false;
  }
  out->note = note;
  task.bottommost = (flags & kBottommost) != 0;
  task.has_begin = (flags & kHasBegin) != 0;
  task.has_end = (flags & kHasEnd) != 0;
  task.compress = (flags & kCompress) != 0;
  task.checksum = (flags & kXxh3) != 0 ? BlockChecksum::kXxh3 : BlockChecksum::kCrc32c;
  task.begin = begin;
  task.end = end;
  return true;
}

bool ParseTable(std::string_view* in, MergeTable* table) {
  uint64_t image_bytes;
  return GetFixed64(in, &table->index.offset) && GetFixed64(in, &table->index.size) &&
         GetFixed32(in, &table->checksum_base) && GetFixed64(in, &image_bytes) &&
         Get(in, image_bytes, &table->image);
}

bool ParseBody(std::string_view in, TaskFile* out) {
  uint32_t runs;
  if (!ParseHead(&in, out, &runs)) {
    return false;
  }
  for (; runs > 0; --runs) {
    MergeRun& run = out->task.runs.emplace_back();
    uint32_t tables;
    if (!GetFixed32(&in, &tables)) {
      return false;
    }
    for (; tables > 0; --tables) {
      if (!ParseTable(&in, &run.emplace_back())) {
        return false;
      }
    }
  }
  return in.empty();
}

}  // namespace

Status WriteTaskFile(Env* env, const std::string& path, const MergeTask& task,
                     std::string_view note) {
  std::unique_ptr<WritableFile> file;
  SLUICE_RETURN_IF_ERROR(env->NewWritableFile(path, &file));
  Writer writer(file.get());
  SLUICE_RETURN_IF_ERROR(writer.Append(Head(task, note)));
  for (const MergeRun& run : task.runs) {
    std::string head;
    PutFixed32(&head, static_cast<uint32_t>(run.size()));
    SLUICE_RETURN_IF_ERROR(writer.Append(head));
    for (const MergeTable& table : run) {
      head.clear();
      PutFixed64(&head, table.index.offset);
      PutFixed64(&head, table.index.size);
      PutFixed32(&head, table.checksum_base);
      PutFixed64(&head, table.image.size());
      SLUICE_RETURN_IF_ERROR(writer.Append(head));
      SLUICE_RETURN_IF_ERROR(writer.Append(table.image));
    }
  }
  return writer.Finish();
}

Status ReadTaskFile(Env* env, const std::string& path, TaskFile* out) {
  *out = {};
  SLUICE_RETURN_IF_ERROR(env->MapFile(path, &out->file));
  std::string_view in = out->file.bytes();
  if (!in.starts_with(kMagic) || in.size() < kMagic.size() + 2 * sizeof(uint32_t)) {
    return Status::Corruption(fmt::format("{}: not a merge task", path));
  }
  const uint32_t version = DecodeFixed32(in.data() + kMagic.size());
  if (version != kVersion) {
    return Status::NotSupported(
        fmt::format("{}: merge task of version {}, not {}", path, version, kVersion));
  }
  const uint32_t stored = DecodeFixed32(in.data() + in.size() - sizeof(uint32_t));
  in.remove_suffix(sizeof(uint32_t));
  if (UnmaskCrc(stored) != Crc32c(in)) {
    return Status::Corruption(fmt::format("{}: checksum mismatch", path));
  }
  in.remove_prefix(kMagic.size() + sizeof(uint32_t));
  if (!ParseBody(in, out)) {
    return Status::Corruption(fmt::format("{}: malformed", path));
  }
  return {};
}

}  // namespace sluice
