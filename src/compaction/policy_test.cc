// Text cases of what the picker picks and the planner plans (testdata/): each file is a list of
// cases, each of these a tree, a question, and the answer after "----". The files' heads say how
// they are written. `policy_test --rewrite` replaces the answers by what the code now says.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/compaction_picker.h"
#include "compaction/compaction_planner.h"
#include "compaction/plan_checker.h"
#include "compaction/run_totals.h"
#include "tree/slice.h"
#include "tree/testing.h"

namespace sluice {
namespace {

bool rewrite = false;

constexpr SequenceNumber kNewest = 1'000'000;

[[noreturn]] void Malformed(const std::string& what) {
  std::cerr << "malformed case: " << what << "\n";
  std::exit(2);
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) {
    const size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) {
      parts.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
    }
  }
  return parts;
}

uint64_t Number(std::string_view text) {
  size_t end = 0;
  const uint64_t number = std::stoull(std::string(text), &end);
  const std::string_view unit = text.substr(end);
  return unit.empty()  ? number
         : unit == "K" ? number << 10
         : unit == "M" ? number << 20
                       : (Malformed(std::string(text)), 0);
}

// "key=value" words.
std::map<std::string, std::string> Settings(const std::vector<std::string>& words) {
  std::map<std::string, std::string> settings;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    settings[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return settings;
}

std::string RunName(const RunId& run) {
  return run.run == 0 ? fmt::format("L{}", run.level) : fmt::format("L{}.{}", run.level, run.run);
}
RunId ParseRun(const std::string& name) {
  RunId run;
  if (name.size() < 2 || name[0] != 'L') {
    Malformed(name);
  }
  run.level = static_cast<uint32_t>(name[1] - '0');
  run.run = name.size() > 3 && name[2] == '.' ? Number(name.substr(3)) : 0;
  return run;
}

// In the text of the cases "c+" is the key behind c.
std::string KeyOf(std::string text) {
  std::replace(text.begin(), text.end(), '+', '\0');
  return text;
}
std::string TextOf(std::string key) {
  std::replace(key.begin(), key.end(), '\0', '+');
  return key;
}

std::string Keys(const Extent& extent) {
  return TextOf(fmt::format("{}-{}", UserKey(extent.smallest), UserKey(extent.largest)));
}

// Answers the questions of the cases.
class Cases : ExtentFixture<> {
 public:
  std::string Run(const std::vector<std::string>& lines) {
    std::string answer;
    const std::string* heading = nullptr;
    for (const std::string& line : lines) {
      if (line[0] == ' ') {
        const size_t colon = line.find(':');
        if (heading == nullptr || colon == std::string::npos) {
          Malformed(line);
        }
        runs_.emplace_back(Split(line.substr(0, colon), ' ').at(0), line.substr(colon + 1));
        continue;
      }
      const std::vector<std::string> words = Split(line, ' ');
      const std::map<std::string, std::string> settings =
          Settings({words.begin() + 1, words.end()});
      if (words[0] == "tree" || words[0] == "runs") {
        heading = &line;
        runs_.clear();
      } else if (words[0] == "options") {
        SetOptions(settings);
      } else if (words[0] == "pick") {
        answer += Pick(settings);
      } else if (words[0] == "range") {
        answer += Range(words);
      } else if (words[0] == "plan") {
        answer += Plan(settings);
      } else {
        Malformed(line);
      }
    }
    return answer;
  }

 private:
  void SetOptions(const std::map<std::string, std::string>& settings) {
    options_ = DefaultOptions();
    for (const auto& [key, value] : settings) {
      if (key == "l0_compaction_runs") {
        options_.l0_compaction_runs = Number(value);
      } else if (key == "l0_stop_runs") {
        options_.l0_stop_runs = Number(value);
      } else if (key == "l1_bytes") {
        options_.l1_bytes = Number(value);
      } else if (key == "extent_bytes") {
        options_.extent_bytes = static_cast<uint32_t>(Number(value));
      } else if (key == "compaction_bytes") {
        options_.compaction_bytes = Number(value);
      } else if (key == "memtable_bytes") {
        options_.memtable_bytes = Number(value);
      } else if (key == "max_space") {
        options_.max_space_amplification = std::stod(value);
      } else if (key == "deletion_share") {
        options_.deletion_share = std::stod(value);
      } else {
        Malformed(key);
      }
    }
  }

  // "a-f 1M records=1000 hot=3"; "a-f 1M tombstones=600/1000@10-90 shadowed=300@95"; "a-f 1M x70"
  // stands for 70 of them, 000a-000f and on.
  void AddExtents(const std::string& text, std::vector<ExtentPtr>* extents) {
    const std::vector<std::string> words = Split(text, ' ');
    const size_t dash = words.at(0).find('-');
    if (words.size() < 2 || dash == std::string::npos) {
      Malformed(text);
    }
    uint64_t copies = 1;
    Extent extent;
    extent.bytes = static_cast<uint32_t>(Number(words[1]));
    extent.entries = 100;
    uint64_t hot = 0;
    for (const auto& [key, value] : Settings({words.begin() + 2, words.end()})) {
      if (key == "hot") {
        hot = Number(value);
      } else if (key == "full") {
        extent.full = true;
      } else if (key == "slice") {
        extent.sliced = true;
        extent.slice_bytes = static_cast<uint32_t>(Number(value));
      } else if (key == "records") {
        extent.entries = Number(value);
      } else if (key[0] == 'x') {
        copies = Number(key.substr(1));
      } else if (key == "tombstones") {
        const size_t slash = value.find('/');
        const size_t at = value.find('@');
        const size_t to = value.find('-', at);
        extent.tombstones = Number(value.substr(0, slash));
        extent.entries = Number(value.substr(slash + 1, at - slash - 1));
        extent.oldest_tombstone = Number(value.substr(at + 1, to - at - 1));
        extent.newest_tombstone = Number(value.substr(to + 1));
        extent.newest = std::max(extent.newest, extent.newest_tombstone);
      } else if (key == "shadowed") {
        const size_t at = value.find('@');
        extent.shadowed = Number(value.substr(0, at));
        extent.newest = std::max(extent.newest, Number(value.substr(at + 1)));
      } else {
        Malformed(text);
      }
    }
    for (uint64_t i = 0; i < copies; ++i) {
      const std::string prefix = copies > 1 ? fmt::format("{:03}", i) : "";
      // Versions of one user key go from new to old.
      extent.smallest = InternalKey(prefix + words[0].substr(0, dash), --sequence_);
      extent.largest = InternalKey(prefix + words[0].substr(dash + 1), --sequence_);
      extent.table_largest = extent.sliced ? extent.largest : "";
      extent.number = next_++;
      extent.place = space_->Allocate(0, extent.bytes);
      extent.address = extent.place->address();
      for (uint64_t n = 0; n < hot; ++n) {
        extent.place->Touch();
      }
      extents->push_back(std::make_shared<const Extent>(extent));
    }
  }

  const Version* MakeTree() {
    auto* const version = new Version;
    Metadata::Subtable runs;
    for (const auto& [name, text] : runs_) {
      std::vector<ExtentPtr> extents;
      for (const std::string& extent : Split(text, ',')) {
        AddExtents(extent, &extents);
      }
      RunIndex index;
      EXPECT_TRUE(RunIndex().Edit({}, extents, &index).ok()) << name;
      if (name == "aside") {
        version->aside.push_back(index);
      } else {
        const RunId run = ParseRun(name);
        version->levels[run.level].push_back({run.run, index});
        runs.runs[run] = index;
      }
    }
    version->space = RunTotals().Update(runs);
    return version;
  }

  static std::string Show(const KeyRange& range) {
    return TextOf(fmt::format("[{}, {})", range.has_begin ? range.begin : "",
                              range.has_end ? range.end : ""));
  }
  static std::string Show(const std::optional<CompactionPick>& pick, const LaterPick& later) {
    std::string until =
        later.oldest_snapshot == kMaxSequence
            ? ""
            : fmt::format("; more is due from snapshot {} on", later.oldest_snapshot);
    if (!pick && later.read_credit != kNoCredit) {
      until += fmt::format("; more is due once reads have paid {}", later.read_credit);
    }
    if (!pick) {
      return "nothing" + until + "\n";
    }
    static constexpr std::string_view kKinds[] = {"deletion", "intra-L1",   "minor",
                                                  "major",    "self-major", "manual"};
    std::string text = fmt::format(
        "{} into {}{}{}{}\n", kKinds[static_cast<size_t>(pick->kind)], RunName(pick->output),
        pick->range.has_begin || pick->range.has_end ? ", " + Show(pick->range) : "",
        pick->bottommost ? ", bottommost" : "", until);
    for (const CompactionInput& input : pick->inputs) {
      text += "  " + RunName(input.run) + ":";
      if (input.extents.size() > 8) {
        text += fmt::format(" {} extents, {}..{}", input.extents.size(),
                            Keys(*input.extents.front()), Keys(*input.extents.back()));
      } else {
        for (const ExtentPtr& extent : input.extents) {
          text += " " + Keys(*extent);
        }
      }
      text += "\n";
    }
    for (const std::string& cut : pick->cuts) {
      text += "  cut at " + cut + "\n";
    }
    return text;
  }

  std::string Pick(const std::map<std::string, std::string>& settings) {
    SequenceNumber snapshot = kNewest;
    uint64_t credit = 0;
    for (const auto& [key, value] : settings) {
      if (key == "snapshot") {
        snapshot = Number(value);
      } else if (key == "read_credit") {
        credit = Number(value);
      } else {
        Malformed(key);
      }
    }
    const Version* const version = MakeTree();
    LaterPick later;
    const std::optional<CompactionPick> pick =
        PickCompaction(*version, options_, {snapshot, credit}, &later);
    const std::string text = Show(pick, later);
    version->Unref();
    return text;
  }

  std::string Range(const std::vector<std::string>& words) {
    const Version* const version = MakeTree();
    const std::string text =
        Show(PickRange(*version, words.size() > 1 ? words[1] : "", words.size() > 2 ? words[2] : "",
                       words.size() > 3 ? Number(words[3]) : ~uint64_t{0}),
             {});
    version->Unref();
    return text;
  }

  // "a b c | k l / p q": two extents, the first of two blocks; "-d" is a tombstone. "from=b to=l a
  // b c | k l" is the slice of the keys from b on and before l. Versions of one user key go from
  // new to old.
  std::vector<ExtentPtr> MakeRun(const std::string& text, SequenceNumber sequence) {
    std::vector<ExtentPtr> extents;
    for (const std::string& contents : Split(text, '/')) {
      TestBlocks blocks;
      std::string from;
      std::string to;
      for (const std::string& block_text : Split(contents, '|')) {
        std::vector<TestEntry>& block = blocks.emplace_back();
        for (const std::string& key : Split(block_text, ' ')) {
          if (key.starts_with("from=")) {
            from = key.substr(5);
          } else if (key.starts_with("to=")) {
            to = key.substr(3);
          } else if (key[0] == '-') {
            block.push_back(
                {InternalKey(KeyOf(key.substr(1)), sequence--, RecordType::kDeletion), ""});
          } else {
            block.push_back({InternalKey(KeyOf(key), sequence--), "v"});
          }
        }
      }
      const Extent whole = WriteTestExtent(blocks, space_.get(), &next_);
      Extent extent = whole;
      if (!from.empty() || !to.empty()) {
        EXPECT_TRUE(MakeSlice(whole, from, to, &reader_, &extent).ok());
      }
      extents.push_back(std::make_shared<const Extent>(extent));
    }
    return extents;
  }

  std::string Plan(const std::map<std::string, std::string>& settings) {
    PlanOptions options{.least_blocks_copied = 1};
    CompactionPick pick;
    pick.output = {2, 0};
    for (const auto& [key, value] : settings) {
      if (key == "into") {
        pick.output = ParseRun(value);
      } else if (key == "bottommost") {
        pick.bottommost = true;
      } else if (key == "rewrite") {
        pick.rewrite = true;
        options.least_bytes_rewritten = Number(value);
      } else if (key == "no_reuse") {
        options.reuse = false;
      } else if (key == "snapshot") {
        options.oldest_snapshot = Number(value);
      } else if (key == "copied") {
        options.least_blocks_copied = Number(value);
      } else if (key == "task") {
        options.task_bytes = Number(value);
      } else if (key == "cut") {
        pick.cuts.push_back(KeyOf(value));
      } else if (key == "part") {
        options.part_bytes = Number(value);
      } else {
        Malformed(key);
      }
    }
    std::vector<ExtentPtr> output_run;
    SequenceNumber sequence = 100 * runs_.size();
    for (const auto& [name, text] : runs_) {
      std::vector<ExtentPtr> extents = MakeRun(text, sequence);
      sequence -= 100;
      const bool stays = name == "stays";
      if (stays || ParseRun(name) == pick.output) {
        output_run.insert(output_run.end(), extents.begin(), extents.end());
      }
      if (!stays) {
        pick.inputs.push_back({ParseRun(name), std::move(extents)});
      }
    }
    RunIndex index;
    EXPECT_TRUE(RunIndex().Edit({}, output_run, &index).ok());
    const std::atomic<bool> stop{false};
    ExtentPlanSource source(&reader_);
    CompactionPlanner planner(pick, index, options, &source, &stop);
    PlanChecker checker(pick, &reader_);
    std::string text;
    for (std::optional<CompactionStep> step;;) {
      ExtentPtr damaged;
      const Status status = planner.Next(&step, &damaged);
      EXPECT_TRUE(status.ok()) << status.ToString();
      if (!status.ok() || !step) {
        break;
      }
      const Status sound = checker.Check(*step);
      EXPECT_TRUE(sound.ok()) << sound.ToString();
      text += Show(pick, *step);
    }
    const std::string* const end = planner.end() ? &*planner.end() : nullptr;
    const Status sound = checker.Finish(end);
    EXPECT_TRUE(sound.ok()) << sound.ToString();
    return end == nullptr ? text : text + fmt::format("ends before {}\n", *end);
  }

  static std::string Show(const CompactionPick& pick, const CompactionStep& step) {
    const auto blocks = [](const BlockRange& range) {
      return range.end - range.first == 1
                 ? fmt::format("{} block {}", Keys(*range.extent), range.first)
                 : fmt::format("{} blocks {}-{}", Keys(*range.extent), range.first, range.end - 1);
    };
    switch (step.kind) {
      case CompactionStep::Kind::kReuse:
        return fmt::format("reuse {} {}\n", RunName(pick.inputs[step.run].run), Keys(*step.extent));
      case CompactionStep::Kind::kStay:
        return fmt::format("stays {}\n", Keys(*step.extent));
      case CompactionStep::Kind::kCopy:
        return fmt::format("copy  {} {}{}\n", RunName(pick.inputs[step.run].run),
                           blocks(step.blocks), step.begins_extent ? ", an extent" : "");
      case CompactionStep::Kind::kMerge:
        break;
    }
    std::string text = "merge " + Show(step.range) + (step.begins_extent ? ", an extent\n" : "\n");
    for (size_t i = 0; i < step.runs.size(); ++i) {
      for (const BlockRange& range : step.runs[i]) {
        text += fmt::format("  {} {}\n", RunName(pick.inputs[i].run), blocks(range));
      }
    }
    return text;
  }

  SequenceNumber sequence_ = kNewest;

  // Without a limit on space: its cases ask for it.
  static Options DefaultOptions() {
    Options options;
    options.max_space_amplification = 0;
    return options;
  }

  Options options_ = DefaultOptions();
  std::vector<std::pair<std::string, std::string>> runs_;  // name and contents
};

void RunFile(const std::string& name) {
  const std::string path = std::string(SLUICE_TESTDATA) + "/" + name;
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  std::string rewritten;
  std::vector<std::string> question;
  std::string expected;
  bool in_answer = false;
  size_t cases = 0;
  Cases runner;
  const auto end_case = [&](size_t line) {
    if (in_answer) {
      const std::string answer = runner.Run(question);
      rewritten += answer;
      if (!rewrite) {
        EXPECT_EQ(answer, expected) << "the case before " << path << ":" << line;
      }
      ++cases;
    } else if (!question.empty()) {
      Malformed(fmt::format("{}:{}: no answer: ----", path, line));
    }
    question.clear();
    expected.clear();
    in_answer = false;
  };
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) {
      end_case(number);
      rewritten += "\n";
    } else if (in_answer) {
      expected += line + "\n";
    } else {
      rewritten += line + "\n";
      in_answer = line == "----";
      if (!in_answer && line[0] != '#') {
        question.push_back(line);
      }
    }
  }
  end_case(number + 1);
  EXPECT_GT(cases, 5u);
  if (rewrite) {
    std::ofstream(path) << rewritten;
  }
}

TEST(Policy, Picker) { RunFile("picker.txt"); }
TEST(Policy, Range) { RunFile("range.txt"); }
TEST(Policy, Planner) { RunFile("planner.txt"); }

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    sluice::rewrite = sluice::rewrite || std::string_view(argv[i]) == "--rewrite";
  }
  return RUN_ALL_TESTS();
}
