// The entry encoder against the reference: block contents, where blocks and tables end, the last
// keys and table records for the index, the checksum; and its cycles to the cycle.

#include <gtest/gtest.h>

#include "Ventry_encoder_16.h"
#include "Ventry_encoder_64.h"
#include "Ventry_encoder_8.h"
#include "records.h"
#include "util/coding.h"

namespace sluice::dv {
namespace {

constexpr uint32_t kMaxRestarts = 512;  // as built for this bench

template <typename M, size_t v>
struct Shape {
  using Model = M;
  static constexpr size_t kV = v;
};

// What leaves towards the index, in order: a block's last key, or a table's record.
struct IndexItem {
  std::string key;  // user key
  uint64_t trailer = 0;
  bool table = false;
  bool task_end = false;
  uint64_t entries = 0;
  uint64_t tombstones = 0;

  bool operator==(const IndexItem&) const = default;
};

struct KeyBeat {
  std::string data;
  bool last = false;
  uint16_t user_bytes = 0;
  uint64_t trailer = 0;

  bool operator==(const KeyBeat&) const = default;
};

// A beat of a key on its way to a filter, or an end.
struct FilterBeat {
  std::string data;
  bool last = false;
  uint16_t user_bytes = 0;
  bool block_end = false;
  bool task_end = false;

  bool operator==(const FilterBeat&) const = default;
};

template <typename S>
class EntryEncoder : public testing::Test, protected Randomised {
 protected:
  struct Percent {
    unsigned in, out, index;
    unsigned filters = 0;  // 0: there are to be none
  };

  // Runs until the task has ended on both sides, or for `limit` cycles.
  bool Run(const std::vector<Record>& records, const EncodeParams& params, Percent percent,
           uint64_t limit) {
    dut_ = std::make_unique<Testbench<typename S::Model>>();
    auto& dut = *dut_;
    Configure(dut, params);
    dut->record_valid_i = dut->key_valid_i = dut->value_valid_i = 0;
    dut->out_ready_i = dut->last_key_ready_i = dut->table_record_ready_i = 0;
    dut->filters_i = percent.filters > 0;
    dut->filter_key_ready_i = 0;
    dut.Reset();
    RecordSource<S::kV> source(records);
    Sink<Beat> chunks;
    Sink<KeyBeat> keys;
    Sink<IndexItem> tables;
    Sink<FilterBeat> filters;
    first_cycle_ = last_cycle_ = 0;
    starved_ = stalled_ = 0;
    items_.clear();
    std::string key;
    size_t seen_keys = 0;
    size_t seen_tables = 0;
    const auto ended = [&] {
      return !chunks.items().empty() && chunks.items().back().token == kTaskEnd &&
             !items_.empty() && items_.back().task_end &&
             (percent.filters == 0 ||
              (!filters.items().empty() && filters.items().back().task_end));
    };
    for (uint64_t n = 0; n < limit && !ended(); ++n) {
      source.Drive(dut, rng_, percent.in);
      dut->out_ready_i = chunks.Drive(rng_, percent.out);
      dut->last_key_ready_i = keys.Drive(rng_, percent.index);
      dut->table_record_ready_i = tables.Drive(rng_, percent.index);
      dut->filter_key_ready_i = filters.Drive(rng_, percent.filters);
      dut.Settle();
      if (first_cycle_ == 0 && dut->record_valid_i && dut->record_ready_o)
        first_cycle_ = dut.cycle();
      source.Sample(dut);
      chunks.Sample(dut->out_valid_o, OutBeat<S::kV>(dut));
      keys.Sample(dut->last_key_valid_o,
                  {GetBytes(dut->last_key_data_o, S::kV), dut->last_key_last_o != 0,
                   dut->last_key_user_bytes_o, dut->last_key_trailer_o});
      tables.Sample(dut->table_record_valid_o,
                    {"", 0, true, dut->table_record_task_end_o != 0, dut->table_record_entries_o,
                     dut->table_record_tombstones_o});
      filters.Sample(dut->filter_key_valid_o,
                     {GetBytes(dut->filter_key_data_o, S::kV), dut->filter_key_last_o != 0,
                      dut->filter_key_user_bytes_o, dut->filter_key_block_end_o != 0,
                      dut->filter_key_task_end_o != 0});
      if (dut->out_valid_o && dut->out_ready_i) last_cycle_ = dut.cycle();
      starved_ += dut->stall_encode_o;
      stalled_ += dut->stall_pack_o;
      dut.Tick();
      dut.Settle();
      for (; seen_keys < keys.items().size(); ++seen_keys) {
        const KeyBeat& beat = keys.items()[seen_keys];
        key += beat.data;
        if (beat.last) {
          EXPECT_EQ(key.size(), std::max<size_t>(1, (beat.user_bytes + S::kV - 1) / S::kV) * S::kV);
          items_.push_back({key.substr(0, beat.user_bytes), beat.trailer});
          key.clear();
        }
      }
      for (; seen_tables < tables.items().size(); ++seen_tables) {
        items_.push_back(tables.items()[seen_tables]);
      }
    }
    for (int n = 0; n < 4; ++n) {
      dut.Settle();
      dut.Tick();  // the checksum lags
    }
    dut.Settle();
    EXPECT_TRUE(chunks.stable() && keys.stable() && tables.stable() && filters.stable());
    EXPECT_EQ(dut->filter_key_error_o, 0);
    chunks_ = chunks.items();
    filters_ = filters.items();
    return ended();
  }

