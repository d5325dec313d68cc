// The records of a range that the server has had counted to choose a plan. The scan of the range
// that follows as a rule takes them from here, and need not look for them again.

#pragma once

#include <sluice/db.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::mariadb {

class Session;

class CountedRange {
 public:
  // Counts what the session sees from one key to before the other (empty: no bound), up to `most`
  // records, and keeps what is not too much. If it is not to `keep` anything, what the transaction
  // sees is not fixed by it.
  Status Count(Session* session, Subtable* subtable, bool keep, std::string_view from,
               std::string_view to, uint64_t most, uint64_t* count);
  void Clear();

  // Whether the session's statement, from one key to before the other, sees these records first.
  bool Serves(const Session& session, const Subtable* subtable, std::string_view from,
              std::string_view to) const;

  size_t size() const { return records_.size(); }
  // Whether these are all there are in the range, which ends with to().
  bool all() const { return all_; }
  const std::string& to() const { return to_; }
  // REQUIRES: i < size(). They live until the next Count or Clear.
  std::string_view key(size_t i) const { return View(records_[i].key, records_[i].value); }
  std::string_view value(size_t i) const { return View(records_[i].value, records_[i].end); }

 private:
  // Where the parts of a record begin in bytes_, and where it ends.
  struct Record {
    size_t key;
    size_t value;
    size_t end;
  };

  static constexpr size_t kMostBytes = size_t{64} << 10;
  static constexpr size_t kKeptBytes = size_t{16} << 10;  // of memory, from one range to the next

  void Add(std::string_view key, std::string_view value);
  std::string_view View(size_t begin, size_t end) const {
    return std::string_view(bytes_).substr(begin, end - begin);
  }

  const Subtable* subtable_ = nullptr;
  std::string from_;
  std::string to_;
  uint64_t session_ = 0;
  uint64_t statement_ = 0;  // the session's, and its changes
  uint64_t changes_ = 0;
  std::string bytes_;
  std::vector<Record> records_;
  bool keeps_ = false;  // what is counted
  bool all_ = false;
};

}  // namespace sluice::mariadb
