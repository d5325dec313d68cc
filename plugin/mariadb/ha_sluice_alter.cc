// ha_sluice: changes of a table that leave its rows where they are.
//
// Columns that are added, dropped, moved or made wider are not written into the rows. The dictionary
// keeps which columns older rows have, and the defaults of those that they lack (RowSchemas). An
// index that is added is built from the rows, sorted in pieces and ingested past the log, while
// others read the table. The change takes effect with one write to the dictionary, of all partitions;
// the server asks after a crash whether that was done (check_version), and keeps the definition that
// fits.

#include <sluice/ingestion.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ha_sluice.h"

using sluice::Status;
using sluice::mariadb::ColumnChange;
using sluice::mariadb::Cursor;
using sluice::mariadb::engine;
using sluice::mariadb::IndexEntry;
using sluice::mariadb::KeyCodec;
using sluice::mariadb::Packing;
using sluice::mariadb::RowCodec;
using sluice::mariadb::RowSchemas;
using sluice::mariadb::Sight;
using sluice::mariadb::TableEntry;

namespace {

// With ALTER_INDEX_ORDER, the server says that its numbers of the others may change.
constexpr alter_table_operations kAddIndexes =
    ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX | ALTER_ADD_UNIQUE_INDEX | ALTER_INDEX_ORDER;
constexpr alter_table_operations kDropIndexes =
    ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX | ALTER_DROP_UNIQUE_INDEX;
constexpr alter_table_operations kColumns =
    ALTER_ADD_STORED_BASE_COLUMN | ALTER_DROP_STORED_COLUMN | ALTER_STORED_COLUMN_ORDER |
    ALTER_COLUMN_TYPE_CHANGE_BY_ENGINE | ALTER_COLUMN_NULLABLE | ALTER_ADD_VIRTUAL_COLUMN |
    ALTER_DROP_VIRTUAL_COLUMN | ALTER_VIRTUAL_COLUMN_ORDER;

constexpr size_t kPieceBytes = size_t{64} << 20;  // sorted in memory, and ingested at once
constexpr uint64_t kReportRows = 1000;            // after so many, it looks whether it was killed

// What becomes of a table or partition; unless `committed`, what was made for it is removed.
struct Change final : public inplace_alter_handler_ctx {
  ~Change() override {
    for (const size_t i : committed ? std::vector<size_t>() : added) {
      if (entry.indexes[i].subtable != nullptr) {
        engine->dictionary.RemoveIndex(entry.indexes[i]);
      }
    }
  }

