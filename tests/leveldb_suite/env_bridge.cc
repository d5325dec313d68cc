#include "env_bridge.h"

#include <leveldb/slice.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "journal.h"
#include "status_bridge.h"

namespace sluice {

namespace {

constexpr std::string_view kDraftSuffix = ".tmp";

leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// A path of Sluice's as LevelDB's tests know it.
struct Place {
  std::string path;
  std::string draft;  // a file that is there while the name ends in .tmp; empty: has no drafts
  bool is_draft = false;
  bool is_journal = false;
};

bool IsSubdir(std::string_view name) { return name == "log" || name == "meta"; }

std::pair<std::string, std::string> Split(const std::string& path) {
  const size_t slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

Place Locate(const std::string& path) {
  auto [dir, name] = Split(path);
  const auto [root, subdir] = Split(dir);
  Place place;
  if (!IsSubdir(subdir)) {
    if (name.ends_with(".data")) {
      name.replace(name.size() - 5, 5, ".ldb");
      place.is_journal = true;
    }
    place.is_journal |= name.starts_with("RESERVE");
    place.path = dir + "/" + name;
    return place;
  }
  place.is_journal = true;
  if (name == "durable") {
    place.path = root + "/" + subdir + "-durable";
    return place;
  }
  if (name.ends_with(kDraftSuffix)) {
    name.resize(name.size() - kDraftSuffix.size());
    place.is_draft = true;
  }
  const std::string number = name.substr(0, name.find('.'));
  place.path = root + "/" + (subdir == "log" ? number + ".log" : "MANIFEST-" + number);
  place.draft = root + "/" + (subdir == "log" ? number : "MANIFEST-" + number) + ".draft";
  return place;
}

// The directory of LevelDB's that has the names in `dir`.
std::string LocateDir(const std::string& dir) {
  const auto [root, subdir] = Split(dir);
  return IsSubdir(subdir) ? root : dir;
}

// What a file of LevelDB's is called in Sluice's directory `subdir` (empty: the database's own), or
// "" if it is not there. `names`: all that there are.
std::string NameIn(const std::string& subdir, const std::string& name,
                   const std::vector<std::string>& names) {
  const bool is_manifest = name.starts_with("MANIFEST-");
  const bool is_segment = name.ends_with(".log");
  if (name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.ends_with(".draft")) {
    return "";
  }
  if (name.ends_with("-durable")) {
    return name == subdir + "-durable" ? "durable" : "";
  }
  if (is_manifest || is_segment) {
    if (subdir != (is_manifest ? "meta" : "log")) {
      return "";
    }
    const std::string base = is_manifest ? name : name.substr(0, name.size() - 4);
    const bool is_draft = std::find(names.begin(), names.end(), base + ".draft") != names.end();
    return (is_manifest ? name.substr(9) : base) + ".log" +
           (is_draft ? std::string(kDraftSuffix) : "");
  }
  if (!subdir.empty()) {
    return "";
  }
  return name.ends_with(".ldb") ? name.substr(0, name.size() - 4) + ".data" : name;
}

class BridgeReservedFile final : public ReservedFile {
 public:
  explicit BridgeReservedFile(std::unique_ptr<Journal> journal) : journal_(std::move(journal)) {}

  Status Reserve(uint64_t bytes) override {
    return journal_->Append(JournalImage::kReserve, 0, bytes);
  }
  Status Write(uint64_t offset, std::string_view bytes) override {
    return journal_->Append(JournalImage::kWrite, offset, bytes.size(), bytes);
  }
  Status Sync() override { return journal_->Sync(); }

 private:
  const std::unique_ptr<Journal> journal_;
};

class BridgeDataFile final : public DataFile {
 public:
  BridgeDataFile(std::string path, std::unique_ptr<Journal> journal)
      : path_(std::move(path)), journal_(std::move(journal)) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    return journal_->Read(offset, n, out);
  }
  Status Write(uint64_t offset, std::string_view bytes) override {
    return journal_->Append(JournalImage::kWrite, offset, bytes.size(), bytes);
  }
  Status Sync() override { return journal_->Sync(); }
  Status Discard(uint64_t offset, uint64_t bytes) override {
    return journal_->Append(JournalImage::kDiscard, offset, bytes);
  }
  Status Truncate(uint64_t bytes) override {
    return journal_->Append(JournalImage::kTruncate, 0, bytes);
  }
  Status GetDiskBytes(uint64_t* bytes) const override {
    *bytes = journal_->disk_bytes();
    return {};
  }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const std::unique_ptr<Journal> journal_;
};

class BridgeRandomAccessFile final : public RandomAccessFile {
 public:
  BridgeRandomAccessFile(leveldb::Env* target, const std::string& path, JournalImage image)
      : path_(path), image_(std::move(image)), reader_(target, path) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    if (offset + n > image_.size()) {
      return Status::IoError(path_ + ": ends too early");
    }
    return reader_.Read(image_.Find(offset, offset + n), offset, n, out);
  }

