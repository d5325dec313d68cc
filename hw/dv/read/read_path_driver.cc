#include "read_path_driver.h"

#include "../common/record_tag.h"

namespace sluice::dv {

namespace {

template <typename Port>
uint64_t Field(const Port& port, size_t way, size_t bytes) {
  uint64_t v = 0;
  std::memcpy(&v, reinterpret_cast<const char*>(&port) + way * bytes, bytes);
  return v;
}

template <typename Port>
void SetBit(Port* port, size_t way, bool on) {
  *port = static_cast<Port>((*port & ~(Port{1} << way)) | (Port{on} << way));
}

}  // namespace

// Memory is also so low that offsets in a table exceed its address.
ReadPath::ReadPath(uint64_t seed)
    : rng(seed),
      memory(rng() % 2 == 0 ? 0 : (rng() & 0xff'ffff) << 12),
      options{.seed = seed},
      index_("index", &memory.dram, options, 8, SLUICE_AXI_READ(tb_, x_, _i, _o)),
      data_("data", &memory.dram, options, kW, SLUICE_AXI_READ(tb_, d_, _i, _o)) {
  Reset();
}

bool ReadPath::Broken(uint64_t address, uint64_t bytes, size_t beat_bytes) const {
  return std::ranges::any_of(options.poison, [&](const auto& bad) {
    return bad.first / beat_bytes >= address / beat_bytes &&
           bad.first / beat_bytes <= (address + bytes - 1) / beat_bytes;
  });
}

void ReadPath::Reset() {
  index_.Reset();
  data_.Reset();
  tb_->start_i = 0;
  tb_->key_ready_i = tb_->info_ready_i = tb_->hash_ready_i = tb_->value_ready_i = 0;
  tb_->halt_i = 0;
  tb_->x_rvalid_i = tb_->d_rvalid_i = 0;
  tb_.Reset();
}

void ReadPath::Drive(const std::vector<RunImage>& runs, const Rates& rates, bool start) {
  uint64_t addresses[kWays];
  for (size_t w = 0; w < kWays; ++w) {
    addresses[w] = runs[w].tables_address;
    const uint16_t count = static_cast<uint16_t>(runs[w].tables.size());
    std::memcpy(reinterpret_cast<char*>(&tb_->tables_addr_i) + 6 * w, &addresses[w], 6);
    std::memcpy(reinterpret_cast<char*>(&tb_->table_count_i) + 2 * w, &count, 2);
    SetBit(&tb_->key_ready_i, w, Chance(rng, rates.key_percent));
    SetBit(&tb_->info_ready_i, w, Chance(rng, rates.record_percent));
    SetBit(&tb_->hash_ready_i, w, Chance(rng, rates.record_percent));
    SetBit(&tb_->value_ready_i, w, ways_[w].beats_owed > 0 && Chance(rng, rates.value_percent));
  }
  tb_->start_i = start;
  index_.Drive(tb_.cycle());
  data_.Drive(tb_.cycle());
  tb_.Settle();
}

void ReadPath::ObserveKey(size_t w) {
  Way& way = ways_[w];
  const std::string beat = GetBytes(tb_->key_data_o, kV, w * kV);
  const size_t bytes = Field(tb_->key_bytes_o, w, 1);
  const bool last = tb_->key_last_o >> w & 1;
  ASSERT_FALSE(way.result.eos) << "a key after the end";
  ASSERT_LE(bytes, kV);
  if (tb_->key_eos_o >> w & 1) {
    ASSERT_TRUE(last);
    ASSERT_TRUE(way.key.empty());
    way.result.eos = true;
    return;
  }
  ASSERT_TRUE(last || bytes == kV);
  ASSERT_TRUE(bytes > 0 || way.key.empty());
  ASSERT_EQ(beat.substr(bytes), std::string(kV - bytes, '\0')) << "key not padded with zeros";
  way.key += beat.substr(0, bytes);
  if (last) {
    way.keys.push_back({way.key, Field(tb_->key_trailer_o, w, 8), ""});
    way.key.clear();
  }
}

void ReadPath::ObserveFaults(size_t w) {
  WayResult& r = ways_[w].result;
  EXPECT_EQ(tb_->parity_error_o, 0);
  if (tb_->index_fault_o >> w & 1) {
    r.index_fault = Fault{tb_->index_status_o, tb_->index_table_o, tb_->index_offset_o};
  }
  if (tb_->data_fault_o >> w & 1) {
    r.data_fault = Fault{static_cast<uint8_t>(Field(tb_->data_status_o, w, 1)),
                         static_cast<uint16_t>(Field(tb_->data_table_o, w, 2)),
                         Field(tb_->data_offset_o, w, 8)};
  }
}

void ReadPath::Observe(size_t w) {
  Way& way = ways_[w];
  const auto fires = [w](uint64_t valid, uint64_t ready) { return (valid & ready) >> w & 1; };
  if (fires(tb_->key_valid_o, tb_->key_ready_i)) {
    ObserveKey(w);
  }
  if (fires(tb_->value_valid_o, tb_->value_ready_i)) {
    way.values += GetBytes(tb_->value_data_o, kV, w * kV);
    --way.beats_owed;
  }
  if (fires(tb_->info_valid_o, tb_->info_ready_i)) {
    way.value_bytes.push_back(static_cast<uint32_t>(Field(tb_->info_value_bytes_o, w, 4)));
    way.tags.push_back(static_cast<uint16_t>(Field(tb_->info_tag_o, w, 2)));
    way.beats_owed += (way.value_bytes.back() + kV - 1) / kV;
  }
  if (fires(tb_->hash_valid_o, tb_->hash_ready_i)) {
    if (way.hashes.empty()) {
      way.result.first_hash_cycle = tb_.cycle();
    }
    way.result.last_hash_cycle = tb_.cycle();
    way.hashes.push_back(Field(tb_->hash_o, w, 8));
  }
  ObserveFaults(w);
}

void ReadPath::Assemble(Way* way) {
  size_t at = 0;
  for (size_t i = 0; i < std::min(way->value_bytes.size(), way->keys.size()); ++i) {
    const size_t n = way->value_bytes[i];
    const size_t padded = (n + kV - 1) / kV * kV;
    if (at + padded > way->values.size() || i >= way->hashes.size()) {
      break;
    }
    Record r = way->keys[i];
    r.value = way->values.substr(at, n);
    ASSERT_EQ(way->values.substr(at + n, padded - n), std::string(padded - n, '\0'));
    ASSERT_EQ(way->hashes[i], RecordChecksum(r.user_key, r.trailer, r.value));
    ASSERT_EQ(way->tags[i], RecordTag(r.user_key, r.trailer, way->value_bytes[i]));
    at += padded;
    way->result.records.push_back(std::move(r));
  }
  way->result.keys = way->keys.size();
}

std::vector<WayResult> ReadPath::Run(const std::vector<RunImage>& runs, const Rates& rates) {
  ways_.assign(kWays, {});
  const uint64_t limit = tb_.cycle() + 50'000 + 200 * memory.bytes;
  const auto finished = [](const Way& way) {
    const WayResult& r = way.result;
    return r.index_fault.has_value() || r.data_fault.has_value() ||
           (r.eos && way.hashes.size() == way.keys.size() &&
            way.value_bytes.size() == way.keys.size() && way.beats_owed == 0);
  };
  bool start = true;
  while (!std::all_of(ways_.begin(), ways_.end(), finished)) {
    if (tb_.cycle() >= limit) {
      ADD_FAILURE() << "stuck";
      break;
    }
    Drive(runs, rates, start);
    start = false;
    for (size_t w = 0; w < kWays; ++w) {
      Observe(w);
    }
    index_.Sample(tb_.cycle());
    data_.Sample(tb_.cycle());
    tb_.Tick();
    if (::testing::Test::HasFatalFailure()) {
      break;
    }
  }
  // As the unit does between jobs: stop, wait for the bus, reset.
  tb_->halt_i = 1;
  bool idle = false;
  for (int i = 0; i < 20'000 && !idle; ++i) {
    Drive(runs, rates, false);
    idle = tb_->idle_o;
    index_.Sample(tb_.cycle());
    data_.Sample(tb_.cycle());
    tb_.Tick();
  }
  EXPECT_TRUE(idle) << "the bus does not come to rest";
  EXPECT_EQ(index_.fault() + data_.fault(), "");
  std::vector<WayResult> results;
  for (size_t w = 0; w < kWays; ++w) {
    ways_[w].result.input_bytes = Field(tb_->input_bytes_o, w, 8);
    Assemble(&ways_[w]);
    results.push_back(ways_[w].result);
  }
  Reset();
  return results;
}

}  // namespace sluice::dv