  // Block contents with a "table" and a "task" mark where the tokens stand.
  static std::vector<std::string> Contents(const std::vector<Beat>& chunks) {
    std::vector<std::string> contents;
    std::string content;
    for (const Beat& chunk : chunks) {
      content += chunk.data;
      if (chunk.last) {
        contents.push_back(chunk.token == kTableEnd  ? "table" + content
                           : chunk.token == kTaskEnd ? "task" + content
                                                     : content);
        content.clear();
      }
    }
    contents.push_back(content);
    return contents;
  }

  // All keys have gone to filters, block by block.
  void ExpectFilterKeys(const std::vector<Record>& records,
                        const std::vector<EncodedTable>& tables) {
    std::vector<std::string> keys;
    std::vector<std::string> last_keys;  // of blocks
    std::string key;
    for (size_t i = 0; i < filters_.size(); ++i) {
      const FilterBeat& beat = filters_[i];
      EXPECT_EQ(beat.task_end, i + 1 == filters_.size());
      if (beat.block_end) {
        last_keys.push_back(keys.back());
      } else if (!beat.task_end) {
        key += beat.data;
        if (beat.last) {
          EXPECT_EQ(key.size(), std::max<size_t>(1, (beat.user_bytes + S::kV - 1) / S::kV) * S::kV);
          keys.push_back(key.substr(0, beat.user_bytes));
          key.clear();
        }
      }
    }
    std::vector<std::string> want;
    for (const Record& record : records) {
      want.push_back(record.key);
    }
    std::vector<std::string> want_last;
    for (const EncodedTable& table : tables) {
      for (const EncodedBlock& block : table.blocks) {
        want_last.push_back(block.last_key);
      }
    }
    EXPECT_TRUE(keys == want);
    EXPECT_TRUE(last_keys == want_last);
  }

  void ExpectSame(const std::vector<Record>& records, const std::vector<EncodedTable>& tables) {
    std::vector<std::string> contents;
    std::vector<IndexItem> items;
    for (const EncodedTable& table : tables) {
      for (const EncodedBlock& block : table.blocks) {
        contents.push_back(block.content);
        items.push_back({block.last_key, block.last_trailer});
      }
      contents.push_back("table");
      items.push_back({"", 0, true, false, table.entries, table.tombstones});
    }
    contents.push_back("task");
    contents.push_back("");
    items.push_back({"", 0, true, true, 0, 0});
    EXPECT_TRUE(Contents(chunks_) == contents);
    EXPECT_TRUE(items_ == items);
    EXPECT_EQ((*dut_)->output_records_o, records.size());
    EXPECT_EQ((*dut_)->output_checksum_o, Checksum(records));
    EXPECT_EQ((*dut_)->limit_o, 0);
  }

