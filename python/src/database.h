// A database as a whole.

#pragma once

#include <string>

#include "bytes_like.h"
#include "state.h"
#include "table.h"

namespace sluice::python {

// Opens one, and returns its default sub-table. `path` in the encoding of the file system.
Table Open(BytesLike path, const Options& options);

// The following take any sub-table for its database.

void Close(const Table& table);
bool IsClosed(const Table& table);

// Throws NotFoundError if there is none.
Table FindSubtable(const Table& table, nanobind::str name);
void CreateSubtable(const Table& table, nanobind::str name, const SubtableOptions& options);
void DropSubtable(const Table& table, const Table& dropped);
nanobind::list ListSubtables(const Table& table);
nanobind::list ListPrepared(const Table& table);
void WaitForBackgroundWork(const Table& table);
void Checkpoint(const Table& table, BytesLike path);
void Verify(const Table& table);
// Fields by name, for sluice/statistics.py.
nanobind::dict GetStatistics(const Table& table);

// These mean the sub-table itself.
void SetSubtableOptions(const Table& table, const SubtableOptions& options);
SubtableOptions GetSubtableOptions(const Table& table);

void Destroy(BytesLike path, const Options& options);
// Fields of RepairReport by name.
nanobind::dict Repair(BytesLike path, BytesLike to, const Options& options);

}  // namespace sluice::python
