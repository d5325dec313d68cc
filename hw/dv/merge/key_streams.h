// What the merge benches share: sorted runs with every kind of neighbour, streams with random
// back-pressure, and the order that hardware must reproduce.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../common/testbench.h"

namespace sluice::dv {

struct Key {
  std::string user;
  uint64_t trailer = 0;
};

using KeyRun = std::vector<Key>;

struct MergedKey {
  Key key;
  unsigned way = 0;
};

// Internal key order; std::string compares as unsigned bytes.
inline bool KeyLess(const Key& a, const Key& b) {
  const int order = a.user.compare(b.user);
  return order != 0 ? order < 0 : a.trailer > b.trailer;
}

inline std::vector<MergedKey> MergeModel(const std::vector<KeyRun>& runs) {
  std::vector<MergedKey> merged;
  for (unsigned way = 0; way < runs.size(); ++way) {
    std::vector<MergedKey> run;
    for (const Key& key : runs[way]) run.push_back({key, way});
    std::vector<MergedKey> both;
    std::merge(merged.begin(), merged.end(), run.begin(), run.end(), std::back_inserter(both),
               [](const MergedKey& a, const MergedKey& b) { return KeyLess(a.key, b.key); });
    merged = std::move(both);
  }
  return merged;
}

// One beat of a key stream.
struct KeyBeat {
  std::string data;  // V bytes
  unsigned bytes = 0;
  bool last = true;
  bool eos = false;
  uint64_t trailer = 0;
  bool parity = false;  // with last: of user key, trailer and bytes
};

inline size_t KeyBeats(size_t user_bytes, unsigned v) {
  return std::max<size_t>(1, (user_bytes + v - 1) / v);
}

inline void AppendBeats(const Key& key, unsigned v, uint64_t noise, std::deque<KeyBeat>* beats) {
  const size_t n = KeyBeats(key.user.size(), v);
  int ones = std::popcount(key.trailer);
  for (const char c : key.user) ones += std::popcount(static_cast<uint8_t>(c));
  for (size_t i = 0; i < n; ++i) {
    KeyBeat beat;
    beat.data = key.user.substr(std::min(key.user.size(), i * v), v);
    beat.bytes = static_cast<unsigned>(beat.data.size());
    beat.data.resize(v);
    beat.last = i + 1 == n;
    beat.trailer = beat.last ? key.trailer : noise;
    beat.parity = beat.last && (ones + std::popcount(beat.bytes)) % 2 != 0;
    beats->push_back(std::move(beat));
  }
}

inline std::deque<KeyBeat> RunBeats(const KeyRun& run, unsigned v, uint64_t noise) {
  std::deque<KeyBeat> beats;
  for (const Key& key : run) AppendBeats(key, v, noise, &beats);
  KeyBeat eos;
  eos.data.resize(v);
  eos.eos = true;
  eos.trailer = noise;
  beats.push_back(std::move(eos));
  return beats;
}

// The items that a bench sends on one stream: valid comes up by chance and then stays.
template <typename Item>
class Source {
 public:
  Source() = default;
  Source(std::deque<Item> items, unsigned percent) : items_(std::move(items)), percent_(percent) {}

  // `due`: the next item exists already.
  bool Valid(std::mt19937_64& rng, bool due = true) {
    valid_ = !items_.empty() && (valid_ || (due && Chance(rng, percent_)));
    return valid_;
  }
  const Item& front() const { return items_.front(); }
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }

  // At the edge: the item goes if it was taken. True if it was.
  bool Edge(bool ready) {
    if (!valid_ || !ready) return false;
    items_.pop_front();
    valid_ = false;
    return true;
  }

 private:
  std::deque<Item> items_;
  unsigned percent_ = 100;
  bool valid_ = false;
};

// Bits of any port, which Verilator keeps as little-endian words.
template <typename Port>
void SetBits(Port& port, size_t bit, unsigned width, uint64_t value) {
  auto* bytes = reinterpret_cast<uint8_t*>(&port);
  for (unsigned i = 0; i < width; ++i) {
    const size_t at = bit + i;
    const auto mask = static_cast<uint8_t>(1u << (at % 8));
    bytes[at / 8] = static_cast<uint8_t>((bytes[at / 8] & ~mask) | ((value >> i & 1) ? mask : 0));
  }
}

