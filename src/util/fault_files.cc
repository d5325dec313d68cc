// The open files of FaultEnv, and the calls that open them.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "util/fault_env.h"
#include "util/fault_inode.h"

namespace sluice {

struct FaultEnv::Opened {
  FaultEnv* env;
  std::string path;
  std::shared_ptr<Inode> inode;
};

class FaultEnv::Writable : public WritableFile {
 public:
  explicit Writable(Opened opened) : file_(std::move(opened)) {}
  ~Writable() override {
    const MutexLock guard(file_.env->mutex_);
    if (!file_.env->crashed_) {
      file_.inode->flushed = file_.inode->data.size();
    }
  }

  Status Append(std::string_view bytes) override {
    const MutexLock guard(file_.env->mutex_);
    const bool was_alive = !file_.env->crashed_;
    Status status = file_.env->CountOperation(file_.path, "cannot write", bytes.size());
    if (status.ok()) {
      file_.inode->Append(bytes);
    } else if (was_alive) {
      file_.inode->Append(file_.env->Torn(bytes));
    }
    return status;
  }

  Status Flush() override {
    const MutexLock guard(file_.env->mutex_);
    SLUICE_RETURN_IF_ERROR(file_.env->CountOperation(file_.path, "cannot write"));
    file_.inode->flushed = file_.inode->data.size();
    return {};
  }

  Status Sync() override { return file_.env->Sync(file_.path, file_.inode.get()); }

  Status Close() override { return Flush(); }

 private:
  const Opened file_;
};

class FaultEnv::Reserved : public ReservedFile {
 public:
  explicit Reserved(Opened opened) : file_(std::move(opened)) {}

  Status Reserve(uint64_t bytes) override {
    const MutexLock guard(file_.env->mutex_);
    const uint64_t has = file_.inode->data.size();
    SLUICE_RETURN_IF_ERROR(
        file_.env->CountOperation(file_.path, "cannot reserve", std::max(bytes, has) - has));
    file_.inode->Resize(std::max(bytes, has));
    return {};
  }
  Status Write(uint64_t offset, std::string_view bytes) override {
    return file_.env->Overwrite(file_.path, file_.inode.get(), offset, bytes, 0);
  }
  Status Sync() override { return file_.env->Sync(file_.path, file_.inode.get()); }

 private:
  const Opened file_;
};

class FaultEnv::Data : public DataFile {
 public:
  explicit Data(Opened opened) : file_(std::move(opened)) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    return file_.env->Read(file_.path, *file_.inode, offset, n, out);
  }
  Status Write(uint64_t offset, std::string_view bytes) override {
    return file_.env->Overwrite(file_.path, file_.inode.get(), offset, bytes, bytes.size());
  }
  Status Sync() override { return file_.env->Sync(file_.path, file_.inode.get()); }
  Status Discard(uint64_t offset, uint64_t bytes) override {
    return file_.env->Discard(file_.path, file_.inode.get(), offset, bytes);
  }
  Status CloneFrom(const DataFile& source, uint64_t source_offset, uint64_t offset,
                   uint64_t bytes) override {
    const auto* const from = dynamic_cast<const Data*>(&source);
    if (!file_.env->clones_ || from == nullptr || from->file_.env != file_.env) {
      return DataFile::CloneFrom(source, source_offset, offset, bytes);
    }
    std::string contents;
    {
      const MutexLock guard(file_.env->mutex_);
      const std::string& data = from->file_.inode->data;
      if (source_offset + bytes > data.size()) {
        return DataFile::CloneFrom(source, source_offset, offset, bytes);
      }
      contents = data.substr(source_offset, bytes);
    }
    return file_.env->Overwrite(file_.path, file_.inode.get(), offset, contents, 0);
  }
  Status Truncate(uint64_t bytes) override {
    return file_.env->Truncate(file_.path, file_.inode.get(), bytes);
  }
  // Pages of zeros count as holes, whether they were written or discarded.
  Status GetDiskBytes(uint64_t* bytes) const override {
    constexpr size_t kPage = 4096;
    const MutexLock guard(file_.env->mutex_);
    const std::string_view data = file_.inode->data;
    *bytes = 0;
    for (size_t at = 0; at < data.size(); at += kPage) {
      const std::string_view page = data.substr(at, kPage);
      *bytes += page.find_first_not_of('\0') != std::string_view::npos ? page.size() : 0;
    }
    return {};
  }
  const std::string& path() const override { return file_.path; }

 private:
  const Opened file_;
};

class FaultEnv::Readable : public RandomAccessFile {
 public:
  explicit Readable(Opened opened) : file_(std::move(opened)) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    return file_.env->Read(file_.path, *file_.inode, offset, n, out);
  }

 private:
  const Opened file_;
};

