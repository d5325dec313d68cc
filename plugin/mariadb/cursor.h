// A position in a sub-table, as a statement sees it. It outlives the iterators below it: where a
// statement or a transaction has ended, it goes on from its key.
//
// Changes that the transaction makes while a cursor moves are not seen until the next Seek.

#pragma once

#include <sluice/db.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "session.h"

namespace sluice::mariadb {

class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() { Close(); }

  // Stands nowhere at first. With `newest`, it sees what a locking read may overwrite. The session
  // must live until Close.
  void Open(Session* session, Subtable* subtable, bool newest);
  void Close();

  // All of these leave it on a record, or on none (valid()); a Status that is not ok is an error.
  Status SeekToFirst();
  Status SeekToLast();
  Status Seek(std::string_view key);        // to the first record at or after it
  Status SeekBefore(std::string_view key);  // to the last record before it
  // From the record where it stands or, after a record that another transaction deleted, stood.
  Status Next();
  Status Prev();
  // To a key that was read by other means.
  void StandOn(std::string_view key);

  bool valid() const { return valid_; }
  // REQUIRES: valid()
  std::string_view key() const { return key_; }
  // REQUIRES: valid(), and it did not get there by StandOn
  std::string_view value() const { return iterator_->value(); }

 private:
  friend class Session;

  // Makes an iterator if there is none that sees all there is to see.
  void Renew();
  void MakeIterator();
  void Detach();
  Status Settle();

  Session* session_ = nullptr;
  Subtable* subtable_ = nullptr;
  bool newest_ = false;
  bool valid_ = false;
  uint64_t changes_ = 0;  // the session's, when the iterator was made
  std::unique_ptr<Iterator> iterator_;
  std::string key_;
};

}  // namespace sluice::mariadb
