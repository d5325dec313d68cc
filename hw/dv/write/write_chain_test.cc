// The whole write side against the reference: both areas byte for byte, at several widths, under
// back-pressure everywhere; areas that are too small, bus errors and halts; and cycle counts.

#include <gtest/gtest.h>

#include "Vwrite_chain_16_64.h"
#include "Vwrite_chain_64_64.h"
#include "Vwrite_chain_8_64.h"
#include "Vwrite_chain_8_8.h"
#include "records.h"

namespace sluice::dv {
namespace {

constexpr uint64_t kDataBase = 0x1'0000'0fc0;  // aligned no more than it must be
constexpr uint64_t kIndexBase = 0x2'0000'0040;

template <typename M, size_t v, size_t w>
struct Shape {
  using Model = M;
  static constexpr size_t kV = v;
  static constexpr size_t kW = w;
};

struct Pressure {
  unsigned input = 100;   // percent
  unsigned memory = 100;  // percent
  unsigned delay = 0;     // cycles
};

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

template <typename S>
class Chain {
 public:
  Chain(std::mt19937_64& rng, const std::vector<Record>& records, const EncodeParams& params,
        uint64_t data_bytes, uint64_t index_bytes)
      : data(kDataBase, data_bytes, S::kW, SLUICE_AXI_WRITE(dut, data_, _i, _o), rng()),
        index(kIndexBase, index_bytes, 8, SLUICE_AXI_WRITE(dut, index_, _i, _o), rng()),
        rng_(rng),
        source_(records) {
    dut->rst_ni = 0;
    dut->start_i = 0;
    dut->halt_i = 0;
    Configure(dut, params);
    dut->record_valid_i = dut->key_valid_i = dut->value_valid_i = 0;
    SetWords(dut->addr_i, kDataBase, kIndexBase);
    SetWords(dut->limit_i, data_bytes, index_bytes);
    dut.Reset();
    dut->start_i = 1;
    dut.Settle();
    dut.Tick();
    dut->start_i = 0;
  }

  void Apply(const Pressure& pressure) {
    pressure_ = pressure;
    for (WriteArea* area : {&data, &index}) {
      area->options.take_stall_percent = 100 - pressure.memory;
      area->options.jitter = pressure.delay;
    }
  }

  void Cycle() {
    source_.Drive(dut, rng_, pressure_.input);
    data.port.Drive(dut.cycle());
    index.port.Drive(dut.cycle());
    dut.Settle();
    source_.Sample(dut);
    data.port.Sample(dut.cycle());
    index.port.Sample(dut.cycle());
    dut.Tick();
    dut.Settle();
  }

  // Runs until both engines are done; the cycles that took, 0 if they never are.
  uint64_t Run(uint64_t limit) {
    const uint64_t start = dut.cycle();
    while (dut->done_o != 3) {
      if (dut.cycle() - start > limit) {
        return 0;
      }
      Cycle();
    }
    return dut.cycle() - start;
  }

  uint64_t used(int port) {
    uint64_t words[2];
    std::memcpy(words, &dut->used_o, sizeof(words));
    return words[port];
  }

  Testbench<typename S::Model> dut;
  WriteArea data;
  WriteArea index;

 private:
  template <typename Port>
  static void SetWords(Port& port, uint64_t a, uint64_t b) {
    const uint64_t words[] = {a, b};
    std::memcpy(&port, words, sizeof(words));
  }

