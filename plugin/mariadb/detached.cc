#include "detached.h"

#include <algorithm>
#include <vector>

#include "engine.h"

namespace sluice::mariadb {
namespace {

bool AnyIsWritten(const std::vector<TableEntry>& tables) {
  return std::any_of(tables.begin(), tables.end(), [](const TableEntry& table) {
    return IsWrittenByDetached(table.indexes.front().subtable, /*alone=*/true);
  });
}

// Tables whose names begin so. One that cannot be read cannot be dropped, either.
bool AnyIsWritten(std::string_view prefix) {
  std::vector<TableEntry> tables;
  return engine->dictionary.FindAll(prefix, &tables).ok() && AnyIsWritten(tables);
}

std::string PathOf(const LEX_CSTRING& database, const char* table) {
  char path[FN_REFLEN + 1];
  return {path, build_table_filename(path, sizeof(path) - 1, database.str, table, "", 0)};
}

bool HasWrittenPartition(const TABLE_LIST& table) {
  return AnyIsWritten(PartitionPrefix(PathOf(table.db, table.table_name.str)));
}

}  // namespace

bool IsWrittenByDetached(Subtable* rows, bool alone) {
  std::vector<std::string> names = engine->db->ListPreparedIn(rows);
  if (alone || names.empty()) {
    return !names.empty();
  }
  std::erase_if(names, [](const std::string& name) { return engine->attached.Contains(name); });
  // Without those that have ended since, and are not attached for that.
  const std::vector<std::string> still = engine->db->ListPrepared();
  return std::any_of(names.begin(), names.end(), [&still](const std::string& name) {
    return std::find(still.begin(), still.end(), name) != still.end();
  });
}

bool IsWrittenByDetached(std::string_view table) {
  TableEntry entry;
  return (engine->dictionary.Find(table, &entry).ok() && AnyIsWritten({entry})) ||
         AnyIsWritten(PartitionPrefix(table));
}

bool DropsWrittenByDetached(THD* thd, std::string_view name) {
  if (engine->db->ListPrepared().empty()) {
    return false;
  }
  const LEX& lex = *thd->lex;
  bool drops = false;
  if (lex.sql_command == SQLCOM_DROP_DB) {
    drops = AnyIsWritten(PathOf(lex.name, ""));  // so that all of its tables stay
  } else if (!name.empty()) {
    drops = IsWrittenByDetached(name);
  } else if (lex.sql_command == SQLCOM_DROP_TABLE) {
    for (TABLE_LIST* table = lex.query_tables; table != nullptr; table = table->next_global) {
      drops = drops || HasWrittenPartition(*table);
    }
  } else if (lex.create_info.or_replace() && !lex.create_info.tmp_table() &&
             lex.query_tables != nullptr) {
    drops = HasWrittenPartition(*lex.query_tables);
  }
  if (drops) {
    // No warning: in strict mode that would be the statement's error.
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_NOTE, ER_UNKNOWN_ERROR, "Sluice: %s",
                        kDetached);
  }
  return drops;
}

}  // namespace sluice::mariadb
