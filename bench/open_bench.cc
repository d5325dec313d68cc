// What DB::Open costs, in time and memory: for the metadata of databases of up to 1 TB, whose extents
// are named and not there, and for the log that a killed process leaves.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "sluice/db.h"
#include "sluice/env.h"
#include "tree/data_dir.h"
#include "tree/metadata_log.h"
#include "util/coding.h"

namespace sluice {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint32_t kExtentBytes = 2 << 20;
constexpr size_t kKeyBytes = 16;
constexpr size_t kValueBytes = 100;
constexpr size_t kBatch = 100;

uint64_t ResidentBytes() {
  uint64_t pages = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

double CpuSeconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

// Runs `what` in a process of its own; false unless that exits with 0.
bool InAProcess(const std::function<Status()>& what) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const Status status = what();
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.ToString());
    }
    std::fflush(nullptr);
    ::_exit(status.ok() ? 0 : 1);
  }
  int how = 0;
  return child > 0 && ::waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

Status TimeOpen(const Options& options, const std::string& path, const std::string& what) {
  const uint64_t before = ResidentBytes();
  const double cpu = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<DB> db;
  if (Status status = DB::Open(options, path, &db); !status.ok()) {
    return status;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  fmt::print("{:>24} {:8.3f} {:8.3f} {:8.1f}\n", what, time.count(), CpuSeconds() - cpu,
             static_cast<double>(ResidentBytes() - before) / kMiB);
  return {};
}

std::string KeyOf(uint64_t i, uint64_t sequence) {
  std::string key = fmt::format("{:016}", i);
  PutFixed64(&key, MakeTrailer(sequence, RecordType::kValue));
  return key;
}

// Names extents of `bytes` in level 2 of an empty database, in one edit of its metadata.
Status NameExtents(const std::string& path, uint64_t bytes) {
  std::unique_ptr<MetadataLog> metadata;
  if (Status status = MetadataLog::Open(Env::Posix(), path, nullptr, &metadata); !status.ok()) {
    return status;
  }
  MetadataEdit edit;
  uint64_t number = metadata->state().next_number;
  const uint64_t count = bytes / kExtentBytes;
  for (uint64_t i = 0; i < count; ++i) {
    edit.added.push_back({.subtable = metadata->state().subtables.begin()->first,
                          .run = {kLastLevel, 0},
                          .extent = {.number = number++,
                                     .address = {kHomeDir, i * (kExtentBytes / kPageBytes)},
                                     .bytes = kExtentBytes - 100,
                                     .smallest = KeyOf(i * 2, i + 1),
                                     .largest = KeyOf(i * 2 + 1, i + 1),
                                     .entries = 17000,
                                     .newest = i + 1}});
  }
  edit.next_number = number;
  if (Status status = metadata->Apply(edit); !status.ok()) {
    return status;
  }
  std::filesystem::resize_file(DataFilePath(path, kHomeDir), count * kExtentBytes);
  return metadata->Seal();
}

bool OpenMetadata(const std::string& dir, uint64_t bytes) {
  const std::string path = dir + "/open_bench";
  std::filesystem::remove_all(path);
  Options options;
  options.create_if_missing = true;
  options.automatic_compactions = false;
  const bool done =
      InAProcess([&] {
        std::unique_ptr<DB> db;
        return DB::Open(options, path, &db);
      }) &&
      InAProcess([&] { return NameExtents(path, bytes); }) && InAProcess([&] {
        return TimeOpen(options, path, fmt::format("{} GiB of extents", bytes / kGiB));
      });
  std::filesystem::remove_all(path);
  return done;
}

Status Fill(const Options& options, const std::string& path, uint64_t bytes) {
  std::unique_ptr<DB> db;
  Status status = DB::Open(options, path, &db);
  std::mt19937_64 random(1);
  const std::string value(kValueBytes, 'v');
  for (uint64_t written = 0; status.ok() && written < bytes;) {
    WriteBatch batch;
    for (size_t i = 0; i < kBatch; ++i) {
      batch.Put(fmt::format("{:020}", random()).substr(0, kKeyBytes), value);
      written += kKeyBytes + kValueBytes;
    }
    status = db->Write({}, batch);
  }
  (void)db.release();  // the process ends as if it was killed
  return status;
}

bool OpenLog(const std::string& dir, uint64_t bytes) {
  const std::string path = dir + "/open_bench";
  std::filesystem::remove_all(path);
  Options options;
  options.create_if_missing = true;
  options.max_log_bytes = 64 * kGiB;  // what memtables may hold bounds what is replayed
  const bool done = InAProcess([&] { return Fill(options, path, bytes); }) && InAProcess([&] {
                      return TimeOpen(options, path, fmt::format("{} MiB of writes", bytes / kMiB));
                    });
  std::filesystem::remove_all(path);
  return done;
}

int Main(int argc, char** argv) {
  CLI::App app("What opening a database costs");
  std::string dir = std::filesystem::temp_directory_path();
  app.add_option("dir", dir, "Where databases are made, and removed")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("{:>24} {:>8} {:>8} {:>8}\n", "to be opened", "seconds", "CPU s", "MiB");
  bool done = true;
  for (const uint64_t data : {10, 100, 1024}) {
    done = done && OpenMetadata(dir, data * kGiB);
  }
  for (const uint64_t writes : {4, 40, 400}) {
    done = done && OpenLog(dir, writes * kMiB);
  }
  return done ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
