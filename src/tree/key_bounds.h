// The user keys that an iterator is asked for.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "table/internal_key.h"

namespace sluice {

// The longest prefix of `lower` that all keys from there to before `upper` begin with.
inline size_t SharedPrefixBytes(std::string_view lower, std::string_view upper) {
  size_t n = 0;
  while (n < lower.size() && n < upper.size() && lower[n] == upper[n]) {
    ++n;
  }
  // The upper bound may be the first key behind a longer one: "abd" behind "abc" and behind "abc\xff".
  if (n < lower.size() && upper.size() == n + 1 && lower[n] != '\xff' &&
      static_cast<char>(lower[n] + 1) == upper[n]) {
    for (++n; n < lower.size() && lower[n] == '\xff';) {
      ++n;
    }
  }
  return n;
}

// From `*lower` to before `*upper`; null: no bound. Both outlive who uses them.
struct KeyBounds {
  const std::string* lower = nullptr;
  const std::string* upper = nullptr;
  // So many bytes of `*lower` begin all keys within, as far as that is of interest.
  size_t shared_bytes = 0;

  bool AllBefore(std::string_view last_key) const {
    return lower != nullptr && CompareUserKeys(last_key, *lower) < 0;
  }
  bool AllBehind(std::string_view first_key) const {
    return upper != nullptr && CompareUserKeys(first_key, *upper) >= 0;
  }
};

}  // namespace sluice
