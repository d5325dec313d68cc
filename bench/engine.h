// The storage engines that the bench drives, behind one interface.
//
// What is counted, of all engines alike: bytes handed to the file system, whether the page cache or
// the disk takes them; framing and index included. Manifests and information logs are left out.
//
// All get the same memory: memtables of write_buffer_bytes, of which three may wait for their flush
// (LevelDB: one, it knows no more), and cache_bytes in all for what they cache of records and
// blocks (Sluice divides it between its row and its block cache). Indexes and filters of tables
// come on top, with no bound, as is LevelDB's and RocksDB's default. Background threads: one that
// flushes and one that compacts; in LevelDB it is one for both.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/histogram.h"
#include "device/model/model_device.h"
#include "sluice/compression.h"
#include "sluice/options.h"
#include "util/status.h"

namespace sluice::bench {

struct EngineSettings {
  uint64_t cache_bytes = uint64_t{96} << 20;
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  uint32_t block_bytes = 0;   // 0: the engine's own default
  int bloom_bits = 10;        // per key; 0: no filters
  uint32_t prefix_bytes = 0;  // of keys, that filters have, too, where the engine can; 0: none
  Compression compression = Compression::kNone;
  uint32_t dictionary_bytes = 0;  // for Zstandard, on the last level; 0: none
  bool sync = false;              // every write, to the disk
  uint64_t separate_bytes = 0;    // values of at least this size apart from the keys; 0: none
  bool direct_io = false;         // past the page cache
  // Sluice's alone.
  std::string executor = "cpu";
  std::string config;
  ModelDeviceOptions model;  // with executor model
  bool always_offload = false;
  size_t write_queues = 0;  // 0: the default
  size_t compaction_threads = 1;
  size_t flush_threads = 1;
  uint64_t background_bytes_per_second = 0;  // 0: no limit
  double max_space_amplification = Options().max_space_amplification;
  bool async = false;  // puts go on before they are done
  // RocksDB's alone.
  bool pipelined_write = false;
  bool unordered_write = false;
  bool many_tombstones = false;
  bool compaction_service = false;
  bool verify_checksums = false;  // where an engine does so only if asked
};

// Since the database was opened.
struct EngineCounts {
  uint64_t log_bytes_written = 0;
  uint64_t table_bytes_written = 0;    // by flush and compaction
  uint64_t background_bytes_read = 0;  // of tables, by compaction
  // Time that writers waited because flush or compaction lagged; none where it is not counted.
  std::optional<uint64_t> stall_microseconds = {};
  uint64_t unit_microseconds = 0;       // that units of a card had tasks, all units together
  uint64_t unit_busy_microseconds = 0;  // that jobs took of it, at the unit's clock
  // Merges on units and on the CPU; of these, as OffloadStatistics tells them apart.
  uint64_t unit_tasks = 0;
  uint64_t cpu_tasks = 0;
  uint64_t cpu_tasks_small = 0;
  uint64_t cpu_tasks_queue = 0;
  uint64_t cpu_tasks_slow = 0;
  uint64_t merges_left = 0;  // to RocksDB, by the service
};

// Over the state at its making. Destroyed before its session. Each move returns whether there is a
// record then; if not, status() tells why if that was an error.
class EngineIterator {
 public:
  virtual ~EngineIterator() = default;

  virtual bool SeekToFirst() = 0;
  virtual bool SeekToLast() = 0;
  virtual bool Seek(std::string_view key) = 0;
  virtual bool Next() = 0;
  virtual bool Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual size_t record_bytes() const = 0;  // of key and value
  virtual Status status() const = 0;
};

// Keys that an iterator is asked for: from `lower` to before `upper`, both not longer than the filters'
// prefixes, which they have in common, unless `upper` is the first key behind that. Empty: no bound.
// An engine that has no such thing shows others, too.
struct IteratorBounds {
  std::string_view lower;
  std::string_view upper;
};

struct Record {
  std::string_view key;
  std::string_view value;
};

// One thread's use of a database: made and used by it alone.
class EngineSession {
 public:
  // What this thread has read through system calls since it began, or from devices if that is more;
  // none where the kernel does not count.
  static std::optional<uint64_t> ThreadBytesRead();

  virtual ~EngineSession() = default;

  // Atomically.
  virtual Status Put(std::span<const Record> records) = 0;
  virtual Status Delete(std::string_view key) = 0;
  // *value, if *found, lives until the session's next call.
  virtual Status Get(std::string_view key, std::string_view* value, bool* found) = 0;
  // Gets of all keys in one call. Those found are counted, and the bytes of their records.
  virtual Status MultiGet(std::span<const std::string> keys, uint64_t* found, uint64_t* bytes);
  virtual std::unique_ptr<EngineIterator> NewIterator(const IteratorBounds& bounds) = 0;
  // As Put, but if the engine can, it goes on before that is done, and the time that it takes goes
  // to `latency`, which the session has to itself until Drain. False: it cannot, nothing was done.
  virtual bool PutAsync(std::span<const Record>, Histogram*, Status*) { return false; }
  // Until all asynchronous puts are done. The first error of one.
  virtual Status Drain() { return {}; }
  // What this thread has read of files since some point in time.
  virtual std::optional<uint64_t> BytesRead() const { return ThreadBytesRead(); }
};

// An open database; destroying it closes it, after its sessions.
class Engine {
 public:
  virtual ~Engine() = default;

  // Its library's name and version.
  virtual std::string version() const = 0;
  virtual std::unique_ptr<EngineSession> NewSession() = 0;
  virtual Status Flush() = 0;
  virtual Status Compact() = 0;
  // Until no flush or compaction is due or under way. REQUIRES: there is no writer.
  virtual Status WaitForBackgroundWork() = 0;
  virtual EngineCounts Counts() = 0;
};

// An engine, or one of its ways to write.
struct EngineKind {
  std::string name;  // as on the command line
  std::string what;  // for --help
  Status (*open)(const EngineSettings& settings, const std::string& directory, bool create,
                 std::unique_ptr<Engine>* engine);
  void (*adjust)(EngineSettings* settings);
};
const std::vector<EngineKind>& EngineKinds();

// Opens the database in `directory`; if `create`, makes it. NotSupported if the engine is not here:
// the message says how to get it.
Status OpenEngine(std::string_view name, const EngineSettings& settings,
                  const std::string& directory, bool create, std::unique_ptr<Engine>* engine);

Status OpenSluice(const EngineSettings& settings, const std::string& directory, bool create,
                  std::unique_ptr<Engine>* engine);
Status OpenLevelDb(const EngineSettings& settings, const std::string& directory, bool create,
                   std::unique_ptr<Engine>* engine);
Status OpenRocksDb(const EngineSettings& settings, const std::string& directory, bool create,
                   std::unique_ptr<Engine>* engine);

}  // namespace sluice::bench
