// What tests share: seeds that replay, random numbers, directories that vanish, a look at the page
// cache and at the process's memory.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice {

// The environment's SLUICE_SEED, or a fresh seed; printed, so that a failure can be replayed.
inline uint64_t TestSeed() {
  const char* const given = std::getenv("SLUICE_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::cout << "SLUICE_SEED=" << seed << std::endl;
  return seed;
}

using TestRandom = std::mt19937_64;

// Uniform in [low, high].
inline uint64_t Uniform(TestRandom* random, uint64_t low, uint64_t high) {
  return std::uniform_int_distribution<uint64_t>(low, high)(*random);
}

// So many rounds of a random test, times the environment's SLUICE_ROUNDS.
inline int TestRounds(int rounds) {
  const char* const times = std::getenv("SLUICE_ROUNDS");
  return times != nullptr ? rounds * std::stoi(times) : rounds;
}

// A new directory, removed with all that is in it when this is destroyed.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_((parent / "sluice.XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("cannot make " + path_);
    }
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Memory of this process; 0 where a sanitizer's own memory would count, too, or an emulator's.
inline uint64_t ResidentBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SLUICE_EMULATED)
  std::cout << "The process's memory is not only this program's: not checked\n";
  return 0;
#endif
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * 4096;
}

// Pages of the file that are in the page cache.
inline size_t CachedPages(const std::string& path) {
  const size_t bytes = std::filesystem::file_size(path);
  const int fd = ::open(path.c_str(), O_RDONLY);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  std::vector<unsigned char> there((bytes + 4095) / 4096);
  if (::mincore(mapped, bytes, there.data()) != 0) {
    throw std::runtime_error("cannot look at the pages of " + path);
  }
  ::munmap(mapped, bytes);
  ::close(fd);
  return std::count_if(there.begin(), there.end(), [](unsigned char page) { return page & 1; });
}

}  // namespace sluice
