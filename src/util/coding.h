// Little-endian fixed-width integers and LEB128 varints, as LevelDB writes them.
//
// Get* functions read from the front of a view and advance it; on malformed or short input they
// return false and leave the view unspecified. None reads outside the view.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice {

static_assert(std::endian::native == std::endian::little, "Sluice's codecs assume little-endian");

inline uint32_t DecodeFixed32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

inline uint64_t DecodeFixed64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

inline void EncodeFixed32(char* p, uint32_t v) { std::memcpy(p, &v, sizeof(v)); }
inline void EncodeFixed64(char* p, uint64_t v) { std::memcpy(p, &v, sizeof(v)); }

inline void PutFixed32(std::string* out, uint32_t v) {
  out->append(reinterpret_cast<const char*>(&v), sizeof(v));
}

inline void PutFixed64(std::string* out, uint64_t v) {
  out->append(reinterpret_cast<const char*>(&v), sizeof(v));
}

inline constexpr size_t kMaxVarint32Bytes = 5;
inline constexpr size_t kMaxVarint64Bytes = 10;

// Writes `v` at `p`, which has room for kMaxVarint64Bytes, and returns one past its last byte.
inline char* EncodeVarint(char* p, uint64_t v) {
  while (v >= 0x80) {
    *p++ = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  *p++ = static_cast<char>(v);
  return p;
}

inline void PutVarint(std::string* out, uint64_t v) {
  char buffer[kMaxVarint64Bytes];
  out->append(buffer, EncodeVarint(buffer, v) - buffer);
}

// Decodes a varint at `p`, not reading at or past `limit`. Returns one past its last byte, or
// nullptr if it is cut off or longer than a uint32_t's (resp. uint64_t's) encoding can be. As in
// LevelDB, bits of a 5-byte varint32 above bit 31 are dropped.
inline const char* DecodeVarint32(const char* p, const char* limit, uint32_t* v) {
  uint32_t result = 0;
  for (unsigned shift = 0; shift <= 28 && p < limit; shift += 7) {
    const auto byte = static_cast<uint8_t>(*p++);
    result |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *v = result;
      return p;
    }
  }
  return nullptr;
}

inline const char* DecodeVarint64(const char* p, const char* limit, uint64_t* v) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift <= 63 && p < limit; shift += 7) {
    const auto byte = static_cast<uint8_t>(*p++);
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *v = result;
      return p;
    }
  }
  return nullptr;
}

inline bool GetVarint32(std::string_view* in, uint32_t* v) {
  const char* p = DecodeVarint32(in->data(), in->data() + in->size(), v);
  if (p == nullptr) {
    return false;
  }
  in->remove_prefix(p - in->data());
  return true;
}

inline bool GetVarint64(std::string_view* in, uint64_t* v) {
  const char* p = DecodeVarint64(in->data(), in->data() + in->size(), v);
  if (p == nullptr) {
    return false;
  }
  in->remove_prefix(p - in->data());
  return true;
}

inline void PutLengthPrefixed(std::string* out, std::string_view bytes) {
  PutVarint(out, bytes.size());
  out->append(bytes);
}

inline bool GetLengthPrefixed(std::string_view* in, std::string_view* bytes) {
  uint32_t size;
  if (!GetVarint32(in, &size) || size > in->size()) {
    return false;
  }
  *bytes = in->substr(0, size);
  in->remove_prefix(size);
  return true;
}

}  // namespace sluice
