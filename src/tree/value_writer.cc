#include "tree/value_writer.h"

#include <algorithm>
#include <utility>

namespace sluice {

Status ValueWriter::Begin() {
  if (open_ == nullptr) {
    open_ = std::make_shared<ValueExtent>();
    open_->pages.number = writer_.TakeNumber();
    written_[open_->pages.number] = open_;
    bytes_.assign(kValueExtentHeaderBytes, '\0');
  }
  return {};
}

Status ValueWriter::EndRecord(ValueReference reference, std::string* encoded) {
  *encoded = reference.Encode();
  ++open_->pages.entries;
  ++values_;
  return bytes_.size() >= format_.extent_bytes ? Finish() : Status();
}

Status ValueWriter::Add(std::string_view user_key, std::string_view value, std::string* reference) {
  SLUICE_RETURN_IF_ERROR(Begin());
  ValueReference made{.extent = open_->pages.number,
                      .offset = static_cast<uint32_t>(bytes_.size())};
  AppendValueRecord(user_key, value, format_.codec, &buffer_, &bytes_, &made);
  return EndRecord(made, reference);
}

Status ValueWriter::AddRecord(std::string_view record, ValueReference reference,
                              std::string* moved) {
  SLUICE_RETURN_IF_ERROR(Begin());
  reference.extent = open_->pages.number;
  reference.offset = static_cast<uint32_t>(bytes_.size());
  bytes_.append(record);
  return EndRecord(reference, moved);
}

Status ValueWriter::Finish() {
  if (open_ == nullptr) {
    return {};
  }
  open_->pages.bytes = static_cast<uint32_t>(bytes_.size());
  const std::string header = EncodeValueExtentHeader(*open_, format_.subtable);
  std::copy(header.begin(), header.end(), bytes_.begin());
  const Status status = writer_.WriteValues(&bytes_, format_.tier, &open_->pages);
  open_.reset();
  return status;
}

ValueExtentPtr ValueWriter::Find(uint64_t number) const {
  const auto at = written_.find(number);
  return at == written_.end() ? nullptr : at->second;
}

}  // namespace sluice
