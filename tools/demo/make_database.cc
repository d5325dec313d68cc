// sluice-demo-db: makes, measures and verifies the demo's database, all with the real LevelDB.

#include <fmt/format.h>
#include <leveldb/db.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "expected.h"
#include "progress.h"

namespace sluice::demo {
namespace {

using Json = nlohmann::ordered_json;
using tools::ProgressBar;

constexpr int kLevels = 7;
// Small, so that a database of tens of megabytes has the levels and overlaps of a big one.
constexpr size_t kWriteBufferBytes = 1 << 20;
// After the load proper, short-lived owners leave tables in level 0: each open makes one of what
// the log holds. Four would make LevelDB compact them, so no more than this.
constexpr int kLevel0Tables = 3;
constexpr int kLastBatches = 6;
constexpr int kWritesPerBatch = 400;

Status ToStatus(const leveldb::Status& status) {
  return status.ok()             ? Status()
         : status.IsCorruption() ? Status::Corruption(status.ToString())
                                 : Status::IoError(status.ToString());
}

leveldb::Options DatabaseOptions() {
  leveldb::Options options;
  options.write_buffer_size = kWriteBufferBytes;
  options.compression = leveldb::kSnappyCompression;
  return options;
}

Status Open(const std::string& dir, const leveldb::Options& options,
            std::unique_ptr<leveldb::DB>* db) {
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, dir, &opened);
  db->reset(opened);
  return ToStatus(status).WithContext(dir);
}

uint64_t DirectoryBytes(const std::string& dir, int* files) {
  uint64_t bytes = 0;
  *files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const auto extension = entry.path().extension();
    if (extension == ".ldb" || extension == ".log") {
      bytes += entry.file_size();
      ++*files;
    }
  }
  return bytes;
}

std::vector<int> FilesAtLevels(leveldb::DB* db) {
  std::vector<int> levels(kLevels);
  for (int level = 0; level < kLevels; ++level) {
    std::string count;
    db->GetProperty(fmt::format("leveldb.num-files-at-level{}", level), &count);
    levels[level] = std::atoi(count.c_str());
  }
  return levels;
}

// ---------------------------------------------------------------- make

// Writes a seeded load: fresh keys in random order, overwrites with hot spots, deletions.
class Loader {
 public:
  Loader(std::string dir, uint64_t target_bytes, uint64_t seed)
      : dir_(std::move(dir)), target_bytes_(target_bytes), random_(seed) {}

  Status Run();

  const Expected& expected() const { return expected_; }
  uint64_t live_bytes() const { return live_bytes_; }
  uint64_t puts() const { return puts_; }
  uint64_t deletes() const { return deletes_; }

 private:
  Status Reopen();
  // Returns when the tables have not changed for a while.
  void AwaitCompactions();
  Status Write();  // one more operation of the mix
  Status Put(const std::string& key);
  Status Delete(const std::string& key);
  // Keys in random order, none twice: an odd multiplier permutes the numbers of 32 bits.
  std::string FreshKey() {
    return fmt::format("user{:012}", static_cast<uint32_t>(fresh_++ * 2654435761u));
  }
  const std::string& OldKey();
  std::string Value();

  const std::string dir_;
  const uint64_t target_bytes_;
  std::mt19937_64 random_;
  std::unique_ptr<leveldb::DB> db_;
  Expected expected_;
  std::vector<std::string> keys_;
  uint64_t fresh_ = 0;
  uint64_t live_bytes_ = 0;
  uint64_t puts_ = 0;
  uint64_t deletes_ = 0;
};

std::string Loader::Value() {
  // Mostly small rows, some large ones; about half of each compresses.
  const size_t bytes = random_() % 20 == 0 ? 1000 + random_() % 3000 : 60 + random_() % 300;
  std::string value = fmt::format("{{\"id\":{},\"name\":\"row {}\",\"data\":\"", puts_, fresh_);
  while (value.size() < bytes) {
    value += fmt::format("{:016x} lorem ipsum  ", random_());
  }
  value.resize(bytes);
  return value;
}

