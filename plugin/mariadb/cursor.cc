#include "cursor.h"

#include <algorithm>
#include <utility>

namespace sluice::mariadb {
namespace {

// A scan that goes on locks more at once; one that stops early has locked little. Backwards it is not
// known where it will stop, and at most as much is locked as was read already.
constexpr size_t kFirstAhead = 1;
constexpr size_t kFirstAheadInRange = 16;
constexpr size_t kMostAhead = 1024;
constexpr size_t kGrowth = 8;
constexpr size_t kGrowthBackwards = 2;

std::string Behind(std::string_view key) { return std::string(key) + '\0'; }

}  // namespace

void Cursor::Open(Session* session, Subtable* subtable, Sight sight, CountedRange* counted) {
  Close();
  session_ = session;
  subtable_ = subtable;
  sight_ = sight;
  counted_ = counted;
}

void Cursor::Close() {
  if (session_ != nullptr) {
    Detach();
  }
  session_ = nullptr;
  valid_ = false;
  key_.clear();
  stop_.clear();
  taken_.Clear();
}

void Cursor::Detach() {
  iterator_.reset();
  on_counted_ = false;
  guarded_ = false;
  if (attached_) {
    std::erase(session_->cursors_, this);
    attached_ = false;
  }
}

void Cursor::Attach() {
  if (!attached_) {
    session_->cursors_.push_back(this);
    attached_ = true;
  }
}

void Cursor::MakeIterator() {
  on_counted_ = false;
  changes_ = session_->changes_;
  iterator_ = session_->NewIterator(subtable_, /*newest=*/sight_ != Sight::kStatement);
  Attach();
}

void Cursor::Renew() {
  if (iterator_ == nullptr || changes_ != session_->changes_) {
    MakeIterator();
  }
}

bool Cursor::TakeCounted(std::string_view from) {
  if (counted_ == nullptr || sight_ != Sight::kStatement ||
      !counted_->Serves(*session_, subtable_, from, stop_)) {
    return false;
  }
  Detach();
  std::swap(taken_, *counted_);
  counted_->Clear();
  Attach();
  at_ = 0;
  on_counted_ = valid_ = taken_.size() > 0;
  if (valid_) {
    key_.assign(taken_.key(0));
  }
  return true;
}

Status Cursor::Settle() {
  valid_ = iterator_->Valid();
  if (valid_) {
    key_.assign(iterator_->key());
    return {};
  }
  return iterator_->status();
}

Status Cursor::Guard(std::string_view begin, std::string_view end) {
  guarded_ = false;
  SLUICE_RETURN_IF_ERROR(
      session_->LockRange(subtable_, begin, end, sight_ == Sight::kGuardForShare));
  MakeIterator();
  guarded_ = true;
  guarded_from_.assign(begin);
  guarded_to_.assign(end);
  return {};
}

bool Cursor::Within() const {
  if (!guarded_ || iterator_ == nullptr || !iterator_->Valid()) {
    return false;
  }
  const std::string_view key = iterator_->key();
  return key >= guarded_from_ && (guarded_to_.empty() || key < guarded_to_);
}

// Without a record, it goes on from its key.
Status Cursor::Stand(bool found) {
  if (found) {
    return Settle();
  }
  valid_ = false;
  Detach();
  return {};
}

// To the first record at or after `from`.
Status Cursor::GuardForwards(std::string from) {
  if (ahead_ == kFirstAhead && !stop_.empty()) {
    ahead_ = kFirstAheadInRange;
  }
  for (;;) {
    if (!stop_.empty() && from >= stop_) {
      return Stand(false);
    }
    MakeIterator();
    const auto on_record = [this] {
      return iterator_->Valid() && (stop_.empty() || iterator_->key() < stop_);
    };
    std::string to = stop_;
    size_t seen = 0;
    for (iterator_->Seek(from); on_record(); iterator_->Next()) {
      if (++seen == ahead_) {
        to = Behind(iterator_->key());
        break;
      }
    }
    SLUICE_RETURN_IF_ERROR(iterator_->status());
    SLUICE_RETURN_IF_ERROR(Guard(from, to));
    ahead_ = std::min(kMostAhead, ahead_ * kGrowth);
    iterator_->Seek(from);
    SLUICE_RETURN_IF_ERROR(iterator_->status());
    if (Within()) {
      return Stand(true);
    }
    if (to == stop_) {
      return Stand(false);
    }
    from = std::move(to);  // all that was there is gone
  }
}

// To the last record before `to`; empty: to the last one.
Status Cursor::GuardBackwards(std::string to) {
  const auto seek = [this, &to] {
    if (to.empty()) {
      iterator_->SeekToLast();
      return;
    }
    iterator_->SeekForPrev(to);
    if (iterator_->Valid() && iterator_->key() == to) {
      iterator_->Prev();
    }
  };
  for (;;) {
    MakeIterator();
    std::string from;
    size_t seen = 0;
    for (seek(); iterator_->Valid(); iterator_->Prev()) {
      if (++seen == ahead_) {
        from.assign(iterator_->key());
        break;
      }
    }
    SLUICE_RETURN_IF_ERROR(iterator_->status());
    SLUICE_RETURN_IF_ERROR(Guard(from, to));
    ahead_ = std::min(kMostAhead, ahead_ * kGrowthBackwards);
    seek();
    SLUICE_RETURN_IF_ERROR(iterator_->status());
    if (Within()) {
      return Stand(true);
    }
    if (from.empty()) {
      return Stand(false);
    }
    to = std::move(from);
  }
}

Status Cursor::SeekToFirst() { return Seek({}); }

Status Cursor::SeekToLast() {
  if (guards()) {
    ahead_ = kFirstAhead;
    return GuardBackwards({});
  }
  Renew();
  iterator_->SeekToLast();
  return Settle();
}

Status Cursor::Seek(std::string_view key) {
  if (guards()) {
    ahead_ = kFirstAhead;
    return GuardForwards(std::string(key));
  }
  if (TakeCounted(key)) {
    return {};
  }
  Renew();
  if (key.empty()) {
    iterator_->SeekToFirst();
  } else {
    iterator_->Seek(key);
  }
  return Settle();
}

Status Cursor::SeekBefore(std::string_view key) {
  if (guards()) {
    ahead_ = kFirstAhead;
    return key.empty() ? Stand(false) : GuardBackwards(std::string(key));
  }
  Renew();
  iterator_->SeekForPrev(key);
  if (iterator_->Valid() && iterator_->key() == key) {
    iterator_->Prev();
  }
  return Settle();
}

Status Cursor::SeekFirstIn(std::string_view begin, std::string_view end) {
  stop_.assign(end);
  if (!guards()) {
    return Seek(begin);
  }
  ahead_ = kFirstAhead;
  SLUICE_RETURN_IF_ERROR(Guard(begin, end));
  iterator_->Seek(begin);
  SLUICE_RETURN_IF_ERROR(iterator_->status());
  return Stand(Within());
}

Status Cursor::SeekLastIn(std::string_view begin, std::string_view end) {
  if (!guards()) {
    return end.empty() ? SeekToLast() : SeekBefore(end);
  }
  ahead_ = kFirstAhead;
  SLUICE_RETURN_IF_ERROR(Guard(begin, end));
  if (end.empty()) {
    iterator_->SeekToLast();
  } else {
    iterator_->SeekForPrev(end);
    if (iterator_->Valid() && iterator_->key() == end) {
      iterator_->Prev();
    }
  }
  SLUICE_RETURN_IF_ERROR(iterator_->status());
  return Stand(Within());
}

Status Cursor::Next() {
  if (guards()) {
    if (!valid_ || !Within()) {
      return GuardForwards(Behind(key_));
    }
    iterator_->Next();
    SLUICE_RETURN_IF_ERROR(iterator_->status());
    if (Within()) {
      return Stand(true);
    }
    const std::string from = guarded_to_;
    return from.empty() || from == stop_ ? Stand(false) : GuardForwards(from);
  }
  if (iterator_ != nullptr && iterator_->Valid()) {
    iterator_->Next();
    return Settle();
  }
  if (on_counted_ && at_ + 1 < taken_.size()) {
    key_.assign(taken_.key(++at_));
    return {};
  }
  if (on_counted_ && taken_.all() && stop_ == taken_.to()) {
    return Stand(false);
  }
  MakeIterator();
  iterator_->Seek(key_);
  if (iterator_->Valid() && iterator_->key() == key_) {
    iterator_->Next();
  }
  return Settle();
}

Status Cursor::Prev() {
  if (guards()) {
    if (!valid_ || !Within()) {
      return key_.empty() ? Stand(false) : GuardBackwards(key_);
    }
    iterator_->Prev();
    SLUICE_RETURN_IF_ERROR(iterator_->status());
    if (Within()) {
      return Stand(true);
    }
    const std::string to = guarded_from_;
    return to.empty() ? Stand(false) : GuardBackwards(to);
  }
  if (iterator_ != nullptr && iterator_->Valid()) {
    iterator_->Prev();
    return Settle();
  }
  return SeekBefore(std::string(key_));
}

void Cursor::StandOn(std::string_view key) {
  key_.assign(key);
  valid_ = true;
  ahead_ = kFirstAhead;
  if (iterator_ != nullptr || on_counted_) {
    Detach();
  }
}

}  // namespace sluice::mariadb
