// ha_sluice: tables as a whole.

#include <sluice/transaction.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "ha_sluice.h"
#include "sampling.h"
#include "table_options.h"

using sluice::Status;
using sluice::mariadb::Cursor;
using sluice::mariadb::engine;
using sluice::mariadb::IndexEntry;
using sluice::mariadb::InTransaction;
using sluice::mariadb::KeyCodec;
using sluice::mariadb::kPartitionList;
using sluice::mariadb::LogsStatements;
using sluice::mariadb::RowCodec;
using sluice::mariadb::SampleIndex;
using sluice::mariadb::Share;
using sluice::mariadb::Sight;
using sluice::mariadb::TableEntry;
using sluice::mariadb::ToServer;

namespace {

// Those whose weights do not compare as their strings do.
constexpr std::pair<std::string_view, const char*> kRefusedCollations[] = {
    {"cp1250_czech_cs", "an index on a column with cp1250_czech_cs"},
    {"big5_chinese_ci", "an index on a column with big5_chinese_ci"},
    {"big5_chinese_nopad_ci", "an index on a column with big5_chinese_nopad_ci"},
    {"tis620_thai_nopad_ci", "an index on a column with tis620_thai_nopad_ci"},
};

// UNIQUE over long columns is an index on a hash of them, which the server makes and looks into.
bool IsUnique(const KEY& key) {
  return (key.flags & HA_NOSAME) != 0 && key.algorithm != HA_KEY_ALG_LONG_HASH;
}

bool HasWithoutOverlaps(const TABLE& table) {
  return std::any_of(table.key_info, table.key_info + table.s->keys,
                     [](const KEY& key) { return key.without_overlaps; });
}

bool SameName(const char* a, const char* b) {
  return my_strcasecmp(system_charset_info, a, b) == 0;
}

// Where the index that is described is among those of the dictionary; known.size(): it is not as it
// was when its keys were written.
size_t FindIndex(const std::vector<IndexEntry>& known, const IndexEntry& described) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const IndexEntry& candidate) {
    return SameName(candidate.name.c_str(), described.name.c_str()) &&
           candidate.layout == described.layout;
  });
  return found - known.begin();
}

// Without a PRIMARY KEY, the first UNIQUE over columns that are NOT NULL is the rows' own: another one
// where indexes are in another order, of which the server makes nothing. True unless the statement
// makes a partition of the table, and the partitions' rows have another key.
bool HasRowKeyOfPartitions(const TABLE& table, THD* thd) {
  if ((thd->lex->alter_info.partition_flags &
       (ALTER_PARTITION_EXCHANGE | ALTER_PARTITION_CONVERT_IN)) == 0) {
    return true;
  }
  const TABLE* const partitioned = thd->lex->first_select_lex()->table_list.first->table;
  const auto name = [](const TABLE& of) {
    return of.s->primary_key == MAX_KEY ? "" : of.s->key_info[of.s->primary_key].name.str;
  };
  const bool same = SameName(name(table), name(*partitioned));
  if (!same) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR,
                        "Sluice: the rows' own key is %s in one and %s in the other table",
                        name(table), name(*partitioned));
  }
  return same;
}

}  // namespace

// The server's numbers of the indexes, in the order of the dictionary's entries. The first is the
// primary key; MAX_KEY where there is none.
std::vector<uint> ha_sluice::IndexOrder(const TABLE& table) {
  std::vector<uint> order = {table.s->primary_key};
  for (uint i = 0; i < table.s->keys; ++i) {
    if (i != table.s->primary_key) {
      order.push_back(i);
    }
  }
  return order;
}

