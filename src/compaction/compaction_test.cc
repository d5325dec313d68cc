// What a compaction reuses, copies and merges, and that its output is what a plain merge makes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/compaction_planner.h"
#include "compaction/plan_checker.h"
#include "compaction/testing.h"
#include "table/filter.h"
#include "table/verify.h"
#include "tree/run_iterator.h"
#include "tree/slice.h"
#include "tree/testing.h"
#include "util/epoch.h"
#include "util/testing.h"

namespace sluice {
namespace {

class CompactionTest : public CompactionFixture {
 protected:
  std::vector<CompactionStep> Plan(const CompactionPick& pick, const RunIndex& output_run,
                                   const PlanOptions& options) {
    std::vector<CompactionStep> steps;
    const std::atomic<bool> stop{false};
    ExtentPlanSource source(&reader_);
    CompactionPlanner planner(pick, output_run, options, &source, &stop);
    PlanChecker checker(pick, &reader_);
    Status status;
    for (std::optional<CompactionStep> step;;) {
      ExtentPtr damaged;
      status = planner.Next(&step, &damaged);
      if (!status.ok() || !step) {
        break;
      }
      status = checker.Check(*step);
      EXPECT_TRUE(status.ok()) << status.ToString();
      steps.push_back(std::move(*step));
    }
    EXPECT_TRUE(status.ok()) << status.ToString();
    end_ = planner.end();
    status = checker.Finish(End());
    EXPECT_TRUE(status.ok()) << status.ToString();
    return steps;
  }
  const std::string* End() const { return end_ ? &*end_ : nullptr; }
  // A slice with all records of `blocks`, of a table that also has records before and behind them,
  // which are newer than any.
  ExtentPtr MakeSliced(TestRandom* random, TestBlocks blocks) {
    const std::string first(UserKey(blocks.front().front().key));
    const std::string last(UserKey(blocks.back().back().key));
    const auto is_alone = [&] { return Uniform(random, 0, 1) != 0; };
    if (!first.empty() && Uniform(random, 0, 1) != 0) {
      const TestEntry before{InternalKey(first.substr(0, first.size() - 1), kMaxSequence - 1), "x"};
      if (is_alone()) {
        blocks.insert(blocks.begin(), {before});
      } else {
        blocks.front().insert(blocks.front().begin(), before);
      }
    }
    if (Uniform(random, 0, 1) != 0) {
      const TestEntry behind{InternalKey(last + "x", kMaxSequence - 1), "x"};
      if (is_alone()) {
        blocks.push_back({behind});
      } else {
        blocks.back().push_back(behind);
      }
    }
    auto slice = std::make_shared<Extent>();
    const Status status = MakeSlice(*Make(blocks), first, KeyAfter(last), &reader_, slice.get());
    EXPECT_TRUE(status.ok()) << status.ToString();
    return slice;
  }
  // "reuse 210-280", "copy 032-035", "merge -032 3 blocks"
  static std::string Show(const std::vector<CompactionStep>& steps) {
    std::string text;
    for (const CompactionStep& step : steps) {
      switch (step.kind) {
        case CompactionStep::Kind::kReuse:
        case CompactionStep::Kind::kStay:
          text += fmt::format("{} {}-{}\n",
                              step.kind == CompactionStep::Kind::kReuse ? "reuse" : "stay",
                              UserKey(step.extent->smallest), UserKey(step.extent->largest));
          break;
        case CompactionStep::Kind::kCopy:
          text += fmt::format("copy {} blocks {}-{}\n", UserKey(step.blocks.extent->smallest),
                              step.blocks.first, step.blocks.end - 1);
          break;
        case CompactionStep::Kind::kMerge: {
          text += "merge";
          for (const auto& run : step.runs) {
            for (const BlockRange& blocks : run) {
              text += fmt::format(" {}[{}-{}]", UserKey(blocks.extent->smallest), blocks.first,
                                  blocks.end - 1);
            }
          }
          text += "\n";
        }
      }
    }
    return text;
  }

