// What sluice_leveldb_hook.h uses of LevelDB's insides, as LevelDB 1.23 lays it out: Debian's
// libleveldb-dev has the archive, but not these headers. Only what is used has its name and type; the
// rest stands here for its size. tests/leveldb_plugin/suite/layout_test.cc compares it with LevelDB's
// own headers.
//
// SLUICE_LEVELDB_ASSERTS: the archive was built with assertions, as Debian's is; a snapshot is then
// larger.

#pragma once

#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/slice.h>
#include <leveldb/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

static_assert(leveldb::kMajorVersion == 1 && leveldb::kMinorVersion == 23,
              "the layout of another LevelDB is not known");

namespace leveldb {

class MemTable;
class Table;
class TableBuilder;
class VersionSet;
namespace log {
class Writer;
}

namespace config {
constexpr int kNumLevels = 7;
}

namespace port {

class Mutex {
 public:
  void Lock() { mu_.lock(); }
  void Unlock() { mu_.unlock(); }

 private:
  std::mutex mu_;
};

class CondVar {
 public:
  void SignalAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
  Mutex* mu_;
};

}  // namespace port

class InternalKey {
 public:
  Slice Encode() const { return rep_; }
  bool DecodeFrom(const Slice& slice) {
    rep_.assign(slice.data(), slice.size());
    return !rep_.empty();
  }

 private:
  std::string rep_;
};

class InternalKeyComparator : public Comparator {
 public:
  const char* Name() const override;
  int Compare(const Slice& a, const Slice& b) const override;
  void FindShortestSeparator(std::string* start, const Slice& limit) const override;
  void FindShortSuccessor(std::string* key) const override;
  const Comparator* user_comparator() const { return user_comparator_; }

 private:
  const Comparator* user_comparator_;
};

class InternalFilterPolicy : public FilterPolicy {
 public:
  const char* Name() const override;
  void CreateFilter(const Slice* keys, int n, std::string* filter) const override;
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override;

 private:
  const FilterPolicy* user_policy_;
};

class SnapshotImpl : public Snapshot {
 public:
  ~SnapshotImpl() override;
  uint64_t sequence_number() const { return sequence_number_; }

 private:
  friend class SnapshotList;
  SnapshotImpl* prev_;
  SnapshotImpl* next_;
  uint64_t sequence_number_;
#if SLUICE_LEVELDB_ASSERTS
  void* list_;
#endif
};

class SnapshotList {
 public:
  bool empty() const { return head_.next_ == &head_; }
  const SnapshotImpl* oldest() const { return head_.next_; }

 private:
  SnapshotImpl head_;
};

struct FileMetaData {
  int refs;
  int allowed_seeks;
  uint64_t number;
  uint64_t file_size;
  InternalKey smallest;
  InternalKey largest;
};

class VersionEdit {
 private:
  std::string comparator_;
  uint64_t log_number_;
  uint64_t prev_log_number_;
  uint64_t next_file_number_;
  uint64_t last_sequence_;
  bool has_[5];
  std::vector<std::pair<int, InternalKey>> compact_pointers_;
  std::set<std::pair<int, uint64_t>> deleted_files_;
  std::vector<std::pair<int, FileMetaData>> new_files_;
};

class Version {
 public:
  void GetOverlappingInputs(int level, const InternalKey* begin, const InternalKey* end,
                            std::vector<FileMetaData*>* inputs);

 private:
  VersionSet* vset_;
  Version* next_;
  Version* prev_;
  int refs_;
  std::vector<FileMetaData*> files_[config::kNumLevels];
  FileMetaData* file_to_compact_;
  int file_to_compact_level_;
  double compaction_score_;
  int compaction_level_;
};

class TableCache {
 public:
  Iterator* NewIterator(const ReadOptions& options, uint64_t file_number, uint64_t file_size,
                        Table** table = nullptr);
  void Evict(uint64_t file_number);
};

class VersionSet {
 public:
  struct LevelSummaryStorage {
    char buffer[100];
  };

  Version* current() const { return current_; }
  uint64_t NewFileNumber() { return next_file_number_++; }
  uint64_t LastSequence() const { return last_sequence_; }
  const char* LevelSummary(LevelSummaryStorage* scratch) const;

 private:
  Env* env_;
  std::string dbname_;
  const Options* options_;
  TableCache* table_cache_;
  InternalKeyComparator icmp_;
  uint64_t next_file_number_;
  uint64_t manifest_file_number_;
  uint64_t last_sequence_;
  uint64_t log_number_;
  uint64_t prev_log_number_;
  WritableFile* descriptor_file_;
  log::Writer* descriptor_log_;
  Version dummy_versions_;
  Version* current_;
};

class Compaction {
 public:
  int level() const { return level_; }
  int num_input_files(int which) const { return static_cast<int>(inputs_[which].size()); }
  FileMetaData* input(int which, int i) const { return inputs_[which][static_cast<size_t>(i)]; }
  uint64_t MaxOutputFileSize() const { return max_output_file_size_; }

 private:
  int level_;
  uint64_t max_output_file_size_;
  Version* input_version_;
  VersionEdit edit_;
  std::vector<FileMetaData*> inputs_[2];
};

class DBImpl : public DB {
 public:
  ~DBImpl() override;

 private:
  struct CompactionState {
    struct Output {
      uint64_t number;
      uint64_t file_size;
      InternalKey smallest;
      InternalKey largest;
    };
    Compaction* compaction;
    uint64_t smallest_snapshot;
    std::vector<Output> outputs;
    WritableFile* outfile;
    TableBuilder* builder;
    uint64_t total_bytes;
  };
  struct ManualCompaction;
  struct Writer;
  struct CompactionStats {
    void Add(const CompactionStats& more) {
      micros += more.micros;
      bytes_read += more.bytes_read;
      bytes_written += more.bytes_written;
    }
    int64_t micros = 0;
    int64_t bytes_read = 0;
    int64_t bytes_written = 0;
  };

  void CompactMemTable();
  void RecordBackgroundError(const Status& status);
  Status InstallCompactionResults(CompactionState* compact);
  Status DoCompactionWork(CompactionState* compact);
  // LevelDB's own, by the name that make_archive gives it.
  Status DoOwnCompactionWork(CompactionState* compact) __asm__("sluice_leveldb_own_compaction");

  Env* env_;
  InternalKeyComparator internal_comparator_;
  InternalFilterPolicy internal_filter_policy_;
  Options options_;
  bool owns_info_log_;
  bool owns_cache_;
  std::string dbname_;
  TableCache* table_cache_;
  FileLock* db_lock_;
  port::Mutex mutex_;
  std::atomic<bool> shutting_down_;
  port::CondVar background_work_finished_signal_;
  MemTable* mem_;
  MemTable* imm_;
  std::atomic<bool> has_imm_;
  WritableFile* logfile_;
  uint64_t logfile_number_;
  log::Writer* log_;
  uint32_t seed_;
  std::deque<Writer*> writers_;
  void* tmp_batch_;
  SnapshotList snapshots_;
  std::set<uint64_t> pending_outputs_;
  bool background_compaction_scheduled_;
  ManualCompaction* manual_compaction_;
  VersionSet* versions_;
  Status bg_error_;
  CompactionStats stats_[config::kNumLevels];
};

}  // namespace leveldb
