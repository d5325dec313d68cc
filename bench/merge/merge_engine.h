// Who takes part in merge_bench, and the measure: CPU time of the whole process, all threads.

#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "merge/task_generator.h"

namespace sluice::bench {

inline double CpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class MergeEngine {
 public:
  virtual ~MergeEngine() = default;

  virtual std::string name() const = 0;
  // Stores `input`, which outlives this, below `directory`, which is empty.
  virtual void Prepare(const GeneratedTask& input, const std::filesystem::path& directory) = 0;
  // Merges what Prepare stored, from files to files, and leaves things as Prepare did. Returns the
  // CPU seconds of the merge alone. Any number of times.
  virtual double Run() = 0;
  // The size of the tables that Run wrote last.
  virtual uint64_t output_bytes() const = 0;
};

// Where tables are read from and written to.
enum class Storage {
  kFiles,   // of the scratch directory
  kMemory,  // of the process: what is measured is compaction alone, not the kernel's file system
};

// Every engine gets the same input tables, but RocksDB, which writes its own of the same
// records. All write tables of 2 MiB with blocks of 4 KiB, uncompressed.
std::unique_ptr<MergeEngine> NewSluiceMergeEngine(Storage storage);
std::unique_ptr<MergeEngine> NewLevelDbMergeEngine(Storage storage);
// In files. Null if RocksDB is not there (bench/fetch_rocksdb).
std::unique_ptr<MergeEngine> NewRocksDbMergeEngine();

inline constexpr uint64_t kOutputTableBytes = 2 << 20;

inline uint64_t DirectoryBytes(const std::filesystem::path& directory, std::string_view suffix) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    bytes += entry.path().extension() == suffix ? entry.file_size() : 0;
  }
  return bytes;
}

// Ends the program: a benchmark that went wrong has nothing to say.
[[noreturn]] void Die(const std::string& what);

}  // namespace sluice::bench
