// Packs values into value extents (value_extent.h), which an ExtentWriter writes and makes durable
// with the tables that refer to them.
//
// Thread-compatible.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tree/extent_writer.h"
#include "tree/value_extent.h"
#include "util/status.h"

namespace sluice {

struct ValueFormat {
  uint64_t least_bytes = 0;   // values of at least this size are stored apart; 0: none
  uint64_t extent_bytes = 0;  // a value extent ends with the record with which it has so many
  size_t tier = 0;
  uint32_t subtable = 0;
  Codec codec{};  // without dictionary
};

class ValueWriter {
 public:
  ValueWriter(const ValueFormat& format, ExtentWriter* writer)
      : format_(format), writer_(*writer) {}

  bool Wants(std::string_view value) const {
    return format_.least_bytes > 0 && value.size() >= format_.least_bytes;
  }
  // Stores the value; `*reference` is what stands for it.
  Status Add(std::string_view user_key, std::string_view value, std::string* reference);
  // Stores a record of another value extent as it is.
  Status AddRecord(std::string_view record, ValueReference reference, std::string* moved);
  // Hands over what is left. To be called before the ExtentWriter's Finish.
  Status Finish();

  // One of those written here, or null.
  ValueExtentPtr Find(uint64_t number) const;
  uint64_t values() const { return values_; }

 private:
  Status Begin();
  Status EndRecord(ValueReference reference, std::string* encoded);

  const ValueFormat format_;
  ExtentWriter& writer_;
  std::shared_ptr<ValueExtent> open_;  // null: none is
  std::string bytes_;                  // of it
  std::string buffer_;
  std::map<uint64_t, ValueExtentPtr> written_;
  uint64_t values_ = 0;
};

}  // namespace sluice
