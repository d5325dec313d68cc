// Iterators of Python over the engine's.
//
// Records are read ahead without the GIL, few at first, and handed out one by one. Threads may share
// a cursor: each record goes to one of them.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bytes_like.h"
#include "snapshot.h"
#include "state.h"
#include "turn.h"

namespace sluice::python {

class TransactionPart;

// Which keys, and in which order.
struct Range {
  std::optional<std::string> start;  // the first that may come
  std::optional<std::string> stop;   // the first that may not
  bool reverse = false;

  // A prefix excludes bounds: throws if both are given.
  static Range Make(const OptionalBytes& start, const OptionalBytes& stop,
                    const OptionalBytes& prefix, bool reverse);
};

enum class Yields : uint8_t { kItems, kKeys, kValues };

class Cursor final : public Part {
 public:
  Cursor(std::shared_ptr<State> state, Range range, Yields yields);
  ~Cursor() override;

  // Reads what `snapshot`, which may be null, shows of a sub-table.
  void OpenOn(Subtable* subtable, SnapshotPart* snapshot, bool fill_cache);
  // Reads what a transaction sees, whose turn the caller has, and whose turns this takes from now on.
  void OpenOn(TransactionPart* transaction, Subtable* subtable, SnapshotPart* snapshot,
              bool fill_cache);

  // Throws StopIteration at the end.
  nanobind::object Next();
  // Goes on at `key` or behind it, in the order of this cursor.
  void Seek(std::string_view key);
  void Close();
  void Yield(Remains* remains) override;
  // The transaction that it read has ended.
  void Forget() { transaction_ = nullptr; }

 private:
  struct Chunk {
    struct Record {
      size_t begin;  // of its key; its value follows
      size_t key_bytes;
      size_t value_bytes;
    };
    std::string bytes;  // of keys and values, one behind the other
    std::vector<Record> records;
  };

  void SetBounds(ReadOptions* options) const;
  // REQUIRES a turn, and an empty chunk.
  void Fill(std::optional<std::string_view> seek);
  void Read(Chunk* chunk);
  nanobind::object Take();
  [[noreturn]] void ThrowGone() const;

  const Range range_;
  const Yields yields_;
  std::shared_ptr<TurnMutex> turn_ = std::make_shared<TurnMutex>();
  TransactionPart* transaction_ = nullptr;
  std::unique_ptr<Iterator> iterator_;
  bool started_ = false;  // iterator_ stands somewhere
  bool ended_ = false;    // iterator_ has no more records
  size_t read_ahead_ = kFirstReadAhead;

  Chunk chunk_;
  size_t record_ = 0;  // the next one of chunk_

  static constexpr size_t kFirstReadAhead = 2;
  static constexpr size_t kMostReadAhead = 128;
  static constexpr size_t kReadAheadBytes = 16 << 10;
};

}  // namespace sluice::python
