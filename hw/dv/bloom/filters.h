// What the benches of cu_bloom_stage share: blocks of keys as beats, LevelDB's filters of them as
// the stage stores them, and a run of the stage.

#pragma once

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../write/streams.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice::dv {

using Keys = std::vector<std::string>;  // of a block

struct KeyBeat {
  std::string data;
  bool last = false;
  uint16_t user_bytes = 0;
  bool block_end = false;
  bool task_end = false;
};

// LevelDB's number of probes.
inline unsigned Probes(unsigned bits_per_key) {
  return std::clamp(static_cast<unsigned>(bits_per_key * 0.69), 1U, 30U);
}

// What the library makes of a block, with a raw block's trailer.
inline std::string SealedFilter(const Keys& keys, unsigned bits_per_key) {
  const std::unique_ptr<const leveldb::FilterPolicy> policy(
      leveldb::NewBloomFilterPolicy(static_cast<int>(bits_per_key)));
  const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
  std::string filter;
  policy->CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
  filter += '\0';  // type
  PutFixed32(&filter, MaskCrc(Crc32c(filter)));
  return filter;
}

// The beats of a block, without its end.
inline std::vector<KeyBeat> BeatsOf(const Keys& keys, size_t width) {
  std::vector<KeyBeat> all;
  for (const std::string& key : keys) {
    const std::vector<std::string> beats = Beats(key, width);
    for (size_t i = 0; i < beats.size(); ++i) {
      all.push_back({beats[i], i + 1 == beats.size(), static_cast<uint16_t>(key.size())});
    }
  }
  return all;
}

// The stage in use. Both ends are willing in so many percent of all cycles.
template <typename Model, size_t kWidth>
class BloomStage {
 public:
  explicit BloomStage(unsigned bits_per_key) : bits_per_key_(bits_per_key) {
    dut_->bits_per_key_i = bits_per_key;
    dut_->probes_i = Probes(bits_per_key);
    Reset();
  }

  // As if nothing had been.
  void Reset() {
    dut_->key_valid_i = dut_->out_ready_i = 0;
    dut_.Reset();
    start_ = dut_.cycle();
    source_ = {};
    sink_ = {};
    seen_ = 0;
    whole_ = true;
    ended_ = false;
    sizes_.clear();
    open_.clear();
    filters_.clear();
  }

  void Push(const Keys& keys) {
    PushOpen(keys);
    source_.Push({.data = "", .block_end = true});
    sizes_.push_back(SealedFilter(keys, bits_per_key_).size());
  }
  // Keys of a block that is not to end.
  void PushOpen(const Keys& keys) {
    for (KeyBeat& beat : BeatsOf(keys, kWidth)) source_.Push(std::move(beat));
  }

  void PushEnd() { source_.Push({.data = "", .task_end = true}); }

  void Cycle(std::mt19937_64& rng, unsigned in_percent, unsigned out_percent) {
    dut_->key_valid_i = source_.Offer(rng, in_percent);
    if (dut_->key_valid_i) {
      const KeyBeat& beat = source_.front();
      SetBytes(dut_->key_data_i, beat.data);
      dut_->key_last_i = beat.last;
      dut_->key_user_bytes_i = beat.user_bytes;
      dut_->key_block_end_i = beat.block_end;
      dut_->key_task_end_i = beat.task_end;
    }
    dut_->out_ready_i = sink_.Drive(rng, out_percent);
    dut_.Settle();
    sink_.Sample(dut_->out_valid_o, OutBeat<8>(dut_));
    if (dut_->key_valid_i && dut_->key_ready_o) source_.Taken();
    for (; seen_ < sink_.items().size(); ++seen_) {
      const Beat& beat = sink_.items()[seen_];
      ended_ = ended_ || beat.last;
      whole_ = whole_ && (beat.last ? beat.token == kTaskEnd && beat.data.empty() && open_.empty()
                                    : beat.token == 0 && !ended_);
      open_ += beat.data;
      if (filters_.size() < sizes_.size() && open_.size() >= sizes_[filters_.size()]) {
        filters_.push_back(std::move(open_));
        open_.clear();
      }
    }
    dut_.Tick();
  }

  // Until `blocks` filters have left, or nothing but waiting has gone on for long.
  void Run(size_t blocks, std::mt19937_64& rng, unsigned in_percent = 100,
           unsigned out_percent = 100) {
    for (size_t idle = 0, seen = seen_; filters_.size() < blocks && idle < 50'000; ++idle) {
      const bool waits = source_.empty();
      const uint64_t left = source_.left();
      Cycle(rng, in_percent, out_percent);
      if (seen != seen_ || (!waits && left != source_.left())) idle = 0;
      seen = seen_;
    }
  }

  Model* operator->() { return dut_.operator->(); }
  uint64_t cycle() const { return dut_.cycle() - start_; }  // since the reset
  VerilatedContext& context() { return dut_.context(); }
  const std::vector<std::string>& filters() const { return filters_; }
  // The token that ends the task has left.
  bool ended() const { return ended_; }
  // It came once, after the last filter, and what was offered stayed until taken.
  bool sound() const { return whole_ && sink_.stable(); }
  size_t left() const { return source_.left(); }

 private:
  Testbench<Model> dut_;
  uint64_t start_ = 0;
  Source<KeyBeat> source_;
  Sink<Beat> sink_;
  size_t seen_ = 0;
  bool whole_ = true;
  bool ended_ = false;
  unsigned bits_per_key_;
  std::vector<size_t> sizes_;  // of the filters to come
  std::string open_;
  std::vector<std::string> filters_;
};

}  // namespace sluice::dv
