#include "read_ahead.h"

#include <algorithm>
#include <utility>

#include "session.h"

namespace sluice::mariadb {

void ReadAhead::Restart() {
  Clear();
  wanted_ = 1;
  taken_.clear();
}

void ReadAhead::Clear() {
  size_ = 0;
  next_ = 0;
}

void ReadAhead::Begin(const Session& session, bool forwards) {
  Clear();
  forwards_ = forwards;
  statement_ = session.statement();
}

bool ReadAhead::Continues(const Session& session, bool forwards) const {
  return forwards == forwards_ && session.statement() == statement_;
}

void ReadAhead::Add(std::string_view entry, std::string_view row_key) {
  if (batch_.size() == size_) {
    batch_.emplace_back();
  }
  Row& row = batch_[size_++];
  row.entry.assign(entry);
  row.key.assign(row_key);
}

void ReadAhead::Read(Session* session, Subtable* rows) {
  changes_ = session->changes();
  ReadBatch(session, rows);
  size_t longest = 1;
  for (size_t i = 0; i < size_; ++i) {
    longest = std::max(longest, batch_[i].value.size());
  }
  wanted_ = std::clamp<size_t>(kMostBytes / longest, 1, std::min(kMost, wanted_ * 2));
}

void ReadAhead::ReadBatch(Session* session, Subtable* rows) {
  if (size_ == 0) {
    return;
  }
  if (size_ == 1) {
    batch_[0].status = session->Get(rows, batch_[0].key, &batch_[0].value);
    return;
  }
  std::vector<std::string_view> keys;
  for (size_t i = 0; i < size_; ++i) {
    keys.push_back(batch_[i].key);
  }
  std::vector<std::string> values;
  std::vector<Status> statuses = session->MultiGet(rows, keys, &values);
  for (size_t i = 0; i < size_; ++i) {
    batch_[i].status = std::move(statuses[i]);
    batch_[i].value = std::move(values[i]);
  }
}

Status ReadAhead::Take(Session* session, Subtable* rows, std::string* row_key, std::string* row) {
  Row& taken = batch_[next_++];
  std::swap(taken_, taken.entry);
  std::swap(*row_key, taken.key);
  if (changes_ != session->changes()) {
    return session->Get(rows, *row_key, row);
  }
  std::swap(*row, taken.value);
  return taken.status;
}

}  // namespace sluice::mariadb
