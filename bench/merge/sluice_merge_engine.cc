#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>
#include <fstream>

#include "bench/merge/merge_engine.h"
#include "merge/cpu_executor.h"
#include "sluice/env.h"
#include "table/recode.h"

namespace sluice::bench {

namespace {

// A file in memory, for as long as this lives.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    size_ = std::filesystem::file_size(path);
    data_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    if (fd < 0 || data_ == MAP_FAILED) {
      Die("cannot map " + path.string());
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { munmap(data_, size_); }

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  size_t size_;
  void* data_;
};

MergeTask NewTask() {
  MergeTask task;
  task.bottommost = true;
  task.table_bytes = kOutputTableBytes;
  return task;
}

void Check(const MergeResult& result) {
  if (!result.ok()) {
    Die(result.error.ToString());
  }
}

class SluiceInFiles : public MergeEngine {
 public:
  std::string name() const override { return "Sluice"; }

  void Prepare(const GeneratedTask& input, const std::filesystem::path& directory) override {
    directory_ = directory;
    paths_.resize(input.images.size());
    for (size_t run = 0; run < input.images.size(); ++run) {
      for (const TableImage& image : input.images[run]) {
        paths_[run].push_back(directory / ("in" + std::to_string(files_++)));
        std::ofstream(paths_[run].back(), std::ios::binary) << image.file;
      }
    }
  }

  double Run() override {
    const double start = CpuSeconds();
    std::vector<std::unique_ptr<MappedFile>> files;
    MergeTask task = NewTask();
    for (const auto& run : paths_) {
      MergeRun& tables = task.runs.emplace_back();
      for (const auto& path : run) {
        const std::string_view file = files.emplace_back(new MappedFile(path))->bytes();
        Footer footer;
        if (!Footer::Parse(file.substr(file.size() - kFooterBytes), file.size(), &footer).ok()) {
          Die("bad footer");
        }
        tables.push_back({file, footer.index});
      }
    }
    int outputs = 0;
    const MergeResult result = CpuExecutor().Run(task, [&](const MergeOutput& output) {
      return WriteTable(output, directory_ / ("out" + std::to_string(outputs++) + ".ldb"));
    });
    files.clear();
    const double seconds = CpuSeconds() - start;
    Check(result);
    output_bytes_ = DirectoryBytes(directory_, ".ldb");
    for (int i = 0; i < outputs; ++i) {
      std::filesystem::remove(directory_ / ("out" + std::to_string(i) + ".ldb"));
    }
    return seconds;
  }

  uint64_t output_bytes() const override { return output_bytes_; }

 private:
  static Status WriteTable(const MergeOutput& output, const std::filesystem::path& path) {
    std::unique_ptr<WritableFile> file;
    SLUICE_RETURN_IF_ERROR(Env::Posix()->NewWritableFile(path, &file));
    SLUICE_RETURN_IF_ERROR(FinishTable(output.data, output.index, {}, file.get()));
    SLUICE_RETURN_IF_ERROR(file->Sync());
    return file->Close();
  }

  std::filesystem::path directory_;
  std::vector<std::vector<std::filesystem::path>> paths_;  // by run
  int files_ = 0;
  uint64_t output_bytes_ = 0;
};

class SluiceInMemory : public MergeEngine {
 public:
  std::string name() const override { return "Sluice"; }

  void Prepare(const GeneratedTask& input, const std::filesystem::path&) override {
    runs_ = input.task.runs;
  }

  double Run() override {
    output_bytes_ = 0;
    size_t outputs = 0;
    const double start = CpuSeconds();
    MergeTask task = NewTask();
    task.runs = runs_;
    const MergeResult result = CpuExecutor().Run(task, [&](const MergeOutput& output) {
      files_.resize(std::max(files_.size(), outputs + 1));
      StringFile& file = files_[outputs++];
      SLUICE_RETURN_IF_ERROR(FinishTable(output.data, output.index, {}, &file));
      output_bytes_ += file.contents().size();
      file.Clear();
      return Status();
    });
    const double seconds = CpuSeconds() - start;
    Check(result);
    return seconds;
  }

  uint64_t output_bytes() const override { return output_bytes_; }

 private:
  // A file whose memory is used again.
  class StringFile : public WritableFile {
   public:
    Status Append(std::string_view bytes) override {
      contents_.append(bytes);
      return {};
    }
    Status Flush() override { return {}; }
    Status Sync() override { return {}; }
    Status Close() override { return {}; }

    const std::string& contents() const { return contents_; }
    void Clear() { contents_.clear(); }

   private:
    std::string contents_;
  };

  std::vector<MergeRun> runs_;
  std::deque<StringFile> files_;
  uint64_t output_bytes_ = 0;
};

}  // namespace

std::unique_ptr<MergeEngine> NewSluiceMergeEngine(Storage storage) {
  if (storage == Storage::kMemory) {
    return std::make_unique<SluiceInMemory>();
  }
  return std::make_unique<SluiceInFiles>();
}

}  // namespace sluice::bench
