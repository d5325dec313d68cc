// What a lock covers: a row, whether it exists or not, or all keys from one to before another.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// A view. A row is the range from its key to before the next possible one, which is the key and a
// zero byte; so a row and a range compare like two ranges.
class KeySpan {
 public:
  static KeySpan Row(std::string_view key) { return {key, {}, true}; }
  // An empty `end`: no bound. REQUIRES: it is not empty, so end.empty() or begin < end.
  static KeySpan Between(std::string_view begin, std::string_view end) {
    return {begin, end, false};
  }

  bool is_row() const { return is_row_; }
  std::string_view begin() const { return begin_; }
  std::string_view end() const { return end_; }  // empty for a row, too
  bool has_end() const { return is_row_ || !end_.empty(); }

  // Whether all of it comes before all of `other`.
  bool IsBefore(const KeySpan& other) const {
    return is_row_ ? begin_ < other.begin_ : !end_.empty() && end_ <= other.begin_;
  }
  bool Overlaps(const KeySpan& other) const { return !IsBefore(other) && !other.IsBefore(*this); }
  // Whether it ends at the same place as `other`, or before.
  bool EndsBy(const KeySpan& other) const {
    if (!other.has_end()) {
      return true;
    }
    if (is_row_) {
      return other.is_row_ ? begin_ <= other.begin_ : begin_ < other.end_;
    }
    return has_end() && (other.is_row_ ? IsBefore(other) || IsKeyAndZero(end_, other.begin_)
                                       : end_ <= other.end_);
  }
  bool Contains(const KeySpan& other) const {
    return begin_ <= other.begin_ && other.EndsBy(*this);
  }

 private:
  KeySpan(std::string_view begin, std::string_view end, bool is_row)
      : begin_(begin), end_(end), is_row_(is_row) {}

  static bool IsKeyAndZero(std::string_view text, std::string_view key) {
    return text.size() == key.size() + 1 && text.back() == '\0' &&
           text.substr(0, key.size()) == key;
  }

  std::string_view begin_;
  std::string_view end_;
  bool is_row_;
};

// "'key' of sub-table 0", "the keys from 'a' to 'b' of sub-table 0"; in hex what does not print.
std::string Describe(uint32_t subtable, const KeySpan& range);

}  // namespace sluice