const std::string& Loader::OldKey() {
  // Four of five go to one percent of the keys.
  const size_t range = random_() % 5 < 4 ? std::max<size_t>(1, keys_.size() / 100) : keys_.size();
  return keys_[random_() % range];
}

Status Loader::Put(const std::string& key) {
  const std::string value = Value();
  ++puts_;
  ExpectedValue& expected = expected_[key];
  if (expected.live) {
    live_bytes_ -= key.size() + expected.bytes;
  }
  expected = {.live = true, .bytes = static_cast<uint32_t>(value.size()), .hash = HashValue(value)};
  live_bytes_ += key.size() + value.size();
  return ToStatus(db_->Put({}, key, value));
}

Status Loader::Delete(const std::string& key) {
  ++deletes_;
  ExpectedValue& expected = expected_[key];
  if (expected.live) {
    live_bytes_ -= key.size() + expected.bytes;
  }
  expected = {};
  return ToStatus(db_->Delete({}, key));
}

Status Loader::Write() {
  const uint64_t kind = random_() % 100;
  if (kind < 65 || keys_.size() < 100) {
    keys_.push_back(FreshKey());
    return Put(keys_.back());
  }
  return kind < 93 ? Put(OldKey()) : Delete(keys_[random_() % keys_.size()]);
}

Status Loader::Reopen() {
  db_.reset();
  leveldb::Options options = DatabaseOptions();
  options.create_if_missing = true;
  return Open(dir_, options, &db_);
}

void Loader::AwaitCompactions() {
  std::string tables;
  std::string before;
  do {
    before = std::move(tables);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    db_->GetProperty("leveldb.sstables", &tables);
  } while (tables != before);
}

Status Loader::Run() {
  ProgressBar progress("making the database");
  SLUICE_RETURN_IF_ERROR(Reopen());
  while (live_bytes_ < target_bytes_) {
    SLUICE_RETURN_IF_ERROR(Write());
    if (puts_ % 1024 == 0) {
      progress.Update(live_bytes_, target_bytes_);
    }
  }
  // How LevelDB's background work has gone decides about opens only, so that what is written
  // depends on the seed alone.
  for (int i = 0; i < kLastBatches; ++i) {
    AwaitCompactions();
    if (FilesAtLevels(db_.get())[0] < kLevel0Tables) {
      SLUICE_RETURN_IF_ERROR(Reopen());
    }
    for (int j = 0; j < kWritesPerBatch || (i == kLastBatches - 1 && live_bytes_ < target_bytes_);
         ++j) {
      SLUICE_RETURN_IF_ERROR(Write());
    }
  }
  db_.reset();
  return {};
}

struct MakeOptions {
  std::string dir;
  std::string expected;
  uint64_t mib = 64;
  uint64_t seed = 1;
  bool json = false;
};

std::string LevelsText(const std::vector<int>& levels) {
  std::string text;
  for (size_t level = 0; level < levels.size(); ++level) {
    if (levels[level] > 0) {
      text += fmt::format("{}level {}: {}", text.empty() ? "" : ", ", level, levels[level]);
    }
  }
  return text;
}

Status Make(const MakeOptions& options) {
  if (std::filesystem::exists(options.dir)) {
    return Status::InvalidArgument(fmt::format("{}: exists already", options.dir));
  }
  Loader loader(options.dir, options.mib << 20, options.seed);
  SLUICE_RETURN_IF_ERROR(loader.Run());
  SLUICE_RETURN_IF_ERROR(WriteExpected(options.expected, loader.expected()));
  uint64_t live = 0;
  for (const auto& [key, value] : loader.expected()) {
    live += value.live ? 1 : 0;
  }
  int files = 0;
  const uint64_t file_bytes = DirectoryBytes(options.dir, &files);
  if (options.json) {
    const Json json{{"puts", loader.puts()}, {"deletes", loader.deletes()},
                    {"live_records", live},  {"live_bytes", loader.live_bytes()},
                    {"files", files},        {"file_bytes", file_bytes}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "{} puts and {} deletes left {} records with {:.1f} MiB, stored in {} files with "
        "{:.1f} MiB\n",
        loader.puts(), loader.deletes(), live, static_cast<double>(loader.live_bytes()) / (1 << 20),
        files, static_cast<double>(file_bytes) / (1 << 20));
  }
  return {};
}

