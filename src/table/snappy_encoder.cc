#include "table/snappy_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "util/check.h"

namespace sluice {

namespace {

// As in cu_snappy_matcher.
constexpr size_t kGroup = 4;
constexpr size_t kLeastMatch = 4;
constexpr size_t kWindow = 16;
constexpr size_t kMostLiterals = 512;
constexpr unsigned kHashBits = 13;
constexpr unsigned kTableBits = 4;
constexpr uint16_t kNowhere = std::numeric_limits<uint16_t>::max();  // no match begins there

// A CRC of 13 bits of a little-endian word, its highest bit first.
constexpr uint16_t HashOf(uint32_t word) {
  uint32_t hash = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const bool feedback = ((hash >> (kHashBits - 1) ^ word >> bit) & 1) != 0;
    hash = (hash << 1 & ((1u << kHashBits) - 1)) ^ (feedback ? 0x1cf5 : 0);
  }
  return static_cast<uint16_t>(hash);
}

// The hash is linear: a share for each value of each byte.
constexpr auto kHashShares = [] {
  std::array<std::array<uint16_t, 256>, 4> shares{};
  for (unsigned byte = 0; byte < 4; ++byte) {
    for (unsigned value = 0; value < 256; ++value) {
      shares[byte][value] = HashOf(value << 8 * byte);
    }
  }
  return shares;
}();

unsigned Hash(const char* p) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(p);
  return kHashShares[0][bytes[0]] ^ kHashShares[1][bytes[1]] ^ kHashShares[2][bytes[2]] ^
         kHashShares[3][bytes[3]];
}

// Literals from a place on, then a copy.
struct Token {
  size_t place = 0;
  size_t literals = 0;
  size_t copied = 0;
  size_t offset = 0;
};

// As cu_snappy_writer. Tokens follow one another without a gap.
class Writer {
 public:
  Writer(std::string_view block, size_t preamble_bytes, std::string* out)
      : block_(block), out_(*out) {
    out_.clear();
    // The length takes as many bytes whatever it is.
    for (size_t i = 0; i < preamble_bytes; ++i) {
      const size_t more = i + 1 < preamble_bytes ? 0x80 : 0;
      out_ += static_cast<char>((block.size() >> 7 * i & 0x7f) | more);
    }
  }

  void Put(const Token& token) {
    PutLiterals(block_.substr(token.place, token.literals));
    size_t left = token.copied;
    while (left > 0) {
      // No piece is left with less than the four bytes that a short copy needs.
      const size_t piece = left <= 64 ? left : left < 68 ? 60 : 64;
      PutCopy(piece, token.offset);
      left -= piece;
    }
  }

 private:
  void PutLiterals(std::string_view literals) {
    if (literals.empty()) {
      return;
    }
    const size_t code = literals.size() - 1;
    if (code < 60) {
      out_ += static_cast<char>(code << 2);
    } else if (code < 256) {
      out_ += {static_cast<char>(0xf0), static_cast<char>(code)};
    } else {
      out_ += {static_cast<char>(0xf4), static_cast<char>(code), static_cast<char>(code >> 8)};
    }
    out_ += literals;
  }

  void PutCopy(size_t bytes, size_t offset) {
    if (bytes > 11 || offset >= 2048) {
      out_ += {static_cast<char>((bytes - 1) << 2 | 2), static_cast<char>(offset),
               static_cast<char>(offset >> 8)};
    } else {
      out_ +=
          {static_cast<char>(offset >> 8 << 5 | (bytes - 4) << 2 | 1), static_cast<char>(offset)};
    }
  }

  const std::string_view block_;
  std::string& out_;
};

// As cu_snappy_matcher, group by group.
class Matcher {
 public:
  Matcher(std::string_view block, Writer* writer) : block_(block), writer_(*writer) {
    places_.fill(kNowhere);
  }

  void Run() {
    for (size_t base = 0; base < block_.size(); base += kGroup) {
      LookUp(base);
      GoOn(base);
      TakeMatch(base);
    }
    EndMatch();
    writer_.Put({.place = free_, .literals = block_.size() - free_});
  }

 private:
  // Finds what begins at the group's places, and enters them.
  void LookUp(size_t base) {
    found_.fill(kNowhere);
    uint32_t taken = 0;  // tables
    for (size_t j = 0; j < kGroup && base + j + kLeastMatch <= block_.size(); ++j) {
      const unsigned hash = Hash(block_.data() + base + j);
      const uint32_t table = 1u << (hash & ((1u << kTableBits) - 1));
      if ((taken & table) == 0) {
        found_[j] = std::exchange(places_[hash], static_cast<uint16_t>(base + j));
      }
      taken |= table;
    }
  }

  size_t Length(size_t place, size_t candidate) const {
    const size_t most = std::min(kWindow, block_.size() - place);
    size_t length = 0;
    while (length < most && block_[candidate + length] == block_[place + length]) {
      ++length;
    }
    return length;
  }

  // The last match, if it is open and has come to this group.
  void GoOn(size_t base) {
    const size_t end = std::min(base + kGroup, block_.size());
    if (!open_ || free_ >= base + kGroup) {
      return;
    }
    while (free_ < end && block_[free_] == block_[free_ - match_.offset]) {
      ++free_;
      ++match_.copied;
    }
    open_ = free_ == base + kGroup;
  }

  void TakeMatch(size_t base) {
    for (size_t j = free_ > base ? free_ - base : 0; j < kGroup; ++j) {
      if (found_[j] == kNowhere) {
        continue;
      }
      const size_t place = base + j;
      if (const size_t length = Length(place, found_[j]); length >= kLeastMatch) {
        Begin({free_, place - free_, length, place - found_[j]});
        free_ = place + length;
        open_ = length == kWindow;
        return;
      }
    }
    if (base > free_ && base - free_ >= kMostLiterals) {
      Begin({.place = free_, .literals = base - free_});
      free_ = base;
    }
  }

  void Begin(const Token& match) {
    EndMatch();
    match_ = match;
    any_ = true;
  }

  void EndMatch() {
    if (any_) {
      writer_.Put(match_);
    }
  }

  const std::string_view block_;
  Writer& writer_;
  std::array<uint16_t, size_t{1} << kHashBits> places_;
  std::array<uint16_t, kGroup> found_;
  Token match_;       // the last, which may still grow
  bool any_ = false;  // there is one
  bool open_ = false;
  size_t free_ = 0;  // first place that no match covers
};

}  // namespace

bool CompressAsUnits(std::string_view block, std::string* out, size_t most) {
  SLUICE_CHECK(std::has_single_bit(most) && most <= size_t{1} << 16);
  if (block.empty() || block.size() > most) {
    return false;
  }
  Writer writer(block, (std::bit_width(most) + 6) / 7, out);
  Matcher(block, &writer).Run();
  return out->size() < block.size() - block.size() / 8;
}

}  // namespace sluice
