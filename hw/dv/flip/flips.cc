// Bit flips: in each of many runs of one job, a single random bit of a random register or memory of
// the unit is inverted in a random cycle. What becomes of it:
//
//   harmless   the outputs are those of the CPU executor, byte for byte
//   recut      the same records in the same order, but otherwise divided into blocks or tables
//   detected   the job fails: by the unit's status, by the host's checks, or because it hangs
//   silent     the job succeeds, and its records, or the filters of its blocks, are not right
//
// Half of the flips are in the control part, the others are dealt out evenly to the parts of the
// data path (kSegments). Within a part every register is as likely as any other, however wide it
// is, and every bit of it. The program fails if a flip is silent, and lists it.
//
// Linked once per configuration, with its model (bare_card.h).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "device/device_executor.h"
#include "hw/dv/common/testbench.h"
#include "hw/dv/flip/registers.h"
#include "hw/dv/unit/bare_card.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/task_generator.h"
#include "table/block.h"
#include "table/filter.h"
#include "table/stored_block.h"

namespace sluice::dv {
namespace {

// Where records are on their way from the CRC check of the block they come from to the CRC of the
// block they go to; by the paths of the registers that hold their bytes. Everything else: the last.
struct Segment {
  const char* name;
  std::vector<const char*> paths;
};
const Segment kSegments[] = {
    {"blocks, read-ahead FIFOs",
     {"u_data_read.g_beats.u_beats.mem", "u_data_read.g_beats.u_beats.rdata_q"}},
    {"blocks, decoder up to checksum",
     {"g_way.u_entry_decoder.u_chunks.chunk_q", "u_data_read.g_tails.(previous|u_tails.mem)",
      "g_way.u_entry_decoder.u_window.(g_lane.mem|g_copy.(low|high)_mem)",
      "g_way.u_entry_decoder.u_window.head_q", "g_way.u_entry_decoder.u_key_expander.s1_data_q",
      "g_way.u_entry_decoder.u_key_expander.old_row_q",
      "g_way.u_entry_decoder.u_key_expander.s2_data_q",
      "g_way.u_entry_decoder.u_key_expander.s2_key_q",
      "g_way.u_entry_decoder.u_key_expander.tail_q",
      "g_way.u_entry_decoder.u_key_expander.g_rows.old_key",
      "g_way.u_entry_decoder.u_key_expander.s3_trailer_q"}},
    {"keys, checksum to verdict",
     {"g_way.u_entry_decoder.u_key_expander.s3_data_q",
      "g_way.u_entry_decoder.u_key_expander.s4_data_q",
      "g_way.u_entry_decoder.u_key_expander.hash_q",
      "g_way.u_entry_decoder.u_key_expander.s3_xor_hash_q",
      "g_way.u_entry_decoder.u_keys.g_(lut|block)_ram.u_fifo.(mem|rdata_q)",
      "u_merge_tree.g_node.u_node.u_a.mem", "u_merge_tree.g_node.u_node.u_a.key_mem",
      "u_merge_tree.g_node.u_node.u_a.key_q", "u_merge_tree.g_node.u_node.u_b.mem",
      "u_merge_tree.g_node.u_node.u_b.key_mem", "u_merge_tree.g_node.u_node.u_b.key_q",
      "u_merge_tree.g_node.u_node.g_fifo.u_out.g_(lut|block)_ram.u_fifo.(mem|rdata_q)",
      "u_visibility_filter.beat1_q", "u_visibility_filter.beat2_q"}},
    {"records, to the encoder's checksum",
     {"g_way.u_entry_decoder.u_values.mem", "g_way.u_entry_decoder.u_values.rdata_q",
      "g_way.u_entry_decoder.u_hashes.mem",
      "u_visibility_filter.u_kept.g_(lut|block)_ram.(mem|rdata_q)",
      "u_transfer.u_values.g_(lut|block)_ram.u_fifo.(mem|rdata_q)"}},
    {"blocks, from checksum to CRC",
     {"u_entry_encoder.u_out.g_(lut|block)_ram.u_fifo.(mem|rdata_q)", "u_entry_encoder.trailer_q",
      "u_block_packer.hold_q", "u_block_packer.out_data_q", "u_block_packer.out_bytes_q",
      "u_block_packer.pos_q", "u_block_packer.out_valid_q",
      "u_block_sealer.u_words.g_(lut|block)_ram.u_fifo.(mem|rdata_q)",
      "u_block_sealer.u_crc.state_q", "u_block_sealer.size_q"}},
    {"control and counters", {".*"}},
};
constexpr size_t kSegmentCount = std::size(kSegments);

// The segment of every register. Says on stderr which path of a segment no register has any more,
// and returns nothing then: a register that is renamed must not slip into the control part.
std::vector<size_t> SegmentsOf(const std::vector<Register>& registers) {
  struct Pattern {
    size_t segment;
    std::string path;
    std::regex regex;
    bool used = false;
  };
  std::vector<Pattern> patterns;
  for (size_t s = 0; s < kSegmentCount; ++s) {
    for (const char* path : kSegments[s].paths) {
      patterns.push_back({s, path, std::regex(path)});
    }
  }
  std::vector<size_t> segments;
  for (const Register& reg : registers) {
    size_t i = 0;
    while (!std::regex_match(reg.path, patterns[i].regex)) {
      ++i;
    }
    patterns[i].used = true;
    segments.push_back(patterns[i].segment);
  }
  for (const Pattern& pattern : patterns) {
    if (!pattern.used) {
      fmt::print(stderr, "no register is {}\n", pattern.path);
      segments.clear();
    }
  }
  return segments;
}

enum Outcome { kHarmless, kRecut, kDetected, kSilent, kOutcomes };
const char* const kOutcomeNames[] = {"harmless", "recut", "detected", "silent"};

using Records = std::vector<std::pair<std::string, std::string>>;

// All records of the tables, in order; false if they cannot be read.
bool ReadRecords(const std::vector<OwnedOutput>& tables, const BlockSum& sum, Records* records) {
  for (const OwnedOutput& table : tables) {
    uint64_t entries = 0;
    std::string index_buffer;
    std::string buffer;
    std::string_view contents;
    Block index;
    Compression stored_as;
    if (!ReadStoredBlock(table.image, table.index, &index_buffer, &contents).ok() ||
        !Block::Parse(contents, &index).ok()) {
      return false;
    }
    BlockIterator handles(index);
    for (handles.SeekToFirst(); handles.Valid(); handles.Next()) {
      BlockHandle handle;
      std::string_view value = handles.value();
      Block block;
      if (!handle.ReadFrom(&value) ||
          !ReadStoredBlock(table.image, handle, &buffer, &contents, &stored_as, nullptr, sum)
               .ok() ||
          !Block::Parse(contents, &block).ok()) {
        return false;
      }
      BlockIterator it(block);
      uint32_t restarts = 0;  // met as entries
      for (it.SeekToFirst(); it.Valid(); it.Next()) {
        restarts += restarts < block.restarts() && block.restart(restarts) == it.offset();
        records->emplace_back(it.key(), it.value());
        ++entries;
      }
      if (!it.status().ok() || restarts != block.restarts()) {
        return false;
      }
    }
    if (!handles.status().ok() || entries != table.entries) {
      return false;
    }
  }
  return true;
}

// Whether the filters, if any, are those of their blocks.
bool FiltersAreRight(const std::vector<OwnedOutput>& tables, uint32_t bits_per_key) {
  const auto check = [&](const OutputBlock& block) {
    std::vector<uint32_t> hashes;
    for (const PlainRecord& record : DecodePlainBlock(block.stored)) {
      hashes.push_back(BloomHash(record.user_key));
    }
    std::string right;
    if (bits_per_key > 0) {
      AppendBloomFilter(hashes, static_cast<int>(bits_per_key), &right);
    }
    return block.filter == right ? Status() : Status::Corruption("a filter of other keys");
  };
  return std::all_of(tables.begin(), tables.end(), [&](const OwnedOutput& table) {
    return ForEachBlock(table.AsOutput(), check).ok();
  });
}

uint64_t Tombstones(const std::vector<OwnedOutput>& tables) {
  uint64_t n = 0;
  for (const OwnedOutput& table : tables) {
    n += table.tombstones;
  }
  return n;
}

struct Tally {
  size_t segment = 0;
  size_t bits = 0;
  size_t count[kOutcomes] = {};
};

struct Flip {
  size_t reg = 0;
  size_t bit = 0;
  uint64_t cycle = 0;  // of the job
};

DeviceInfo AskedInfo() {
  RtlDeviceOptions options;
  options.memory.bytes = 16 << 20;
  return MakeBareCard(options).unit->info();
}

// The same table with values that repeat themselves.
TableImage Repetitive(const TableImage& table, const TableImageOptions& options) {
  TableImageBuilder builder(options);
  for (const PlainRecord& record : DecodePlainTable(table.file, table.index)) {
    std::string key = record.user_key;
    PutFixed64(&key, record.trailer);
    const std::string half = record.value.substr(0, record.value.size() / 2);
    builder.Add(key, half + half);
  }
  return builder.Finish();
}

// Inputs with all that a record can meet: several blocks and tables, shared prefixes, versions,
// deletions, empty values; and of a unit that decodes Snappy, most of them are compressed. One that
// makes filters is asked for them, and one that compresses for that, of values that repeat
// themselves.
GeneratedTask MakeTask() {
  GeneratorOptions shape;
  shape.seed = 7;
  shape.runs = 2;
  shape.records = 120;
  shape.user_key_bytes = {4, 40};
  shape.value_bytes = {0, 90};
  shape.key_shape = KeyShape::kTree;
  shape.duplicate_percent = 15;
  shape.delete_percent = 10;
  shape.table.block_bytes = 700;
  shape.table.restart_interval = 4;
  shape.table_bytes = 3000;
  shape.bottommost = true;
  GeneratedTask generated = GenerateTask(shape);
  const DeviceInfo info = AskedInfo();
  generated.task.bloom_bits_per_key = info.bloom ? 10 : 0;
  generated.task.compress = info.compressors > 0;
  if (info.snappy || info.compressors > 0) {
    shape.table.compression = info.snappy ? Compression::kSnappy : Compression::kNone;
    size_t number = 0;
    for (auto& run : generated.images) {
      for (TableImage& table : run) {
        if (number++ % 3 != 2) {
          table = Repetitive(table, shape.table);
        }
      }
    }
    generated.Refer();
  }
  if (info.xxh3) {
    std::mt19937_64 bases(7);
    generated.UseXxh3(bases);
  }
  generated.task.block_bytes = 900;
  generated.task.table_bytes = 4000;
  return generated;
}

// For people: how far silent corruption goes.
std::string FirstDifference(const Records& records, const Records& expected) {
  if (records.size() != expected.size()) {
    return fmt::format("; {} records instead of {}", records.size(), expected.size());
  }
  size_t first = records.size();
  size_t differ = 0;
  for (size_t i = records.size(); i-- > 0;) {
    if (records[i] != expected[i]) {
      first = i;
      ++differ;
    }
  }
  return fmt::format("; {} records differ, from record {} on, in its {}", differ, first,
                     records[first].first != expected[first].first ? "key" : "value");
}

class Campaign {
 public:
  Campaign() : task_(MakeTask()) {
    const MergeResult result = CpuExecutor().Run(task_.task, CollectInto(&expected_));
    ok_ = result.ok();
    std::string unused;
    ok_ = ok_ && Run(nullptr, &unused) == kHarmless;
    cycles_ = ran_;
  }

