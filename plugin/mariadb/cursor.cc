#include "cursor.h"

namespace sluice::mariadb {

void Cursor::Open(Session* session, Subtable* subtable, bool newest) {
  Close();
  session_ = session;
  subtable_ = subtable;
  newest_ = newest;
}

void Cursor::Close() {
  if (session_ != nullptr) {
    Detach();
  }
  session_ = nullptr;
  valid_ = false;
  key_.clear();
}

void Cursor::Detach() {
  iterator_.reset();
  session_->cursors_.erase(this);
}

void Cursor::MakeIterator() {
  changes_ = session_->changes_;
  iterator_ = session_->transaction_->NewIterator(
      newest_ ? ReadOptions() : session_->StatementRead(), subtable_);
  session_->cursors_.insert(this);
}

void Cursor::Renew() {
  if (iterator_ == nullptr || changes_ != session_->changes_) {
    MakeIterator();
  }
}

Status Cursor::Settle() {
  valid_ = iterator_->Valid();
  if (valid_) {
    key_.assign(iterator_->key());
    return {};
  }
  return iterator_->status();
}

Status Cursor::SeekToFirst() {
  SLUICE_RETURN_IF_ERROR(session_->FixSnapshot());
  Renew();
  iterator_->SeekToFirst();
  return Settle();
}

Status Cursor::SeekToLast() {
  SLUICE_RETURN_IF_ERROR(session_->FixSnapshot());
  Renew();
  iterator_->SeekToLast();
  return Settle();
}

Status Cursor::Seek(std::string_view key) {
  SLUICE_RETURN_IF_ERROR(session_->FixSnapshot());
  Renew();
  iterator_->Seek(key);
  return Settle();
}

Status Cursor::SeekBefore(std::string_view key) {
  SLUICE_RETURN_IF_ERROR(session_->FixSnapshot());
  Renew();
  iterator_->SeekForPrev(key);
  if (iterator_->Valid() && iterator_->key() == key) {
    iterator_->Prev();
  }
  return Settle();
}

Status Cursor::Next() {
  if (iterator_ != nullptr && iterator_->Valid()) {
    iterator_->Next();
    return Settle();
  }
  SLUICE_RETURN_IF_ERROR(session_->FixSnapshot());
  MakeIterator();
  iterator_->Seek(key_);
  if (iterator_->Valid() && iterator_->key() == key_) {
    iterator_->Next();
  }
  return Settle();
}

Status Cursor::Prev() {
  if (iterator_ != nullptr && iterator_->Valid()) {
    iterator_->Prev();
    return Settle();
  }
  SLUICE_RETURN_IF_ERROR(session_->FixSnapshot());
  return SeekBefore(std::string(key_));
}

void Cursor::StandOn(std::string_view key) {
  key_.assign(key);
  valid_ = true;
  if (iterator_ != nullptr) {
    Detach();
  }
}

}  // namespace sluice::mariadb