std::vector<IndexEntry> ha_sluice::DescribeIndexes(std::string_view name, TABLE* table) {
  std::vector<IndexEntry> indexes;
  for (const uint i : IndexOrder(*table)) {
    IndexEntry entry;
    if (i != MAX_KEY) {
      const KEY& key = table->key_info[i];
      entry.name.assign(key.name.str, key.name.length);
      entry.layout = KeyCodec(table, key, key.user_defined_key_parts).layout();
      if (IsUnique(key)) {
        entry.layout += 'u';
      }
    }
    entry.options = sluice::mariadb::OptionsOf(current_thd, *table, name, i);
    indexes.push_back(std::move(entry));
  }
  return indexes;
}

// Says why there cannot be such a table; null if there can.
const char* ha_sluice::Refusal(const TABLE& table, THD* thd) {
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    for (uint j = 0; j < key.user_defined_key_parts; ++j) {
      const Field& field = *table.field[key.key_part[j].fieldnr - 1];
      const std::string_view collation = field.charset()->coll_name.str;
      for (const auto& [name, refusal] : kRefusedCollations) {
        if (collation == name) {
          return refusal;
        }
      }
    }
  }
  if (thd->lex->sql_command == SQLCOM_CREATE_TABLE || thd->lex->sql_command == SQLCOM_ALTER_TABLE) {
    List_iterator<Key> keys(thd->lex->alter_info.key_list);
    while (const Key* const key = keys++) {
      if (key->type == Key::FOREIGN_KEY) {
        return "FOREIGN KEY";
      }
    }
  }
  return nullptr;
}

bool ha_sluice::TooLongKeys(TABLE* table) {
  size_t row_key = kRowIdBytes;
  for (const uint i : IndexOrder(*table)) {
    if (i == MAX_KEY) {
      continue;
    }
    const KEY& key = table->key_info[i];
    const size_t bytes = KeyCodec(table, key, key.user_defined_key_parts).max_bytes();
    if (i == table->s->primary_key) {
      row_key = bytes;
    }
    if (bytes + row_key > sluice::kMaxKeyBytes) {
      return true;
    }
  }
  return false;
}

int ha_sluice::Fail(const Status& status) {
  if (!status.ok()) {
    message_ = status.message();
    // Options by the names that they have here.
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"TransactionOptions::max_bytes", "sluice_max_transaction_size"},
        {"Options::transaction_memory_bytes", "sluice_transaction_memory_size"}};
    for (const auto& [option, name] : kNames) {
      if (const size_t at = message_.find(option); at != std::string::npos) {
        message_.replace(at, option.size(), name);
      }
    }
    THD* const thd = ha_thd();
    auto* const session = thd == nullptr ? nullptr : sluice::mariadb::ExistingSession(thd);
    if (session != nullptr) {
      session->NoteError(message_);
    }
  }
  return ToServer(ha_thd(), status);
}

bool ha_sluice::get_error_message(int error, String* message) {
  // Of an error of one partition, the server may ask another one. Of a deadlock it stands behind
  // the server's own words.
  const auto* const session = sluice::mariadb::ExistingSession(ha_thd());
  const std::string text = (error == HA_ERR_LOCK_DEADLOCK ? ": " : "") +
                           (session != nullptr ? session->error() : message_);
  message->copy(text.data(), text.size(), system_charset_info);
  return false;
}

// The server asks anew for each statement.
handler::Table_flags ha_sluice::table_flags() const {
  const Table_flags logged = LogsStatements(ha_thd())
                                 ? HA_BINLOG_ROW_CAPABLE | HA_BINLOG_STMT_CAPABLE
                                 : HA_BINLOG_ROW_CAPABLE;
  // Entries with VIRTUAL columns are deleted by their values, which the server computes.
  const Table_flags computed = table_share != nullptr && table_share->virtual_fields > 0
                                   ? HA_REQUIRES_KEY_COLUMNS_FOR_DELETE
                                   : 0;
  return logged | computed | HA_REC_NOT_IN_SEQ | HA_NULL_IN_KEY | HA_CAN_INDEX_BLOBS |
         HA_AUTO_PART_KEY | HA_CAN_SQL_HANDLER | HA_DUPLICATE_POS | HA_CAN_VIRTUAL_COLUMNS |
         HA_CAN_GEOMETRY | HA_TABLE_SCAN_ON_INDEX | HA_CAN_SKIP_LOCKED |
         HA_PRIMARY_KEY_IN_READ_INDEX | HA_CAN_ONLINE_BACKUPS;
}