  void Read(const Extent& extent, std::string_view key, bool fill_cache = true) {
    BlockMatch match;
    const EpochGuard guard;
    ASSERT_TRUE(
        reader_.Get(extent, InternalKey(key, kMaxSequence), BloomHash(key), fill_cache, &match)
            .ok());
    EXPECT_TRUE(match.found);
  }

  std::optional<std::string> end_;  // of the last plan
};

// Plans that leave something out, or take it twice or out of order, are refused.
TEST_F(CompactionTest, TheCheckerRefusesUnsoundPlans) {
  TestRandom random(TestSeed());
  size_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    CompactionPick pick;
    pick.output = {2, 0};
    for (uint32_t run = 0; run < 3; ++run) {
      CompactionInput input{{run, 0}, {}};
      int key = static_cast<int>(Uniform(&random, 0, 30));
      for (int extent = 0; extent < 3; ++extent) {
        std::vector<std::vector<int>> blocks(Uniform(&random, 1, 6));
        for (std::vector<int>& block : blocks) {
          for (uint64_t n = Uniform(&random, 1, 3); n > 0; --n) {
            block.push_back(key += static_cast<int>(SkewedSize(&random, 40)) + 1);
          }
        }
        input.extents.push_back(Numbers(blocks, 9 - run));
        const Extent& whole = *input.extents.back();
        if (whole.entries > 2 && Uniform(&random, 0, 2) == 0) {
          const int first = std::stoi(std::string(UserKey(whole.smallest)));
          auto slice = std::make_shared<Extent>();
          if (MakeSlice(whole, fmt::format("{:03}", first + Uniform(&random, 0, 3)),
                        fmt::format("{:03}", key - static_cast<int>(Uniform(&random, 0, 3))),
                        &reader_, slice.get())
                  .ok() &&
              slice->entries > 0) {
            input.extents.back() = std::move(slice);
          }
        }
      }
      pick.inputs.push_back(std::move(input));
    }
    const std::vector<CompactionStep> steps =
        Plan(pick, {},
             {.task_bytes = 100,
              .part_bytes = uint64_t{50} << Uniform(&random, 0, 6),
              .least_blocks_copied = Uniform(&random, 1, 3)});
    std::vector<CompactionStep> broken = steps;
    const size_t at = Uniform(&random, 0, steps.size() - 1);
    CompactionStep& step = broken[at];
    switch (Uniform(&random, 0, 3)) {
      case 0:
        broken.erase(broken.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 1:
        broken.insert(broken.begin() + static_cast<ptrdiff_t>(at), steps[at]);
        break;
      case 2:
        if (at + 1 == steps.size()) {
          continue;
        }
        std::swap(broken[at], broken[at + 1]);
        break;
      default:
        if (step.kind == CompactionStep::Kind::kCopy) {
          ++(Uniform(&random, 0, 1) != 0 ? step.blocks.first : step.blocks.end);
        } else if (step.kind == CompactionStep::Kind::kMerge) {
          std::vector<BlockRange>& pieces = step.runs[Uniform(&random, 0, 2)];
          if (pieces.empty()) {
            continue;
          }
          --pieces.back().end;
          if (pieces.back().end == pieces.back().first) {
            pieces.pop_back();
          }
        } else {
          step.run = (step.run + 1) % 3;
        }
    }
    PlanChecker checker(pick, &reader_);
    Status status;
    for (size_t i = 0; i < broken.size() && status.ok(); ++i) {
      status = checker.Check(broken[i]);
    }
    if (status.ok()) {
      status = checker.Finish(End());
    }
    EXPECT_FALSE(status.ok()) << "of\n" << Show(steps) << "became\n" << Show(broken);
    ++refused;
  }
  EXPECT_GT(refused, 100u);
}

// These plans take blocks in order and leave none out, but records within blocks.
TEST_F(CompactionTest, TheCheckerLooksWithinBlocks) {
  using Kind = CompactionStep::Kind;
  const auto check = [&](const std::vector<ExtentPtr>& inputs,
                         const std::vector<CompactionStep>& steps) -> std::string {
    CompactionPick pick;
    for (const ExtentPtr& extent : inputs) {
      pick.inputs.push_back({{1, pick.inputs.size()}, {extent}});
    }
    PlanChecker checker(pick, &reader_);
    for (const CompactionStep& step : steps) {
      if (const Status status = checker.Check(step); !status.ok()) {
        return status.message();
      }
    }
    return checker.Finish(nullptr).message();
  };
  const KeyRange all{false, false, "", ""};

  // 5 is neither merged before the extent that is reused nor behind it.
  const ExtentPtr around = Numbers({{1, 2}, {5}, {8, 9}}, 2);
  const ExtentPtr reused = Numbers({{3, 7}}, 1);
  EXPECT_NE(check({around, reused},
                  {{.range = {false, true, "", "003"}, .runs = {{{around, 0, 2}}, {}}},
                   {.kind = Kind::kReuse, .run = 1, .extent = reused},
                   {.range = {true, false, KeyAfter("007"), ""}, .runs = {{{around, 1, 3}}, {}}}})
                .find("is among the keys of what is not merged"),
            std::string::npos);
  EXPECT_EQ(check({around, reused}, {{.range = all, .runs = {{{around, 0, 3}}, {{reused, 0, 1}}}}}),
            "");

  // 5 is merged, and copied.
  const ExtentPtr copied = Numbers({{1, 2}, {5, 9}}, 2);
  const ExtentPtr between = Numbers({{3, 4}}, 1);
  const auto copies_from = [&](const std::string& end) {
    std::vector<CompactionStep> steps(2);
    steps[0].range = {false, true, "", end};
    steps[0].runs = {{{copied, 0, 2}}, {{between, 0, 1}}};
    steps[1].kind = Kind::kCopy;
    steps[1].blocks = {copied, 1, 2};
    steps[1].low = "005";
    return check({copied, between}, steps);
  };
  EXPECT_NE(copies_from("008").find("begins within what is covered"), std::string::npos);
  EXPECT_EQ(copies_from("005"), "");

  // 1 and 9 do not belong to the slice.
  auto slice = std::make_shared<Extent>();
  ASSERT_TRUE(MakeSlice(*copied, "002", "006", &reader_, slice.get()).ok());
  EXPECT_NE(check({slice}, {{.range = all, .runs = {{{slice, 0, 2}}}}}).find("beyond the slice"),
            std::string::npos);
  EXPECT_EQ(
      check({slice}, {{.range = {true, true, "002", KeyAfter("005")}, .runs = {{{slice, 0, 2}}}}}),
      "");
}

TEST_F(CompactionTest, OfEachKeyNewerRunsMustHoldNewerVersions) {
  const auto check = [&](SequenceNumber upper, SequenceNumber lower) {
    return CheckOrder({Numbers({{1, 2}, {5, 9}}, upper)},
                      {Numbers({{3}}, 4), Numbers({{5}, {7}}, lower)});
  };
  EXPECT_TRUE(check(9, 8).ok());
  EXPECT_TRUE(check(9, 9).IsCorruption());
  const Status status = check(9, 10);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find("key 005"), std::string::npos) << status.ToString();
}

// X-Engine 3.1.4: what was cached is cached afterwards, under its new name, and nothing else is.
TEST_F(CompactionTest, MergedBlocksInheritPlacesInTheCache) {
  CompactionPick pick;
  pick.inputs = {{{1, 0}, {Numbers({{1, 3}, {5, 7}, {9, 11}, {13, 15}}, 9)}},
                 {{2, 0}, {Numbers({{2, 4}, {6, 8}, {10, 12}, {14, 16}}, 1)}}};
  pick.output = {2, 0};
  Read(*pick.inputs[0].extents[0], "005");  // the blocks of 5 and 7, and of 14 and 16
  Read(*pick.inputs[1].extents[0], "014");
  CompactionResult result;
  ASSERT_TRUE(
      Run(pick, {}, {.extent = {}, .block_bytes = 40, .snapshots = {kMaxSequence}}, &result).ok());
  ASSERT_EQ(result.added.size(), 1u);
  const uint64_t misses = blocks_.stats().misses;
  EXPECT_EQ(blocks_.stats().entries, 2u);
  TableHeadRef head;
  ASSERT_TRUE(reader_.OpenHead(result.added[0], &head).ok());
  ASSERT_GE(head->blocks(), 6u);
  size_t cached = 0;
  for (size_t i = 0; i < head->blocks(); ++i) {
    const BlockKey key(result.added[0].number, static_cast<uint32_t>(head->block(i).offset));
    const EpochGuard guard;
    if (blocks_.Find(key.bytes(), key.hash()) != nullptr) {
      ++cached;
      const std::string_view last = UserKey(head->last_key(i));
      EXPECT_TRUE((last >= "003" && last <= "009") || last >= "012") << last;
    }
  }
  EXPECT_EQ(cached, 2u);
  EXPECT_EQ(blocks_.stats().misses, misses);
}

TEST_F(CompactionTest, AnAccessIsCountedOnceAndThoseOfCompactionsNever) {
  CompactionPick pick;
  pick.inputs = {{{1, 0}, {Numbers({{1, 3}, {5, 7}}, 9)}}, {{2, 0}, {Numbers({{2, 4}}, 1)}}};
  pick.output = {2, 0};
  const Extent& extent = *pick.inputs[0].extents[0];
  Read(extent, "001");  // not cached
  EXPECT_EQ(extent.place->accesses(), 1u);
  Read(extent, "001");  // cached
  EXPECT_EQ(extent.place->accesses(), 2u);
  Read(extent, "005", /*fill_cache=*/false);
  EXPECT_EQ(extent.place->accesses(), 2u);
  CompactionResult result;
  ASSERT_TRUE(
      Run(pick, {}, {.extent = {}, .block_bytes = 40, .snapshots = {kMaxSequence}}, &result).ok());
  EXPECT_EQ(extent.place->accesses(), 2u);
}

// Whatever the inputs have, all blocks of a new extent have the compression of its level.
TEST_F(CompactionTest, CopiedBlocksAreCompressedAsTheOutputIs) {
  const std::vector<Codec> all = {{Compression::kNone},
                                  {Compression::kSnappy},
                                  {Compression::kZstd, 1},
                                  {Compression::kZstd, 3, 1024},
                                  {Compression::kLz4}};
  TestRandom random(TestSeed());
  for (const Codec& from : all) {
    for (const Codec& to : all) {
      const auto blocks = [&](int first) {
        TestBlocks made;
        for (int block = first; block < 40; block += block % 10 == 9 ? 11 : 1) {
          std::string value = std::to_string(random());
          value.resize(1000, 'v');
          made.push_back({{InternalKey(fmt::format("{:03}", block), 1), value}});
        }
        return made;
      };
      format_.codec = from;
      CompactionPick pick;
      pick.output = {2, 0};
      pick.inputs = {{{1, 0}, {Make(blocks(0))}}, {{2, 0}, {Make(blocks(10))}}};
      CompactionResult result;
      const Status status =
          Run(pick, {}, {.extent = {.codec = to}, .snapshots = {kMaxSequence}}, &result);
      ASSERT_TRUE(status.ok()) << status.ToString();
      EXPECT_GT(result.copied_blocks, 10u);
      ASSERT_EQ(result.added.size(), 1u);
      const Extent& extent = result.added[0];
      std::string image(extent.bytes, '\0');
      ASSERT_TRUE(
          extent.place->file()->Read(extent.place->offset(), image.size(), image.data()).ok());
      TableReport report;
      const Status sound = VerifyTableImage(image, "t", &report);
      ASSERT_TRUE(sound.ok()) << sound.ToString();
      EXPECT_EQ(report.entries, 40u);
      TableHeadRef head;
      ASSERT_TRUE(reader_.OpenHead(extent, &head).ok());
      EXPECT_EQ(head->dictionary() != nullptr, to.dictionary_bytes > 0);
      for (size_t i = 0; i < head->blocks(); ++i) {
        const BlockHandle handle = head->block(i);
        EXPECT_EQ(Compression{static_cast<uint8_t>(image[handle.offset + handle.size])}, to.type);
      }
    }
  }
}

// Any cut into runs, extents and blocks, with any data reuse, makes the records that a plain merge
// by the rules of sluice/executor.h keeps; but reused and copied parts may keep what is shadowed.
// Stops its planner at one of its reads.
class StoppingSource final : public PlanSource {
 public:
  StoppingSource(ExtentReader* reader, size_t stop_at) : source_(reader), stop_at_(stop_at) {}

