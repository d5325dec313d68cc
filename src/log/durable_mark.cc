#include "log/durable_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

namespace {

constexpr size_t kSlots = 2;
constexpr size_t kSlotBytes = 512;  // what a disk writes whole or not at all

std::string PathIn(const std::string& dir) { return fmt::format("{}/{}", dir, kDurableMarkName); }

std::string EncodeSlot(LogPosition position) {
  std::string slot;
  PutFixed64(&slot, position);
  std::string crc;
  PutFixed32(&crc, MaskCrc(Crc32c(slot)));
  slot.insert(0, crc);
  slot.resize(kSlotBytes);
  return slot;
}

}  // namespace

Status DurableMark::Read(Env* env, const std::string& dir, LogPosition* position) {
  *position = 0;
  std::string contents;
  if (const Status status = env->ReadFile(PathIn(dir), &contents); !status.ok()) {
    return status.IsNotFound() ? Status() : status;
  }
  for (size_t at = 0; at + kSlotBytes <= contents.size(); at += kSlotBytes) {
    const LogPosition said = DecodeFixed64(contents.data() + at + 4);
    if (EncodeSlot(said) == contents.substr(at, kSlotBytes)) {
      *position = std::max(*position, said);
    }
  }
  return {};
}

Status DurableMark::Open(Env* env, const std::string& dir, std::unique_ptr<DurableMark>* mark) {
  std::unique_ptr<DataFile> file;
  SLUICE_RETURN_IF_ERROR(env->NewDataFile(PathIn(dir), &file));
  mark->reset(new DurableMark(std::move(file)));
  return {};
}

Status DurableMark::Set(LogPosition position) {
  const size_t slot = std::exchange(slot_, (slot_ + 1) % kSlots);
  return file_->Write(slot * kSlotBytes, EncodeSlot(position));
}

}  // namespace sluice
