// Which tables there are, and in which sub-tables their rows and indexes lie.
//
// Thread-safe. The dictionary is a sub-table of its own, and each change to it one synced write.
// Sub-tables are made before the dictionary names them and dropped after it has ceased to; what a
// crash leaves in between is dropped when the dictionary is opened.

#pragma once

#include <sluice/db.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::mariadb {

// An index, or the rows themselves: entry 0 of a table, which is its primary key.
struct IndexEntry {
  std::string name;
  std::string layout;   // what the bytes of keys depend on (KeyCodec::Layout)
  uint64_t number = 0;  // of its sub-table among those of the table
  Subtable* subtable = nullptr;
  SubtableOptions options{};  // for its sub-table when that is made, which keeps them
};

struct TableEntry {
  uint64_t id = 0;
  uint64_t created = 0;             // snapshots of lower sequence numbers do not see all of it
  uint64_t version = 0;             // of the definition that it was altered to; 0: never
  uint64_t next_number = 0;         // for the next index
  std::string schemas;              // of its rows (RowSchemas)
  std::string defaults;             // a row (RowCodec): columns that older rows do not have
  std::vector<IndexEntry> indexes;  // at least one
};

struct TableStatistics {
  uint64_t rows = 0;  // as many there were
  // By IndexEntry::number: how many entries have the same first column, the same first two, and so
  // on, on average.
  std::map<uint64_t, std::vector<uint64_t>> same;
};

enum class Counter : char {
  kAutoIncrement = 'a',  // values of the AUTO_INCREMENT column
  kRowId = 'r',          // keys of rows without a primary key
};

// What the names of a table's partitions begin with, which are tables here.
std::string PartitionPrefix(std::string_view table);

class Dictionary {
 public:
  // Drops tables whose names do not begin with `kept`: temporary tables of an earlier server.
  Status Open(DB* db, std::string_view kept);

  // Where the tables are written down. Keys of locks that do not begin as its own may be in it, too.
  Subtable* subtable() const { return subtable_; }

  // Makes a table; sets all that `table` does not have yet. InvalidArgument if the name is taken.
  Status Create(std::string_view name, uint64_t next_auto_increment, TableEntry* table);
  // NotFound if there is no such table.
  Status Find(std::string_view name, TableEntry* table);
  // All tables whose names begin with `prefix`.
  Status FindAll(std::string_view prefix, std::vector<TableEntry>* tables);
  // With `left` its sub-tables are left to the caller to drop, who may do so later: else they are
  // dropped when the dictionary is opened again.
  Status Drop(std::string_view name, std::vector<Subtable*>* left = nullptr);
  Status Rename(std::string_view from, std::string_view to);
  // Renames those of a table's partitions that have its old name: all of them, or none.
  Status RenamePartitions(std::string_view from, std::string_view to);
  // After a crash: the server renames a table's partitions one after the other, and the list that it
  // has of them last. Those that have another name than their list, of whose tables `has_list` tells,
  // get their old one again. REQUIRES: no table is in use
  Status TakeBackRenames(const std::function<bool(const std::string& table)>& has_list);
  // The tables that have partitions.
  Status ListPartitioned(std::vector<std::string>* tables);
  // Drops all of a table's partitions, or none. NotFound if it has none.
  Status DropPartitions(std::string_view name);
  // Gives the table new, empty sub-tables, with the options of the old ones, and a new id.
  Status Truncate(std::string_view name, TableEntry* table);

  // Makes the sub-table of an index that Alter may add to the table, or RemoveIndex remove again.
  Status CreateIndex(TableEntry* table, IndexEntry* index);
  void RemoveIndex(const IndexEntry& index);
  // Replaces the entries of tables, of all of them or of none: those of a table's partitions. Indexes
  // that they do not have any more are dropped.
  struct Alteration {
    std::string_view name;
    const TableEntry* table;
    std::optional<uint64_t> next_auto_increment = {};  // the counter's, if that changes, too
  };
  Status Alter(const std::vector<Alteration>& alterations);

  // The number that a counter of a table goes on from; 1 at first. A counter must be written before
  // its numbers are used: it is there with the next synced write, at the latest.
  Status ReadCounter(uint64_t id, Counter counter, uint64_t* next);
  Status WriteCounter(uint64_t id, Counter counter, uint64_t next);

  // What is known of how often values occur in a table's indexes. Empty if nothing is.
  Status ReadStatistics(uint64_t id, TableStatistics* statistics);
  Status WriteStatistics(uint64_t id, const TableStatistics& statistics);

 private:
  Status Read(std::string_view name, TableEntry* table);
  void AddDrop(std::string_view name, const TableEntry& table, WriteBatch* batch);
  Status AddRename(std::string_view from, std::string_view to, WriteBatch* batch);
  Status CreateSubtables(TableEntry* table);
  void DropSubtables(const TableEntry& table);
  void DropRefused(const Status& status, const TableEntry& table);
  Status DropLeftovers();

  std::mutex mutex_;
  DB* db_ = nullptr;
  Subtable* subtable_ = nullptr;
  uint64_t last_id_ = 0;
};

}  // namespace sluice::mariadb
