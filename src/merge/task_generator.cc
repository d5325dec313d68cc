#include "merge/task_generator.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>

namespace sluice {

namespace {

struct Draft {
  uint64_t key_offset;  // in the pool of keys
  uint32_t key_bytes;
  uint32_t run;
  uint64_t trailer;
};

// Makes the records of all runs, then one table after another.
class Generator {
 public:
  explicit Generator(const GeneratorOptions& options) : options_(options), random_(options.seed) {}

  GeneratedTask Generate() {
    MakeValuePool();
    Draw();
    Sort();
    if (options_.interleave == Interleave::kOneRunFirst) {
      const uint64_t n = drafts_.size();
      for (uint64_t i = 0; i < n; ++i) {
        drafts_[i].run = static_cast<uint32_t>(i * options_.runs / n);
      }
    }
    BuildRuns();
    MergeTask& task = result_.task;
    task.snapshots = options_.snapshots;
    task.bottommost = options_.bottommost;
    task.block_bytes = options_.table.block_bytes;
    task.table_bytes = options_.table_bytes;
    task.restart_interval = options_.table.restart_interval;
    result_.Refer();
    return std::move(result_);
  }

 private:
  // [0, n); the bias of the modulus does not matter here.
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Percent(uint32_t percent) { return Below(100) < percent; }
  uint32_t Length(const LengthRange& range) {
    return range.min + static_cast<uint32_t>(Below(uint64_t{range.max} - range.min + 1));
  }

  std::string_view Key(const Draft& draft) const {
    return std::string_view(keys_).substr(draft.key_offset, draft.key_bytes);
  }

  // Values are cuts of one pool, whose bytes repeat about as db_bench's do: Snappy halves them.
  void MakeValuePool() {
    pool_cuts_ = options_.records < 10000 ? 1 << 14 : 1 << 20;
    value_pool_.reserve(pool_cuts_ + options_.value_bytes.max);
    while (value_pool_.size() < pool_cuts_ + options_.value_bytes.max) {
      char piece[100];
      for (char& c : piece) {
        c = static_cast<char>(' ' + Below(95));
      }
      const size_t half = sizeof(piece) / 2;
      std::copy(piece, piece + half, piece + half);
      value_pool_.append(piece, sizeof(piece));
    }
  }

  void DrawDecimalKey(uint32_t bytes, uint64_t number) {
    const uint64_t n = number * 8 + Below(8);
    std::string digits = std::to_string(n);
    if (digits.size() < bytes) {
      keys_.append(bytes - digits.size(), '0');
      keys_.append(digits);
    } else {
      keys_.append(digits, digits.size() - bytes, bytes);
    }
  }

  void DrawTreeKey(uint32_t bytes) {
    static constexpr char kAlphabet[] = {'\0', 'a', 'b', '\xff'};
    std::string key;
    if (!drafts_.empty()) {
      key = Key(drafts_[drafts_.size() - 1 - Below(std::min<size_t>(drafts_.size(), 50))]);
      key.resize(std::min<size_t>(Below(key.size() + 1), bytes));
    }
    while (key.size() < bytes) {
      key.push_back(kAlphabet[Below(std::size(kAlphabet))]);
    }
    keys_.append(key);
  }

  void DrawKey(Draft* draft, uint64_t number) {
    draft->key_offset = keys_.size();
    draft->key_bytes = Length(options_.user_key_bytes);
    switch (options_.key_shape) {
      case KeyShape::kDecimal:
        return DrawDecimalKey(draft->key_bytes, number);
      case KeyShape::kTree:
        return DrawTreeKey(draft->key_bytes);
      case KeyShape::kRandom:
        for (uint32_t i = 0; i < draft->key_bytes; ++i) {
          keys_.push_back(static_cast<char>(random_()));
        }
    }
  }

  // Without references, what a seed generates is what it was before there were any.
  RecordType DrawType() {
    if (Percent(options_.delete_percent)) {
      return RecordType::kDeletion;
    }
    const bool reference = options_.reference_percent > 0 && Percent(options_.reference_percent);
    return reference ? kTypeValueReference : RecordType::kValue;
  }

