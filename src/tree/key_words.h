// Ascending internal keys that are searched by the few bytes that tell them apart.
//
// Immutable once made.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/internal_key.h"

namespace sluice {

class KeyWords {
 public:
  KeyWords() = default;
  // For the keys key_at(0) to key_at(keys - 1), internal keys in order.
  template <typename KeyAt>
  KeyWords(size_t keys, const KeyAt& key_at) {
    if (keys == 0) {
      return;
    }
    SetCommon(key_at(0), key_at(keys - 1));
    words_.reserve(keys);
    for (size_t i = 0; i < keys; ++i) {
      AddWord(key_at(i));
    }
  }

  size_t size() const { return words_.size(); }
  // The first key at or after `internal_key`; size() if there is none. `key_at` as when this was
  // made.
  template <typename KeyAt>
  size_t Find(std::string_view internal_key, const KeyAt& key_at) const {
    bool exact;
    size_t i = FindWord(internal_key, &exact);
    if (exact) {
      const uint64_t word = words_[i];
      while (i < words_.size() && words_[i] == word &&
             CompareInternalKeys(key_at(i), internal_key) < 0) {
        ++i;
      }
    }
    return i;
  }

  // Beyond the object itself.
  size_t heap_bytes() const { return words_.capacity() * sizeof(uint64_t) + common_.capacity(); }

 private:
  void SetCommon(std::string_view first, std::string_view last);
  void AddWord(std::string_view internal_key);
  // How the key is to what all keys begin with; 0: it does so, too.
  int CompareCommon(std::string_view internal_key) const;
  // The first key whose word is not less than this one's; `*exact`: it is the same.
  size_t FindWord(std::string_view internal_key, bool* exact) const;

  std::vector<uint64_t> words_;  // of the keys, behind common_, big-endian
  std::string common_;           // what all user keys begin with
  uint64_t common_end_ = 0;      // its bytes beyond the last multiple of 8, as a word
};

}  // namespace sluice
