// The record, key and value streams of the entry encoder's side that looks to the merge.

#pragma once

#include "reference.h"
#include "streams.h"

namespace sluice::dv {

template <size_t kV>
class RecordSource {
 public:
  explicit RecordSource(const std::vector<Record>& records) {
    std::string last_key;
    for (const Record& record : records) {
      records_.Push({false, (record.trailer & 0xff) == 0, static_cast<uint16_t>(record.key.size()),
                     static_cast<uint16_t>(SharedPrefix(record.key, last_key)), record.trailer,
                     static_cast<uint32_t>(record.value.size())});
      last_key = record.key;
      const auto beats = Beats(record.key, kV);
      for (size_t i = 0; i < beats.size(); ++i) {
        keys_.Push({beats[i], i + 1 == beats.size()});
      }
      if (!record.value.empty()) {
        for (std::string& beat : Beats(record.value, kV)) {
          values_.Push(std::move(beat));
        }
      }
    }
    records_.Push({true, false, 0, 0, 0, 0});
  }

  bool empty() const { return records_.empty() && keys_.empty() && values_.empty(); }

  template <typename Dut>
  void Drive(Dut& dut, std::mt19937_64& rng, unsigned percent) {
    dut->record_valid_i = records_.Offer(rng, percent);
    if (dut->record_valid_i) {
      const Info& info = records_.front();
      dut->record_eos_i = info.end;
      dut->record_tombstone_i = info.tombstone;
      dut->record_user_bytes_i = info.user_bytes;
      dut->record_shared_i = info.shared;
      dut->record_trailer_i = info.trailer;
      dut->record_value_bytes_i = info.value_bytes;
    } else {
      dut->record_user_bytes_i = static_cast<uint16_t>(rng());  // means nothing
      dut->record_shared_i = static_cast<uint16_t>(rng());
    }
    dut->key_valid_i = keys_.Offer(rng, percent);
    if (dut->key_valid_i) {
      SetBytes(dut->key_data_i, keys_.front().first);
      dut->key_last_i = keys_.front().second;
    }
    dut->value_valid_i = values_.Offer(rng, percent);
    if (dut->value_valid_i) {
      SetBytes(dut->value_data_i, values_.front());
    }
  }

  template <typename Dut>
  void Sample(Dut& dut) {
    if (dut->record_valid_i && dut->record_ready_o) records_.Taken();
    if (dut->key_valid_i && dut->key_ready_o) keys_.Taken();
    if (dut->value_valid_i && dut->value_ready_o) values_.Taken();
  }

 private:
  struct Info {
    bool end, tombstone;
    uint16_t user_bytes, shared;
    uint64_t trailer;
    uint32_t value_bytes;
  };
  Source<Info> records_;
  Source<std::pair<std::string, bool>> keys_;
  Source<std::string> values_;
};

template <typename Dut>
void Configure(Dut& dut, const EncodeParams& params) {
  dut->block_bytes_i = params.block_bytes;
  dut->table_bytes_i = params.table_bytes;
  dut->restart_interval_i = params.restart_interval;
}

}  // namespace sluice::dv
