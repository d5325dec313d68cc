// Which keys a simulated database has, without any of them: how many distinct ones there are among
// so many writes. Exact in expectation.
//
// All intervals of the key space of the same length are alike: what writes come to one is its share
// of all. So what a table holds is told by its interval and by what was written to the whole key
// space (Written), and a merge only adds.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace sluice::simulate {

// Positions in the key space. As text keys have 7 bytes: with its trailer one fits into a string
// without other memory, of which there are millions.
using Key = uint64_t;
inline constexpr Key kKeySpace = Key{1} << 56;
std::string KeyText(Key key);
// The position of such a key, or of the one right after it (KeyAfter).
Key KeyOf(std::string_view text);

struct Distribution {
  enum class Kind { kUniform, kZipf, kSequential };
  Kind kind = Kind::kUniform;
  double theta = 0.99;  // of kZipf
};
// "uniform", "zipf", "zipf:THETA", "sequential"; InvalidArgument for others.
Status ParseDistribution(std::string_view text, Distribution* distribution);

// Writes to the whole key space.
struct Written {
  uint64_t once = 0;   // to keys that no others of these are: those of a load
  uint64_t draws = 0;  // by the distribution

  friend bool operator==(const Written&, const Written&) = default;
};

class KeyModel {
 public:
  // REQUIRES: keys > 0.
  KeyModel(const Distribution& distribution, uint64_t keys);

  uint64_t keys() const { return keys_; }
  // How many keys were written.
  double Distinct(const Written& written) const;
  // The same in fewer states: once there are all keys, it does not matter what else was written.
  Written Simplified(const Written& written) const {
    return written.once >= keys_ ? Written{keys_, 0} : written;
  }

 private:
  double DistinctDraws(double draws) const;

  const Distribution distribution_;
  const uint64_t keys_;
  std::vector<double> log_distinct_;  // of kZipf: of 2^(i / kStepsPerOctave) draws
};

}  // namespace sluice::simulate
