// Synthetic merge tasks from a seed: the same options give the same bytes everywhere. For tests,
// benches and `sluice unit run`.

#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "merge/table_image.h"
#include "sluice/executor.h"

namespace sluice {

// Drawn evenly, both ends included.
struct LengthRange {
  uint32_t min = 0;
  uint32_t max = 0;
};

enum class Interleave {
  kRandom,       // every record goes to any run
  kOneRunFirst,  // all keys of run i before all of run i + 1
};

enum class KeyShape {
  kDecimal,  // zero-padded numbers, ascending in even steps, as db_bench has them
  kRandom,   // any bytes
  kTree,     // a key continues any prefix of an earlier one: shared prefixes end everywhere
};

struct GeneratorOptions {
  uint64_t seed = 1;
  uint32_t runs = 2;
  uint64_t records = 1000;  // over all runs
  LengthRange user_key_bytes{16, 16};
  LengthRange value_bytes{100, 100};
  KeyShape key_shape = KeyShape::kDecimal;
  Interleave interleave = Interleave::kRandom;
  uint32_t duplicate_percent = 0;  // records that are one more version of another record's key
  // Records with the very internal key of a record in another run; fewer records come out where two
  // such meet in one run.
  uint32_t clone_percent = 0;
  uint32_t delete_percent = 0;     // records that are tombstones; their values are empty
  uint32_t reference_percent = 0;  // of the others: references, to values that are nowhere
  TableImageOptions table;
  uint64_t table_bytes = 2 << 20;  // >= 1: an input table ends at so many in finished data blocks
  // Those of the task. Sequence numbers are a permutation of 1..records, so a snapshot in that
  // range keeps old versions alive.
  std::vector<SequenceNumber> snapshots{kMaxSequence};
  bool bottommost = false;
};

// A task and the bytes that it refers to. Output block, table and restart settings of the task are
// those of its input tables; all of `task` may be changed at will. Moving keeps the views valid.
struct GeneratedTask {
  GeneratedTask() = default;
  GeneratedTask(GeneratedTask&&) = default;
  GeneratedTask& operator=(GeneratedTask&&) = default;
  GeneratedTask(const GeneratedTask&) = delete;
  GeneratedTask& operator=(const GeneratedTask&) = delete;

  MergeTask task;
  std::vector<std::vector<TableImage>> images;  // by run and table
  uint64_t raw_bytes = 0;  // user keys, trailers and values of all records, uncompressed

  // Makes `task.runs` refer to `images` anew, after a change of images.
  void Refer();
  // Gives all data blocks of the inputs checksums by XXH3, and the task too. Each table gets a base,
  // or none has one.
  void UseXxh3(std::mt19937_64& random);
};

GeneratedTask GenerateTask(const GeneratorOptions& options);

// At least one and up to `count` snapshots, as a task has them, from 0 to `most`.
std::vector<SequenceNumber> DrawSnapshots(std::mt19937_64& random, size_t count,
                                          SequenceNumber most);

}  // namespace sluice