// ---------------------------------------------------------------- measure

struct MeasureOptions {
  std::string dir;
  bool json = false;
};

Status Measure(const MeasureOptions& options) {
  const std::string copy = options.dir + ".measured";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(options.dir, copy);
  int files = 0;
  const uint64_t file_bytes = DirectoryBytes(copy, &files);
  double seconds = 0;
  std::vector<int> before;
  std::vector<int> after;
  Status status;
  {
    std::unique_ptr<leveldb::DB> db;
    const auto start = std::chrono::steady_clock::now();
    status = Open(copy, DatabaseOptions(), &db);  // turns the log into a table: part of the job
    if (status.ok()) {
      before = FilesAtLevels(db.get());
      db->CompactRange(nullptr, nullptr);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      after = FilesAtLevels(db.get());
    }
  }
  std::filesystem::remove_all(copy);
  SLUICE_RETURN_IF_ERROR(status);
  const double mb_per_second = static_cast<double>(file_bytes) / seconds / 1e6;
  if (options.json) {
    const Json json{{"file_bytes", file_bytes},
                    {"seconds", seconds},
                    {"mb_per_second", mb_per_second},
                    {"tables_before", before},
                    {"tables_after", after}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "LevelDB's own CompactRange: {:.2f} s, {:.1f} MB/s of stored input "
        "(tables: {}; then {})\n",
        seconds, mb_per_second, LevelsText(before), LevelsText(after));
  }
  return {};
}

// ---------------------------------------------------------------- verify

struct VerifyOptions {
  std::string dir;
  std::string expected;
  bool json = false;
};

class Verifier {
 public:
  Verifier(leveldb::DB* db, const Expected& expected) : db_(db), expected_(expected) {
    for (const auto& [key, value] : expected) {
      if (value.live) {
        ++live_;
      }
    }
  }

  Status Run() {
    SLUICE_RETURN_IF_ERROR(Walk(expected_.begin(), expected_.end(), true));
    SLUICE_RETURN_IF_ERROR(Walk(expected_.rbegin(), expected_.rend(), false));
    return GetAll();
  }
  uint64_t live() const { return live_; }

 private:
  static leveldb::ReadOptions ReadOptions() {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    return options;
  }

  static Status CheckValue(const std::string& key, const ExpectedValue& expected,
                           std::string_view value) {
    if (value.size() != expected.bytes || HashValue(value) != expected.hash) {
      return Status::Corruption(fmt::format("key {}: not the value that was written last", key));
    }
    return {};
  }

  void Step() {
    if (++steps_ % 4096 == 0) {
      progress_.Update(steps_, 2 * live_ + expected_.size());
    }
  }

  template <typename Iterator>
  Status Walk(Iterator next, Iterator end, bool forward) {
    const std::unique_ptr<leveldb::Iterator> walk(db_->NewIterator(ReadOptions()));
    forward ? walk->SeekToFirst() : walk->SeekToLast();
    for (; walk->Valid(); forward ? walk->Next() : walk->Prev()) {
      const std::string key = walk->key().ToString();
      for (; next != end && next->first != key && !next->second.live; ++next) {
      }
      if (next == end || next->first != key || !next->second.live) {
        return Status::Corruption(fmt::format("key {}: found, but {} expected next", key,
                                              next == end ? "nothing is" : next->first + " is"));
      }
      SLUICE_RETURN_IF_ERROR(
          CheckValue(key, next->second, {walk->value().data(), walk->value().size()}));
      ++next;
      Step();
    }
    SLUICE_RETURN_IF_ERROR(ToStatus(walk->status()));
    for (; next != end; ++next) {
      if (next->second.live) {
        return Status::Corruption(fmt::format("key {}: missing", next->first));
      }
    }
    return {};
  }

