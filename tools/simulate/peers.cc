#include "simulate/peers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "simulate/engine.h"

namespace sluice::simulate {

namespace {

constexpr size_t kTrigger = 4;  // flushes in level 0 that make a compaction due
constexpr double kFactor = 10;  // from one level to the next
constexpr double kSpookyFactor = 5;

using Run = std::vector<ExtentPtr>;  // in the order of keys

uint64_t BytesOf(const Run& run) {
  uint64_t bytes = 0;
  for (const ExtentPtr& file : run) {
    bytes += file->bytes;
  }
  return bytes;
}

Options WithExtentBytes(Options options, uint64_t bytes) {
  options.extent_bytes = bytes;
  return options;
}

// The files of a run that overlap an interval.
struct Part {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
};

Part Overlap(const Run& run, Key begin, Key end) {
  const auto first = std::partition_point(
      run.begin(), run.end(), [&](const ExtentPtr& file) { return EndOf(*file) <= begin; });
  const auto last = std::partition_point(
      first, run.end(), [&](const ExtentPtr& file) { return BeginOf(*file) < end; });
  return {static_cast<size_t>(first - run.begin()), static_cast<size_t>(last - run.begin())};
}

// Replaces a part; what stays moves once at most.
template <typename T>
void Splice(std::vector<T>* all, const Part& part, const std::vector<T>& with) {
  const size_t same = std::min(part.size(), with.size());
  const auto at = [](auto& of, size_t i) { return of.begin() + static_cast<ptrdiff_t>(i); };
  std::copy(with.begin(), at(with, same), at(*all, part.begin));
  all->erase(at(*all, part.begin + same), at(*all, part.end));
  all->insert(at(*all, part.begin + same), at(with, same), with.end());
}

class Peer : public Tree {
 public:
  uint64_t Bytes() const override {
    uint64_t bytes = 0;
    ForEachRun([&](const Run& run) { bytes += BytesOf(run); });
    return bytes;
  }
  uint64_t Extents() const override {
    uint64_t files = 0;
    ForEachRun([&](const Run& run) { files += run.size(); });
    return files;
  }
  uint64_t MetadataBytes() const override {
    return Extents() * shape_.MetadataBytes(/*sliced=*/false);
  }
  size_t RunsAt(Key key) const override {
    size_t runs = 0;
    ForEachRun([&](const Run& run) { runs += Overlap(run, key, key + 1).size(); });
    return runs;
  }

 protected:
  Peer(const Options& options, const RecordSize& record, const KeyModel* model,
       const TableShape* shape)
      : Tree(options, model, shape),
        file_(WithExtentBytes(options, options.memtable_bytes), record),
        large_file_(WithExtentBytes(options, 2 * options.memtable_bytes), record) {}

  template <typename Visit>
  void ForEachRun(const Visit& visit) const {
    for (const std::vector<Run>& level : levels_) {
      std::for_each(level.begin(), level.end(), visit);
    }
  }
  uint64_t LevelBytes(size_t level) const {
    uint64_t bytes = 0;
    for (const Run& run : levels_[level]) {
      bytes += BytesOf(run);
    }
    return bytes;
  }
  Status AddFlushed(const std::vector<Extent>& extents) override {
    MetadataEdit edit;
    Run run;
    for (const Extent& extent : extents) {
      edit.added.push_back({kSubtable, {}, extent});
      run.push_back(std::make_shared<const Extent>(extent));
    }
    tables_.AddedBy(edit);
    levels_[0].push_back(std::move(run));
    return {};
  }
  // Whether a file that is written is to end where a file of a lower level begins: when it has so
  // many bytes, and has passed so many of these places.
  using MayEnd = bool (*)(double bytes, size_t passed, double target);
  // The files that the inputs become, in pieces of one shape. `borders`: ascending; `passed`: so many
  // count as passed at the begin.
  Run Rewrite(const Run& inputs, const TableShape& shape, const std::vector<Key>& borders,
              MayEnd may_end, size_t passed = 0);

