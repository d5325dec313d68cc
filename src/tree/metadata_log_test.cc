// The metadata log against states kept in memory, over lives that end in crashes.

#include "tree/metadata_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <vector>

#include "util/crc32c.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::string Encoded(const Metadata& metadata) {
  std::string bytes;
  metadata.ToEdit().AppendTo(&bytes);
  return bytes;
}

// A random edit that fits the state.
MetadataEdit RandomEdit(const Metadata& state, std::mt19937_64& rng) {
  MetadataEdit edit;
  const uint64_t number = state.next_number;
  if (state.subtables.empty() || rng() % 20 == 0) {
    edit.created.push_back({static_cast<uint32_t>(number), std::to_string(number)});
    edit.next_number = number + 1;
    return edit;
  }
  const auto& [id, subtable] =
      *std::next(state.subtables.begin(), static_cast<ptrdiff_t>(rng() % state.subtables.size()));
  if (rng() % 30 == 0) {
    edit.dropped.push_back(id);
    return edit;
  }
  if (!subtable.runs.empty() && rng() % 2 == 0) {
    const auto& [run_id, run] = *subtable.runs.begin();
    RunIndex::Iterator at(run);
    at.SeekToFirst();
    edit.removed.push_back({id, run_id, at.extent()->number, at.extent()->smallest});
    if (run_id.level == 0 && rng() % 2 == 0) {
      edit.added.push_back({id, {1, 0}, *at.extent()});
    }
    return edit;
  }
  // Keys that ascend with the numbers: runs of several extents that do not overlap.
  const std::string key = fmt::format("{:08}", number);
  Extent extent{.number = number,
                .address = {1, static_cast<uint32_t>(number)},
                .bytes = static_cast<uint32_t>(rng() % (2 << 20)),
                .smallest = key + std::string(8 + rng() % 300, 'a'),
                .largest = key + std::string(8 + rng() % 300, 'b'),
                .entries = rng() % 1000};
  edit.added.push_back({id, {0, rng() % 2}, extent});
  edit.flushed.push_back({id, number});
  edit.log_start = number * 10;
  edit.next_number = number + 1;
  return edit;
}

TEST(MetadataLog, KeepsWhatWasApplied) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    FileImage files = {{"d/x", ""}};
    std::string before = Encoded({});  // all that was acknowledged
    std::string maybe = before;        // and what was under way
    bool created = false;
    for (int life = 0; life < 5 && !HasFailure(); ++life) {
      SCOPED_TRACE("life " + std::to_string(life));
      FaultEnv env(files);
      // Some lives end while opening, some after whole states were written anew.
      env.CrashAt(rng() % (life % 2 == 0 ? 40 : 2500), rng());
      std::unique_ptr<MetadataLog> log;
      const MetadataEdit empty;
      const Status opened = MetadataLog::Open(&env, "d", created ? nullptr : &empty, &log);
      ASSERT_TRUE(opened.ok() || env.crashed()) << opened.ToString();
      if (opened.ok()) {
        created = true;
        const std::string found = Encoded(log->state());
        ASSERT_TRUE(found == before || found == maybe);
        before = maybe = found;
        while (true) {
          const MetadataEdit edit = RandomEdit(log->state(), rng);
          Metadata next = log->state();
          ASSERT_TRUE(next.Apply(edit).ok());
          maybe = Encoded(next);
          if (!log->Apply(edit).ok()) {
            break;
          }
          before = maybe;
          ASSERT_EQ(Encoded(log->state()), before);
          if (rng() % 50 == 0 && !log->Rewrite().ok()) {
            break;
          }
        }
        ASSERT_TRUE(env.crashed());
      }
      files = env.Survivors(rng() % 2 == 0 ? CrashKind::kProcess : CrashKind::kPower, rng());
    }
  }
}

