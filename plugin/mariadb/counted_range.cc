#include "counted_range.h"

#include "session.h"

namespace sluice::mariadb {

Status CountedRange::Count(Session* session, Subtable* subtable, bool keep, std::string_view from,
                           std::string_view to, uint64_t most, uint64_t* count) {
  Clear();
  subtable_ = subtable;
  from_.assign(from);
  to_.assign(to);
  session_ = session->id();
  statement_ = session->statement();
  changes_ = session->changes();
  keeps_ = keep;
  *count = 0;
  // With a bound, each run's iterator would look for where it ends: this costs more than it spares.
  const auto at = keep ? session->NewIterator(subtable, /*newest=*/false)
                       : session->NewEstimatingIterator(subtable);
  for (at->Seek(from); at->Valid() && (to.empty() || at->key() < to); at->Next()) {
    Add(at->key(), at->value());
    if (++*count == most) {
      break;
    }
  }
  const Status status = at->status();
  if (!status.ok()) {
    Clear();  // a scan is to find that out for itself
    return status;
  }
  all_ = keeps_ && *count < most;
  return {};
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
         session_ == session.id() && statement_ == session.statement() &&
         changes_ == session.changes();
}

}  // namespace sluice::mariadb
