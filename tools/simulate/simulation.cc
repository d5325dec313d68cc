#include "simulate/simulation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "mem/memtable.h"

namespace sluice::simulate {

namespace {

constexpr size_t kSamples = 400;
constexpr size_t kKeysPerSample = 250;
// What a batch of one record takes in the log: its own header, and the record's type and lengths.
constexpr uint64_t kLogRecordBytes = 16;

// What records take of a memtable.
struct MemtableCost {
  double of_new = 0;     // a record of another key
  double of_update = 0;  // and one of a key that is there
};

// Fills a real one with records of so many keys, in order if the writes are. Returns what each took.
double FillMemtable(const Settings& settings, uint64_t keys) {
  const bool in_order = settings.distribution.kind == Distribution::Kind::kSequential;
  constexpr size_t kEnough = size_t{64} << 20;
  const size_t bytes = std::min(settings.options.memtable_bytes, kEnough);
  Memtable memtable(settings.options.memtable_bytes);
  const std::string value(settings.record.value_bytes, 'v');
  std::mt19937_64 random(1);
  std::vector<uint64_t> numbers;
  std::string key;
  while (memtable.memory_bytes() < bytes) {
    const uint64_t records = memtable.records();
    if (numbers.size() < keys) {
      numbers.push_back(in_order ? __builtin_bswap64(numbers.size()) : random());
    }
    key.clear();
    PutFixed64(&key, numbers[records % keys]);
    key.resize(settings.record.key_bytes, 'k');
    memtable.Add(records + 1, RecordType::kValue, key, value);
  }
  return static_cast<double>(bytes) / static_cast<double>(memtable.records());
}

MemtableCost CostOf(const Settings& settings) {
  if (settings.policy == Policy::kSluice) {
    return {FillMemtable(settings, ~uint64_t{0}), FillMemtable(settings, 100)};
  }
  // A node of RocksDB's skiplist for each version: measured with 16 and 100 bytes.
  constexpr uint64_t kNodeBytes = 33;
  const auto bytes = static_cast<double>(settings.record.bytes() + kNodeBytes);
  return {bytes, bytes};
}

class Simulation {
 public:
  Simulation(const Settings& settings, Report* report)
      : settings_(settings),
        report_(*report),
        keys_(std::max<uint64_t>(1, settings.data_bytes / settings.record.bytes())),
        writes_(keys_ + static_cast<uint64_t>(static_cast<double>(keys_) * settings.overwrites)),
        model_(settings.distribution, keys_),
        shape_(settings.options, settings.record),
        cost_(CostOf(settings)),
        tree_(MakeTree(settings.policy, settings.options, settings.record, &model_, &shape_)) {}

  Status Run(const std::function<void(uint64_t done, uint64_t total)>& progress);

 private:
  // What the next memtable gets.
  Written NextMemtable() const;
  Status Flush();
  void TakeSample(uint64_t flushes_before);
  void Finish();
  // The size of tables that hold each key written so far once.
  double LiveBytes() const {
    return static_cast<double>(std::min(keys_, written_)) /
           static_cast<double>(shape_.extent_records()) *
           static_cast<double>(shape_.BytesOf(shape_.extent_records()));
  }

