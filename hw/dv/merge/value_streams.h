// The value side of a merge model: record info, values and hashes of every way going in, records,
// values and counters coming out.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../common/record_tag.h"
#include "verdict_model.h"

namespace sluice::dv {

struct RecordInfo {
  std::string value;
  uint64_t hash = 0;
  uint16_t tag = 0;
};

// Gives each info the tag of its record.
inline std::vector<std::vector<RecordInfo>> Tagged(const std::vector<Verdict>& verdicts,
                                                   std::vector<std::vector<RecordInfo>> infos) {
  std::vector<size_t> next(infos.size());
  for (const Verdict& verdict : verdicts) {
    const auto& [key, way] = verdict.record;
    RecordInfo& info = infos[way][next[way]++];
    info.tag = RecordTag(key.user, key.trailer, static_cast<uint32_t>(info.value.size()));
  }
  return infos;
}

// What must come out of the transfer.
struct TransferExpectation {
  struct Record {
    bool tombstone;
    size_t user_bytes;
    size_t shared;
    uint64_t trailer;
    size_t value_bytes;
  };
  std::vector<Record> records;
  std::string values;  // padded to whole beats
  uint64_t input_records = 0;
  uint64_t dropped_records = 0;
  uint64_t input_checksum = 0;
  uint64_t dropped_checksum = 0;
  size_t cycles = 0;  // of the transfer alone, without back-pressure
};

// `infos[w]` are the records of way w in order.
inline TransferExpectation TransferModel(const std::vector<Verdict>& verdicts,
                                         const std::vector<std::vector<RecordInfo>>& infos,
                                         unsigned v) {
  TransferExpectation want;
  std::vector<size_t> next(infos.size());
  for (const Verdict& verdict : verdicts) {
    const unsigned way = verdict.record.way;
    const RecordInfo& info = infos[way][next[way]++];
    const size_t beats = (info.value.size() + v - 1) / v;
    want.cycles += std::max<size_t>(1, beats);
    if (verdict.in_range) {
      ++want.input_records;
      want.input_checksum += info.hash;
    }
    if (verdict.in_range && !verdict.keep) {
      ++want.dropped_records;
      want.dropped_checksum += info.hash;
    }
    if (verdict.keep) {
      want.records.push_back({verdict.tombstone, verdict.record.key.user.size(), verdict.shared,
                              verdict.record.key.trailer, info.value.size()});
      want.values += info.value;
      want.values.resize((want.values.size() + v - 1) / v * v);
    }
  }
  return want;
}

inline std::vector<std::vector<RecordInfo>> RandomInfos(std::mt19937_64& rng,
                                                        const std::vector<size_t>& counts,
                                                        size_t max_value_bytes) {
  std::vector<std::vector<RecordInfo>> infos(counts.size());
  for (size_t way = 0; way < counts.size(); ++way) {
    for (size_t i = 0; i < counts[way]; ++i) {
      const size_t bytes = Chance(rng, 20) ? 0 : rng() % (max_value_bytes + 1);
      infos[way].push_back({RandomBytes(rng, bytes, false), rng(), 0});
    }
  }
  return infos;
}

// Drives rec_*, value_* and hash_* of every way. A hash may come only when the last value beat of
// its record has been taken: a decoder with no room for values at all.
template <typename Model>
class ValueInputs {
 public:
  ValueInputs(const std::vector<std::vector<RecordInfo>>& infos, unsigned v, unsigned percent)
      : v_(v) {
    for (const auto& way : infos) {
      std::deque<std::string> beats;
      std::deque<HashItem> hashes;
      for (const RecordInfo& info : way) {
        for (size_t at = 0; at < info.value.size(); at += v) {
          beats.push_back(info.value.substr(at, v));
          beats.back().resize(v);
        }
        hashes.push_back({info.hash, beats.size()});
      }
      infos_.emplace_back(std::deque<RecordInfo>(way.begin(), way.end()), percent);
      values_.emplace_back(std::move(beats), percent);
      hashes_.emplace_back(std::move(hashes), percent);
      taken_.push_back(0);
    }
  }

