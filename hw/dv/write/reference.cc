#include "reference.h"

#include <algorithm>

#include "sluice/executor.h"
#include "table/format.h"
#include "table/internal_key.h"
#include "util/coding.h"

namespace sluice::dv {

namespace {

class Encoder {
 public:
  explicit Encoder(const EncodeParams& params) : params_(params) {}

  void Add(const Record& record) {
    const bool same_key = !first_ && record.key == last_.key;
    if (!table_.blocks.empty() && !same_key && finished_ >= params_.table_bytes) {
      FinishTable();
    }
    size_t shared = 0;
    if (entries_ % params_.restart_interval == 0) {
      restarts_.push_back(static_cast<uint32_t>(content_.size()));
    } else {
      shared = SharedPrefix(record.key, last_.key);
    }
    PutVarint(&content_, shared);
    PutVarint(&content_, record.key.size() - shared + kTrailerBytes);
    PutVarint(&content_, record.value.size());
    content_.append(record.key, shared);
    PutFixed64(&content_, record.trailer);
    content_.append(record.value);
    ++entries_;
    ++table_.entries;
    table_.tombstones += TrailerType(record.trailer) == 0;
    last_ = record;
    first_ = false;
    if (content_.size() + 4 * restarts_.size() + 4 >= params_.block_bytes) {
      FinishBlock();
    }
  }

  std::vector<EncodedTable> Finish() {
    if (table_.entries != 0) {
      FinishTable();
    }
    return std::move(tables_);
  }

 private:
  void FinishBlock() {
    for (const uint32_t restart : restarts_) {
      PutFixed32(&content_, restart);
    }
    PutFixed32(&content_, static_cast<uint32_t>(restarts_.size()));
    finished_ += content_.size() + kBlockTrailerBytes;
    const uint64_t bytes = content_.size();
    table_.blocks.push_back({std::move(content_), bytes, last_.key, last_.trailer,
                             static_cast<uint32_t>(restarts_.size())});
    content_.clear();
    restarts_.clear();
    entries_ = 0;
  }

  void FinishTable() {
    if (entries_ != 0) {
      FinishBlock();
    }
    tables_.push_back(std::move(table_));
    table_ = {};
    finished_ = 0;
  }

  EncodeParams params_;
  std::vector<EncodedTable> tables_;
  EncodedTable table_;
  uint64_t finished_ = 0;
  std::string content_;
  std::vector<uint32_t> restarts_;
  uint64_t entries_ = 0;  // of the open block
  Record last_;
  bool first_ = true;
};

void Pad(std::string* out, size_t align) { out->resize((out->size() + align - 1) / align * align); }

}  // namespace

size_t SharedPrefix(const std::string& a, const std::string& b) {
  return std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
         a.begin();
}

std::vector<EncodedTable> Encode(const std::vector<Record>& records, const EncodeParams& params) {
  Encoder encoder(params);
  for (const Record& record : records) {
    encoder.Add(record);
  }
  return encoder.Finish();
}

std::string DataArea(const std::vector<EncodedTable>& tables) {
  std::string area;
  for (const EncodedTable& table : tables) {
    for (const EncodedBlock& block : table.blocks) {
      area += block.content;
      AppendBlockTrailer(block.content, Compression::kNone, &area);
    }
    Pad(&area, 64);
  }
  return area;
}

std::string IndexArea(const std::vector<EncodedTable>& tables) {
  std::string area;
  uint64_t data_offset = 0;
  for (const EncodedTable& table : tables) {
    std::string index;
    std::string restarts;
    BlockHandle handle;
    for (const EncodedBlock& block : table.blocks) {
      PutFixed32(&restarts, static_cast<uint32_t>(index.size()));
      handle.size = block.bytes;
      std::string value;
      handle.AppendTo(&value);
      PutVarint(&index, 0);
      PutVarint(&index, block.last_key.size() + kTrailerBytes);
      PutVarint(&index, value.size());
      index += block.last_key;
      PutFixed64(&index, block.last_trailer);
      index += value;
      handle.offset += handle.size + kBlockTrailerBytes;
    }
    index += restarts;
    PutFixed32(&index, static_cast<uint32_t>(table.blocks.size()));
    const std::string content = index;
    AppendBlockTrailer(content, Compression::kNone, &index);

    const uint64_t words[] = {data_offset,  handle.offset, area.size(),
                              index.size(), table.entries, table.tombstones};
    area += index;
    Pad(&area, 8);
    for (const uint64_t word : words) {
      PutFixed64(&area, word);
    }
    data_offset = (data_offset + handle.offset + 63) / 64 * 64;
  }
  return area;
}

uint64_t Checksum(const std::vector<Record>& records) {
  uint64_t sum = 0;
  for (const Record& record : records) {
    sum += RecordChecksum(record.key, record.trailer, record.value);
  }
  return sum;
}

std::vector<Record> RandomRecords(std::mt19937_64& rng, uint64_t bytes) {
  const size_t key_limits[] = {4, 16, 32, 100, 1024};
  const size_t value_limits[] = {0, 8, 64, 300, 4096, 65536};
  const size_t key_limit = key_limits[rng() % std::size(key_limits)];
  const size_t value_limit = value_limits[rng() % std::size(value_limits)];
  const unsigned repeats = rng() % 3 * 30;
  std::vector<Record> records;
  for (uint64_t used = 0; used < bytes;) {
    Record record;
    if (!records.empty() && rng() % 100 < repeats) {
      record.key = records.back().key;
    } else {
      const size_t length = rng() % 16 == 0 ? key_limit : rng() % (key_limit + 1);
      if (!records.empty() && rng() % 4 != 0) {
        record.key = records.back().key.substr(0, rng() % (length + 1));
      }
      while (record.key.size() < length) {
        record.key.push_back(static_cast<char>(rng()));
      }
    }
    record.trailer = rng();
    record.trailer -= record.trailer % 256;
    record.trailer += rng() % 2;
    record.value.resize(rng() % 16 == 0 ? value_limit : rng() % (value_limit + 1));
    for (char& byte : record.value) {
      byte = static_cast<char>(rng());
    }
    used += record.key.size() + 12 + record.value.size();
    records.push_back(std::move(record));
  }
  return records;
}

EncodeParams RandomParams(std::mt19937_64& rng) {
  const uint16_t intervals[] = {1, 2, 3, 16, 128};
  EncodeParams params;
  params.block_bytes = static_cast<uint32_t>(512u << rng() % 8);
  params.table_bytes = 4096ull << rng() % 10;
  if (rng() % 2 == 0) {
    params.block_bytes -= rng() % 256;
    params.table_bytes -= rng() % 1024;
  }
  params.restart_interval = intervals[rng() % std::size(intervals)];
  return params;
}

}  // namespace sluice::dv
