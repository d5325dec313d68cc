// The extension module sluice._core: what sluice/_core.pyi declares. The package around it adds what
// is better said in Python: asynchronous writes, statistics, snapshots that read, documentation.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>

#include "batch.h"
#include "bytes_like.h"
#include "cursor.h"
#include "database.h"
#include "errors.h"
#include "snapshot.h"
#include "state.h"
#include "table.h"
#include "transaction.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace sluice::python {

namespace {

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  std::string& bytes = nb::inst_ptr<Value>(self)->bytes;
  return PyBuffer_FillInfo(view, self, bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                           /*readonly=*/1, flags);
}

PyType_Slot value_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)}, {0, nullptr}};

void BindOptions(nb::module_& m) {
  nb::enum_<Compression>(m, "Compression")
      .value("NONE", Compression::kNone)
      .value("SNAPPY", Compression::kSnappy)
      .value("ZSTD", Compression::kZstd)
      .value("LZ4", Compression::kLz4);
  nb::enum_<Isolation>(m, "Isolation")
      .value("SNAPSHOT", Isolation::kSnapshot)
      .value("READ_COMMITTED", Isolation::kReadCommitted);
  nb::class_<Options>(m, "Options")
      .def(nb::init<>())
      .def_rw("create_if_missing", &Options::create_if_missing)
      .def_rw("error_if_exists", &Options::error_if_exists)
      .def_rw("read_only", &Options::read_only)
      .def_rw("memtable_bytes", &Options::memtable_bytes)
      .def_rw("max_waiting_memtables", &Options::max_waiting_memtables)
      .def_rw("write_buffer_bytes", &Options::write_buffer_bytes)
      .def_rw("row_cache_bytes", &Options::row_cache_bytes)
      .def_rw("block_cache_bytes", &Options::block_cache_bytes)
      .def_rw("table_cache_bytes", &Options::table_cache_bytes)
      .def_rw("direct_io", &Options::direct_io)
      .def_rw("transaction_memory_bytes", &Options::transaction_memory_bytes)
      .def_rw("extent_bytes", &Options::extent_bytes)
      .def_rw("block_bytes", &Options::block_bytes)
      .def_rw("restart_interval", &Options::restart_interval)
      .def_rw("compression", &Options::compression)
      .def_rw("compression_per_level", &Options::compression_per_level)
      .def_rw("zstd_level", &Options::zstd_level)
      .def_rw("zstd_dictionary_bytes", &Options::zstd_dictionary_bytes)
      .def_rw("separate_value_bytes", &Options::separate_value_bytes)
      .def_rw("bloom_bits_per_key", &Options::bloom_bits_per_key)
      .def_rw("prefix_bytes", &Options::prefix_bytes)
      .def_rw("l0_compaction_runs", &Options::l0_compaction_runs)
      .def_rw("l0_slowdown_runs", &Options::l0_slowdown_runs)
      .def_rw("l0_stop_runs", &Options::l0_stop_runs)
      .def_rw("l1_bytes", &Options::l1_bytes)
      .def_rw("max_space_amplification", &Options::max_space_amplification)
      .def_rw("deletion_share", &Options::deletion_share)
      .def_rw("automatic_compactions", &Options::automatic_compactions)
      .def_rw("write_queues", &Options::write_queues)
      .def_rw("compaction_threads", &Options::compaction_threads)
      .def_rw("flush_threads", &Options::flush_threads)
      .def_rw("background_bytes_per_second", &Options::background_bytes_per_second)
      .def_rw("log_segment_bytes", &Options::log_segment_bytes)
      .def_rw("max_log_bytes", &Options::max_log_bytes)
      .def_rw("task_bytes", &Options::task_bytes)
      .def_rw("compaction_bytes", &Options::compaction_bytes)
      .def(
          "set_level_paths",
          [](Options& options, nb::list paths) {
            options.level_paths.clear();
            for (const nb::handle path : paths) {
              const auto bytes = nb::cast<nb::bytes>(path);
              options.level_paths.emplace_back(bytes.c_str(), bytes.size());
            }
          },
          "paths"_a);
  nb::class_<SubtableOptions>(m, "SubtableOptions")
      .def(nb::init<>())
      .def_rw("block_bytes", &SubtableOptions::block_bytes)
      .def_rw("compression", &SubtableOptions::compression)
      .def_rw("compression_per_level", &SubtableOptions::compression_per_level)
      .def_rw("zstd_level", &SubtableOptions::zstd_level)
      .def_rw("zstd_dictionary_bytes", &SubtableOptions::zstd_dictionary_bytes)
      .def_rw("bloom_bits_per_key", &SubtableOptions::bloom_bits_per_key)
      .def_rw("prefix_bytes", &SubtableOptions::prefix_bytes)
      .def_rw("separate_value_bytes", &SubtableOptions::separate_value_bytes)
      .def_rw("offload", &SubtableOptions::offload)
      .def_rw("level_tiers", &SubtableOptions::level_tiers);
}

