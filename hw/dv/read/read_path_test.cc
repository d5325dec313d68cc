// Index readers and entry decoders behind their read engines: everything that is in a run comes
// out, as fast as the contract says; whatever is wrong with it is named.

#include <gtest/gtest.h>

#include <iomanip>

#include "read_path_driver.h"
#include "util/crc32c.h"

namespace sluice::dv {
namespace {

using abi::MergeStatus;

struct Shape {
  size_t min_key = 0;
  size_t max_key = 40;
  size_t max_value = 200;
  size_t block_bytes = 4096;
  unsigned restart_interval = 16;
  size_t records = 200;
  size_t tables = 1;
  unsigned padded_percent = 0;  // headers with longer varints than need be
};

std::string RandomBytes(std::mt19937_64& rng, size_t n, unsigned alphabet) {
  std::string out(n, '\0');
  for (char& c : out) {
    c = static_cast<char>(rng() % alphabet);
  }
  return out;
}

// Distinct and in order. Neighbours share prefixes that end anywhere in the internal key.
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
                       MakeTrailer(sequence & kMaxSequence,
                                   rng() % 4 ? RecordType::kValue : RecordType::kDeletion),
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

Shape RandomShape(std::mt19937_64& rng) {
  static constexpr size_t kBlocks[] = {1, 64, 512, 4096, 16384};
  static constexpr unsigned kIntervals[] = {1, 2, 3, 16, 128};
  Shape s;
  s.max_key = rng() % 5 == 0 ? kLimits.max_key_bytes : 1 + rng() % 70;
  s.max_value = rng() % 4 == 0 ? 0 : rng() % 400;
  s.block_bytes = kBlocks[rng() % 5];
  s.restart_interval = kIntervals[rng() % 5];
  s.records = 1 + rng() % 250;
  s.tables = 1 + rng() % 4;
  s.padded_percent = rng() % 3 == 0 ? 20 : 0;
  return s;
}

MemoryTiming RandomTiming(std::mt19937_64& rng) {
  if (rng() % 3 == 0) {
    return {};
  }
  return {static_cast<unsigned>(rng() % 200), static_cast<unsigned>(rng() % 60),
          20 + static_cast<unsigned>(rng() % 81), 20 + static_cast<unsigned>(rng() % 81)};
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

// Runs `tables` on one way beside a good run on the other, whose result must not suffer.
Expectation RunBeside(ReadPath& path, const std::vector<TableImage>& tables,
                      const std::function<void(const RunImage&)>& before_run = {}) {
  path.memory.bytes.clear();
  std::vector<RunImage> runs(kWays);
  const size_t way = path.rng() % kWays;
  Shape other;
  other.records = 30;
  for (size_t w = 0; w < kWays; ++w) {
    runs[w] = Place(w == way ? tables : MakeTables(path.rng, RandomRecords(path.rng, other), other),
                    &path.memory, path.rng);
  }
  if (before_run) {
    before_run(runs[way]);
  }
  std::vector<Expectation> want;
  for (const RunImage& run : runs) {
    want.push_back(Expect(path, run));
  }
  path.set_timing(RandomTiming(path.rng));
  const std::vector<WayResult> got = path.Run(runs, RandomRates(path.rng));
  for (size_t w = 0; w < kWays; ++w) {
    SCOPED_TRACE("way " + std::to_string(w));
    Check(got[w], want[w]);
  }
  return want[way];
}

class ReadPathTest : public ::testing::Test {
 protected:
  ReadPathTest() : seed_(TestSeed()), path_(seed_) {}
  std::string Seed() const { return "SLUICE_SEED=" + std::to_string(seed_); }

  // A small table of `n` records with the given shape, and its records.
  std::vector<TableImage> Small(size_t n, size_t block_bytes, size_t tables = 1) {
    Shape s;
    s.records = n;
    s.block_bytes = block_bytes;
    s.min_key = 1;
    s.max_value = 60;
    s.tables = tables;
    records_ = RandomRecords(path_.rng, s);
    return MakeTables(path_.rng, records_, s);
  }

  // Replaces block `i` of `table`; the index follows.
  static void Replace(TableImage* table, size_t i, std::string sealed) {
    table->blocks[i] = std::move(sealed);
    table->BuildIndex();
  }

  uint64_t seed_;
  ReadPath path_;
  std::vector<Record> records_;
};

TEST_F(ReadPathTest, RandomRuns) {
  SCOPED_TRACE(Seed());
  for (int round = 0; round < READ_PATH_ROUNDS; ++round) {
    path_.memory.bytes.clear();
    std::vector<RunImage> runs(kWays);
    std::vector<Expectation> want;
    for (RunImage& run : runs) {
      const Shape shape = RandomShape(path_.rng);
      const std::vector<Record> records = RandomRecords(path_.rng, shape);
      run = Place(
          path_.rng() % 20 == 0 ? std::vector<TableImage>{} : MakeTables(path_.rng, records, shape),
          &path_.memory, path_.rng);
      want.push_back(Expect(path_, run));
      ASSERT_EQ(want.back().status, MergeStatus::kOk) << MergeStatusText(want.back().status);
      if (!run.tables.empty()) {
        ASSERT_EQ(want.back().records, records);
      }
    }
    path_.set_timing(RandomTiming(path_.rng));
    const std::vector<WayResult> got = path_.Run(runs, RandomRates(path_.rng));
    for (size_t w = 0; w < kWays; ++w) {
      SCOPED_TRACE("round " + std::to_string(round) + " way " + std::to_string(w));
      Check(got[w], want[w]);
    }
    if (HasFailure()) {
      return;
    }
  }
}

// A fault of each kind, in a random place of a random run.
TEST_F(ReadPathTest, EveryBlockFault) {
  SCOPED_TRACE(Seed());
  const auto raw_entry = [](uint32_t shared, std::string_view unshared, std::string_view value) {
    std::string e;
    PutVarint(&e, shared);
    PutVarint(&e, unshared.size());
    PutVarint(&e, value.size());
    e.append(unshared);
    e.append(value);
    return e;
  };
  const std::string trailer(8, '\x01');
  // A block whose second entry is `bad`; the first key is "mm".
  const auto with = [&](const std::string& bad) {
    BlockBuilder b(16);
    b.Add("mm" + trailer, "value");
    b.AddRaw(bad);
    return Seal(b.Finish());
  };
  struct Case {
    std::string block;
    MergeStatus status;
  };
  std::vector<Case> cases = {
      {with(raw_entry(11, "x", "")), MergeStatus::kBlockCorrupt},     // shares too much
      {with(raw_entry(2, "nnnnn", "")), MergeStatus::kBlockCorrupt},  // key of 7 bytes
      {with(raw_entry(0, "", "x")), MergeStatus::kBlockCorrupt},      // not a restart array
      {with("\x02\x0b\x7f" + std::string(20, 'z')), MergeStatus::kBlockCorrupt},  // past the end
      {with(std::string("\x00\x0a\xff\xff\xff\xff\x0f", 7) + std::string(40, 'z')),
       MergeStatus::kBlockCorrupt},
      {with("\x80\x80\x80\x80\x80\x01"), MergeStatus::kBlockCorrupt},  // varints of six bytes
      {with(std::string("\x00\x80\x80\x80\x80\x80\x01\x00", 8)), MergeStatus::kBlockCorrupt},
      {with(std::string("\x01\x0a\x80\x80\x80\x80\x80\x01", 8)), MergeStatus::kBlockCorrupt},
      {with(raw_entry(0, "nn\x02" + trailer.substr(1), "")), MergeStatus::kRecordType},
      {with(raw_entry(0, "nn\xff" + trailer.substr(1), "x")), MergeStatus::kRecordType},
      {with(raw_entry(10, "", "x")), MergeStatus::kUnsorted},  // the same key again
      {with(raw_entry(0, "ml" + trailer, "x")), MergeStatus::kUnsorted},
      {with(raw_entry(0, "m" + trailer, "x")), MergeStatus::kUnsorted},
      {with(raw_entry(0, trailer, "x")), MergeStatus::kUnsorted},
      {with(raw_entry(9, "\x02", "x")), MergeStatus::kUnsorted},  // a newer version
      {with(raw_entry(0, std::string(kLimits.max_key_bytes + 1, 'n') + trailer, "x")),
       MergeStatus::kKeyTooLong},
      {with(raw_entry(0, "nn" + trailer, std::string(kLimits.max_value_bytes + 1, 'v'))),
       MergeStatus::kValueTooLong},
      {Seal(BlockBuilder(1).Finish(), 1), MergeStatus::kBlockType},
      {with(raw_entry(0, "n" + trailer, "")).substr(0, 20) + "12345", MergeStatus::kBlockChecksum},
  };
  for (const std::string& tail :
       {std::string("\0\0\0\0\2\0\0\0", 8), std::string("\1\0\0\0\1\0\0\0", 8),
        std::string("\0\0\0\1\1\0\0\0", 8), std::string("\0\0\0\0\1\0\0\1", 8),
        std::string("\0\0\0\0\0\1\0\0\0", 9), std::string("\0\0\0\0\0\0\0\0", 8)}) {
    std::string content = raw_entry(0, "mm" + trailer, "value");
    cases.push_back({Seal(content + tail), MergeStatus::kBlockCorrupt});
    cases.push_back({Seal(tail), MergeStatus::kBlockCorrupt});
  }
  for (size_t n = 0; n < 8; ++n) {
    cases.push_back({Seal(std::string(n, '\0')), MergeStatus::kBlockCorrupt});
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const size_t at : {0, 1}) {
      SCOPED_TRACE("case " + std::to_string(i));
      std::vector<TableImage> tables = Small(40, 300);
      TableImage& table = tables[0];
      // Keys sort behind all others, or stand first in the run.
      const size_t position = at == 0 ? 0 : table.blocks.size();
      if (at == 1 && cases[i].status == MergeStatus::kUnsorted) {
        continue;  // "mm" itself may be out of order there
      }
      std::string key = "mm" + trailer;
      table.blocks.insert(table.blocks.begin() + position, cases[i].block);
      table.last_keys.insert(table.last_keys.begin() + position, key);
      table.BuildIndex();
      const Expectation want = RunBeside(path_, tables);
      if (at == 0) {
        ASSERT_EQ(MergeStatusText(want.status), MergeStatusText(cases[i].status));
      }
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_F(ReadPathTest, OrderIsCheckedAcrossBlocksAndTables) {
  SCOPED_TRACE(Seed());
  for (int round = 0; round < 20; ++round) {
    std::vector<TableImage> tables = Small(30, 64, 3);
    if (round % 2 == 0) {
      std::swap(tables[1], tables[2]);
    } else {
      tables[2] = tables[1];  // its first key equals the key before that
      tables[1].blocks.resize(1);
      tables[1].BuildIndex();
    }
    const Expectation want = RunBeside(path_, tables);
    ASSERT_EQ(want.status, MergeStatus::kUnsorted);
    if (HasFatalFailure()) {
      return;
    }
  }
}

// Random damage, with and without a CRC that vouches for it: the verdict is the reference's.
TEST_F(ReadPathTest, RandomDamage) {
  SCOPED_TRACE(Seed());
  size_t faults = 0;
  for (int round = 0; round < READ_PATH_ROUNDS * 4; ++round) {
    std::vector<TableImage> tables =
        Small(1 + path_.rng() % 60, 1 + path_.rng() % 400, 1 + path_.rng() % 2);
    TableImage& table = tables[path_.rng() % tables.size()];
    const bool in_index = path_.rng() % 4 == 0;
    std::string& block = in_index || table.blocks.empty()
                             ? table.index
                             : table.blocks[path_.rng() % table.blocks.size()];
    const size_t covered = block.size() - kBlockTrailerBytes;
    const bool vouched = path_.rng() % 4 != 0;
    for (size_t i = 1 + path_.rng() % 3; i > 0; --i) {
      const size_t at = path_.rng() % (vouched ? covered : block.size());
      block[at] =
          static_cast<char>(path_.rng() % 2 ? block[at] ^ (1 << path_.rng() % 8) : path_.rng());
    }
    if (vouched) {
      block = Seal(block.substr(0, covered));
    }
    faults += RunBeside(path_, tables).status != MergeStatus::kOk;
    if (HasFailure()) {
      FAIL() << "round " << round;
    }
  }
  EXPECT_GT(faults, READ_PATH_ROUNDS * 1u);
}

TEST_F(ReadPathTest, EveryIndexFault) {
  SCOPED_TRACE(Seed());
  const auto handle = [](uint64_t offset, uint64_t size) {
    std::string h;
    BlockHandle{offset, size}.AppendTo(&h);
    return h;
  };
  const std::string key = "key" + std::string(8, '\x01');
  for (int i = 0; i < 17; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    std::vector<TableImage> tables = Small(40, 200, 2);
    TableImage& table = tables[path_.rng() % 2];
    uint64_t bytes = 0;
    for (const std::string& b : table.blocks) {
      bytes += b.size();
    }
    BlockBuilder b(1 + path_.rng() % 4);
    b.Add("aaa" + key, handle(0, table.blocks[0].size() - 5));
    MergeStatus status = MergeStatus::kIndexCorrupt;
    const auto bad = [&](std::string_view value) {
      b.Add(key, value);
      b.Add("zzz" + key, handle(0, table.blocks[0].size() - 5));
      return Seal(b.Finish());
    };
    const size_t n = table.index.size();
    switch (i) {
      case 0:
        table.index = bad(handle(0, bytes - 4));
        status = MergeStatus::kBadHandle;
        break;
      case 1:
        table.index = bad(handle(bytes - 4, 0));
        status = MergeStatus::kBadHandle;
        break;
      case 2:
        table.index = bad(handle(~0ull - 3, 4));
        status = MergeStatus::kBadHandle;
        break;
      case 3:
        table.index = bad(handle(4, ~0ull - 3));
        status = MergeStatus::kBadHandle;
        break;
      case 4:
        table.index = bad(handle(1ull << 40, 9));
        status = MergeStatus::kBadHandle;
        break;
      case 5:
        table.index = bad("");
        break;
      case 6:
        table.index = bad("\x05");
        break;
      case 7:
        table.index = bad("\x80");
        break;
      case 8:
        table.index = bad(std::string(11, '\x80'));
        break;
      case 9:
        table.index = Seal(table.index.substr(0, n - 5), 1);
        break;
      case 10:
        table.index = Seal(table.index.substr(0, n - 9) + std::string("\x01\0\0\x09", 4));
        break;
      case 11:
        table.index = Seal(std::string(path_.rng() % 8, '\0'));
        break;
      case 12:
        b.AddRaw("\x7f\x01\x01xxxxxxxxxxxxx");
        table.index = Seal(b.Finish());
        break;
      case 13:
        b.AddRaw("\x80\x80\x80\x80\x80\x80");
        table.index = Seal(b.Finish());
        break;
      case 14:
        table.index[path_.rng() % n] ^= 4;
        status = MergeStatus::kIndexChecksum;
        break;
      case 15:  // not the restart array: its zeros are single bytes
        table.index = Seal(std::string("\x80\0\0\0\0\x01\0\0\0", 9));
        break;
      default:
        b.AddRaw(std::string("\x03\x04\x00xxxxxxxxxxxxx", 16));
        table.index = Seal(b.Finish());
    }
    const Expectation want = RunBeside(path_, tables);
    ASSERT_EQ(MergeStatusText(want.status), MergeStatusText(status));
    ASSERT_TRUE(want.in_index);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST_F(ReadPathTest, BusErrors) {
  SCOPED_TRACE(Seed());
  size_t in_index = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<TableImage> tables = Small(60, 200, 2);
    const Expectation want = RunBeside(path_, tables, [&](const RunImage& run) {
      const RunImage::Table& t = run.tables[path_.rng() % 2];
      switch (round % 3) {
        case 0:
          path_.AddError(t.data_address + path_.rng() % t.data_bytes);
          break;
        case 1:
          path_.AddError(t.index_address + path_.rng() % t.index_bytes);
          break;
        default:
          path_.AddError(run.tables_address + path_.rng() % 64);
      }
    });
    ASSERT_EQ(want.status, MergeStatus::kReadError);
    in_index += want.in_index;
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(in_index, 20u);
}

// 1 + ceil((user key + 8) / V) + ceil(value / V) cycles per record, and per block its restart array
// and trailer at V bytes a cycle: one cycle for a record that fills a block, if V is 16 or more.
// Half a cycle is for chunks that two blocks share: how many depends on where the table lies.
TEST_F(ReadPathTest, CyclesPerRecord) {
  struct Case {
    size_t key, value;
    unsigned interval;
  };
  static constexpr Case kCases[] = {{8, 32, 16},     {16, 0, 16},    {16, 64, 16},  {16, 128, 16},
                                    {16, 512, 16},   {16, 2048, 16}, {50, 30, 16},  {24, 40, 1},
                                    {200, 300, 16},  {0, 7, 16},     {8, 4096, 16}, {16, 4096, 16},
                                    {100, 4096, 16}, {256, 4096, 16}};
  for (const Case& c : kCases) {
    std::vector<Record> records;
    for (uint64_t i = 0; i < 1500; ++i) {
      std::string key(c.key, 'k');
      for (size_t j = 0; j < 8 && j < c.key; ++j) {
        key[c.key - 1 - j] = static_cast<char>(i * 0x9e37 >> (8 * j));
      }
      records.push_back(
          {key, MakeTrailer(100000 - i, RecordType::kValue), RandomBytes(path_.rng, c.value, 256)});
    }
    Shape shape;
    shape.restart_interval = c.interval;
    std::vector<TableImage> tables(1);
    BlockBuilder block(c.interval);
    size_t restart_bytes = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      block.Add(records[i].InternalKey(), records[i].value);
      if (block.bytes() >= 4096 || i + 1 == records.size()) {
        restart_bytes = std::max(restart_bytes, block.Finish().size() - block.bytes());
        tables[0].blocks.push_back(Seal(block.Finish()));
        tables[0].last_keys.push_back(records[i].InternalKey());
        block = BlockBuilder(c.interval);
      }
    }
    tables[0].BuildIndex();
    path_.memory.bytes.clear();
    std::vector<RunImage> runs(kWays);
    runs[0] = Place(tables, &path_.memory, path_.rng);
    path_.set_timing({100, 0, 100, 100});
    const std::vector<WayResult> got = path_.Run(runs, {});
    Check(got[0], Expect(path_, runs[0]));
    const double n = static_cast<double>(records.size());
    const double cycles = double(got[0].last_hash_cycle - got[0].first_hash_cycle) / (n - 1);
    const double contract =
        1.0 + double((c.key + 8 + kV - 1) / kV) + double((c.value + kV - 1) / kV);
    const double per_block = double((restart_bytes + 5 + kV - 1) / kV);
    const double blocks = double(tables[0].blocks.size()) / n;
    std::cout << "V=" << kV << " W=" << kW << " key " << std::setw(3) << c.key << " value "
              << std::setw(4) << c.value << ": " << std::fixed << std::setprecision(3) << cycles
              << " cycles/record, contract " << contract << " + per block " << per_block * blocks
              << ", a block costs " << (cycles - contract) / blocks << "\n";
    EXPECT_LE(cycles, contract + (per_block + 0.5) * blocks);
  }
}

// Blocks of one small record each: handles come, and blocks switch, within some cycles. Index
// entries have keys of 24 bytes.
TEST_F(ReadPathTest, CyclesPerBlock) {
  std::vector<TableImage> tables(1);
  for (uint64_t i = 0; i < 1000; ++i) {
    std::string key(16, 'k');
    key[14] = static_cast<char>(i >> 8);
    key[15] = static_cast<char>(i);
    const Record r{key, MakeTrailer(i, RecordType::kValue), "v"};
    BlockBuilder block(1);
    block.Add(r.InternalKey(), r.value);
    tables[0].blocks.push_back(Seal(block.Finish()));
    tables[0].last_keys.push_back(r.InternalKey());
  }
  tables[0].BuildIndex();
  path_.memory.bytes.clear();
  std::vector<RunImage> runs(kWays);
  runs[0] = Place(tables, &path_.memory, path_.rng);
  path_.set_timing({10, 0, 100, 100});
  const std::vector<WayResult> got = path_.Run(runs, {});
  Check(got[0], Expect(path_, runs[0]));
  const double cycles = double(got[0].last_hash_cycle - got[0].first_hash_cycle) / 999;
  std::cout << "V=" << kV << " W=" << kW << ": " << cycles << " cycles/block of one record\n";
  // The index reader: a cycle for each of 6 to 8 bytes of header and handle, and for 4 words of key
  // at most.
  EXPECT_LE(cycles, 11.0);
}

// One table after the other, each of one small block: what is ahead is fetched while this one is
// decoded.
TEST_F(ReadPathTest, TablesArePrefetched) {
  SCOPED_TRACE(Seed());
  std::vector<TableImage> tables = Small(4000, 4096, 8);
  path_.memory.bytes.clear();
  std::vector<RunImage> runs(kWays);
  runs[0] = Place(tables, &path_.memory, path_.rng);
  uint64_t cycles[2];
  for (const unsigned latency : {0, 200}) {
    path_.set_timing({latency, 0, 100, 100});
    // Values leave slowly, as they do when other ways win.
    const std::vector<WayResult> got = path_.Run(runs, {100, 50, 100});
    Check(got[0], Expect(path_, runs[0]));
    cycles[latency != 0] = got[0].last_hash_cycle - got[0].first_hash_cycle;
  }
  EXPECT_LT(cycles[1], cycles[0] + 200);
}

}  // namespace
}  // namespace sluice::dv
