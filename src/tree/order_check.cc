#include "tree/order_check.h"

#include <fmt/format.h>

#include <deque>
#include <string>

namespace sluice {

namespace {

// Walks a run key by key, and says between which sequence numbers its versions lie.
class KeyWalker {
 public:
  KeyWalker(std::string name, const RunIndex& run, ExtentReader* reader,
            const std::function<void(uint64_t)>* progress)
      : name_(std::move(name)), reader_(*reader), progress_(*progress), extent_(run) {
    extent_.SeekToFirst();
  }

  // The next key; Valid() is false after the last one.
  Status Next() {
    SLUICE_RETURN_IF_ERROR(FindRecord());
    if (valid_ = record_.Valid(); !valid_) {
      return {};
    }
    key_.assign(UserKey(record_.key()));
    newest_ = TrailerSequence(Trailer(record_.key()));
    do {
      oldest_ = TrailerSequence(Trailer(record_.key()));
      record_.Next();
      SLUICE_RETURN_IF_ERROR(FindRecord());
    } while (record_.Valid() && UserKey(record_.key()) == key_);
    return {};
  }

  bool Valid() const { return valid_; }
  const std::string& key() const { return key_; }
  SequenceNumber newest() const { return newest_; }
  SequenceNumber oldest() const { return oldest_; }
  const std::string& name() const { return name_; }

 private:
  // If the block is at its end, goes on to the next that is not.
  Status FindRecord() {
    while (!record_.Valid() || BehindSlice()) {
      SLUICE_RETURN_IF_ERROR(record_.status());
      if (head_.get() != nullptr && ++block_ >= end_) {
        head_.Reset(nullptr);
        record_ = BlockIterator();
        extent_.Next();
      }
      const bool enters = head_.get() == nullptr;
      if (enters) {
        if (!extent_.Valid()) {
          return {};
        }
        SLUICE_RETURN_IF_ERROR(reader_.OpenHead(*extent_.extent(), &head_));
        const LiveBlocks blocks(*extent_.extent(), *head_.get());
        block_ = blocks.first;
        end_ = blocks.end;
        if (block_ >= end_) {
          return Status::Corruption(ExtentReader::Describe(*extent_.extent(), 0) +
                                    ": the index has no block of the extent's");
        }
      }
      Block block;
      SLUICE_RETURN_IF_ERROR(reader_.ReadBlock(*extent_.extent(), head_->block(block_),
                                               /*fill_cache=*/false, &contents_, &block));
      if (progress_) {
        progress_(head_->block(block_).size);
      }
      record_ = BlockIterator(block);
      if (enters && extent_.extent()->sliced) {
        record_.Seek(extent_.extent()->smallest);
      } else {
        record_.SeekToFirst();
      }
    }
    return {};
  }
  bool BehindSlice() const {
    return extent_.extent()->sliced &&
           CompareInternalKeys(record_.key(), extent_.extent()->largest) > 0;
  }

  const std::string name_;
  ExtentReader& reader_;
  const std::function<void(uint64_t)>& progress_;
  RunIndex::Iterator extent_;
  TableHeadRef head_;
  size_t block_ = 0;
  size_t end_ = 0;  // of the extent's blocks
  BlockRef contents_;
  BlockIterator record_;
  bool valid_ = false;
  std::string key_;
  SequenceNumber newest_ = 0;
  SequenceNumber oldest_ = 0;
};

}  // namespace

std::string ShowKey(std::string_view key) {
  std::string text;
  for (const char c : key.substr(0, 64)) {
    text += c > ' ' && c < 127 && c != '\\'
                ? std::string(1, c)
                : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + (key.size() > 64 ? "..." : "");
}

Status CheckRunOrder(const Version& version, ExtentReader* reader,
                     const std::function<void(uint64_t)>& progress) {
  std::deque<KeyWalker> runs;  // newest first
  for (uint32_t level = 0; level < kLevels; ++level) {
    for (const Version::Run& run : version.levels[level]) {
      runs.emplace_back(fmt::format("level {}, run {}", level, run.number), run.index, reader,
                        &progress);
    }
  }
  for (KeyWalker& run : runs) {
    SLUICE_RETURN_IF_ERROR(run.Next());
  }
  for (;;) {
    const KeyWalker* first = nullptr;
    for (const KeyWalker& run : runs) {
      if (run.Valid() && (first == nullptr || run.key() < first->key())) {
        first = &run;
      }
    }
    if (first == nullptr) {
      return {};
    }
    const std::string key = first->key();
    const KeyWalker* above = nullptr;
    for (KeyWalker& run : runs) {
      if (!run.Valid() || run.key() != key) {
        continue;
      }
      if (above != nullptr && above->oldest() <= run.newest()) {
        return Status::Corruption(
            fmt::format("key {}: {} has version {}, and hides version {} of {}", ShowKey(key),
                        above->name(), above->oldest(), run.newest(), run.name()));
      }
      above = &run;
    }
    for (KeyWalker& run : runs) {
      if (run.Valid() && run.key() == key) {
        SLUICE_RETURN_IF_ERROR(run.Next());
      }
    }
  }
}

}  // namespace sluice
