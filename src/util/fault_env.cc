#include "util/fault_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "util/fault_inode.h"
#include "util/files.h"

namespace sluice {

namespace {

constexpr int kWriter = -1;  // holds a lock; else so many readers do

// "a/b" of "a/./b/" and "a//b".
std::string OneSpelling(const std::string& path) {
  std::string spelling = std::filesystem::path(path).lexically_normal();
  if (spelling.size() > 1 && spelling.back() == '/') {
    spelling.pop_back();
  }
  return spelling;
}

}  // namespace

bool FaultEnv::Change::Touches(const std::string& dir) const {
  return std::any_of(bindings.begin(), bindings.end(),
                     [&](const auto& binding) { return DirName(binding.first) == dir; });
}

void FaultEnv::Change::ApplyTo(Names* names) const {
  for (const auto& [name, inode] : bindings) {
    if (inode != nullptr) {
      (*names)[name] = inode;
    } else {
      names->erase(name);
    }
  }
}

class FaultEnv::Lock : public FileLock {
 public:
  Lock(FaultEnv* env, std::string path) : env_(env), path_(std::move(path)) {}
  ~Lock() override {
    const MutexLock guard(env_->mutex_);
    const auto held = env_->locked_.find(path_);
    if (held != env_->locked_.end() && --held->second <= 0) {
      env_->locked_.erase(held);
    }
  }