  std::string name;
  TableEntry entry;
  std::vector<size_t> added;  // indexes of it
  // What AUTO_INCREMENT=n makes of the automatic values, of this share.
  std::optional<uint64_t> next_auto_increment;
  sluice::mariadb::Share* share = nullptr;
  bool committed = false;
};

std::string Name(const KEY& key) { return {key.name.str, key.name.length}; }

// Finds out what becomes of each of the old table's stored columns. False if rows would have to be
// written anew.
bool MapColumns(const TABLE& table, const Alter_inplace_info& info, const TABLE& altered,
                std::vector<ColumnChange>* changes, size_t* columns) {
  std::vector<const Field*> old;
  std::copy_if(table.field, table.field + table.s->fields, std::back_inserter(old),
               [](const Field* field) { return field->stored_in_db(); });
  changes->clear();
  for (const Field* const field : old) {
    changes->push_back({std::nullopt, RowCodec::PackingOf(*field)});
  }
  *columns = 0;
  uint number = 0;
  List_iterator_fast<Create_field> described(info.alter_info->create_list);
  while (const Create_field* const column = described++) {
    const Field& field = *altered.field[number++];
    if (!field.stored_in_db()) {
      continue;
    }
    const size_t place = (*columns)++;
    if (column->field == nullptr) {
      if (field.default_value != nullptr || field.has_default_now_unireg_check() ||
          field.vcol_info != nullptr || (field.flags & AUTO_INCREMENT_FLAG) != 0) {
        return false;
      }
      continue;
    }
    const auto at = std::find(old.begin(), old.end(), column->field);
    if (at == old.end()) {
      return false;
    }
    ColumnChange& change = (*changes)[at - old.begin()];
    change.column = place;
    if (change.packing == RowCodec::PackingOf(field)) {
      change.packing = {};
    } else if (((column->field->flags | field.flags) & (PART_KEY_FLAG | FIELD_IN_PART_FUNC_FLAG)) !=
                   0 ||
               field.check_constraint != nullptr) {
      // Entries have it, too, or another partition may be that of its rows, or the values that there
      // are must be checked.
      return false;
    }
  }
  return std::all_of(changes->begin(), changes->end(), [](const ColumnChange& change) {
    return change.column.has_value() || change.packing.kind != Packing::Kind::kField;
  });
}

// Whether what is computed of rows may be another for the same values: a number with ZEROFILL is a text
// as wide as its column says, and concerns the server alone where it is stored as before.
bool ChangesComputed(const TABLE& table, const Alter_inplace_info& info, const TABLE& altered) {
  if (table.vfield == nullptr && table.check_constraints == nullptr) {
    return false;
  }
  uint number = 0;
  List_iterator_fast<Create_field> described(info.alter_info->create_list);
  while (const Create_field* const column = described++) {
    const Field& field = *altered.field[number++];
    if (column->field != nullptr && ((column->field->flags | field.flags) & ZEROFILL_FLAG) != 0 &&
        (((column->field->flags ^ field.flags) & ZEROFILL_FLAG) != 0 ||
         column->field->field_length != field.field_length)) {
      return true;
    }
  }
  return false;
}

// Whether the table has a counter of automatic values: not if these are behind other columns of a key.
bool CountsAutomatically(const TABLE& table) {
  return table.found_next_number_field != nullptr && table.s->next_number_keypart == 0;
}

// Whether the altered table's counter of automatic values can be that of the old table: of one column.
bool KeepsCounter(const TABLE& table, const Alter_inplace_info& info, const TABLE& altered) {
  if (!CountsAutomatically(altered)) {
    return true;
  }
  uint number = 0;
  List_iterator_fast<Create_field> described(info.alter_info->create_list);
  while (const Create_field* const column = described++) {
    if (altered.field[number++] == altered.found_next_number_field) {
      return CountsAutomatically(table) && column->field == table.found_next_number_field;
    }
  }
  return false;
}

// Whether the statement says what the next automatic value is.
bool SetsAutoIncrement(const Alter_inplace_info& info, const TABLE& altered) {
  return (info.create_info->used_fields & HA_CREATE_USED_AUTO) != 0 && CountsAutomatically(altered);
}

// Whether the server would have to look for duplicates itself in one of the new indexes.
bool AddsGuarded(const Alter_inplace_info& info) {
  return std::any_of(info.index_add_buffer, info.index_add_buffer + info.index_add_count,
                     [&info](uint i) {
                       const KEY& key = info.key_info_buffer[i];
                       return key.algorithm == HA_KEY_ALG_LONG_HASH || key.without_overlaps;
                     });
}

// The indexes that the new table keeps: their entries, in its order, and empty ones for new indexes.
// False if one is not as it was.
bool MatchIndexes(const std::vector<IndexEntry>& old, const Alter_inplace_info& info,
                  std::vector<IndexEntry>* described, std::vector<size_t>* added) {
  for (size_t i = 0; i < described->size(); ++i) {
    IndexEntry& index = (*described)[i];
    const auto is_added = [&](uint key) { return Name(info.key_info_buffer[key]) == index.name; };
    if (std::any_of(info.index_add_buffer, info.index_add_buffer + info.index_add_count,
                    is_added)) {
      added->push_back(i);
      continue;
    }
    std::string name = index.name;
    for (const auto& renamed : info.rename_keys) {
      if (Name(*renamed.new_key) == index.name) {
        name = Name(*renamed.old_key);
      }
    }
    const auto kept = std::find_if(old.begin(), old.end(), [&](const IndexEntry& candidate) {
      return candidate.name == name && candidate.layout == index.layout;
    });
    // The rows' own is the first, in both.
    if (kept == old.end() || (i == 0) != (kept == old.begin())) {
      return false;
    }
    index.number = kept->number;
    index.subtable = kept->subtable;
  }
  return true;
}

}  // namespace