  const TableShape file_;
  const TableShape large_file_;
  std::vector<std::vector<Run>> levels_;
};

Run Peer::Rewrite(const Run& inputs, const TableShape& shape, const std::vector<Key>& borders,
                  MayEnd may_end, size_t passed) {
  std::vector<const Extent*> extents;
  for (const ExtentPtr& file : inputs) {
    extents.push_back(file.get());
  }
  Output output = NewOutput(shape);
  auto border = borders.begin();
  Merge(extents, 0, kKeySpace, [&](Key begin, Key end, const Written& written) {
    for (; border != borders.end() && *border < end; ++border) {
      if (*border > begin) {
        output.Add(begin, *border, written);
        begin = *border;
      }
      if (may_end(static_cast<double>(output.open_bytes()), ++passed,
                  static_cast<double>(options_.memtable_bytes))) {
        output.EndExtent();
        passed = 0;
      }
    }
    output.Add(begin, end, written);
  });
  output.EndExtent();

  MetadataEdit edit;
  Run run;
  for (const Extent& extent : output.extents()) {
    edit.added.push_back({kSubtable, {}, extent});
    run.push_back(std::make_shared<const Extent>(extent));
  }
  for (const ExtentPtr& file : inputs) {
    edit.removed.push_back({kSubtable, {}, file->number, file->smallest});
  }
  tables_.AddedBy(edit);
  NoteDiskBytes();
  tables_.RemovedBy(edit);
  counters_.compaction_bytes += output.bytes();
  counters_.longest_part_bytes = std::max(counters_.longest_part_bytes, output.bytes());
  return run;
}

class Leveled final : public Peer {
 public:
  Leveled(const Options& options, const RecordSize& record, const KeyModel* model,
          const TableShape* shape)
      : Peer(options, record, model, shape) {
    levels_.assign(kNumLevels, std::vector<Run>(1));
    levels_[0].clear();
  }

  Status Compact(bool* was_due) override {
    const auto [level, score] = Fullest();
    *was_due = score >= 1;
    if (*was_due) {
      CompactLevel(level);
    }
    return {};
  }
  double Debt() const override { return Fullest().second; }

 private:
  static constexpr size_t kNumLevels = 7;
  static constexpr size_t kLast = kNumLevels - 1;
  static constexpr uint64_t kMostInputs = 25;  // files that the upper level's inputs may grow to

  // The level that has most of what it may have, and how much of it; and the level below level 0.
  std::pair<size_t, double> Fullest() const {
    size_t base;
    return Fullest(&base);
  }
  std::pair<size_t, double> Fullest(size_t* base) const;
  // Files of a level other than level 0 by others.
  void Replace(size_t level, const Part& part, const Run& with);
  // What a file overlaps of the next level for its size.
  double OverlapOf(size_t level, const Extent& file) const;
  void CompactLevel(size_t level);
  // The files of level `next` that the inputs become, with this part of it.
  Run RewriteInto(size_t next, Run inputs, const Part& below);