 private:
  FaultEnv* const env_;
  const std::string path_;
};

FaultEnv::FaultEnv(const FileImage& files) {
  for (const auto& [path, data] : files) {
    auto inode = std::make_shared<Inode>();
    inode->data = data;
    inode->flushed = inode->synced = data.size();
    durable_[path] = std::move(inode);
    dirs_.insert(DirName(path));
  }
  names_ = durable_;
}

FaultEnv::~FaultEnv() = default;

void FaultEnv::CrashAt(uint64_t operation, uint64_t seed) {
  const MutexLock guard(mutex_);
  crash_at_ = operation;
  tear_seed_ = seed;
}

void FaultEnv::FailAt(uint64_t operation, int error, uint64_t seed) {
  const MutexLock guard(mutex_);
  failing_operation_ = {operation, error, seed};
}

void FaultEnv::FillUp(uint64_t from, uint64_t to, uint64_t seed) {
  const MutexLock guard(mutex_);
  full_from_ = from;
  full_to_ = to;
  full_seed_ = seed;
  given_back_ = 0;
}

void FaultEnv::FailReadAt(uint64_t read, int error, uint64_t seed) {
  const MutexLock guard(mutex_);
  failing_read_ = {read, error, seed};
}

uint64_t FaultEnv::reads() const {
  const MutexLock guard(mutex_);
  return reads_;
}

std::string FaultEnv::failure() const {
  const MutexLock guard(mutex_);
  return failure_;
}

uint64_t FaultEnv::operations() const {
  const MutexLock guard(mutex_);
  return operations_;
}

bool FaultEnv::crashed() const {
  const MutexLock guard(mutex_);
  return crashed_;
}

void FaultEnv::Restart(uint64_t seed) {
  const MutexLock guard(mutex_);
  TestRandom random(seed);
  for (const auto& [name, inode] : names_) {
    inode->data = inode->AfterKill(&random);
    inode->flushed = inode->data.size();
  }
  locked_.clear();
  failure_.clear();
  crashed_ = false;
  crash_at_ = ~uint64_t{0};
}

FileImage FaultEnv::Survivors(CrashKind kind, uint64_t seed) const {
  const MutexLock guard(mutex_);
  TestRandom random(seed);
  Names names = names_;
  if (kind == CrashKind::kPower) {
    names = durable_;
    // None of them, all of them, or each by the toss of a coin.
    const uint64_t mode = Uniform(&random, 0, 3);
    for (const Change& change : pending_) {
      if (mode == 1 || (mode >= 2 && Uniform(&random, 0, 1) != 0)) {
        change.ApplyTo(&names);
      }
    }
  }
  FileImage files;
  for (const auto& [name, inode] : names) {
    files[name] =
        kind == CrashKind::kPower ? inode->AfterPowerLoss(&random) : inode->AfterKill(&random);
  }
  return files;
}

Status FaultEnv::CountOperation(const std::string& path, std::string_view doing) {
  if (!crashed_ && operations_ == crash_at_) {
    crashed_ = true;
  }
  SLUICE_RETURN_IF_ERROR(CheckAlive(path));
  return operations_++ == failing_operation_.at ? Fail(path, doing, failing_operation_) : Status();
}

Status FaultEnv::CountOperation(const std::string& path, std::string_view doing, uint64_t bytes) {
  SLUICE_RETURN_IF_ERROR(CountOperation(path, doing));
  if (!Full()) {
    return {};
  }
  if (bytes > given_back_) {
    return Fail(path, doing, {operations_, ENOSPC, full_seed_ + operations_});
  }
  given_back_ -= bytes;
  return {};
}

// As env.h has it: nobody knows what a sync that failed has done, even for lack of space.
Status FaultEnv::CountSync(const std::string& path, std::string_view doing) {
  Status status = CountOperation(path, doing);
  return status.IsNoSpace() ? Status::IoError(status.message()) : status;
}

bool FaultEnv::Full() const {
  const uint64_t operation = operations_ - 1;
  return operation >= full_from_ && operation < full_to_;
}

void FaultEnv::GiveBack(uint64_t bytes) { given_back_ += Full() ? bytes : 0; }

Status FaultEnv::CountRead(const std::string& path, std::string_view doing) {
  SLUICE_RETURN_IF_ERROR(CheckAlive(path));
  return reads_++ == failing_read_.at ? Fail(path, doing, failing_read_) : Status();
}

Status FaultEnv::Fail(const std::string& path, std::string_view doing, const FaultPoint& fault) {
  tear_seed_ = fault.seed;
  Status status = Status::FromErrno(fmt::format("{}: {}", path, doing), fault.error);
  failure_ = status.message();
  return status;
}

std::string_view FaultEnv::Torn(std::string_view bytes) const {
  TestRandom random(tear_seed_);
  // A call that fails has not done everything; one that a crash cuts off may have.
  const size_t most = crashed_ || bytes.empty() ? bytes.size() : bytes.size() - 1;
  return bytes.substr(0, TornLength(&random, 0, most));
}

Status FaultEnv::CheckAlive(const std::string& path) const {
  return crashed_ ? Status::IoError(fmt::format("{}: crashed at operation {}", path, crash_at_))
                  : Status();
}

Status FaultEnv::Find(const std::string& path, std::shared_ptr<Inode>* inode) const {
  const auto found = names_.find(path);
  if (found == names_.end()) {
    return Status::FromErrno(fmt::format("{}: cannot find", path), ENOENT);
  }
  *inode = found->second;
  return {};
}

Status FaultEnv::CheckDirOf(const std::string& path) const {
  const std::string dir = DirName(path);
  return dirs_.contains(dir) || dir == "." || dir == "/"
             ? Status()
             : Status::FromErrno(fmt::format("{}: no directory to make it in", path), ENOENT);
}

void FaultEnv::Bind(Change change) {
  change.ApplyTo(&names_);
  pending_.push_back(std::move(change));
}

Status FaultEnv::GetChildren(const std::string& dir, std::vector<std::string>* names) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountRead(dir, "cannot read directory"));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(dir + "/x"));
  names->clear();
  for (const auto& [path, inode] : names_) {
    if (DirName(path) == dir) {
      names->push_back(path.substr(dir.size() + 1));
    }
  }
  for (const std::string& sub : dirs_) {
    if (DirName(sub) == dir && sub != dir) {
      names->push_back(sub.substr(dir.size() + 1));
    }
  }
  std::sort(names->begin(), names->end());
  return {};
}

Status FaultEnv::FileExists(const std::string& path) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountRead(path, "cannot find"));
  std::shared_ptr<Inode> ignored;
  return dirs_.contains(path) ? Status() : Find(path, &ignored);
}