 private:
  const std::string path_;
  const JournalImage image_;
  mutable JournalReader reader_;
};

class BridgeWritableFile final : public WritableFile {
 public:
  explicit BridgeWritableFile(leveldb::WritableFile* file) : file_(file) {}

  Status Append(std::string_view bytes) override {
    return FromLevelDb(file_->Append(ToSlice(bytes)));
  }
  Status Flush() override { return FromLevelDb(file_->Flush()); }
  Status Sync() override { return FromLevelDb(file_->Sync()); }
  Status Close() override { return FromLevelDb(file_->Close()); }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
};

class BridgeLock final : public FileLock {
 public:
  BridgeLock(leveldb::Env* target, leveldb::FileLock* lock) : target_(target), lock_(lock) {}
  ~BridgeLock() override { (void)target_->UnlockFile(lock_); }

 private:
  leveldb::Env* const target_;
  leveldb::FileLock* const lock_;
};

Status Missing(const std::string& path) { return Status::NotFound(path + ": missing"); }

}  // namespace

Status EnvBridge::Touch(const std::string& path) {
  leveldb::WritableFile* file;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->NewWritableFile(path, &file)));
  const std::unique_ptr<leveldb::WritableFile> owned(file);
  SLUICE_RETURN_IF_ERROR(FromLevelDb(owned->Sync()));
  return FromLevelDb(owned->Close());
}

Status EnvBridge::NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) {
  leveldb::WritableFile* made;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->NewWritableFile(Locate(path).path, &made)));
  *file = std::make_unique<BridgeWritableFile>(made);
  return {};
}

Status EnvBridge::NewReservedFile(const std::string& path, uint64_t /*most_bytes*/,
                                  std::unique_ptr<ReservedFile>* file) {
  const Place place = Locate(path);
  if (place.is_draft) {
    SLUICE_RETURN_IF_ERROR(Touch(place.draft));
  }
  auto journal = std::make_unique<Journal>(target_, place.path);
  SLUICE_RETURN_IF_ERROR(journal->Open({}, {}));
  *file = std::make_unique<BridgeReservedFile>(std::move(journal));
  return {};
}

Status EnvBridge::NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) {
  const Place place = Locate(path);
  std::string old;
  JournalImage image;
  if (target_->FileExists(place.path)) {
    SLUICE_RETURN_IF_ERROR(FromLevelDb(leveldb::ReadFileToString(target_, place.path, &old)));
    image.Parse(old);
  }
  auto journal = std::make_unique<Journal>(target_, place.path);
  SLUICE_RETURN_IF_ERROR(journal->Open(image, old));
  *file = std::make_unique<BridgeDataFile>(path, std::move(journal));
  return {};
}

Status EnvBridge::NewRandomAccessFile(const std::string& path,
                                      std::unique_ptr<RandomAccessFile>* file) {
  SLUICE_RETURN_IF_ERROR(FileExists(path));
  const Place place = Locate(path);
  std::string journal;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(leveldb::ReadFileToString(target_, place.path, &journal)));
  JournalImage image;
  image.Parse(journal);
  *file = std::make_unique<BridgeRandomAccessFile>(target_, place.path, std::move(image));
  return {};
}