  // Of levels other than level 0.
  std::array<uint64_t, kNumLevels> bytes_{};
  std::array<std::vector<double>, kNumLevels> overlaps_;  // of each file (OverlapOf)
};

// As VersionStorageInfo::CalculateBaseBytes does.
std::pair<size_t, double> Leveled::Fullest(size_t* base) const {
  const auto most_of_base = static_cast<double>(options_.l1_bytes);
  std::array<double, kNumLevels> bytes{};
  double largest = 0;
  size_t first = kLast;
  for (size_t level = kLast; level > 0; --level) {
    bytes[level] = static_cast<double>(bytes_[level]);
    largest = std::max(largest, bytes[level]);
    first = bytes[level] > 0 ? level : first;
  }
  double target = largest / std::pow(kFactor, static_cast<double>(kLast - first));
  *base = first;
  while (*base > 1 && target > most_of_base) {
    --*base;
    target /= kFactor;
  }
  target = std::min(target, most_of_base);

  size_t fullest = 0;
  double score = std::max(static_cast<double>(levels_[0].size()) / kTrigger,
                          static_cast<double>(LevelBytes(0)) / most_of_base);
  for (size_t level = *base; level < kLast; ++level) {
    const double of_level = bytes[level] / std::max(target, most_of_base);
    if (of_level > score) {
      fullest = level;
      score = of_level;
    }
    target *= kFactor;
  }
  return {fullest, score};
}

double Leveled::OverlapOf(size_t level, const Extent& file) const {
  if (level == kLast) {
    return 0;
  }
  const Run& lower = levels_[level + 1][0];
  const Part part = Overlap(lower, BeginOf(file), EndOf(file));
  double overlap = 0;
  for (size_t i = part.begin; i < part.end; ++i) {
    overlap += lower[i]->bytes;
  }
  return overlap / file.bytes;
}

void Leveled::Replace(size_t level, const Part& part, const Run& with) {
  Run& run = levels_[level][0];
  Key begin = kKeySpace;
  Key end = 0;
  const auto changes = [&](const Extent& file) {
    begin = std::min(begin, BeginOf(file));
    end = std::max(end, EndOf(file));
  };
  for (size_t i = part.begin; i < part.end; ++i) {
    changes(*run[i]);
    bytes_[level] -= run[i]->bytes;
  }
  std::vector<double> overlaps;
  for (const ExtentPtr& file : with) {
    changes(*file);
    bytes_[level] += file->bytes;
    overlaps.push_back(OverlapOf(level, *file));
  }
  Splice(&run, part, with);
  Splice(&overlaps_[level], part, overlaps);
  if (level > 1 && begin < end) {
    const Run& upper = levels_[level - 1][0];
    const Part above = Overlap(upper, begin, end);
    for (size_t i = above.begin; i < above.end; ++i) {
      overlaps_[level - 1][i] = OverlapOf(level - 1, *upper[i]);
    }
  }
}

Run Leveled::RewriteInto(size_t next, Run inputs, const Part& below) {
  const Run& lower = levels_[next][0];
  inputs.insert(inputs.end(), lower.begin() + static_cast<ptrdiff_t>(below.begin),
                lower.begin() + static_cast<ptrdiff_t>(below.end));
  std::vector<Key> borders;
  size_t passed = 0;
  if (next < kLast) {
    Key begin = kKeySpace;
    Key end = 0;
    for (const ExtentPtr& file : inputs) {
      begin = std::min(begin, BeginOf(*file));
      end = std::max(end, EndOf(*file));
    }
    const Run& grandparents = levels_[next + 1][0];
    passed = static_cast<size_t>(
        std::partition_point(grandparents.begin(), grandparents.end(),
                             [&](const ExtentPtr& file) { return BeginOf(*file) <= begin; }) -
        grandparents.begin());
    for (size_t i = passed; i < grandparents.size() && BeginOf(*grandparents[i]) < end; ++i) {
      borders.push_back(BeginOf(*grandparents[i]));
    }
  }
  const bool last = next == kLast || levels_[next + 1][0].empty();
  return Rewrite(
      inputs, last ? file_ : large_file_, borders,
      [](double bytes, size_t passed_borders, double target) {
        const double part = 0.5 + std::min(0.05 * static_cast<double>(passed_borders), 0.4);
        return bytes >= part * target;
      },
      passed);
}

void Leveled::CompactLevel(size_t level) {
  size_t base;
  Fullest(&base);
  const size_t next = level == 0 ? base : level + 1;
  const Run& lower = levels_[next][0];
  Run inputs;
  Part below;
  bool may_move = true;
  if (level == 0) {
    for (const Run& run : levels_[0]) {
      inputs.insert(inputs.end(), run.begin(), run.end());
    }
    std::sort(inputs.begin(), inputs.end(),
              [](const ExtentPtr& a, const ExtentPtr& b) { return BeginOf(*a) < BeginOf(*b); });
    Key end = 0;
    for (const ExtentPtr& file : inputs) {
      may_move = may_move && BeginOf(*file) >= end;
      end = std::max(end, EndOf(*file));
    }
    below = Overlap(lower, BeginOf(*inputs.front()), end);
    levels_[0].clear();
  } else {
    const Run& upper = levels_[level][0];
    const auto overlapped = [&](const Part& part) {
      return Overlap(lower, BeginOf(*upper[part.begin]), EndOf(*upper[part.end - 1]));
    };
    const std::vector<double>& overlaps = overlaps_[level];
    Part part;
    part.begin =
        static_cast<size_t>(std::min_element(overlaps.begin(), overlaps.end()) - overlaps.begin());
    part.end = part.begin + 1;
    below = overlapped(part);
    if (below.size() > 0) {
      // More of the upper level, if no more of the next one has to be rewritten for it.
      const Part more =
          Overlap(upper, std::min(BeginOf(*upper[part.begin]), BeginOf(*lower[below.begin])),
                  std::max(EndOf(*upper[part.end - 1]), EndOf(*lower[below.end - 1])));
      if (more.size() + below.size() <= kMostInputs && overlapped(more).size() == below.size()) {
        part = more;
      }
    }
    inputs.assign(upper.begin() + static_cast<ptrdiff_t>(part.begin),
                  upper.begin() + static_cast<ptrdiff_t>(part.end));
    Replace(level, part, {});
  }
  if (may_move && below.size() == 0) {
    counters_.extents_reused += inputs.size();
    Replace(next, below, inputs);
    return;
  }
  const Run outputs = RewriteInto(next, std::move(inputs), below);
  Replace(next, below, outputs);
}

// Levels between level 0 and the last one, which is one run, each about `factor` times as large as
// the one above.
class Tall : public Peer {
 public:
  Tall(double factor, const Options& options, const RecordSize& record, const KeyModel* model,
       const TableShape* shape)
      : Peer(options, record, model, shape), factor_(factor) {
    levels_.resize(2);
    levels_[1].resize(1);
  }

