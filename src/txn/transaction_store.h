// What transactions need of the database that they belong to.
//
// A null sub-table is the default one. All of it is thread-safe.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_format.h"
#include "sluice/db.h"
#include "table/internal_key.h"
#include "table/record_iterator.h"

namespace sluice {

class TransactionStore {
 public:
  // The sub-table itself; the default one for null.
  virtual Subtable* Resolve(Subtable* subtable) const = 0;
  // Null if there is none, or it was dropped.
  virtual Subtable* FindSubtable(uint32_t id) = 0;

  // InvalidArgument if the database is opened read-only.
  virtual Status CheckWritable() const = 0;
  // Whether a write of this may go into a batch: the sub-table lives, the sizes are within limits.
  virtual Status CheckWrite(const Subtable& subtable, std::string_view key,
                            std::string_view value) const = 0;

  virtual Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                     std::string* value) = 0;
  virtual std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                                       const std::vector<std::string_view>& keys,
                                       std::vector<std::string>* values) = 0;
  // `newest` (may be null) hides what the sub-table has of the same keys.
  virtual std::unique_ptr<Iterator> IteratorOver(std::unique_ptr<RecordIterator> newest,
                                                 const ReadOptions& options,
                                                 Subtable* subtable) = 0;
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;
  // Whether there is a version of the key that `since`, a snapshot that is held, does not see, be
  // it visible yet or not.
  virtual Status ChangedSince(Subtable* subtable, std::string_view key, SequenceNumber since,
                              bool* changed) = 0;

  // The same of any key from `begin` to before `end`; empty: no bound.
  virtual Status RangeChangedSince(Subtable* subtable, std::string_view begin, std::string_view end,
                                   SequenceNumber since, bool* changed) = 0;

  // The end of the log: a record that is written from now on does not begin before.
  virtual LogPosition LogEnd() const = 0;
  // Writes `record` (batch_format.h), which has `count` writes. Returns when these are visible,
  // and durable if `sync`.
  virtual Status WriteRecord(std::string_view record, uint32_t count, bool sync) = 0;
  // Calls `callback` then, from some thread; it must neither block nor write.
  virtual void WriteRecordAsync(std::string record, uint32_t count, bool sync,
                                WriteCallback callback) = 0;

 protected:
  ~TransactionStore() = default;
};

}  // namespace sluice