ulong ha_sluice::index_flags(uint index, uint part, bool all_parts) const {
  ulong flags = HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE;
  const KEY& key = table_share->key_info[index];
  bool whole = true;
  for (uint i = all_parts ? 0 : part; i <= part && i < key.user_defined_key_parts; ++i) {
    whole &= (key.key_part[i].key_part_flag & HA_PART_KEY_SEG) == 0;
  }
  flags |= index == table_share->primary_key ? HA_CLUSTERED_INDEX : HA_DO_INDEX_COND_PUSHDOWN;
  return whole ? flags | HA_KEYREAD_ONLY : flags;
}

// In an extended key the primary key's columns follow those of the index that are not among them; in
// an entry's key all of them do.
std::vector<ha_sluice::ExtendedPart> ha_sluice::DescribeExtension(const TABLE& table,
                                                                  const KEY& key) {
  std::vector<ExtendedPart> extension;
  if (key.ext_key_parts == key.user_defined_key_parts) {
    return extension;
  }
  const KEY& primary = table.key_info[table.s->primary_key];
  for (uint i = 0; i < primary.user_defined_key_parts; ++i) {
    uint begin = 0;
    uint part = 0;
    while (part < key.ext_key_parts && key.key_part[part].fieldnr != primary.key_part[i].fieldnr) {
      begin += key.key_part[part++].store_length;
    }
    if (part == key.ext_key_parts ||
        key.key_part[part].store_length != primary.key_part[i].store_length) {
      break;
    }
    extension.push_back({begin, begin + key.key_part[part].store_length});
  }
  return extension;
}

// The optimizer makes wrong ranges of keys of ascending and descending columns, such as (a, id DESC) <=
// (1, 90) for a <= 1 AND id BETWEEN 40 AND 90; with InnoDB, too. So none are made by extending keys.
void ha_sluice::LimitExtendedKeys() {
  for (uint i = 0; i < table->s->keys; ++i) {
    KEY& key = table->key_info[i];
    if (std::any_of(key.key_part, key.key_part + key.ext_key_parts, [](const KEY_PART_INFO& p) {
          return (p.key_part_flag & HA_REVERSE_SORT) != 0;
        })) {
      key.ext_key_parts = key.user_defined_key_parts;
      key.ext_key_flags = key.flags;
      key.ext_key_part_map = 0;
    }
  }
}

ha_sluice::Index ha_sluice::MakeIndex(TABLE* table, const KEY& key, size_t entry) {
  Index index{KeyCodec(table, key, key.user_defined_key_parts), RowCodec(table, key), entry,
              IsUnique(key)};
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    index.covering &= (part.key_part_flag & HA_PART_KEY_SEG) == 0;
    Field* const field = table->field[part.fieldnr - 1];
    if (!field->stored_in_db()) {
      index.computed.push_back(field);
    }
    // Without overlaps: the last two are when its period ends and begins.
    if (key.algorithm == HA_KEY_ALG_LONG_HASH ||
        (key.without_overlaps && i + 2 < key.user_defined_key_parts)) {
      index.guarded_bytes += part.store_length;
    }
    index.bytes += part.store_length;
  }
  return index;
}

