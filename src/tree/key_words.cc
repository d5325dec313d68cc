#include "tree/key_words.h"

#include <algorithm>

#include "table/format.h"

namespace sluice {

namespace {

// The first `bytes` of 8, as a number that orders as they do. REQUIRES: 1 to 8; all 8 can be read.
uint64_t WordOf(const char* eight, size_t bytes) {
  return __builtin_bswap64(DecodeFixed64(eight)) & ~uint64_t{0} << 8 * (sizeof(uint64_t) - bytes);
}

// The same of the user key's bytes from `skip` on, 0 if there are none: its trailer can be read.
uint64_t WordAt(std::string_view internal_key, size_t skip) {
  const size_t left = internal_key.size() - kTrailerBytes - skip;
  return left == 0 ? 0 : WordOf(internal_key.data() + skip, std::min(left, sizeof(uint64_t)));
}

}  // namespace

void KeyWords::SetCommon(std::string_view first, std::string_view last) {
  // The keys are in order, so all share what the first and the last share.
  const size_t common = CommonPrefix(UserKey(first), UserKey(last));
  common_ = first.substr(0, common);
  common_end_ = common % sizeof(uint64_t) == 0
                    ? 0
                    : WordOf(first.data() + common / sizeof(uint64_t) * sizeof(uint64_t),
                             common % sizeof(uint64_t));
}

void KeyWords::AddWord(std::string_view internal_key) {
  words_.push_back(WordAt(internal_key, std::min(common_.size(), UserKey(internal_key).size())));
}

inline int KeyWords::CompareCommon(std::string_view internal_key) const {
  const size_t common = common_.size();
  if (internal_key.size() < common + kTrailerBytes) {
    return UserKey(internal_key).compare(common_);
  }
  const auto compare = [](uint64_t a, uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; };
  constexpr size_t kWord = sizeof(uint64_t);
  size_t i = 0;
  for (; i + kWord <= common; i += kWord) {
    const uint64_t word = WordOf(internal_key.data() + i, kWord);
    if (const int order = compare(word, WordOf(common_.data() + i, kWord)); order != 0) {
      return order;
    }
  }
  return i == common ? 0 : compare(WordOf(internal_key.data() + i, common - i), common_end_);
}

size_t KeyWords::FindWord(std::string_view internal_key, bool* exact) const {
  *exact = false;
  if (words_.empty()) {
    return 0;
  }
  if (const int order = CompareCommon(internal_key); order != 0) {
    return order < 0 ? 0 : words_.size();
  }
  const uint64_t word = WordAt(internal_key, common_.size());
  // Without branches: searches in several indexes overlap.
  const uint64_t* at = words_.data();
  for (size_t left = words_.size(); left > 1; left -= left / 2) {
    at += at[left / 2 - 1] < word ? left / 2 : 0;
  }
  const size_t i = at - words_.data() + (*at < word ? 1 : 0);
  *exact = i < words_.size() && words_[i] == word;
  return i;
}

}  // namespace sluice