Status FaultEnv::Overwrite(const std::string& path, Inode* inode, uint64_t offset,
                           std::string_view bytes, uint64_t space) {
  const MutexLock guard(mutex_);
  const bool was_alive = !crashed_;
  Status status = CountOperation(path, "cannot write", space);
  if (status.ok()) {
    inode->Overwrite(offset, bytes);
  } else if (was_alive) {
    inode->Overwrite(offset, Torn(bytes));
  }
  return status;
}

Status FaultEnv::Sync(const std::string& path, Inode* inode) {
  const MutexLock guard(mutex_);
  const Status status = CountSync(path, "cannot sync");
  if (status.ok()) {
    inode->MarkSynced();
  } else if (!crashed_) {
    TestRandom random(tear_seed_);
    inode->FailSync(&random);
  }
  return status;
}

Status FaultEnv::Read(const std::string& path, const Inode& inode, uint64_t offset, size_t n,
                      char* out) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(path));
  if (offset > inode.data.size() || n > inode.data.size() - offset) {
    return Status::IoError(fmt::format("{}: ends before offset {}", path, offset + n));
  }
  Status status = CountRead(path, "cannot read");
  if (!status.ok()) {
    TestRandom random(tear_seed_);
    n = TornLength(&random, 0, n);
  }
  std::copy_n(inode.data.data() + offset, n, out);
  return status;
}

// What is given up is gone at once, for a restart too: the harshest that a file system may do.
Status FaultEnv::Discard(const std::string& path, Inode* inode, uint64_t offset, uint64_t bytes) {
  const MutexLock guard(mutex_);
  if (!makes_holes_) {
    return Status::NotSupported(fmt::format("{}: its file system makes no holes", path));
  }
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot give back space"));
  const size_t begin = std::min<uint64_t>(offset, inode->data.size());
  const size_t end = std::min<uint64_t>(offset + bytes, inode->data.size());
  GiveBack(end - begin);
  std::fill(inode->data.data() + begin, inode->data.data() + end, '\0');
  for (auto* const sectors : {&inode->sectors_before, &inode->dropped}) {
    sectors->erase(sectors->lower_bound(begin), sectors->lower_bound(end));
  }
  return {};
}

Status FaultEnv::Truncate(const std::string& path, Inode* inode, uint64_t bytes) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot truncate"));
  GiveBack(inode->data.size() - std::min<uint64_t>(bytes, inode->data.size()));
  inode->Resize(bytes);
  return {};
}

void FaultEnv::CreateOrEmpty(const std::string& path, std::shared_ptr<Inode>* inode) {
  if (Find(path, inode).ok()) {
    (*inode)->Truncate();
  } else {
    FindOrCreate(path, inode);
  }
}

void FaultEnv::FindOrCreate(const std::string& path, std::shared_ptr<Inode>* inode) {
  if (!Find(path, inode).ok()) {
    *inode = std::make_shared<Inode>();
    Bind({{{path, *inode}}});
  }
}

Status FaultEnv::NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot create", kNameBytes));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(path));
  std::shared_ptr<Inode> inode;
  CreateOrEmpty(path, &inode);
  *file = std::make_unique<Writable>(Opened{this, path, std::move(inode)});
  return {};
}

Status FaultEnv::NewReservedFile(const std::string& path, uint64_t /*most_bytes*/,
                                 std::unique_ptr<ReservedFile>* file) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot create", kNameBytes));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(path));
  std::shared_ptr<Inode> inode;
  CreateOrEmpty(path, &inode);
  *file = std::make_unique<Reserved>(Opened{this, path, std::move(inode)});
  return {};
}

Status FaultEnv::NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountOperation(path, "cannot open"));
  SLUICE_RETURN_IF_ERROR(CheckDirOf(path));
  std::shared_ptr<Inode> inode;
  FindOrCreate(path, &inode);
  *file = std::make_unique<Data>(Opened{this, path, std::move(inode)});
  return {};
}

Status FaultEnv::NewRandomAccessFile(const std::string& path,
                                     std::unique_ptr<RandomAccessFile>* file) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountRead(path, "cannot open"));
  std::shared_ptr<Inode> inode;
  SLUICE_RETURN_IF_ERROR(Find(path, &inode));
  *file = std::make_unique<Readable>(Opened{this, path, std::move(inode)});
  return {};
}

Status FaultEnv::ReadFile(const std::string& path, std::string* contents) {
  const MutexLock guard(mutex_);
  SLUICE_RETURN_IF_ERROR(CountRead(path, "cannot read"));
  std::shared_ptr<Inode> inode;
  SLUICE_RETURN_IF_ERROR(Find(path, &inode));
  *contents = inode->data;
  return {};
}

Status FaultEnv::MapFile(const std::string& path, MappedFile* file) {
  auto contents = std::make_shared<std::string>();
  SLUICE_RETURN_IF_ERROR(ReadFile(path, contents.get()));
  const std::string_view bytes = *contents;
  *file = {bytes, std::move(contents)};
  return {};
}

}  // namespace sluice