  Status GetAll() {
    std::string value;
    for (const auto& [key, expected] : expected_) {
      const leveldb::Status status = db_->Get(ReadOptions(), key, &value);
      if (status.ok() != expected.live || (!status.ok() && !status.IsNotFound())) {
        return Status::Corruption(fmt::format("key {}: {} expected, but Get says {}", key,
                                              expected.live ? "a value is" : "nothing is",
                                              status.ToString()));
      }
      if (status.ok()) {
        SLUICE_RETURN_IF_ERROR(CheckValue(key, expected, value));
      }
      Step();
    }
    return {};
  }

  leveldb::DB* const db_;
  const Expected& expected_;
  uint64_t live_ = 0;
  uint64_t steps_ = 0;
  ProgressBar progress_{"verifying"};
};

Status Verify(const VerifyOptions& options) {
  Expected expected;
  SLUICE_RETURN_IF_ERROR(ReadExpected(options.expected, &expected));
  leveldb::Options open = DatabaseOptions();
  open.paranoid_checks = true;
  std::unique_ptr<leveldb::DB> db;
  SLUICE_RETURN_IF_ERROR(Open(options.dir, open, &db));
  Verifier verifier(db.get(), expected);
  SLUICE_RETURN_IF_ERROR(verifier.Run());
  const std::vector<int> levels = FilesAtLevels(db.get());
  if (options.json) {
    const Json json{{"live_records", verifier.live()},
                    {"deleted_keys", expected.size() - verifier.live()},
                    {"tables", levels}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "LevelDB with paranoid checks finds all {} records, both ways and by key, and none "
        "of {} deleted keys (tables: {})\n",
        verifier.live(), expected.size() - verifier.live(), LevelsText(levels));
  }
  return {};
}

// ---------------------------------------------------------------- command line

int Main(int argc, char** argv) {
  CLI::App app("Makes, measures and verifies the demo's database with the real LevelDB.",
               "sluice-demo-db");
  app.require_subcommand(1);
  MakeOptions make;
  CLI::App* make_app = app.add_subcommand("make", "Make a database, and a record of its contents");
  make_app->add_option("DIR", make.dir, "Directory to make it in; must not exist")->required();
  make_app->add_option("--expected", make.expected, "File for the record")->required();
  make_app->add_option("--mib", make.mib, "MiB of live keys and values")
      ->check(CLI::Range(1, 4096));
  make_app->add_option("--seed", make.seed, "The same seed gives the same contents");
  make_app->add_flag("--json", make.json, "Print one JSON object");

  MeasureOptions measure;
  CLI::App* measure_app =
      app.add_subcommand("measure", "Time LevelDB's own full compaction, on a copy");
  measure_app->add_option("DIR", measure.dir, "The database")->required();
  measure_app->add_flag("--json", measure.json, "Print one JSON object");

  VerifyOptions verify;
  CLI::App* verify_app = app.add_subcommand("verify", "Compare a database with the record");
  verify_app->add_option("DIR", verify.dir, "The database")->required();
  verify_app->add_option("--expected", verify.expected, "The record")->required();
  verify_app->add_flag("--json", verify.json, "Print one JSON object");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status status = make_app->parsed()      ? Make(make)
                        : measure_app->parsed() ? Measure(measure)
                                                : Verify(verify);
  if (!status.ok()) {
    fmt::print(stderr, "sluice-demo-db: {}\n", status.ToString());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace sluice::demo

int main(int argc, char** argv) { return sluice::demo::Main(argc, argv); }
