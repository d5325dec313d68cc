// A campaign of corruptions: of a database that was closed or killed, one file is damaged,
// shortened, has pages exchanged, comes from an earlier time, or is gone. What opens it then
// answers rightly or with an error; it neither answers wrongly, nor crashes, nor hangs.
//
// SLUICE_ROUNDS=N tries N times as many. Corruption i of a run with seed S is the first one of a
// run with seed S + i.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/workload.h"
#include "process.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

using Records = std::map<std::string, std::string>;  // "sub-table/key" -> value
using Files = std::map<std::string, std::string>;    // path below the test's directory -> contents

constexpr char kCounter[] = "\xff counter";
constexpr int kBatches = 230;   // of each half of a life
constexpr int kSyncEvery = 40;  // batches
constexpr size_t kPage = 4096;

// How a database ended, before its corruption.
struct Life {
  uint64_t seed;
  bool killed;
  bool tiers;
};

Options OptionsOf(const Life& life, const std::string& dir) {
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 32 << 10;
  options.extent_bytes = 32 << 10;
  options.block_bytes = 2048;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 256 << 10;
  options.log_segment_bytes = 64 << 10;
  options.row_cache_bytes = options.block_cache_bytes = options.table_cache_bytes = 256 << 10;
  if (life.tiers) {
    options.compression_per_level = {Compression::kSnappy, Compression::kLz4, Compression::kZstd};
    options.zstd_dictionary_bytes = 1024;
    options.separate_value_bytes = 200;
    options.level_paths = {"", dir + "/warm", dir + "/cold"};
  }
  return options;
}

// The same in every process that starts with the same seed. Calls with `db` null only say what is
// written.
class Writer {
 public:
  explicit Writer(uint64_t seed)
      : random_(seed), keys_{KeySpace(&random_), KeySpace(&random_)}, values_(&random_, 20000) {}

  Status Next(DB* db, Records* records) {
    WriteBatch batch;
    Subtable* const other = db != nullptr ? db->FindSubtable("other") : nullptr;
    for (uint64_t n = Uniform(&random_, 1, 6); n > 0; --n) {
      const bool to_other = Uniform(&random_, 0, 2) == 0;
      Subtable* const subtable = to_other ? other : nullptr;
      const std::string prefix = to_other ? "other/" : "default/";
      if (Uniform(&random_, 0, 4) == 0) {
        const std::string key = keys_[to_other].Any(&random_);
        batch.Delete(subtable, key);
        records->erase(prefix + key);
      } else {
        const std::string key = keys_[to_other].Next(&random_);
        const std::string value = values_.Next(&random_);
        batch.Put(subtable, key, value);
        (*records)[prefix + key] = value;
      }
    }
    batch.Put(kCounter, std::to_string(++count_));
    return db != nullptr ? db->Write({.sync = count_ % kSyncEvery == 0}, batch) : Status();
  }
  uint64_t count() const { return count_; }

 private:
  TestRandom random_;
  KeySpace keys_[2];
  ValueSpace values_;
  uint64_t count_ = 0;
};

Records StateAfter(uint64_t seed, uint64_t batches) {
  Writer writer(seed);
  Records records;
  while (writer.count() < batches) {
    (void)writer.Next(nullptr, &records);
  }
  return records;
}

Files ReadFiles(const std::string& dir) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      files[fs::relative(entry.path(), dir).string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return files;
}

void WriteFiles(const Files& files, const std::string& dir) {
  for (const auto& [path, contents] : files) {
    fs::create_directories(fs::path(dir + "/" + path).parent_path());
    std::ofstream(dir + "/" + path, std::ios::binary) << contents;
  }
}

// A database's files, in the end and half-way there. `dir` is where it lives, and must live again.
struct Image {
  Life life;
  std::string dir;
  Files early;
  Files files;
};

// One half of a life: goes on from `from` batches.
int Live(const Life& life, const std::string& dir, uint64_t from, bool killed) {
  Writer writer(life.seed);
  Records ignored;
  while (writer.count() < from) {
    (void)writer.Next(nullptr, &ignored);
  }
  std::unique_ptr<DB> db;
  Subtable* other;
  if (!DB::Open(OptionsOf(life, dir), dir + "/db", &db).ok() ||
      (from == 0 && !db->CreateSubtable("other", &other).ok())) {
    return 1;
  }
  for (int i = 0; i < kBatches; ++i) {
    if (!writer.Next(db.get(), &ignored).ok() ||
        (i == kBatches / 2 && !db->CompactRange(nullptr, "", "").ok())) {
      return 2;
    }
  }
  if (killed) {
    ::raise(SIGKILL);
  }
  return db->Close().ok() ? 0 : 3;
}

