#include "tree/data_dir.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <random>
#include <string_view>
#include <vector>

#include "util/crc32c.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "sluice 3 ";
constexpr std::array<std::string_view, 3> kStates = {"creating", "whole", "destroying"};
constexpr size_t kIdDigits = 32;

std::string Encode(const DirIdentity& identity) {
  std::string text = fmt::format("{}{} {} {} ", kMagic, identity.database, identity.number,
                                 kStates.at(static_cast<size_t>(identity.state)));
  text += fmt::format("{:08x}\n", Crc32c(text));
  return text;
}

// Accepts what Encode makes, and nothing else.
bool Decode(std::string_view text, DirIdentity* identity) {
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + kIdDigits + 1) {
    return false;
  }
  identity->database = text.substr(kMagic.size(), kIdDigits);
  const char* const number = text.data() + kMagic.size() + kIdDigits + 1;
  std::from_chars(number, text.data() + text.size(), identity->number);
  for (size_t state = 0; state < kStates.size(); ++state) {
    identity->state = DirIdentity::State{static_cast<int>(state)};
    if (text == Encode(*identity)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string NewDatabaseId() {
  std::random_device random;
  std::string id;
  while (id.size() < kIdDigits) {
    id += fmt::format("{:08x}", static_cast<uint32_t>(random()));
  }
  return id;
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
  return Decode(text, identity) ? Status()
                                : Status::Corruption(fmt::format(
                                      "{}: expected \"{}DATABASE NUMBER STATE CRC\", found \"{}\"",
                                      path, kMagic, std::string_view(text).substr(0, 80)));
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