template <Yields yields>
Cursor* Iterate(const Table& table, OptionalBytes start, OptionalBytes stop, OptionalBytes prefix,
                bool reverse, SnapshotPart* snapshot, bool fill_cache) {
  return table.Iterate(yields, start, stop, prefix, reverse, snapshot, fill_cache);
}

template <Yields yields>
Cursor* IterateTransaction(TransactionPart& transaction, OptionalBytes start, OptionalBytes stop,
                           OptionalBytes prefix, bool reverse, const Table* subtable,
                           SnapshotPart* snapshot, bool fill_cache) {
  return transaction.Iterate(yields, start, stop, prefix, reverse, subtable, snapshot, fill_cache);
}

void BindTables(nb::module_& m) {
  const auto none = nb::none();
  nb::class_<Value>(m, "Value", nb::type_slots(value_slots));
  nb::class_<Table> table(m, "Table");
  table
      .def(
          "__init__",
          [](Table* self, BytesLike path, const Options& options) {
            new (self) Table(Open(path, options));
          },
          "path"_a, "options"_a)
      .def(
          "__init__",
          [](Table* self, const Table& other, nb::str name) {
            new (self) Table(FindSubtable(other, std::move(name)));
          },
          "table"_a, "name"_a)
      .def_prop_ro("name", &Table::GetName)
      .def("get", &Table::Get, "key"_a, "default"_a.none() = none, nb::kw_only(),
           "snapshot"_a = none, "fill_cache"_a = true)
      .def("get_view", &Table::GetView, "key"_a, nb::kw_only(), "snapshot"_a = none)
      .def("get_many", &Table::GetMany, "keys"_a, nb::kw_only(), "snapshot"_a = none)
      .def("put", &Table::Put, "key"_a, "value"_a, nb::kw_only(), "sync"_a = false)
      .def("delete", &Table::Delete, "key"_a, nb::kw_only(), "sync"_a = false)
      .def("delete_range", &Table::DeleteRange, "start"_a.none(), "stop"_a.none(), nb::kw_only(),
           "sync"_a = false)
      .def("flush", &Table::Flush)
      .def("compact", &Table::Compact, "start"_a = none, "stop"_a = none)
      .def("approximate_size", &Table::ApproximateSize, "start"_a = none, "stop"_a = none)
      .def("property", &Table::GetProperty, "name"_a)
      .def("__getitem__", &Table::Require)
      .def("__contains__", &Table::Contains)
      .def("__setitem__",
           [](const Table& t, BytesLike key, BytesLike value) { t.Put(key, value, false); })
      .def("__delitem__", [](const Table& t, BytesLike key) { t.Delete(key, false); })
      .def("__iter__", [](const Table& t) {
        return t.Iterate(Yields::kKeys, {}, {}, {}, false, nullptr, true);
      });
  const auto iterate = [&](const char* name, auto function) {
    table.def(name, function, "start"_a = none, "stop"_a = none, nb::kw_only(), "prefix"_a = none,
              "reverse"_a = false, "snapshot"_a = none, "fill_cache"_a = true);
  };
  iterate("items", &Iterate<Yields::kItems>);
  iterate("keys", &Iterate<Yields::kKeys>);
  iterate("values", &Iterate<Yields::kValues>);
}

void BindReaders(nb::module_& m) {
  nb::class_<SnapshotPart>(m, "Snapshot")
      .def(nb::init<const Table&>(), "table"_a)
      .def_prop_ro("sequence", &SnapshotPart::sequence)
      .def("release", &SnapshotPart::Release);
  nb::class_<Cursor>(m, "Iterator", nb::is_generic())
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Cursor::Next)
      .def(
          "seek", [](Cursor& cursor, BytesLike key) { cursor.Seek(key); }, "key"_a)
      .def("close", &Cursor::Close)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](Cursor& cursor, nb::args) { cursor.Close(); });
}

std::chrono::milliseconds ToMilliseconds(double seconds) {
  constexpr double kMost = 1e9;  // thirty years
  if (!(seconds >= 0)) {
    ThrowInvalidArgument("lock_timeout is negative");
  }
  return std::chrono::milliseconds(std::llround(std::min(seconds, kMost) * 1000));
}

