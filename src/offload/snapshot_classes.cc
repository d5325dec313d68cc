#include "offload/snapshot_classes.h"

#include <algorithm>
#include <string_view>

#include "table/block.h"
#include "table/format.h"
#include "table/internal_key.h"
#include "table/key_scan.h"

namespace sluice {

namespace {

// Classes of sequence numbers: class i is above i of the snapshots, and at or below all others.
class Classes {
 public:
  Classes(const MergeTask& task, size_t most)
      : snapshots_(task.snapshots), bottommost_(task.bottommost), most_(most) {
    occupied_.resize(snapshots_.size() + 1);
  }

  // False: too many snapshots matter.
  bool Add(SequenceNumber sequence) {
    if (sequence > above_ && sequence <= up_to_) {
      return true;
    }
    const size_t i = static_cast<size_t>(
        std::lower_bound(snapshots_.begin(), snapshots_.end(), sequence) - snapshots_.begin());
    above_ = i == 0 ? 0 : snapshots_[i - 1];
    up_to_ = i == snapshots_.size() ? kMaxSequence : snapshots_[i];
    if (!occupied_[i]) {
      occupied_[i] = true;
      between_ += i > 0 && i < snapshots_.size();
    }
    // That many tell one more snapshot apart, of which the lowest may not matter.
    return between_ <= most_;
  }

  std::optional<std::vector<SequenceNumber>> ThatMatter() const {
    std::vector<SequenceNumber> matter;
    for (size_t i = 0; i < snapshots_.size(); ++i) {
      if (i + 1 == snapshots_.size() || occupied_[i + 1]) {
        matter.push_back(snapshots_[i]);
      }
    }
    if (!bottommost_ && !occupied_[0] && matter.size() > 1) {
      matter.erase(matter.begin());
    }
    if (matter.size() > most_) {
      return {};
    }
    return matter;
  }

 private:
  const std::vector<SequenceNumber>& snapshots_;
  const bool bottommost_;
  const size_t most_;
  std::vector<bool> occupied_;
  size_t between_ = 0;  // of these, with a snapshot on either side
  // The class of the last record: most have the same as the one before.
  SequenceNumber above_ = kMaxSequence;
  SequenceNumber up_to_ = 0;
};

bool ParseRaw(std::string_view image, const BlockHandle& at, Block* block) {
  return HandleFits(at, image.size()) &&
         Compression{static_cast<uint8_t>(image[at.offset + at.size])} == Compression::kNone &&
         Block::Parse(image.substr(at.offset, at.size), block).ok();
}

// False: there is no telling, or too many snapshots matter.
bool AddTable(const MergeTable& table, Classes* classes) {
  Block index;
  if (!ParseRaw(table.image, table.index, &index)) {
    return false;
  }
  KeyScanner keys;
  uint64_t end = 0;  // of the block before: none is read twice
  BlockIterator entry(index);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    BlockHandle handle;
    std::string_view value = entry.value();
    Block block;
    bool few = true;
    if (!handle.ReadFrom(&value) || handle.offset < end || !ParseRaw(table.image, handle, &block) ||
        !keys.Scan(block, [&](std::string_view key,
                              bool) { few = classes->Add(TrailerSequence(Trailer(key))); })
             .ok() ||
        !few) {
      return false;
    }
    end = handle.offset + handle.size;
  }
  return entry.status().ok();
}

}  // namespace

std::optional<std::vector<SequenceNumber>> SnapshotsThatMatter(const MergeTask& task, size_t most) {
  Classes classes(task, most);
  for (const MergeRun& run : task.runs) {
    for (const MergeTable& table : run) {
      if (!AddTable(table, &classes)) {
        return {};
      }
    }
  }
  return classes.ThatMatter();
}

}  // namespace sluice
