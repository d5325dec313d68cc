#include "sampling.h"

#include <algorithm>
#include <map>
#include <random>

namespace sluice::mariadb {
namespace {

constexpr int kPlaces = 200;
constexpr int kDraws = 4 * kPlaces;  // of places, some of which may be empty
constexpr uint64_t kInARow = 40;
// Ranges of keys are not halved further: within a block, sizes are told as if its keys were spread
// evenly, and so most of it seems to be in the gaps between kinds. From there on entries are skipped.
constexpr uint64_t kPlaceEntries = 2048;
constexpr uint64_t kPlaceBytes = 64 << 10;
// Fewer than so many kinds that begin where entries were read tell little of how many there are.
constexpr uint64_t kManyFirst = 8;

__extension__ using Wide = unsigned __int128;

Wide Number(std::string_view bytes) {
  Wide number = 0;
  for (size_t i = 0; i < sizeof(Wide); ++i) {
    number = number << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0);
  }
  return number;
}

// What is known of an index from entries that were read.
class Sample {
 public:
  Sample(size_t columns, const ColumnEnds& ends)
      : columns_(columns), ends_of_(ends), first_(columns, 0), values_(columns) {}

  // Reads entries from where the iterator stands.
  Status ReadFrom(Iterator* iterator, uint64_t entries) {
    bool begins = true;
    for (; iterator->Valid() && entries > 0; iterator->Next(), --entries) {
      const std::string_view key = iterator->key();
      if (!ends_of_(key, &ends_) || ends_.size() != columns_) {
        return Status::Corruption("an entry of an index");
      }
      const size_t common = static_cast<size_t>(
          std::mismatch(key.begin(), key.end(), before_.begin(), before_.end()).first -
          key.begin());
      for (size_t i = 0; i < columns_; ++i) {
        if (begins) {
          ++values_[i][std::string(key.substr(0, ends_[i]))];
        } else if (common < ends_[i]) {
          ++first_[i];
        }
      }
      compared_ += begins ? 0 : 1;
      begins = false;
      before_.assign(key);
    }
    return iterator->status();
  }

  // How many entries have the same first column + 1 columns, if there are so many in all.
  uint64_t Same(size_t column, double total) const {
    const double compared = std::max<double>(1, static_cast<double>(compared_));
    const double kinds = first_[column] >= kManyFirst
                             ? static_cast<double>(first_[column]) / compared * total
                             : KindsByRepetition(values_[column]);
    return std::max<uint64_t>(1, static_cast<uint64_t>(total / std::max<double>(1, kinds)));
  }
  // The same where all entries were read.
  uint64_t SameOfAll(size_t column) const {
    return std::max<uint64_t>(1, (compared_ + 1) / (first_[column] + 1));
  }

 private:
  // How many kinds there are of which some were drawn: those that were drawn once tell how many were
  // not drawn at all (Chao, Scandinavian Journal of Statistics 1984).
  static double KindsByRepetition(const std::map<std::string, int>& drawn) {
    double once = 0;
    double twice = 0;
    for (const auto& [value, times] : drawn) {
      once += times == 1 ? 1 : 0;
      twice += times == 2 ? 1 : 0;
    }
    return static_cast<double>(drawn.size()) +
           (twice > 0 ? once * once / (2 * twice) : once * (once - 1) / 2);
  }

  const size_t columns_;
  const ColumnEnds& ends_of_;
  std::vector<size_t> ends_;
  std::string before_;
  uint64_t compared_ = 0;                           // entries with the one before them
  std::vector<uint64_t> first_;                     // that differ from it in the first columns
  std::vector<std::map<std::string, int>> values_;  // of the entries that were read first
};

// Where entries are read.
struct Place {
  std::string key;
  std::string end;   // where the next place begins that there could be
  uint64_t entries;  // from one to the other, or so
};

// A place at random, as nearly as sizes tell.
Place RandomPlace(DB* db, Subtable* subtable, std::string low, std::string high,
                  std::mt19937_64* random) {
  const auto size = [db, subtable](std::string_view begin, std::string_view end) {
    return db->ApproximateSize(subtable, begin, end);
  };
  const auto is_small = [](const RangeSize& range) {
    return range.records <= kPlaceEntries || range.bytes <= kPlaceBytes;
  };
  RangeSize range = size(low, high);
  for (int halvings = 0; halvings < 128 && !is_small(range); ++halvings) {
    std::string middle = Halfway(low, high);
    if (middle <= low || middle >= high) {
      break;
    }
    const RangeSize below = size(low, middle);
    const RangeSize above = size(middle, high);
    const uint64_t both = below.records + above.records;
    if (both == 0) {
      break;
    }
    if (std::uniform_int_distribution<uint64_t>(1, both)(*random) <= below.records) {
      high = std::move(middle);
      range = below;
    } else {
      low = std::move(middle);
      range = above;
    }
  }
  return {std::move(low), std::move(high), range.records};
}

}  // namespace

std::string Halfway(std::string_view low, std::string_view high) {
  const size_t common = static_cast<size_t>(
      std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first - low.begin());
  const Wide below = Number(low.substr(common));
  const Wide above = Number(high.substr(common));
  if (above - below < 2) {
    return std::string(low);
  }
  Wide middle = below + (above - below) / 2;
  std::string key(low.substr(0, common));
  for (size_t i = 0; i < sizeof(Wide); ++i) {
    key.push_back(static_cast<char>(middle >> 120));
    middle <<= 8;
  }
  return key;
}

Status SampleIndex(DB* db, Subtable* subtable, uint64_t entries, size_t columns,
                   const ColumnEnds& ends, std::vector<uint64_t>* same) {
  same->assign(columns, 1);
  Sample sample(columns, ends);
  const auto iterator = db->NewIterator({}, subtable);
  iterator->SeekToLast();
  if (!iterator->Valid()) {
    return iterator->status();
  }
  const std::string last(iterator->key());
  iterator->SeekToFirst();
  const std::string first(iterator->key());
  const uint64_t total = db->ApproximateSize(subtable, {}, {}).records;
  const bool whole = total <= kReadAsAWhole;
  // The same places every time, so that plans do not change without a reason.
  std::mt19937_64 random(total);
  if (whole) {
    SLUICE_RETURN_IF_ERROR(sample.ReadFrom(iterator.get(), 2 * kReadAsAWhole));
  }
  if (!whole) {
    // Both ends have a place, too: of two values, one may be rare.
    SLUICE_RETURN_IF_ERROR(sample.ReadFrom(iterator.get(), kInARow));
    iterator->Seek(last);
    SLUICE_RETURN_IF_ERROR(sample.ReadFrom(iterator.get(), 1));
  }
  int places = 0;
  for (int draws = 0; !whole && places < kPlaces && draws < kDraws; ++draws) {
    const Place at = RandomPlace(db, subtable, first, last, &random);
    iterator->Seek(at.key);
    // Sizes count what a range deletion covers in memory: there is nothing, and what follows is not to
    // be met more often for that.
    if (iterator->Valid() && iterator->key() >= at.end && at.end < last) {
      continue;
    }
    ++places;
    const uint64_t most = std::clamp(at.entries, kInARow, kPlaceEntries);
    for (uint64_t skip = random() % most; skip > 0 && iterator->Valid(); --skip) {
      iterator->Next();
    }
    SLUICE_RETURN_IF_ERROR(sample.ReadFrom(iterator.get(), kInARow));
  }
  for (size_t i = 0; i < columns; ++i) {
    (*same)[i] = whole ? sample.SameOfAll(i) : sample.Same(i, static_cast<double>(entries));
  }
  return {};
}

}  // namespace sluice::mariadb