void MakeImage(const Life& life, const std::string& dir, Image* image) {
  image->life = life;
  image->dir = dir;
  ASSERT_TRUE(fs::create_directories(dir));
  ASSERT_EQ(InProcess([&] { return Live(life, dir, 0, /*killed=*/false); }), 0);
  image->early = ReadFiles(dir);
  ASSERT_EQ(InProcess([&] { return Live(life, dir, kBatches, life.killed); }),
            life.killed ? -SIGKILL : 0);
  image->files = ReadFiles(dir);
}

// "meta", "log", "data", or a file's name.
std::string KindOf(const std::string& path) {
  const fs::path file(path);
  if (file.extension() == ".data") {
    return "data";
  }
  return file.extension() == ".log" ? file.parent_path().filename().string()
                                    : file.filename().string();
}

// Damages one of the files; says how.
std::string Corrupt(const Files& early, TestRandom* random, Files* files) {
  std::map<std::string, std::vector<std::string>> kinds;
  for (const auto& [path, contents] : *files) {
    if (KindOf(path) != "LOCK") {  // has no contents, and may come and go
      kinds[KindOf(path)].push_back(path);
    }
  }
  const auto kind =
      std::next(kinds.begin(), static_cast<ptrdiff_t>(Uniform(random, 0, kinds.size() - 1)));
  const std::string path = kind->second[Uniform(random, 0, kind->second.size() - 1)];
  std::string* const contents = &files->at(path);
  // Much of a file may be zeros that nobody reads: most damage goes where something stands.
  const auto place = [&] {
    const size_t end = contents->find_last_not_of('\0') + 1;
    return end > 0 && Uniform(random, 0, 3) != 0 ? Uniform(random, 0, end - 1)
                                                 : Uniform(random, 0, contents->size() - 1);
  };
  const uint64_t how = contents->empty() ? 6 : Uniform(random, 0, 6);
  switch (how) {
    case 0: {
      const size_t at = place();
      (*contents)[at] = static_cast<char>((*contents)[at] ^ 1 << Uniform(random, 0, 7));
      return fmt::format("{}: a bit of byte {}", path, at);
    }
    case 1: {
      const size_t at = place();
      const size_t size = std::min<size_t>(SkewedSize(random, kPage) + 1, contents->size() - at);
      for (size_t i = at; i < at + size; ++i) {
        (*contents)[i] = static_cast<char>((*random)());
      }
      return fmt::format("{}: {} bytes from {} on", path, size, at);
    }
    case 2: {
      const size_t at = place() / kPage * kPage;
      const size_t size = std::min(kPage, contents->size() - at);
      std::fill_n(contents->begin() + static_cast<ptrdiff_t>(at), size, '\0');
      return fmt::format("{}: zeros from {} on", path, at);
    }
    case 3: {
      contents->resize(place());
      return fmt::format("{}: shortened to {}", path, contents->size());
    }
    case 4: {
      const size_t a = place() / kPage * kPage;
      const size_t b = place() / kPage * kPage;
      const size_t size = std::min({kPage, contents->size() - a, contents->size() - b});
      std::swap_ranges(contents->begin() + static_cast<ptrdiff_t>(a),
                       contents->begin() + static_cast<ptrdiff_t>(a + (a != b ? size : 0)),
                       contents->begin() + static_cast<ptrdiff_t>(b));
      return fmt::format("{}: pages at {} and {} exchanged", path, a, b);
    }
    case 5: {
      const auto before = early.find(path);
      if (before != early.end()) {
        *contents = before->second;
        return fmt::format("{}: of an earlier time", path);
      }
      [[fallthrough]];
    }
    default:
      files->erase(path);
      return fmt::format("{}: gone", path);
  }
}

enum Outcome { kRight, kError, kUnsyncedLost, kWrong, kOutcomes };
constexpr const char* kOutcomeNames[kOutcomes] = {"right", "error", "unsynced lost", "WRONG"};

