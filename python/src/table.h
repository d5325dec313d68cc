// A sub-table, and the calls that read and write one.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bytes_like.h"
#include "cursor.h"
#include "snapshot.h"
#include "state.h"

namespace sluice::python {

class Table {
 public:
  // Null: the default sub-table.
  Table(std::shared_ptr<State> state, Subtable* subtable)
      : state_(std::move(state)), subtable_(subtable) {}

  const std::shared_ptr<State>& state() const { return state_; }
  Subtable* subtable() const { return subtable_; }
  // What a call that was given `table`, which may be null, means in the database of `state`.
  static Subtable* Resolve(const State* state, const Table* table);

  // `otherwise` if there is no such key.
  nanobind::object Get(BytesLike key, nanobind::object otherwise, SnapshotPart* snapshot,
                       bool fill_cache) const;
  // As a read-only memoryview of the engine's copy, or None: saves a copy of large values.
  nanobind::object GetView(BytesLike key, SnapshotPart* snapshot) const;
  nanobind::list GetMany(nanobind::iterable keys, SnapshotPart* snapshot) const;
  // Throws KeyError.
  nanobind::object Require(BytesLike key) const;
  bool Contains(BytesLike key) const;
  void Put(BytesLike key, BytesLike value, bool sync) const;
  void Delete(BytesLike key, bool sync) const;
  void DeleteRange(const OptionalBytes& start, const OptionalBytes& stop, bool sync) const;
  Cursor* Iterate(Yields yields, const OptionalBytes& start, const OptionalBytes& stop,
                  const OptionalBytes& prefix, bool reverse, SnapshotPart* snapshot,
                  bool fill_cache) const;

  void Flush() const;
  void Compact(const OptionalBytes& start, const OptionalBytes& stop) const;
  // Records and bytes.
  std::pair<uint64_t, uint64_t> ApproximateSize(const OptionalBytes& start,
                                                const OptionalBytes& stop) const;
  std::string GetProperty(const std::string& name) const;
  nanobind::object GetName() const;

 private:
  // False if there is no such key.
  bool Read(std::string_view key, SnapshotPart* snapshot, bool fill_cache,
            std::string* value) const;

  std::shared_ptr<State> state_;
  Subtable* subtable_;
};

// A value that memoryviews look at.
struct Value {
  std::string bytes;
};

}  // namespace sluice::python
