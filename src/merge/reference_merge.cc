#include "merge/reference_merge.h"

#include <snappy.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "table/internal_key.h"
#include "table/snappy_encoder.h"
#include "table/xxh3.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

namespace {

void Require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

uint64_t PlainRotate(uint64_t x, unsigned n) { return n == 0 ? x : x << n | x >> (64 - n); }

uint64_t PlainFold(const std::string& bytes) {
  uint64_t fold = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint64_t byte = static_cast<uint8_t>(bytes[i]);
    fold ^= PlainRotate(byte << (8 * (i % 8)), 11 * (i / 8 % 8) % 64);
  }
  return fold;
}

uint64_t PlainChecksum(const PlainRecord& record) {
  return PlainFold(record.user_key) ^ PlainRotate(record.trailer, 3) ^
         PlainRotate(PlainFold(record.value), 5) ^
         (uint64_t{record.user_key.size() + 8} << 32 | record.value.size());
}

std::string PlainInternalKey(const PlainRecord& record) {
  std::string key = record.user_key;
  PutFixed64(&key, record.trailer);
  return key;
}

void Seal(std::string* block, char type = 0) {
  block->push_back(type);
  const uint32_t crc = Crc32c(*block);
  PutFixed32(block, ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

// RocksDB's ComputeBuiltinChecksumWithLastByte and ChecksumModifierForContext.
uint32_t PlainXxh3(const std::string& content, char type, uint32_t base, uint64_t offset) {
  const uint64_t sum = (Xxh3(content) % (1ull << 32)) ^
                       (uint64_t{static_cast<uint8_t>(type)} * 0x6b9083d9 % (1ull << 32));
  const uint64_t place = offset % (1ull << 32) + offset / (1ull << 32);
  return static_cast<uint32_t>(sum + (base == 0 ? 0 : base ^ place));
}

// LevelDB's util/bloom.cc and util/hash.cc, in words.
uint32_t PlainHash(const std::string& key) {
  uint64_t hash = 0xbc9f1d34 ^ (key.size() * 0xc6a4a793 % (1ull << 32));
  for (size_t at = 0; at < key.size(); at += 4) {
    for (size_t i = at; i < std::min(at + 4, key.size()); ++i) {
      hash += uint64_t{static_cast<uint8_t>(key[i])} << (8 * (i - at));
    }
    hash = hash % (1ull << 32) * 0xc6a4a793 % (1ull << 32);
    hash ^= hash >> (at + 4 <= key.size() ? 16 : 24);
  }
  return static_cast<uint32_t>(hash);
}

std::string PlainFilter(const std::vector<std::string>& keys, uint32_t bits_per_key) {
  const uint64_t bytes = (std::max<uint64_t>(64, keys.size() * bits_per_key) + 7) / 8;
  const int probes = std::clamp(static_cast<int>(0.69 * bits_per_key), 1, 30);
  std::string filter(bytes, '\0');
  for (const std::string& key : keys) {
    uint32_t hash = PlainHash(key);
    const uint32_t step = hash % (1u << 17) * (1u << 15) + (hash >> 17);
    for (int probe = 0; probe < probes; ++probe, hash += step) {
      const uint64_t bit = hash % (8 * bytes);
      filter[bit / 8] = static_cast<char>(filter[bit / 8] | (1 << bit % 8));
    }
  }
  return filter + static_cast<char>(probes);
}

// Entries in, table out.
class PlainWriter {
 public:
  PlainWriter(const MergeTask& task, ReferenceResult* result) : task_(task), result_(result) {}

  void Add(const PlainRecord& record) {
    const bool new_key = table_.entries == 0 || record.user_key != last_.user_key;
    if (new_key && raw_bytes_ >= task_.table_bytes) {
      EndTable();
    }
    size_t shared = 0;
    if (block_entries_ % task_.restart_interval == 0) {
      restarts_.push_back(block_.size());
    } else {
      while (shared < record.user_key.size() && shared < last_.user_key.size() &&
             record.user_key[shared] == last_.user_key[shared]) {
        ++shared;
      }
    }
    const std::string key = PlainInternalKey(record);
    if (table_.entries == 0) {
      table_.smallest = key;
    }
    table_.largest = key;
    PutVarint(&block_, shared);
    PutVarint(&block_, key.size() - shared);
    PutVarint(&block_, record.value.size());
    block_ += key.substr(shared) + record.value;
    ++block_entries_;
    block_keys_.push_back(record.user_key);
    ++table_.entries;
    table_.tombstones += record.trailer % 256 == 0 ? 1 : 0;
    last_ = record;
    if (block_.size() + 4 * restarts_.size() + 4 >= task_.block_bytes) {
      EndBlock();
    }
  }

  void EndBlock() {
    if (block_entries_ == 0) {
      return;
    }
    AppendRestarts(restarts_, &block_);
    raw_bytes_ += block_.size() + 5;
    std::string compressed;
    const bool snappy = task_.compress && CompressAsUnits(block_, &compressed);
    block_ = snappy ? compressed : block_;
    std::string handle;
    PutVarint(&handle, table_.data.size());
    PutVarint(&handle, block_.size());
    index_restarts_.push_back(table_.index.size());
    PutVarint(&table_.index, 0);
    PutVarint(&table_.index, table_.largest.size());
    PutVarint(&table_.index, handle.size());
    table_.index += table_.largest + handle;
    if (task_.checksum == BlockChecksum::kXxh3) {
      const char type = snappy ? 1 : 0;
      const uint32_t sum = PlainXxh3(block_, type, task_.checksum_base, table_.data.size());
      block_ += type;
      PutFixed32(&block_, sum);
    } else {
      Seal(&block_, snappy ? 1 : 0);
    }
    table_.data += block_;
    block_.clear();
    restarts_.clear();
    block_entries_ = 0;
    if (task_.bloom_bits_per_key > 0) {
      table_.filters.push_back(PlainFilter(block_keys_, task_.bloom_bits_per_key));
    }
    block_keys_.clear();
  }

  void EndTable() {
    if (table_.entries == 0) {
      return;
    }
    EndBlock();
    AppendRestarts(index_restarts_, &table_.index);
    Seal(&table_.index);
    result_->stats.output_bytes += table_.data.size() + table_.index.size();
    ++result_->stats.output_tables;
    result_->tables.push_back(table_);
    table_ = {};
    raw_bytes_ = 0;
    index_restarts_.clear();
  }

 private:
  static void AppendRestarts(const std::vector<size_t>& restarts, std::string* block) {
    for (const size_t restart : restarts) {
      PutFixed32(block, static_cast<uint32_t>(restart));
    }
    PutFixed32(block, static_cast<uint32_t>(restarts.size()));
  }

  const MergeTask& task_;
  ReferenceResult* const result_;
  PlainTable table_;
  size_t raw_bytes_ = 0;  // of the table's data blocks, before compression
  std::string block_;
  std::vector<size_t> restarts_;
  std::vector<size_t> index_restarts_;
  size_t block_entries_ = 0;
  std::vector<std::string> block_keys_;
  PlainRecord last_;
};

}  // namespace

namespace {

// Contents and type: the checksum is right.
std::vector<PlainRecord> DecodeChecked(std::string_view covered) {
  std::string block(covered.substr(0, covered.size() - 1));
  if (covered.back() == 1) {
    std::string plain;
    Require(snappy::Uncompress(block.data(), block.size(), &plain), "Snappy");
    block = plain;
  } else {
    Require(covered.back() == 0, "type");
  }
  Require(block.size() >= 8, "block size");
  const size_t restarts = DecodeFixed32(block.data() + block.size() - 4);
  Require(restarts >= 1 && 4 * restarts + 4 <= block.size(), "restart count");
  const size_t entries_end = block.size() - 4 - 4 * restarts;
  std::vector<size_t> key_starts;  // offsets of entries that share nothing
  std::string_view in = std::string_view(block).substr(0, entries_end);
  std::vector<PlainRecord> records;
  std::string key;
  while (!in.empty()) {
    const size_t offset = in.data() - block.data();
    uint32_t shared = 0, unshared = 0, value_bytes = 0;
    Require(
        GetVarint32(&in, &shared) && GetVarint32(&in, &unshared) && GetVarint32(&in, &value_bytes),
        "header");
    Require(shared <= key.size(), "shared");
    Require(uint64_t{unshared} + value_bytes <= in.size(), "lengths");
    key.resize(shared);
    key.append(in.substr(0, unshared));
    Require(key.size() >= 8, "key");
    if (shared == 0) {
      key_starts.push_back(offset);
    }
    records.push_back({key.substr(0, key.size() - 8), DecodeFixed64(key.data() + key.size() - 8),
                       std::string(in.substr(unshared, value_bytes))});
    in.remove_prefix(unshared + value_bytes);
  }
  for (size_t i = 0; i < restarts && !records.empty(); ++i) {
    const size_t restart = DecodeFixed32(block.data() + entries_end + 4 * i);
    Require(std::count(key_starts.begin(), key_starts.end(), restart) == 1, "restart offset");
  }
  return records;
}

}  // namespace

std::vector<PlainRecord> DecodePlainBlock(std::string_view block_and_trailer) {
  Require(block_and_trailer.size() >= 5, "no trailer");
  const std::string_view covered = block_and_trailer.substr(0, block_and_trailer.size() - 4);
  Require(UnmaskCrc(DecodeFixed32(covered.data() + covered.size())) == Crc32c(covered), "CRC");
  return DecodeChecked(covered);
}

std::vector<PlainRecord> DecodePlainTable(std::string_view image, BlockHandle index,
                                          BlockChecksum checksum, uint32_t base) {
  std::vector<PlainRecord> records;
  uint64_t end = 0;
  for (const PlainRecord& entry :
       DecodePlainBlock(image.substr(index.offset, index.size + kBlockTrailerBytes))) {
    std::string_view value = entry.value;
    BlockHandle handle;
    Require(handle.ReadFrom(&value) && handle.offset >= end, "handle");
    end = handle.offset + handle.size + kBlockTrailerBytes;
    const std::string_view block = image.substr(handle.offset, handle.size + kBlockTrailerBytes);
    std::vector<PlainRecord> decoded;
    if (checksum == BlockChecksum::kXxh3) {
      const uint32_t sum = PlainXxh3(std::string(block.substr(0, handle.size)), block[handle.size],
                                     base, handle.offset);
      Require(DecodeFixed32(block.data() + handle.size + 1) == sum, "XXH3");
      decoded = DecodeChecked(block.substr(0, handle.size + 1));
    } else {
      decoded = DecodePlainBlock(block);
    }
    for (PlainRecord& record : decoded) {
      records.push_back(std::move(record));
    }
  }
  return records;
}

ReferenceResult ReferenceMerge(const MergeTask& task) {
  ReferenceResult result;
  std::vector<PlainRecord> records;
  for (const MergeRun& run : task.runs) {
    for (const MergeTable& table : run) {
      for (PlainRecord& record :
           DecodePlainTable(table.image, table.index, task.checksum, table.checksum_base)) {
        if ((!task.has_begin || record.user_key >= task.begin) &&
            (!task.has_end || record.user_key < task.end)) {
          records.push_back(std::move(record));
        }
      }
    }
  }
  std::stable_sort(records.begin(), records.end(), [](const PlainRecord& a, const PlainRecord& b) {
    return a.user_key != b.user_key ? a.user_key < b.user_key : a.trailer > b.trailer;
  });
  PlainWriter writer(task, &result);
  MergeStats& stats = result.stats;
  const std::string* key = nullptr;
  std::set<SequenceNumber> unserved;  // snapshots that have met no version of this key yet
  for (const PlainRecord& record : records) {
    if (key == nullptr || *key != record.user_key) {
      unserved.insert(task.snapshots.begin(), task.snapshots.end());
    }
    key = &record.user_key;
    const SequenceNumber sequence = record.trailer >> 8;
    const auto sees = unserved.lower_bound(sequence);  // and all behind it
    const bool needed = sees != unserved.end() || sequence > task.snapshots.back();
    unserved.erase(sees, unserved.end());
    const bool for_smallest = sequence <= task.snapshots.front();
    const bool dead = needed && for_smallest && task.bottommost && record.trailer % 256 == 0;
    const bool drop = !needed || dead;
    stats.dropped_shadowed += !needed;
    stats.dropped_tombstones += dead;
    const uint64_t checksum = PlainChecksum(record);
    stats.input_records += 1;
    stats.input_checksum += checksum;
    (drop ? stats.dropped_records : stats.output_records) += 1;
    (drop ? stats.dropped_checksum : stats.output_checksum) += checksum;
    if (!drop) {
      writer.Add(record);
    }
  }
  writer.EndTable();
  return result;
}

}  // namespace sluice