// After NoSpace the state is known and the same edit can be made, whichever call failed.
TEST(MetadataLog, GoesOnAfterAFullDevice) {
  const auto live = [](FaultEnv* env, std::string* state, uint64_t* refused) -> Status {
    std::unique_ptr<MetadataLog> log;
    const MetadataEdit empty;
    SLUICE_RETURN_IF_ERROR(MetadataLog::Open(env, "d", &empty, &log));
    // States are written anew, and segments follow each other.
    for (uint32_t i = 0; i < 60; ++i) {
      MetadataEdit edit;
      edit.created.push_back({i, std::string(100'000, 'x')});
      if (i > 0) {
        edit.dropped.push_back(i - 1);
      }
      *state = Encoded(log->state());
      Status status = i % 8 == 5 ? log->Rewrite() : Status();
      if (status.ok() || status.IsNoSpace()) {
        status = log->Apply(edit);
      }
      if (status.IsNoSpace()) {
        EXPECT_EQ(Encoded(log->state()), *state);
        ++*refused;
        status = log->Apply(edit);
      }
      SLUICE_RETURN_IF_ERROR(status);
      *state = Encoded(log->state());
    }
    return {};
  };
  FaultEnv whole(FileImage{{"d/x", ""}});
  std::string state;
  uint64_t refused = 0;
  ASSERT_TRUE(live(&whole, &state, &refused).ok());
  uint64_t went_on = 0;
  for (uint64_t k = 0; k < whole.operations() && !HasFailure(); ++k) {
    SCOPED_TRACE(k);
    FaultEnv env(FileImage{{"d/x", ""}});
    env.FailAt(k, ENOSPC, k);
    const Status status = live(&env, &state, &refused);
    if (status.ok()) {
      ++went_on;
      std::unique_ptr<MetadataLog> log;
      FaultEnv after(env.Survivors(CrashKind::kPower, k));
      ASSERT_TRUE(MetadataLog::Open(&after, "d", nullptr, &log).ok());
      EXPECT_EQ(Encoded(log->state()), state);
    }
  }
  EXPECT_GT(went_on, 5u);
}

// Where the log is in a single segment, too.
TEST(MetadataLog, RewritingFreesWhatNobodyNeeds) {
  FaultEnv env(FileImage{{"d/x", ""}});
  const auto bytes = [&] {
    std::vector<std::string> names;
    EXPECT_TRUE(env.GetChildren("d/meta", &names).ok());
    uint64_t sum = 0;
    for (const std::string& name : names) {
      uint64_t one = 0;
      EXPECT_TRUE(env.GetFileSize("d/meta/" + name, &one).ok());
      sum += one;
    }
    return sum;
  };
  std::unique_ptr<MetadataLog> log;
  const MetadataEdit empty;
  ASSERT_TRUE(MetadataLog::Open(&env, "d", &empty, &log).ok());
  EXPECT_FALSE(log->worth_rewriting());
  for (uint32_t i = 0; i < 2000; ++i) {
    MetadataEdit edit;
    edit.created.push_back({i, std::string(100, 'x')});
    ASSERT_TRUE(log->Apply(edit).ok());
  }
  for (uint32_t i = 0; i < 1990; ++i) {
    MetadataEdit edit;
    edit.dropped.push_back(i);
    ASSERT_TRUE(log->Apply(edit).ok());
  }
  EXPECT_GT(bytes(), uint64_t{256} << 10);
  ASSERT_TRUE(log->worth_rewriting());
  const std::string state = Encoded(log->state());
  ASSERT_TRUE(log->Rewrite().ok());
  EXPECT_LE(bytes(), uint64_t{128} << 10);
  EXPECT_FALSE(log->worth_rewriting());
  EXPECT_LE(log->whole_bytes(), 4096u);
  log.reset();
  FaultEnv after(env.Survivors(CrashKind::kPower, 1));
  ASSERT_TRUE(MetadataLog::Open(&after, "d", nullptr, &log).ok());
  EXPECT_EQ(Encoded(log->state()), state);
}

TEST(MetadataLog, NoDamageBeforeASealIsTakenForAnUnfinishedWrite) {
  FaultEnv env(FileImage{{"d/x", ""}});
  {
    std::unique_ptr<MetadataLog> log;
    const MetadataEdit empty;
    ASSERT_TRUE(MetadataLog::Open(&env, "d", &empty, &log).ok());
    MetadataEdit edit;
    edit.created.push_back({7, "the last edit"});
    ASSERT_TRUE(log->Apply(edit).ok());
    ASSERT_TRUE(log->Seal().ok());
  }
  const FileImage files = env.Survivors(CrashKind::kPower, 1);
  const std::string path = "d/meta/000001.log";
  const size_t at = files.at(path).find("the last edit");
  ASSERT_NE(at, std::string::npos);
  FileImage damaged = files;
  damaged[path][at] ^= 1;
  FaultEnv rotten(damaged);
  std::unique_ptr<MetadataLog> log;
  const Status status = MetadataLog::Open(&rotten, "d", nullptr, &log);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.message().find(path), std::string::npos) << status.ToString();
}

TEST(MetadataLog, SaysWhatIsMissingOrDamaged) {
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<MetadataLog> log;
  EXPECT_TRUE(MetadataLog::Open(&env, "d", nullptr, &log).IsNotFound());
  const MetadataEdit first{.created = {{1, "t"}}};
  ASSERT_TRUE(MetadataLog::Open(&env, "d", &first, &log).ok());
  EXPECT_EQ(log->state().subtables.size(), 1u);
  for (int i = 2; i <= 3; ++i) {
    ASSERT_TRUE(log->Apply({.created = {{static_cast<uint32_t>(i), "t"}}}).ok());
  }
  EXPECT_FALSE(log->Apply({.dropped = {9}}).ok());
  EXPECT_FALSE(log->Apply({.dropped = {1}}).ok()) << "nothing after an error";
  const FileImage whole = env.Survivors(CrashKind::kPower, 0);
  const auto open = [&](const FileImage& files) {
    FaultEnv damaged(files);
    return MetadataLog::Open(&damaged, "d", nullptr, &log);
  };
  EXPECT_TRUE(open(whole).ok());
  EXPECT_EQ(log->state().subtables.size(), 3u);
  for (size_t i = 0; i < whole.at("d/CURRENT").size(); ++i) {
    FileImage files = whole;
    files["d/CURRENT"][i] ^= 1;
    const Status status = open(files);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.message().find("d/CURRENT"), std::string::npos);
  }
  for (const char* const other : {"sluice 3 4294967296 ", "sluice 11 0 "}) {
    FileImage files = whole;
    files["d/CURRENT"] = fmt::format("{}{:08x}\n", other, Crc32c(other));
    const Status status = open(files);
    EXPECT_EQ(status.code(), Status::Code::kNotSupported) << status.ToString();
  }
  FileImage files = whole;
  files["d/meta/000001.log"][32] ^= 1;  // in the first state
  EXPECT_TRUE(open(files).IsCorruption());
  files = whole;
  files.erase("d/meta/000001.log");
  files["d/meta/x"] = "";
  EXPECT_TRUE(open(files).IsCorruption());
}

}  // namespace
}  // namespace sluice
