#include "expected.h"

#include <fmt/format.h>

#include "sluice/env.h"
#include "util/coding.h"
#include "util/files.h"

namespace sluice::demo {

namespace {

constexpr std::string_view kMagic = "SLUICEX1";

bool TakeEntry(std::string_view* in, std::string* key, ExpectedValue* value) {
  if (in->empty()) {
    return false;
  }
  value->live = in->front() != 0;
  in->remove_prefix(1);
  std::string_view bytes;
  if (!GetLengthPrefixed(in, &bytes) || in->size() < 12) {
    return false;
  }
  *key = bytes;
  value->bytes = DecodeFixed32(in->data());
  value->hash = DecodeFixed64(in->data() + 4);
  in->remove_prefix(12);
  return true;
}

}  // namespace

uint64_t HashValue(std::string_view value) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : value) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  }
  return hash;
}

Status WriteExpected(const std::string& path, const Expected& expected) {
  std::string out(kMagic);
  PutFixed64(&out, expected.size());
  for (const auto& [key, value] : expected) {
    out.push_back(value.live ? 1 : 0);
    PutLengthPrefixed(&out, key);
    PutFixed32(&out, value.bytes);
    PutFixed64(&out, value.hash);
  }
  return WriteFileSynced(Env::Posix(), path, out);
}

Status ReadExpected(const std::string& path, Expected* expected) {
  expected->clear();
  std::string contents;
  SLUICE_RETURN_IF_ERROR(Env::Posix()->ReadFile(path, &contents));
  std::string_view in = contents;
  if (!in.starts_with(kMagic) || in.size() < kMagic.size() + 8) {
    return Status::Corruption(fmt::format("{}: not a record of a demo database", path));
  }
  const uint64_t count = DecodeFixed64(in.data() + kMagic.size());
  in.remove_prefix(kMagic.size() + 8);
  std::string key;
  ExpectedValue value;
  while (TakeEntry(&in, &key, &value)) {
    expected->emplace_hint(expected->end(), key, value);
  }
  if (!in.empty() || expected->size() != count) {
    return Status::Corruption(
        fmt::format("{}, offset {}: cut off or damaged", path, contents.size() - in.size()));
  }
  return {};
}

}  // namespace sluice::demo