// `entries`: where in the dictionary's entry they are, in the order of IndexOrder.
void ha_sluice::MakeIndexes(const std::vector<size_t>& entries) {
  LimitExtendedKeys();
  row_codec_ = std::make_unique<RowCodec>(table, share_->entry().schemas, share_->entry().defaults);
  row_key_codec_.reset();
  indexes_.clear();
  indexes_.resize(table->s->keys);
  const std::vector<uint> order = IndexOrder(*table);
  for (size_t place = 0; place < order.size(); ++place) {
    const uint i = order[place];
    if (i == MAX_KEY) {
      continue;
    }
    const KEY& key = table->key_info[i];
    indexes_[i] = std::make_unique<Index>(MakeIndex(table, key, entries[place]));
    Index& index = *indexes_[i];
    if (i == table->s->primary_key) {
      row_key_codec_ = std::make_shared<KeyCodec>(index.codec);  // before all others
    }
    index.covers_primary = row_key_codec_ == nullptr || row_key_codec_->readable();
    index.extension = DescribeExtension(*table, key);
  }
  ref_length = 2 + static_cast<uint>(row_key_codec_ ? row_key_codec_->max_bytes() : kRowIdBytes);
}

Status ha_sluice::OpenShare(const char* name) {
  lock_shared_ha_data();
  Status status;
  share_ = static_cast<Share*>(get_ha_share_ptr());
  if (share_ == nullptr) {
    auto share = std::make_unique<Share>(name);
    status = share->Open();
    if (status.ok()) {
      share_ = share.release();
      set_ha_share_ptr(share_);
    }
  }
  unlock_shared_ha_data();
  return status;
}

// Whatever an ALTER TABLE has changed. The table can be read without it.
void ha_sluice::SetOptions(const std::vector<IndexEntry>& described,
                           const std::vector<size_t>& entries) {
  for (size_t i = 0; i < described.size(); ++i) {
    sluice::Subtable* const subtable = share_->subtable(entries[i]);
    if (engine->db->GetSubtableOptions(subtable) == described[i].options) {
      continue;
    }
    const Status status = engine->db->SetSubtableOptions(subtable, described[i].options);
    if (!status.ok()) {
      sql_print_warning("Sluice: %s: it is stored as before, not as its options say: %s",
                        share_->name().c_str(), status.ToString().c_str());
    }
  }
}

int ha_sluice::open(const char* name, int /*mode*/, uint /*test_if_locked*/) {
  const Status status = OpenShare(name);
  if (status.IsNotFound()) {
    return HA_ERR_NO_SUCH_TABLE;
  }
  if (!status.ok()) {
    return Fail(status);
  }
  const std::vector<IndexEntry> described = DescribeIndexes(name, table);
  const std::vector<IndexEntry>& known = share_->entry().indexes;
  // EXCHANGE PARTITION leaves a table with indexes in the order of another one's; only the rows' own
  // is the first in both.
  bool same = described.size() == known.size();
  std::vector<size_t> entries;
  for (size_t i = 0; same && i < described.size(); ++i) {
    entries.push_back(FindIndex(known, described[i]));
    same = entries[i] < known.size() && (i == 0) == (entries[i] == 0);
  }
  if (!same) {
    sql_print_error("Sluice: %s is not as it was when its keys were written", name);
    // Of HA_ERR_TABLE_DEF_CHANGED the server would make that its files of the table are to be removed.
    return Fail(Status::NotSupported("the table is not as it was when its keys were written"));
  }
  SetOptions(described, entries);
  thr_lock_data_init(&share_->lock, &lock_data_, nullptr);
  MakeIndexes(entries);
  return 0;
}

int ha_sluice::close() {
  cursor_.Close();
  return 0;
}

int ha_sluice::create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) {
  if (const char* const refused = Refusal(*form, ha_thd()); refused != nullptr) {
    my_error(ER_ILLEGAL_HA_CREATE_OPTION, MYF(0), "SLUICE", refused);
    return HA_WRONG_CREATE_OPTION;
  }
  if (!sluice::mariadb::CheckPartitionOptions(ha_thd(), *form, name)) {
    return HA_WRONG_CREATE_OPTION;
  }
  TableEntry entry;
  entry.indexes = DescribeIndexes(name, form);
  if (TooLongKeys(form)) {
    my_error(ER_TOO_LONG_KEY, MYF(0), max_supported_key_length());
    return HA_WRONG_CREATE_OPTION;
  }
  const uint64_t first = create_info->auto_increment_value;
  const Status status = engine->dictionary.Create(name, first == 0 ? 1 : first, &entry);
  TableEntry existing;
  return !status.ok() && engine->dictionary.Find(name, &existing).ok() ? HA_ERR_TABLE_EXIST
                                                                       : Fail(status);
}