Status EnvBridge::ReadFile(const std::string& path, std::string* contents) {
  SLUICE_RETURN_IF_ERROR(FileExists(path));
  const Place place = Locate(path);
  if (!place.is_journal) {
    return FromLevelDb(leveldb::ReadFileToString(target_, place.path, contents));
  }
  uint64_t bytes;
  std::unique_ptr<RandomAccessFile> file;
  SLUICE_RETURN_IF_ERROR(GetFileSize(path, &bytes));
  SLUICE_RETURN_IF_ERROR(NewRandomAccessFile(path, &file));
  contents->resize(bytes);
  return file->Read(0, bytes, contents->data());
}

Status EnvBridge::MapFile(const std::string& path, MappedFile* file) {
  const auto contents = std::make_shared<std::string>();
  SLUICE_RETURN_IF_ERROR(ReadFile(path, contents.get()));
  *file = MappedFile(*contents, contents);
  return {};
}

Status EnvBridge::GetChildren(const std::string& dir, std::vector<std::string>* names) {
  std::vector<std::string> all;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->GetChildren(LocateDir(dir), &all)));
  const std::string last = Split(dir).second;
  names->clear();
  for (const std::string& name : all) {
    const std::string ours = NameIn(IsSubdir(last) ? last : "", name, all);
    if (!ours.empty()) {
      names->push_back(ours);
    }
  }
  std::sort(names->begin(), names->end());
  return {};
}

Status EnvBridge::FileExists(const std::string& path) {
  if (IsSubdir(Split(path).second)) {
    return {};
  }
  const Place place = Locate(path);
  std::vector<std::string> names;  // of what is a directory where nothing says so
  if (!target_->FileExists(place.path) && target_->GetChildren(path, &names).ok() &&
      !names.empty()) {
    return {};
  }
  if (!target_->FileExists(place.path) ||
      (!place.draft.empty() && target_->FileExists(place.draft) != place.is_draft)) {
    return Missing(path);
  }
  return {};
}

Status EnvBridge::GetFileSize(const std::string& path, uint64_t* bytes) {
  SLUICE_RETURN_IF_ERROR(FileExists(path));
  const Place place = Locate(path);
  if (!place.is_journal) {
    return FromLevelDb(target_->GetFileSize(place.path, bytes));
  }
  std::string journal;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(leveldb::ReadFileToString(target_, place.path, &journal)));
  JournalImage image;
  image.Parse(journal);
  *bytes = image.size();
  return {};
}

Status EnvBridge::GetFileId(const std::string& path, std::string* id) {
  *id = path;
  return {};
}

Status EnvBridge::RemoveFile(const std::string& path) {
  SLUICE_RETURN_IF_ERROR(FileExists(path));
  const Place place = Locate(path);
  SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->RemoveFile(place.path)));
  return place.is_draft ? FromLevelDb(target_->RemoveFile(place.draft)) : Status();
}

Status EnvBridge::RenameFile(const std::string& from, const std::string& to) {
  SLUICE_RETURN_IF_ERROR(FileExists(from));
  const Place old = Locate(from);
  const Place place = Locate(to);
  if (old.path != place.path) {
    return FromLevelDb(target_->RenameFile(old.path, place.path));
  }
  return FromLevelDb(target_->RemoveFile(old.draft));
}

Status EnvBridge::CreateDir(const std::string& dir) {
  return IsSubdir(Split(dir).second) || target_->FileExists(dir)
             ? Status()
             : FromLevelDb(target_->CreateDir(dir));
}

Status EnvBridge::RemoveDir(const std::string& dir) {
  return IsSubdir(Split(dir).second) ? Status() : FromLevelDb(target_->RemoveDir(dir));
}

Status EnvBridge::SyncDir(const std::string& dir) {
  const std::string file = LocateDir(dir) + "/sync.draft";
  SLUICE_RETURN_IF_ERROR(Touch(file));
  return FromLevelDb(target_->RemoveFile(file));
}

Status EnvBridge::LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) {
  leveldb::FileLock* held;
  if (const leveldb::Status status = target_->LockFile(path, &held); !status.ok()) {
    return Status::Busy(status.ToString());
  }
  *lock = std::make_unique<BridgeLock>(target_, held);
  return {};
}

Status EnvBridge::LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) {
  return LockFile(path, lock);
}

}  // namespace sluice
