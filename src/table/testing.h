// Random tables, for tests and fuzzers.

#pragma once

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/internal_key.h"
#include "table/stored_block.h"
#include "table/table_reader.h"
#include "table/table_writer.h"
#include "util/testing.h"

namespace sluice {

struct TestEntry {
  std::string key;  // internal
  std::string value;

  bool operator==(const TestEntry&) const = default;
};

inline std::string InternalKey(std::string_view user_key, SequenceNumber sequence,
                               RecordType type = RecordType::kValue) {
  std::string key(user_key);
  PutFixed64(&key, MakeTrailer(sequence, type));
  return key;
}

inline bool InternalKeyLess(std::string_view a, std::string_view b) {
  return CompareInternalKeys(a, b) < 0;
}

// Any size up to `most`, small ones as likely as large ones.
inline size_t SkewedSize(TestRandom* random, size_t most) {
  return Uniform(random, 0, most >> Uniform(random, 0, 16));
}

struct TestEntriesSpec {
  size_t count = 1000;
  size_t most_key_bytes = 40;  // of user keys
  size_t most_value_bytes = 200;
  unsigned alphabet = 4;    // few letters make long shared prefixes and several versions of a key
  bool references = false;  // some of the values
};

// Internal keys in order, without duplicates, so perhaps fewer than asked for.
inline std::vector<TestEntry> RandomEntries(TestRandom* random, const TestEntriesSpec& spec) {
  std::vector<TestEntry> entries(spec.count);
  std::string user_key;
  for (TestEntry& entry : entries) {
    if (Uniform(random, 0, 3) != 0) {
      user_key.resize(Uniform(random, 0, user_key.size()));
      const size_t size = std::max(user_key.size(), Uniform(random, 0, 1) != 0
                                                        ? SkewedSize(random, spec.most_key_bytes)
                                                        : Uniform(random, 0, spec.most_key_bytes));
      while (user_key.size() < size) {
        const uint64_t letter = Uniform(random, 0, spec.alphabet - 1);
        user_key.push_back(static_cast<char>(spec.alphabet > 26 ? letter : 'a' + letter));
      }
    }
    const bool deleted = Uniform(random, 0, 5) == 0;
    const bool reference = spec.references && Uniform(random, 0, 3) == 0;
    entry.key = InternalKey(user_key, Uniform(random, 0, kMaxSequence),
                            deleted     ? RecordType::kDeletion
                            : reference ? kTypeValueReference
                                        : RecordType::kValue);
    if (!deleted) {
      entry.value.resize(SkewedSize(random, spec.most_value_bytes));
      // Half random, half repeated, so that compression has something to do.
      const size_t noise = entry.value.size() / 2;
      for (size_t i = 0; i < entry.value.size(); ++i) {
        entry.value[i] = static_cast<char>(i < noise ? (*random)() : 'v');
      }
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const TestEntry& a, const TestEntry& b) { return InternalKeyLess(a.key, b.key); });
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const TestEntry& a, const TestEntry& b) { return a.key == b.key; }),
                entries.end());
  return entries;
}

inline Compression RandomCompression(TestRandom* random) {
  constexpr Compression kAll[] = {Compression::kNone, Compression::kSnappy, Compression::kZstd,
                                  Compression::kLz4};
  return kAll[Uniform(random, 0, std::size(kAll) - 1)];
}

// For blocks of RandomEntries.
inline const ZstdDictionary& TestDictionary() {
  static const std::unique_ptr<const ZstdDictionary> dictionary = [] {
    TestRandom random(1);
    std::string samples;
    std::vector<size_t> sizes;
    for (int i = 0; i < 200; ++i) {
      const std::string shared = "what all samples have in common, by and large";
      const std::string sample = shared.substr(Uniform(&random, 0, shared.size())) +
                                 std::to_string(random()) + std::string(100, 'v') + shared;
      samples += sample;
      sizes.push_back(sample.size());
    }
    return ZstdDictionary::Train(samples, sizes, {.dictionary_bytes = 1024});
  }();
  return *dictionary;
}

inline TableOptions RandomTableOptions(TestRandom* random) {
  return {.block_bytes = static_cast<uint32_t>(512 << Uniform(random, 0, 7)),
          .restart_interval = static_cast<uint32_t>(1 << Uniform(random, 0, 7)),
          .compression = RandomCompression(random),
          .bloom_bits_per_key =
              Uniform(random, 0, 1) != 0 ? static_cast<int>(Uniform(random, 1, 30)) : 0};
}

// The bytes of a table. REQUIRES: entries are in order.
inline std::string WriteTable(const std::vector<TestEntry>& entries, const TableOptions& options) {
  StringFile file;
  TableWriter writer(options, &file);
  for (const TestEntry& entry : entries) {
    if (!writer.Add(entry.key, entry.value).ok()) {
      return "";
    }
  }
  return writer.Finish().ok() ? file.contents() : "";
}

// The same, compressed with TestDictionary, and without a filter.
inline std::string WriteTableWithDictionary(const std::vector<TestEntry>& entries,
                                            uint32_t block_bytes) {
  const Codec codec{.type = Compression::kZstd};
  std::string image;
  std::string buffer;
  std::string encoded;
  BlockBuilder index(1);
  BlockBuilder block(4);
  for (size_t i = 0; i < entries.size(); ++i) {
    block.Add(entries[i].key, entries[i].value);
    if (block.bytes() >= block_bytes || i + 1 == entries.size()) {
      BlockHandle handle{image.size(), 0};
      handle.size = AppendStoredBlock(block.Finish(), codec, &buffer, &image, &TestDictionary());
      encoded.clear();
      handle.AppendTo(&encoded);
      index.Add(entries[i].key, encoded);
      block.Reset();
    }
  }
  TableTail(0).Finish(image.size(), index.Finish(), codec, &image, TestDictionary().bytes());
  return image;
}

// Null if it is none.
inline std::unique_ptr<TableReader> OpenTable(std::string_view image) {
  std::unique_ptr<TableReader> table;
  const Status status = TableReader::OpenImage(image, "t", &table);
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return table;
}

}  // namespace sluice