  bool ok() const { return ok_; }
  uint64_t cycles() const { return cycles_; }
  const std::vector<Register>& registers() const { return registers_; }

  // `*how`: by what a flip was detected, or where a silent one shows.
  Outcome Run(const Flip* flip, std::string* how) {
    RtlDeviceOptions options;
    options.memory.bytes = 16 << 20;
    options.hang_cycles = 2000;
    options.job_cycles = cycles_ == 0 ? UINT64_MAX : 4 * cycles_;
    options.progress_cycles = 1;
    ran_ = 0;
    options.progress = [&](uint64_t, uint64_t) {
      if (flip != nullptr && ran_ == flip->cycle) {
        registers_[flip->reg].Flip(flip->bit);
      }
      ++ran_;
    };
    BareCard card = MakeBareCard(options);
    registers_ = Registers(*card.context);
    DeviceExecutor executor(std::move(card.unit));
    std::vector<OwnedOutput> outputs;
    const MergeResult result = executor.Run(task_.task, CollectInto(&outputs));
    if (!result.ok()) {
      // Without the figures that a text ends with or contains.
      *how = std::regex_replace(result.status == MergeStatus::kDevice
                                    ? result.error.ToString()
                                    : std::string(MergeStatusText(result.status)),
                                std::regex("\\b[0-9a-f]*[0-9][0-9a-f]*\\b"), "#");
      return kDetected;
    }
    const Status same = CompareOutputs(outputs, expected_);
    *how = same.ToString();
    if (same.ok()) {
      return kHarmless;
    }
    Records records;
    Records expected;
    const BlockSum sum{task_.task.checksum, task_.task.checksum_base};
    if (!ReadRecords(expected_, sum, &expected) || !ReadRecords(outputs, sum, &records)) {
      return kSilent;
    }
    if (records != expected) {
      *how += FirstDifference(records, expected);
      return kSilent;
    }
    return Tombstones(outputs) == Tombstones(expected_) &&
                   FiltersAreRight(outputs, task_.task.bloom_bits_per_key)
               ? kRecut
               : kSilent;
  }

