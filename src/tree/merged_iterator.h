// Memtables and runs as one: of each key the newest version, unless that is a tombstone.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/iterator.h"
#include "table/key_buffer.h"
#include "table/record_iterator.h"
#include "tree/dead_stretches.h"
#include "tree/key_bounds.h"
#include "tree/run_iterator.h"

namespace sluice {

// What a MergedIterator merges, all as of one state.
class IteratorParts {
 public:
  void Reserve(size_t parts) { parts_.reserve(parts); }
  void Add(std::unique_ptr<RecordIterator> part) { parts_.push_back({.at = std::move(part)}); }
  // Runs can be sought in at once.
  void AddRun(std::unique_ptr<RunIterator> run) {
    RunIterator* const raw = run.get();
    parts_.push_back({.at = std::move(run), .run = raw});
    ++runs_;
  }

 private:
  friend class MergedIterator;

  struct Part {
    // A run's without a virtual call.
    void Next() const { run != nullptr ? run->Next() : at->Next(); }

    std::unique_ptr<RecordIterator> at;
    RunIterator* run = nullptr;  // the same, if it is a run's
    // Going forward, the first bytes of the key that it is at, as a number: of two keys, the one
    // with the lesser number comes first. If it has ended, the largest number.
    uint64_t word = 0;
    bool waits = false;  // for a block, to seek
    bool ended = false;  // and not by an error, since the last seek
  };

  std::vector<Part> parts_;
  size_t runs_ = 0;
};

// What is known of a sub-table's dead stretches; both null, or both outlive who uses them.
struct DeadKeys {
  DeadStretches* stretches = nullptr;
  const std::atomic<SequenceNumber>* given = nullptr;  // the last one of a write
};

class MergedIterator final : public Iterator {
 public:
  // Walks the keys within `bounds`; the parts have all of these. They see versions up to `snapshot`;
  // with `dead` they are all that there is of the sub-table. `owner` keeps what they read.
  MergedIterator(IteratorParts parts, SequenceNumber snapshot, const DeadKeys& dead,
                 const KeyBounds& bounds, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)),
        snapshot_(snapshot),
        dead_(dead),
        lower_(bounds.lower),
        upper_(bounds.upper),
        several_runs_(parts.runs_ > 1),
        parts_(std::move(parts.parts_)) {}

  bool Valid() const override { return current_ != nullptr; }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(std::string_view key) override;
  void SeekForPrev(std::string_view key) override;
  void Next() override;
  void Prev() override;
  std::string_view key() const override { return current_->at->user_key(); }
  std::string_view value() const override;
  Status status() const override { return status_.ok() ? value_status_ : status_; }

 private:
  using Part = IteratorParts::Part;

  // Without the error that an earlier seek or step met.
  void BeginSeek() {
    if (!status_.ok()) [[unlikely]] {
      status_ = {};
    }
  }
  // Where several runs have to read a block, they are read at once.
  void SeekParts(std::string_view key);
  // From where the parts stand, the next key in this direction that is not deleted.
  void FindForward();
  void FindBackward();
  // The same from a tombstone on.
  void PassDeadForward();
  void PassDeadBackward();
  // A place behind what is known to be dead around the current key, or before it. False if nothing
  // is known.
  bool FindEndOfDead(std::string_view key, KeyBuffer* end) const;
  bool FindBeginOfDead(std::string_view key, KeyBuffer* begin) const;
  // Moves all parts that are at the current key on. True if only current_ was there, and is still
  // in front.
  bool StepForward();
  void StepBackward();
  // current_ to the part in front, and what comes next. False, with nothing valid, if there is none
  // within the bound, or if a part failed.
  bool FindFront();
  // The same among the parts with this word, the least.
  void FindFrontOf(uint64_t word);
  bool FindBack();  // as FindFront, going backward, without what comes next
  // Whether the part has no record; false in `*ok` if an error is why.
  bool HasEnded(Part* part, bool* ok);
  // To be called when parts have moved, before FindFront.
  void NoteMove(Part* part);
  void NoteMoves();
  bool BelowUpper() const {
    return upper_ == nullptr || CompareUserKeys(current_->at->user_key(), *upper_) < 0;
  }

  const std::shared_ptr<const void> owner_;
  const SequenceNumber snapshot_;
  const DeadKeys dead_;
  const std::string* const lower_;
  const std::string* const upper_;
  const bool several_runs_;
  std::vector<Part> parts_;
  Part* current_ = nullptr;
  bool failed_ = false;  // a part has ended by an error
  // Of the other parts, the one that comes next going forward: its word, and, if the word is
  // current_'s, the part.
  uint64_t next_word_ = 0;
  Part* runner_up_ = nullptr;
  bool same_key_ = false;  // it, and perhaps others, are at current_'s key
  bool forward_ = true;
  KeyBuffer target_;
  std::string turn_;
  Status status_;
  mutable Status value_status_;  // the first error of a value that is stored apart
};

}  // namespace sluice
