#include "merge/merge_writer.h"

#include <algorithm>

#include "table/snappy_encoder.h"

namespace sluice {

MergeWriter::MergeWriter(const MergeTask& task, const MergeSink* sink, ForeignSink* foreign)
    : sink_(sink),
      foreign_(foreign),
      block_bytes_(task.block_bytes),
      table_bytes_(task.table_bytes),
      restart_interval_(task.restart_interval),
      bloom_bits_per_key_(task.bloom_bits_per_key),
      compress_(task.compress),
      sum_{task.checksum, task.checksum_base} {
  // A bound on the first allocation only; larger tables grow into what they need.
  constexpr uint64_t kMostAtOnce = 64 << 20;
  Grow((foreign == nullptr ? std::min(table_bytes_, kMostAtOnce) : 0) +
       2 * std::min(block_bytes_, kMostAtOnce));
}

void MergeWriter::Grow(uint64_t bytes) {
  const uint64_t used = out_ - data_.get();
  const uint64_t capacity = std::max<uint64_t>(used + bytes, used + used / 2);
  const uint64_t block = block_ - data_.get();
  auto data = std::make_unique_for_overwrite<char[]>(capacity);
  if (used > 0) {
    std::memcpy(data.get(), data_.get(), used);
  }
  data_ = std::move(data);
  out_ = data_.get() + used;
  block_ = data_.get() + block;
  limit_ = data_.get() + capacity;
}

void MergeWriter::Restart() {
  restarts_.push_back(static_cast<uint32_t>(out_ - block_));
  restart_bytes_ += 4;
  until_restart_ = restart_interval_;
}

void MergeWriter::EndFilter() {
  if (bloom_bits_per_key_ > 0) {
    AppendBloomFilter(hashes_, static_cast<int>(bloom_bits_per_key_), &filters_);
    filter_ends_.push_back(filters_.size());
    hashes_.clear();
  }
}

std::vector<std::string_view> MergeWriter::Filters() const {
  std::vector<std::string_view> filters;
  size_t begin = 0;
  for (const size_t end : filter_ends_) {
    filters.push_back(std::string_view(filters_).substr(begin, end - begin));
    begin = end;
  }
  return filters;
}

Compression MergeWriter::CompressBlock() {
  if (!compress_ || !CompressAsUnits({block_, static_cast<size_t>(out_ - block_)}, &compressed_)) {
    return Compression::kNone;
  }
  out_ = std::copy(compressed_.begin(), compressed_.end(), block_);
  return Compression::kSnappy;
}

void MergeWriter::EndBlock(std::string_view last_key) {
  const uint64_t tail = restart_bytes_ + kBlockTrailerBytes;
  if (static_cast<uint64_t>(limit_ - out_) < tail) {
    Grow(tail);
  }
  std::memcpy(out_, restarts_.data(), 4 * restarts_.size());
  out_ += 4 * restarts_.size();
  EncodeFixed32(out_, static_cast<uint32_t>(restarts_.size()));
  out_ += 4;
  if (smallest_.empty()) {
    // The first entry of a block has its whole key.
    EntryHeader header{};
    const char* key = DecodeEntryHeader(block_, out_, &header);
    smallest_.assign(key, header.unshared);
  }
  raw_bytes_ += static_cast<uint64_t>(out_ - block_) + kBlockTrailerBytes;
  table_full_ = raw_bytes_ >= table_bytes_;
  if (foreign_ == nullptr) {
    StoreBlock(last_key);
  } else {
    const auto bytes = static_cast<size_t>(out_ - block_);
    if (foreign_status_.ok()) {
      foreign_status_ = foreign_->AddBlock({block_, bytes}, last_key);
    }
    table_full_ |= !foreign_status_.ok();
    output_bytes_ += bytes + kBlockTrailerBytes;
    out_ = block_;
  }
  EndFilter();
  block_ = out_;
  restarts_.clear();
  restart_bytes_ = 4;
  until_restart_ = 0;
}

void MergeWriter::StoreBlock(std::string_view last_key) {
  const Compression type = CompressBlock();
  const BlockHandle handle{static_cast<uint64_t>(block_ - data_.get()),
                           static_cast<uint64_t>(out_ - block_)};
  *out_++ = static_cast<char>(type);
  EncodeFixed32(out_, sum_.Of({block_, handle.size + 1}, handle.offset));
  out_ += 4;

  std::string value;
  handle.AppendTo(&value);
  index_restarts_.push_back(static_cast<uint32_t>(index_.size()));
  PutVarint(&index_, 0);
  PutVarint(&index_, last_key.size());
  PutVarint(&index_, value.size());
  index_.append(last_key);
  index_.append(value);
}

Status MergeWriter::EndTable(std::string_view last_key) {
  if (entries_ == 0) {
    return {};
  }
  if (out_ != block_) {
    EndBlock(last_key);
  }
  MergeOutput output;
  if (foreign_ == nullptr) {
    for (const uint32_t restart : index_restarts_) {
      PutFixed32(&index_, restart);
    }
    PutFixed32(&index_, static_cast<uint32_t>(index_restarts_.size()));
    AppendBlockTrailer(index_, Compression::kNone, &index_);
    output.data = {data_.get(), static_cast<size_t>(out_ - data_.get())};
    output.index = index_;
  }
  output.smallest = std::move(smallest_);
  output.largest = last_key;
  output.entries = entries_;
  output.tombstones = tombstones_;
  output.filters = Filters();
  output_records_ += entries_;
  output_bytes_ += output.data.size() + output.index.size();
  ++output_tables_;
  const Status status = foreign_ == nullptr    ? (*sink_)(output)
                        : foreign_status_.ok() ? foreign_->EndTable(output)
                                               : foreign_status_;

  out_ = block_ = data_.get();
  raw_bytes_ = 0;
  index_.clear();
  index_restarts_.clear();
  filters_.clear();
  filter_ends_.clear();
  smallest_.clear();
  entries_ = 0;
  tombstones_ = 0;
  table_full_ = false;
  return status;
}

}  // namespace sluice
