#include "bench/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace sluice::bench {

namespace {

// YCSB draws its scrambled Zipfian from so many items, however many keys there are
// (ScrambledZipfianGenerator).
constexpr uint64_t kYcsbItems = 10'000'000'000;

// FNV-1a of the number's eight bytes, the lowest first, made positive: as YCSB hashes.
uint64_t FnvHash(uint64_t x) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 8; ++i) {
    hash = (hash ^ (x & 0xff)) * 0x100000001b3;
    x >>= 8;
  }
  return hash >> 63 == 0 ? hash : -hash;
}

}  // namespace

// The sampler's idea: a histogram with a bar of width 1 and height k^-theta over every rank k lies
// about the curve x^-theta. Draw a point below the curve, by inversion of its integral; round its x
// to a rank. The curve being convex, the part of it over a rank holds at least the area of the
// rank's bar; a draw that falls in the surplus is rejected.
Zipf::Zipf(uint64_t n, double theta) : n_(n), theta_(theta) {
  low_ = Integral(1.5) - 1;
  high_ = Integral(static_cast<double>(n) + 0.5);
  always_left_ = 2 - IntegralInverse(Integral(2.5) - Density(2));
}

double Zipf::Density(double x) const { return std::exp(-theta_ * std::log(x)); }

// (x^(1 - theta) - 1) / (1 - theta), and log x where theta is 1: by functions that keep their
// digits near there.
double Zipf::Integral(double x) const {
  const double log_x = std::log(x);
  const double t = (1 - theta_) * log_x;
  return std::abs(t) < 1e-8 ? log_x * (1 + t / 2) : log_x * std::expm1(t) / t;
}

double Zipf::IntegralInverse(double u) const {
  const double t = std::max(-1.0, (1 - theta_) * u);
  return std::exp(std::abs(t) < 1e-8 ? u * (1 - t / 2) : u * std::log1p(t) / t);
}

uint64_t Zipf::Draw(Random* random) const {
  for (;;) {
    const double u = high_ + random->Real() * (low_ - high_);  // never low_, where 1 would be cut
    const double x = IntegralInverse(u);
    const auto rank = static_cast<uint64_t>(std::clamp(x + 0.5, 1.0, static_cast<double>(n_)));
    const auto k = static_cast<double>(rank);
    if (k - x <= always_left_ || u >= Integral(k + 0.5) - Density(k)) {
      return rank;
    }
  }
}

Permutation::Permutation(uint64_t n, uint64_t seed)
    : n_(n), seed_(seed), half_bits_((std::bit_width(std::max<uint64_t>(n, 2) - 1) + 1) / 2) {}

uint64_t Permutation::operator()(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  do {
    uint64_t left = x >> half_bits_;
    uint64_t right = x & mask;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t next = left ^ (Mix(right + seed_ + (round << 60)) & mask);
      left = right;
      right = next;
    }
    x = left << half_bits_ | right;
  } while (x >= n_);
  return x;
}

Status ParseDistribution(std::string_view text, DistributionSpec* spec) {
  using Kind = DistributionSpec::Kind;
  const std::string_view name = text.substr(0, text.find(':'));
  *spec = {};
  if (text == "uniform") {
    return {};
  }
  if (text == "latest") {
    spec->kind = Kind::kLatest;
    return {};
  }
  if (name == "zipf") {
    spec->kind = Kind::kZipf;
    if (name == text) {
      return {};
    }
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + name.size() + 1, end, spec->theta);
    if (parsed.ec == std::errc() && parsed.ptr == end && spec->theta >= 0 && spec->theta <= 100) {
      return {};
    }
  }
  return Status::InvalidArgument(fmt::format(
      "distribution '{}': uniform, latest, zipf or zipf:THETA, theta from 0 to 100", text));
}

std::string ToString(const DistributionSpec& spec) {
  switch (spec.kind) {
    case DistributionSpec::Kind::kUniform:
      return "uniform";
    case DistributionSpec::Kind::kZipf:
      return fmt::format("zipf:{}", spec.theta);
    case DistributionSpec::Kind::kYcsb:
      return "ycsb";
    case DistributionSpec::Kind::kLatest:
      return "latest";
  }
  return "";
}

KeyChooser::KeyChooser(const DistributionSpec& spec, uint64_t keys, uint64_t seed)
    : spec_(spec),
      keys_(keys),
      zipf_(spec.kind == DistributionSpec::Kind::kYcsb ? kYcsbItems : keys, spec.theta),
      scatter_(keys, seed) {}

uint64_t KeyChooser::Draw(Random* random, uint64_t inserted) const {
  switch (spec_.kind) {
    case DistributionSpec::Kind::kUniform:
      return random->Below(keys_);
    case DistributionSpec::Kind::kZipf:
      return scatter_(zipf_.Draw(random) - 1);
    case DistributionSpec::Kind::kYcsb:
      return FnvHash(zipf_.Draw(random) - 1) % keys_;
    case DistributionSpec::Kind::kLatest:
      return inserted - zipf_.Draw(random);
  }
  return 0;
}

}  // namespace sluice::bench
