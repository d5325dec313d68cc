// DB::Repair: saves what can be read of a database into a new one.
//
//  1. The metadata log is read as far as it makes sense. Should CURRENT not say where it begins,
//     the last whole state in it is taken. Directories of levels that are another database's are
//     left alone. If no state is left, or its last changes are not, extents are looked for in the data
//     files (table_scan.h). Among them may be some that a compaction had replaced, or range deletions
//     cut, and what was deleted since then may come back; sub-tables without a state have lost their
//     names.
//  2. Of each sub-table, the newest version of each key among all blocks that can be read goes to
//     the new database, unless it is a deletion. Levels do not matter: sequence numbers say what is
//     newest.
//  3. What the redo log has beyond the extents follows, up to the first damage in it, and then the
//     transactions that were prepared. Extents that were looked for do not tell how far they reach, so
//     all of the log follows; and where it has no sequence numbers, because an ingestion has them or
//     damage has cut it off, the extents' records of these numbers come once more.
//
// The damaged database is only read. Thread-compatible.

#pragma once

#include <map>
#include <memory>
#include <set>
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
  // Which sequence numbers from its first one on the log lacks.
  void FindGaps();
  Options TargetOptions() const;
  Status Save();
  Status MarkTarget(DirIdentity::State state);
  // Sequence numbers between these two, and the sub-tables that have records of them in extents.
  struct Gap {
    SequenceNumber last_before;
    SequenceNumber first_after;
    std::set<uint32_t> subtables;
  };
  // The newest records of all keys; with `gap` the newest of those in it, and deletions, too.
  Status SaveSubtable(uint32_t id, const Metadata::Subtable& subtable, const Gap* gap);
  void NoteGap(uint32_t id, SequenceNumber sequence);
  Status SaveGap(const Gap& gap);
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
  Metadata metadata_;              // its extents lie in space_
  bool without_metadata_ = false;  // or without its last changes: extents are looked for
  std::vector<Gap> gaps_;          // of the log, ascending
  std::unique_ptr<DB> target_;
  std::map<uint32_t, Subtable*> subtables_;  // of the new database, by their ids in the old one
  WriteBatch batch_;
};

}  // namespace sluice
