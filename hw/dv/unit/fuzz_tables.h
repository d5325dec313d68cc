// Tables for the unit's fuzzer: as LevelDB writes them, as it reads them, and broken on purpose.

#pragma once

#include <snappy.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/dv/unit/unit_bench.h"
#include "merge/reference_merge.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice::dv {

// Writes tables in every way that a reader must take: varints longer than necessary, any prefix
// shared, any number of restarts, blocks without entries, bytes between blocks and behind handles.
class OddTableWriter {
 public:
  explicit OddTableWriter(std::mt19937_64& rng) : rng_(rng) {}

  TableImage Write(const std::vector<PlainRecord>& records) {
    TableImage table;
    std::string index;
    std::vector<uint32_t> restarts;
    std::string last_key;
    for (size_t at = 0; at < records.size() || restarts.empty();) {
      const size_t count = std::min<size_t>(records.size() - at, rng_() % 12);
      const std::string block = Block(records, at, count, &last_key);
      at += count;
      table.file.append(Chance(rng_, 10) ? rng_() % 20 : 0, '\x5a');
      const BlockHandle handle{table.file.size(), block.size()};
      table.file += block;
      AppendBlockTrailer(block, Compression::kNone, &table.file);
      table.blocks.push_back(handle);

      std::string value;
      PutPadded(handle.offset, 10, &value);
      PutPadded(handle.size, 10, &value);
      value.append(Chance(rng_, 10) ? rng_() % 12 : 0, '\x99');
      restarts.push_back(static_cast<uint32_t>(index.size()));
      const std::string key =
          last_key.empty() ? MakeInternalKey("", 1, RecordType::kValue) : last_key;
      Header(0, key.size(), value.size(), &index);
      index += key + value;
    }
    AppendRestarts(restarts, &index);
    table.ReplaceIndex(index);
    return table;
  }

 private:
  std::string Block(const std::vector<PlainRecord>& records, size_t begin, size_t count,
                    std::string* last_key) {
    std::string block;
    std::vector<uint32_t> restarts = {0};
    const size_t interval = 1 + rng_() % 6;
    for (size_t i = 0; i < count; ++i) {
      const PlainRecord& record = records[begin + i];
      std::string key = record.user_key;
      PutFixed64(&key, record.trailer);
      size_t shared = 0;
      if (i % interval != 0) {
        const size_t most = std::min(key.size(), last_key->size());
        while (shared < most && key[shared] == (*last_key)[shared]) {
          ++shared;
        }
        shared = Chance(rng_, 70) ? shared : rng_() % (shared + 1);
      } else if (i != 0 && Chance(rng_, 80)) {
        restarts.push_back(static_cast<uint32_t>(block.size()));
      }
      Header(shared, key.size() - shared, record.value.size(), &block);
      block += key.substr(shared) + record.value;
      *last_key = key;
    }
    if (count == 0) {
      restarts.resize(1 + (Chance(rng_, 30) ? rng_() % 200 : 0), 0);
    }
    AppendRestarts(restarts, &block);
    return block;
  }

  void Header(uint64_t shared, uint64_t unshared, uint64_t value, std::string* out) {
    for (const uint64_t n : {shared, unshared, value}) {
      PutPadded(n, 5, out);
    }
  }

  void PutPadded(uint64_t n, size_t most, std::string* out) {
    std::string code;
    PutVarint(&code, n);
    if (Chance(rng_, 10)) {
      const size_t bytes = code.size() + rng_() % (most + 1 - code.size());
      while (code.size() < bytes) {
        code.back() = static_cast<char>(code.back() | 0x80);
        code.push_back('\0');
      }
    }
    if (most == 5 && code.size() == most) {
      code.back() = static_cast<char>(code.back() | (rng_() & 0x70));  // above bit 31: dropped
    }
    *out += code;
  }

  static void AppendRestarts(const std::vector<uint32_t>& restarts, std::string* block) {
    for (const uint32_t restart : restarts) {
      PutFixed32(block, restart);
    }
    PutFixed32(block, static_cast<uint32_t>(restarts.size()));
  }

  std::mt19937_64& rng_;
};

// Compresses some blocks of the table with Snappy, whether or not that makes them smaller. Its index
// stays raw.
inline void CompressSome(std::mt19937_64& rng, TableImage* table) {
  const std::string_view file = table->file;
  TableImage compressed;
  BlockImageBuilder index(1);
  for (PlainRecord& entry :
       DecodePlainBlock(file.substr(table->index.offset, table->index.size + kBlockTrailerBytes))) {
    std::string_view value = entry.value;
    BlockHandle at;
    if (!at.ReadFrom(&value)) {
      throw std::logic_error("a handle that cannot be read");
    }
    std::string block(file.substr(at.offset, at.size));
    Compression type = Compression::kNone;
    if (Chance(rng, 60)) {
      std::string small;
      snappy::Compress(block.data(), block.size(), &small);
      block = std::move(small);
      type = Compression::kSnappy;
    }
    const BlockHandle handle{compressed.file.size(), block.size()};
    compressed.file += block;
    AppendBlockTrailer(block, type, &compressed.file);
    compressed.blocks.push_back(handle);
    PutFixed64(&entry.user_key, entry.trailer);
    std::string handle_bytes;
    handle.AppendTo(&handle_bytes);
    index.Add(entry.user_key, handle_bytes);
  }
  compressed.ReplaceIndex(index.Finish());
  *table = std::move(compressed);
}