 private:
  GeneratedTask task_;
  std::vector<OwnedOutput> expected_;
  std::vector<Register> registers_;  // of the model at hand
  uint64_t cycles_ = 0;
  uint64_t ran_ = 0;
  bool ok_ = false;
};

void PrintRow(const std::string& name, const Tally& tally) {
  fmt::print("| {} | {} | {} |", name, tally.bits,
             tally.count[0] + tally.count[1] + tally.count[2] + tally.count[3]);
  for (const size_t count : tally.count) {
    fmt::print(" {} |", count);
  }
  fmt::print("\n");
}

// 1 if something was silent.
int Report(const std::map<std::string, Tally>& tallies,
           const std::map<std::string, size_t>& detected_by, bool verbose) {
  const auto header = [](const char* first) {
    fmt::print(
        "\n| {} | bits | flips | harmless | recut | detected | silent |\n"
        "|---|---|---|---|---|---|---|\n",
        first);
  };
  Tally total[kSegmentCount] = {};
  header("register or memory");
  for (const auto& [path, tally] : tallies) {
    total[tally.segment].bits += tally.bits;
    for (size_t i = 0; i < kOutcomes; ++i) {
      total[tally.segment].count[i] += tally.count[i];
    }
    if (tally.count[kSilent] != 0 || verbose) {
      PrintRow(fmt::format("`{}`", path), tally);
    }
  }
  header("part");
  int result = 0;
  for (size_t i = 0; i < kSegmentCount; ++i) {
    PrintRow(kSegments[i].name, total[i]);
    result |= total[i].count[kSilent] != 0;
  }
  fmt::print("\n");
  for (const auto& [how, count] : detected_by) {
    fmt::print("{:6} detected: {}\n", count, how);
  }
  return result;
}

int Main(uint64_t flips, const std::string& only, bool verbose) {
  Campaign campaign;
  if (!campaign.ok()) {
    fmt::print(stderr, "the job fails without any flip\n");
    return 1;
  }
  const std::vector<size_t> segments = SegmentsOf(campaign.registers());
  if (segments.empty()) {
    return 1;
  }
  std::map<std::string, Tally> tallies;  // by path
  std::vector<size_t> targets[kSegmentCount];
  std::vector<size_t> chosen;
  const std::regex wanted(only);
  for (size_t i = 0; i < campaign.registers().size(); ++i) {
    const Register& reg = campaign.registers()[i];
    Tally& tally = tallies[reg.path];
    tally.segment = segments[i];
    tally.bits += reg.bits();
    targets[tally.segment].push_back(i);
    if (!only.empty() && std::regex_match(reg.path, wanted)) {
      chosen.push_back(i);
    }
  }
  if (!only.empty() && chosen.empty()) {
    fmt::print(stderr, "no register is {}\n", only);
    return 1;
  }
  const uint64_t seed = TestSeed();
  fmt::print("SLUICE_SEED={}: {} flips over {} registers, in a job of {} cycles\n", seed, flips,
             campaign.registers().size(), campaign.cycles());
  std::mt19937_64 rng(seed);
  std::map<std::string, size_t> detected_by;
  for (uint64_t n = 0; n < flips; ++n) {
    Flip flip;
    const size_t parts = kSegmentCount - 1;  // of the data path
    const std::vector<size_t>& part =
        !only.empty() ? chosen : targets[n % 2 != 0 ? parts : n / 2 % parts];
    flip.reg = part[rng() % part.size()];
    const Register reg = campaign.registers()[flip.reg];
    flip.bit = rng() % reg.bits();
    flip.cycle = rng() % campaign.cycles();
    std::string how;
    const Outcome outcome = campaign.Run(&flip, &how);
    Tally& tally = tallies[reg.path];
    ++tally.count[outcome];
    if (outcome == kDetected) {
      ++detected_by[how];
    }
    if (outcome == kSilent || verbose) {
      fmt::print("{}: {} bit {} of {}, cycle {}: {}\n", kOutcomeNames[outcome], reg.path, flip.bit,
                 reg.bits(), flip.cycle, how);
    }
  }
  return Report(tallies, detected_by, verbose);
}

}  // namespace
}  // namespace sluice::dv

int main(int argc, char** argv) {
  uint64_t flips = 300;
  std::string only;
  bool verbose = false;
  CLI::App app("Single bit flips in the unit, and what becomes of them");
  app.add_option("--flips", flips, "How many")->capture_default_str();
  app.add_option("--only", only, "Of registers whose path matches this regular expression")
      ->type_name("REGEX");
  app.add_flag("--verbose", verbose, "Every flip, and every register");
  CLI11_PARSE(app, argc, argv);
  return sluice::dv::Main(flips, only, verbose);
}