// Opens the database and reads all that it has, in every way. `message` has room for 1000 bytes.
Outcome ReadAll(const Image& image, char* message) {
  const auto say = [&](const std::string& text) { std::strncpy(message, text.c_str(), 999); };
  Options options = OptionsOf(image.life, image.dir);
  options.create_if_missing = false;
  options.automatic_compactions = false;
  std::unique_ptr<DB> db;
  if (const Status status = DB::Open(options, image.dir + "/db", &db); !status.ok()) {
    say(status.ToString());
    return kError;
  }
  Records found;
  uint64_t batches = 0;
  Status failed;
  for (Subtable* const subtable : db->ListSubtables()) {
    const auto at = db->NewIterator({}, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      std::string value;
      const Status status = db->Get({}, subtable, at->key(), &value);
      if (status.IsNotFound() || (status.ok() && value != at->value())) {
        say(fmt::format("a scan finds what Get does not: {}", at->key()));
        return kWrong;
      }
      if (!status.ok()) {
        failed = status;
      }
      if (at->key() == kCounter) {
        batches = std::stoull(value);
      } else {
        found[subtable->name() + "/" + std::string(at->key())] = at->value();
      }
    }
    if (!at->status().ok()) {
      failed = at->status();
    }
  }
  if (!failed.ok()) {
    say(failed.ToString());
    return kError;
  }
  constexpr uint64_t kAll = 2 * kBatches;
  const bool whole = batches <= kAll && found == StateAfter(image.life.seed, batches);
  if (whole && batches == kAll) {
    return kRight;
  }
  // What was not synced may be lost, as after a loss of power.
  if (whole && image.life.killed && batches >= kAll / kSyncEvery * kSyncEvery) {
    return kUnsyncedLost;
  }
  const Status verified = db->Verify({});
  say(fmt::format("the state {} {} batches of {}; Verify says {}", whole ? "after" : "of no time,",
                  batches, kAll, verified.ToString()));
  return kWrong;
}

TEST(Corruption, IsAnErrorOrHarmless) {
  const uint64_t seed = TestSeed();
  TempDir dir;
  std::vector<Image> images(4);
  for (size_t i = 0; i < images.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(MakeImage({.seed = seed + i, .killed = i % 2 != 0, .tiers = i / 2 != 0},
                                      dir.File(std::to_string(i)), &images[i]));
  }
  char* const message = static_cast<char*>(
      ::mmap(nullptr, 1000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::map<std::string, std::vector<int>> table;  // by kind of file
  const int corruptions = TestRounds(150);
  for (int i = 0; i < corruptions; ++i) {
    TestRandom random(seed + static_cast<uint64_t>(i));
    const Image& image = images[Uniform(&random, 0, images.size() - 1)];
    Files files = image.files;
    const std::string how = Corrupt(image.early, &random, &files);
    fs::remove_all(image.dir);
    fs::create_directories(image.dir);
    WriteFiles(files, image.dir);
    *message = '\0';
    const int outcome = InProcess([&] {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      const rlimit space{uint64_t{4} << 30, uint64_t{4} << 30};
      ::setrlimit(RLIMIT_AS, &space);
#endif
      return ReadAll(image, message);
    });
    const std::string what =
        fmt::format("{} (corruption {}, {}{})", how, i, image.life.killed ? "killed" : "closed",
                    image.life.tiers ? ", tiers" : "");
    if (outcome < 0 || outcome >= kOutcomes) {
      ADD_FAILURE() << what << (outcome == -SIGALRM ? ": hangs" : ": crashes") << ", " << outcome;
      continue;
    }
    EXPECT_NE(outcome, kWrong) << what << ": " << message;
    const std::string kind = KindOf(how.substr(0, how.find(':')));
    table[kind].resize(kOutcomes);
    ++table[kind][outcome];
  }
  for (const auto& [kind, counts] : table) {
    std::cout << fmt::format("{:>10}:", kind);
    for (int outcome = 0; outcome < kOutcomes; ++outcome) {
      std::cout << fmt::format(" {:5} {}", counts[outcome], kOutcomeNames[outcome]);
    }
    std::cout << "\n";
  }
  ::munmap(message, 1000);
}

}  // namespace
}  // namespace sluice
