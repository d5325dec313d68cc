#include "leveldb_dir/file_names.h"

#include <fmt/format.h>

#include <charconv>

namespace sluice {

namespace {

bool TakeNumber(std::string_view* in, uint64_t* number) {
  const char* end = in->data() + in->size();
  const auto [next, error] = std::from_chars(in->data(), end, *number);
  if (error != std::errc() || next == in->data()) {
    return false;
  }
  in->remove_prefix(next - in->data());
  return true;
}

}  // namespace

std::string TableFileName(uint64_t number) { return fmt::format("{:06}.ldb", number); }
std::string OldTableFileName(uint64_t number) { return fmt::format("{:06}.sst", number); }
std::string LogFileName(uint64_t number) { return fmt::format("{:06}.log", number); }
std::string ManifestFileName(uint64_t number) { return fmt::format("MANIFEST-{:06}", number); }
std::string TemporaryFileName(uint64_t number) { return fmt::format("{:06}.dbtmp", number); }

bool ParseLevelDbFileName(std::string_view name, LevelDbFileName* out) {
  out->number = 0;
  if (name == kCurrentFile) {
    out->type = LevelDbFile::kCurrent;
  } else if (name == kLockFile) {
    out->type = LevelDbFile::kLock;
  } else if (name == "LOG" || name == "LOG.old") {
    out->type = LevelDbFile::kInfoLog;
  } else if (name.starts_with("MANIFEST-")) {
    name.remove_prefix(std::string_view("MANIFEST-").size());
    out->type = LevelDbFile::kManifest;
    return TakeNumber(&name, &out->number) && name.empty();
  } else {
    if (!TakeNumber(&name, &out->number)) {
      return false;
    }
    if (name == ".log") {
      out->type = LevelDbFile::kLog;
    } else if (name == ".ldb" || name == ".sst") {
      out->type = LevelDbFile::kTable;
    } else if (name == ".dbtmp") {
      out->type = LevelDbFile::kTemporary;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace sluice
