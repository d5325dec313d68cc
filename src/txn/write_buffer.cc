#include "txn/write_buffer.h"

#include <algorithm>
#include <new>
#include <utility>

namespace sluice {

WriteBuffer::Write::Write(uint64_t its_number, RecordType its_type, std::string_view key,
                          std::string_view value)
    : number(its_number),
      type(its_type),
      key_bytes_(static_cast<uint32_t>(key.size())),
      value_bytes_(static_cast<uint32_t>(value.size())) {}

WriteBuffer::WritePtr WriteBuffer::Write::New(uint64_t number, std::string_view key,
                                              RecordType type, std::string_view value) {
  char* const memory =
      static_cast<char*>(::operator new(sizeof(Write) + key.size() + value.size()));
  char* const bytes = memory + sizeof(Write);
  std::copy(key.begin(), key.end(), bytes);
  std::copy(value.begin(), value.end(), bytes + key.size());
  return WritePtr(new (memory) Write(number, type, key, value));
}

// Its older ones go one after the other: there may be more of them than a stack has room for calls.
void WriteBuffer::Delete::operator()(Write* write) const {
  while (write != nullptr) {
    Write* const older = write->older.release();
    write->~Write();
    ::operator delete(write);
    write = older;
  }
}

void WriteBuffer::Add(uint32_t subtable, std::string_view key, RecordType type,
                      std::string_view value) {
  Keys& keys = subtables_[subtable];
  auto at = keys.lower_bound(key);
  const bool is_new = at == keys.end() || at->newest->key() != key;
  WritePtr made = Write::New(last_ + 1, key, type, value);
  if (!is_new && (marks_.empty() || at->newest->number > marks_.back().last)) {
    ++last_;
    bytes_ += value.size();
    bytes_ -= at->newest->value().size();
    made->older = std::move(at->newest->older);
    at->newest = std::move(made);
    return;
  }
  // Nothing changes before there is memory for all.
  std::forward_list<Entry> entry;
  if (!marks_.empty()) {
    entry.emplace_front(&keys, at);
  }
  if (is_new) {
    at = keys.emplace_hint(at, Key{std::move(made)});
    ++keys_;
  } else {
    made->older = std::move(at->newest);
    at->newest = std::move(made);
  }
  ++last_;
  bytes_ += Cost(key, value);
  if (!marks_.empty()) {
    entry.front().second = at;
    marks_.back().entries.splice_after(marks_.back().entries.before_begin(), entry);
    ++marks_.back().entry_count;
  }
}

const WriteBuffer::Write* WriteBuffer::Find(uint32_t subtable, std::string_view key) const {
  const auto keys = subtables_.find(subtable);
  if (keys == subtables_.end()) {
    return nullptr;
  }
  const auto at = keys->second.find(key);
  return at != keys->second.end() ? at->newest.get() : nullptr;
}

WriteBuffer::Marks::iterator WriteBuffer::MarkNow() {
  if (marks_.empty() || !marks_.back().entries.empty()) {
    marks_.push_back({.last = last_});
  }
  return std::prev(marks_.end());
}

void WriteBuffer::SetSavepoint() { ++MarkNow()->savepoints; }

WriteBuffer::Marks::iterator WriteBuffer::NewestSavepoint() {
  const auto found = std::find_if(marks_.rbegin(), marks_.rend(),
                                  [](const Mark& mark) { return mark.savepoints > 0; });
  return found == marks_.rend() ? marks_.end() : std::prev(found.base());
}

bool WriteBuffer::ReleaseSavepoint() {
  const auto savepoint = NewestSavepoint();
  if (savepoint == marks_.end()) {
    return false;
  }
  --savepoint->savepoints;
  Forget(savepoint);
  return true;
}

// If nobody needs the mark any more.
void WriteBuffer::Forget(Marks::iterator mark) {
  if (mark->savepoints > 0 || mark->iterators > 0) {
    return;
  }
  DropBefore(mark);
  marks_.erase(mark);
}

void WriteBuffer::DropOlder(Write* write) {
  bytes_ -= Cost(write->older->key(), write->older->value());
  write->older = std::move(write->older->older);
}

// Writes behind a mark that is about to go have taken the place of those between it and the mark
// before, which nobody will look at. The shorter of these two lists is walked: each of many savepoints
// in one another would else walk all that came after it.
void WriteBuffer::DropBefore(Marks::iterator mark) {
  const uint64_t next = std::next(mark) == marks_.end() ? last_ : std::next(mark)->last;
  const bool first = mark == marks_.begin();
  const uint64_t before = first ? 0 : std::prev(mark)->last;
  // True if there were both, and the older one is gone.
  const auto drops = [&](const Entry& entry) {
    Write* write = entry.second->newest.get();
    while (write != nullptr && write->number > next) {
      write = write->older.get();
    }
    if (write == nullptr || write->number <= mark->last || write->older == nullptr ||
        write->older->number <= before) {
      return false;
    }
    DropOlder(write);
    return true;
  };
  if (first) {
    std::for_each(mark->entries.begin(), mark->entries.end(), drops);
    return;
  }
  Mark& other = *std::prev(mark);
  if (mark->entry_count > other.entry_count) {
    std::swap(mark->entries, other.entries);
    std::swap(mark->entry_count, other.entry_count);
  }
  other.entry_count += mark->entry_count - mark->entries.remove_if(drops);
  other.entries.splice_after(other.entries.before_begin(), mark->entries);
}

bool WriteBuffer::RollbackToSavepoint() {
  const auto savepoint = NewestSavepoint();
  if (savepoint == marks_.end()) {
    return false;
  }
  const auto iterators = IteratorsBefore(marks_.end());
  for (auto mark = marks_.end(); mark != savepoint;) {
    --mark;
    for (const Entry& entry : std::exchange(mark->entries, {})) {
      Undo(entry, iterators);
    }
    mark->entry_count = 0;
  }
  --savepoint->savepoints;
  Forget(savepoint);
  ++rollbacks_;
  return true;
}

void WriteBuffer::Clear() {
  if (iterators_ == 0) {
    subtables_.clear();
    marks_.clear();
    keys_ = 0;
    bytes_ = 0;
  }
}

void WriteBuffer::Undo(const Entry& entry, Marks::iterator iterators) {
  const auto& [keys, at] = entry;
  WritePtr undone = std::move(at->newest);
  if (undone->older != nullptr) {
    at->newest = std::move(undone->older);
  } else {
    keys->erase(at);
    --keys_;
  }
  KeepFor(iterators, std::move(undone));
}

// As long as they live that may stand at a write which was undone.
void WriteBuffer::KeepFor(Marks::iterator iterators, WritePtr undone) {
  if (iterators == marks_.end() || iterators->last < undone->number) {
    bytes_ -= Cost(undone->key(), undone->value());
  } else {
    undone->older = std::move(iterators->undone);
    iterators->undone = std::move(undone);
  }
}

WriteBuffer::Marks::iterator WriteBuffer::IteratorsBefore(Marks::iterator mark) {
  while (mark != marks_.begin()) {
    if ((--mark)->iterators > 0) {
      return mark;
    }
  }
  return marks_.end();
}

void WriteBuffer::EndIterator(Marks::iterator mark) {
  --iterators_;
  if (--mark->iterators > 0) {
    return;
  }
  if (mark->undone != nullptr) {
    const auto before = IteratorsBefore(mark);
    for (WritePtr undone = std::move(mark->undone); undone != nullptr;) {
      WritePtr next = std::move(undone->older);
      KeepFor(before, std::move(undone));
      undone = std::move(next);
    }
  }
  Forget(mark);
}

class WriteBuffer::Iterator final : public RecordIterator {
 public:
  Iterator(WriteBuffer* buffer, Keys* keys)
      : buffer_(*buffer),
        keys_(*keys),
        mark_(buffer->MarkNow()),
        last_(mark_->last),
        rollbacks_(buffer->rollbacks_) {
    ++mark_->iterators;
    ++buffer_.iterators_;
  }
  ~Iterator() override { buffer_.EndIterator(mark_); }

