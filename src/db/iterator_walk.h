// An iterator beside a map that has what it must show.

#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>

#include "sluice/iterator.h"
#include "util/testing.h"

namespace sluice {

using IteratorModel = std::map<std::string, std::string>;

// Moves both at random, and seeks keys that `any_key()` returns.
template <typename AnyKey>
void WalkAtRandom(Iterator* it, const IteratorModel& model, const AnyKey& any_key,
                  TestRandom* random) {
  constexpr int kSteps = 12;
  auto at = model.end();
  const auto before = [&](IteratorModel::const_iterator i) {
    return i == model.begin() ? model.end() : std::prev(i);
  };
  for (int step = 0; step < kSteps; ++step) {
    const std::string key = any_key();
    switch (Uniform(random, 0, 7)) {
      case 0:
        it->SeekToFirst();
        at = model.begin();
        break;
      case 1:
        it->SeekToLast();
        at = before(model.end());
        break;
      case 2:
        it->SeekForPrev(key);
        at = before(model.upper_bound(key));
        break;
      case 3:
        it->Seek(key);
        at = model.lower_bound(key);
        break;
      default:
        if (at == model.end()) {
          break;
        }
        if (Uniform(random, 0, 1) != 0) {
          it->Next();
          ++at;
        } else {
          it->Prev();
          at = before(at);
        }
    }
    ASSERT_TRUE(it->status().ok()) << it->status().ToString();
    ASSERT_EQ(it->Valid(), at != model.end());
    if (it->Valid()) {
      ASSERT_EQ(it->key(), at->first);
      ASSERT_EQ(it->value(), at->second);
    }
  }
}

}  // namespace sluice
