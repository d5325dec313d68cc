// Batches of writes, and asynchronous writes.

#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bytes_like.h"
#include "state.h"
#include "table.h"

namespace sluice::python {

// The outcomes of asynchronous writes, for an event loop that waits until its descriptor is
// readable. Threads of the engine post them: without the GIL, which they would have to wait for.
class Completions {
 public:
  using Id = uint64_t;

  Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;
  ~Completions();

  int fileno() const { return event_; }
  void Post(Id id, const Status& status);
  // [(id, exception or None)] since the last call.
  nanobind::list Take();

 private:
  const int event_;
  std::mutex mutex_;
  std::vector<std::pair<Id, Status>> done_;
};

class Batch {
 public:
  explicit Batch(const Table& table) : state_(table.state()), subtable_(table.subtable()) {}

  void Put(BytesLike key, BytesLike value, const Table* table);
  void Delete(BytesLike key, const Table* table);
  void DeleteRange(const OptionalBytes& start, const OptionalBytes& stop, const Table* table);
  // Puts the items of a mapping, or pairs.
  void Update(nanobind::object items, const Table* table);
  void Clear() { writes_.Clear(); }
  size_t count() const { return writes_.count(); }
  size_t bytes() const { return writes_.bytes(); }

  // Empties the batch, unless it fails.
  void Write(bool sync);
  // Empties the batch, and posts the outcome to `completions`.
  void WriteAsync(bool sync, const std::shared_ptr<Completions>& completions, Completions::Id id);

 private:
  const Subtable* Target(const Table* table) const;

  const std::shared_ptr<State> state_;
  Subtable* const subtable_;
  WriteBatch writes_;
};

// Throws InvalidArgumentError: what is longer could not even be told from something shorter.
void CheckSizes(std::string_view key, std::string_view value);

}  // namespace sluice::python
