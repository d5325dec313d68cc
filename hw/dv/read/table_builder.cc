#include "table_builder.h"

#include <algorithm>

#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice::dv {

namespace {

// `padding` bytes longer than need be, five at most.
void PutPadded(std::string* out, uint32_t v, unsigned padding) {
  const size_t begin = out->size();
  PutVarint(out, v);
  for (unsigned i = 0; i < padding && out->size() - begin < 5; ++i) {
    out->back() = static_cast<char>(out->back() | 0x80);
    out->push_back(0);
  }
}

// Walks a block's entries. `entry` gets the key's unshared part and the value, and returns a status
// that ends the walk unless it is ok.
using EntryFunction = std::function<MergeStatus(const EntryHeader&, std::string_view unshared,
                                                std::string_view value)>;

MergeStatus Walk(std::string_view block, MergeStatus corrupt, const EntryFunction& entry) {
  constexpr size_t kRestartBytes = 8;
  const char* p = block.data();
  const char* const end = p + block.size();
  uint64_t previous_key_bytes = 0;
  while (true) {
    if (static_cast<size_t>(end - p) < kRestartBytes) {
      return corrupt;
    }
    EntryHeader h;
    const char* body = DecodeEntryHeader(p, end, &h);
    if (body == nullptr) {
      return corrupt;
    }
    if (h.shared == 0 && h.unshared == 0 && body - p <= 8) {
      break;
    }
    const uint64_t key_bytes = uint64_t{h.shared} + h.unshared;
    if (uint64_t{h.unshared} + h.value_bytes + kRestartBytes > static_cast<uint64_t>(end - body) ||
        h.shared > previous_key_bytes || key_bytes < kTrailerBytes) {
      return corrupt;
    }
    const MergeStatus status = entry(h, std::string_view(body, h.unshared),
                                     std::string_view(body + h.unshared, h.value_bytes));
    if (status != MergeStatus::kOk) {
      return status;
    }
    previous_key_bytes = key_bytes;
    p = body + h.unshared + h.value_bytes;
  }
  const auto rest = static_cast<size_t>(end - p);
  if (rest % 4 != 0 || DecodeFixed32(p) != 0 || DecodeFixed32(end - 4) != rest / 4 - 1) {
    return corrupt;
  }
  return MergeStatus::kOk;
}

bool CrcIsGood(std::string_view sealed) {
  return MaskCrc(Crc32c(sealed.substr(0, sealed.size() - 4))) ==
         DecodeFixed32(sealed.data() + sealed.size() - 4);
}

struct RunDecoder {
  const Memory& memory;
  const Limits& limits;
  const std::function<bool(uint64_t, uint64_t)>& broken;
  Expectation* out;
  std::string previous_key;  // of the run
  bool any = false;

  MergeStatus Entry(const EntryHeader& h, std::string_view unshared, std::string_view value,
                    std::string* key) {
    if (uint64_t{h.shared} + h.unshared > limits.max_key_bytes + kTrailerBytes) {
      return MergeStatus::kKeyTooLong;
    }
    if (h.value_bytes > limits.max_value_bytes) {
      return MergeStatus::kValueTooLong;
    }
    key->resize(h.shared);
    key->append(unshared);
    if (!IsKnownType(TrailerType(Trailer(*key)))) {
      return MergeStatus::kRecordType;
    }
    if (any && CompareInternalKeys(previous_key, *key) >= 0) {
      return MergeStatus::kUnsorted;
    }
    any = true;
    previous_key = *key;
    out->records.push_back({std::string(UserKey(*key)), Trailer(*key), std::string(value)});
    return MergeStatus::kOk;
  }

  MergeStatus Block(uint64_t address, uint64_t bytes) {
    if (broken(address, bytes + kBlockTrailerBytes)) {
      return MergeStatus::kReadError;
    }
    const std::string sealed = memory.Read(address, bytes + kBlockTrailerBytes);
    if (!CrcIsGood(sealed)) {
      return MergeStatus::kBlockChecksum;
    }
    if (sealed[bytes] != 0) {
      return MergeStatus::kBlockType;
    }
    out->in_content = true;
    std::string key;
    const MergeStatus status =
        Walk(std::string_view(sealed).substr(0, bytes), MergeStatus::kBlockCorrupt,
             [&](const EntryHeader& h, std::string_view unshared, std::string_view value) {
               return Entry(h, unshared, value, &key);
             });
    if (status == MergeStatus::kOk) {
      out->in_content = false;
      out->input_bytes += bytes + kBlockTrailerBytes;
    }
    return status;
  }

