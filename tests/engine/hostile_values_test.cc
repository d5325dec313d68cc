// References to large values that lead elsewhere, in blocks whose CRC is right: an error of the keys
// concerned. Nothing else suffers, neither other keys nor writes and compactions.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/env.h"
#include "table/block.h"
#include "table/stored_block.h"
#include "table/table_reader.h"
#include "tree/table_scan.h"
#include "tree/value_extent.h"
#include "util/coding.h"
#include "util/testing.h"

namespace sluice {
namespace {

class HostileValuesTest : public DbFixture {
 protected:
  HostileValuesTest() {
    options_.memtable_bytes = 4 << 20;
    options_.l1_bytes = 1 << 20;
    options_.row_cache_bytes = options_.block_cache_bytes = 1 << 16;
    options_.separate_value_bytes = 1024;
    options_.automatic_compactions = false;
  }
  static std::string Key(int i) { return fmt::format("key{:06}", i); }
  std::string Value(size_t bytes) {
    std::string value(bytes, '\0');
    for (char& c : value) {
      c = static_cast<char>(random_());
    }
    return value;
  }
  void Put(int i, size_t bytes) {
    model_[Key(i)] = Value(bytes);
    const Status status = db_->Put({}, Key(i), model_[Key(i)]);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  // Calls `change` with the trailer and the value of the key's record, in place, and seals its block
  // again.
  void Change(std::string_view wanted,
              const std::function<void(char* trailer, char* value)>& change) {
    const std::string path = dir_.File("db/000001.data");
    std::string file;
    {
      std::ifstream in(path, std::ios::binary);
      file.assign(std::istreambuf_iterator<char>(in), {});
    }
    int changed = 0;
    const Status status = ScanForExtents(Env::Posix(), path, 1, [&](const FoundExtent& found) {
      char* const table = file.data() + found.extent.address.page * kPageBytes;
      std::unique_ptr<TableReader> reader;
      ASSERT_TRUE(TableReader::OpenImage({table, found.extent.bytes}, "table", &reader).ok());
      BlockIterator index(reader->index());
      for (index.SeekToFirst(); index.Valid(); index.Next()) {
        BlockHandle handle;
        ASSERT_TRUE(reader->ReadHandle(index, &handle).ok());
        Block block;
        ASSERT_TRUE(Block::Parse({table + handle.offset, handle.size}, &block).ok());
        BlockIterator at(block);
        for (at.SeekToFirst(); at.Valid(); at.Next()) {
          if (UserKey(at.key()) == wanted) {
            // No bytes of a trailer are shared with the entry before it.
            char* const value = table + (at.value().data() - table);
            change(value - kTrailerBytes, value);
            ++changed;
          }
        }
        std::string seal;
        AppendBlockTrailer({table + handle.offset, handle.size}, Compression::kNone, &seal);
        seal.copy(table + handle.offset + handle.size, seal.size());
      }
    });
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(changed, 1);
    std::ofstream(path, std::ios::binary | std::ios::in) << file;
  }

  std::mt19937_64 random_{TestSeed()};
  std::map<std::string, std::string> model_;
};

struct Case {
  const char* name;
  std::function<void(char* trailer, char* value)> change;
  bool separate = true;
};

const Case kCases[] = {
    {"another key's",
     [](char*, char* v) {
       // That of the next record of the block, whose header has three lengths of a byte each.
       const char* const next = v + kValueReferenceBytes;
       ASSERT_EQ(next[2], kValueReferenceBytes);
       std::copy_n(next + 3 + next[1], kValueReferenceBytes, v);
     }},
    {"another extent", [](char*, char* v) { EncodeFixed64(v, 123456); }},
    {"extent 0", [](char*, char* v) { EncodeFixed64(v, 0); }},
    {"offset 0", [](char*, char* v) { EncodeFixed32(v + 8, 0); }},
    {"offset + 1", [](char*, char* v) { EncodeFixed32(v + 8, DecodeFixed32(v + 8) + 1); }},
    {"the last offset", [](char*, char* v) { EncodeFixed32(v + 8, ~uint32_t{0}); }},
    {"0 bytes", [](char*, char* v) { EncodeFixed32(v + 12, 0); }},
    {"1 byte more", [](char*, char* v) { EncodeFixed32(v + 12, DecodeFixed32(v + 12) + 1); }},
    {"1 byte fewer", [](char*, char* v) { EncodeFixed32(v + 12, DecodeFixed32(v + 12) - 1); }},
    {"all bytes there are", [](char*, char* v) { EncodeFixed32(v + 12, ~uint32_t{0}); }},
    {"another CRC", [](char*, char* v) { v[17] = static_cast<char>(~v[17]); }},
    {"100 bytes that are none", [](char* t, char*) { t[0] = 2; }, false},
};

TEST_F(HostileValuesTest, HarmTheirKeysOnly) {
  constexpr int kKeys = 200;
  constexpr int kChanged = 77;
  for (const Case& c : kCases) {
    for (int variant = 0; variant < 8; ++variant) {
      const bool reclaim = (variant & 1) != 0;
      const bool cut = (variant & 2) != 0;
      const bool dictionary = (variant & 4) != 0;
      SCOPED_TRACE(fmt::format("{}{}{}{}", c.name, reclaim ? ", with garbage of halves" : "",
                               cut ? ", cut" : "", dictionary ? ", with a dictionary" : ""));
      options_.compression_per_level = {Compression::kNone, Compression::kNone,
                                        dictionary ? Compression::kZstd : Compression::kNone};
      options_.zstd_dictionary_bytes = dictionary ? 1024 : 0;
      db_.reset();
      std::filesystem::remove_all(dir_.File("db"));
      model_.clear();
      Open();
      for (int i = 0; i < kKeys; ++i) {
        Put(i, i != kChanged || c.separate ? 2000 : 100);
      }
      ASSERT_TRUE(db_->Flush(nullptr).ok());
      ASSERT_TRUE(db_->Close().ok());
      db_.reset();
      Change(Key(kChanged), c.change);
      Open();
      std::string found;
      const Status got = db_->Get({}, Key(kChanged), &found);
      EXPECT_TRUE(got.IsCorruption()) << got.ToString();
      EXPECT_NE(got.ToString().find("000001.data"), std::string::npos) << got.ToString();
      EXPECT_TRUE(db_->Verify({}).IsCorruption());
      bool healed = false;
      const auto check = [&] {
        for (const auto& [key, value] : model_) {
          const Status status = db_->Get({}, key, &found);
          if (key == Key(kChanged) && !healed) {
            ASSERT_TRUE(status.IsCorruption()) << status.ToString();
          } else {
            ASSERT_TRUE(status.ok()) << key << ": " << status.ToString();
            ASSERT_TRUE(found == value) << key;
          }
        }
      };
      check();
      if (cut) {
        ASSERT_TRUE(db_->DeleteRange({}, nullptr, Key(20), Key(60)).ok());
        model_.erase(model_.lower_bound(Key(20)), model_.lower_bound(Key(60)));
      }
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kKeys; ++i) {
          if (i != kChanged && (!reclaim || i % 2 == 0)) {
            Put(i, 2000);
          }
        }
        const Status flushed = db_->Flush(nullptr);
        ASSERT_TRUE(flushed.ok()) << flushed.ToString();
        const Status compacted = db_->CompactRange(nullptr, {}, {});
        EXPECT_TRUE(compacted.ok() || compacted.IsCorruption()) << compacted.ToString();
        check();
        if (HasFailure()) {
          return;
        }
      }
      ASSERT_TRUE(db_->Close().ok());
      Open();
      check();
      Put(kChanged, 2000);
      healed = true;
      ASSERT_TRUE(db_->Flush(nullptr).ok());
      (void)db_->CompactRange(nullptr, {}, {});
      check();
      if (HasFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace sluice
