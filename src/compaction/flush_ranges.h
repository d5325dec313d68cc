// What a flush makes of the range deletions of its memtables.
//
// No level holds range deletions: what reads, merges and units meet there are records. So a flush
// turns each range deletion into one of these:
//
//   1. Nothing but what it leaves out: records of the memtables that it covers and that no snapshot
//      sees.
//   2. Tombstones, with its sequence number, for each key that was there just before it. This is
//      needed if an older snapshot is held, and cheapest if there are few such keys.
//   3. A cut: the runs that there are lose the range, by a change of metadata alone. All that they
//      have is older than the memtables, so it does not matter which deletion of the memtables was
//      the last one, and cuts that touch each other are one.
//
// Thread-compatible.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "mem/range_deletions.h"
#include "sluice/iterator.h"
#include "tree/extent_reader.h"
#include "tree/version.h"
#include "util/status.h"

namespace sluice {

class FlushRanges {
 public:
  // With no more keys to delete than an extent has of these bytes, tombstones cost less than a cut,
  // which reads two extents of each run, of some ten thousand records, and leaves slices. That is
  // so unless values are large: then whole extents would go that a compaction has to read else.
  static constexpr uint64_t kBytesOfAKey = 2048;

  // `version`: of the sub-table, whose waiting memtables are flushed. No snapshot that readers may
  // have is older than `oldest_snapshot`.
  FlushRanges(std::shared_ptr<const Version> version, ExtentReader* reader, uint64_t extent_bytes,
              SequenceNumber oldest_snapshot);

  // Decides what becomes of each.
  void Plan();
  const RangeDeletions& all() const { return all_; }
  // Cuts of all runs that there are.
  const std::vector<RangeDeletion>& cuts() const { return cuts_; }

  // The rest is for walking the keys of the memtables and those returned here, ascending.

  // The least key from here on of which the runs have a value that a tombstone may be needed for.
  std::optional<std::string_view> NextInRuns() const {
    return walks_ && runs_->Valid() ? std::optional(runs_->key()) : std::nullopt;
  }
  // To be called first at each key.
  void MoveTo(std::string_view user_key);
  struct Deletion {
    SequenceNumber sequence;
    bool cut;
    bool needs_tombstone;
  };
  // What deleted, of the key, the value with this sequence number (0: the runs' value), before the
  // version `above` was written; none if nothing did.
  std::optional<Deletion> DeletedBy(SequenceNumber sequence, SequenceNumber above) const;
  // To be called last at each key.
  void MoveOn();
  // Not ok if the runs could not be read.
  Status status() const { return walks_ ? runs_->status() : Status(); }

 private:
  struct Planned {
    const RangeDeletion* deletion;
    bool cut;
  };
  struct ByEnd {
    bool operator()(const Planned* a, const Planned* b) const {
      return b->deletion->end < a->deletion->end;
    }
  };

  // How many keys the runs have in [begin, end), if tombstones for them cost less than a cut;
  // otherwise more than few_keys_.
  uint64_t KeysInRuns(std::string_view begin, std::string_view end);
  // runs_ to the first key from where it stands that a tombstone may be needed for.
  void FindInRuns();

  const std::shared_ptr<const Version> version_;
  ExtentReader* const reader_;
  const uint64_t extent_bytes_;
  const uint64_t few_keys_;
  const SequenceNumber oldest_snapshot_;
  RangeDeletions all_;
  std::vector<RangeDeletion> deletions_;  // by where they begin
  std::vector<Planned> planned_;          // of each
  std::vector<RangeDeletion> cuts_;

  RangeDeletions to_walk_;  // what the runs have there needs tombstones if the sequence number is 1
  bool walks_ = false;
  std::unique_ptr<Iterator> runs_;
  bool in_runs_ = false;  // they have a value of the current key

  size_t next_ = 0;                                // of planned_, the first that begins later
  std::map<SequenceNumber, const Planned*> here_;  // those that cover the current key
  std::priority_queue<const Planned*, std::vector<const Planned*>, ByEnd> ends_;
};

}  // namespace sluice
