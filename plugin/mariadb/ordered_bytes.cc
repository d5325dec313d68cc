#include "ordered_bytes.h"

#include <algorithm>

namespace sluice::mariadb {
namespace {

// In AppendBytes: a zero byte of the value is followed by kZero, the end is a zero byte and kEnd.
constexpr char kZero = '\xff';
constexpr char kEnd = '\x01';

// In AppendPadded: after each group, how the rest compares with an endless row of pads. After
// kAsPads nothing follows.
constexpr char kBelowPads = '\x01';
constexpr char kAsPads = '\x02';
constexpr char kAbovePads = '\x03';

// How many bytes of weights are a group.
size_t GroupBytes(size_t pad) { return pad * std::max<size_t>(1, 8 / pad); }

char ByteOf(std::string_view key, size_t at, bool reversed) {
  return reversed ? static_cast<char>(~key[at]) : key[at];
}

char CompareWithPads(std::string_view rest, std::string_view pad) {
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto a = static_cast<unsigned char>(rest[i]);
    const auto b = static_cast<unsigned char>(pad[i % pad.size()]);
    if (a != b) {
      return a < b ? kBelowPads : kAbovePads;
    }
  }
  return kAsPads;
}

}  // namespace

void AppendBytes(std::string_view bytes, std::string* key) {
  while (true) {
    const size_t zero = bytes.find('\0');
    key->append(bytes.substr(0, zero));
    key->push_back('\0');
    if (zero == std::string_view::npos) {
      key->push_back(kEnd);
      return;
    }
    key->push_back(kZero);
    bytes.remove_prefix(zero + 1);
  }
}

void AppendPadded(std::string_view weights, std::string_view pad, std::string* key) {
  while (weights.size() % pad.size() == 0 && weights.ends_with(pad)) {
    weights.remove_suffix(pad.size());
  }
  const size_t group = GroupBytes(pad.size());
  while (true) {
    const size_t n = std::min(group, weights.size());
    key->append(weights.substr(0, n));
    for (size_t i = n; i < group; ++i) {
      key->push_back(pad[i % pad.size()]);
    }
    weights.remove_prefix(n);
    key->push_back(CompareWithPads(weights, pad));
    if (key->back() == kAsPads) {
      return;
    }
  }
}

size_t EndOfBytes(std::string_view key, size_t begin, bool reversed) {
  for (size_t at = begin; at + 1 < key.size(); ++at) {
    if (ByteOf(key, at, reversed) != '\0') {
      continue;
    }
    ++at;
    if (ByteOf(key, at, reversed) == kEnd) {
      return at + 1;
    }
  }
  return key.size() + 1;
}

size_t EndOfPadded(std::string_view key, size_t begin, size_t pad, bool reversed) {
  for (size_t at = begin + GroupBytes(pad); at < key.size(); at += GroupBytes(pad) + 1) {
    if (ByteOf(key, at, reversed) == kAsPads) {
      return at + 1;
    }
  }
  return key.size() + 1;
}

void Reverse(size_t begin, std::string* key) {
  for (size_t i = begin; i < key->size(); ++i) {
    (*key)[i] = static_cast<char>(~(*key)[i]);
  }
}

std::string Successor(std::string_view prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') {
    prefix.remove_suffix(1);
  }
  std::string next(prefix);
  if (!next.empty()) {
    next.back() = static_cast<char>(static_cast<unsigned char>(next.back()) + 1);
  }
  return next;
}

}  // namespace sluice::mariadb
