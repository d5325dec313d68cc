// sluice-demo-load: a mixed workload on an engine's database, every answer checked, compactions on
// the simulated unit.
//
// What the database must hold at first stands in a file (expected.h), and goes on in memory. At the
// end all of it is compared, after the database has been closed and opened again.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

#include "db/describe.h"
#include "device/executors.h"
#include "expected.h"
#include "progress.h"
#include "sluice/db.h"

namespace sluice::demo {
namespace {

using tools::ProgressBar;

constexpr int kScanRecords = 20;

struct Arguments {
  std::string dir;
  std::string expected;
  std::string executor = "rtl";
  std::string config = "fast20";
  uint64_t operations = 80000;
  uint64_t seed = 1;
  bool json = false;
};

// Small, so that tens of megabytes have the shape of a big database.
Options DatabaseOptions() {
  Options options;
  options.memtable_bytes = 1 << 20;
  options.l1_bytes = 2 << 20;
  options.task_bytes = 4 << 20;
  options.compression = Compression::kSnappy;
  return options;
}

struct Counts {
  uint64_t gets = 0;
  uint64_t found = 0;
  uint64_t scans = 0;
  uint64_t puts = 0;
  uint64_t deletes = 0;
};

class Load {
 public:
  Load(DB* db, Expected* expected, uint64_t seed) : db_(*db), expected_(*expected), random_(seed) {
    keys_.reserve(expected->size());
    for (const auto& [key, value] : *expected) {
      keys_.push_back(key);
    }
  }

  // One operation of the mix: 45% gets, 5% scans, 40% puts, half of them of new keys, 10%
  // deletions.
  Status Step();
  const Counts& counts() const { return counts_; }

 private:
  Status Get(const std::string& key);
  Status Scan(const std::string& key);
  Status Put(const std::string& key);
  Status Delete(const std::string& key);
  // Four of five go to one percent of the keys.
  const std::string& AnyKey() {
    const size_t range = random_() % 5 < 4 ? std::max<size_t>(1, keys_.size() / 100) : keys_.size();
    return keys_[random_() % range];
  }