int ha_sluice::delete_table(const char* name) {
  const Status status = sluice::mariadb::DropTable(ha_thd(), name);
  return status.IsNotFound() ? HA_ERR_NO_SUCH_TABLE : Fail(status);
}

// When an ALTER TABLE that has copied a table with partitions is completed after a crash, the
// server has their engine rename the table as if it had none (MariaDB 10.11.18,
// execute_rename_table in sql/ddl_log.cc). So the server's list of them is renamed here, too.
int ha_sluice::rename_table(const char* from, const char* to) {
  // An ALTER puts another table in its place, or it into another's.
  if (ha_thd() != nullptr && sluice::mariadb::CopiesTable(ha_thd()) &&
      sluice::mariadb::IsWrittenByDetached(from)) {
    return Fail(Status::Busy(sluice::mariadb::kDetached));
  }
  Status status = engine->dictionary.Rename(from, to);
  const std::string list = std::string(from) + kPartitionList;
  if (status.IsNotFound() && access(list.c_str(), F_OK) == 0) {
    status = engine->dictionary.RenamePartitions(from, to);
    if (status.ok() && std::rename(list.c_str(), (std::string(to) + kPartitionList).c_str()) != 0) {
      return errno;
    }
  }
  return status.IsNotFound() ? HA_ERR_NO_SUCH_TABLE : Fail(status);
}

int ha_sluice::truncate() {
  cursor_.Close();
  return Fail(share_->Truncate());
}

// Reads a part of each index. Thread-safe, and no part of a transaction.
Status ha_sluice::MakeStatistics() {
  sluice::mariadb::TableStatistics statistics;
  statistics.rows = share_->rows();
  for (uint i = 0; i < table->s->keys; ++i) {
    const Index& index = *indexes_[i];
    const auto ends = [&index](std::string_view key, std::vector<size_t>* out) {
      return index.codec.FindEnds(key, out);
    };
    SLUICE_RETURN_IF_ERROR(
        SampleIndex(engine->db.get(), subtable(index), statistics.rows,
                    table->key_info[i].user_defined_key_parts, ends,
                    &statistics.same[share_->entry().indexes[index.entry].number]));
  }
  return share_->KeepStatistics(std::move(statistics));
}

void ha_sluice::TellServerStatistics() {
  statistics_version_ = share_->statistics_version();
  for (uint i = 0; i < table->s->keys; ++i) {
    const KEY& key = table->key_info[i];
    const std::vector<uint64_t> same =
        share_->SameIn(share_->entry().indexes[indexes_[i]->entry].number);
    for (uint j = 0; j < key.user_defined_key_parts; ++j) {
      const bool one = (key.flags & HA_NOSAME) != 0 && j + 1 == key.user_defined_key_parts;
      key.rec_per_key[j] = one || j >= same.size() ? 1 : static_cast<ulong>(same[j]);
    }
    // With the whole primary key there is one; with less of it, it is taken to be shared out evenly.
    const double rows = static_cast<double>(key.rec_per_key[key.user_defined_key_parts - 1]);
    const uint more = key.ext_key_parts - key.user_defined_key_parts;
    for (uint j = 0; j < more; ++j) {
      key.rec_per_key[key.user_defined_key_parts + j] =
          static_cast<ulong>(std::pow(rows, static_cast<double>(more - 1 - j) / more));
    }
  }
}