// Sorts the entries, and ingests them. If a unique index would have two of one key, the row of one of
// them is duplicate_key_.
Status ha_sluice::IngestPiece(sluice::Subtable* subtable, std::vector<Entry>* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const Entry& a, const Entry& b) { return a.key < b.key; });
  const auto same = [](const Entry& a, const Entry& b) { return a.key == b.key; };
  const auto twice = std::adjacent_find(entries->begin(), entries->end(), same);
  if (twice != entries->end()) {
    std::string_view columns;
    std::string_view row_key;
    std::string_view covered;
    ParseEntry(twice->key, twice->value, &columns, &row_key, &covered);
    duplicate_key_.assign(row_key);
    return {};
  }
  // Other tables' indexes wait for no more than this piece.
  const std::lock_guard guard(engine->ingestion_mutex);
  std::unique_ptr<sluice::Ingestion> ingestion;
  SLUICE_RETURN_IF_ERROR(engine->db->NewIngestion(&ingestion));
  for (const Entry& entry : *entries) {
    SLUICE_RETURN_IF_ERROR(ingestion->Add(subtable, entry.key, entry.value));
  }
  entries->clear();
  return ingestion->Commit();
}

// Calls `visit` with the entry of each row, as `codec` reads the row into `altered`, until
// duplicate_key_ is set. The row is in altered->record[0] then.
int ha_sluice::ForEachEntry(TABLE* altered, const RowCodec& codec, const Index& index,
                            const std::function<Status(Entry* entry)>& visit) {
  THD* const thd = ha_thd();
  Cursor cursor;
  cursor.Open(session_, rows(), Sight::kNewest);
  uint64_t rows = 0;
  Status status = cursor.SeekToFirst();
  for (; status.ok() && cursor.valid() && duplicate_key_.empty(); status = cursor.Next()) {
    if (!codec.Read(cursor.value(), altered->record[0])) {
      return Fail(Status::Corruption("a row of " + std::string(table->s->table_name.str)));
    }
    if (!Compute(index, altered, altered->record[0], /*quietly=*/false)) {
      return HA_ERR_GENERIC;
    }
    Entry entry;
    MakeEntry(index, altered->record[0], cursor.key(), &entry);
    if (++rows % kReportRows == 0) {
      thd_progress_report(thd, rows, std::max(rows, share_->rows()));
      if (thd_kill_level(thd) != THD_IS_NOT_KILLED) {
        return HA_ERR_ABORTED_BY_USER;
      }
    }
    status = visit(&entry);
    if (!status.ok()) {
      break;
    }
  }
  return Fail(status);
}

// Fills the index. HA_ERR_FOUND_DUPP_KEY if it must be unique and would not be: altered->record[0] has
// such a row then.
int ha_sluice::BuildIndex(TABLE* altered, const RowCodec& codec, const Index& index,
                          sluice::Subtable* subtable) {
  duplicate_key_.clear();
  std::vector<Entry> entries;
  size_t bytes = 0;
  uint64_t added = 0;
  int error = ForEachEntry(altered, codec, index, [&](Entry* entry) {
    bytes += sizeof(Entry) + entry->key.capacity() + entry->value.capacity();
    entries.push_back(std::move(*entry));
    ++added;
    if (bytes < kPieceBytes) {
      return Status();
    }
    bytes = 0;
    return IngestPiece(subtable, &entries);
  });
  if (error == 0 && duplicate_key_.empty()) {
    error = Fail(IngestPiece(subtable, &entries));
  }
  if (error != 0) {
    return error;
  }
  // If two entries with one key were in different pieces, the later one has overwritten the other.
  if (duplicate_key_.empty() && index.unique) {
    Cursor entry;
    entry.Open(session_, subtable, Sight::kNewest);
    Status status = entry.SeekToFirst();
    for (; status.ok() && entry.valid(); status = entry.Next()) {
      --added;
    }
    if (!status.ok()) {
      return Fail(status);
    }
    if (added != 0) {
      error = ForEachEntry(altered, codec, index, [&](Entry* entry) {
        SLUICE_RETURN_IF_ERROR(engine->db->Get({}, subtable, entry->key, &found_));
        if (found_ != entry->value) {
          std::string_view columns;
          std::string_view row_key;
          std::string_view covered;
          ParseEntry(entry->key, found_, &columns, &row_key, &covered);
          duplicate_key_.assign(row_key);
        }
        return Status();
      });
      if (error != 0) {
        return error;
      }
    }
  }
  if (duplicate_key_.empty()) {
    return 0;
  }
  const Status status = session_->Get(rows(), duplicate_key_, &row_);
  if (!status.ok() || !codec.Read(row_, altered->record[0])) {
    return Fail(status.ok() ? Status::Corruption("a row") : status);
  }
  return HA_ERR_FOUND_DUPP_KEY;
}

