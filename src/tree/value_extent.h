// Value extents: large values apart from their keys, so that compactions move only references.
//
//   value extent := header | record*                     in pages of a data file, as a table's extent
//   header (32)  := "slcvalue" | number (8) | bytes (4) | sub-table (4) | values (4) | masked CRC (4)
//   record       := masked CRC (4) of the rest | compression (1) | key length (varint32) |
//                   user key | value, compressed or not
//   reference (20) := number of the value extent (8) | offset of the record in it (4) |
//                   bytes of the record (4) | the record's CRC as it stands there (4)
//
// A reference is the value of a record of type kTypeValueReference. Integers are little-endian. A
// table's extent says in the metadata which value extents its references lead to, and to how many
// bytes of each (ValueShares); it keeps them alive, so there is no other bookkeeping: a value extent
// is part of the database as long as a table's extent refers to it.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "table/codec.h"
#include "table/internal_key.h"
#include "tree/extent.h"
#include "util/status.h"

namespace sluice {

// One ends with the record with which it has the size of so many table extents. Larger ones make for
// shorter lists in the metadata, but take more memory while they are built, and more space must be
// there before one that is half garbage comes free.
inline constexpr uint64_t kExtentsOfAValueExtent = 4;
inline constexpr size_t kValueExtentHeaderBytes = 32;
inline constexpr size_t kValueReferenceBytes = 20;

struct ValueExtent {
  // Number, address, bytes and place; `entries` is the number of its values. No keys.
  Extent pages{};
  // A value could not be read: it is left where it is. Not part of the value.
  mutable std::atomic<bool> damaged{false};

  ValueExtent() = default;
  explicit ValueExtent(const Extent& p) : pages(p) {}
};
using ValueExtentPtr = std::shared_ptr<const ValueExtent>;

struct ValueReference {
  uint64_t extent = 0;  // number
  uint32_t offset = 0;
  uint32_t bytes = 0;  // of the record
  uint32_t crc = 0;

  std::string Encode() const;
  // False if these are no bytes of a reference.
  bool ReadFrom(std::string_view bytes);

  friend bool operator==(const ValueReference&, const ValueReference&) = default;
};

// The value extents that an extent's records refer to, ascending by number, none twice.
struct ValueShares {
  struct Share {
    ValueExtentPtr extent;
    uint64_t bytes = 0;  // of the records referred to

    friend bool operator==(const Share& a, const Share& b) {
      return a.bytes == b.bytes && a.extent->pages == b.extent->pages;
    }
  };
  std::vector<Share> shares;

  // The shares of an extent; empty if it refers to no values.
  static std::span<const Share> Of(const Extent& extent) {
    return extent.values == nullptr ? std::span<const Share>()
                                    : std::span<const Share>(extent.values->shares);
  }
  // Null if there is none of this number.
  const Share* Find(uint64_t number) const;
};

// The value extent of this number, or null.
using FindValueExtent = std::function<ValueExtentPtr(uint64_t number)>;
// That finds those of an extent, which outlives it.
FindValueExtent ValueExtentsOf(const Extent& extent);

// Sums up what records refer to.
class ValueShareCounter {
 public:
  // Counts one record. Corruption if `value` is not a reference to one of the extents that `find`,
  // which may be null, finds.
  Status Add(std::string_view value, const FindValueExtent& find);
  // Gives the sums to the extent, and begins anew.
  void MoveTo(Extent* extent);

 private:
  std::map<uint64_t, ValueShares::Share> shares_;
};

// Appends a record, and says where: `reference->extent` and `offset` are the caller's. `buffer` is
// scratch space.
void AppendValueRecord(std::string_view user_key, std::string_view value, const Codec& codec,
                       std::string* buffer, std::string* out, ValueReference* reference);
// Checks that the record is the one referred to, whole, and that of `user_key`.
Status CheckValueRecord(std::string_view record, const ValueReference& reference,
                        std::string_view user_key);
// As that, and takes the value out of it.
Status ReadValueRecord(std::string_view record, const ValueReference& reference,
                       std::string_view user_key, std::string* value);

std::string EncodeValueExtentHeader(const ValueExtent& extent, uint32_t subtable);
// False if these are not the bytes of a header.
bool ReadValueExtentHeader(std::string_view bytes, Extent* pages, uint32_t* subtable);

class BlockReads;

// What the reference of one of the extent's records, with `user_key`, leads to. Errors name file and
// offset. With `reads`, which may be null, it may be put off: then `reads` wants it.
Status ReadValue(const Extent& extent, std::string_view user_key, std::string_view reference,
                 BlockReads* reads, std::string* value);
// The record itself, checked. `values`: the one that the reference names.
Status ReadStoredValue(const ValueExtent& values, const ValueReference& reference,
                       std::string_view user_key, std::string* record);

}  // namespace sluice
