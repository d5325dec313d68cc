// The checker finds what is planted, and nothing where there is nothing.

#include "isolation/register_checker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

using End = RecordedSpan::End;
using Kind = RegisterOperation::Kind;

constexpr auto kSnapshot = CheckedIsolation::kSnapshot;
constexpr auto kReadCommitted = CheckedIsolation::kReadCommitted;

// Begins at tick `begin`, commits at `end`; reads at any time between.
struct Make {
  explicit Make(uint64_t begin, uint64_t end, End how = End::kCommitted) {
    t.end = how;
    t.begin_before = begin;
    t.snapshot_by = end;
    t.commit_before = end;
    t.commit_by = end + 1;
  }
  // Has its snapshot then.
  Make& SnapshotBy(uint64_t tick) {
    t.snapshot_by = tick;
    return *this;
  }
  Make& Read(const std::string& key, uint64_t number, Kind kind = Kind::kRead) {
    t.operations.push_back({kind, key, number, t.begin_before, t.commit_before});
    return *this;
  }
  Make& Lock(const std::string& key, uint64_t number) {
    return Read(key, number, Kind::kReadForUpdate);
  }
  Make& Put(const std::string& key, uint64_t number) {
    t.operations.push_back({Kind::kPut, key, number});
    return *this;
  }
  Make& Delete(const std::string& key, uint64_t number) {
    t.operations.push_back({Kind::kDelete, key, number});
    return *this;
  }
  operator RegisterTransaction() const { return t; }  // NOLINT: a maker

  RegisterTransaction t;
};

using History = std::vector<RegisterTransaction>;

// The name of the first anomaly.
std::string Check(const History& history, const RegisterVersions& versions,
                  CheckedIsolation isolation) {
  const RegisterReport report = CheckRegisters(history, versions, isolation);
  return report.anomalies.empty()
             ? ""
             : report.anomalies.front().substr(0, report.anomalies.front().find(':'));
}
void Expect(const std::string& read_committed, const std::string& snapshot, const History& history,
            const RegisterVersions& versions) {
  EXPECT_EQ(Check(history, versions, kReadCommitted), read_committed);
  EXPECT_EQ(Check(history, versions, kSnapshot), snapshot);
}

TEST(RegisterChecker, FindsNothingWhereNothingIs) {
  const History history = {
      Make(0, 2).Put("x", 1).Put("y", 2),
      Make(10, 12).Put("x", 3).Read("x", 3).Delete("x", 4).Read("x", 0).Put("x", 5),
      Make(10, 20, End::kAborted).Read("x", 1).Put("x", 6).Read("x", 6),
      Make(30, 32).Read("x", 5).Read("y", 2).Read("z", 0),
      Make(40, 42).Delete("y", 7),
      Make(50, 52).Read("y", 0).Lock("x", 5).Put("x", 8),
  };
  const RegisterVersions versions = {{{"x", {1, 5, 8}}, {"y", {2, 7}}}, {0, 1, 4, 5}};
  Expect("", "", history, versions);
  const RegisterReport report = CheckRegisters(history, versions, kSnapshot);
  EXPECT_EQ(report.reads, 5u);
  EXPECT_EQ(report.left_out, 0u);
}

TEST(RegisterChecker, FindsDirtyWrites) {
  Expect("G0", "G0", {Make(0, 10).Put("x", 1).Put("y", 2), Make(0, 10).Put("x", 3).Put("y", 4)},
         {{{"x", {1, 3}}, {"y", {4, 2}}}});
}

TEST(RegisterChecker, FindsAbortedReads) {
  const RegisterTransaction aborted = Make(0, 10, End::kAborted).Put("x", 1);
  Expect("G1a", "G1a", {aborted, Make(0, 10).Read("x", 1)}, {});
  Expect("G1a", "G1a", {aborted}, {{{"x", {1}}}});
}

TEST(RegisterChecker, FindsIntermediateReads) {
  const RegisterTransaction twice = Make(0, 10).Put("x", 1).Put("x", 2);
  Expect("G1b", "G1b", {twice, Make(0, 10).Read("x", 1)}, {{{"x", {2}}}});
  Expect("G1b", "G1b", {twice}, {{{"x", {1, 2}}}});
}

TEST(RegisterChecker, FindsCircularInformationFlow) {
  Expect("G1c", "G1c", {Make(0, 10).Put("x", 1).Read("y", 2), Make(0, 10).Put("y", 2).Read("x", 1)},
         {{{"x", {1}}, {"y", {2}}}});
}

