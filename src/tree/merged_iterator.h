// Memtables and runs as one: of each key the newest version, unless that is a tombstone.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/iterator.h"
#include "table/record_iterator.h"

namespace sluice {

class MergedIterator final : public Iterator {
 public:
  // Walks the keys from `*lower` to below `*upper`, where they are not null; both outlive it.
  // `owner` keeps what the parts read.
  MergedIterator(std::vector<std::unique_ptr<RecordIterator>> parts, const std::string* lower,
                 const std::string* upper, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), lower_(lower), upper_(upper) {
    for (auto& part : parts) {
      parts_.push_back({std::move(part), {}, false});
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
  std::string_view value() const override { return current_->at->value(); }
  Status status() const override { return status_; }

 private:
  // Keeps its key at hand: it is compared with those of all others.
  struct Part {
    std::unique_ptr<RecordIterator> at;
    std::string_view key;
    bool valid;

    void Update() {
      valid = at->Valid();
      key = valid ? at->user_key() : std::string_view();
    }
  };

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
  std::vector<Part> parts_;
  Part* current_ = nullptr;
  Part* runner_up_ = nullptr;  // of the others, the one that comes next in this direction
  bool forward_ = true;
  std::string turn_;
  Status status_;
};

}  // namespace sluice
