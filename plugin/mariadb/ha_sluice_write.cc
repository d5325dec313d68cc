// ha_sluice: writing rows.

#include "ha_sluice.h"
#include "ordered_bytes.h"
#include "util/coding.h"

using sluice::PutVarint;
using sluice::Status;
using sluice::Subtable;
using sluice::mariadb::AutoIncrementLock;
using sluice::mariadb::Cursor;
using sluice::mariadb::engine;
using sluice::mariadb::LogsStatements;
using sluice::mariadb::Sight;
using sluice::mariadb::Successor;

// The row's key, for a row that is new.
Status ha_sluice::MakeRowKey(const uchar* record, std::string* key) {
  key->clear();
  if (row_key_codec_ != nullptr) {
    row_key_codec_->AppendRecord(record, key);
    return {};
  }
  uint64_t id = 0;
  SLUICE_RETURN_IF_ERROR(share_->TakeRowId(&id));
  for (int shift = 56; shift >= 0; shift -= 8) {
    key->push_back(static_cast<char>(id >> shift));
  }
  return {};
}

void ha_sluice::MakeEntry(const Index& index, const uchar* record, std::string_view row_key,
                          Entry* entry) {
  entry->key.clear();
  entry->value.clear();
  const bool has_null = index.codec.AppendRecord(record, &entry->key);
  entry->guards = index.unique && !has_null;
  PutVarint(&entry->value, entry->key.size());
  if (entry->guards) {
    PutVarint(&entry->value, row_key.size());
    entry->value += row_key;
  } else {
    entry->key += row_key;
  }
  index.columns.Append(record, &entry->value);
}

Status ha_sluice::Lookup(Subtable* subtable, std::string_view key, std::string* value) {
  return unshared_ ? engine->db->Get({}, subtable, key, value)
                   : session_->GetLocked(subtable, key, {}, value);
}

Status ha_sluice::Put(Subtable* subtable, std::string_view key, std::string_view value) {
  return unshared_ ? engine->db->Put({}, subtable, key, value)
                   : session_->Put(subtable, key, value);
}

Status ha_sluice::Delete(Subtable* subtable, std::string_view key) {
  return unshared_ ? engine->db->Delete({}, subtable, key) : session_->Delete(subtable, key);
}

// An entry that has the row's key in it is written only by whoever has locked the row.
Status ha_sluice::PutEntry(const Index& index, const Entry& entry) {
  return unshared_ || entry.guards ? Put(subtable(index), entry.key, entry.value)
                                   : session_->PutEntry(subtable(index), entry.key, entry.value);
}

Status ha_sluice::DeleteEntry(const Index& index, const Entry& entry) {
  return unshared_ || entry.guards ? Delete(subtable(index), entry.key)
                                   : session_->DeleteEntry(subtable(index), entry.key);
}

// A row and its entries may be half written. Within a function or a trigger, whose handlers would
// otherwise go on with that, the server then undoes all of the statement that called it.
int ha_sluice::FailHalfWritten(const Status& status) {
  ha_thd()->mark_transaction_to_rollback(/*all=*/false);
  return Fail(status);
}

int ha_sluice::FailDuplicate(uint index, std::string_view row_key) {
  session_->NoteDuplicate(index);
  duplicate_key_.assign(row_key);
  return HA_ERR_FOUND_DUPP_KEY;
}

// Whether a row with new_row_key_ and new_entries_ can be there, besides the one that
// old_entries_ are of. Locks what it looks at, so that it stays so.
int ha_sluice::CheckDuplicates(const uchar* /*record*/, bool row_key_is_new) {
  if (row_key_is_new && has_primary_key()) {
    const Status status = Lookup(rows(), new_row_key_, &found_);
    if (status.ok()) {
      return FailDuplicate(table->s->primary_key, new_row_key_);
    }
    if (!status.IsNotFound()) {
      return Fail(status);
    }
  }
  for (uint i = 0; i < table->s->keys; ++i) {
    if (!is_secondary(i) || !new_entries_[i].guards) {
      continue;
    }
    const Entry& entry = new_entries_[i];
    if (!old_entries_.empty() && old_entries_[i].key == entry.key) {
      continue;
    }
    const Status status = Lookup(subtable(*indexes_[i]), entry.key, &found_);
    if (status.ok()) {
      std::string_view columns;
      std::string_view row_key;
      std::string_view covered;
      if (!ParseEntry(entry.key, found_, &columns, &row_key, &covered)) {
        return Fail(Status::Corruption("entry of an index"));
      }
      return FailDuplicate(i, row_key);
    }
    if (!status.IsNotFound()) {
      return Fail(status);
    }
  }
  return 0;
}

std::string ha_sluice::AutoIncrementToken() const {
  return "auto_increment/" + std::to_string(share_->entry().id);
}

