// What people store, drawn at random: keys that cluster, and values of very different sizes beside
// each other. What a compaction may copy, reuse or must merge depends on how keys of one run lie
// between those of another, and on how many records fill a block or an extent; keys drawn uniformly
// and values of one size leave most of these cases out.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/test_units.h"
#include "sluice/options.h"
#include "table/testing.h"

namespace sluice {

// The keys of one sub-table.
class KeySpace {
 public:
  enum class Shape {
    kUniform,  // few or many letters, short keys
    kTree,     // "NN/NNN/NNNN", written in bursts below one node
    kSeries,   // append-only series, each in bursts
    kHot,      // a few prefixes get most writes
    kDense,    // consecutive numbers; what is not drawn makes gaps
    kLong,     // long common prefixes
    kBehind,   // many with no key between them: one is the other with a zero byte behind it
  };
  static constexpr int kShapes = 7;

  explicit KeySpace(TestRandom* random)
      : KeySpace(static_cast<Shape>(Uniform(random, 0, kShapes - 1)), random) {}
  KeySpace(Shape shape, TestRandom* random)
      : shape_(shape),
        letters_(Uniform(random, 2, 30)),
        most_bytes_(Uniform(random, 1, 12)),
        fan_out_(Uniform(random, 2, 40)),
        numbers_(Uniform(random, 50, 3000)),
        most_in_burst_(Uniform(random, 1, 60)),
        ends_(Uniform(random, 2, 60)) {}

  // The key of the next write.
  std::string Next(TestRandom* random) {
    if (in_burst_ == 0) {
      in_burst_ = Uniform(random, 1, most_in_burst_);
      group_ = Uniform(random, 0, ends_.size() - 1);
      parent_ = Uniform(random, 0, fan_out_ - 1);
    }
    --in_burst_;
    if (shape_ == Shape::kSeries) {
      return SeriesKey(group_, ends_[group_]++);
    }
    return Draw(random, /*in_burst=*/true);
  }

  // A key to look for, to delete, or to end a range at; of one that was written, if not always.
  std::string Any(TestRandom* random) const {
    if (shape_ == Shape::kSeries) {
      const size_t series = Uniform(random, 0, ends_.size() - 1);
      return SeriesKey(series, Uniform(random, 0, ends_[series]));
    }
    return Draw(random, /*in_burst=*/false);
  }

 private:
  static std::string SeriesKey(size_t series, uint64_t at) {
    return fmt::format("series{:02}/{:08}", series, at);
  }

  std::string Draw(TestRandom* random, bool in_burst) const {
    switch (shape_) {
      case Shape::kTree: {
        const uint64_t parent = in_burst ? parent_ : Uniform(random, 0, fan_out_ - 1);
        const uint64_t top = (in_burst ? group_ : Uniform(random, 0, ends_.size() - 1)) % 8;
        return fmt::format("{:02}/{:03}/{:04}", top, parent, Uniform(random, 0, fan_out_ - 1));
      }
      case Shape::kHot:
        if (Uniform(random, 0, 9) != 0) {
          return fmt::format("hot{}/{:04}", Uniform(random, 0, 2), SkewedSize(random, numbers_));
        }
        return fmt::format("{:03}/{:04}", Uniform(random, 0, 99), Uniform(random, 0, numbers_));
      case Shape::kDense:
        return fmt::format("k{:05}", Uniform(random, 0, numbers_));
      case Shape::kLong: {
        // Rarely as long as a key may be.
        const size_t prefix = Uniform(random, 0, 2000) == 0 ? 65000 : 100 << Uniform(random, 0, 3);
        return std::string(prefix, 'p') + fmt::format("{:05}", Uniform(random, 0, numbers_));
      }
      case Shape::kBehind:
        return fmt::format("{:03}", SkewedSize(random, numbers_)) +
               std::string(Uniform(random, 0, fan_out_), '\0');
      default: {
        std::string key(Uniform(random, 0, most_bytes_), ' ');
        for (char& c : key) {
          c = static_cast<char>('a' + Uniform(random, 0, letters_ - 1));
        }
        return key;
      }
    }
  }

  Shape shape_;
  uint64_t letters_;
  size_t most_bytes_;
  uint64_t fan_out_;
  uint64_t numbers_;
  uint64_t most_in_burst_;
  std::vector<uint64_t> ends_;  // of each series, the number of its next key
  uint64_t in_burst_ = 0;       // writes that still belong to the burst
  size_t group_ = 0;            // series, or top of the tree, of the burst
  uint64_t parent_ = 0;         // node of the tree of the burst
};

// The values of one database: sizes of several kinds in proportions that it draws for itself, some
// that compress and some that do not.
class ValueSpace {
 public:
  ValueSpace(TestRandom* random, size_t most_bytes) : most_bytes_(most_bytes) {
    for (uint64_t& weight : weights_) {
      weight = Uniform(random, 0, 2) == 0 ? 0 : 1 << Uniform(random, 0, 6);
    }
    weights_[kSmall] += 1;
    // The largest are few, so that a database stays small.
    weights_[kLarge] = Uniform(random, 0, 1);
    for (const uint64_t weight : weights_) {
      total_ += weight;
    }
    noise_ = Uniform(random, 0, 3);
  }

  std::string Next(TestRandom* random) const {
    std::string value(Size(random), static_cast<char>('a' + Uniform(random, 0, 25)));
    // A quarter of noise and more does not compress by the 4:1 that all else does.
    const size_t noise = value.size() * noise_ / 4;
    for (size_t i = 0; i < noise; i += 8) {
      const uint64_t bits = (*random)();
      std::copy_n(reinterpret_cast<const char*>(&bits), std::min<size_t>(8, noise - i),
                  value.begin() + static_cast<ptrdiff_t>(i));
    }
    // No two values alike, as far as there is room: a version too old shows.
    const std::string number = std::to_string((*random)());
    std::copy_n(number.begin(), std::min(number.size(), value.size()), value.begin());
    return value;
  }

