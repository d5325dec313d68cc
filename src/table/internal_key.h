// Internal keys, what a table stores as its keys (sluice/table_format.h): taken apart and compared.

#pragma once

#include <cstdint>
#include <string_view>

#include "sluice/table_format.h"
#include "util/coding.h"

namespace sluice {

// A value that is kept elsewhere: the record's own says where. Whatever orders, merges, copies or
// counts records takes it as a value. LevelDB has no such type.
inline constexpr RecordType kTypeValueReference{2};

inline uint64_t MakeTrailer(SequenceNumber sequence, RecordType type) {
  return sequence << 8 | static_cast<uint8_t>(type);
}
// Of whatever type: comes before those of all records of the key up to this sequence number.
inline uint64_t FirstTrailer(SequenceNumber sequence) { return sequence << 8 | 0xff; }

// REQUIRES, of all that take an internal key: internal_key.size() >= kTrailerBytes.
inline std::string_view UserKey(std::string_view internal_key) {
  return internal_key.substr(0, internal_key.size() - kTrailerBytes);
}
inline uint64_t Trailer(std::string_view internal_key) {
  return DecodeFixed64(internal_key.data() + internal_key.size() - kTrailerBytes);
}
inline SequenceNumber TrailerSequence(uint64_t trailer) { return trailer >> 8; }
inline uint8_t TrailerType(uint64_t trailer) { return static_cast<uint8_t>(trailer); }
inline bool IsValueReference(uint64_t trailer) {
  return TrailerType(trailer) == static_cast<uint8_t>(kTypeValueReference);
}
inline bool IsTombstone(uint64_t trailer) {
  return TrailerType(trailer) == static_cast<uint8_t>(RecordType::kDeletion);
}
inline bool IsKnownType(uint8_t type) { return type <= static_cast<uint8_t>(kTypeValueReference); }

// < 0, 0 or > 0 as a comes before, equals or comes after b. As a.compare(b), but without a call
// where the first 8 bytes decide.
inline int CompareUserKeys(std::string_view a, std::string_view b) {
  if (a.size() >= sizeof(uint64_t) && b.size() >= sizeof(uint64_t)) {
    const uint64_t front_a = DecodeFixed64(a.data());
    const uint64_t front_b = DecodeFixed64(b.data());
    if (front_a != front_b) {
      return __builtin_bswap64(front_a) < __builtin_bswap64(front_b) ? -1 : 1;
    }
  }
  return a.compare(b);
}
inline int CompareInternalKeys(std::string_view a, std::string_view b) {
  if (const int order = CompareUserKeys(UserKey(a), UserKey(b)); order != 0) {
    return order;
  }
  const uint64_t ta = Trailer(a);
  const uint64_t tb = Trailer(b);
  return ta > tb ? -1 : ta < tb ? 1 : 0;
}

}  // namespace sluice
