// Memtables and runs as one: of each key the newest version, unless that is a tombstone.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/iterator.h"
#include "table/record_iterator.h"
#include "tree/run_iterator.h"

namespace sluice {

class MergedIterator final : public Iterator {
 public:
  // Walks the keys from `*lower` to below `*upper`, where they are not null; both outlive it.
  // `owner` keeps what the parts read.
  MergedIterator(std::vector<std::unique_ptr<RecordIterator>> memtables,
                 std::vector<std::unique_ptr<RunIterator>> runs, const std::string* lower,
                 const std::string* upper, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), lower_(lower), upper_(upper), several_runs_(runs.size() > 1) {
    for (auto& memtable : memtables) {
      parts_.push_back({.at = std::move(memtable)});
    }
    for (auto& run : runs) {
      RunIterator* const raw = run.get();
      parts_.push_back({.at = std::move(run), .run = raw});
    }
  }

  bool Valid() const override { return current_ != nullptr; }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(std::string_view key) override;
  void SeekForPrev(std::string_view key) override;
  void Next() override;
  void Prev() override;
  std::string_view key() const override { return current_->key; }
  std::string_view value() const override;
  Status status() const override { return status_.ok() ? value_status_ : status_; }

 private:
  // Keeps its key at hand: it is compared with those of all others.
  struct Part {
    std::unique_ptr<RecordIterator> at;
    RunIterator* run = nullptr;  // the same, if it is a run's
    std::string_view key{};
    bool valid = false;
    bool waits = false;  // for a block, to seek

    void Update() {
      valid = at->Valid();
      key = valid ? at->user_key() : std::string_view();
    }
  };

  // Where several runs have to read a block, they are read at once.
  void SeekParts(std::string_view key);
  // From where the parts stand, the next key in this direction that is not deleted.
  void FindForward();
  void FindBackward();
  // Moves all parts that are at the current key on. True if only current_ was there, and is still
  // in front.
  bool StepForward();
  void StepBackward();
  // False, with nothing valid, if one of the parts failed.
  bool CheckParts();

  const std::shared_ptr<const void> owner_;
  const std::string* const lower_;
  const std::string* const upper_;
  const bool several_runs_;
  std::vector<Part> parts_;
  Part* current_ = nullptr;
  Part* runner_up_ = nullptr;  // of the others, the one that comes next in this direction
  bool forward_ = true;
  std::string turn_;
  Status status_;
  mutable Status value_status_;  // the first error of a value that is stored apart
};

}  // namespace sluice
