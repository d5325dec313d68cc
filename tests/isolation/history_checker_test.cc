// The checker finds what is planted, and nothing where there is nothing.

#include "isolation/history_checker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

using End = RecordedTransaction::End;
using Lists = std::map<std::string, std::vector<uint64_t>>;

constexpr auto kSnapshot = CheckedIsolation::kSnapshot;
constexpr auto kSerializable = CheckedIsolation::kSerializable;
constexpr auto kReadCommitted = CheckedIsolation::kReadCommitted;

// Begins at tick `begin`, commits at `end`.
struct Make {
  explicit Make(uint64_t begin, uint64_t end, End how = End::kCommitted) {
    t.end = how;
    t.begin_before = begin;
    t.snapshot_by = begin + 1;
    t.commit_before = end;
    t.commit_by = end + 1;
  }
  Make& Read(const std::string& key, std::vector<uint64_t> list) {
    t.reads.push_back({key, std::move(list), t.begin_before});
    t.own_appends.push_back(t.appends[key].size());
    return *this;
  }
  Make& Append(const std::string& key, uint64_t number) {
    t.appends[key].push_back(number);
    return *this;
  }
  operator RecordedTransaction() const { return t; }  // NOLINT: a maker

  RecordedTransaction t;
};

// The name of the first anomaly.
std::string Check(const std::vector<RecordedTransaction>& history, const Lists& last,
                  CheckedIsolation isolation) {
  const std::vector<std::string> found = CheckHistory(history, last, isolation);
  return found.empty() ? "" : found.front().substr(0, found.front().find(':'));
}

TEST(HistoryChecker, FindsNothingWhereNothingIs) {
  const std::vector<RecordedTransaction> history = {
      Make(0, 2).Append("x", 1).Append("y", 2),
      Make(10, 12).Read("x", {1}).Append("x", 3).Read("x", {1, 3}),
      Make(10, 12).Read("x", {1}).Read("y", {2}),
      Make(10, 20, End::kAborted).Read("x", {1}).Append("x", 4).Read("x", {1, 4}),
      Make(30, 32).Read("x", {1, 3}).Read("y", {2}).Read("z", {}),
  };
  const Lists last = {{"x", {1, 3}}, {"y", {2}}};
  EXPECT_EQ(Check(history, last, kSnapshot), "");
  EXPECT_EQ(Check(history, last, kReadCommitted), "");
  EXPECT_EQ(Check(history, last, kSerializable), "");
}

TEST(HistoryChecker, FindsWriteSkewWhereItMustNotBe) {
  const std::vector<RecordedTransaction> history = {
      Make(0, 10).Read("x", {}).Append("y", 1),
      Make(0, 10).Read("y", {}).Append("x", 2),
  };
  const Lists last = {{"x", {2}}, {"y", {1}}};
  EXPECT_EQ(Check(history, last, kSerializable), "G2");
  EXPECT_EQ(Check(history, last, kSnapshot), "");
  EXPECT_EQ(Check(history, last, kReadCommitted), "");
  const std::vector<RecordedTransaction> stale = {Make(0, 2).Append("x", 1),
                                                  Make(10, 12).Read("x", {})};
  EXPECT_EQ(Check(stale, {{"x", {1}}}, kSerializable), "stale");
}

TEST(HistoryChecker, FindsDirtyWrites) {
  EXPECT_EQ(
      Check({Make(0, 10).Append("x", 1).Append("y", 2), Make(0, 10).Append("x", 3).Append("y", 4)},
            {{"x", {1, 3}}, {"y", {4, 2}}}, kReadCommitted),
      "G0");
}

TEST(HistoryChecker, FindsAbortedReads) {
  const RecordedTransaction aborted = Make(0, 10, End::kAborted).Append("x", 1);
  EXPECT_EQ(Check({aborted, Make(0, 10).Read("x", {1})}, {}, kReadCommitted), "G1a");
  EXPECT_EQ(Check({aborted}, {{"x", {1}}}, kReadCommitted), "G1a");
}

TEST(HistoryChecker, FindsIntermediateReads) {
  EXPECT_EQ(Check({Make(0, 10).Append("x", 1).Append("x", 2), Make(0, 10).Read("x", {1})},
                  {{"x", {1, 2}}}, kReadCommitted),
            "G1b");
}

