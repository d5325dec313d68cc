#include "tree/data_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <string_view>
#include <vector>

#include "util/crc32c.h"
#include "util/files.h"

namespace sluice {

namespace {

constexpr std::array<std::string_view, 3> kStates = {"creating", "whole", "destroying"};
constexpr size_t kIdDigits = 32;

std::string Encode(const DirIdentity& identity) {
  std::string text = fmt::format("{}{} {} {} ", kFormatMagic, identity.database, identity.number,
                                 kStates.at(static_cast<size_t>(identity.state)));
  if (identity.last_open != 0) {
    text += fmt::format("{:016x} {:016x} ", identity.last_open, identity.open_before);
    for (const DirIdentity::Tier& tier : identity.tiers) {
      text += fmt::format("{} {:016x} {:016x} ", tier.number, tier.last_open, tier.open_before);
    }
  }
  text += fmt::format("{:08x}\n", Crc32c(text));
  return text;
}

// Takes the text up to the next space away from it.
std::string_view NextWord(std::string_view* text) {
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(std::min(text->size(), word.size() + 1));
  return word;
}

void ParseNumber(std::string_view word, int base, uint64_t* number) {
  std::from_chars(word.data(), word.data() + word.size(), *number, base);
}

// Accepts what Encode makes, and nothing else.
bool Decode(std::string_view text, DirIdentity* identity) {
  if (!text.starts_with(kFormatMagic)) {
    return false;
  }
  std::string_view rest = text.substr(kFormatMagic.size());
  *identity = {};
  identity->database = NextWord(&rest);
  ParseNumber(NextWord(&rest), 10, &identity->number);
  const auto* const state = std::find(kStates.begin(), kStates.end(), NextWord(&rest));
  if (identity->database.size() != kIdDigits || state == kStates.end()) {
    return false;
  }
  identity->state = static_cast<DirIdentity::State>(state - kStates.begin());
  if (rest.find(' ') != std::string_view::npos) {
    ParseNumber(NextWord(&rest), 16, &identity->last_open);
    ParseNumber(NextWord(&rest), 16, &identity->open_before);
  }
  while (rest.find(' ') != std::string_view::npos) {
    DirIdentity::Tier& tier = identity->tiers.emplace_back();
    ParseNumber(NextWord(&rest), 10, &tier.number);
    ParseNumber(NextWord(&rest), 16, &tier.last_open);
    ParseNumber(NextWord(&rest), 16, &tier.open_before);
  }
  return text == Encode(*identity);
}

}  // namespace

Status CheckFormatVersion(const std::string& path, std::string_view text) {
  constexpr std::string_view kName = "sluice ";
  constexpr size_t kCrcBytes = 9;
  if (!text.starts_with(kName) || text.starts_with(kFormatMagic) || text.size() < kCrcBytes ||
      text.substr(text.size() - kCrcBytes) !=
          fmt::format("{:08x}\n", Crc32c(text.substr(0, text.size() - kCrcBytes)))) {
    return {};
  }
  return Status::NotSupported(fmt::format(
      "{}: a database of format version {}; this library reads version {}", path,
      text.substr(kName.size(), text.find(' ', kName.size()) - kName.size()), kFormatVersion));
}

std::string NewDatabaseId() {
  std::random_device random;
  std::string id;
  while (id.size() < kIdDigits) {
    id += fmt::format("{:08x}", static_cast<uint32_t>(random()));
  }
  return id;
}

uint64_t NewOpenNumber() {
  std::random_device random;
  return uint64_t{random()} << 32 | random() | 1;
}

std::string LockPath(const std::string& dir) { return dir + "/LOCK"; }
std::string IdentityPath(const std::string& dir) { return dir + "/IDENTITY"; }
std::string DataFilePath(const std::string& dir, uint64_t number) {
  return fmt::format("{}/{:06}.data", dir, number);
}

Status ReadIdentity(Env* env, const std::string& dir, DirIdentity* identity) {
  const std::string path = IdentityPath(dir);
  std::string text;
  SLUICE_RETURN_IF_ERROR(env->ReadFile(path, &text));
  SLUICE_RETURN_IF_ERROR(CheckFormatVersion(path, text));
  return Decode(text, identity) ? Status()
                                : Status::Corruption(fmt::format(
                                      "{}: expected \"{}DATABASE NUMBER STATE CRC\", found \"{}\"",
                                      path, kFormatMagic, std::string_view(text).substr(0, 80)));
}

Status WriteIdentity(Env* env, const std::string& dir, const DirIdentity& identity) {
  const std::string path = IdentityPath(dir);
  const std::string fresh = path + ".new";
  SLUICE_RETURN_IF_ERROR(WriteFileSynced(env, fresh, Encode(identity)));
  SLUICE_RETURN_IF_ERROR(env->RenameFile(fresh, path));
  return env->SyncDir(dir);
}

Status FindForeign(Env* env, const std::string& dir, std::string* name) {
  name->clear();
  std::vector<std::string> names;
  if (const Status status = env->GetChildren(dir, &names); !status.ok()) {
    return status.IsNotFound() ? Status() : status;
  }
  for (const std::string& child : names) {
    bool harmless = child == "lost+found" || child == "IDENTITY.new";
    const std::string path = fmt::format("{}/{}", dir, child);
    if (child == "LOCK") {
      uint64_t bytes;
      SLUICE_RETURN_IF_ERROR(env->GetFileSize(path, &bytes));
      harmless = bytes == 0;
    } else if (child == "meta" || child == "log") {
      std::vector<std::string> inside;
      harmless = env->GetChildren(path, &inside).ok() && inside.empty();
    }
    if (!harmless) {
      *name = child;
      return {};
    }
  }
  return {};
}

}  // namespace sluice
