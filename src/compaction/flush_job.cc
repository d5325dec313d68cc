#include "compaction/flush_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "table/block_builder.h"

namespace sluice {

namespace {

// Takes records in order and cuts them into blocks.
class BlockStream {
 public:
  BlockStream(const FlushFormat& format, ExtentWriter* writer)
      : block_bytes_(format.block_bytes),
        block_(format.restart_interval),
        extents_(format.extent, [writer](BuiltExtent* built) {
          return writer->Write(built, writer->TakeNumber());
        }) {}

  Status Add(std::string_view user_key, const Memtable::Version& version) {
    key_.assign(user_key);
    PutFixed64(&key_, version.trailer());
    block_.Add(key_, version.value());
    return block_.bytes() >= block_bytes_ ? EndBlock() : Status();
  }
  Status Finish() {
    if (!block_.empty()) {
      SLUICE_RETURN_IF_ERROR(EndBlock());
    }
    return extents_.EndExtent();
  }

 private:
  Status EndBlock() {
    const Status status = extents_.AddBlock(block_.Finish());
    block_.Reset();
    return status;
  }

  const uint32_t block_bytes_;
  BlockBuilder block_;
  ExtentBuilder extents_;
  std::string key_;
};

}  // namespace

Status FlushMemtables(const std::vector<MemtablePtr>& memtables,
                      const std::vector<SequenceNumber>& snapshots, const FlushFormat& format,
                      ExtentWriter* writer, FlushResult* result) {
  std::vector<Memtable::Iterator> ways;
  for (const MemtablePtr& memtable : memtables) {
    result->input_records += memtable->table.records();
    ways.emplace_back(&memtable->table).SeekToFirst();
  }
  BlockStream out(format, writer);
  for (;;) {
    const Memtable::Iterator* first = nullptr;
    for (const Memtable::Iterator& way : ways) {
      if (way.Valid() && (first == nullptr || way.user_key() < first->user_key())) {
        first = &way;
      }
    }
    if (first == nullptr) {
      break;
    }
    const std::string_view user_key = first->user_key();
    // All versions in a newer memtable are newer than all in an older one. How many of `snapshots`
    // have met no version of this key yet: those that see only older ones.
    size_t unserved = snapshots.size();
    for (Memtable::Iterator& way : ways) {
      if (!way.Valid() || way.user_key() != user_key) {
        continue;
      }
      for (const Memtable::Version* version = way.VersionAt(kMaxSequence); version != nullptr;
           version = version->older()) {
        const auto end = snapshots.begin() + static_cast<ptrdiff_t>(unserved);
        const auto sees = std::lower_bound(snapshots.begin(), end, version->sequence());
        if (unserved == 0 || (sees == end && version->sequence() <= snapshots.back())) {
          ++result->shadowed;
          continue;
        }
        unserved = static_cast<size_t>(sees - snapshots.begin());
        SLUICE_RETURN_IF_ERROR(out.Add(user_key, *version));
        ++result->output_records;
      }
      way.Next();
    }
  }
  if (result->input_records != result->output_records + result->shadowed) {
    return Status::Corruption(fmt::format("memtables of {} records gave {} and {} shadowed ones",
                                          result->input_records, result->output_records,
                                          result->shadowed));
  }
  SLUICE_RETURN_IF_ERROR(out.Finish());
  return writer->Finish(&result->extents);
}

}  // namespace sluice
