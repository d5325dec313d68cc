#include "compaction/space_limit.h"

#include <algorithm>

#include "tree/value_extent.h"

namespace sluice {

namespace {

// Levels 0 and 1 may have so many hundredths of the last level's size. With more, the last level is
// written less often, but more space is taken by records that are there twice.
constexpr uint64_t kUpperHundredths = 13;

// Writers are slowed down over so much of a part. About a quarter of a part comes from levels 0 and
// 1, which is what becomes free at once when the part is done: were it all that writers had until
// they stop, they would stop for most of the time that a part takes.
constexpr uint64_t kSlowShare = 2;

// A part that merges small extents must leave fewer of them, or there would be no end to it.
constexpr uint64_t kLeastExtents = 4;

// Shares of what may be there beside live data.
constexpr uint64_t kPartShare = 4;    // all parts under way
constexpr uint64_t kSlicesShare = 4;  // what slices keep of other records
constexpr uint64_t kMovedShare = 8;   // values that are moved

// The most that garbage may be of value extents' bytes without a limit, and with any limit.
constexpr double kGarbageShare = 0.3;
constexpr double kMostGarbageShare = 0.5;
// Values are moved by a part of Options::compaction_bytes, because what is moved takes space twice
// until all of it is; but not less than so many bytes for each byte of the tables, which are
// rewritten for it.
constexpr uint64_t kPartMoved = 4;
constexpr uint64_t kValuesOfTables = 8;

uint64_t Minus(uint64_t a, uint64_t b) { return a - std::min(a, b); }

// That may compact one sub-table: a CompactRange brings one more.
uint64_t Threads(const Options& options) { return options.compaction_threads + 1; }

uint64_t Excess(const Options& options, uint64_t live_bytes) {
  return static_cast<uint64_t>(std::max(0.0, options.max_space_amplification - 1) *
                               static_cast<double>(live_bytes));
}

// The share of value extents that may be garbage: the limit leaves as much beside live data.
double GarbageShare(const Options& options) {
  return LimitsSpace(options) ? std::min(kMostGarbageShare, 1 - 1 / options.max_space_amplification)
                              : kGarbageShare;
}

// How much garbage value extents may have if so much of them is alive.
uint64_t GarbageBeside(const Options& options, uint64_t live_value_bytes) {
  const double share = GarbageShare(options);
  return static_cast<uint64_t>(share / (1 - share) * static_cast<double>(live_value_bytes));
}

// What is left for writers when a compaction becomes due.
uint64_t AheadBytes(const Version& version, const Options& options) {
  return FlushedBytes(options) + SlowBytes(version, options);
}

// What there may be beside live data, without garbage among values: what the limit says, or so much
// that levels 0 and 1 can have l1_bytes, lest a small database is written anew for every flush or two.
uint64_t Spare(const Version& version, const Options& options) {
  return std::max(
      Excess(options, version.space.live_bytes),
      options.l1_bytes + AheadBytes(version, options) + TransientBytes(version, options));
}

}  // namespace

uint64_t MostSpace(const Version& version, const Options& options) {
  if (!LimitsSpace(options)) {
    return ~uint64_t{0};
  }
  const uint64_t values = version.space.live_value_bytes;
  return version.space.live_bytes + Spare(version, options) + GarbageBeside(options, values);
}

uint64_t LeastPartBytes(const Options& options) { return kLeastExtents * options.extent_bytes; }

uint64_t PartBytes(const Version& version, const Options& options) {
  uint64_t bytes = options.compaction_bytes;
  if (LimitsSpace(options)) {
    // By the size of the last level, which changes slowly.
    bytes = std::min(
        bytes, Excess(options, version.LevelWeight(kLastLevel)) / kPartShare / Threads(options));
  }
  return std::max(bytes, LeastPartBytes(options));
}

uint64_t TransientBytes(const Version& version, const Options& options) {
  // A part ends within an extent of each run, which then keeps all its pages.
  uint64_t ends = 0;
  for (const auto& level : version.levels) {
    for (const Version::Run& run : level) {
      ends += std::min<uint64_t>(run.index.bytes(), options.extent_bytes);
    }
  }
  return Threads(options) * (PartBytes(version, options) + ends) +
         (version.values == nullptr ? 0 : MostValuesMoved(version, options));
}

uint64_t FlushedBytes(const Options& options) {
  return options.memtable_bytes +
         Threads(options) * std::min<uint64_t>(options.memtable_bytes, options.extent_bytes);
}

uint64_t SlowBytes(const Version& version, const Options& options) {
  return FlushedBytes(options) + PartBytes(version, options) / kSlowShare;
}

uint64_t UnlimitedUpperBytes(const Version& version, const Options& options) {
  return std::max(options.l1_bytes, version.LevelWeight(kLastLevel) / 100 * kUpperHundredths);
}

uint64_t UpperBytes(const Version& version, const Options& options) {
  const uint64_t wanted = UnlimitedUpperBytes(version, options);
  if (!LimitsSpace(options)) {
    return wanted;
  }
  const uint64_t others =
      Minus(version.space.used_bytes, version.LevelWeight(0) + version.LevelWeight(1));
  return std::min(wanted,
                  Minus(MostSpace(version, options),
                        others + TransientBytes(version, options) + AheadBytes(version, options)));
}

bool SlicesWasteSpace(const Version& version, const Options& options) {
  uint64_t weight = version.space.garbage_bytes;
  for (size_t level = 0; level < kLevels; ++level) {
    weight += version.LevelWeight(level);
  }
  return LimitsSpace(options) &&
         Minus(version.space.used_bytes, weight) > Spare(version, options) / kSlicesShare;
}

uint64_t MostGarbage(const Options& options, uint64_t value_bytes) {
  return static_cast<uint64_t>(GarbageShare(options) * static_cast<double>(value_bytes));
}

uint64_t MostValuesMoved(const Version& version, const Options& options) {
  uint64_t tables = 0;
  for (size_t level = 0; level < kLevels; ++level) {
    tables += version.LevelBytes(level);
  }
  const uint64_t moved = std::max(options.compaction_bytes / kPartMoved, kValuesOfTables * tables);
  return LimitsSpace(options)
             ? std::min(moved, std::max(Excess(options, version.space.live_bytes) / kMovedShare,
                                        kExtentsOfAValueExtent * options.extent_bytes))
             : moved;
}

}  // namespace sluice