Status FaultEnv::GetFileSize(const std::string& path, uint64_t* bytes) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountRead(path, "cannot find"));
  std::shared_ptr<Inode> inode;
  SLUICE_RETURN_IF_ERROR(Find(path, &inode));
  *bytes = inode->data.size();
  return {};
}

Status FaultEnv::RemoveFile(const std::string& path) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot remove"));
  std::shared_ptr<Inode> inode;
  SLUICE_RETURN_IF_ERROR(Find(path, &inode));
  GiveBack(kNameBytes + inode->data.size());
  Bind({{{path, nullptr}}});
  return {};
}

Status FaultEnv::RenameFile(const std::string& from, const std::string& to) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(from, "cannot rename"));
  std::shared_ptr<Inode> inode;
  SLUICE_RETURN_IF_ERROR(Find(from, &inode));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(to));
  Bind({{{from, nullptr}, {to, std::move(inode)}}});
  return {};
}

Status FaultEnv::CreateDir(const std::string& dir) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(dir, "cannot create directory", kNameBytes));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(dir));
  if (names_.contains(dir)) {
    return Status::FromErrno(fmt::format("{}: cannot create directory", dir), EEXIST);
  }
  dirs_.insert(dir);
  return {};
}

Status FaultEnv::SyncDir(const std::string& dir) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountSync(dir, "cannot sync directory"));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(dir + "/x"));
  std::vector<Change> left;
  for (Change& change : pending_) {
    if (change.Touches(dir)) {
      change.ApplyTo(&durable_);
    } else {
      left.push_back(std::move(change));
    }
  }
  pending_ = std::move(left);
  return {};
}

Status FaultEnv::LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot lock"));
  const std::string name = OneSpelling(path);
  SLUICE_RETURN_IF_ERROR(CheckDirOf(name));
  if (!locked_.emplace(name, kWriter).second) {
    return Status::Busy(fmt::format("{}: this process holds the lock already", path));
  }
  if (!names_.contains(name)) {
    Bind({{{name, std::make_shared<Inode>()}}});
  }
  *lock = std::make_unique<Lock>(this, name);
  return {};
}

Status FaultEnv::LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) {
  SLUICE_RETURN_IF_ERROR(FileExists(path));
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot lock"));
  const std::string name = OneSpelling(path);
  int& held = locked_[name];
  if (held == kWriter) {
    return Status::Busy(fmt::format("{}: this process holds the lock already", path));
  }
  ++held;
  *lock = std::make_unique<Lock>(this, name);
  return {};
}

Status FaultEnv::GetFileId(const std::string& path, std::string* id) {
  *id = OneSpelling(path);
  const Status status = FileExists(*id);
  return status.ok() ? status : status.WithContext(path);
}

Status FaultEnv::RemoveDir(const std::string& dir) {
  std::vector<std::string> names;
  SLUICE_RETURN_IF_ERROR(GetChildren(dir, &names));
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(dir, "cannot remove directory"));
  if (!names.empty()) {
    return Status::FromErrno(fmt::format("{}: cannot remove directory", dir), ENOTEMPTY);
  }
  dirs_.erase(dir);
  return {};
}

Status LoadFiles(Env* env, const std::string& dir, FileImage* files) {
  std::vector<std::string> names;
  SLUICE_RETURN_IF_ERROR(env->GetChildren(dir, &names));
  for (const std::string& name : names) {
    std::string path = dir;
    path += "/";
    path += name;
    SLUICE_RETURN_IF_ERROR(env->ReadFile(path, &(*files)[path]));
  }
  return {};
}

Status StoreFiles(const FileImage& files, const std::string& from_dir, Env* env,
                  const std::string& to_dir) {
  SLUICE_RETURN_IF_ERROR(env->CreateDir(to_dir));
  for (const auto& [path, contents] : files) {
    if (DirName(path) != from_dir) {
      continue;
    }
    std::unique_ptr<WritableFile> file;
    SLUICE_RETURN_IF_ERROR(env->NewWritableFile(to_dir + path.substr(from_dir.size()), &file));
    SLUICE_RETURN_IF_ERROR(file->Append(contents));
    SLUICE_RETURN_IF_ERROR(file->Close());
  }
  return {};
}

}  // namespace sluice