  void Draw() {
    std::vector<SequenceNumber> sequences(options_.records);
    std::iota(sequences.begin(), sequences.end(), 1);
    for (size_t i = sequences.size(); i > 1; --i) {
      std::swap(sequences[i - 1], sequences[Below(i)]);
    }
    drafts_.reserve(options_.records);
    for (uint64_t i = 0; i < options_.records; ++i) {
      Draft draft{};
      draft.run = static_cast<uint32_t>(Below(options_.runs));
      draft.trailer = MakeTrailer(sequences[i], DrawType());
      if (i > 0 && Percent(options_.duplicate_percent)) {
        const Draft& other = drafts_[Below(i)];
        draft.key_offset = other.key_offset;
        draft.key_bytes = other.key_bytes;
      } else if (i > 0 && options_.runs > 1 && Percent(options_.clone_percent)) {
        const Draft& other = drafts_[Below(i)];
        draft = other;
        draft.run = (other.run + 1) % options_.runs;
      } else {
        DrawKey(&draft, i);
      }
      drafts_.push_back(draft);
    }
  }

  // Sorts by internal key, then run. Only one of the clones that meet in a run can stay.
  void Sort() {
    std::stable_sort(drafts_.begin(), drafts_.end(), [this](const Draft& a, const Draft& b) {
      if (const int order = Key(a).compare(Key(b)); order != 0) {
        return order < 0;
      }
      return a.trailer != b.trailer ? a.trailer > b.trailer : a.run < b.run;
    });
    const auto same = [this](const Draft& a, const Draft& b) {
      return (a.run == b.run || options_.interleave == Interleave::kOneRunFirst) &&
             a.trailer == b.trailer && Key(a) == Key(b);
    };
    drafts_.erase(std::unique(drafts_.begin(), drafts_.end(), same), drafts_.end());
  }

  void BuildRuns() {
    result_.images.resize(options_.runs);
    std::vector<TableImageBuilder> builders(options_.runs, TableImageBuilder(options_.table));
    std::vector<bool> open(options_.runs, false);
    std::string key;
    for (const Draft& draft : drafts_) {
      TableImageBuilder& builder = builders[draft.run];
      if (builder.finished_bytes() >= options_.table_bytes) {
        result_.images[draft.run].push_back(builder.Finish());
      }
      key.assign(Key(draft));
      PutFixed64(&key, draft.trailer);
      std::string_view value;
      if (TrailerType(draft.trailer) != static_cast<uint8_t>(RecordType::kDeletion)) {
        const uint32_t bytes = Length(options_.value_bytes);
        value = std::string_view(value_pool_).substr(Below(pool_cuts_), bytes);
      }
      builder.Add(key, value);
      open[draft.run] = true;
      result_.raw_bytes += key.size() + value.size();
    }
    for (uint32_t run = 0; run < options_.runs; ++run) {
      if (open[run]) {
        result_.images[run].push_back(builders[run].Finish());
      }
    }
  }

  const GeneratorOptions& options_;
  std::mt19937_64 random_;
  std::string keys_;
  std::string value_pool_;
  uint64_t pool_cuts_ = 0;  // places in it where a value may begin
  std::vector<Draft> drafts_;
  GeneratedTask result_;
};

}  // namespace

void GeneratedTask::Refer() {
  task.runs.assign(images.size(), {});
  for (size_t run = 0; run < images.size(); ++run) {
    for (const TableImage& image : images[run]) {
      task.runs[run].push_back({image.file, image.index, image.sum.base});
    }
  }
}

void GeneratedTask::UseXxh3(std::mt19937_64& random) {
  const bool with_bases = random() % 4 != 0;
  const auto base = [&] { return with_bases ? static_cast<uint32_t>(random() | 1) : 0; };
  for (auto& run : images) {
    for (TableImage& image : run) {
      image.Reseal({BlockChecksum::kXxh3, base()});
    }
  }
  task.checksum = BlockChecksum::kXxh3;
  task.checksum_base = base();
  Refer();
}

GeneratedTask GenerateTask(const GeneratorOptions& options) {
  return Generator(options).Generate();
}

std::vector<SequenceNumber> DrawSnapshots(std::mt19937_64& random, size_t count,
                                          SequenceNumber most) {
  std::set<SequenceNumber> drawn;
  do {
    drawn.insert(random() % (most + 1));
  } while (drawn.size() < count && random() % (4 * count) != 0);
  return {drawn.begin(), drawn.end()};
}

}  // namespace sluice
