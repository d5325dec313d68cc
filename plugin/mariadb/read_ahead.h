// Rows that a scan of an index reads together: those of the entries that come next, one at first, and
// twice as many each time, up to as many as the database reads from its device at once, or to some
// memory: as many as would have room in it if all were as long as the longest of the rows before.
//
// Changes that the transaction makes meanwhile are seen, as by a scan that reads one row after the
// other; entries stay those that there were.

#pragma once

#include <sluice/db.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::mariadb {

class Session;

class ReadAhead {
 public:
  // The next scan reads one row at first. No entries are left.
  void Restart();
  // Forgets the entries that are left; the scan goes on elsewhere.
  void Clear();

  // Begins a batch: entries one way, of the session's statement. REQUIRES: empty().
  void Begin(const Session& session, bool forwards);
  bool full() const { return size_ == wanted_; }
  void Add(std::string_view entry, std::string_view row_key);
  // Reads the rows of the batch.
  void Read(Session* session, Subtable* rows);

  bool empty() const { return next_ == size_; }
  // Whether the batch was begun so; what is left of another one cannot be gone on with.
  bool Continues(const Session& session, bool forwards) const;
  // The key of the next entry. REQUIRES: !empty()
  std::string_view entry() const { return batch_[next_].entry; }
  // Takes the next entry: its row's key and, if the Status is ok, the row. REQUIRES: !empty()
  Status Take(Session* session, Subtable* rows, std::string* row_key, std::string* row);
  // The key of the entry that was taken last.
  const std::string& taken() const { return taken_; }

 private:
  struct Row {
    std::string entry;
    std::string key;
    std::string value;
    Status status;
  };

  static constexpr size_t kMost = 32;
  static constexpr size_t kMostBytes = size_t{256} << 10;

  void ReadBatch(Session* session, Subtable* rows);

  std::vector<Row> batch_;  // keeps its strings' memory
  size_t size_ = 0;         // of the batch
  size_t next_ = 0;
  size_t wanted_ = 1;
  bool forwards_ = true;
  uint64_t statement_ = 0;
  uint64_t changes_ = 0;  // the session's, when the rows were read
  std::string taken_;
};

}  // namespace sluice::mariadb
