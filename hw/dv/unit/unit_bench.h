// Random tasks and memory for the tests of units and cards, and what judges them.

#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/rtlsim/rtl_device.h"
#include "hw/dv/common/testbench.h"
#include "merge/cpu_executor.h"
#include "merge/task_generator.h"
#include "sluice_abi.h"

namespace sluice::dv {

// Quick and slow memory, with and without back-pressure.
inline RtlDeviceOptions RandomMemory(std::mt19937_64& rng, uint64_t bytes = 256 << 20) {
  RtlDeviceOptions options;
  options.memory.bytes = bytes;
  options.memory.latency = static_cast<uint32_t>(std::array{1, 7, 30, 200}[rng() % 4]);
  const auto stalls = [&] { return static_cast<uint32_t>(std::array{0, 0, 20, 70}[rng() % 4]); };
  options.memory.take_stall_percent = stalls();
  options.memory.give_stall_percent = stalls();
  options.memory.seed = rng();
  options.hang_cycles = 1'000'000;
  return options;
}

// The reference, with the limits of the device.
inline std::unique_ptr<CpuExecutor> MakeReference(const DeviceInfo& info) {
  return std::make_unique<CpuExecutor>(
      RecordLimits{.max_key_bytes = info.max_key_bytes, .max_value_bytes = info.max_value_bytes});
}

inline bool IsIndexFault(MergeStatus status) {
  return status == MergeStatus::kIndexChecksum || status == MergeStatus::kIndexCorrupt ||
         status == MergeStatus::kBadHandle;
}

// Small tasks of every shape the unit must take: runs empty, single and many; keys from nothing to
// the limit; values from nothing to 64 KiB; all duplicates, all deleted; every restart interval and
// block size.
inline GeneratorOptions RandomShape(std::mt19937_64& rng, uint32_t ways, uint32_t max_key_bytes) {
  const auto pick = [&](std::initializer_list<uint32_t> choices) {
    return *(choices.begin() + rng() % choices.size());
  };
  GeneratorOptions options;
  options.seed = rng();
  options.runs = 1 + rng() % ways;
  options.records = pick({0, 1, 2, 10, 60, 200});
  const uint32_t longest_key = pick({0, 1, 7, 8, 16, 17, 40, 130, max_key_bytes});
  options.user_key_bytes = {Chance(rng, 50) ? 0 : longest_key, longest_key};
  const uint32_t longest_value = pick({0, 1, 8, 32, 100, 300, 2000, 65536});
  options.value_bytes = {Chance(rng, 70) ? 0 : longest_value, longest_value};
  if (longest_value > 2000) {
    options.records = std::min<uint64_t>(options.records, 10);
  }
  options.key_shape = pick({0, 1, 1}) == 0 ? KeyShape::kRandom : KeyShape::kTree;
  options.interleave = Chance(rng, 80) ? Interleave::kRandom : Interleave::kOneRunFirst;
  options.duplicate_percent = pick({0, 10, 50, 100});
  options.clone_percent = pick({0, 0, 20});
  options.delete_percent = pick({0, 10, 50, 100});
  options.reference_percent = pick({0, 0, 30, 100});
  options.table.restart_interval = 1 + (Chance(rng, 50) ? rng() % 128 : rng() % 4);
  options.table.block_bytes = pick({512, 512, 4096, 65536});
  options.table.share_trailers = Chance(rng, 70);
  options.table.short_separators = Chance(rng, 70);
  options.table_bytes = pick({1, 2000, 20000, 2 << 20});
  if (Chance(rng, 50)) {
    options.snapshots = DrawSnapshots(rng, abi::job::kSnapshotCount, options.records + 1);
  }
  options.bottommost = Chance(rng, 50);
  return options;
}

// A table and the number of its run; null if there is none.
inline std::pair<TableImage*, size_t> RandomTable(std::mt19937_64& rng, GeneratedTask* generated) {
  std::vector<std::pair<TableImage*, size_t>> tables;
  for (size_t r = 0; r < generated->images.size(); ++r) {
    for (TableImage& table : generated->images[r]) {
      tables.emplace_back(&table, r);
    }
  }
  return tables.empty() ? std::pair<TableImage*, size_t>() : tables[rng() % tables.size()];
}

// The user key of the first record of a random block; empty if there is none.
inline std::string RandomBlockKey(std::mt19937_64& rng, const GeneratedTask& generated) {
  std::vector<std::pair<const TableImage*, BlockHandle>> blocks;
  for (const auto& run : generated.images) {
    for (const TableImage& table : run) {
      for (const BlockHandle& block : table.blocks) {
        blocks.emplace_back(&table, block);
      }
    }
  }
  if (blocks.empty()) {
    return "";
  }
  const auto& [table, handle] = blocks[rng() % blocks.size()];
  const char* block = table->file.data() + handle.offset;
  EntryHeader header{};
  const char* key = DecodeEntryHeader(block, block + handle.size, &header);
  return std::string(UserKey({key, header.unshared}));
}

// Bits per key of filters, for a unit that makes them: as many as it has room for, as a rule.
inline uint32_t RandomFilterBits(std::mt19937_64& rng) {
  return std::array{0u, 1u, 10u, 10u, 10u, 64u}[rng() % 6];
}

// Output settings and key range, drawn apart from the shape of the inputs. Range keys are keys of
// the input, or next to one.
inline void RandomOutput(std::mt19937_64& rng, const GeneratedTask& generated,
                         uint32_t max_key_bytes, MergeTask* task) {
  task->restart_interval = 1 + (Chance(rng, 50) ? rng() % 128 : rng() % 4);
  task->block_bytes = std::array{512u, 777u, 4096u, 65536u}[rng() % 4];
  task->table_bytes = std::array{1u, 3000u, 30000u, 2u << 20}[rng() % 4];
  const auto key = [&] {
    std::string bytes = RandomBlockKey(rng, generated);
    if (Chance(rng, 20)) {
      bytes.resize(bytes.size() / 2);
    }
    if (Chance(rng, 20) && bytes.size() < max_key_bytes) {
      bytes.push_back('\0');
    }
    return bytes;
  };
  task->has_begin = Chance(rng, 25);
  task->begin = task->has_begin ? key() : "";
  task->has_end = Chance(rng, 25);
  task->end = task->has_end ? key() : "";
}

}  // namespace sluice::dv
