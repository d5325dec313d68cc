#include "table/table_writer.h"

#include <fmt/format.h>

#include "table/stored_block.h"

namespace sluice {

namespace {

// Keeps every length and offset of a block below 4 GiB with room to spare.
constexpr size_t kMostEntryBytes = 1u << 30;

}  // namespace

TableTail::TableTail(int bloom_bits_per_key) {
  if (bloom_bits_per_key > 0) {
    filter_.emplace(bloom_bits_per_key);
  }
}

void TableTail::Finish(uint64_t offset, std::string_view index_contents, const Codec& codec,
                       std::string* out, std::string_view dictionary) {
  std::string buffer;
  uint64_t position = offset;
  const auto append = [&](std::string_view contents, const Codec& wanted) {
    const size_t size = AppendStoredBlock(contents, wanted, &buffer, out);
    const BlockHandle handle{position, size};
    position += size + kBlockTrailerBytes;
    return handle;
  };
  BlockBuilder metaindex(1);
  if (filter_) {
    filter_->StartBlock(offset);
    // Bloom bits do not compress, and LevelDB maps the filter where it stands.
    std::string handle;
    append(filter_->Finish(), {}).AppendTo(&handle);
    metaindex.Add(kBloomFilterName, handle);
  }
  if (!dictionary.empty()) {
    std::string handle;
    append(dictionary, {}).AppendTo(&handle);
    metaindex.Add(kDictionaryName, handle);
  }
  Footer footer;
  footer.metaindex = append(metaindex.Finish(), codec);
  footer.index = append(index_contents, codec);
  footer.AppendTo(out);
}

TableWriter::TableWriter(const TableOptions& options, WritableFile* file)
    : options_(options),
      file_(file),
      tail_(options.bloom_bits_per_key),
      data_(options.restart_interval) {
  tail_.StartBlock(0);
}

Status TableWriter::CheckAdd(std::string_view key, std::string_view value) const {
  if (key.size() < kTrailerBytes) {
    return Status::InvalidArgument(
        fmt::format("key {} has {} bytes, an internal key has 8 at least", entries_, key.size()));
  }
  if (key.size() + value.size() > kMostEntryBytes) {
    return Status::InvalidArgument(fmt::format("entry {} has {} bytes, a table takes up to {}",
                                               entries_, key.size() + value.size(),
                                               kMostEntryBytes));
  }
  if (entries_ > 0 && CompareInternalKeys(last_key_, key) >= 0) {
    return Status::InvalidArgument(
        fmt::format("key {} does not come after the one before", entries_));
  }
  return {};
}

Status TableWriter::Add(std::string_view internal_key, std::string_view value) {
  SLUICE_RETURN_IF_ERROR(status_);
  SLUICE_RETURN_IF_ERROR(status_ = CheckAdd(internal_key, value));
  tail_.AddKey(UserKey(internal_key));
  data_.Add(internal_key, value);
  last_key_.assign(internal_key);
  ++entries_;
  return data_.bytes() >= options_.block_bytes ? EndBlock() : Status();
}

Status TableWriter::EndBlock() {
  BlockHandle handle{file_bytes_, 0};
  handle.size = AppendStoredBlock(data_.Finish(), {options_.compression}, &compressed_, &out_);
  std::string encoded;
  handle.AppendTo(&encoded);
  index_.Add(last_key_, encoded);
  data_.Reset();
  SLUICE_RETURN_IF_ERROR(WriteOut());
  tail_.StartBlock(file_bytes_);
  return {};
}

Status TableWriter::WriteOut() {
  status_ = file_->Append(out_);
  file_bytes_ += out_.size();
  out_.clear();
  return status_;
}

Status TableWriter::Finish() {
  SLUICE_RETURN_IF_ERROR(status_);
  if (!data_.empty()) {
    SLUICE_RETURN_IF_ERROR(EndBlock());
  }
  tail_.Finish(file_bytes_, index_.Finish(), {options_.compression}, &out_);
  return WriteOut();
}

}  // namespace sluice
