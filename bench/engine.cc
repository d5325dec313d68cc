#include "bench/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace sluice::bench {

std::optional<uint64_t> EngineSession::ThreadBytesRead() {
  FILE* const file = std::fopen("/proc/thread-self/io", "r");
  if (file == nullptr) {
    return {};
  }
  unsigned long long called = 0;
  unsigned long long fetched = 0;
  // The first leaves out what io_uring reads, the second what the page cache has.
  const bool read =
      std::fscanf(file, "rchar: %llu wchar: %*u syscr: %*u syscw: %*u read_bytes: %llu", &called,
                  &fetched) == 2;
  std::fclose(file);
  return read ? std::optional<uint64_t>(std::max(called, fetched)) : std::nullopt;
}

Status EngineSession::MultiGet(std::span<const std::string> keys, uint64_t* found,
                               uint64_t* bytes) {
  for (const std::string& key : keys) {
    std::string_view value;
    bool is_there = false;
    SLUICE_RETURN_IF_ERROR(Get(key, &value, &is_there));
    if (is_there) {
      ++*found;
      *bytes += key.size() + value.size();
    }
  }
  return {};
}

const std::vector<EngineKind>& EngineKinds() {
  static const std::vector<EngineKind> kinds = {
      {"sluice", "", OpenSluice, [](EngineSettings*) {}},
      {"sluice:cpu", "compactions on the CPU, whatever --executor says", OpenSluice,
       [](EngineSettings* settings) { settings->executor = "cpu"; }},
      {"sluice:offload", "compactions on the units of --executor only, even if that does not pay",
       OpenSluice, [](EngineSettings* settings) { settings->always_offload = true; }},
      {"sluice:async", "asynchronous puts, up to 1000 per thread under way", OpenSluice,
       [](EngineSettings* settings) { settings->async = true; }},
      {"sluice:1queue",
       "one write queue instead of eight, so that the stages of the pipeline do not overlap",
       OpenSluice, [](EngineSettings* settings) { settings->write_queues = 1; }},
      {"sluice:async1queue", "both", OpenSluice,
       [](EngineSettings* settings) {
         settings->async = true;
         settings->write_queues = 1;
       }},
      {"leveldb", "", OpenLevelDb, [](EngineSettings*) {}},
      {"leveldb:verify", "with verify_checksums, as the others read by default", OpenLevelDb,
       [](EngineSettings* settings) { settings->verify_checksums = true; }},
      {"rocksdb", "", OpenRocksDb, [](EngineSettings*) {}},
      {"rocksdb:pipelined", "with enable_pipelined_write", OpenRocksDb,
       [](EngineSettings* settings) { settings->pipelined_write = true; }},
      {"rocksdb:unordered", "with unordered_write, whose snapshots are not consistent", OpenRocksDb,
       [](EngineSettings* settings) { settings->unordered_write = true; }},
      {"rocksdb:tombstones",
       "with a CompactOnDeletionCollector and memtable_op_scan_flush_trigger, against tombstones",
       OpenRocksDb, [](EngineSettings* settings) { settings->many_tombstones = true; }},
      {"rocksdb:service", "compactions by Sluice's compaction service, on the CPU", OpenRocksDb,
       [](EngineSettings* settings) { settings->compaction_service = true; }},
  };
  return kinds;
}

Status OpenEngine(std::string_view name, const EngineSettings& settings,
                  const std::string& directory, bool create, std::unique_ptr<Engine>* engine) {
  for (const EngineKind& kind : EngineKinds()) {
    if (kind.name == name) {
      EngineSettings adjusted = settings;
      kind.adjust(&adjusted);
      return kind.open(adjusted, directory, create, engine);
    }
  }
  return Status::InvalidArgument(fmt::format("engine '{}': none of this name; see --help", name));
}

}  // namespace sluice::bench
