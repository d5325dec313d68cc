// Ingestions (sluice/ingestion.h): records become extents as they come, and one edit of the metadata
// makes these part of the tree.
//
// Records in extents have their sequence numbers with them, so these must be known before, but must
// be the highest when the ingestion is committed: then snapshots taken until then do not see it, and
// it is newer than all that was written meanwhile. Hence an ingestion takes a number far ahead of
// those given to writes (SequenceGap), and the commit moves the writes' numbers up to it. If they
// have got there by themselves, it fails. For the same reason there is one ingestion at a time: of
// two, the one that began first could not be committed last.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compaction/record_packer.h"
#include "db/db_state.h"
#include "sluice/ingestion.h"
#include "tree/extent_writer.h"

namespace sluice {

// How many writes an ingestion leaves numbers for, if the last one given is `last`. Four billion;
// less when numbers become scarce, so that there are always some for the next one: they run short
// after 16 million ingestions, and never out.
inline SequenceNumber SequenceGap(SequenceNumber last) {
  constexpr SequenceNumber kMost = SequenceNumber{1} << 32;
  constexpr int kShare = 20;  // of the numbers left, in bits
  return std::min(kMost, (kMaxSequence - last) >> kShare);
}

// What an ingestion has for a sub-table.
struct IngestedRun {
  SubtableImpl* subtable;
  std::vector<Extent> extents;  // in key order; none overlaps another
};

class IngestionImpl final : public Ingestion {
 public:
  // `check`: whether a record may be written. `install`: does the commit. `db` outlives it.
  using Check =
      std::function<Status(SubtableImpl**, Subtable*, std::string_view, std::string_view)>;
  using Install = std::function<Status(const std::vector<IngestedRun>&, SequenceNumber)>;
  IngestionImpl(DbState* db, Check check, Install install)
      : db_(*db), check_(std::move(check)), install_(std::move(install)) {}
  ~IngestionImpl() override { End(); }

  // To be called first. Busy if another ingestion is under way.
  Status Begin();

  Status Add(Subtable* subtable, std::string_view key, std::string_view value) override;
  Status Commit() override;

 private:
  struct Part {
    Part(DbState* db, SubtableImpl* of);

    SubtableImpl* const subtable;
    const RateLimiter::Hurry hurry;
    ExtentWriter writer;
    RecordPacker packer;
    std::string last_key;
    bool empty = true;
    uint64_t user_bytes = 0;
  };

  // Not ok if no call can succeed any more.
  Status CheckUnderWay() const;
  // All extents become durable, in runs_.
  Status FinishExtents();
  // Another ingestion may begin.
  void End();

  DbState& db_;
  SequenceNumber sequence_ = 0;
  const Check check_;
  const Install install_;
  std::map<uint32_t, std::unique_ptr<Part>> parts_;  // by sub-table
  std::vector<IngestedRun> runs_;
  uint64_t user_bytes_ = 0;
  uint64_t bytes_ = 0;
  bool finished_ = false;  // nothing is added any more
  bool ended_ = true;
  bool committed_ = false;
  Status failed_;
};

}  // namespace sluice
