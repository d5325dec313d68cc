#include "txn/write_buffer.h"

#include <new>

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
  WritePtr made = Write::New(++last_, key, type, value);
  if (at == keys.end() || at->newest->key() != key) {
    at = keys.emplace_hint(at, Key{std::move(made)});
    ++keys_;
  } else if (at->newest->number > LastSeen()) {
    bytes_ += value.size();
    bytes_ -= at->newest->value().size();
    made->older = std::move(at->newest->older);
    at->newest = std::move(made);
    return;
  } else {
    made->older = std::move(at->newest);
    at->newest = std::move(made);
  }
  bytes_ += Cost(key, value);
  if (!savepoints_.empty()) {
    undo_.emplace_back(&keys, at);
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

void WriteBuffer::SetSavepoint() {
  if (!savepoints_.empty() && savepoints_.back().undo == undo_.size()) {
    ++savepoints_.back().count;
  } else {
    savepoints_.push_back({last_, undo_.size()});
  }
}

void WriteBuffer::PopSavepoint() {
  if (--savepoints_.back().count == 0) {
    savepoints_.pop_back();
  }
}

bool WriteBuffer::ReleaseSavepoint() {
  if (savepoints_.empty()) {
    return false;
  }
  const Savepoint released = savepoints_.back();
  PopSavepoint();
  if (savepoints_.empty()) {
    if (iterators_ == 0) {
      DropAllBefore();
    }
    undo_.clear();
  } else if (iterators_ == 0 && savepoints_.back().undo < released.undo) {
    DropBetweenSavepoints(released);
  }
  return true;
}

// No savepoint is left: nobody can return to what the writes of undo_ have taken the place of.
void WriteBuffer::DropAllBefore() {
  for (const auto& undo : undo_) {
    Write& newest = *undo.second->newest;
    while (newest.older != nullptr) {
      bytes_ -= Cost(newest.older->key(), newest.older->value());
      newest.older = std::move(newest.older->older);
    }
  }
}

// Writes after the savepoint that is gone have taken the place of those between it and the savepoint
// before it, which nobody can return to. The shorter of these two parts of undo_ is walked: each of
// many savepoints in one another would else walk all that came after it.
void WriteBuffer::DropBetweenSavepoints(const Savepoint& released) {
  const Savepoint& before = savepoints_.back();
  const auto drops = [&](const auto& undo) {
    Write& newest = *undo.second->newest;
    if (newest.number <= released.last || newest.older == nullptr ||
        newest.older->number <= before.last) {
      return false;
    }
    bytes_ -= Cost(newest.older->key(), newest.older->value());
    newest.older = std::move(newest.older->older);
    return true;
  };
  const bool older = released.undo - before.undo < undo_.size() - released.undo;
  const size_t begin = older ? before.undo : released.undo;
  for (size_t i = older ? released.undo : undo_.size(); i-- > begin;) {
    if (drops(undo_[i])) {
      undo_[i] = undo_.back();  // between two savepoints, all are undone or none
      undo_.pop_back();
    }
  }
}

bool WriteBuffer::RollbackToSavepoint() {
  if (savepoints_.empty()) {
    return false;
  }
  for (; undo_.size() > savepoints_.back().undo; undo_.pop_back()) {
    Undo(undo_.back().first, undo_.back().second);
  }
  PopSavepoint();
  ++rollbacks_;
  return true;
}

void WriteBuffer::Clear() {
  if (iterators_ == 0) {
    subtables_.clear();
    savepoints_ = {};
    undo_ = {};
    keys_ = 0;
    bytes_ = 0;
  }
}

void WriteBuffer::Undo(Keys* keys, Keys::iterator at) {
  WritePtr undone = std::move(at->newest);
  const size_t bytes = Cost(undone->key(), undone->value());
  if (undone->older != nullptr) {
    at->newest = std::move(undone->older);
  } else {
    keys->erase(at);
    --keys_;
  }
  if (iterators_ > 0) {
    undone_writes_.push_back(std::move(undone));
    undone_bytes_ += bytes;
  } else {
    bytes_ -= bytes;
  }
}

class WriteBuffer::Iterator final : public RecordIterator {
 public:
  Iterator(WriteBuffer* buffer, Keys* keys)
      : buffer_(*buffer), keys_(*keys), last_(buffer->last_), rollbacks_(buffer->rollbacks_) {
    ++buffer_.iterators_;
    buffer_.iterators_last_ = last_;
  }
  ~Iterator() override {
    if (--buffer_.iterators_ == 0) {
      buffer_.undone_writes_.clear();
      buffer_.bytes_ -= std::exchange(buffer_.undone_bytes_, 0);
    }
  }

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
  const uint64_t last_;  // number of the last write that this sees
  uint64_t rollbacks_;   // when it found its key
  Keys::iterator at_;
};

std::unique_ptr<RecordIterator> WriteBuffer::NewIterator(uint32_t subtable) {
  return std::make_unique<Iterator>(this, &subtables_[subtable]);
}

}  // namespace sluice
