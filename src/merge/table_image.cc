#include "merge/table_image.h"

#include <algorithm>

#include "table/stored_block.h"

namespace sluice {

std::string MakeInternalKey(std::string_view user_key, SequenceNumber sequence, RecordType type) {
  std::string key(user_key);
  PutFixed64(&key, MakeTrailer(sequence, type));
  return key;
}

std::string ShortestSeparator(std::string_view last, std::string_view next) {
  const std::string_view a = UserKey(last);
  const std::string_view b = UserKey(next);
  const size_t common = CommonPrefix(a, b);
  if (common < std::min(a.size(), b.size())) {
    const auto byte = static_cast<uint8_t>(a[common]);
    if (byte < 0xff && byte + 1 < static_cast<uint8_t>(b[common]) && common + 1 < a.size()) {
      std::string separator(a.substr(0, common));
      separator.push_back(static_cast<char>(byte + 1));
      return MakeInternalKey(separator, kMaxSequence, RecordType::kValue);
    }
  }
  return std::string(last);
}

std::string ShortSuccessor(std::string_view last) {
  const std::string_view a = UserKey(last);
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    if (const auto byte = static_cast<uint8_t>(a[i]); byte != 0xff) {
      std::string successor(a.substr(0, i));
      successor.push_back(static_cast<char>(byte + 1));
      return MakeInternalKey(successor, kMaxSequence, RecordType::kValue);
    }
  }
  return std::string(last);
}

void BlockImageBuilder::Add(std::string_view internal_key, std::string_view value) {
  size_t shared = 0;
  if (since_restart_ == restart_interval_) {
    restarts_.push_back(static_cast<uint32_t>(entries_.size()));
    since_restart_ = 0;
  } else if (share_trailers_) {
    shared = CommonPrefix(last_key_, internal_key);
  } else if (!entries_.empty()) {
    shared = CommonPrefix(UserKey(last_key_), UserKey(internal_key));
  }
  ++since_restart_;
  PutVarint(&entries_, shared);
  PutVarint(&entries_, internal_key.size() - shared);
  PutVarint(&entries_, value.size());
  entries_.append(internal_key.substr(shared));
  entries_.append(value);
  last_key_.assign(internal_key);
}

std::string BlockImageBuilder::Finish() {
  std::string block = std::move(entries_);
  for (const uint32_t restart : restarts_) {
    PutFixed32(&block, restart);
  }
  PutFixed32(&block, static_cast<uint32_t>(restarts_.size()));
  entries_.clear();
  restarts_.assign(1, 0);
  since_restart_ = 0;
  last_key_.clear();
  return block;
}

void TableImage::Reseal(const BlockSum& to) {
  for (const BlockHandle& block : blocks) {
    const std::string_view covered(file.data() + block.offset, block.size + 1);
    if (DecodeFixed32(covered.data() + covered.size()) == sum.Of(covered, block.offset)) {
      to.Seal(file.data(), block);
    }
  }
  sum = to;
}

void TableImage::ReplaceIndex(std::string_view block, Compression type) {
  index = {file.size(), block.size()};
  file += block;
  AppendBlockTrailer(block, type, &file);
}

TableImageBuilder::TableImageBuilder(const TableImageOptions& options)
    : options_(options),
      block_(options.restart_interval, options.share_trailers),
      index_(1, options.share_trailers) {}

void TableImageBuilder::Add(std::string_view internal_key, std::string_view value) {
  if (pending_) {
    AddPendingIndexEntry(options_.short_separators ? ShortestSeparator(last_key_, internal_key)
                                                   : last_key_);
  }
  block_.Add(internal_key, value);
  last_key_.assign(internal_key);
  if (block_.bytes() >= options_.block_bytes) {
    EndBlock();
  }
}

void TableImageBuilder::EndBlock() {
  if (block_.empty()) {
    return;
  }
  image_.blocks.push_back(Append(block_.Finish()));
  pending_ = true;
}

void TableImageBuilder::AddRawBlock(std::string_view block, std::string_view last_key) {
  EndBlock();
  if (pending_) {
    AddPendingIndexEntry(last_key_);
  }
  image_.blocks.push_back(Append(block));
  last_key_.assign(last_key);
  pending_ = true;
}

TableImage TableImageBuilder::Finish() {
  EndBlock();
  if (pending_) {
    AddPendingIndexEntry(options_.short_separators ? ShortSuccessor(last_key_) : last_key_);
  }
  Footer footer;
  footer.metaindex = Append(BlockImageBuilder(1).Finish());
  footer.index = Append(index_.Finish());
  footer.AppendTo(&image_.file);
  image_.index = footer.index;
  TableImage image = std::move(image_);
  image_ = TableImage();
  last_key_.clear();
  return image;
}

BlockHandle TableImageBuilder::Append(std::string_view block) {
  std::string buffer;
  BlockHandle handle{image_.file.size(), 0};
  handle.size = AppendStoredBlock(block, {options_.compression}, &buffer, &image_.file);
  return handle;
}

void TableImageBuilder::AddPendingIndexEntry(std::string_view separator) {
  std::string handle;
  image_.blocks.back().AppendTo(&handle);
  index_.Add(separator, handle);
  pending_ = false;
}

}  // namespace sluice
