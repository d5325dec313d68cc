// Which keys a workload asks for: the number of a key, from 0 to below the count of keys.
//
// All classes here are immutable once made, so that threads may share them, each with a Random of
// its own.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/random.h"
#include "util/status.h"

namespace sluice::bench {

// Ranks 1 to n, of which rank k comes with a probability in proportion to k^-theta; any theta >= 0,
// 1 too. Rejection-inversion sampling: W. Hoermann, G. Derflinger, "Rejection-inversion to generate
// variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. Costs no table and, on
// average, few more than one draw.
class Zipf {
 public:
  Zipf(uint64_t n, double theta);

  uint64_t Draw(Random* random) const;

 private:
  double Density(double x) const;          // x^-theta
  double Integral(double x) const;         // of the density, from 1 to x
  double IntegralInverse(double u) const;  // the x of which it is u

  uint64_t n_;
  double theta_;
  double low_;          // the integral's values that draws lie between: at the left end of rank 1,
  double high_;         // made as wide as its probability is, and at the right end of rank n
  double always_left_;  // an x so little left of its rank needs no test
};

// A bijection of the numbers from 0 to below n that scatters them: four rounds of a Feistel network
// on the next power of 4, walked until the result is below n (Black and Rogaway, "Ciphers with
// arbitrary finite domains", CT-RSA 2002).
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed);

  uint64_t operator()(uint64_t x) const;

 private:
  uint64_t n_;
  uint64_t seed_;
  int half_bits_;
};

struct DistributionSpec {
  enum class Kind {
    kUniform,
    kZipf,    // ranks scattered over the keys by a Permutation
    kYcsb,    // YCSB's scrambled Zipfian: ranks of 10^10 items, hashed onto the keys
    kLatest,  // YCSB's skewed latest: by Zipf from the youngest key back, as far as there were keys
              // at the start
  };
  Kind kind = Kind::kUniform;
  double theta = 0.99;

  bool operator==(const DistributionSpec&) const = default;
};

// "uniform", "zipf", "zipf:THETA", "latest"; InvalidArgument for others.
Status ParseDistribution(std::string_view text, DistributionSpec* spec);
std::string ToString(const DistributionSpec& spec);

class KeyChooser {
 public:
  // `keys` at the start; only kLatest knows of later ones. REQUIRES: keys > 0.
  KeyChooser(const DistributionSpec& spec, uint64_t keys, uint64_t seed);

  // `inserted`: how many keys there are now, not fewer than at the start.
  uint64_t Draw(Random* random, uint64_t inserted) const;

 private:
  DistributionSpec spec_;
  uint64_t keys_;
  Zipf zipf_;
  Permutation scatter_;
};

}  // namespace sluice::bench