  Status OpenHead(const Extent& extent, TableHeadRef* head) override {
    Count();
    return source_.OpenHead(extent, head);
  }
  Status FindKey(const Extent& extent, const BlockHandle& handle, std::string_view from,
                 std::string* user_key) override {
    Count();
    return source_.FindKey(extent, handle, from, user_key);
  }
  const std::atomic<bool>& stop() const { return stop_; }
  size_t reads() const { return reads_; }

 private:
  void Count() {
    if (++reads_ == stop_at_) {
      stop_ = true;
    }
  }
  ExtentPlanSource source_;
  const size_t stop_at_;
  size_t reads_ = 0;
  std::atomic<bool> stop_{false};
};

// So that Close does not wait for it, however much there is to plan.
TEST_F(CompactionTest, PlanningEndsSoonAfterItIsStopped) {
  constexpr int kExtents = 100;
  constexpr size_t kRuns = 3;
  CompactionPick pick;
  pick.output = {2, 0};
  for (uint32_t run = 0; run < kRuns; ++run) {
    CompactionInput input{{run, 0}, {}};
    for (int i = 0; i < kExtents; ++i) {
      // In each extent there are blocks to copy and blocks to merge.
      const int n = static_cast<int>(run);
      TestBlocks blocks;
      for (const char* const key : {"a", "b", "c", "d"}) {
        const std::string at = fmt::format("{:03}{}{}", i, key, key[0] == 'a' ? 0 : n);
        blocks.push_back({{InternalKey(at, 10 - run), "v"}, {InternalKey(at + "x", 1), "v"}});
      }
      input.extents.push_back(Make(blocks));
    }
    pick.inputs.push_back(std::move(input));
  }
  const auto plan = [&](StoppingSource* source) {
    CompactionPlanner planner(pick, {}, {}, source, &source->stop());
    Status status;
    std::optional<CompactionStep> step;
    do {
      ExtentPtr damaged;
      status = planner.Next(&step, &damaged);
    } while (status.ok() && step);
    return status;
  };
  StoppingSource whole(&reader_, 0);
  ASSERT_TRUE(plan(&whole).ok());
  ASSERT_GE(whole.reads(), kExtents * kRuns);
  for (size_t at = 1; at < whole.reads(); ++at) {
    StoppingSource source(&reader_, at);
    ASSERT_EQ(plan(&source).code(), Status::Code::kBusy) << at;
    EXPECT_LE(source.reads(), at + 4 * kRuns) << at;
  }
}

TEST_F(CompactionTest, OutputReadsAsItsInputs) {
  TestRandom random(TestSeed());
  const auto dictionary = [&]() -> uint32_t { return Uniform(&random, 0, 1) != 0 ? 256 : 0; };
  for (int round = 0; round < 60; ++round) {
    // One set of records, each in one of the runs: clusters, so that some overlap and some do not.
    const size_t runs = Uniform(&random, 1, 4);
    const std::vector<TestEntry> all =
        RandomEntries(&random, {.count = Uniform(&random, 1, 1500), .alphabet = 8});
    std::vector<std::vector<TestEntry>> by_run(runs);
    std::map<std::string, std::map<uint64_t, size_t>> versions;  // key -> trailer -> run
    size_t run = 0;
    for (const TestEntry& entry : all) {
      if (Uniform(&random, 0, 20) == 0) {
        run = Uniform(&random, 0, runs - 1);
      }
      by_run[run].push_back(entry);
    }
    // Newer runs hold newer versions.
    for (size_t i = 0; i < runs; ++i) {
      for (TestEntry& entry : by_run[i]) {
        const uint64_t trailer = Trailer(entry.key);
        const SequenceNumber sequence = TrailerSequence(trailer) % 1000000 + 1000000 * (runs - i);
        entry.key = InternalKey(UserKey(entry.key), sequence, RecordType{TrailerType(trailer)});
      }
      std::sort(by_run[i].begin(), by_run[i].end(), [](const TestEntry& a, const TestEntry& b) {
        return InternalKeyLess(a.key, b.key);
      });
      by_run[i].erase(
          std::unique(by_run[i].begin(), by_run[i].end(),
                      [](const TestEntry& a, const TestEntry& b) { return a.key == b.key; }),
          by_run[i].end());
    }
    CompactionPick pick;
    pick.output = {2, 0};
    pick.bottommost = Uniform(&random, 0, 1) != 0;
    std::map<std::string, std::pair<uint64_t, std::string>> newest;
    for (size_t i = 0; i < runs; ++i) {
      CompactionInput input{{static_cast<uint32_t>(i), 0}, {}};
      TestBlocks blocks(1);
      const auto cut = [&] {
        if (!blocks.back().empty()) {
          format_.codec = {.type = RandomCompression(&random), .dictionary_bytes = dictionary()};
          input.extents.push_back(Uniform(&random, 0, 2) == 0 ? MakeSliced(&random, blocks)
                                                              : Make(blocks));
        }
        blocks.assign(1, {});
      };
      for (const TestEntry& entry : by_run[i]) {
        const bool new_key =
            blocks.back().empty() || UserKey(blocks.back().back().key) != UserKey(entry.key);
        if (new_key && Uniform(&random, 0, 60) == 0) {
          cut();
        } else if (!blocks.back().empty() && Uniform(&random, 0, 6) == 0) {
          blocks.emplace_back();
        }
        blocks.back().push_back(entry);
        auto& [trailer, value] = newest[std::string(UserKey(entry.key))];
        if (Trailer(entry.key) >= trailer) {
          trailer = Trailer(entry.key);
          value = entry.value;
        }
      }
      cut();
      if (!input.extents.empty()) {
        pick.inputs.push_back(std::move(input));
      }
    }
    const PlanOptions plan{.task_bytes = uint64_t{200} << Uniform(&random, 0, 10),
                           .part_bytes = uint64_t{100} << Uniform(&random, 0, 12),
                           .least_blocks_copied = Uniform(&random, 1, 3),
                           .recoded_levels = {static_cast<uint32_t>(Uniform(&random, 0, 6))}};
    const Codec codec{.type = RandomCompression(&random), .dictionary_bytes = dictionary()};
    std::vector<ExtentPtr> output;
    while (!pick.inputs.empty()) {
      CompactionResult result;
      const Status status =
          Run(pick, plan,
              {.extent = {.extent_bytes = static_cast<uint32_t>(1024 << Uniform(&random, 0, 8)),
                          .codec = codec},
               .block_bytes = static_cast<uint32_t>(64 << Uniform(&random, 0, 6)),
               .restart_interval = 4,
               .snapshots = {kMaxSequence},
               .window = Uniform(&random, 1, 3)},
              &result);
      ASSERT_TRUE(status.ok()) << status.ToString();
      output.insert(output.end(), result.reused.begin(), result.reused.end());
      for (const Extent& extent : result.added) {
        output.push_back(std::make_shared<const Extent>(extent));
      }
      TakeOut(result, &pick);
    }
    RunIndex index;
    const Status edit = RunIndex().Edit({}, output, &index);
    ASSERT_TRUE(edit.ok()) << edit.ToString();
    RunIterator at(&reader_, index, kMaxSequence, false);
    at.SeekToFirst();
    for (const auto& [key, version] : newest) {
      const bool tombstone = TrailerType(version.first) == 0;
      if (tombstone && pick.bottommost && (!at.Valid() || at.user_key() != key)) {
        continue;
      }
      ASSERT_TRUE(at.Valid()) << at.status().ToString();
      ASSERT_EQ(at.user_key(), key);
      ASSERT_EQ(at.trailer(), version.first);
      ASSERT_EQ(at.value(), version.second);
      ASSERT_FALSE(tombstone && pick.bottommost);
      at.Next();
    }
    ASSERT_FALSE(at.Valid());
    ASSERT_TRUE(at.status().ok());
  }
}

}  // namespace
}  // namespace sluice
