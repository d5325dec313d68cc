#include "bloom_bits.h"

#include <leveldb/slice.h>

#include <algorithm>
#include <cstdint>
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

}  // namespace

std::optional<int> BloomBitsPerKey(const leveldb::FilterPolicy* policy,
                                   std::span<const leveldb::FilterPolicy* const> own) {
  if (policy == nullptr) {
    return 0;
  }
  // One that wraps LevelDB's may make the same filters of most keys, and look for others.
  const void* const its_class = ClassOf(reinterpret_cast<const Wrapper*>(policy)->user);
  if (std::none_of(own.begin(), own.end(),
                   [&](const auto* one) { return one != nullptr && ClassOf(one) == its_class; }) ||
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
