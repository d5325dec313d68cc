// LevelDB's own compaction: a database whose level 0 holds the input tables is opened and compacted
// whole. It checks no block's checksum while it compacts (paranoid_checks is off by default).

#include <leveldb/db.h>

#include <fstream>

#include "bench/merge/memory_env.h"
#include "bench/merge/merge_engine.h"

namespace sluice::bench {

namespace {

namespace fs = std::filesystem;

void Check(const leveldb::Status& status) {
  if (!status.ok()) {
    Die("LevelDB: " + status.ToString());
  }
}

std::string TableName(int number) {
  char name[32];
  std::snprintf(name, sizeof(name), "%06d.ldb", number);
  return name;
}

class LevelDbMergeEngine : public MergeEngine {
 public:
  explicit LevelDbMergeEngine(Storage storage) : storage_(storage) {
    options_.compression = leveldb::kNoCompression;
    options_.max_file_size = kOutputTableBytes;
    if (storage == Storage::kMemory) {
      options_.env = &env_;
    }
  }

  std::string name() const override { return "LevelDB"; }

  void Prepare(const GeneratedTask& input, const fs::path& directory) override {
    original_ = directory / "original";
    copy_ = directory / "copy";
    fs::create_directory(original_);
    int number = 5;
    for (const auto& run : input.images) {
      for (const TableImage& image : run) {
        const fs::path path = original_ / TableName(number++);
        if (storage_ == Storage::kMemory) {
          env_.Put(path, image.file);
        } else {
          std::ofstream(path, std::ios::binary) << image.file;
        }
      }
    }
    // Makes a manifest of what tables it finds, all at level 0.
    Check(leveldb::RepairDB(original_, options_));
    files_ = env_.files();
  }

  double Run() override {
    fs::path path = original_;
    if (storage_ == Storage::kMemory) {
      env_.Restore(files_);
    } else {
      fs::remove_all(copy_);
      fs::copy(original_, copy_);
      path = copy_;
    }
    const double start = CpuSeconds();
    leveldb::DB* db = nullptr;
    // From four tables at level 0 on it starts to compact as soon as it is open.
    Check(leveldb::DB::Open(options_, path, &db));
    const std::unique_ptr<leveldb::DB> owner(db);
    db->CompactRange(nullptr, nullptr);
    const double seconds = CpuSeconds() - start;
    std::string at_level_0;
    if (!db->GetProperty("leveldb.num-files-at-level0", &at_level_0) || at_level_0 != "0") {
      Die("LevelDB left level 0 as it was");
    }
    output_bytes_ = storage_ == Storage::kMemory ? MemoryBytes() : DirectoryBytes(copy_, ".ldb");
    return seconds;
  }

  uint64_t output_bytes() const override { return output_bytes_; }

 private:
  uint64_t MemoryBytes() {
    uint64_t bytes = 0;
    for (const auto& [path, file] : env_.files()) {
      bytes += path.ends_with(".ldb") ? file->size() : 0;
    }
    return bytes;
  }

  const Storage storage_;
  MemoryEnv env_;
  leveldb::Options options_;
  MemoryEnv::Files files_;
  fs::path original_;
  fs::path copy_;
  uint64_t output_bytes_ = 0;
};

}  // namespace

std::unique_ptr<MergeEngine> NewLevelDbMergeEngine(Storage storage) {
  return std::make_unique<LevelDbMergeEngine>(storage);
}

}  // namespace sluice::bench
