// The index reader and entry decoders behind their read engines: everything that is in a run comes
// out, as fast as the contract says.

#include <gtest/gtest.h>

#include <iomanip>

#include "read_path_fixture.h"

namespace sluice::dv {
namespace {

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

TEST_F(ReadPathTest, RandomRuns) {
  SCOPED_TRACE(Seed());
  for (int round = 0; round < READ_PATH_ROUNDS; ++round) {
    path_.memory.bytes = 0;
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
    path_.options = RandomTiming(path_.rng);
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
    path_.memory.bytes = 0;
    std::vector<RunImage> runs(kWays);
    runs[0] = Place(tables, &path_.memory, path_.rng);
    path_.options.latency = 100;
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
  path_.memory.bytes = 0;
  std::vector<RunImage> runs(kWays);
  runs[0] = Place(tables, &path_.memory, path_.rng);
  path_.options.latency = 10;
  const std::vector<WayResult> got = path_.Run(runs, {});
  Check(got[0], Expect(path_, runs[0]));
  const double cycles = double(got[0].last_hash_cycle - got[0].first_hash_cycle) / 999;
  std::cout << "V=" << kV << " W=" << kW << ": " << cycles << " cycles/block of one record\n";
  // The index reader: a cycle for each of 6 to 8 bytes of header and handle, and for 4 words of key
  // at most; two to take a turn, three to check and emit.
  EXPECT_LE(cycles, 17.0);
}

// One table after the other, each of one small block: what is ahead is fetched while this one is
// decoded.
TEST_F(ReadPathTest, TablesArePrefetched) {
  SCOPED_TRACE(Seed());
  std::vector<TableImage> tables = Small(4000, 4096, 8);
  path_.memory.bytes = 0;
  std::vector<RunImage> runs(kWays);
  runs[0] = Place(tables, &path_.memory, path_.rng);
  uint64_t cycles[2];
  for (const unsigned latency : {0, 200}) {
    path_.options.latency = latency;
    // Values leave slowly, as they do when other ways win.
    const std::vector<WayResult> got = path_.Run(runs, {100, 50, 100});
    Check(got[0], Expect(path_, runs[0]));
    cycles[latency != 0] = got[0].last_hash_cycle - got[0].first_hash_cycle;
  }
  EXPECT_LT(cycles[1], cycles[0] + 200);
}

}  // namespace
}  // namespace sluice::dv
