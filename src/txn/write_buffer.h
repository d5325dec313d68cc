// The transaction buffer (X-Engine 3): the writes of a transaction until it commits, by sub-table
// and key, with what savepoints and iterators need of the versions before.
//
// A write takes the place of an earlier one of its key, unless a savepoint or an iterator came in
// between: then both are kept, until those are gone. So a counter that is written a million times
// takes the memory of one, even if each time is a statement with a savepoint and iterators of its own.
//
// Thread-compatible. Costs O(log keys) for a read or write, and, when a savepoint or an iterator goes,
// O(log) for each write that it kept apart from others, times the marks that are younger.

#pragma once

#include <cstdint>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "table/internal_key.h"
#include "table/record_iterator.h"

namespace sluice {

class WriteBuffer {
 public:
  class Write;
  struct Delete {
    void operator()(Write* write) const;
  };
  using WritePtr = std::unique_ptr<Write, Delete>;

  // Key and value are in the same piece of memory, right behind it.
  class Write {
   public:
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;

    std::string_view key() const { return {Bytes(), key_bytes_}; }
    std::string_view value() const { return {Bytes() + key_bytes_, value_bytes_}; }

    uint64_t number;  // of all in the buffer, ascending
    RecordType type;
    WritePtr older;

   private:
    friend class WriteBuffer;
    Write(uint64_t its_number, RecordType its_type, std::string_view key, std::string_view value);
    static WritePtr New(uint64_t number, std::string_view key, RecordType type,
                        std::string_view value);
    const char* Bytes() const { return reinterpret_cast<const char*>(this + 1); }

    const uint32_t key_bytes_;
    const uint32_t value_bytes_;
  };

  // What a write adds to bytes(), at most.
  static size_t Cost(std::string_view key, std::string_view value) {
    return kWriteBytes + key.size() + value.size();
  }

  void Add(uint32_t subtable, std::string_view key, RecordType type, std::string_view value);
  // The newest write of the key; null if there is none. Valid until the buffer changes.
  const Write* Find(uint32_t subtable, std::string_view key) const;

  void SetSavepoint();
  // False if there is none. Both take the newest one off.
  bool RollbackToSavepoint();
  bool ReleaseSavepoint();

  // Forgets all. While there are iterators it keeps all that they may show, and its memory.
  void Clear();

  // Walks the writes that there are now, as a reader of one state would; tombstones too. Their
  // trailers are newer than those of anything that is committed. Writes may go on; what is rolled
  // back may be missed from then on. Destroyed before the buffer.
  std::unique_ptr<RecordIterator> NewIterator(uint32_t subtable);

  bool empty() const { return keys_ == 0; }
  uint64_t keys() const { return keys_; }  // written
  size_t bytes() const { return bytes_; }  // what iterators keep from being freed, too
  // The newest write of each key: `call(subtable, write)`.
  template <typename F>
  void ForEach(const F& call) const {
    for (const auto& [subtable, keys] : subtables_) {
      for (const Key& key : keys) {
        call(subtable, *key.newest);
      }
    }
  }

 private:
  class Iterator;
  struct Key {
    mutable WritePtr newest;  // all of its writes have the same key
  };
  struct Less {
    using is_transparent = void;
    static std::string_view Of(const Key& key) { return key.newest->key(); }
    static std::string_view Of(std::string_view key) { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Of(a) < Of(b);
    }
  };
  using Keys = std::set<Key, Less>;

  // The newest write of this key took no other's place.
  using Entry = std::pair<Keys*, Keys::iterator>;
  // A state that somebody may look at, or return to: savepoints and iterators between which nothing
  // was written have one together. Of the writes between two marks, and after the last one, there is
  // one of each key at most.
  struct Mark {
    uint64_t last;  // number of the last write that it has
    uint64_t savepoints = 0;
    uint64_t iterators = 0;
    std::forward_list<Entry> entries{};  // of the writes up to the next mark, in no order
    size_t entry_count = 0;
    WritePtr undone{};  // writes where its iterators may stand, one the older of the other
  };
  using Marks = std::list<Mark>;

  // A generous estimate of what nodes take per write.
  static constexpr size_t kWriteBytes = 144;

  Marks::iterator MarkNow();
  Marks::iterator NewestSavepoint();  // end() if there is none
  // The newest one in front of `mark` that has iterators; end() if there is none.
  Marks::iterator IteratorsBefore(Marks::iterator mark);
  void EndIterator(Marks::iterator mark);
  void Forget(Marks::iterator mark);
  void DropBefore(Marks::iterator mark);
  void DropOlder(Write* write);
  void Undo(const Entry& entry, Marks::iterator iterators);
  void KeepFor(Marks::iterator iterators, WritePtr undone);

  std::map<uint32_t, Keys> subtables_;
  uint64_t last_ = 0;  // number of the last write
  uint64_t keys_ = 0;
  size_t bytes_ = 0;

  Marks marks_;             // oldest first
  uint64_t iterators_ = 0;  // alive
  uint64_t rollbacks_ = 0;  // that took away keys where iterators may stand
};

}  // namespace sluice