// Takes values by `take`, with the lock that it needs.
Status ha_sluice::WithAutoIncrement(bool for_statement,
                                    const std::function<Status(AutoIncrementLock lock)>& take) {
  Subtable* const tokens = engine->dictionary.subtable();
  if (for_statement) {
    if (!auto_increment_locked_) {
      SLUICE_RETURN_IF_ERROR(session_->LockToken(tokens, AutoIncrementToken(), /*shared=*/false));
      auto_increment_locked_ = true;
    }
    return take(AutoIncrementLock::kForStatement);
  }
  Status status = take(unshared_ ? AutoIncrementLock::kForShare : AutoIncrementLock::kNone);
  if (status.code() == Status::Code::kBusy) {
    const std::string token = AutoIncrementToken();
    SLUICE_RETURN_IF_ERROR(session_->LockToken(tokens, token, /*shared=*/true));
    status = take(AutoIncrementLock::kForShare);
    session_->UnlockToken(tokens, token);
  }
  return status;
}

void ha_sluice::release_auto_increment() {
  if (auto_increment_locked_) {
    auto_increment_locked_ = false;
    session_->UnlockToken(engine->dictionary.subtable(), AutoIncrementToken());
  }
}

// The value of the AUTO_INCREMENT column; 0 if that is NULL or negative.
uint64_t ha_sluice::AutoIncrementOf(const uchar* record) const {
  Field* const field = table->found_next_number_field;
  const my_ptrdiff_t distance = record - table->record[0];
  field->move_field_offset(distance);
  const longlong value = field->is_null() ? 0 : field->val_int();
  field->move_field_offset(-distance);
  return !field->is_unsigned() && value < 0 ? 0 : static_cast<uint64_t>(value);
}

// The highest value in an entry of the AUTO_INCREMENT column's index that begins with `prefix`, all
// columns before that one; 0 if there is none. It sees what others have committed and what the
// transaction has written.
Status ha_sluice::HighestAutoIncrement(std::string_view prefix, uint64_t* highest) {
  *highest = 0;
  const uint number = table->s->next_number_index;
  const KEY_PART_INFO& part = table->key_info[number].key_part[table->s->next_number_keypart];
  const bool descending = (part.key_part_flag & HA_REVERSE_SORT) != 0;
  const Index& index = *indexes_[number];
  const std::string behind = Successor(prefix);
  const auto note = [&](std::string_view key, std::string_view value) -> Status {
    if (!key.starts_with(prefix)) {
      return {};
    }
    uchar* const record = table->record[1];
    std::string_view columns;
    std::string_view row_key;
    std::string_view covered;
    if (is_secondary(number) ? !ParseEntry(key, value, &columns, &row_key, &covered) ||
                                   !index.columns.Read(covered, record)
                             : !row_codec_->Read(value, record)) {
      return Status::Corruption("an entry of the AUTO_INCREMENT column's index");
    }
    *highest = std::max(*highest, AutoIncrementOf(record));
    return {};
  };
  // A transaction may see an older state; what is there now must not be given again.
  const auto now = engine->db->NewIterator({}, subtable(index));
  if (descending) {
    now->Seek(prefix);
  } else if (behind.empty()) {
    now->SeekToLast();
  } else {
    now->SeekForPrev(behind);
    if (now->Valid() && now->key() == behind) {
      now->Prev();
    }
  }
  SLUICE_RETURN_IF_ERROR(now->Valid() ? note(now->key(), now->value()) : now->status());
  if (unshared_) {
    return {};
  }
  Cursor own;
  own.Open(session_, subtable(index), Sight::kNewest);
  SLUICE_RETURN_IF_ERROR(descending       ? own.Seek(prefix)
                         : behind.empty() ? own.SeekToLast()
                                          : own.SeekBefore(behind));
  return own.valid() ? note(own.key(), own.value()) : Status();
}

// Where the AUTO_INCREMENT column is behind others of its key: locks the rows that have the same there
// for whoever takes a value for one of them or gives it one, until the transaction ends.
Status ha_sluice::LockAutoIncrementGroup(const uchar* record, std::string* group) {
  const Index& index = *indexes_[table->s->next_number_index];
  std::vector<size_t> ends;
  group->clear();
  index.codec.AppendRecord(record, group);
  if (!index.codec.FindEnds(*group, &ends)) {
    return Status::Corruption("a key of the AUTO_INCREMENT column's index");
  }
  group->resize(ends[table->s->next_number_keypart - 1]);
  return unshared_ ? Status()
                   : session_->LockToken(engine->dictionary.subtable(),
                                         AutoIncrementToken() + '/' + *group, /*shared=*/false);
}

Status ha_sluice::LockAutoIncrementOf(const uchar* record) {
  std::string group;
  return table->found_next_number_field == nullptr || table->s->next_number_keypart == 0
             ? Status()
             : LockAutoIncrementGroup(record, &group);
}

Status ha_sluice::NoteAutoIncrement(const uchar* record) {
  if (table->found_next_number_field == nullptr || table->s->next_number_keypart != 0) {
    return {};
  }
  const uint64_t value = AutoIncrementOf(record);
  return value == 0 ? Status()
                    : WithAutoIncrement(/*for_statement=*/false, [&](AutoIncrementLock lock) {
                        return share_->UsedAutoIncrement(value, lock);
                      });
}

