// The index encoder against the reference's index area, and its throughput.

#include <gtest/gtest.h>

#include "Vindex_encoder_16.h"
#include "Vindex_encoder_64.h"
#include "Vindex_encoder_8.h"
#include "reference.h"
#include "streams.h"
#include "util/coding.h"

namespace sluice::dv {
namespace {

constexpr size_t kMaxBlocks = 64;  // as built for this bench

template <typename M, size_t v>
struct Shape {
  using Model = M;
  static constexpr size_t kV = v;
};

struct Word {
  std::string data;
  bool last = false;
  bool empty = false;

  bool operator==(const Word&) const = default;
};

// An item of the stream of last keys and table records.
struct Item {
  bool table = false;
  bool last = false;  // key beat
  std::string data;
  uint16_t user_bytes = 0;
  uint64_t trailer = 0;
  bool task_end = false;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
};

template <typename S>
class IndexEncoder : public testing::Test, protected Randomised {
 protected:
  // Tables of blocks that have sizes but no content.
  std::vector<EncodedTable> Tables(size_t max_blocks, size_t longest_key) {
    std::vector<EncodedTable> tables(rng_() % 6);
    for (EncodedTable& table : tables) {
      const uint64_t largest = 8ull << rng_() % 29;
      for (size_t n = 1 + rng_() % max_blocks; n > 0; --n) {
        table.blocks.push_back(
            {"", 8 + rng_() % largest, Bytes(rng_() % (longest_key + 1)), rng_(), 1});
      }
      table.entries = rng_() >> 16;  // 48 bits
      table.tombstones = rng_() >> 16;
    }
    return tables;
  }

  struct Percent {
    unsigned in, handles, out;
  };

  // Runs until the last word, or for `limit` cycles.
  bool Run(const std::vector<EncodedTable>& tables, Percent percent, uint64_t limit) {
    dut_ = std::make_unique<Testbench<typename S::Model>>();
    auto& dut = *dut_;
    dut->last_key_valid_i = dut->table_record_valid_i = dut->handle_valid_i = dut->out_ready_i = 0;
    dut.Reset();
    Source<Item> items;
    Source<std::pair<uint64_t, uint32_t>> handles;
    for (const EncodedTable& table : tables) {
      uint64_t offset = 0;
      for (const EncodedBlock& block : table.blocks) {
        const auto beats = Beats(block.last_key, S::kV);
        for (size_t i = 0; i < beats.size(); ++i) {
          items.Push({false, i + 1 == beats.size(), beats[i],
                      static_cast<uint16_t>(block.last_key.size()), block.last_trailer});
        }
        handles.Push({offset, static_cast<uint32_t>(block.bytes)});
        offset += block.bytes + 5;
      }
      items.Push({true, false, "", 0, 0, false, table.entries, table.tombstones});
    }
    items.Push({true, false, "", 0, 0, true});
    Sink<Word> words;
    const uint64_t start = dut.cycle();
    const auto ended = [&] { return !words.items().empty() && words.items().back().last; };
    while (!ended() && dut.cycle() - start < limit) {
      const bool offer = items.Offer(rng_, percent.in);
      dut->last_key_valid_i = offer && !items.front().table;
      dut->table_record_valid_i = offer && items.front().table;
      if (offer) {
        const Item& item = items.front();
        SetBytes(dut->last_key_data_i, item.data);
        dut->last_key_last_i = item.last;
        dut->last_key_user_bytes_i = item.user_bytes;
        dut->last_key_trailer_i = item.trailer;
        dut->table_record_task_end_i = item.task_end;
        dut->table_record_entries_i = item.entries;
        dut->table_record_tombstones_i = item.tombstones;
      }
      dut->handle_valid_i = handles.Offer(rng_, percent.handles);
      if (dut->handle_valid_i) {
        dut->handle_offset_i = handles.front().first;
        dut->handle_size_i = handles.front().second;
      }
      dut->out_ready_i = words.Drive(rng_, percent.out);
      dut.Settle();
      words.Sample(dut->out_valid_o, {dut->out_empty_o ? "" : GetBytes(dut->out_data_o, 8),
                                      dut->out_last_o != 0, dut->out_empty_o != 0});
      if ((dut->last_key_valid_i && dut->last_key_ready_o) ||
          (dut->table_record_valid_i && dut->table_record_ready_o)) {
        items.Taken();
      }
      if (dut->handle_valid_i && dut->handle_ready_o) handles.Taken();
      dut.Tick();
    }
    dut.Settle();
    cycles_ = dut.cycle() - start;
    words_ = words.items();
    EXPECT_TRUE(words.stable());
    return ended();
  }