// What is shown to users (SHOW TABLE STATUS) is what there is. For the optimizer no table is empty:
// it may have rows when it is read. Rows are as long as in memory for it, without their blobs.
void ha_sluice::TellServerSize(bool shown, bool opened) {
  stats.records = std::max<uint64_t>(shown || opened ? 0 : 1, share_->rows());
  stats.deleted = 0;
  stats.block_size = 4096;
  stats.mean_rec_length = table->s->reclength;
  stats.data_file_length = stats.records * stats.mean_rec_length;
  if (!shown) {
    return;
  }
  const auto bytes = [this](size_t entry) {
    return engine->db->ApproximateSize(share_->subtable(entry), {}, {}).bytes;
  };
  stats.data_file_length = bytes(0);
  stats.mean_rec_length =
      stats.records == 0 ? 0 : static_cast<ulong>(stats.data_file_length / stats.records);
  stats.index_file_length = 0;
  for (uint i = 0; i < table->s->keys; ++i) {
    if (is_secondary(i)) {
      stats.index_file_length += bytes(indexes_[i]->entry);
    }
  }
}

int ha_sluice::analyze(THD* thd, HA_CHECK_OPT* /*options*/) {
  const Status status = MakeStatistics();
  if (status.ok()) {
    return HA_ADMIN_OK;
  }
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, "Sluice: %s",
                      status.ToString().c_str());
  return HA_ADMIN_FAILED;
}

int ha_sluice::optimize(THD* thd, HA_CHECK_OPT* options) {
  const std::vector<IndexEntry>& indexes = share_->entry().indexes;
  thd_progress_init(thd, static_cast<unsigned>(indexes.size()));
  Status status;
  for (const IndexEntry& index : indexes) {
    status = engine->db->CompactRange(index.subtable, {}, {});
    if (!status.ok() || thd_killed(thd)) {
      break;
    }
    thd_progress_next_stage(thd);
  }
  thd_progress_end(thd);
  if (!status.ok()) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, "Sluice: %s",
                        status.ToString().c_str());
    return HA_ADMIN_FAILED;
  }
  return thd_killed(thd) ? HA_ADMIN_FAILED : analyze(thd, options);
}

int ha_sluice::info(uint flags) {
  if ((flags & HA_STATUS_VARIABLE) != 0) {
    TellServerSize((flags & HA_STATUS_TIME) != 0, (flags & HA_STATUS_OPEN) != 0);
  }
  if ((flags & HA_STATUS_VARIABLE) != 0 && share_->TakeStatisticsDue()) {
    (void)MakeStatistics();  // plans are as good as they were, if it fails
  }
  // Partitions have one plan, for which the server asks the largest one.
  if ((flags & HA_STATUS_CONST) != 0 ||
      (statistics_version_ != share_->statistics_version() && table->part_info == nullptr)) {
    TellServerStatistics();
  }
  if ((flags & HA_STATUS_ERRKEY) != 0) {
    // Of a row that moves from one partition to another, the server asks the former.
    errkey = session_->duplicate_index();
    if (dup_ref != nullptr && !duplicate_key_.empty()) {
      std::swap(row_key_, duplicate_key_);
      SetPosition(row_key_);
      std::memcpy(dup_ref, ref, ref_length);
      std::swap(row_key_, duplicate_key_);
    }
  }
  if ((flags & HA_STATUS_AUTO) != 0 && table->found_next_number_field != nullptr) {
    stats.auto_increment_value = share_->next_auto_increment();
  }
  return 0;
}

int ha_sluice::extra(enum ha_extra_function operation) {
  switch (operation) {
    case HA_EXTRA_KEYREAD:
    case HA_EXTRA_NO_KEYREAD:
      only_index_ = operation == HA_EXTRA_KEYREAD;
      return 0;
    case HA_EXTRA_BEGIN_COPY:
    case HA_EXTRA_BEGIN_ALTER_IGNORE_COPY:
      // A temporary table that is created and filled within a transaction belongs to it, which may
      // read it; and where the server looks for rows that overlap, the transaction must see those
      // that it has written. All else that copies ends the transaction first.
      unshared_ = !(InTransaction(ha_thd()) && thd_sql_command(ha_thd()) == SQLCOM_CREATE_TABLE &&
                    (ha_thd()->lex->tmp_table() || HasWithoutOverlaps(*table)));
      return 0;
    case HA_EXTRA_END_COPY:
      if (unshared_) {
        unshared_ = false;
        return Fail(engine->db->Write({.sync = true}, {}));
      }
      return 0;
    case HA_EXTRA_ABORT_COPY:
      unshared_ = false;
      return 0;
    default:
      return 0;
  }
}