// What Mutate has done.
struct Mutation {
  size_t run = 0;
  bool in_index = false;
  bool mended = false;  // the block's CRC is right for what it holds
};

// Changes some bytes of one block, its type or its CRC. False: there is none.
inline bool Mutate(std::mt19937_64& rng, GeneratedTask* generated, Mutation* mutation) {
  const auto [table, run] = RandomTable(rng, generated);
  if (table == nullptr) {
    return false;
  }
  *mutation = {run, Chance(rng, 40), Chance(rng, 85)};
  const BlockHandle at =
      mutation->in_index ? table->index : table->blocks[rng() % table->blocks.size()];
  char* const block = table->file.data() + at.offset;
  const size_t bytes = at.size + (mutation->mended ? Chance(rng, 10) : kBlockTrailerBytes);
  for (uint64_t changes = 1 + rng() % 4; changes > 0; --changes) {
    // Headers at the front and the restart array at the end are met more often than the rest.
    const size_t near = std::min<size_t>(bytes, 16);
    const size_t place = rng() % 3;
    const size_t i = place == 0   ? rng() % near
                     : place == 1 ? bytes - 1 - rng() % near
                                  : rng() % bytes;
    const char choices[] = {static_cast<char>(rng()),
                            static_cast<char>(block[i] ^ (1 << rng() % 8)),
                            static_cast<char>(block[i] + 1),
                            static_cast<char>(block[i] - 1),
                            static_cast<char>(block[i] | 0x80),
                            '\x7f',
                            '\0'};
    block[i] = choices[rng() % std::size(choices)];
  }
  if (mutation->mended) {
    EncodeFixed32(block + at.size + 1, MaskCrc(Crc32c({block, at.size + 1})));
  }
  return true;
}

// Lets the index entry of that number name another block.
inline void ReplaceHandle(TableImage* table, size_t number, const BlockHandle& handle) {
  std::vector<PlainRecord> entries =
      DecodePlainBlock(std::string_view(table->file)
                           .substr(table->index.offset, table->index.size + kBlockTrailerBytes));
  BlockImageBuilder builder(1);
  for (size_t i = 0; i < entries.size(); ++i) {
    std::string key = entries[i].user_key;
    PutFixed64(&key, entries[i].trailer);
    std::string value = entries[i].value;
    if (i == number) {
      value.clear();
      handle.AppendTo(&value);
    }
    builder.Add(key, value);
  }
  table->ReplaceIndex(builder.Finish());
}

// Lets an index entry name a block once more, or in part: as bytes of the same length, so that
// nothing else changes. False: the index is too small.
inline bool RepeatAHandle(std::mt19937_64& rng, GeneratedTask* generated, Mutation* mutation) {
  for (size_t r = 0; r < generated->images.size(); ++r) {
    for (TableImage& table : generated->images[r]) {
      if (table.blocks.size() < 2) {
        continue;
      }
      const size_t from = rng() % (table.blocks.size() - 1);
      const size_t to = from + 1 + rng() % (table.blocks.size() - 1 - from);
      ReplaceHandle(&table, to, table.blocks[from]);
      *mutation = {r, true, true};
      return true;
    }
  }
  return false;
}

// Cuts a block to a few bytes, as a rule too few for what a block must have, under a right CRC. False:
// there is none.
inline bool CutABlock(std::mt19937_64& rng, GeneratedTask* generated, Mutation* mutation) {
  const auto [table, run] = RandomTable(rng, generated);
  if (table == nullptr) {
    return false;
  }
  const size_t number = rng() % table->blocks.size();
  BlockHandle& cut = table->blocks[number];
  cut.size = rng() % std::min<uint64_t>(cut.size, 16);
  char* const block = table->file.data() + cut.offset;
  if (cut.size >= 4 && Chance(rng, 70)) {
    EncodeFixed32(block + cut.size - 4, static_cast<uint32_t>(rng() % 4));
  }
  block[cut.size] = '\0';
  EncodeFixed32(block + cut.size + 1, MaskCrc(Crc32c({block, cut.size + 1})));
  ReplaceHandle(table, number, cut);
  *mutation = {run, false, true};
  return true;
}

}  // namespace sluice::dv
