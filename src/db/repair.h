// DB::Repair: saves what can be read of a database into a new one.
//
//  1. The metadata log is read as far as it makes sense. Should CURRENT not say where it begins,
//     the last whole state in it is taken. Directories of levels that are another database's are
//     left alone. If no state is left, extents are looked for in the data files (table_scan.h).
//     Among them may be some that a compaction had replaced, or range deletions cut, and what was
//     deleted since then may come back; sub-tables have lost their names.
//  2. Of each sub-table, the newest version of each key among all blocks that can be read goes to
//     the new database, unless it is a deletion. Levels do not matter: sequence numbers say what is
//     newest.
//  3. What the redo log has beyond the extents follows, up to the first damage in it, and then the
//     transactions that were prepared.
//
// The damaged database is only read. Thread-compatible.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "tree/data_dir.h"
#include "tree/extent_reader.h"
#include "tree/extent_space.h"
#include "tree/metadata.h"
#include "write/batch_format.h"

namespace sluice {

class Repairer {
 public:
  Repairer(const Options& options, std::string path, std::string to, RepairReport* report);
  ~Repairer();

  Status Run();

 private:
  Status ReadMetadata();
  Status OpenSpace();
  void AdoptExtents();
  Status FindExtents();
  Status FindValueExtents(std::map<uint32_t, std::shared_ptr<ValueShares>>* values);
  Status FindLog();
  void FindFlushed();
  Options TargetOptions() const;
  Status Save();
  Status MarkTarget(DirIdentity::State state);
  Status SaveSubtable(uint32_t id, Metadata::Subtable* subtable);
  Status SaveLog();
  // Of a log in `dir` that seems whole: where it was cut, and its mark is damaged, too, nothing else
  // would say so.
  void CheckMark(const std::string& dir, std::string_view what);
  Status SaveWrites(std::string_view payload);  // of a log record that makes sense
  // The sub-table of the new database for an id of the old one; null if it was dropped there.
  Status FindSubtable(uint32_t id, Subtable** subtable);
  Status Prepare(const std::string& name, std::string_view entries);
  Status Add(const BatchWrite& write);
  Status WriteBatchOut();
  void Lost(std::string what) { report_.losses.push_back(std::move(what)); }

  TableCache tables_{size_t{64} << 20};
  Cache blocks_{size_t{1} << 20, 4 << 10};
  ExtentReader reader_{&tables_, &blocks_};

  const Options options_;
  Env* const env_;
  const std::string path_;
  const std::string to_;
  RepairReport& report_;

  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<ExtentSpace> space_;
  std::vector<ExtentSpace::Dir> dirs_;
  Metadata metadata_;  // its extents lie in space_
  bool without_metadata_ = false;
  std::unique_ptr<DB> target_;
  std::map<uint32_t, Subtable*> subtables_;  // of the new database, by their ids in the old one
  WriteBatch batch_;
};

}  // namespace sluice
