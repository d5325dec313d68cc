// Large values stored apart from their keys: through all that a database does, against a map, and
// directed tests of what is special about them.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {
namespace {

class ValueExtentTest : public DbFixture {
 protected:
  ValueExtentTest() {
    options_.memtable_bytes = 512 << 10;
    options_.extent_bytes = 64 << 10;
    options_.l1_bytes = 1 << 20;
    options_.row_cache_bytes = options_.block_cache_bytes = 1 << 16;
    options_.separate_value_bytes = 1024;
  }
  static std::string Key(int i) { return fmt::format("key{:06}", i); }
  std::string Value(size_t bytes) {
    std::string value(bytes, '\0');
    for (char& c : value) {
      c = static_cast<char>(random_());
    }
    return value;
  }
  SubtableStatistics Stats() { return db_->GetStatistics().subtables.at(0); }
  void Put(int i, const std::string& value) {
    ASSERT_TRUE(db_->Put({}, Key(i), value).ok());
    model_[Key(i)] = value;
  }
  static void Check(DB* db, const std::map<std::string, std::string>& model,
                    const Snapshot* snapshot = nullptr) {
    ReadOptions options;
    options.snapshot = snapshot;
    const std::unique_ptr<Iterator> it = db->NewIterator(options);
    it->SeekToFirst();
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(it->Valid()) << it->status().ToString();
      ASSERT_EQ(it->key(), key);
      ASSERT_TRUE(it->value() == value) << key;
      it->Next();
    }
    EXPECT_FALSE(it->Valid());
    it->SeekToLast();
    for (auto at = model.rbegin(); at != model.rend(); ++at) {
      ASSERT_TRUE(it->Valid()) << it->status().ToString();
      ASSERT_EQ(it->key(), at->first);
      ASSERT_TRUE(it->value() == at->second) << at->first;
      it->Prev();
    }
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : model) {
      std::string found;
      ASSERT_TRUE(db->Get(options, nullptr, key, &found).ok());
      ASSERT_TRUE(found == value);
      keys.push_back(key);
    }
    std::vector<std::string> values;
    const std::vector<Status> statuses = db->MultiGet(options, nullptr, keys, &values);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(statuses[i].ok()) << statuses[i].ToString();
      ASSERT_TRUE(values[i] == model.at(std::string(keys[i])));
    }
  }
  void Check() {
    Check(db_.get(), model_);
    const Status verified = db_->Verify({});
    EXPECT_TRUE(verified.ok()) << verified.ToString();
  }
  // Inverts a byte of the data file.
  void Damage(uint64_t offset) {
    const int fd = ::open(dir_.File("db/000001.data").c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    char byte;
    ASSERT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(offset)), 1);
    byte = static_cast<char>(~byte);
    ASSERT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(offset)), 1);
    ::close(fd);
  }
  uint64_t FindInFile(const std::string& what) {
    std::ifstream file(dir_.File("db/000001.data"), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    return bytes.find(what);
  }

  std::mt19937_64 random_{TestSeed()};
  std::map<std::string, std::string> model_;
};

TEST_F(ValueExtentTest, AreReadAsOthers) {
  Open();
  for (int i = 0; i < 200; ++i) {
    Put(i, Value(i % 3 == 0 ? 100 : i % 3 == 1 ? 1024 : 20000));
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_GT(Stats().value_extents, 0u);
  EXPECT_LT(Stats().levels[0].bytes, uint64_t{40} << 10);
  Check();
  Open();
  Check();
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Check();
  const uint64_t live = Stats().value_live_bytes;
  EXPECT_GT(live, 66u * 20000 + 67u * 1024);
  EXPECT_LT(live, 66u * 20040 + 67u * 1064);
}

TEST_F(ValueExtentTest, GarbageIsReclaimedThoughWritesStop) {
  Open();
  constexpr int kKeys = 500;
  for (int i = 0; i < 6 * kKeys; ++i) {
    Put(static_cast<int>(random_() % kKeys), Value(8000));
  }
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  Check();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.compactions[static_cast<size_t>(CompactionKind::kValues)], 0u);
  EXPECT_LE(static_cast<double>(Stats().value_bytes - Stats().value_live_bytes),
            0.3 * static_cast<double>(Stats().value_bytes) + options_.extent_bytes);
  EXPECT_LT(statistics.WriteAmplification(), 3);
  Open();
  Check();
}

TEST_F(ValueExtentTest, LeaveNothingWhenAllIsDeleted) {
  Open();
  for (int i = 0; i < 300; ++i) {
    Put(i, Value(5000));
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->DeleteRange({}, nullptr, Key(0), Key(100)).ok());
  for (int i = 100; i < 300; ++i) {
    ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
  }
  model_.clear();
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  Check();
  EXPECT_EQ(Stats().value_extents, 0u);
}

