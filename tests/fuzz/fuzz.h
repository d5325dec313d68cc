// Fuzz targets, in one registry.
//
// A target is a function of bytes that aborts if a promise is broken; a sanitizer sees what it
// reads. Two drivers run it: `sluice_fuzz NAME --seed S --runs N` mutates seeds of the target's own
// making, with any compiler, the same way each time; libFuzzer (preset fuzz) explores by coverage.
//
// To add a target: declare it here, define it in a file of its own, put it in kTargets, and name it
// in CMakeLists.txt.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace sluice::fuzz {

using Random = std::mt19937_64;

struct Target {
  std::string_view name;
  // Checks the promises on `input`.
  void (*run)(std::string_view input);
  // A valid input to mutate.
  std::string (*make_seed)(Random* random);
};

void RunBlock(std::string_view input);
std::string MakeBlockSeed(Random* random);
void RunTable(std::string_view input);
std::string MakeTableSeed(Random* random);
void RunRocksTable(std::string_view input);
std::string MakeRocksTableSeed(Random* random);
void RunRecode(std::string_view input);
std::string MakeRecodeSeed(Random* random);
void RunFilter(std::string_view input);
std::string MakeFilterSeed(Random* random);
void RunHead(std::string_view input);
std::string MakeHeadSeed(Random* random);
void RunLog(std::string_view input);
std::string MakeLogSeed(Random* random);
void RunManifest(std::string_view input);
std::string MakeManifestSeed(Random* random);
void RunBatch(std::string_view input);
std::string MakeBatchSeed(Random* random);

inline constexpr Target kTargets[] = {
    {"block", RunBlock, MakeBlockSeed},
    {"table", RunTable, MakeTableSeed},
    {"recode", RunRecode, MakeRecodeSeed},
    {"filter", RunFilter, MakeFilterSeed},
    {"log", RunLog, MakeLogSeed},
    {"manifest", RunManifest, MakeManifestSeed},
    {"batch", RunBatch, MakeBatchSeed},
    {"head", RunHead, MakeHeadSeed},
    {"rocksdb_table", RunRocksTable, MakeRocksTableSeed},
};

inline void Check(bool promise, const char* what) {
  if (!promise) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

// A copy of bytes with nothing behind its last one, so that a sanitizer sees reads past it.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes) : bytes_(new char[bytes.size()]), size_(bytes.size()) {
    bytes.copy(bytes_.get(), size_);
  }

  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  const std::unique_ptr<char[]> bytes_;
  const size_t size_;
};

}  // namespace sluice::fuzz