  std::unique_ptr<Testbench<typename S::Model>> dut_;
  std::vector<Beat> chunks_;
  std::vector<IndexItem> items_;
  std::vector<FilterBeat> filters_;
  uint64_t first_cycle_ = 0;  // the first record is taken
  uint64_t last_cycle_ = 0;   // the last chunk is
  uint64_t starved_ = 0;
  uint64_t stalled_ = 0;
};

using Shapes = testing::Types<Shape<Ventry_encoder_8, 8>, Shape<Ventry_encoder_16, 16>,
                              Shape<Ventry_encoder_64, 64>>;
TYPED_TEST_SUITE(EntryEncoder, Shapes);

bool WithinLimit(const std::vector<EncodedTable>& tables) {
  for (const EncodedTable& table : tables) {
    for (const EncodedBlock& block : table.blocks) {
      if (block.restarts > kMaxRestarts) return false;
    }
  }
  return true;
}

uint64_t Beats(uint64_t bytes, uint64_t width) { return (bytes + width - 1) / width; }

// What the encoder needs for `tables` if nothing ever waits.
template <size_t kV>
uint64_t Cycles(const std::vector<Record>& records, const std::vector<EncodedTable>& tables,
                const EncodeParams& params) {
  uint64_t cycles = 1;  // task end
  size_t at = 0;
  for (const EncodedTable& table : tables) {
    ++cycles;
    for (const EncodedBlock& block : table.blocks) {
      cycles += Beats(4 * (block.restarts + 1), kV);
      for (size_t entry = 0, used = 0; used + 4 * block.restarts + 4 < block.bytes; ++entry, ++at) {
        const Record& record = records[at];
        const size_t shared = entry % params.restart_interval == 0
                                  ? 0
                                  : SharedPrefix(record.key, records[at - 1].key);
        const size_t beats = std::max<size_t>(1, Beats(record.key.size(), kV));
        const size_t last = record.key.size() - std::max((beats - 1) * kV, shared);
        const bool fits = last + 8 <= kV;
        cycles += 1 + beats + !fits + Beats(record.value.size(), kV);
        std::string header;
        PutVarint(&header, shared);
        PutVarint(&header, record.key.size() - shared + 8);
        PutVarint(&header, record.value.size());
        used += header.size() + record.key.size() - shared + 8 + record.value.size();
      }
    }
    // A block that is not full is closed when the next record, or none, is seen: one cycle more.
    cycles += table.blocks.back().bytes < params.block_bytes;
  }
  return cycles;
}

TYPED_TEST(EntryEncoder, RandomTasks) {
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto records = RandomRecords(rng, rng() % (1000 * TypeParam::kV + 10000));
    const EncodeParams params = RandomParams(rng);
    const auto tables = Encode(records, params);
    const bool within = WithinLimit(tables);
    const unsigned filters = rng() % 2 == 0 ? this->Pressure() : 0;
    const bool ended =
        this->Run(records, params, {this->Pressure(), this->Pressure(), this->Pressure(), filters},
                  within ? 10'000'000 : 300'000);
    EXPECT_EQ(ended, within);
    if (within) {
      this->ExpectSame(records, tables);
      if (filters > 0) this->ExpectFilterKeys(records, tables);
    } else {
      EXPECT_EQ((*this->dut_)->limit_o, 1);
    }
    if (this->HasFailure()) return;
  }
}

// Every prefix length against every key length around the beats' edges.
TYPED_TEST(EntryEncoder, EverySharedPrefix) {
  std::vector<Record> records;
  for (size_t length = 0; length <= 2 * TypeParam::kV + 9; ++length) {
    for (size_t shared = 0; shared <= length; ++shared) {
      records.push_back({std::string(shared, 'a') + std::string(80, 'b'), 1, ""});
      records.push_back({std::string(shared, 'a') + std::string(length - shared, 'c'), 256,
                         std::string(length % 3, 'v')});
    }
  }
  EncodeParams params;
  params.restart_interval = 100;
  params.block_bytes = 30000;
  SCOPED_TRACE(this->Trace(0));
  ASSERT_TRUE(this->Run(records, params, {100, 100, 100}, 10'000'000));
  this->ExpectSame(records, Encode(records, params));
}

// Lengths on both sides of where a varint grows, up to a header of 8 bytes.
TYPED_TEST(EntryEncoder, LongHeaders) {
  std::vector<Record> records;
  for (const size_t key : {100, 119, 120, 127, 128, 129, 1024}) {
    for (const size_t value : {127, 128, 16383, 16384}) {
      records.push_back({std::string(key, 'k'), 256, this->Bytes(value)});
    }
  }
  for (const size_t value : {(1 << 21) - 1, 1 << 21}) {
    records.push_back({std::string(1023, 'k') + 'l', 256, this->Bytes(value)});
  }
  EncodeParams params;
  params.block_bytes = 64 << 20;
  params.restart_interval = 100;
  SCOPED_TRACE(this->Trace(0));
  ASSERT_TRUE(this->Run(records, params, {100, 100, 100}, 10'000'000));
  this->ExpectSame(records, Encode(records, params));
}

// From the first record to its header.
constexpr uint64_t kAhead = 2;

TYPED_TEST(EntryEncoder, CyclesToTheCycle) {
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto records = RandomRecords(rng, 500 * TypeParam::kV + 5000);
    EncodeParams params = RandomParams(rng);
    params.table_bytes = std::max<uint64_t>(params.table_bytes, 32768);
    params.block_bytes = std::min(params.block_bytes, 4096u);
    const auto tables = Encode(records, params);
    if (!WithinLimit(tables)) continue;
    ASSERT_TRUE(this->Run(records, params, {100, 100, 100}, 10'000'000));
    this->ExpectSame(records, tables);
    // The task's end waits for the last key; short blocks with long last keys may wait for those.
    uint64_t last_keys = 0;
    size_t longest_key = 0;
    for (const EncodedTable& table : tables) {
      for (const EncodedBlock& block : table.blocks) {
        last_keys += std::max<uint64_t>(1, Beats(block.last_key.size(), TypeParam::kV));
        longest_key = std::max(longest_key, block.last_key.size());
      }
    }
    // Wide chunks leave through block RAM (cu_wide_fifo), a cycle later.
    const uint64_t behind = TypeParam::kV > 32 ? 1 : 0;
    EXPECT_EQ(this->last_cycle_ - this->first_cycle_,
              Cycles<TypeParam::kV>(records, tables, params) + kAhead + behind + this->stalled_);
    EXPECT_LE(this->stalled_,
              longest_key <= 100 ? Beats(longest_key + 1, TypeParam::kV) : last_keys);
    EXPECT_EQ(this->starved_, kAhead);
    if (this->HasFailure()) return;
  }
}

// Keys and table records keep their order however far the index side lags: here every record is a
// block and nearly every one a table.
TYPED_TEST(EntryEncoder, SlowIndex) {
  std::vector<Record> records;
  for (int i = 0; i < 300; ++i) {
    records.push_back({this->Bytes(this->rng_() % 40), 256, ""});
  }
  EncodeParams params;
  params.block_bytes = 1;
  for (const uint64_t table_bytes : {1, 40, 200}) {
    SCOPED_TRACE(this->Trace(static_cast<int>(table_bytes)));
    params.table_bytes = table_bytes;
    ASSERT_TRUE(this->Run(records, params, {100, 100, 5}, 1'000'000));
    this->ExpectSame(records, Encode(records, params));
  }
}

// Versions of a key stay in one table, also if each record comes after the one before has gone.
TYPED_TEST(EntryEncoder, VersionsStayTogether) {
  std::vector<Record> records;
  for (int i = 0; i < 200; ++i) {
    records.push_back({std::string("key") + char('a' + i / 20), 256u * (1000 - i), "value"});
  }
  EncodeParams params;
  params.block_bytes = 1;
  params.table_bytes = 1;
  SCOPED_TRACE(this->Trace(0));
  ASSERT_TRUE(this->Run(records, params, {20, 100, 100}, 1'000'000));
  this->ExpectSame(records, Encode(records, params));
}

TYPED_TEST(EntryEncoder, StallsSayWhoWaits) {
  const std::vector<Record> records(200, {"key", 256, std::string(500, 'v')});
  SCOPED_TRACE(this->Trace(0));
  ASSERT_TRUE(this->Run(records, {}, {20, 100, 100}, 10'000'000));
  EXPECT_GT(this->starved_, 1000u);
  EXPECT_LE(this->stalled_, 1u);
  ASSERT_TRUE(this->Run(records, {}, {100, 20, 100}, 10'000'000));
  EXPECT_GT(this->stalled_, 1000u);
  EXPECT_EQ(this->starved_, kAhead);
}

// As many restarts as there is room for, and one more.
TYPED_TEST(EntryEncoder, RestartLimit) {
  EncodeParams params;
  params.block_bytes = 1 << 20;
  params.restart_interval = 1;
  std::vector<Record> records(kMaxRestarts, {"k", 256, ""});
  SCOPED_TRACE(this->Trace(0));
  ASSERT_TRUE(this->Run(records, params, {100, 100, 100}, 100'000));
  this->ExpectSame(records, Encode(records, params));
  records.push_back(records.back());
  EXPECT_FALSE(this->Run(records, params, {100, 100, 100}, 100'000));
  EXPECT_EQ((*this->dut_)->limit_o, 1);
  for (const Beat& chunk : this->chunks_) EXPECT_FALSE(chunk.last);
}

}  // namespace
}  // namespace sluice::dv