  std::mt19937_64& rng_;
  RecordSource<S::kV> source_;
  Pressure pressure_;
};

// Generous: every beat of input and index at the worst pressure used here.
uint64_t CycleLimit(const std::vector<Record>& records, size_t v) {
  uint64_t beats = 2000;
  for (const Record& record : records) {
    beats += 40 + record.key.size() / 4 + record.value.size() / v;
  }
  return beats * 40;
}

Pressure RandomPressure(std::mt19937_64& rng) {
  const unsigned percents[] = {100, 100, 80, 50, 20};
  return {percents[rng() % 5], percents[rng() % 5], static_cast<unsigned>(rng() % 3 * 40)};
}

template <typename S>
class WriteChain : public testing::Test {
 protected:
  WriteChain() : seed_(TestSeed()), rng_(seed_) {}
  std::string Trace(int round) const {
    return "SLUICE_SEED=" + std::to_string(seed_) + " round " + std::to_string(round);
  }
  uint64_t seed_;
  std::mt19937_64 rng_;
};

using Shapes = testing::Types<Shape<Vwrite_chain_8_8, 8, 8>, Shape<Vwrite_chain_8_64, 8, 64>,
                              Shape<Vwrite_chain_16_64, 16, 64>, Shape<Vwrite_chain_64_64, 64, 64>>;
TYPED_TEST_SUITE(WriteChain, Shapes);

template <typename S>
void ExpectSame(Chain<S>& chain, const std::vector<Record>& records,
                const std::vector<EncodedTable>& tables) {
  const std::string data = DataArea(tables);
  const std::string index = IndexArea(tables);
  EXPECT_EQ(chain.data.port.fault() + chain.index.port.fault(), "");
  EXPECT_EQ(chain.used(0), data.size());
  EXPECT_EQ(chain.used(1), index.size());
  EXPECT_TRUE(chain.data.bytes().compare(0, data.size(), data) == 0);
  EXPECT_TRUE(chain.index.bytes().compare(0, index.size(), index) == 0);
  EXPECT_EQ(chain.dut->idle_o, 3);
  EXPECT_EQ(chain.dut->full_o, 0);
  EXPECT_EQ(chain.dut->error_o, 0);
  EXPECT_EQ(chain.dut->tables_o, tables.size());
  EXPECT_EQ(chain.dut->output_records_o, records.size());
  EXPECT_EQ(chain.dut->output_checksum_o, Checksum(records));
}

TYPED_TEST(WriteChain, RandomTasks) {
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto records = RandomRecords(rng, rng() % (2000 * TypeParam::kV + 60000));
    const EncodeParams params = RandomParams(rng);
    const auto tables = Encode(records, params);
    Chain<TypeParam> chain(this->rng_, records, params, RoundUp(DataArea(tables).size(), 64),
                           RoundUp(IndexArea(tables).size(), 64));
    chain.Apply(RandomPressure(rng));
    ASSERT_NE(chain.Run(CycleLimit(records, TypeParam::kV)), 0u);
    ExpectSame(chain, records, tables);
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(WriteChain, FullSizeTables) {
  SCOPED_TRACE(this->Trace(0));
  auto& rng = this->rng_;
  EncodeParams params;
  params.block_bytes = 16384;
  std::vector<Record> records;
  std::vector<EncodedTable> tables;
  while (tables.size() < 2) {  // shared prefixes may shrink one draw too far
    records = RandomRecords(rng, 3 << 20);
    tables = Encode(records, params);
  }
  Chain<TypeParam> chain(this->rng_, records, params, RoundUp(DataArea(tables).size(), 64),
                         RoundUp(IndexArea(tables).size(), 64));
  ASSERT_NE(chain.Run(CycleLimit(records, TypeParam::kV)), 0u);
  ExpectSame(chain, records, tables);
}

TYPED_TEST(WriteChain, NoRecords) {
  Chain<TypeParam> chain(this->rng_, {}, {}, 64, 64);
  ASSERT_NE(chain.Run(1000), 0u);
  ExpectSame(chain, {}, {});
  EXPECT_EQ(chain.data.port.bursts() + chain.index.port.bursts(), 0u);
}

// One user key on both sides of where a table would end stays in one table.
TYPED_TEST(WriteChain, SameKeyOverTheTableBoundary) {
  for (const size_t repeats : {1, 20, 200}) {
    SCOPED_TRACE(this->Trace(static_cast<int>(repeats)));
    std::vector<Record> records;
    for (int key = 0; key < 6; ++key) {
      for (size_t i = 0; i < repeats; ++i) {
        records.push_back({std::string(20, static_cast<char>('a' + key)), (1000 - i) << 8 | i % 2,
                           std::string(i % 90, 'v')});
      }
    }
    EncodeParams params;
    params.block_bytes = 600;
    params.table_bytes = 1;  // a new key ends the table if it has a finished block
    params.restart_interval = 4;
    const auto tables = Encode(records, params);
    EXPECT_EQ(tables.size(), repeats == 1 ? 1u : repeats == 20 ? 3u : 6u);
    for (const EncodedTable& table : tables) EXPECT_EQ(table.entries % repeats, 0u);
    Chain<TypeParam> chain(this->rng_, records, params, 1 << 20, 1 << 16);
    chain.Apply(RandomPressure(this->rng_));
    ASSERT_NE(chain.Run(CycleLimit(records, TypeParam::kV)), 0u);
    ExpectSame(chain, records, tables);
  }
}

// Areas that are too small: what fits is right, nothing stands beyond, the task still ends.
TYPED_TEST(WriteChain, FullAreas) {
  for (int round = 0; round < 16; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto records = RandomRecords(rng, 20000 + rng() % 40000);
    const EncodeParams params = RandomParams(rng);
    const auto tables = Encode(records, params);
    const std::string data = DataArea(tables);
    const std::string index = IndexArea(tables);
    const bool small_data = round % 2 == 0;
    const uint64_t data_bytes =
        small_data ? rng() % (data.size() / 64) * 64 : RoundUp(data.size(), 64);
    const uint64_t index_bytes =
        small_data ? RoundUp(index.size(), 64) : rng() % ((index.size() + 63) / 64) * 64;
    Chain<TypeParam> chain(this->rng_, records, params, data_bytes, index_bytes);
    chain.Apply(RandomPressure(rng));
    ASSERT_NE(chain.Run(CycleLimit(records, TypeParam::kV)), 0u);
    EXPECT_EQ(chain.dut->full_o, small_data ? 1 : 2);
    EXPECT_EQ(chain.dut->error_o, 0);
    EXPECT_EQ(chain.data.port.fault() + chain.index.port.fault(), "");
    EXPECT_TRUE(data.compare(0, chain.used(0), chain.data.bytes(), 0, chain.used(0)) == 0);
    EXPECT_TRUE(index.compare(0, chain.used(1), chain.index.bytes(), 0, chain.used(1)) == 0);
    EXPECT_EQ(chain.used(small_data ? 0 : 1), small_data ? data_bytes : index_bytes);
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(WriteChain, BusErrors) {
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto records = RandomRecords(rng, 20000);
    const EncodeParams params = RandomParams(rng);
    const auto tables = Encode(records, params);
    Chain<TypeParam> chain(this->rng_, records, params, RoundUp(DataArea(tables).size(), 64),
                           RoundUp(IndexArea(tables).size(), 64));
    chain.Apply(RandomPressure(rng));
    const uint64_t bad = round % 2 == 0 ? kDataBase : kIndexBase;
    (round % 2 == 0 ? chain.data : chain.index).options.poison = {{bad, bad + 1}};
    ASSERT_NE(chain.Run(CycleLimit(records, TypeParam::kV)), 0u);
    EXPECT_EQ(chain.dut->error_o, round % 2 == 0 ? 1 : 2);
    EXPECT_EQ(chain.data.port.fault() + chain.index.port.fault(), "");
    if (this->HasFailure()) return;
  }
}

// After a halt the ports come to rest with no burst half done, and input is swallowed.
TYPED_TEST(WriteChain, Halts) {
  for (int round = 0; round < 16; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto records = RandomRecords(rng, 30000);
    const EncodeParams params = RandomParams(rng);
    const auto tables = Encode(records, params);
    const std::string data = DataArea(tables);
    Chain<TypeParam> chain(this->rng_, records, params, RoundUp(data.size(), 64),
                           RoundUp(IndexArea(tables).size(), 64));
    chain.Apply(RandomPressure(rng));
    for (uint64_t n = rng() % (100 + data.size() / TypeParam::kV); n > 0; --n) chain.Cycle();
    chain.dut->halt_i = 1;
    chain.Cycle();
    chain.dut->halt_i = rng() % 2;  // it stays halted all the same
    const uint64_t bursts[] = {chain.data.port.bursts(), chain.index.port.bursts()};
    for (int n = 0; n < 3000 && chain.dut->idle_o != 3; ++n) chain.Cycle();
    ASSERT_EQ(chain.dut->idle_o, 3);
    for (int n = 0; n < 500; ++n) chain.Cycle();
    EXPECT_EQ(chain.dut->idle_o, 3);
    EXPECT_EQ(chain.data.port.outstanding() + chain.index.port.outstanding(), 0u);
    EXPECT_LE(chain.data.port.bursts(), bursts[0] + 4);  // those on their way when it came
    EXPECT_LE(chain.index.port.bursts(), bursts[1] + 8);
    EXPECT_EQ(chain.dut->error_o, 0);
    EXPECT_EQ(chain.data.port.fault() + chain.index.port.fault(), "");
    if (this->HasFailure()) return;
  }
}

// Cycles per record of the chain with memories that never wait, against what entries cost (one for
// the header, the internal key's beats, the value's) and what blocks add.
TYPED_TEST(WriteChain, CycleBudget) {
  constexpr size_t kV = TypeParam::kV;
  struct Load {
    size_t key, value;
  };
  for (const Load load : {Load{16, 0}, Load{16, 32}, Load{8, 32}, Load{16, 128}, Load{16, 512},
                          Load{16, 2048}, Load{50, 30}, Load{200, 100}}) {
    std::vector<Record> records;
    for (int i = 0; i < 2000; ++i) {
      std::string key(load.key, 'k');
      for (size_t j = 0, n = i; j < 4; ++j, n >>= 8) key[load.key - 1 - j] = static_cast<char>(n);
      records.push_back({key, 256ull + i % 2, std::string(load.value, static_cast<char>(i))});
    }
    EncodeParams params;
    const auto tables = Encode(records, params);
    Chain<TypeParam> chain(this->rng_, records, params, 8 << 20, 1 << 20);
    const uint64_t cycles = chain.Run(20'000'000);
    ExpectSame(chain, records, tables);
    const auto beats = [](size_t bytes) { return (bytes + kV - 1) / kV; };
    uint64_t budget = 300;  // filling and draining
    budget += records.size() * (1 + beats(load.key + 8) + beats(load.value));
    size_t blocks = 0;
    for (const EncodedTable& table : tables) {
      for (const EncodedBlock& block : table.blocks) {
        budget += 4 + beats(4 * (block.restarts + 1));
        ++blocks;
      }
    }
    EXPECT_LE(cycles, budget);
    std::printf(
        "V=%zu W=%zu key %zu value %zu: %.2f cycles per record, entries alone %zu, %zu "
        "blocks\n",
        kV, TypeParam::kW, load.key, load.value, double(cycles) / records.size(),
        1 + beats(load.key + 8) + beats(load.value), blocks);
  }
}

}  // namespace
}  // namespace sluice::dv
