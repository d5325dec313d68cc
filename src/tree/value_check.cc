#include "tree/value_check.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "table/block.h"
#include "table/table_reader.h"
#include "tree/extent_reader.h"
#include "tree/value_extent.h"

namespace sluice {

namespace {

class Checker {
 public:
  explicit Checker(const Extent& extent) : extent_(extent), find_(ValueExtentsOf(extent)) {}

  Status Run(std::string_view table) {
    const std::string name = ExtentReader::Describe(extent_, 0);
    std::unique_ptr<TableReader> reader;
    SLUICE_RETURN_IF_ERROR(TableReader::OpenImage(table, name, &reader));
    BlockIterator index(reader->index());
    std::string buffer;
    for (index.SeekToFirst(); index.Valid(); index.Next()) {
      BlockHandle handle;
      Block block;
      SLUICE_RETURN_IF_ERROR(reader->ReadHandle(index, &handle));
      SLUICE_RETURN_IF_ERROR(reader->ReadDataBlock(handle, &buffer, &block));
      BlockIterator at(block);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        if (IsValueReference(Trailer(at.key())) && IsOfTheExtent(at.key())) {
          SLUICE_RETURN_IF_ERROR(
              CheckOne(at.key(), at.value())
                  .WithContext(fmt::format("{}, offset {} of the table", name, handle.offset)));
        }
      }
      SLUICE_RETURN_IF_ERROR(at.status());
    }
    Extent counted;
    shares_.MoveTo(&counted);
    return SameValues(counted, extent_)
               ? Status()
               : Status::Corruption(fmt::format(
                     "{}: its records refer to {} bytes of values, but the metadata says {}, or "
                     "others",
                     name, counted.value_bytes, extent_.value_bytes));
  }

 private:
  bool IsOfTheExtent(std::string_view key) const {
    return CompareInternalKeys(key, extent_.smallest) >= 0 &&
           CompareInternalKeys(key, extent_.largest) <= 0;
  }
  Status CheckOne(std::string_view key, std::string_view value) {
    SLUICE_RETURN_IF_ERROR(shares_.Add(value, find_));
    return ReadValue(extent_, UserKey(key), value, /*reads=*/nullptr, &value_);
  }

  const Extent& extent_;
  const FindValueExtent find_;
  ValueShareCounter shares_;
  std::string value_;
};

}  // namespace

Status CheckValues(const Extent& extent, std::string_view table) {
  return Checker(extent).Run(table);
}

}  // namespace sluice
