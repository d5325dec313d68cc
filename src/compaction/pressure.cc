#include "compaction/pressure.h"

#include <algorithm>
#include <limits>

#include "compaction/space_limit.h"

namespace sluice {

namespace {

// Writes are slowed down once levels 0 and 1 have kSlowDebt times what they may for the sake of write
// amplification, and stopped at kMostDebt times.
constexpr double kSlowDebt = 1.5;
constexpr double kMostDebt = 3;

// Writers do not wait for compactions that only the user starts.
bool IsAutomatic(CompactionKind kind, const Options& options) {
  const std::vector<CompactionKind>& kinds = options.compaction_order;
  return options.automatic_compactions &&
         std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// What levels 0 and 1 have, of what they may have for the sake of write amplification.
double DebtOf(const Version& version, const Options& options) {
  return static_cast<double>(version.LevelWeight(0) + version.LevelWeight(1)) /
         static_cast<double>(UnlimitedUpperBytes(version, options));
}

// What so many bytes of memtables take once they are flushed.
double Flushed(uint64_t memtables, const Options& options) {
  return static_cast<double>(memtables) / static_cast<double>(options.memtable_bytes) *
         static_cast<double>(FlushedBytes(options));
}

}  // namespace

double PressureOfRuns(const Version& version, const Options& options) {
  const size_t runs = version.levels[0].size();
  if (!IsAutomatic(CompactionKind::kMinor, options) || runs < options.l0_slowdown_runs) {
    return 0;
  }
  const auto slowdown = static_cast<double>(options.l0_slowdown_runs);
  return (static_cast<double>(runs) - slowdown + 1) /
         (static_cast<double>(options.l0_stop_runs) - slowdown + 1);
}

double PressureOfDebt(const Version& version, const Options& options) {
  if (!IsAutomatic(CompactionKind::kMajor, options)) {
    return 0;
  }
  return std::max(0.0, (DebtOf(version, options) - kSlowDebt) / (kMostDebt - kSlowDebt));
}

double SpaceLeft(const Version& version, const Options& options) {
  if (!LimitsSpace(options) || !IsAutomatic(CompactionKind::kMajor, options)) {
    return std::numeric_limits<double>::infinity();
  }
  return static_cast<double>(MostSpace(version, options)) -
         static_cast<double>(TransientBytes(version, options)) -
         static_cast<double>(version.space.used_bytes);
}

double CompactionNeed(const Version& version, double left, uint64_t memtables,
                      const Options& options) {
  double need = 0;
  if (IsAutomatic(CompactionKind::kMinor, options)) {
    const auto due = static_cast<double>(options.l0_compaction_runs);
    need = (static_cast<double>(version.levels[0].size()) - due) /
           std::max(1.0, static_cast<double>(options.l0_slowdown_runs) - due);
  }
  if (IsAutomatic(CompactionKind::kMajor, options)) {
    const auto flushed = static_cast<double>(FlushedBytes(options));
    // Two memtables more, one of which may be the active one, and writers are slowed down.
    const double space = 1 - (left - Flushed(memtables, options) -
                              static_cast<double>(SlowBytes(version, options))) /
                                 (2 * flushed);
    need = std::max({need, (DebtOf(version, options) - 1) / (kSlowDebt - 1), space});
  }
  return std::clamp(need, 0.0, 1.0);
}

double PressureOfSpace(const Version& version, double left, uint64_t memtables,
                       const Options& options) {
  return std::max(0.0, 1 - (left - Flushed(memtables, options)) /
                               static_cast<double>(SlowBytes(version, options)));
}

}  // namespace sluice