TEST(HistoryChecker, FindsCircularInformationFlow) {
  EXPECT_EQ(
      Check({Make(0, 10).Append("x", 1).Read("y", {2}), Make(0, 10).Append("y", 2).Read("x", {1})},
            {{"x", {1}}, {"y", {2}}}, kReadCommitted),
      "G1c");
}

TEST(HistoryChecker, FindsLostUpdates) {
  // Two that read the same, of which one overwrote the other.
  const std::vector<RecordedTransaction> history = {Make(0, 10).Read("x", {}).Append("x", 1),
                                                    Make(0, 10).Read("x", {}).Append("x", 2)};
  EXPECT_EQ(Check(history, {{"x", {2}}}, kReadCommitted), "lost");
  // As if both had appended: then one did not read what it overwrote.
  EXPECT_EQ(Check(history, {{"x", {1, 2}}}, kReadCommitted), "");
  EXPECT_EQ(Check(history, {{"x", {1, 2}}}, kSnapshot), "G-SIa");
  EXPECT_EQ(Check({Make(0, 1).Read("x", {}).Append("x", 1), Make(2, 4).Append("x", 2),
                   Make(1, 2).Read("x", {2})},
                  {{"x", {1, 2}}}, kReadCommitted),
            "lost");
  EXPECT_EQ(Check({Make(0, 1).Append("x", 1)}, {{"x", {1, 1}}}, kReadCommitted), "lost");
  EXPECT_EQ(Check({}, {{"x", {1}}}, kReadCommitted), "lost");
}

TEST(HistoryChecker, FindsThatOwnWritesWereNotRead) {
  EXPECT_EQ(Check({Make(0, 10).Append("x", 1).Read("x", {})}, {{"x", {1}}}, kReadCommitted), "own");
}

TEST(HistoryChecker, FindsStaleReads) {
  const std::vector<RecordedTransaction> history = {Make(0, 1).Append("x", 1),
                                                    Make(5, 6).Read("x", {})};
  EXPECT_EQ(Check(history, {{"x", {1}}}, kReadCommitted), "stale");
  EXPECT_EQ(Check(history, {{"x", {1}}}, kSnapshot), "G-SIb");
  // Across two others, which only time connects.
  EXPECT_EQ(Check({Make(0, 1).Append("x", 1), Make(5, 6).Append("y", 2),
                   Make(10, 11).Append("z", 3), Make(12, 20).Read("z", {3}).Read("x", {})},
                  {{"x", {1}}, {"y", {2}}, {"z", {3}}}, kSnapshot),
            "G-SIb");
}

TEST(HistoryChecker, FindsReadSkewInSnapshotsOnly) {
  const std::vector<RecordedTransaction> history = {Make(0, 10).Append("x", 1).Append("y", 2),
                                                    Make(0, 20).Read("x", {}).Read("y", {2})};
  const Lists last = {{"x", {1}}, {"y", {2}}};
  EXPECT_EQ(Check(history, last, kReadCommitted), "");
  // By ticks alone it could have begun late enough to see both.
  RecordedTransaction late = history[1];
  late.snapshot_by = 30;
  EXPECT_EQ(Check({history[0], late}, last, kSnapshot), "G-SIb");
  // It saw what was committed after its snapshot.
  EXPECT_EQ(Check(history, last, kSnapshot), "G-SIa");
}

// Two that each see one of two independent writes, and not the other: no order of them fits both.
TEST(HistoryChecker, FindsLongForksInSnapshotsOnly) {
  const std::vector<RecordedTransaction> history = {
      Make(0, 10).Append("x", 1), Make(0, 10).Append("y", 2),
      Make(0, 30).Read("x", {1}).Read("y", {}), Make(0, 30).Read("x", {}).Read("y", {2})};
  std::vector<RecordedTransaction> late = history;
  late[2].snapshot_by = late[3].snapshot_by = 20;
  const Lists last = {{"x", {1}}, {"y", {2}}};
  EXPECT_EQ(Check(late, last, kReadCommitted), "");
  EXPECT_EQ(Check(late, last, kSnapshot), "G-SIb");
}

TEST(HistoryChecker, TakesWriteSkewForSnapshotIsolation) {
  const std::vector<RecordedTransaction> history = {
      Make(0, 10).Read("x", {}).Read("y", {}).Append("x", 1),
      Make(0, 10).Read("x", {}).Read("y", {}).Append("y", 2)};
  EXPECT_EQ(Check(history, {{"x", {1}}, {"y", {2}}}, kSnapshot), "");
}

}  // namespace
}  // namespace sluice