// Integers and strings of variable length may grow.
bool ha_sluice::can_convert_nocopy(const Field& field, const Column_definition& type) const {
  if (field.compression_method() != nullptr || type.compression_method() != nullptr) {
    return false;
  }
  if (field.type_handler() == &type_handler_varchar) {
    return type.type_handler() == &type_handler_varchar && type.charset == field.charset() &&
           type.length >= field.field_length;
  }
  const auto bytes = [](const Type_handler* handler) {
    return handler == &type_handler_stiny || handler == &type_handler_utiny           ? 1
           : handler == &type_handler_sshort || handler == &type_handler_ushort       ? 2
           : handler == &type_handler_sint24 || handler == &type_handler_uint24       ? 3
           : handler == &type_handler_slong || handler == &type_handler_ulong         ? 4
           : handler == &type_handler_slonglong || handler == &type_handler_ulonglong ? 8
                                                                                      : 0;
  };
  const int before = bytes(field.type_handler());
  const bool is_unsigned = (type.flags & UNSIGNED_FLAG) != 0;
  return before > 0 && bytes(type.type_handler()) >= before && field.is_unsigned() == is_unsigned &&
         (field.flags & ZEROFILL_FLAG) == (type.flags & ZEROFILL_FLAG);
}

enum_alter_inplace_result ha_sluice::check_if_supported_inplace_alter(TABLE* altered,
                                                                      Alter_inplace_info* info) {
  const alter_table_operations wanted = info->handler_flags;
  info->handler_flags &= ~(kAddIndexes | kDropIndexes | kColumns);
  // Its own answer for a table with versions is no, whatever changes: but where rows stay as they
  // are, their history does, too.
  const vers_kind_t versions = altered->s->versioned;
  if (versions == VERS_TIMESTAMP && table->s->versioned == VERS_TIMESTAMP) {
    altered->s->versioned = VERS_UNDEFINED;
  }
  const enum_alter_inplace_result others = handler::check_if_supported_inplace_alter(altered, info);
  altered->s->versioned = versions;
  info->handler_flags = wanted;
  if (sluice::mariadb::IsWrittenByDetached(rows(), /*alone=*/false)) {
    my_printf_error(ER_UNKNOWN_ERROR, "Sluice: %s", MYF(0), sluice::mariadb::kDetached);
    return HA_ALTER_ERROR;
  }
  if (others != HA_ALTER_INPLACE_NO_LOCK) {
    return others;
  }
  if (ChangesComputed(*table, *info, *altered) || !KeepsCounter(*table, *info, *altered)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  const bool only_names = (wanted & (kAddIndexes | kDropIndexes | kColumns)) == 0;
  if (!only_names &&
      (info->ignore || AddsGuarded(*info) || Refusal(*altered, ha_thd()) != nullptr)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  std::vector<ColumnChange> changes;
  size_t columns = 0;
  if ((wanted & kColumns) != 0 &&
      (info->error_if_not_empty || !MapColumns(*table, *info, *altered, &changes, &columns))) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  std::vector<IndexEntry> described = DescribeIndexes(share_->name(), altered);
  std::vector<size_t> added;
  if (!MatchIndexes(share_->entry().indexes, *info, &described, &added) || TooLongKeys(altered)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  // HA_ALTER_INPLACE_SHARED_LOCK may be instant, as far as the server knows.
  if (!added.empty() &&
      info->alter_info->algorithm(ha_thd()) == Alter_info::ALTER_TABLE_ALGORITHM_INSTANT) {
    info->report_unsupported_error("ALGORITHM=INSTANT", "ALGORITHM=NOCOPY");
    return HA_ALTER_ERROR;
  }
  if (!added.empty()) {
    return HA_ALTER_INPLACE_SHARED_LOCK;
  }
  // Where automatic values change, no writer takes any from before they are looked at.
  return only_names && !SetsAutoIncrement(*info, *altered) ? others : HA_ALTER_INPLACE_INSTANT;
}

bool ha_sluice::prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* info) {
  cursor_.Close();  // it may be in an index that is dropped
  auto* const change = new Change;
  info->handler_ctx = change;
  change->name = share_->name();
  change->entry = share_->entry();
  change->entry.version = sluice::mariadb::DefinitionVersion(altered->s->tabledef_version);
  change->entry.indexes = DescribeIndexes(share_->name(), altered);
  if (!MatchIndexes(share_->entry().indexes, *info, &change->entry.indexes, &change->added)) {
    my_error(ER_INTERNAL_ERROR, MYF(0), "Sluice: an index is not as it was");
    return true;
  }
  std::vector<ColumnChange> changes;
  size_t columns = 0;
  if ((info->handler_flags & kColumns) != 0 &&
      MapColumns(*table, *info, *altered, &changes, &columns)) {
    RowSchemas schemas = row_codec_->schemas();
    schemas.Alter(changes, columns);
    change->entry.schemas = schemas.Encode();
    // A row of the old table without any columns, as one of the new table.
    std::string row;
    std::vector<uchar> record(altered->s->reclength);
    row_codec_->Append(row_codec_->defaults(), &row);
    const RowCodec codec(altered, change->entry.schemas, {});
    if (!codec.Read(row, record.data())) {
      my_error(ER_INTERNAL_ERROR, MYF(0), "Sluice: the columns' defaults are not readable");
      return true;
    }
    change->entry.defaults.clear();
    codec.Append(record.data(), &change->entry.defaults);
  }
  if (SetsAutoIncrement(*info, *altered)) {
    // No value that a row has is given again, as when rows are written anew.
    uint64_t highest = 0;
    const Status status = HighestAutoIncrement({}, &highest);
    if (!status.ok()) {
      print_error(Fail(status), MYF(0));
      return true;
    }
    const uint64_t said = std::max<uint64_t>(1, info->create_info->auto_increment_value);
    change->share = share_;
    change->next_auto_increment = std::max(said, highest == ULONGLONG_MAX ? highest : highest + 1);
  }
  for (const size_t i : change->added) {
    const Status status = engine->dictionary.CreateIndex(&change->entry, &change->entry.indexes[i]);
    if (!status.ok()) {
      print_error(Fail(status), MYF(0));
      return true;
    }
  }
  return false;
}

bool ha_sluice::inplace_alter_table(TABLE* altered, Alter_inplace_info* info) {
  auto* const change = static_cast<Change*>(info->handler_ctx);
  if (change->added.empty()) {
    return false;
  }
  THD* const thd = ha_thd();
  const RowCodec codec(altered, change->entry.schemas, change->entry.defaults);
  // Its own handler is not open, and must not be told.
  altered->column_bitmaps_set_no_signal(&altered->s->all_set, &altered->s->all_set);
  const std::vector<uint> order = IndexOrder(*altered);
  thd_progress_init(thd, static_cast<uint>(change->added.size()));
  int error = 0;
  for (size_t i = 0; i < change->added.size() && error == 0; ++i) {
    const KEY& key = altered->key_info[order[change->added[i]]];
    const Index index = MakeIndex(altered, key, change->added[i]);
    error = BuildIndex(altered, codec, index, change->entry.indexes[change->added[i]].subtable);
    if (error == HA_ERR_FOUND_DUPP_KEY) {
      print_keydup_error(altered, const_cast<KEY*>(&key), MYF(0));
    } else if (error != 0 && !thd->is_error()) {
      print_error(error, MYF(0));
    }
    if (i + 1 < change->added.size()) {
      thd_progress_next_stage(thd);
    }
  }
  thd_progress_end(thd);
  if (error == 0) {
    // Who sees an older state would miss rows in the index.
    const sluice::Snapshot* const now = engine->db->GetSnapshot();
    change->entry.created = now->sequence();
    engine->db->ReleaseSnapshot(now);
  }
  return error != 0;
}

// The server calls this for the first partition, with the changes of all.
bool ha_sluice::commit_inplace_alter_table(TABLE* /*altered*/, Alter_inplace_info* info,
                                           bool commit) {
  if (!commit) {
    return false;
  }
  inplace_alter_handler_ctx* const alone[] = {info->handler_ctx, nullptr};
  std::vector<sluice::mariadb::Dictionary::Alteration> alterations;
  std::vector<Change*> changes;
  for (auto at = info->group_commit_ctx != nullptr ? info->group_commit_ctx : alone; *at != nullptr;
       ++at) {
    auto* const change = static_cast<Change*>(*at);
    // Whether a write that fails is there is not known: then its sub-tables must be.
    change->committed = true;
    alterations.push_back({change->name, &change->entry, change->next_auto_increment});
    changes.push_back(change);
  }
  info->group_commit_ctx = nullptr;  // none is left
  const Status status = engine->dictionary.Alter(alterations);
  if (!status.ok()) {
    print_error(Fail(status), MYF(0));
    return true;
  }
  for (const Change* const change : changes) {
    if (change->next_auto_increment.has_value()) {
      change->share->SetAutoIncrement(*change->next_auto_increment);
    }
  }
  return false;
}
