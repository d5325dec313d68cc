// Databases made and checked by the real LevelDB library.

#pragma once

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

namespace sluice {

// What a database must hold, kept aside.
using Contents = std::map<std::string, std::string>;

// The choices that a LevelDB user has, as far as they show in the files.
struct RealOptions {
  leveldb::CompressionType compression = leveldb::kSnappyCompression;
  int bloom_bits = 0;
  size_t block_size = 4096;
  int restart_interval = 16;
  size_t write_buffer_size = 64 << 10;
  size_t max_file_size = 1 << 20;
  // LevelDB does not compact while open: tables stay where they are. Writers must not fill the
  // write buffer, as nothing empties it.
  bool hold_compactions = false;
  bool paranoid = false;

  std::string ToString() const;
};

// A LevelDB that is open as long as this lives.
class RealLevelDb {
 public:
  RealLevelDb(const std::string& dir, const RealOptions& options);
  ~RealLevelDb();

  leveldb::DB* db() { return db_.get(); }
  const leveldb::Status& status() const { return status_; }

  // The database and `contents` alike.
  void Put(const std::string& key, const std::string& value, Contents* contents);
  void Delete(const std::string& key, Contents* contents);

  std::string Property(const std::string& name);
  int FilesAtLevel(int level);

 private:
  std::function<void()> release_;
  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  leveldb::Status status_;
};

struct MakeOptions {
  RealOptions leveldb = {};
  uint64_t seed = 1;
  int keys = 2000;             // distinct ones
  int max_value = 400;         // bytes
  int deep_writes = 8000;      // pushed to deep levels
  int level0_tables = 6;       // with 200 writes each, overlapping everything
  int unflushed_writes = 300;  // left in the log
  int delete_percent = 15;
};

// Makes a database with tables on several levels that overlap, overwritten keys, deletions, and
// writes left in the log. Returns what it holds.
Contents MakeRealDatabase(const std::string& dir, const MakeOptions& options);

std::string RandomValue(std::mt19937_64* random, int max_bytes);

// Opens the database with LevelDB's paranoid checks and compares it with `contents`: every key by
// Get, a walk each way, and that deleted keys are gone.
void ExpectHolds(const std::string& dir, RealOptions options, const Contents& contents);

// Runs `function` in a forked process; what it returns, as the process's exit code. -1 if it
// crashed.
int InChildProcess(const std::function<int()>& function);

// Each file's bytes by name, but for LOCK and LevelDB's own LOG.
std::map<std::string, std::string> ReadDirectory(const std::string& dir);

}  // namespace sluice