  const Settings& settings_;
  Report& report_;
  const uint64_t keys_;
  const uint64_t writes_;
  const KeyModel model_;
  const TableShape shape_;
  const MemtableCost cost_;
  const std::unique_ptr<Tree> tree_;
  uint64_t written_ = 0;  // records
  double debt_ = 0;       // the most since the last sample
  TreeCounters at_sample_;
  std::mt19937_64 random_{2};
};

Written Simulation::NextMemtable() const {
  const auto memtable_bytes = static_cast<double>(settings_.options.memtable_bytes);
  const auto most = static_cast<uint64_t>(std::ceil(memtable_bytes / cost_.of_new));
  const uint64_t left = writes_ - written_;
  if (settings_.distribution.kind == Distribution::Kind::kSequential) {
    return {std::min({most, left, keys_ - written_ % keys_}), 0};
  }
  const uint64_t once = written_ < keys_ ? std::min(most, keys_ - written_) : 0;
  if (once == most) {
    return {once, 0};
  }
  const auto fills = [&](uint64_t draws) {
    const double distinct = model_.Distinct({once, draws});
    return distinct * cost_.of_new +
               (static_cast<double>(once + draws) - distinct) * cost_.of_update >=
           memtable_bytes;
  };
  uint64_t low = 0;
  uint64_t high = left - once;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (fills(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {once, low};
}

Status Simulation::Flush() {
  const Written next = NextMemtable();
  if (settings_.distribution.kind == Distribution::Kind::kSequential) {
    // All keys of an interval.
    const auto position = [&](uint64_t key) {
      return static_cast<Key>(static_cast<unsigned __int128>(kKeySpace) * key / keys_);
    };
    const uint64_t first = written_ % keys_;
    SLUICE_RETURN_IF_ERROR(tree_->Flush(position(first), position(first + next.once), {keys_, 0}));
  } else {
    SLUICE_RETURN_IF_ERROR(tree_->Flush(0, kKeySpace, next));
  }
  written_ += next.once + next.draws;
  debt_ = std::max(debt_, tree_->Debt());
  bool was_due = true;
  while (was_due) {
    SLUICE_RETURN_IF_ERROR(tree_->Compact(&was_due));
  }
  if (const uint64_t most = tree_->TakeMostDiskBytes(); written_ >= keys_ / 2) {
    report_.most_space = std::max(report_.most_space, static_cast<double>(most) / LiveBytes());
  }
  return {};
}

void Simulation::TakeSample(uint64_t user_bytes) {
  Sample sample{.user_bytes = user_bytes, .debt = std::exchange(debt_, 0)};
  std::uniform_int_distribution<Key> keys(0, kKeySpace - 1);
  for (size_t i = 0; i < kKeysPerSample; ++i) {
    const size_t runs = tree_->RunsAt(keys(random_));
    sample.mean_runs += static_cast<double>(runs) / kKeysPerSample;
    sample.most_runs = std::max<uint64_t>(sample.most_runs, runs);
  }
  const TreeCounters& now = tree_->counters();
  sample.write_amplification = now.WriteAmplification();
  sample.recent_write_amplification =
      1 + static_cast<double>(now.compaction_bytes - at_sample_.compaction_bytes) /
              static_cast<double>(now.flush_bytes - at_sample_.flush_bytes);
  at_sample_ = now;
  sample.space = static_cast<double>(tree_->tables().disk_bytes()) / LiveBytes();
  report_.samples.push_back(sample);
}

Status Simulation::Run(const std::function<void(uint64_t done, uint64_t total)>& progress) {
  const uint64_t record = settings_.record.bytes();
  bool loading = true;
  size_t first_of_overwrites = 0;
  while (written_ < writes_) {
    progress(written_ * record, writes_ * record);
    SLUICE_RETURN_IF_ERROR(Flush());
    if (written_ >= (report_.samples.size() + 1) * writes_ / kSamples) {
      TakeSample(written_ * record);
    }
    if (loading && written_ >= keys_) {
      loading = false;
      report_.load = tree_->counters();
      first_of_overwrites = report_.samples.size();
    }
  }
  report_.keys = keys_;
  report_.flush_records =
      static_cast<uint64_t>(static_cast<double>(settings_.options.memtable_bytes) / cost_.of_new);
  report_.user_bytes = written_ * record;
  report_.log_bytes = written_ * (record + kLogRecordBytes);
  report_.all = tree_->counters();
  const uint64_t flushed = report_.all.flush_bytes - report_.load.flush_bytes;
  report_.overwrite_amplification =
      flushed == 0
          ? 0
          : 1 + static_cast<double>(report_.all.compaction_bytes - report_.load.compaction_bytes) /
                    static_cast<double>(flushed);
  if (first_of_overwrites == report_.samples.size()) {
    first_of_overwrites = 0;
  }
  for (size_t i = 0; i < report_.samples.size(); ++i) {
    const Sample& sample = report_.samples[i];
    report_.most_runs = std::max(report_.most_runs, sample.most_runs);
    report_.most_debt = std::max(report_.most_debt, sample.debt);
    if (i >= first_of_overwrites) {
      const auto samples = static_cast<double>(report_.samples.size() - first_of_overwrites);
      report_.mean_runs += sample.mean_runs / samples;
      report_.mean_space += sample.space / samples;
    }
  }
  Finish();
  return {};
}

void Simulation::Finish() {
  report_.disk_bytes = tree_->tables().disk_bytes();
  report_.extents = tree_->Extents();
  report_.metadata_bytes = tree_->MetadataBytes();
  report_.live_bytes = static_cast<uint64_t>(LiveBytes());
  const uint64_t bytes = tree_->Bytes();
  report_.dead_bytes = report_.disk_bytes > bytes ? report_.disk_bytes - bytes : 0;
}

}  // namespace

Status Simulate(const Settings& settings,
                const std::function<void(uint64_t done, uint64_t total)>& progress,
                Report* report) {
  *report = {};
  return Simulation(settings, report).Run(progress);
}

}  // namespace sluice::simulate
