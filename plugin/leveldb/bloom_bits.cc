#include "bloom_bits.h"

#include <leveldb/c.h>
#include <leveldb/slice.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/filter.h"
#include "table/internal_key.h"

namespace sluice::ldb {

namespace {

// Eight times as many as bytes per bit: the size of their filter tells the bits per key exactly.
constexpr int kProbeKeys = 800;

std::vector<std::string> ProbeKeys() {
  std::vector<std::string> keys;
  for (int i = 0; i < kProbeKeys; ++i) {
    keys.push_back(std::to_string(i * 7919) + std::string(static_cast<size_t>(i % 5), '\xff'));
  }
  return keys;
}

std::string FilterOf(const leveldb::FilterPolicy& policy, const std::vector<std::string>& keys,
                     size_t count) {
  std::vector<std::string> internal;
  for (size_t i = 0; i < count; ++i) {
    internal.push_back(keys[i] + std::string(kTrailerBytes, '\1'));
  }
  // The policy takes the trailers off in place.
  std::vector<leveldb::Slice> slices(internal.begin(), internal.end());
  std::string filter;
  policy.CreateFilter(slices.data(), static_cast<int>(count), &filter);
  return filter;
}

// As LevelDB lays out its InternalFilterPolicy, which wraps the one that the program gave.
struct Wrapper {
  const void* functions;
  const leveldb::FilterPolicy* user;
};

// The class of an object, by its virtual functions: LevelDB is built without type information.
const void* ClassOf(const void* object) { return static_cast<const Wrapper*>(object)->functions; }

// Whether it is of a class of LevelDB's own: of its C++ or its C interface. One that wraps LevelDB's
// may make the same filters of most keys, and look for others.
bool IsLevelDbs(const leveldb::FilterPolicy& user) {
  static const void* const of_cpp = [] {
    const std::unique_ptr<const leveldb::FilterPolicy> one(leveldb::NewBloomFilterPolicy(10));
    return ClassOf(one.get());
  }();
  static const void* const of_c = [] {
    leveldb_filterpolicy_t* const one = leveldb_filterpolicy_create_bloom(10);
    const void* const its_class = ClassOf(one);
    leveldb_filterpolicy_destroy(one);
    return its_class;
  }();
  return ClassOf(&user) == of_cpp || ClassOf(&user) == of_c;
}

}  // namespace

std::optional<int> BloomBitsPerKey(const leveldb::FilterPolicy* policy) {
  if (policy == nullptr) {
    return 0;
  }
  if (!IsLevelDbs(*reinterpret_cast<const Wrapper*>(policy)->user) ||
      std::string(kFilterPrefix) + policy->Name() != kBloomFilterName) {
    return std::nullopt;
  }
  const std::vector<std::string> keys = ProbeKeys();
  const std::string many = FilterOf(*policy, keys, keys.size());
  const size_t bits = many.empty() ? 0 : (many.size() - 1) / (kProbeKeys / 8);
  if (bits == 0 || bits > 1000) {
    return std::nullopt;
  }
  for (const size_t count : {keys.size(), size_t{1}}) {
    std::vector<uint32_t> hashes;
    for (size_t i = 0; i < count; ++i) {
      hashes.push_back(BloomHash(keys[i]));
    }
    std::string ours;
    AppendBloomFilter(hashes, static_cast<int>(bits), &ours);
    if (ours != FilterOf(*policy, keys, count)) {
      return std::nullopt;
    }
  }
  return static_cast<int>(bits);
}

}  // namespace sluice::ldb