int ha_sluice::reset() {
  cursor_.Close();
  counted_.Clear();  // the next statement may be another connection's
  ahead_ = {};       // and its memory
  cursor_ahead_ = false;
  only_index_ = false;
  auto_increment_locked_ = false;
  locked_count_ = 0;
  row_.clear();
  row_.shrink_to_fit();
  return 0;
}

void ha_sluice::update_create_info(HA_CREATE_INFO* create_info) {
  if ((create_info->used_fields & HA_CREATE_USED_AUTO) == 0) {
    info(HA_STATUS_AUTO);
    create_info->auto_increment_value = stats.auto_increment_value;
  }
}

// Names, defaults and comments are the server's alone: to change them, no row needs to be written. A
// table that becomes a partition must have its rows by the same key.
bool ha_sluice::check_if_incompatible_data(HA_CREATE_INFO* /*create_info*/, uint table_changes) {
  const bool same = table_changes == IS_EQUAL_YES && HasRowKeyOfPartitions(*table, ha_thd());
  return same ? COMPATIBLE_DATA_YES : COMPATIBLE_DATA_NO;
}

Status ha_sluice::CheckIndex(const Index& index, uint64_t rows, std::string* complaint) {
  Cursor cursor;
  cursor.Open(session_, subtable(index), Sight::kStatement);
  uint64_t entries = 0;
  std::string row;
  Entry expected;
  for (Status status = cursor.SeekToFirst();; status = cursor.Next()) {
    SLUICE_RETURN_IF_ERROR(status);
    if (!cursor.valid()) {
      break;
    }
    ++entries;
    std::string_view columns;
    std::string_view row_key;
    std::string_view covered;
    if (!ParseEntry(cursor.key(), cursor.value(), &columns, &row_key, &covered)) {
      *complaint = "an entry is damaged";
      return {};
    }
    const Status found = session_->Get(this->rows(), row_key, &row);
    if (found.IsNotFound()) {
      *complaint = "an entry has no row";
      return {};
    }
    SLUICE_RETURN_IF_ERROR(found);
    if (!row_codec_->Read(row, table->record[0])) {
      *complaint = "a row is damaged";
      return {};
    }
    (void)Compute(index, table, table->record[0], /*quietly=*/true);
    MakeEntry(index, table->record[0], row_key, &expected);
    if (expected.key != cursor.key() || expected.value != cursor.value()) {
      *complaint = "an entry is not that of its row";
      return {};
    }
  }
  if (entries != rows) {
    *complaint = std::to_string(entries) + " entries for " + std::to_string(rows) + " rows";
  }
  return {};
}

int ha_sluice::check(THD* thd, HA_CHECK_OPT* /*options*/) {
  Cursor cursor;
  cursor.Open(session_, rows(), Sight::kStatement);
  uint64_t rows = 0;
  Status status = cursor.SeekToFirst();
  for (; status.ok() && cursor.valid(); status = cursor.Next()) {
    ++rows;
    if (!row_codec_->Read(cursor.value(), table->record[0])) {
      push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR,
                          "Sluice: a row is damaged");
      return HA_ADMIN_CORRUPT;
    }
  }
  for (uint i = 0; status.ok() && i < table->s->keys; ++i) {
    if (!is_secondary(i)) {
      continue;
    }
    std::string complaint;
    status = CheckIndex(*indexes_[i], rows, &complaint);
    if (status.ok() && !complaint.empty()) {
      push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR,
                          "Sluice: index %s: %s", table->key_info[i].name.str, complaint.c_str());
      return HA_ADMIN_CORRUPT;
    }
  }
  if (!status.ok()) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, "Sluice: %s",
                        status.ToString().c_str());
    return status.IsCorruption() ? HA_ADMIN_CORRUPT : HA_ADMIN_FAILED;
  }
  return HA_ADMIN_OK;
}