 private:
  enum Kind { kEmpty, kSmall, kMedium, kBlock, kLarge, kKinds };

  size_t Size(TestRandom* random) const {
    uint64_t at = Uniform(random, 0, total_ - 1);
    int kind = 0;
    while (at >= weights_[kind]) {
      at -= weights_[kind++];
    }
    switch (kind) {
      case kEmpty:
        return 0;
      case kSmall:
        return std::min<size_t>(most_bytes_, Uniform(random, 1, 100));
      case kMedium:
        return SkewedSize(random, std::min<size_t>(most_bytes_, 3000));
      case kBlock:  // one or two records fill a block of some size
        return std::min<size_t>(most_bytes_,
                                (256 << Uniform(random, 0, 6)) + Uniform(random, 0, 9));
      default:
        return SkewedSize(random, most_bytes_);
    }
  }

  size_t most_bytes_;
  uint64_t weights_[kKinds];
  uint64_t total_ = 0;
  uint64_t noise_;  // quarters of a value
};

// Options with sizes so small that flushes and compactions never end; level_paths are the caller's.
inline Options RandomOptions(TestRandom* random) {
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 16384 << Uniform(random, 0, 5);
  options.max_waiting_memtables = Uniform(random, 1, 4);
  options.row_cache_bytes = Uniform(random, 0, 2) * 16384;
  options.block_cache_bytes = Uniform(random, 0, 3) * 65536;
  options.write_queues = Uniform(random, 1, 3);
  options.table_cache_bytes = Uniform(random, 0, 1) * 65536;
  options.extent_bytes = 8192 << Uniform(random, 0, 6);
  options.block_bytes = std::min<uint32_t>(256 << Uniform(random, 0, 6), options.extent_bytes);
  options.restart_interval = static_cast<uint32_t>(1 << Uniform(random, 0, 5));
  options.compression = RandomCompression(random);
  for (uint64_t level = Uniform(random, 0, 3); level > 0; --level) {
    options.compression_per_level.push_back(RandomCompression(random));
  }
  options.zstd_level = static_cast<int>(Uniform(random, 1, 4));
  options.zstd_dictionary_bytes =
      Uniform(random, 0, 1) != 0
          ? std::min<uint32_t>(256 << Uniform(random, 0, 4), options.extent_bytes / 8)
          : 0;
  options.separate_value_bytes = Uniform(random, 0, 2) == 0 ? 0 : 8 << Uniform(random, 0, 10);
  options.bloom_bits_per_key = Uniform(random, 0, 1) != 0 ? 10 : 0;
  options.prefix_bytes = static_cast<uint32_t>(Uniform(random, 0, 6));
  options.l0_compaction_runs = Uniform(random, 2, 5);
  options.l0_slowdown_runs = 8;
  options.l0_stop_runs = 12;
  options.l1_bytes = 32768 << Uniform(random, 0, 6);
  options.deletion_share = Uniform(random, 0, 1) != 0 ? 0.5 : 0.1;
  if (Uniform(random, 0, 1) != 0) {
    std::shuffle(options.compaction_order.begin(), options.compaction_order.end(), *random);
  }
  options.task_bytes = 16384 << Uniform(random, 0, 6);
  options.compaction_bytes = 16384 << Uniform(random, 0, 10);
  options.compaction_threads = Uniform(random, 1, 4);
  options.flush_threads = Uniform(random, 1, 3);
  if (Uniform(random, 0, 3) == 0) {
    options.background_bytes_per_second = uint64_t{16} << 20;
  }
  options.log_segment_bytes = 65536 << Uniform(random, 0, 4);
  if (Uniform(random, 0, 7) == 0) {
    const double faults = Uniform(random, 0, 1) != 0 ? 0.3 : 0;
    options.executors = TestUnits("model", faults, (*random)());
    options.always_offload = Uniform(random, 0, 3) != 0;
    options.offload = Uniform(random, 0, 7) != 0;
  }
  if (Uniform(random, 0, 2) != 0) {
    options.max_space_amplification = Uniform(random, 0, 1) != 0 ? 0 : 1.1;
  }
  return options;
}

// Some of those that `options` permits.
inline SubtableOptions RandomSubtableOptions(TestRandom* random, const Options& options) {
  Options drawn = RandomOptions(random);
  SubtableOptions own;
  const auto some = [&](auto* option, const auto& value) {
    if (Uniform(random, 0, 2) == 0) {
      *option = value;
    }
  };
  some(&own.block_bytes, std::min(drawn.block_bytes, options.extent_bytes));
  some(&own.compression, drawn.compression);
  some(&own.compression_per_level, drawn.compression_per_level);
  some(&own.zstd_level, drawn.zstd_level);
  const uint32_t dictionary = std::min(drawn.zstd_dictionary_bytes, options.extent_bytes / 8);
  some(&own.zstd_dictionary_bytes, dictionary);
  some(&own.bloom_bits_per_key, drawn.bloom_bits_per_key);
  some(&own.prefix_bytes, drawn.prefix_bytes);
  some(&own.separate_value_bytes, drawn.separate_value_bytes);
  some(&own.offload, Uniform(random, 0, 1) != 0);
  std::vector<uint32_t> tiers(Uniform(random, 0, 3));
  std::generate(tiers.begin(), tiers.end(),
                [&] { return static_cast<uint32_t>(Uniform(random, 0, 2)); });
  some(&own.level_tiers, tiers);
  return own;
}

}  // namespace sluice
