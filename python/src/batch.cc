#include "batch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace sluice::python {

namespace nb = nanobind;

Completions::Completions() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (event_ < 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
}

Completions::~Completions() { ::close(event_); }

void Completions::Post(Id id, const Status& status) {
  const std::lock_guard lock(mutex_);
  done_.emplace_back(id, status);
  if (done_.size() == 1) {
    (void)::eventfd_write(event_, 1);  // fails only where 2^64 are not taken
  }
}

nb::list Completions::Take() {
  std::vector<std::pair<Id, Status>> done;
  {
    // Who posts holds the lock for a moment, and never waits for the GIL.
    const std::lock_guard lock(mutex_);
    eventfd_t ignored;
    (void)::eventfd_read(event_, &ignored);
    done.swap(done_);
  }
  nb::list result;
  for (const auto& [id, status] : done) {
    result.append(nb::make_tuple(id, status.ok() ? nb::none() : MakeError(status)));
  }
  return result;
}

void CheckSizes(std::string_view key, std::string_view value) {
  if (key.size() > kMaxKeyBytes) {
    ThrowInvalidArgument("key of " + std::to_string(key.size()) + " bytes; the most is " +
                         std::to_string(kMaxKeyBytes));
  }
  if (value.size() > kMaxValueBytes) {
    ThrowInvalidArgument("value of " + std::to_string(value.size()) + " bytes; the most is " +
                         std::to_string(kMaxValueBytes));
  }
}

const Subtable* Batch::Target(const Table* table) const {
  return table == nullptr ? subtable_ : Table::Resolve(state_.get(), table);
}

void Batch::Put(BytesLike key, BytesLike value, const Table* table) {
  state_->CheckOpen();
  CheckSizes(key, value);
  writes_.Put(Target(table), key.view, value.view);
}

void Batch::Delete(BytesLike key, const Table* table) {
  state_->CheckOpen();
  CheckSizes(key, {});
  writes_.Delete(Target(table), key.view);
}

void Batch::DeleteRange(const OptionalBytes& start, const OptionalBytes& stop, const Table* table) {
  state_->CheckOpen();
  CheckSizes(start.view, {});
  CheckSizes(stop.view, {});
  const Subtable* const target = Target(table);
  if (!stop.given || !stop.view.empty()) {  // the engine takes an empty one for no bound
    writes_.DeleteRange(target, start.view, stop.view);
  }
}

void Batch::Update(nb::object items, const Table* table) {
  if (nb::hasattr(items, "items")) {
    items = items.attr("items")();
  }
  for (const nb::handle item : items) {
    if (PyTuple_Check(item.ptr()) && PyTuple_Size(item.ptr()) == 2) {
      // What the casters export lives until the end of the statement.
      nb::detail::make_caster<BytesLike> key;
      nb::detail::make_caster<BytesLike> value;
      if (key.from_python(PyTuple_GetItem(item.ptr(), 0), 0, nullptr) &&
          value.from_python(PyTuple_GetItem(item.ptr(), 1), 0, nullptr)) {
        Put(static_cast<BytesLike>(key), static_cast<BytesLike>(value), table);
        continue;
      }
    }
    throw nb::type_error("update: expected a mapping, or pairs, of bytes-like objects");
  }
}

void Batch::Write(bool sync) {
  // Other threads may go on adding to the batch, which must not change under the engine's hands.
  WriteBatch writes = std::exchange(writes_, {});
  try {
    Run(state_.get(), [&](DB* db) { return db->Write({.sync = sync}, writes); });
  } catch (...) {
    if (writes_.count() == 0) {
      writes_ = std::move(writes);
    }
    throw;
  }
}

void Batch::WriteAsync(bool sync, const std::shared_ptr<Completions>& completions,
                       Completions::Id id) {
  const Call call(state_.get());
  WriteBatch writes = std::exchange(writes_, {});
  state_->calls()->Enter();  // until the engine is done with it
  const nb::gil_scoped_release release;
  state_->db()->WriteAsync({.sync = sync}, std::move(writes),
                           [calls = state_->calls(), completions, id](const Status& status) {
                             completions->Post(id, status);
                             calls->Leave();
                           });
}

}  // namespace sluice::python