TEST_F(ValueExtentTest, SnapshotsKeepTheirs) {
  Open();
  for (int i = 0; i < 300; ++i) {
    Put(i, Value(5000));
  }
  const auto before = model_;
  const Snapshot* const snapshot = db_->GetSnapshot();
  const std::unique_ptr<Iterator> old = db_->NewIterator({});
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 300; i += 1 + round % 2) {
      Put(i, Value(5000));
    }
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    Check(db_.get(), before, snapshot);
  }
  Check();
  old->SeekToFirst();
  for (const auto& [key, value] : before) {
    ASSERT_TRUE(old->Valid());
    ASSERT_TRUE(old->value() == value);
    old->Next();
  }
  db_->ReleaseSnapshot(snapshot);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Check();
  EXPECT_LE(Stats().value_bytes, Stats().value_live_bytes * 3 / 2 + options_.extent_bytes);
}

TEST_F(ValueExtentTest, DamageToOneStopsNothingElse) {
  options_.automatic_compactions = false;
  Open();
  for (int i = 0; i < 300; ++i) {
    Put(i, Value(5000));
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  const uint64_t at = FindInFile(model_[Key(77)].substr(1000, 64));
  ASSERT_NE(at, std::string::npos);
  Damage(at);
  const auto check_damage = [&] {
    std::string value;
    const Status status = db_->Get({}, Key(77), &value);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.ToString().find("000001.data, offset"), std::string::npos)
        << status.ToString();
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    int count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) {
      ASSERT_TRUE(it->value() == (it->key() == Key(77) ? "" : model_.at(std::string(it->key()))));
    }
    EXPECT_EQ(count, 300);
    EXPECT_TRUE(it->status().IsCorruption());
    EXPECT_TRUE(db_->Verify({}).IsCorruption());
  };
  check_damage();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i) {
      if (i != 77 && i % 3 != 0) {
        Put(i, Value(5000));
      }
    }
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    check_damage();
  }
  EXPECT_EQ(Stats().set_aside.extents, 0u);
  Put(77, "new");
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Check();
}

TEST_F(ValueExtentTest, CheckpointsAndRepairsHaveThem) {
  Open();
  for (int i = 0; i < 400; ++i) {
    Put(i % 250, Value(i % 5 == 0 ? 10 : 6000));
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, Key(120)).ok());
  ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->Close().ok());
  db_.reset();
  const auto check = [&](const std::string& name) {
    std::unique_ptr<DB> other;
    const Status status = DB::Open(options_, dir_.File(name), &other);
    ASSERT_TRUE(status.ok()) << status.ToString();
    Check(other.get(), model_);
    EXPECT_TRUE(other->Verify({}).ok());
  };
  check("copy");
  RepairReport report;
  ASSERT_TRUE(DB::Repair(options_, dir_.File("db"), dir_.File("repaired"), &report).ok());
  EXPECT_EQ(report.records_lost, 0u);
  check("repaired");
  std::filesystem::remove_all(dir_.File("db/meta"));
  std::filesystem::remove(dir_.File("db/CURRENT"));
  const Status status = DB::Repair(options_, dir_.File("db"), dir_.File("repaired-2"), &report);
  ASSERT_TRUE(status.ok()) << status.ToString();
  check("repaired-2");
}

TEST_F(ValueExtentTest, RandomUseWithTheOptionChanging) {
  std::mt19937_64& random = random_;
  options_.create_if_missing = true;
  for (int life = 0; life < 8; ++life) {
    options_.separate_value_bytes = std::vector<uint64_t>{0, 200, 1024, 5000}[random() % 4];
    options_.compression =
        std::vector<Compression>{Compression::kNone, Compression::kLz4}[random() % 2];
    Open();
    if (HasFatalFailure()) {
      return;
    }
    const Snapshot* snapshot = nullptr;
    std::map<std::string, std::string> then;
    for (int i = 0; i < 1500; ++i) {
      const int key = static_cast<int>(random() % 400);
      switch (random() % 40) {
        case 0: {
          const int end = key + static_cast<int>(random() % 40);
          ASSERT_TRUE(db_->DeleteRange({}, nullptr, Key(key), Key(end)).ok());
          model_.erase(model_.lower_bound(Key(key)), model_.lower_bound(Key(end)));
          break;
        }
        case 1:
        case 2:
          ASSERT_TRUE(db_->Delete({}, Key(key)).ok());
          model_.erase(Key(key));
          break;
        case 3:
          if (random() % 5 == 0) {
            ASSERT_TRUE(
                db_->CompactRange(nullptr, Key(key), random() % 2 == 0 ? "" : Key(key + 80)).ok());
          }
          break;
        case 4:
          if (snapshot == nullptr) {
            snapshot = db_->GetSnapshot();
            then = model_;
          } else if (random() % 3 == 0) {
            Check(db_.get(), then, snapshot);
            db_->ReleaseSnapshot(snapshot);
            snapshot = nullptr;
          }
          break;
        default:
          Put(key, random() % 2 == 0 ? Value(random() % 9000)
                                     : std::string(random() % 9000, static_cast<char>(random())));
      }
    }
    Check();
    if (snapshot != nullptr) {
      Check(db_.get(), then, snapshot);
      db_->ReleaseSnapshot(snapshot);
    }
    if (HasFatalFailure()) {
      return;
    }
    ASSERT_TRUE(db_->Close().ok());
    db_.reset();
  }
}

}  // namespace
}  // namespace sluice
