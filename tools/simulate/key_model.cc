#include "simulate/key_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/distribution.h"

namespace sluice::simulate {

namespace {

constexpr size_t kKeyBytes = 7;
constexpr int kStepsPerOctave = 8;
// Ranks up to here one by one, from there on in groups, each this much longer than the one before.
constexpr double kSingleRanks = 1024;
constexpr double kGroupGrowth = 1.02;

// Calls visit(ranks, p) for groups of ranks whose probability is about p.
template <typename Visit>
void VisitRanks(double keys, double theta, const Visit& visit) {
  double sum = 0;
  const auto groups = [&](const auto& group) {
    double rank = 1;
    for (; rank <= std::min(keys, kSingleRanks); ++rank) {
      group(1, std::pow(rank, -theta));
    }
    while (rank <= keys) {
      const double end = std::min(keys + 1, std::floor(rank * kGroupGrowth) + 1);
      group(end - rank, std::pow((rank + end - 1) / 2, -theta));
      rank = end;
    }
  };
  groups([&](double ranks, double weight) { sum += ranks * weight; });
  groups([&](double ranks, double weight) { visit(ranks, weight / sum); });
}

}  // namespace

std::string KeyText(Key key) {
  std::string text(kKeyBytes, '\0');
  for (size_t i = kKeyBytes; i-- > 0; key >>= 8) {
    text[i] = static_cast<char>(key);
  }
  return text;
}

Key KeyOf(std::string_view text) {
  Key key = 0;
  for (size_t i = 0; i < kKeyBytes; ++i) {
    key = key << 8 | static_cast<uint8_t>(text[i]);
  }
  return key + (text.size() > kKeyBytes ? 1 : 0);
}

Status ParseDistribution(std::string_view text, Distribution* distribution) {
  using Kind = Distribution::Kind;
  *distribution = {};
  if (text == "sequential") {
    distribution->kind = Kind::kSequential;
    return {};
  }
  bench::DistributionSpec spec;
  const Status status = bench::ParseDistribution(text, &spec);
  if (!status.ok() || spec.kind == bench::DistributionSpec::Kind::kLatest) {
    return Status::InvalidArgument(fmt::format(
        "distribution '{}': uniform, sequential, zipf or zipf:THETA, theta from 0 to 100", text));
  }
  if (spec.kind == bench::DistributionSpec::Kind::kZipf) {
    *distribution = {.kind = Kind::kZipf, .theta = spec.theta};
  }
  return {};
}

KeyModel::KeyModel(const Distribution& distribution, uint64_t keys)
    : distribution_(distribution), keys_(keys) {
  if (distribution.kind != Distribution::Kind::kZipf) {
    return;
  }
  const auto n = static_cast<double>(keys);
  for (int i = 0; i == 0 || std::exp(log_distinct_.back()) < 0.9999 * n; ++i) {
    const double draws = std::exp2(static_cast<double>(i) / kStepsPerOctave);
    double distinct = 0;
    VisitRanks(n, distribution.theta,
               [&](double ranks, double p) { distinct -= ranks * std::expm1(-draws * p); });
    log_distinct_.push_back(std::log(distinct));
    if (i > 64 * kStepsPerOctave) {
      break;  // skew beyond all measure
    }
  }
}

double KeyModel::DistinctDraws(double draws) const {
  const auto n = static_cast<double>(keys_);
  if (distribution_.kind != Distribution::Kind::kZipf) {
    return -n * std::expm1(-draws / n);
  }
  if (draws <= 1) {
    return draws;
  }
  const double at = std::log2(draws) * kStepsPerOctave;
  const auto i = static_cast<size_t>(at);
  if (i + 1 >= log_distinct_.size()) {
    return std::exp(log_distinct_.back());
  }
  const double part = at - static_cast<double>(i);
  return std::exp(log_distinct_[i] * (1 - part) + log_distinct_[i + 1] * part);
}

double KeyModel::Distinct(const Written& written) const {
  if (written.once >= keys_) {
    return static_cast<double>(keys_);
  }
  const auto once = static_cast<double>(written.once);
  if (written.draws == 0) {
    return once;
  }
  // A load meets keys whatever their probability.
  return once + (1 - once / static_cast<double>(keys_)) *
                    DistinctDraws(static_cast<double>(written.draws));
}

}  // namespace sluice::simulate
