#include "counted_range.h"

#include "session.h"

namespace sluice::mariadb {

void CountedRange::Begin(const Session& session, const Subtable* subtable, std::string_view from,
                         std::string_view to) {
  Clear();
  subtable_ = subtable;
  from_.assign(from);
  to_.assign(to);
  statement_ = session.statement();
  changes_ = session.changes();
  keeps_ = true;
}

void CountedRange::Add(std::string_view key, std::string_view value) {
  keeps_ = keeps_ && bytes_.size() + key.size() + value.size() <= kMostBytes;
  if (keeps_) {
    const size_t begin = bytes_.size();
    bytes_.append(key);
    bytes_.append(value);
    records_.push_back({begin, begin + key.size(), bytes_.size()});
  }
}

void CountedRange::Clear() {
  bytes_.clear();
  if (bytes_.capacity() > kKeptBytes) {
    bytes_.shrink_to_fit();
  }
  records_.clear();
  keeps_ = false;
  all_ = false;
}

bool CountedRange::Serves(const Session& session, const Subtable* subtable, std::string_view from,
                          std::string_view to) const {
  return (all_ || !records_.empty()) && subtable == subtable_ && from == from_ && to == to_ &&
         statement_ == session.statement() && changes_ == session.changes();
}

}  // namespace sluice::mariadb