  DB& db_;
  Expected& expected_;
  std::vector<std::string> keys_;
  std::mt19937_64 random_;
  Counts counts_;
};

Status Wrong(std::string_view key, std::string_view what) {
  return Status::Corruption(fmt::format("key {}: {}", key, what));
}

Status Check(std::string_view key, const ExpectedValue& expected, std::string_view value) {
  return expected.live && expected.bytes == value.size() && expected.hash == HashValue(value)
             ? Status()
             : Wrong(key, "another value than was written");
}

Status Load::Get(const std::string& key) {
  std::string value;
  const Status status = db_.Get({}, key, &value);
  const ExpectedValue& expected = expected_.at(key);
  ++counts_.gets;
  if (status.IsNotFound()) {
    return expected.live ? Wrong(key, "lost") : Status();
  }
  SLUICE_RETURN_IF_ERROR(status);
  ++counts_.found;
  return Check(key, expected, value);
}

Status Load::Scan(const std::string& key) {
  const auto at = db_.NewIterator({});
  auto expected = expected_.lower_bound(key);
  ++counts_.scans;
  at->Seek(key);
  for (int i = 0; i < kScanRecords; ++i, ++expected, at->Next()) {
    while (expected != expected_.end() && !expected->second.live) {
      ++expected;
    }
    if (expected == expected_.end() || !at->Valid()) {
      break;
    }
    if (at->key() != expected->first) {
      return Wrong(expected->first, fmt::format("a scan has {} there", at->key()));
    }
    SLUICE_RETURN_IF_ERROR(Check(at->key(), expected->second, at->value()));
  }
  return at->status();
}

Status Load::Put(const std::string& key) {
  std::string value = fmt::format("{{\"load\":{},\"data\":\"", counts_.puts);
  const size_t bytes = 60 + random_() % 400;
  while (value.size() < bytes) {
    value += fmt::format("{:016x} lorem ipsum  ", random_());
  }
  ++counts_.puts;
  expected_[key] = {
      .live = true, .bytes = static_cast<uint32_t>(value.size()), .hash = HashValue(value)};
  return db_.Put({}, key, value);
}

Status Load::Delete(const std::string& key) {
  ++counts_.deletes;
  expected_[key] = {};
  return db_.Delete({}, key);
}

Status Load::Step() {
  const uint64_t kind = random_() % 100;
  if (kind < 45) {
    return Get(AnyKey());
  }
  if (kind < 50) {
    return Scan(AnyKey());
  }
  if (kind < 70) {
    keys_.push_back(fmt::format("user{:012}", 5000000000 + random_() % 1000000000));
    return Put(keys_.back());
  }
  return kind < 90 ? Put(AnyKey()) : Delete(keys_[random_() % keys_.size()]);
}

// Compares all of the database with what must be in it.
Status Compare(DB* db, const Expected& expected) {
  ProgressBar progress("comparing");
  uint64_t done = 0;
  const auto at = db->NewIterator({.fill_cache = false});
  at->SeekToFirst();
  for (const auto& [key, value] : expected) {
    progress.Update(++done, expected.size());
    if (!value.live) {
      std::string ignored;
      if (const Status status = db->Get({}, key, &ignored); !status.IsNotFound()) {
        return status.ok() ? Wrong(key, "deleted, but found") : status;
      }
      continue;
    }
    SLUICE_RETURN_IF_ERROR(at->status());
    if (!at->Valid() || at->key() != key) {
      return Wrong(key, "lost");
    }
    SLUICE_RETURN_IF_ERROR(Check(key, value, at->value()));
    at->Next();
  }
  SLUICE_RETURN_IF_ERROR(at->status());
  return at->Valid() ? Wrong(at->key(), "never written") : Status();
}

Status Run(const Arguments& arguments) {
  Expected expected;
  SLUICE_RETURN_IF_ERROR(ReadExpected(arguments.expected, &expected));
  Options options = DatabaseOptions();
  SLUICE_RETURN_IF_ERROR(MakeUnits(arguments.executor, arguments.config, {}, &options.executors));
  options.always_offload = true;
  std::unique_ptr<DB> db;
  SLUICE_RETURN_IF_ERROR(DB::Open(options, arguments.dir, &db));
  SLUICE_RETURN_IF_ERROR(Compare(db.get(), expected).WithContext("before the workload"));

  const auto begin = std::chrono::steady_clock::now();
  Load load(db.get(), &expected, arguments.seed);
  {
    ProgressBar progress("working");
    for (uint64_t i = 0; i < arguments.operations; ++i) {
      SLUICE_RETURN_IF_ERROR(load.Step());
      progress.Update(i, arguments.operations);
    }
  }
  SLUICE_RETURN_IF_ERROR(db->Flush(nullptr));
  SLUICE_RETURN_IF_ERROR(db->WaitForBackgroundWork());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Statistics statistics = db->GetStatistics();
  SLUICE_RETURN_IF_ERROR(db->Close());

  db.reset();
  SLUICE_RETURN_IF_ERROR(DB::Open(options, arguments.dir, &db));
  SLUICE_RETURN_IF_ERROR(Compare(db.get(), expected).WithContext("after the workload"));
  SLUICE_RETURN_IF_ERROR(db->Close());
  uint64_t live = 0;
  for (const auto& [key, value] : expected) {
    live += value.live ? 1 : 0;
  }
  const Counts& counts = load.counts();
  if (arguments.json) {
    nlohmann::json json = ToJson(statistics);
    json.update({{"gets", counts.gets},
                 {"found", counts.found},
                 {"scans", counts.scans},
                 {"puts", counts.puts},
                 {"deletes", counts.deletes},
                 {"seconds", seconds},
                 {"live_records", live},
                 {"deleted_keys", expected.size() - live}});
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} gets, {} scans, {} puts, {} deletions in {:.1f} s; all {} records are right\n",
               counts.gets, counts.scans, counts.puts, counts.deletes, seconds, live);
  }
  return {};
}

int Main(int argc, char** argv) {
  CLI::App app("A mixed workload on an engine's database, every answer checked.",
               "sluice-demo-load");
  Arguments arguments;
  app.add_option("DIR", arguments.dir, "The database")->required();
  app.add_option("--expected", arguments.expected, "The record of what it holds")->required();
  app.add_option("--executor", arguments.executor, "What merges");
  app.add_option("--config", arguments.config, "Configuration of the unit");
  app.add_option("--operations", arguments.operations, "How many");
  app.add_option("--seed", arguments.seed, "The same seed gives the same operations");
  app.add_flag("--json", arguments.json, "Print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const Status status = Run(arguments); !status.ok()) {
    fmt::print(stderr, "sluice-demo-load: {}\n", status.ToString());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace sluice::demo

int main(int argc, char** argv) { return sluice::demo::Main(argc, argv); }