void BindWrites(nb::module_& m) {
  const auto none = nb::none();
  nb::class_<Completions>(m, "Completions")
      .def(nb::init<>())
      .def("fileno", &Completions::fileno)
      .def("take", &Completions::Take);
  nb::class_<Batch>(m, "Batch")
      .def(nb::init<const Table&>(), "table"_a)
      .def("put", &Batch::Put, "key"_a, "value"_a, "subtable"_a = none)
      .def("delete", &Batch::Delete, "key"_a, "subtable"_a = none)
      .def("delete_range", &Batch::DeleteRange, "start"_a.none(), "stop"_a.none(),
           "subtable"_a = none)
      .def("update", &Batch::Update, "items"_a, "subtable"_a = none)
      .def("clear", &Batch::Clear)
      .def("__len__", &Batch::count)
      .def_prop_ro("nbytes", &Batch::bytes)
      .def("__setitem__",
           [](Batch& b, BytesLike key, BytesLike value) { b.Put(key, value, nullptr); })
      .def("__delitem__", [](Batch& b, BytesLike key) { b.Delete(key, nullptr); })
      .def("_write", &Batch::Write, "sync"_a)
      .def("_write_async", &Batch::WriteAsync, "sync"_a, "completions"_a, "id"_a);

  using T = TransactionPart;
  nb::class_<T> transaction(m, "Transaction");
  transaction
      .def(
          "__init__",
          [](T* self, const Table& table, Isolation isolation, double lock_timeout,
             size_t max_bytes, bool sync) {
            new (self) T(table,
                         {.isolation = isolation,
                          .lock_timeout = ToMilliseconds(lock_timeout),
                          .max_bytes = max_bytes},
                         sync);
          },
          "table"_a, "isolation"_a, "lock_timeout"_a, "max_bytes"_a, "sync"_a)
      .def(nb::init<const Table&, BytesLike, bool>(), "table"_a, "prepared"_a, "sync"_a)
      .def_prop_ro("id", &T::id)
      .def_prop_ro("active", &T::active)
      .def_prop_ro("_ended", &T::ended)
      .def(
          "get",
          [](T& t, BytesLike key, nb::object otherwise, const Table* subtable,
             SnapshotPart* snapshot) {
            return t.Get(key, std::move(otherwise), false, subtable, snapshot);
          },
          "key"_a, "default"_a.none() = none, nb::kw_only(), "subtable"_a = none,
          "snapshot"_a = none)
      .def(
          "get_for_update",
          [](T& t, BytesLike key, nb::object otherwise, const Table* subtable) {
            return t.Get(key, std::move(otherwise), true, subtable, nullptr);
          },
          "key"_a, "default"_a.none() = none, nb::kw_only(), "subtable"_a = none)
      .def("put", &T::Put, "key"_a, "value"_a, "subtable"_a = none)
      .def("delete", &T::Delete, "key"_a, "subtable"_a = none)
      .def("__setitem__", [](T& t, BytesLike key, BytesLike value) { t.Put(key, value, nullptr); })
      .def("__delitem__", [](T& t, BytesLike key) { t.Delete(key, nullptr); })
      .def("set_savepoint", &T::SetSavepoint)
      .def("rollback_to_savepoint", &T::RollbackToSavepoint)
      .def("release_savepoint", &T::ReleaseSavepoint)
      .def("prepare", &T::Prepare, "name"_a)
      .def("commit", &T::Commit)
      .def("_commit_async", &T::CommitAsync, "completions"_a, "id"_a)
      .def("rollback", &T::Rollback);
  const auto iterate = [&](const char* name, auto function) {
    transaction.def(name, function, "start"_a = none, "stop"_a = none, nb::kw_only(),
                    "prefix"_a = none, "reverse"_a = false, "subtable"_a = none,
                    "snapshot"_a = none, "fill_cache"_a = true);
  };
  iterate("items", &IterateTransaction<Yields::kItems>);
  iterate("keys", &IterateTransaction<Yields::kKeys>);
  iterate("values", &IterateTransaction<Yields::kValues>);
}

}  // namespace

}  // namespace sluice::python

NB_MODULE(_core, m) {
  using namespace sluice::python;
  // A process that ends with an open database is nothing to warn of: the package closes it.
  nb::set_leak_warnings(false);
  ImportErrors();
  BindOptions(m);
  BindTables(m);
  BindReaders(m);
  BindWrites(m);
  m.def("close", &Close, "table"_a);
  m.def("is_closed", &IsClosed, "table"_a);
  m.def("close_all", &State::CloseAll);
  m.def("create_subtable", &CreateSubtable, "table"_a, "name"_a, "options"_a);
  m.def("set_subtable_options", &SetSubtableOptions, "table"_a, "options"_a);
  m.def("get_subtable_options", &GetSubtableOptions, "table"_a);
  m.def("drop_subtable", &DropSubtable, "table"_a, "dropped"_a);
  m.def("list_subtables", &ListSubtables, "table"_a);
  m.def("list_prepared", &ListPrepared, "table"_a);
  m.def("wait_for_background_work", &WaitForBackgroundWork, "table"_a);
  m.def("checkpoint", &Checkpoint, "table"_a, "path"_a);
  m.def("verify", &Verify, "table"_a);
  m.def("get_statistics", &GetStatistics, "table"_a);
  m.def("destroy", &Destroy, "path"_a, "options"_a);
  m.def("repair", &Repair, "path"_a, "to"_a, "options"_a);
}