int ha_sluice::Start(THD* thd) {
  session_ = sluice::mariadb::BeginStatement(thd);
  // What replaces rows by new ones, or by none, has kept all writers out by now.
  if ((sluice::mariadb::CopiesTable(thd) || thd_sql_command(thd) == SQLCOM_TRUNCATE) &&
      sluice::mariadb::IsWrittenByDetached(
          rows(), thd->mdl_context.is_lock_owner(MDL_key::TABLE, table->s->db.str,
                                                 table->s->table_name.str, MDL_SHARED_NO_WRITE))) {
    return Fail(Status::Busy(sluice::mariadb::kDetached));
  }
  locking_ = lock_type_ >= TL_WRITE_ALLOW_WRITE || lock_type_ == TL_READ_WITH_SHARED_LOCKS ||
             lock_type_ == TL_READ_SKIP_LOCKED;
  row_lock_.shared = lock_type_ < TL_WRITE_ALLOW_WRITE;
  row_lock_.skip = lock_type_ == TL_READ_SKIP_LOCKED || lock_type_ == TL_WRITE_SKIP_LOCKED;
  // A row of the binary log says which row it is of, and a table that is copied is nobody else's.
  unguarded_ = thd->rgi_slave != nullptr &&
               (thd_sql_command(thd) == SQLCOM_END || sluice::mariadb::CopiesTable(thd));
  if (session_->serializable() && !unguarded_) {
    // What only reads, and is a transaction by itself, sees one state: it needs no locks.
    const bool alone = !InTransaction(thd) && !is_update_query(thd->lex->sql_command) &&
                       thd->in_sub_stmt == 0 && !thd->lex->requires_prelocking();
    locking_ |= !alone;
    if (locking_) {
      return Fail(sluice::mariadb::AwaitEntryLocks(thd));
    }
  }
  return 0;
}

int ha_sluice::external_lock(THD* thd, int lock_type) {
  if (lock_type != F_UNLCK) {
    if (const int error = Start(thd); error != 0) {
      return error;
    }
    if (lock_type == F_WRLCK) {
      locking_ = true;
      row_lock_.shared = false;
    }
    // A temporary table has nothing that another transaction wrote, nor has one that this statement
    // creates, once it has read what it is filled with.
    const bool own = table->s->tmp_table != NO_TMP_TABLE ||
                     (lock_type == F_WRLCK && thd_sql_command(thd) == SQLCOM_CREATE_TABLE);
    if (!own && session_->Precedes(share_->entry().created)) {
      return HA_ERR_TABLE_DEF_CHANGED;
    }
  }
  return 0;
}

int ha_sluice::start_stmt(THD* thd, thr_lock_type lock_type) {
  lock_type_ = lock_type;
  return Start(thd);
}

THR_LOCK_DATA** ha_sluice::store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) {
  if (lock_type != TL_IGNORE && lock_data_.type == TL_UNLOCK) {
    lock_type_ = lock_type;
    // Rows are locked one by one; tables only by LOCK TABLES and what changes them as a whole.
    if (!thd_in_lock_tables(thd) && thd_sql_command(thd) != SQLCOM_TRUNCATE) {
      if (lock_type >= TL_WRITE_CONCURRENT_INSERT && lock_type <= TL_WRITE) {
        lock_type = TL_WRITE_ALLOW_WRITE;
      } else if (lock_type == TL_READ_NO_INSERT) {
        lock_type = TL_READ;
      }
    }
    lock_data_.type = lock_type;
  }
  *to++ = &lock_data_;
  return to;
}