  double Debt() const override { return static_cast<double>(levels_[0].size()) / kTrigger; }

 protected:
  Run& last() { return levels_.back()[0]; }
  // Adds levels as the last one has grown.
  void Grow() {
    const double wanted = std::round(std::log(Ratio()) / std::log(factor_));
    while (static_cast<double>(levels_.size() - 1) < wanted) {
      levels_.insert(levels_.begin() + 1, std::vector<Run>());
    }
  }
  // Bytes that a level above the last one may have.
  double Capacity(size_t level) const {
    const double factor = std::pow(Ratio(), 1 / static_cast<double>(levels_.size() - 1));
    return OfLevel0() * std::pow(factor, static_cast<double>(level));
  }
  // Takes out what levels [0, end) have.
  Run TakeLevels(size_t end) {
    Run files;
    for (size_t level = 0; level < end; ++level) {
      for (const Run& run : levels_[level]) {
        files.insert(files.end(), run.begin(), run.end());
      }
      levels_[level].clear();
    }
    return files;
  }

 private:
  double OfLevel0() const { return static_cast<double>(kTrigger * options_.memtable_bytes); }
  double Ratio() const {
    return std::max(1.0, static_cast<double>(BytesOf(levels_.back()[0])) / OfLevel0());
  }

  const double factor_;
};

bool Never(double, size_t, double) { return false; }
bool Always(double, size_t, double) { return true; }

class LazyLeveling final : public Tall {
 public:
  using Tall::Tall;

