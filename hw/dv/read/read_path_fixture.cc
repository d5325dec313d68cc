#include "read_path_fixture.h"

#include <algorithm>

namespace sluice::dv {

std::string RandomBytes(std::mt19937_64& rng, size_t n, unsigned alphabet) {
  std::string out(n, '\0');
  for (char& c : out) {
    c = static_cast<char>(rng() % alphabet);
  }
  return out;
}

std::vector<Record> RandomRecords(std::mt19937_64& rng, const Shape& shape) {
  std::vector<Record> records;
  std::string key;
  const unsigned alphabet = rng() % 2 == 0 ? 2 : 256;
  while (records.size() < shape.records) {
    if (records.empty() || rng() % 4 != 0) {
      const size_t n = shape.min_key + rng() % (shape.max_key - shape.min_key + 1);
      const size_t keep = std::min(n, key.empty() ? 0 : rng() % (key.size() + 1));
      key = key.substr(0, keep) + RandomBytes(rng, n - keep, alphabet);
    }
    // Versions that differ in any byte of the trailer.
    const uint64_t sequence = (rng() & kMaxSequence) >> (rng() % 56) << (8 * (rng() % 7));
    size_t value = rng() % 3 == 0 ? rng() % (2 * kV + 2) : rng() % (shape.max_value + 1);
    if (rng() % 50 == 0 && shape.max_value > 100) {
      value = rng() % (64 << 10);
    }
    records.push_back({key,
                       MakeTrailer(sequence & kMaxSequence, static_cast<RecordType>(rng() % 3)),
                       RandomBytes(rng, value, 256)});
  }
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return CompareInternalKeys(a.InternalKey(), b.InternalKey()) < 0;
  });
  records.erase(std::unique(records.begin(), records.end(),
                            [](const Record& a, const Record& b) {
                              return a.user_key == b.user_key && a.trailer == b.trailer;
                            }),
                records.end());
  return records;
}

std::vector<TableImage> MakeTables(std::mt19937_64& rng, const std::vector<Record>& records,
                                   const Shape& shape) {
  std::vector<TableImage> tables(shape.tables);
  size_t i = 0;
  for (size_t t = 0; t < shape.tables; ++t) {
    TableImage& table = tables[t];
    const size_t end = records.size() * (t + 1) / shape.tables;
    while (i < end) {
      BlockBuilder block(shape.restart_interval);
      while (i < end && block.bytes() < shape.block_bytes) {
        const bool padded = Chance(rng, shape.padded_percent);
        block.Add(records[i].InternalKey(), records[i].value,
                  rng() % 8 == 0 ? rng() % 40 : SIZE_MAX, padded ? 1 + rng() % 124 : 0);
        ++i;
      }
      table.blocks.push_back(Seal(block.Finish()));
      table.last_keys.push_back(records[i - 1].InternalKey());
    }
    table.index_interval = 1 + rng() % 20;
    table.index_padding = std::string(rng() % 4 == 0 ? rng() % 12 : 0, 'x');
    table.BuildIndex();
  }
  return tables;
}

rtlsim::MemoryOptions RandomTiming(std::mt19937_64& rng) {
  if (rng() % 3 == 0) {
    return {};
  }
  return {.latency = static_cast<uint32_t>(rng() % 200),
          .jitter = static_cast<uint32_t>(rng() % 60),
          .take_stall_percent = static_cast<uint32_t>(rng() % 81),
          .give_stall_percent = static_cast<uint32_t>(rng() % 81)};
}

Rates RandomRates(std::mt19937_64& rng) {
  if (rng() % 3 == 0) {
    return {};
  }
  return {10 + static_cast<unsigned>(rng() % 91), 10 + static_cast<unsigned>(rng() % 91),
          10 + static_cast<unsigned>(rng() % 91)};
}

Expectation Expect(const ReadPath& path, const RunImage& run) {
  // Index and descriptors go over the 8-byte port.
  const auto broken = [&](uint64_t address, uint64_t bytes) {
    bool index = address >= run.tables_address &&
                 address < run.tables_address + run.tables.size() * abi::table_descriptor::kBytes;
    for (const RunImage::Table& t : run.tables) {
      index |= address == t.index_address;
    }
    return path.Broken(address, bytes, index ? 8 : kW);
  };
  return Decode(run, path.memory, kLimits, broken);
}

void Check(const WayResult& got, const Expectation& want) {
  const size_t common = std::min(got.records.size(), want.records.size());
  for (size_t i = 0; i < common; ++i) {
    ASSERT_EQ(got.records[i].user_key, want.records[i].user_key) << "record " << i;
    ASSERT_EQ(got.records[i].trailer, want.records[i].trailer) << "record " << i;
    ASSERT_EQ(got.records[i].value, want.records[i].value) << "record " << i;
  }
  if (want.status == MergeStatus::kOk) {
    ASSERT_FALSE(got.index_fault) << MergeStatusText(MergeStatus{got.index_fault->status});
    ASSERT_FALSE(got.data_fault) << MergeStatusText(MergeStatus{got.data_fault->status});
    ASSERT_TRUE(got.eos);
    ASSERT_EQ(got.records.size(), want.records.size());
    ASSERT_EQ(got.input_bytes, want.input_bytes);
    return;
  }
  ASSERT_FALSE(got.eos);
  const std::optional<Fault>& fault = want.in_index ? got.index_fault : got.data_fault;
  ASSERT_TRUE(fault.has_value()) << MergeStatusText(want.status);
  ASSERT_EQ(MergeStatusText(static_cast<MergeStatus>(fault->status)), MergeStatusText(want.status));
  ASSERT_EQ(fault->table, want.table);
  ASSERT_EQ(fault->offset, want.offset);
  if (want.in_content) {
    ASSERT_LE(got.keys, want.records.size()) << "the faulty record got out, or one behind it";
  }
}

std::vector<TableImage> ReadPathTest::Small(size_t n, size_t block_bytes, size_t tables) {
  Shape s;
  s.records = n;
  s.block_bytes = block_bytes;
  s.min_key = 1;
  s.max_value = 60;
  s.tables = tables;
  return MakeTables(path_.rng, RandomRecords(path_.rng, s), s);
}

}  // namespace sluice::dv
