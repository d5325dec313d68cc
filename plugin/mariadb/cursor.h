// A position in a sub-table, as a statement sees it. It outlives the iterators below it: where a
// statement or a transaction has ended, it goes on from its key.
//
// Changes that the transaction makes while a cursor moves are not seen until the next Seek.
//
// A cursor that guards locks what it passes over before it reads it: the keys from where it was sent
// to where it stands, and some further ones. What it has found, and has not found, stays so until
// the transaction ends. It knows how far to lock from an iterator that looks ahead; what counts is
// what a second one finds, made when the lock is there.

#pragma once

#include <sluice/db.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "counted_range.h"
#include "session.h"

namespace sluice::mariadb {

// What a cursor sees.
enum class Sight : uint8_t {
  kStatement,       // what the statement sees
  kNewest,          // what a locking read may overwrite
  kGuardForShare,   // the newest, which stays so; REQUIRES: the session is serializable
  kGuardForUpdate,  // the same, and nobody else guards it
};

class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() { Close(); }

  // Stands nowhere at first. The session must live until Close. A Seek to where `counted` (may be
  // null) begins takes what it has.
  void Open(Session* session, Subtable* subtable, Sight sight, CountedRange* counted = nullptr);
  void Close();
  // Where a cursor that guards stops on its way forwards, and others need not be read any more, and
  // may stop: before this key. Empty: nowhere.
  void StopBefore(std::string_view key) { stop_.assign(key); }

  // All of these leave it on a record, or on none (valid()); a Status that is not ok is an error.
  Status SeekToFirst();
  Status SeekToLast();
  Status Seek(std::string_view key);        // to the first record at or after it
  Status SeekBefore(std::string_view key);  // to the last record before it
  // The same where all from `begin` to before `end` (empty: no bound) is wanted: it is guarded at
  // once. A cursor that guards stops there, and others may.
  Status SeekFirstIn(std::string_view begin, std::string_view end);
  Status SeekLastIn(std::string_view begin, std::string_view end);
  // From the record where it stands or, after a record that another transaction deleted, stood.
  Status Next();
  Status Prev();
  // To a key that was read by other means.
  void StandOn(std::string_view key);

  bool valid() const { return valid_; }
  // Whether it stands behind where it is to stop. REQUIRES: valid()
  bool Stops() const { return !stop_.empty() && key_ >= stop_; }
  // REQUIRES: valid()
  std::string_view key() const { return key_; }
  // REQUIRES: valid(), and it did not get there by StandOn
  std::string_view value() const { return on_counted_ ? taken_.value(at_) : iterator_->value(); }

 private:
  friend class Session;

  bool guards() const { return sight_ >= Sight::kGuardForShare && session_->serializable(); }
  // Makes an iterator if there is none that sees all there is to see.
  void Renew();
  void MakeIterator();
  void Detach();
  void Attach();  // to the session, which has it detached where what it has ends
  Status Settle();
  // Takes what was counted from here to where it stops, if that is there, and stands on the first.
  bool TakeCounted(std::string_view from);

  // Guards what is from one key to before the other, and makes an iterator.
  Status Guard(std::string_view begin, std::string_view end);
  Status GuardForwards(std::string from);
  Status GuardBackwards(std::string to);
  // Whether the iterator stands on a record within what it was made to see guarded.
  bool Within() const;
  Status Stand(bool found);

  Session* session_ = nullptr;
  Subtable* subtable_ = nullptr;
  Sight sight_ = Sight::kStatement;
  bool valid_ = false;
  bool attached_ = false;
  uint64_t changes_ = 0;  // the session's, when the iterator was made
  std::unique_ptr<Iterator> iterator_;
  std::string key_;
  // Guarded before the iterator was made, if there is one.
  bool guarded_ = false;
  std::string guarded_from_;
  std::string guarded_to_;  // empty: to the end
  std::string stop_;
  CountedRange* counted_ = nullptr;
  CountedRange taken_;       // from it
  size_t at_ = 0;            // in taken_, if on_counted_
  bool on_counted_ = false;  // it stands there, and has no iterator
  size_t ahead_ = 1;         // records that are guarded at once
};

}  // namespace sluice::mariadb