  Status Compact(bool* was_due) override {
    Grow();
    for (size_t level = 0; level + 1 < levels_.size(); ++level) {
      if (level == 0 ? levels_[0].size() < kTrigger
                     : static_cast<double>(LevelBytes(level)) < Capacity(level)) {
        continue;
      }
      Run inputs;
      for (const Run& run : std::exchange(levels_[level], {})) {
        inputs.insert(inputs.end(), run.begin(), run.end());
      }
      if (level + 2 < levels_.size()) {
        levels_[level + 1].push_back(Rewrite(inputs, file_, {}, Never));
      } else {
        inputs.insert(inputs.end(), last().begin(), last().end());
        last() = Rewrite(inputs, file_, {}, Never);
      }
      *was_due = true;
      return {};
    }
    *was_due = false;
    return {};
  }
};

class Spooky final : public Tall {
 public:
  using Tall::Tall;

  Status Compact(bool* was_due) override {
    Grow();
    *was_due = levels_[0].size() >= kTrigger;
    if (!*was_due) {
      return {};
    }
    std::vector<Key> borders;
    for (const ExtentPtr& file : last()) {
      borders.push_back(BeginOf(*file));
    }
    // All levels down to the first that takes them.
    auto bytes = static_cast<double>(LevelBytes(0));
    size_t level = 1;
    for (; level + 1 < levels_.size(); ++level) {
      bytes += static_cast<double>(LevelBytes(level));
      if (bytes <= Capacity(level) || level + 2 == levels_.size()) {
        break;
      }
    }
    if (level + 1 == levels_.size()) {  // there is but the last one
      Run inputs = TakeLevels(1);
      inputs.insert(inputs.end(), last().begin(), last().end());
      last() = Rewrite(inputs, file_, {}, Never);
      return {};
    }
    levels_[level] = {Rewrite(TakeLevels(level + 1), large_file_, borders, Always)};
    if (bytes > Capacity(level)) {
      MergeIntoLast(TakeLevels(level + 1));
    }
    return {};
  }

 private:
  void MergeIntoLast(const Run& upper);
};

void Spooky::MergeIntoLast(const Run& upper) {
  const Run lower = std::exchange(last(), {});
  size_t at = 0;
  for (size_t i = 0; i < lower.size() || i == 0; ++i) {
    const Key end = i + 1 < lower.size() ? BeginOf(*lower[i + 1]) : kKeySpace;
    Run inputs;
    for (; at < upper.size() && EndOf(*upper[at]) <= end; ++at) {
      inputs.push_back(upper[at]);
    }
    if (i < lower.size()) {
      if (inputs.empty()) {
        last().push_back(lower[i]);
        continue;
      }
      inputs.push_back(lower[i]);
    }
    const Run outputs = Rewrite(inputs, large_file_, {}, Never);
    last().insert(last().end(), outputs.begin(), outputs.end());
  }
}

}  // namespace

Status ParsePolicy(std::string_view text, Policy* policy) {
  constexpr std::array<std::pair<std::string_view, Policy>, 4> kPolicies = {{
      {"sluice", Policy::kSluice},
      {"leveled", Policy::kLeveled},
      {"lazy-leveling", Policy::kLazyLeveling},
      {"spooky", Policy::kSpooky},
  }};
  for (const auto& [name, value] : kPolicies) {
    if (text == name) {
      *policy = value;
      return {};
    }
  }
  return Status::InvalidArgument(
      "the policy is not one of sluice, leveled, lazy-leveling and spooky");
}

std::unique_ptr<Tree> MakeTree(Policy policy, const Options& options, const RecordSize& record,
                               const KeyModel* model, const TableShape* shape) {
  switch (policy) {
    case Policy::kLeveled:
      return std::make_unique<Leveled>(options, record, model, shape);
    case Policy::kLazyLeveling:
      return std::make_unique<LazyLeveling>(kFactor, options, record, model, shape);
    case Policy::kSpooky:
      return std::make_unique<Spooky>(kSpookyFactor, options, record, model, shape);
    case Policy::kSluice:
      break;
  }
  return std::make_unique<Engine>(options, model, shape);
}

}  // namespace sluice::simulate
