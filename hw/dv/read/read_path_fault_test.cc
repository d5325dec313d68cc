// The index reader and entry decoders behind their read engines: whatever is wrong with a run is
// named.

#include <gtest/gtest.h>

#include <functional>

#include "read_path_fixture.h"

namespace sluice::dv {
namespace {

// Runs `tables` on one way beside a good run on the other, whose result must not suffer.
Expectation RunBeside(ReadPath& path, const std::vector<TableImage>& tables,
                      const std::function<void(const RunImage&)>& before_run = {}) {
  path.memory.bytes = 0;
  path.options = RandomTiming(path.rng);
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
  const std::vector<WayResult> got = path.Run(runs, RandomRates(path.rng));
  for (size_t w = 0; w < kWays; ++w) {
    SCOPED_TRACE("way " + std::to_string(w));
    Check(got[w], want[w]);
  }
  return want[way];
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
      {with(raw_entry(0, "nn\x03" + trailer.substr(1), "")), MergeStatus::kRecordType},
      {with(raw_entry(0, "nn\xff" + trailer.substr(1), "x")), MergeStatus::kRecordType},
      {with(raw_entry(10, "", "x")), MergeStatus::kUnsorted},  // the same key again
      {with(raw_entry(0, "ml" + trailer, "x")), MergeStatus::kUnsorted},
      {with(raw_entry(0, "m" + trailer, "x")), MergeStatus::kUnsorted},
      {with(raw_entry(0, trailer, "x")), MergeStatus::kUnsorted},
      {with(raw_entry(9, "\x02", "x")), MergeStatus::kUnsorted},  // a newer version
      {with(raw_entry(0, "mm\x02" + trailer.substr(1), "x")), MergeStatus::kUnsorted},
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

}  // namespace
}  // namespace sluice::dv