  void ExpectSame(const std::vector<EncodedTable>& tables) {
    std::string area;
    for (size_t i = 0; i < words_.size(); ++i) {
      area += words_[i].data;
      EXPECT_EQ(words_[i].empty, tables.empty());
      EXPECT_EQ(words_[i].last, i + 1 == words_.size());
    }
    EXPECT_TRUE(area == IndexArea(tables));
    EXPECT_EQ((*dut_)->tables_o, tables.size());
    EXPECT_EQ((*dut_)->limit_o, 0);
  }

  std::unique_ptr<Testbench<typename S::Model>> dut_;
  std::vector<Word> words_;
  uint64_t cycles_ = 0;
};

using Shapes = testing::Types<Shape<Vindex_encoder_8, 8>, Shape<Vindex_encoder_16, 16>,
                              Shape<Vindex_encoder_64, 64>>;
TYPED_TEST_SUITE(IndexEncoder, Shapes);

TYPED_TEST(IndexEncoder, RandomTables) {
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(this->Trace(round));
    const auto tables = this->Tables(round % 2 == 0 ? 4 : kMaxBlocks, round % 3 == 0 ? 1024 : 40);
    ASSERT_TRUE(
        this->Run(tables, {this->Pressure(), this->Pressure(), this->Pressure()}, 5'000'000));
    this->ExpectSame(tables);
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(IndexEncoder, NoTables) {
  ASSERT_TRUE(this->Run({}, {100, 100, 100}, 100));
  this->ExpectSame({});
}

TYPED_TEST(IndexEncoder, BlockLimit) {
  EncodedTable table;
  table.blocks.assign(kMaxBlocks, {"", 100, "key", 256, 1});
  ASSERT_TRUE(this->Run({table, table}, {100, 100, 100}, 100'000));
  this->ExpectSame({table, table});
  table.blocks.push_back(table.blocks[0]);
  EXPECT_FALSE(this->Run({table}, {100, 100, 100}, 100'000));
  EXPECT_EQ((*this->dut_)->limit_o, 1);
}

// An entry costs its header, its key in steps of 8 bytes, trailer and handle; a long key leaves at
// nearly 8 bytes per cycle.
TYPED_TEST(IndexEncoder, Throughput) {
  for (const size_t key : {8, 16, 100, 1024}) {
    EncodedTable table;
    table.blocks.assign(kMaxBlocks, {"", 4096, std::string(key, 'k'), 256, 1});
    const std::vector<EncodedTable> tables(20, table);
    ASSERT_TRUE(this->Run(tables, {100, 100, 100}, 1'000'000));
    this->ExpectSame(tables);
    const double entries = static_cast<double>(20 * kMaxBlocks);
    const double bytes = static_cast<double>(IndexArea(tables).size());
    const double cycles = static_cast<double>(this->cycles_);
    // Restart array, length, trailer and record add a cycle per 8 bytes, 50 of fill and drain.
    EXPECT_LE(cycles, entries * (3.0 + static_cast<double>((key + 7) / 8) + 0.5) + 20 * 14 + 50);
    std::printf("V=%zu key %zu: %.2f cycles per entry, %.2f bytes per cycle\n", TypeParam::kV, key,
                cycles / entries, bytes / cycles);
  }
}

}  // namespace
}  // namespace sluice::dv