int ha_sluice::write_row(const uchar* record) {
  if (table->next_number_field != nullptr && record == table->record[0]) {
    auto_increment_error_ = 0;
    if (const int error = update_auto_increment(); error != 0) {
      return auto_increment_error_ != 0 ? auto_increment_error_ : error;
    }
  }
  Status status = LockAutoIncrementOf(record);
  if (status.ok()) {
    status = MakeRowKey(record, &new_row_key_);
  }
  if (!status.ok()) {
    return Fail(status);
  }
  old_entries_.clear();
  new_entries_.resize(table->s->keys);
  for (uint i = 0; i < table->s->keys; ++i) {
    if (is_secondary(i)) {
      MakeEntry(*indexes_[i], record, new_row_key_, &new_entries_[i]);
    }
  }
  if (const int error = CheckDuplicates(record, true); error != 0) {
    return error;
  }
  status = NoteAutoIncrement(record);
  new_row_.clear();
  row_codec_->Append(record, &new_row_);
  if (status.ok()) {
    status = Put(rows(), new_row_key_, new_row_);
  }
  for (uint i = 0; status.ok() && i < table->s->keys; ++i) {
    if (is_secondary(i)) {
      status = PutEntry(*indexes_[i], new_entries_[i]);
    }
  }
  if (!status.ok()) {
    return FailHalfWritten(status);
  }
  row_key_ = new_row_key_;
  share_->CountRow(unshared_ ? nullptr : session_, 1);
  return 0;
}

int ha_sluice::update_row(const uchar* old_record, const uchar* new_record) {
  Status status;
  if (row_key_codec_ != nullptr) {
    row_key_.clear();
    row_key_codec_->AppendRecord(old_record, &row_key_);
    new_row_key_.clear();
    row_key_codec_->AppendRecord(new_record, &new_row_key_);
  } else {
    new_row_key_ = row_key_;
  }
  const bool moved = new_row_key_ != row_key_;
  new_row_.clear();
  row_codec_->Append(new_record, &new_row_);
  if (!moved) {
    old_row_.clear();
    row_codec_->Append(old_record, &old_row_);
    if (old_row_ == new_row_) {
      return HA_ERR_RECORD_IS_THE_SAME;  // as REPLACE may have it
    }
  }
  old_entries_.resize(table->s->keys);
  new_entries_.resize(table->s->keys);
  for (uint i = 0; i < table->s->keys; ++i) {
    if (is_secondary(i)) {
      MakeEntry(*indexes_[i], old_record, row_key_, &old_entries_[i]);
      MakeEntry(*indexes_[i], new_record, new_row_key_, &new_entries_[i]);
    }
  }
  status = LockAutoIncrementOf(new_record);
  if (!status.ok()) {
    return Fail(status);
  }
  if (const int error = CheckDuplicates(new_record, moved); error != 0) {
    return error;
  }
  status = NoteAutoIncrement(new_record);
  if (status.ok() && moved) {
    status = Delete(rows(), row_key_);
  }
  if (status.ok()) {
    status = Put(rows(), new_row_key_, new_row_);
  }
  for (uint i = 0; status.ok() && i < table->s->keys; ++i) {
    if (!is_secondary(i)) {
      continue;
    }
    const Entry& before = old_entries_[i];
    const Entry& after = new_entries_[i];
    if (before.key != after.key) {
      status = DeleteEntry(*indexes_[i], before);
    }
    if (status.ok() && (before.key != after.key || before.value != after.value)) {
      status = PutEntry(*indexes_[i], after);
    }
  }
  if (!status.ok()) {
    return FailHalfWritten(status);
  }
  row_key_ = new_row_key_;
  return 0;
}

int ha_sluice::delete_row(const uchar* record) {
  if (row_key_codec_ != nullptr) {
    row_key_.clear();
    row_key_codec_->AppendRecord(record, &row_key_);
  }
  Status status = Delete(rows(), row_key_);
  Entry entry;
  for (uint i = 0; status.ok() && i < table->s->keys; ++i) {
    if (is_secondary(i)) {
      MakeEntry(*indexes_[i], record, row_key_, &entry);
      status = DeleteEntry(*indexes_[i], entry);
    }
  }
  if (!status.ok()) {
    return FailHalfWritten(status);
  }
  share_->CountRow(unshared_ ? nullptr : session_, -1);
  return 0;
}

void ha_sluice::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong wanted,
                                   ulonglong* first, ulonglong* reserved) {
  uint64_t value = 0;
  Status status;
  *reserved = wanted;
  if (table->s->next_number_keypart != 0) {
    // One more than the highest among the rows with the same first columns; the next row may have others.
    *reserved = 1;
    std::string group;
    status = LockAutoIncrementGroup(table->record[0], &group);
    if (status.ok()) {
      status = HighestAutoIncrement(group, &value);
    }
    value += value == ULONGLONG_MAX ? 0 : 1;
  } else {
    const bool for_statement = !unshared_ && LogsStatements(ha_thd());
    status = WithAutoIncrement(for_statement, [&](AutoIncrementLock lock) {
      return share_->TakeAutoIncrement(offset, increment, wanted, lock, &value);
    });
  }
  if (!status.ok()) {
    auto_increment_error_ = Fail(status);
    value = ULONGLONG_MAX;
  }
  *first = value;
}