  void SeekToFirst() override { FindForward(keys_.begin()); }
  void SeekToLast() override { FindBackward(keys_.end()); }
  void Seek(std::string_view user_key) override { FindForward(keys_.lower_bound(user_key)); }
  void SeekForPrev(std::string_view user_key) override {
    FindBackward(keys_.upper_bound(user_key));
  }
  void Next() override {
    FindForward(Undisturbed() ? std::next(at_) : keys_.upper_bound(user_key()));
  }
  void Prev() override { FindBackward(Undisturbed() ? at_ : keys_.lower_bound(user_key())); }

 private:
  // Whether the key where this stands cannot have been taken away.
  bool Undisturbed() const { return rollbacks_ == buffer_.rollbacks_; }
  bool LookAt(Keys::iterator at) {
    const Write* write = at->newest.get();
    while (write != nullptr && write->number > last_) {
      write = write->older.get();
    }
    if (write == nullptr) {
      return false;
    }
    at_ = at;
    rollbacks_ = buffer_.rollbacks_;
    Set(write->key(), MakeTrailer(kMaxSequence, write->type), write->value());
    return true;
  }
  // The first key at or after `at` that was written before this was made.
  void FindForward(Keys::iterator at) {
    for (SetNone(); at != keys_.end() && !LookAt(at);) {
      ++at;
    }
  }
  // The last one in front of `at`.
  void FindBackward(Keys::iterator at) {
    for (SetNone(); at != keys_.begin() && !LookAt(--at);) {
    }
  }

  WriteBuffer& buffer_;
  Keys& keys_;
  const Marks::iterator mark_;
  const uint64_t last_;  // number of the last write that this sees
  uint64_t rollbacks_;   // when it found its key
  Keys::iterator at_;
};

std::unique_ptr<RecordIterator> WriteBuffer::NewIterator(uint32_t subtable) {
  return std::make_unique<Iterator>(this, &subtables_[subtable]);
}

}  // namespace sluice
