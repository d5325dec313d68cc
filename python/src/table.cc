#include "table.h"

#include <utility>
#include <vector>

namespace sluice::python {

namespace nb = nanobind;

namespace {

// Where reads leave values until they are bytes of Python. Kept by each thread, unless it is large.
constexpr size_t kMostKept = 256 << 10;

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (Kept().capacity() > kMostKept) {
      std::string().swap(Kept());
    }
  }
  std::string& operator*() const { return Kept(); }

 private:
  static std::string& Kept() {
    thread_local std::string kept;
    return kept;
  }
};

}  // namespace

Subtable* Table::Resolve(const State* state, const Table* table) {
  if (table == nullptr) {
    return nullptr;
  }
  if (table->state().get() != state) {
    ThrowInvalidArgument("the sub-table is one of another database");
  }
  return table->subtable();
}

bool Table::Read(std::string_view key, SnapshotPart* snapshot, bool fill_cache,
                 std::string* value) const {
  Status status;
  {
    const SnapshotPart::Pin pin(state_.get(), snapshot);
    const Call call(state_.get());
    const nb::gil_scoped_release release;
    status =
        state_->db()->Get({.snapshot = pin.get(), .fill_cache = fill_cache}, subtable_, key, value);
  }
  if (status.IsNotFound()) {
    return false;
  }
  ThrowIfError(status);
  return true;
}

nb::object Table::Get(BytesLike key, nb::object otherwise, SnapshotPart* snapshot,
                      bool fill_cache) const {
  const Scratch value;
  return Read(key, snapshot, fill_cache, &*value) ? ToBytes(*value) : std::move(otherwise);
}

nb::object Table::GetView(BytesLike key, SnapshotPart* snapshot) const {
  Value value;
  if (!Read(key, snapshot, true, &value.bytes)) {
    return nb::none();
  }
  const nb::object owner = nb::cast(std::move(value));
  PyObject* const view = PyMemoryView_FromObject(owner.ptr());
  if (view == nullptr) {
    throw nb::python_error();
  }
  return nb::steal(view);
}

nb::list Table::GetMany(nb::iterable keys, SnapshotPart* snapshot) const {
  // Copies, for what the iterable makes may not outlive the step that made it.
  std::vector<std::string> copies;
  for (const nb::handle key : keys) {
    nb::detail::make_caster<BytesLike> bytes;
    if (!bytes.from_python(key, 0, nullptr)) {
      throw nb::type_error("get_many: expected bytes-like keys");
    }
    copies.emplace_back(static_cast<BytesLike>(bytes).view);
  }
  const std::vector<std::string_view> views(copies.begin(), copies.end());
  std::vector<std::string> values;
  std::vector<Status> statuses;
  {
    const SnapshotPart::Pin pin(state_.get(), snapshot);
    const Call call(state_.get());
    const nb::gil_scoped_release release;
    statuses = state_->db()->MultiGet({.snapshot = pin.get()}, subtable_, views, &values);
  }
  nb::list result;
  for (size_t i = 0; i < statuses.size(); ++i) {
    if (statuses[i].IsNotFound()) {
      result.append(nb::none());
    } else {
      ThrowIfError(statuses[i]);
      result.append(ToBytes(values[i]));
    }
  }
  return result;
}

nb::object Table::Require(BytesLike key) const {
  const Scratch value;
  if (!Read(key, nullptr, true, &*value)) {
    PyErr_SetObject(PyExc_KeyError, ToBytes(key).ptr());
    throw nb::python_error();
  }
  return ToBytes(*value);
}

bool Table::Contains(BytesLike key) const {
  const Scratch value;
  return Read(key, nullptr, true, &*value);
}

void Table::Put(BytesLike key, BytesLike value, bool sync) const {
  Run(state_.get(),
      [&](DB* db) { return db->Put({.sync = sync}, subtable_, key.view, value.view); });
}

void Table::Delete(BytesLike key, bool sync) const {
  Run(state_.get(), [&](DB* db) { return db->Delete({.sync = sync}, subtable_, key.view); });
}

void Table::DeleteRange(const OptionalBytes& start, const OptionalBytes& stop, bool sync) const {
  if (stop.given && stop.view.empty()) {
    return;  // as for Compact
  }
  Run(state_.get(),
      [&](DB* db) { return db->DeleteRange({.sync = sync}, subtable_, start.view, stop.view); });
}

Cursor* Table::Iterate(Yields yields, const OptionalBytes& start, const OptionalBytes& stop,
                       const OptionalBytes& prefix, bool reverse, SnapshotPart* snapshot,
                       bool fill_cache) const {
  auto cursor = std::make_unique<Cursor>(state_, Range::Make(start, stop, prefix, reverse), yields);
  cursor->OpenOn(subtable_, snapshot, fill_cache);
  return cursor.release();
}

void Table::Flush() const {
  Run(state_.get(), [&](DB* db) { return db->Flush(subtable_); });
}

void Table::Compact(const OptionalBytes& start, const OptionalBytes& stop) const {
  if (stop.given && stop.view.empty()) {
    return;  // no key is below it, but the engine takes it for no bound
  }
  Run(state_.get(), [&](DB* db) { return db->CompactRange(subtable_, start.view, stop.view); });
}

std::pair<uint64_t, uint64_t> Table::ApproximateSize(const OptionalBytes& start,
                                                     const OptionalBytes& stop) const {
  RangeSize size;
  Run(state_.get(), [&](DB* db) {
    if (!stop.given || !stop.view.empty()) {  // as for Compact
      size = db->ApproximateSize(subtable_, start.view, stop.view);
    }
    return Status();
  });
  return {size.records, size.bytes};
}

std::string Table::GetProperty(const std::string& name) const {
  std::string value;
  Run(state_.get(), [&](DB* db) { return db->GetProperty(subtable_, name, &value); });
  return value;
}

nb::object Table::GetName() const {
  state_->CheckOpen();
  return ToText(subtable_ != nullptr ? subtable_->name() : kDefaultSubtable);
}

}  // namespace sluice::python
