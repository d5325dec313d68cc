// sluice_fuzz NAME --seed S --runs N: runs a fuzz target over mutated valid inputs.
//
// Run number R of a seed is always the same, whatever ran before, so a failure replays alone with
// --seed S --first R --runs 1. With --corpus DIR the inputs go to files there, for libFuzzer to
// start from, and are not run.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include "fuzz/fuzz.h"
#include "sluice/env.h"
#include "util/coding.h"
#include "util/files.h"

namespace sluice::fuzz {
namespace {

uint64_t Uniform(Random* random, uint64_t low, uint64_t high) {
  return std::uniform_int_distribution<uint64_t>(low, high)(*random);
}

// Numbers near which lengths and offsets go wrong.
uint32_t Boundary(Random* random) {
  const uint32_t power = uint32_t{1} << Uniform(random, 0, 31);
  return power + static_cast<uint32_t>(Uniform(random, 0, 2)) - 1;
}

void MutateOnce(Random* random, std::string* bytes) {
  if (bytes->empty()) {
    bytes->push_back(static_cast<char>((*random)()));
    return;
  }
  // Counts and handles stand at the end.
  const size_t last = bytes->size() - 1;
  size_t at = Uniform(random, 0, last);
  if (Uniform(random, 0, 7) == 0) {
    at = last - std::min(last, static_cast<size_t>(Uniform(random, 0, 120)));
  }
  // Few edits move what stands behind them: after one that does, little else is reached.
  switch (Uniform(random, 0, 19)) {
    case 0:
      bytes->resize(at);
      break;
    case 1: {
      const size_t n = Uniform(random, 1, std::min<size_t>(64, bytes->size() - at));
      bytes->insert(Uniform(random, 0, bytes->size()), bytes->substr(at, n));
      break;
    }
    case 2:
      bytes->erase(at, Uniform(random, 1, 16));
      break;
    case 3:
    case 4:
    case 5:
      if (bytes->size() - at >= 4) {
        EncodeFixed32(bytes->data() + at, Boundary(random));
      }
      break;
    case 6:
    case 7:
    case 8: {
      char varint[kMaxVarint64Bytes];
      const size_t n = EncodeVarint(varint, Boundary(random)) - varint;
      bytes->replace(at, std::min(n, bytes->size() - at), varint, std::min(n, bytes->size() - at));
      break;
    }
    case 9:
    case 10:
    case 11:
      (*bytes)[at] = static_cast<char>((*bytes)[at] + (Uniform(random, 0, 1) != 0 ? 1 : -1));
      break;
    case 12:
    case 13:
      (*bytes)[at] = static_cast<char>((*random)());
      break;
    default:
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << Uniform(random, 0, 7));
      break;
  }
}

uint64_t current_seed;
uint64_t current_run;

// Says how to replay before the process dies.
void SayHowToReplay() {
  std::fprintf(stderr, "replay with --seed %llu --first %llu --runs 1\n",
               static_cast<unsigned long long>(current_seed),
               static_cast<unsigned long long>(current_run));
}

std::string MakeInput(const Target& target, uint64_t seed, uint64_t run) {
  std::seed_seq mixed{seed, seed >> 32, run, run >> 32};
  Random random(mixed);
  std::string input = target.make_seed(&random);
  // Some inputs stay valid: the promises about those are the strongest.
  for (uint64_t edits = Uniform(&random, 0, 3); edits > 0; --edits) {
    MutateOnce(&random, &input);
  }
  return input;
}

int Main(int argc, char** argv) {
  CLI::App app("Runs a fuzz target over mutated valid inputs.");
  std::string name;
  uint64_t seed = std::random_device{}();
  uint64_t first = 0;
  uint64_t runs = 1000;
  std::string corpus;
  std::vector<std::string> names;
  std::transform(std::begin(kTargets), std::end(kTargets), std::back_inserter(names),
                 [](const Target& target) { return std::string(target.name); });
  app.add_option("name", name, "Target")->required()->check(CLI::IsMember(names));
  app.add_option("--seed", seed, "Seed of all runs (default: a fresh one)")->envname("SLUICE_SEED");
  app.add_option("--first", first, "First run");
  app.add_option("--runs", runs, "Number of runs");
  app.add_option("--corpus", corpus, "Directory to write the inputs to, instead of running them")
      ->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  const auto target = std::find_if(std::begin(kTargets), std::end(kTargets),
                                   [&](const Target& t) { return t.name == name; });
  // Broken promises abort; sanitizers leave in ways of their own.
  std::signal(SIGABRT, [](int) { SayHowToReplay(); });
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(SayHowToReplay);
#endif
  std::printf("%s: seed %llu, runs %llu to %llu\n", name.c_str(),
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + runs - 1));
  std::fflush(stdout);
  current_seed = seed;
  for (current_run = first; current_run < first + runs; ++current_run) {
    const std::string input = MakeInput(*target, seed, current_run);
    if (corpus.empty()) {
      target->run(input);
      continue;
    }
    const std::string path = corpus + "/" + std::to_string(current_run);
    if (const Status status = WriteFileSynced(Env::Posix(), path, input); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace sluice::fuzz

int main(int argc, char** argv) { return sluice::fuzz::Main(argc, argv); }
