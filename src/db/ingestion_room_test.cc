// How much may be written while an ingestion is under way: it takes its sequence number when it
// begins.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "db/fixture.h"
#include "db/ingestion.h"
#include "tree/metadata_log.h"

namespace sluice {
namespace {

TEST(SequenceGap, NumbersLastForMillionsOfIngestions) {
  SequenceNumber last = 0;
  uint64_t ingestions = 0;
  for (; SequenceGap(last) == SequenceNumber{1} << 32; ++ingestions) {
    last += SequenceGap(last);
  }
  EXPECT_GT(ingestions, 15'000'000u);
  for (int more = 0; more < 1'000'000; ++more) {
    ASSERT_GT(SequenceGap(last), SequenceNumber{1} << 30);
    last += SequenceGap(last);
  }
  EXPECT_LT(last, kMaxSequence);
  EXPECT_EQ(SequenceGap(kMaxSequence), 0u);
}

using IngestionRoomTest = DbFixture;
using Model = std::map<std::string, std::string>;

Model Contents(DB* db, const Snapshot* snapshot = nullptr) {
  Model found;
  const auto at = db->NewIterator({.snapshot = snapshot});
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    found.emplace(at->key(), at->value());
  }
  EXPECT_TRUE(at->status().ok()) << at->status().ToString();
  return found;
}

// Four billion writes are more than a test can make, so this database has few numbers left: the next
// ingestion leaves room for kRoom - 1 writes.
TEST_F(IngestionRoomTest, MoreWritesThanFitMakeItBusy) {
  constexpr SequenceNumber kRoom = 1000;
  constexpr SequenceNumber kLast = kMaxSequence - (kRoom << 20);
  ASSERT_EQ(SequenceGap(kLast), kRoom);
  for (const int writes : {int{kRoom} - 1, int{kRoom}, int{kRoom} + 1}) {
    SCOPED_TRACE(testing::Message() << writes << " writes");
    const bool fits = writes < int{kRoom};
    const std::string name = fmt::format("db{}", writes);
    Open(name);
    ASSERT_TRUE(db_->Put({}, "a", "old").ok());
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->Close().ok());
    std::unique_ptr<MetadataLog> metadata;
    ASSERT_TRUE(MetadataLog::Open(Env::Posix(), dir_.File(name), nullptr, &metadata).ok());
    MetadataEdit edit;
    edit.flushed.push_back({0, kLast});
    ASSERT_TRUE(metadata->Apply(edit).ok());
    metadata.reset();
    Open(name);

    const auto ingest = [&](std::string_view value) {
      std::unique_ptr<Ingestion> ingestion;
      EXPECT_TRUE(db_->NewIngestion(&ingestion).ok());
      EXPECT_TRUE(ingestion->Add(nullptr, "a", value).ok());
      EXPECT_TRUE(ingestion->Add(nullptr, "b", value).ok());
      return ingestion;
    };
    auto ingestion = ingest("ingested");
    const Snapshot* const before = db_->GetSnapshot();
    for (int i = 0; i < writes; ++i) {
      ASSERT_TRUE(db_->Put({}, "a", std::to_string(i)).ok());
    }
    const Status status = ingestion->Commit();
    EXPECT_EQ(status.code(), fits ? Status::Code::kOk : Status::Code::kBusy) << status.ToString();
    if (fits) {
      EXPECT_EQ(Contents(db_.get()), (Model{{"a", "ingested"}, {"b", "ingested"}}));
    } else {
      // It stays so, and nothing of it is there: neither to be seen nor in the way of the next one.
      EXPECT_EQ(ingestion->Commit().code(), Status::Code::kBusy);
      EXPECT_EQ(Contents(db_.get()), (Model{{"a", std::to_string(writes - 1)}}));
      ingestion.reset();
      ingestion = ingest("again");
      EXPECT_TRUE(ingestion->Commit().ok());
      EXPECT_EQ(Contents(db_.get()), (Model{{"a", "again"}, {"b", "again"}}));
    }
    EXPECT_EQ(Contents(db_.get(), before), (Model{{"a", "old"}}));
    db_->ReleaseSnapshot(before);
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    ASSERT_TRUE(db_->Put({}, "b", "newest").ok());
    ingestion.reset();
    Open(name);
    EXPECT_EQ(Contents(db_.get()), (Model{{"a", fits ? "ingested" : "again"}, {"b", "newest"}}));
  }
}

}  // namespace
}  // namespace sluice