template <typename Port>
uint64_t GetBits(const Port& port, size_t bit, unsigned width) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&port);
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    const size_t at = bit + i;
    value |= static_cast<uint64_t>(bytes[at / 8] >> (at % 8) & 1) << i;
  }
  return value;
}

// Element `index` of a packed array of byte-sized elements.
template <typename Port>
void SetElement(Port& port, size_t index, std::string_view bytes) {
  std::memcpy(reinterpret_cast<char*>(&port) + index * bytes.size(), bytes.data(), bytes.size());
}

// ceil(log2(n)), at least 1: the width of an index.
inline unsigned IndexBits(unsigned n) {
  unsigned bits = 1;
  while ((1u << bits) < n) ++bits;
  return bits;
}

inline unsigned CountBits(unsigned v) { return IndexBits(v + 1); }

inline std::string RandomBytes(std::mt19937_64& rng, size_t n, bool few_values) {
  static constexpr char kFew[] = {'\0', '\x01', 'a', '\xff'};
  std::string bytes(n, '\0');
  for (char& c : bytes) c = few_values ? kFew[rng() % 4] : static_cast<char>(rng());
  return bytes;
}

// User keys that are hard to tell apart: prefixes of each other, cut anywhere, extended by zero
// bytes, or different in one byte.
class KeyMaker {
 public:
  KeyMaker(std::mt19937_64& rng, size_t max_bytes) : rng_(rng), max_bytes_(max_bytes) {
    base_ = RandomBytes(rng_, max_bytes, Chance(rng_, 50));
  }

  std::string Make() {
    std::string key = Shape();
    key.resize(std::min(key.size(), max_bytes_));
    recent_.push_back(key);
    if (recent_.size() > 8) recent_.pop_front();
    return key;
  }

 private:
  std::string Shape() {
    const std::string old = recent_.empty() ? "" : recent_[rng_() % recent_.size()];
    switch (rng_() % 8) {
      case 0:
        return old;
      case 1:
        return old + std::string(rng_() % 20, '\0');
      case 2:
        return old.substr(0, rng_() % (old.size() + 1)) + RandomBytes(rng_, rng_() % 4, true);
      case 3:
        return base_.substr(0, rng_() % (max_bytes_ + 1)) + RandomBytes(rng_, rng_() % 9, false);
      case 4: {
        std::string key = base_;
        key[rng_() % key.size()] ^= static_cast<char>(1 << rng_() % 8);
        return key;
      }
      case 5:
        return RandomBytes(rng_, rng_() % (max_bytes_ + 1), true);
      default:
        return RandomBytes(rng_, rng_() % 24, true);
    }
  }

  std::mt19937_64& rng_;
  size_t max_bytes_;
  std::string base_;
  std::deque<std::string> recent_;
};

inline uint64_t RandomTrailer(std::mt19937_64& rng, uint64_t sequences) {
  return (rng() % sequences) << 8 | rng() % 3;
}

// `keys` records over `ways` runs, dealt at random, all to one way, or in long stretches; some runs
// may be empty.
inline std::vector<KeyRun> RandomRuns(std::mt19937_64& rng, unsigned ways, size_t keys,
                                      size_t max_bytes) {
  KeyMaker maker(rng, max_bytes);
  const uint64_t sequences = Chance(rng, 50) ? 6 : 1u << 20;
  const unsigned mode = rng() % 4;
  unsigned way = rng() % ways;
  std::vector<KeyRun> runs(ways);
  for (size_t i = 0; i < keys; ++i) {
    if (mode == 0 || (mode == 1 && Chance(rng, 5))) way = rng() % ways;
    if (mode == 2) way = Chance(rng, 90) ? way : rng() % ways;
    runs[way].push_back({maker.Make(), RandomTrailer(rng, sequences)});
  }
  for (KeyRun& run : runs) std::sort(run.begin(), run.end(), KeyLess);
  return runs;
}

}  // namespace sluice::dv