  void Drive(Model& m, std::mt19937_64& rng) {
    for (size_t way = 0; way < infos_.size(); ++way) {
      const bool info = infos_[way].Valid(rng);
      SetBits(m.info_valid_i, way, 1, info);
      SetBits(m.info_value_bytes_i, 32 * way, 32, info ? infos_[way].front().value.size() : rng());
      SetBits(m.info_tag_i, 16 * way, 16, info ? infos_[way].front().tag : rng());
      const bool value = values_[way].Valid(rng);
      SetBits(m.value_valid_i, way, 1, value);
      SetElement(m.value_data_i, way, value ? values_[way].front() : std::string(v_, '\x77'));
      auto& hashes = hashes_[way];
      const bool due = !hashes.empty() && taken_[way] >= hashes.front().after_beats;
      const bool hash = hashes.Valid(rng, due);
      SetBits(m.hash_valid_i, way, 1, hash);
      SetBits(m.hash_i, 64 * way, 64, hash ? hashes.front().hash : rng());
    }
  }

  // True if anything was taken.
  bool Edge(const Model& m) {
    bool moved = false;
    for (size_t way = 0; way < infos_.size(); ++way) {
      moved |= infos_[way].Edge(GetBits(m.info_ready_o, way, 1) != 0);
      const bool value = values_[way].Edge(GetBits(m.value_ready_o, way, 1) != 0);
      taken_[way] += value;
      moved |= value;
      moved |= hashes_[way].Edge(GetBits(m.hash_ready_o, way, 1) != 0);
    }
    return moved;
  }

  bool empty() const {
    const auto is_empty = [](const auto& source) { return source.empty(); };
    return std::all_of(infos_.begin(), infos_.end(), is_empty) &&
           std::all_of(values_.begin(), values_.end(), is_empty) &&
           std::all_of(hashes_.begin(), hashes_.end(), is_empty);
  }

 private:
  struct HashItem {
    uint64_t hash;
    size_t after_beats;
  };

  unsigned v_;
  std::vector<Source<RecordInfo>> infos_;
  std::vector<Source<std::string>> values_;
  std::vector<Source<HashItem>> hashes_;
  std::vector<size_t> taken_;  // value beats
};

// Takes records and values, and checks them as they come.
template <typename Model>
class TransferSink {
 public:
  TransferSink(const TransferExpectation& want, unsigned v, unsigned percent)
      : want_(want), v_(v), percent_(percent) {}

  void Drive(Model& m, std::mt19937_64& rng) {
    m.record_ready_i = Chance(rng, percent_);
    m.kept_value_ready_i = Chance(rng, percent_);
  }

  // True if anything came.
  bool Edge(const Model& m) {
    const bool record = m.record_valid_o && m.record_ready_i;
    const bool value = m.kept_value_valid_o && m.kept_value_ready_i;
    if (record) TakeRecord(m);
    if (value) values_ += GetBytes(m.kept_value_data_o, v_);
    return record || value;
  }

  void Expect() const {
    EXPECT_TRUE(ended_);
    EXPECT_EQ(records_, want_.records.size());
    EXPECT_TRUE(values_ == want_.values)
        << "values differ: " << values_.size() << " bytes, expected " << want_.values.size();
  }

  size_t records() const { return records_; }
  bool ended() const { return ended_; }

 private:
  void TakeRecord(const Model& m) {
    EXPECT_FALSE(ended_) << "a record after the end";
    if (m.record_eos_o) {
      ended_ = true;
      EXPECT_EQ(m.input_records_o, want_.input_records);
      EXPECT_EQ(m.dropped_records_o, want_.dropped_records);
      EXPECT_EQ(m.input_checksum_o, want_.input_checksum);
      EXPECT_EQ(m.dropped_checksum_o, want_.dropped_checksum);
      return;
    }
    ASSERT_LT(records_, want_.records.size());
    SCOPED_TRACE("kept record " + std::to_string(records_));
    const auto& want = want_.records[records_++];
    EXPECT_EQ(m.record_tombstone_o, want.tombstone);
    EXPECT_EQ(m.record_user_bytes_o, want.user_bytes);
    EXPECT_EQ(m.record_shared_o, want.shared);
    EXPECT_EQ(m.record_trailer_o, want.trailer);
    EXPECT_EQ(m.record_value_bytes_o, want.value_bytes);
  }

  const TransferExpectation& want_;
  unsigned v_;
  unsigned percent_;
  std::string values_;
  size_t records_ = 0;
  bool ended_ = false;
};

}  // namespace sluice::dv