TEST(RegisterChecker, FindsLostUpdates) {
  const RegisterTransaction blind = Make(0, 10).Put("x", 1);
  const RegisterVersions versions = {{{"x", {1, 2}}}};
  Expect("", "P4", {blind, Make(0, 10).Read("x", 0).Put("x", 2)}, versions);
  Expect("P4", "P4", {blind, Make(0, 10).Lock("x", 0).Put("x", 2)}, versions);
  Expect("", "", {blind, Make(0, 20).Lock("x", 1).Put("x", 2)}, versions);
}

TEST(RegisterChecker, FindsLostWrites) {
  Expect("lost", "lost", {Make(0, 10).Put("x", 1)}, {});
  Expect("lost", "lost", {Make(0, 10).Put("x", 1)}, {{{"x", {1, 1}}}});
  Expect("lost", "lost", {}, {{{"x", {1}}}});
  Expect("lost", "lost", {Make(0, 10).Read("x", 1)}, {});
  Expect("lost", "lost", {Make(0, 10).Put("x", 1), Make(0, 10).Read("y", 1)}, {{{"x", {1}}}});
}

TEST(RegisterChecker, FindsThatOwnWritesWereNotRead) {
  Expect("own", "own", {Make(0, 10).Put("x", 1).Read("x", 0)}, {{{"x", {1}}}});
  Expect("own", "own", {Make(0, 5).Put("x", 1), Make(6, 10).Delete("x", 2).Read("x", 1)},
         {{{"x", {1, 2}}}});
}

TEST(RegisterChecker, FindsStaleReads) {
  const History history = {Make(0, 1).Put("x", 1), Make(5, 6).Put("x", 2),
                           Make(7, 8).Delete("x", 3), Make(9, 10).Put("x", 4)};
  const RegisterVersions versions = {{{"x", {1, 2, 3, 4}}}};
  const auto with = [&](RegisterTransaction reader) {
    History all = history;
    all.push_back(std::move(reader));
    return all;
  };
  Expect("stale", "stale", with(Make(20, 21).Read("x", 2)), versions);
  Expect("stale", "stale", with(Make(20, 21).Read("x", 0)), versions);
  Expect("stale", "stale", with(Make(2, 3).Read("x", 2)), versions);
  Expect("stale", "stale", with(Make(3, 6).Read("x", 0)), versions);
  Expect("", "", with(Make(2, 7).Read("x", 2)), versions);
  // It can have seen either absence.
  EXPECT_EQ(CheckRegisters(with(Make(0, 9).Read("x", 0)), versions, kSnapshot).left_out, 1u);
}

TEST(RegisterChecker, FindsReadSkewInSnapshotsOnly) {
  const RegisterTransaction both = Make(0, 10).Put("x", 1).Put("y", 2);
  const RegisterVersions versions = {{{"x", {1}}, {"y", {2}}}};
  Expect("", "G-SIb", {both, Make(0, 20).Read("x", 0).Read("y", 2)}, versions);
  Expect("", "G-SIa", {both, Make(0, 20).SnapshotBy(1).Read("x", 0).Read("y", 2)}, versions);
  // First committer wins, reads or not.
  Expect("", "G-SIa", {Make(0, 10).Put("x", 1), Make(0, 20).SnapshotBy(1).Put("x", 2)},
         {{{"x", {1, 2}}}});
}

TEST(RegisterChecker, FindsLongForksInSnapshotsOnly) {
  const History history = {Make(0, 10).Put("x", 1), Make(0, 10).Put("y", 2),
                           Make(0, 20).Read("x", 1).Read("y", 0),
                           Make(0, 20).Read("x", 0).Read("y", 2)};
  Expect("", "G-SIb", history, {{{"x", {1}}, {"y", {2}}}});
  // One of them alone contradicts the order of commits, where that is known.
  const History one = {history[0], history[1], history[2]};
  Expect("", "", one, {{{"x", {1}}, {"y", {2}}}, {0, 1}});
  Expect("", "G-SIb", one, {{{"x", {1}}, {"y", {2}}}, {1, 0}});
}

TEST(RegisterChecker, TakesWriteSkewForSnapshotIsolation) {
  Expect("", "",
         {Make(0, 10).Read("x", 0).Read("y", 0).Put("x", 1),
          Make(0, 10).Read("x", 0).Read("y", 0).Put("y", 2)},
         {{{"x", {1}}, {"y", {2}}}});
}

}  // namespace
}  // namespace sluice
