// How often the same values occur in an index, from a part of its entries.
//
// In an index, entries with the same first columns stand side by side. Of entries that are drawn at
// random, as many are the first of their kind as there are kinds among all: this tells how many
// entries each has on average. Some entries are read in a row at each place, and the places are
// found by halving the index's range of keys at random, as sizes have it, and then by skipping
// entries. Of few kinds with many entries each, hardly any begins where entries are read: then it
// counts how often the same kind is met at different places.

#pragma once

#include <sluice/db.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::mariadb {

// Where each of the index's columns ends in a key; false if the key is damaged.
using ColumnEnds = std::function<bool(std::string_view key, std::vector<size_t>* ends)>;

// An index of so many entries is read as a whole.
inline constexpr uint64_t kReadAsAWhole = 8192;

// Sets (*same)[i] to how many entries have the same first i + 1 of `columns` columns, on average, if
// there are `entries` in all; to 1 where there are none.
Status SampleIndex(DB* db, Subtable* subtable, uint64_t entries, size_t columns,
                   const ColumnEnds& ends, std::vector<uint64_t>* same);

// A key about halfway between two, which differ; one of them, if there is none between.
std::string Halfway(std::string_view low, std::string_view high);

}  // namespace sluice::mariadb
