// How long blocking puts of one thread take, alone and beside threads that write asynchronously as
// fast as they can, synced and not.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/histogram.h"
#include "sluice/db.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;
using bench::Histogram;

constexpr size_t kValueBytes = 100;

struct Settings {
  std::string dir = std::filesystem::temp_directory_path();
  unsigned floods = 2;
  double seconds = 4;
};

class Flood {
 public:
  Flood(DB* db, unsigned threads) : db_(*db) {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i] { Run(i); });
    }
  }
  ~Flood() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  uint64_t completed() const { return completed_; }

 private:
  void Run(unsigned number) {
    const std::string value(kValueBytes, 'f');
    for (uint64_t i = 0; !stop_; ++i) {
      WriteBatch batch;
      batch.Put(fmt::format("flood{:02}{:09}", number, i * 7919 % 10'000'000), value);
      db_.WriteAsync({}, std::move(batch),
                     [this](const Status&) { completed_.fetch_add(1, std::memory_order_relaxed); });
    }
  }

  DB& db_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> completed_{0};
  std::vector<std::thread> threads_;
};

Status Measure(DB* db, bool sync, double seconds, Histogram* latencies) {
  const std::string value(kValueBytes, 'v');
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  Clock::time_point before = Clock::now();
  for (uint64_t i = 0; before < end; ++i) {
    if (Status status = db->Put({.sync = sync}, fmt::format("put{:013}", i), value); !status.ok()) {
      return status;
    }
    const Clock::time_point after = Clock::now();
    latencies->Add(static_cast<uint64_t>((after - before).count()));
    before = after;
  }
  return {};
}

Status Compare(const Settings& settings, bool sync) {
  const std::string path = settings.dir + "/flood_bench";
  Options database;
  database.create_if_missing = true;
  database.error_if_exists = true;
  std::unique_ptr<DB> db;
  if (Status status = DB::Open(database, path, &db); !status.ok()) {
    return status;
  }
  double alone_us = 0;
  for (const unsigned floods : {0u, settings.floods}) {
    Histogram latencies;
    const Flood flood(db.get(), floods);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const uint64_t completed = flood.completed();
    if (Status status = Measure(db.get(), sync, settings.seconds, &latencies); !status.ok()) {
      return status;
    }
    const auto us = [&](double percent) {
      return static_cast<double>(latencies.PercentileNs(percent)) / 1e3;
    };
    if (floods == 0) {
      alone_us = us(99.9);
    }
    fmt::print("{:9} {:6} {:12.0f} {:9.0f} {:9.1f} {:9.1f} {:9.1f} {:9.1f} {:8.1f}\n",
               sync ? "synced" : "not", floods,
               static_cast<double>(flood.completed() - completed) / settings.seconds,
               static_cast<double>(latencies.count()) / settings.seconds, us(50), us(99), us(99.9),
               static_cast<double>(latencies.max_ns()) / 1e3, us(99.9) / alone_us);
  }
  db.reset();
  return DB::Destroy(database, path);
}

int Main(int argc, char** argv) {
  CLI::App app("Blocking puts alone, and beside a flood of asynchronous ones");
  Settings settings;
  app.add_option("dir", settings.dir, "Where the database is made, and destroyed")
      ->capture_default_str();
  app.add_option("--floods", settings.floods, "Threads that flood")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "Of each measurement")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("{:9} {:>6} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "puts", "floods", "flood/s",
             "puts/s", "p50 us", "p99 us", "p99.9 us", "max us", "x alone");
  for (const bool sync : {false, true}) {
    if (const Status status = Compare(settings, sync); !status.ok()) {
      fmt::print(stderr, "{}\n", status.ToString());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