  MergeStatus Index(const RunImage::Table& table, std::vector<BlockHandle>* handles) {
    const uint64_t bytes = table.index_bytes;
    if (bytes < 8) {
      return MergeStatus::kIndexCorrupt;
    }
    if (broken(table.index_address, bytes + kBlockTrailerBytes)) {
      return MergeStatus::kReadError;
    }
    const std::string sealed = memory.Read(table.index_address, bytes + kBlockTrailerBytes);
    if (!CrcIsGood(sealed)) {
      return MergeStatus::kIndexChecksum;
    }
    if (sealed[bytes] != 0) {
      return MergeStatus::kIndexCorrupt;
    }
    uint64_t end = 0;
    return Walk(std::string_view(sealed).substr(0, bytes), MergeStatus::kIndexCorrupt,
                [&](const EntryHeader&, std::string_view, std::string_view value) {
                  BlockHandle handle;
                  if (!GetVarint64(&value, &handle.offset) || !GetVarint64(&value, &handle.size)) {
                    return MergeStatus::kIndexCorrupt;
                  }
                  if (handle.size >= 0xffff'fff0 || !HandleFits(handle, table.data_bytes) ||
                      handle.offset < end) {
                    return MergeStatus::kBadHandle;
                  }
                  end = handle.offset + handle.size + kBlockTrailerBytes;
                  handles->push_back(handle);
                  return MergeStatus::kOk;
                });
  }
};

}  // namespace

std::string Record::InternalKey() const {
  std::string key = user_key;
  PutFixed64(&key, trailer);
  return key;
}

void BlockBuilder::Add(std::string_view key, std::string_view value, size_t max_shared,
                       unsigned padding) {
  size_t shared = 0;
  if (since_restart_ == interval_) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    since_restart_ = 0;
  } else {
    const size_t limit = std::min({key.size(), last_key_.size(), max_shared});
    while (shared < limit && key[shared] == last_key_[shared]) {
      ++shared;
    }
  }
  PutPadded(&bytes_, static_cast<uint32_t>(shared), padding % 5);
  PutPadded(&bytes_, static_cast<uint32_t>(key.size() - shared), padding / 5 % 5);
  PutPadded(&bytes_, static_cast<uint32_t>(value.size()), padding / 25);
  bytes_.append(key.substr(shared));
  bytes_.append(value);
  last_key_ = key;
  ++since_restart_;
}

std::string BlockBuilder::Finish() const {
  std::string block = bytes_;
  for (const uint32_t restart : restarts_) {
    PutFixed32(&block, restart);
  }
  PutFixed32(&block, static_cast<uint32_t>(restarts_.size()));
  return block;
}

std::string Seal(std::string block, uint8_t type) {
  block.push_back(static_cast<char>(type));
  PutFixed32(&block, MaskCrc(Crc32c(block)));
  return block;
}

void TableImage::BuildIndex() {
  BlockBuilder builder(index_interval);
  uint64_t offset = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::string handle;
    BlockHandle{offset, blocks[i].size() - kBlockTrailerBytes}.AppendTo(&handle);
    handle += index_padding;
    builder.Add(last_keys[i], handle);
    offset += blocks[i].size();
  }
  index = Seal(builder.Finish());
}

RunImage Place(const std::vector<TableImage>& tables, Memory* memory, std::mt19937_64& rng) {
  RunImage run;
  std::string descriptors;
  // Wide enough that no bus beat, and so no bus error, belongs to two neighbours.
  const auto gap = [&] { memory->Append(std::string(64 + rng() % 100, '\xee')); };
  for (const TableImage& table : tables) {
    RunImage::Table t;
    gap();
    t.data_address = memory->end();
    for (const std::string& block : table.blocks) {
      memory->Append(block);
    }
    t.data_bytes = memory->end() - t.data_address;
    gap();
    t.index_address = memory->Append(table.index);
    t.index_bytes = static_cast<uint32_t>(table.index.size() - kBlockTrailerBytes);
    run.tables.push_back(t);
    PutFixed64(&descriptors, t.index_address);
    PutFixed64(&descriptors, t.index_bytes);
    PutFixed64(&descriptors, t.data_address);
    PutFixed64(&descriptors, t.data_bytes);
  }
  gap();
  memory->bytes = (memory->bytes + 7) & ~7ull;
  run.tables_address = memory->Append(descriptors);
  return run;
}

Expectation Decode(const RunImage& run, const Memory& memory, const Limits& limits,
                   const std::function<bool(uint64_t, uint64_t)>& broken) {
  Expectation out;
  RunDecoder decoder{memory, limits, broken, &out, {}, false};
  for (size_t t = 0; t < run.tables.size(); ++t) {
    const RunImage::Table& table = run.tables[t];
    out.table = static_cast<uint16_t>(t);
    out.in_index = true;
    std::vector<BlockHandle> handles;
    out.offset = run.tables_address + abi::table_descriptor::kBytes * t;
    if (broken(out.offset, abi::table_descriptor::kBytes)) {
      out.status = MergeStatus::kReadError;
      return out;
    }
    out.offset = table.index_address;
    out.status = decoder.Index(table, &handles);
    if (out.status != MergeStatus::kOk) {
      return out;
    }
    out.in_index = false;
    for (const BlockHandle& handle : handles) {
      out.offset = handle.offset;
      out.status = decoder.Block(table.data_address + handle.offset, handle.size);
      if (out.status != MergeStatus::kOk) {
        return out;
      }
    }
  }
  return out;
}

}  // namespace sluice::dv
