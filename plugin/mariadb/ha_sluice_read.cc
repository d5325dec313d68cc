// ha_sluice: reading rows.

#include <algorithm>
#include <utility>

#include "ha_sluice.h"
#include "ordered_bytes.h"
#include "util/coding.h"

using sluice::GetVarint64;
using sluice::Status;
using sluice::mariadb::Cursor;
using sluice::mariadb::engine;
using sluice::mariadb::Sight;
using sluice::mariadb::Successor;

namespace {

// A range of fewer entries is counted; the size of others is estimated.
constexpr ha_rows kCountedEntries = 64;

}  // namespace

bool ha_sluice::ParseEntry(std::string_view key, std::string_view value, std::string_view* columns,
                           std::string_view* row_key, std::string_view* covered) {
  uint64_t bytes = 0;
  if (!GetVarint64(&value, &bytes) || bytes > key.size()) {
    return false;
  }
  *columns = key.substr(0, bytes);
  *row_key = key.substr(bytes);
  if (row_key->empty()) {
    if (!GetVarint64(&value, &bytes) || bytes > value.size()) {
      return false;
    }
    *row_key = value.substr(0, bytes);
    value.remove_prefix(bytes);
  }
  *covered = value;
  return true;
}

bool ha_sluice::Compute(const Index& index, TABLE* table, uchar* record, bool quietly) {
  if (index.computed.empty()) {
    return true;
  }
  // The server uses this bitmap here, and elsewhere for columns that are read meanwhile.
  std::array<my_bitmap_map, (MAX_FIELDS + 63) / (8 * sizeof(my_bitmap_map))> bits;
  MY_BITMAP kept;
  my_bitmap_init(&kept, bits.data(), table->s->fields);
  bitmap_copy(&kept, &table->tmp_set);
  table->move_fields(table->field, record, table->record[0]);
  int errors = 0;
  for (Field* const field : index.computed) {
    errors += table->update_virtual_field(field, quietly);
  }
  table->move_fields(table->field, table->record[0], record);
  bitmap_copy(&table->tmp_set, &kept);
  return errors == 0 || quietly;
}

ha_sluice::Found ha_sluice::Unpack(std::string_view row, uchar* record, int* error) {
  // Whoever locks rows wants them where they are in an index, and the server computes nothing where it
  // takes all to come from an entry, which it tells a partition by `extra` alone. It merges rows of
  // partitions by the index's columns as it gets them, in other records than where it computes them.
  const bool computes = active_index != MAX_KEY && !indexes_[active_index]->computed.empty() &&
                        (locking_ || only_index_ || table->part_info != nullptr);
  // What locks rows may change them, and makes entries of indexes from all of their columns.
  if (!row_codec_->Read(row, record, locking_ || computes ? nullptr : table->read_set)) {
    *error = Fail(Status::Corruption("a row of " + std::string(table->s->table_name.str)));
    return Found::kError;
  }
  if (computes) {
    (void)Compute(*indexes_[active_index], table, record, /*quietly=*/true);
  }
  return Found::kRow;
}

// Locks and reads; unlock_row takes it back.
Status ha_sluice::GetLocked(sluice::Subtable* subtable, std::string_view key, std::string* value) {
  Status status = session_->GetLocked(subtable, key, row_lock_, value);
  if (status.ok() || status.IsNotFound()) {
    LockedKey& locked = locked_[locked_count_++];
    locked.subtable = subtable;
    locked.key.assign(key);
  } else if (status.code() == Status::Code::kTimedOut && row_lock_.skip) {
    status = Status::NotFound("a row that another transaction has locked");
  }
  return status;
}

// The row that was read last, if it was read with a lock, is none that the statement wants.
void ha_sluice::unlock_row() {
  while (locked_count_ > 0) {
    const LockedKey& locked = locked_[--locked_count_];
    session_->Unlock(locked.subtable, locked.key);
  }
}

// Whoever looks for a row that would be in the way of one that it is to write is the only one to do so,
// until its transaction ends.
Status ha_sluice::GuardUnique(const Index& index, const uchar* image, uint bytes) {
  // A table that is still written by ALTER TABLE is nobody else's.
  if (index.guarded_bytes == 0 || bytes < index.guarded_bytes || !locking_ || row_lock_.shared ||
      table->s->tmp_table != NO_TMP_TABLE) {
    return {};
  }
  std::string columns;
  index.codec.AppendImage(image, index.guarded_bytes, &columns);
  return session_->LockPrefix(subtable(index), columns, Successor(columns));
}

// Reads the row with this key.
ha_sluice::Found ha_sluice::ReadRow(std::string_view key, uchar* record, int* error) {
  const Status status =
      locking_ ? GetLocked(rows(), key, &row_) : session_->Get(rows(), key, &row_);
  if (status.IsNotFound()) {
    return Found::kGone;
  }
  if (!status.ok()) {
    *error = Fail(status);
    return Found::kError;
  }
  row_key_.assign(key);
  return Unpack(row_, record, error);
}

bool ha_sluice::UsesPrimary(const MY_BITMAP& columns) const {
  const KEY& key = table->key_info[table->s->primary_key];
  return std::any_of(key.key_part, key.key_part + key.user_defined_key_parts,
                     [&columns](const KEY_PART_INFO& part) {
                       return bitmap_is_set(&columns, part.fieldnr - 1) != 0;
                     });
}

// The server's condition on columns of an index spares the reading of rows that do not meet it.
Item* ha_sluice::idx_cond_push(uint index, Item* condition) {
  const KEY& key = table->key_info[index];
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    if ((key.key_part[i].key_part_flag & HA_PART_KEY_SEG) != 0) {
      return condition;  // an entry does not have this column, which may bound the range
    }
  }
  if (!indexes_[index]->covers_primary) {
    MY_BITMAP columns;
    if (my_bitmap_init(&columns, nullptr, table->s->fields) != 0) {
      return condition;
    }
    condition->walk(&Item::register_field_in_bitmap, false, &columns);
    const bool uses_primary = UsesPrimary(columns);
    my_bitmap_free(&columns);
    if (uses_primary) {
      return condition;
    }
  }
  pushed_idx_cond = condition;
  pushed_idx_cond_keyno = index;
  in_range_check_pushed_down = HasBounds(*indexes_[index]);
  return nullptr;  // nothing is left for the server to check
}

// Fills in what an entry has of its row: the index's columns, and those of the primary key if it
// covers them.
bool ha_sluice::ReadEntry(const Index& index, std::string_view row_key, std::string_view covered,
                          uchar* record) const {
  return index.columns.Read(covered, record) &&
         (row_key_codec_ == nullptr || !index.covers_primary ||
          row_key_codec_->Read(row_key, record));
}

// kRow if the entry of the active index meets the condition, or if there is none.
ha_sluice::Found ha_sluice::CheckCondition(const Index& index, std::string_view row_key,
                                           std::string_view covered, int* error) {
  if (pushed_idx_cond == nullptr || pushed_idx_cond_keyno != active_index) {
    return Found::kRow;
  }
  if (!ReadEntry(index, row_key, covered, table->record[0])) {
    *error = Fail(Status::Corruption("an entry of an index"));
    return Found::kError;
  }
  // Where an entry does not have what may bound the range, the server looks at the row.
  key_range* const end = std::exchange(end_range, HasBounds(index) ? end_range : nullptr);
  const check_result_t result = handler_index_cond_check(this);
  end_range = end;
  switch (result) {
    case CHECK_POS:
      return Found::kRow;
    case CHECK_NEG:
      return Found::kNothing;
    case CHECK_OUT_OF_RANGE:
      return Found::kEnd;
    default:
      *error = HA_ERR_ABORTED_BY_USER;
      return Found::kError;
  }
}

// Reads the row that the cursor stands on. kGone, if it is not there any more, or if the newest version
// of it, which is what a locking read returns, is elsewhere in the index.
ha_sluice::Found ha_sluice::ReadHere(uchar* record, int* error) {
  locked_count_ = 0;
  if (scanning_ || !is_secondary(active_index)) {
    if (locking_ && !guards_for_share()) {
      return ReadRow(cursor_.key(), record, error);
    }
    row_key_.assign(cursor_.key());
    if (table->s->blob_fields == 0) {
      return Unpack(cursor_.value(), record, error);
    }
    row_.assign(cursor_.value());
    return Unpack(row_, record, error);
  }
  const Index& index = *indexes_[active_index];
  std::string_view columns;
  std::string_view row_key;
  std::string_view covered;
  if (!ParseEntry(cursor_.key(), cursor_.value(), &columns, &row_key, &covered)) {
    *error = Fail(Status::Corruption("an entry of index " +
                                     std::string(table->key_info[active_index].name.str)));
    return Found::kError;
  }
  if ((!locking_ || guards_for_share()) && reads_entries_only()) {
    row_key_.assign(row_key);
    row_.assign(covered);
    if (!ReadEntry(index, row_key_, row_, record)) {
      *error = Fail(Status::Corruption("an entry of index " +
                                       std::string(table->key_info[active_index].name.str)));
      return Found::kError;
    }
    return Found::kRow;
  }
  Found found = CheckCondition(index, row_key, covered, error);
  if (found != Found::kRow) {
    return found;
  }
  found = ReadRow(row_key, record, error);
  if (found == Found::kRow) {
    columns_.clear();
    index.codec.AppendRecord(record, &columns_);
    if (columns_ != columns) {
      return Found::kGone;
    }
    if (locking_ && pushed_idx_cond != nullptr) {
      // Values can be equal to those of the entry, and other ones.
      columns_.clear();
      index.columns.Append(record, &columns_);
      if (columns_ != covered) {
        return CheckCondition(index, row_key, columns_, error);
      }
    }
  }
  return found;
}

// Reads where a cursor that `moved` stands, or the next row from there, as long as keys begin with
// `prefix`.
int ha_sluice::ReadOn(const Status& moved, uchar* record, bool forwards, std::string_view prefix) {
  if (reads_ahead()) {
    ForgetAhead();
    const int error = LookAhead(moved, forwards, prefix);
    return error != 0 ? error : TakeAhead(record, forwards, prefix);
  }
  if (!moved.ok()) {
    return Fail(moved);
  }
  while (cursor_.valid() && cursor_.key().starts_with(prefix)) {
    int error = 0;
    switch (ReadHere(record, &error)) {
      case Found::kRow:
        return 0;
      case Found::kError:
        return error;
      case Found::kEnd:
        return HA_ERR_END_OF_FILE;
      case Found::kGone:
        // It may be ahead, where only a new iterator sees it. What SKIP LOCKED passes over, others
        // have locked, as a rule.
        if (sight() == Sight::kNewest && !row_lock_.skip) {
          cursor_.StandOn(cursor_.key());
        }
        [[fallthrough]];
      case Found::kNothing:
        unlock_row();
        break;
    }
    const Status status = forwards ? cursor_.Next() : cursor_.Prev();
    if (!status.ok()) {
      return Fail(status);
    }
  }
  return HA_ERR_END_OF_FILE;
}

// Reads on from the row that was read last.
int ha_sluice::ReadNext(uchar* record, bool forwards, std::string_view prefix) {
  if ((!ahead_.empty() || cursor_ahead_) &&
      !(reads_ahead() && ahead_.Continues(*session_, forwards))) {
    if (!ahead_.taken().empty()) {
      cursor_.StandOn(ahead_.taken());
    }
    ForgetAhead();
  }
  return reads_ahead()
             ? TakeAhead(record, forwards, prefix)
             : ReadOn(forwards ? cursor_.Next() : cursor_.Prev(), record, forwards, prefix);
}

// Whether an index's entries have all that is asked for. The server asks so of any index where it wants
// rows' positions (index_merge), but compares columns with the end of the range nevertheless, and those
// of the primary key with a range of that.
bool ha_sluice::reads_entries_only() const {
  if (keyread != active_index) {
    return false;
  }
  const Index& index = *indexes_[active_index];
  return index.covering && (index.covers_primary || !UsesPrimary(*table->read_set));
}

// Whether entries of an index are read whose rows come from elsewhere. Rows are locked one by one.
bool ha_sluice::reads_ahead() const {
  return !scanning_ && is_secondary(active_index) && !locking_ && !reads_entries_only();
}

// Reads the rows of the entries from where a cursor that `moved` stands.
int ha_sluice::LookAhead(const Status& moved, bool forwards, std::string_view prefix) {
  const Index& index = *indexes_[active_index];
  ahead_.Begin(*session_, forwards);
  cursor_ahead_ = false;
  Status status = moved;
  while (status.ok() && cursor_.valid() && cursor_.key().starts_with(prefix) &&
         !(forwards && cursor_.Stops())) {
    std::string_view columns;
    std::string_view row_key;
    std::string_view covered;
    if (!ParseEntry(cursor_.key(), cursor_.value(), &columns, &row_key, &covered)) {
      return Fail(Status::Corruption("an entry of index " +
                                     std::string(table->key_info[active_index].name.str)));
    }
    int error = 0;
    const Found found = CheckCondition(index, row_key, covered, &error);
    if (found == Found::kError) {
      return error;
    }
    if (found == Found::kEnd) {
      break;
    }
    if (found == Found::kRow) {
      ahead_.Add(cursor_.key(), row_key);
      if (ahead_.full()) {
        ahead_.Read(session_, rows());
        return 0;
      }
    }
    status = forwards ? cursor_.Next() : cursor_.Prev();
  }
  if (!status.ok()) {
    return Fail(status);
  }
  cursor_ahead_ = true;
  ahead_.Read(session_, rows());
  return 0;
}

// The next of the rows that were read together.
int ha_sluice::TakeAhead(uchar* record, bool forwards, std::string_view prefix) {
  for (;;) {
    if (ahead_.empty()) {
      const Status moved = cursor_ahead_ ? Status() : forwards ? cursor_.Next() : cursor_.Prev();
      if (const int error = LookAhead(moved, forwards, prefix); error != 0) {
        return error;
      }
    }
    if (ahead_.empty() || !ahead_.entry().starts_with(prefix)) {
      return HA_ERR_END_OF_FILE;
    }
    const Status status = ahead_.Take(session_, rows(), &row_key_, &row_);
    if (status.ok()) {
      int error = 0;
      return Unpack(row_, record, &error) == Found::kRow ? 0 : error;
    }
    if (!status.IsNotFound()) {
      return Fail(status);
    }
  }
}

Sight ha_sluice::sight() const {
  if (!locking_) {
    return Sight::kStatement;
  }
  // SKIP LOCKED does not ask for what others have locked, so it gets the newest of the rest.
  if (!session_->serializable() || row_lock_.skip || unguarded_) {
    return Sight::kNewest;
  }
  return row_lock_.shared ? Sight::kGuardForShare : Sight::kGuardForUpdate;
}

bool ha_sluice::AppendImage(const Index& index, const uchar* image, uint bytes,
                            std::string* out) const {
  const bool has_null = index.codec.AppendImage(image, std::min(bytes, index.bytes), out);
  if (bytes > index.bytes) {
    for (size_t i = 0; i < index.extension.size() && index.extension[i].end <= bytes; ++i) {
      row_key_codec_->AppendPartImage(i, image + index.extension[i].begin, out);
    }
  }
  return has_null;
}

std::string ha_sluice::EndOf(const Index& index, const key_range* end) const {
  std::string key;
  if (end != nullptr) {
    AppendImage(index, end->key, end->length, &key);
    if (end->flag != HA_READ_BEFORE_KEY) {
      key = Successor(key);
    }
  }
  return key;
}

// The server's own, which call index_read_map and the like; here for what lies behind the range.
int ha_sluice::read_range_first(const key_range* begin, const key_range* end, bool one_key,
                                bool sorted) {
  in_range_ = true;
  const int error = handler::read_range_first(begin, end, one_key, sorted);
  in_range_ = false;
  return error;
}

int ha_sluice::read_range_next() {
  in_range_ = true;
  const int error = handler::read_range_next();
  in_range_ = false;
  return error;
}

int ha_sluice::index_init(uint index, bool /*sorted*/) {
  active_index = index;
  scanning_ = false;
  beyond_ = Beyond::kNone;
  ForgetAhead();
  cursor_.Open(session_, subtable(*indexes_[index]), sight(), &counted_);
  return 0;
}

int ha_sluice::index_end() {
  active_index = MAX_KEY;
  ForgetAhead();
  cursor_.Close();
  return 0;
}

// Reads the only row with the columns search_, of a unique index.
int ha_sluice::ReadUnique(uchar* record) {
  int error = 0;
  locked_count_ = 0;
  cursor_.StandOn(search_);
  if (!is_secondary(active_index)) {
    const Found found = ReadRow(search_, record, &error);
    return found == Found::kRow ? 0 : found == Found::kError ? error : HA_ERR_KEY_NOT_FOUND;
  }
  const Index& index = *indexes_[active_index];
  const Status status = locking_ ? GetLocked(subtable(index), search_, &found_)
                                 : session_->Get(subtable(index), search_, &found_);
  if (!status.ok()) {
    return Fail(status);
  }
  std::string_view columns;
  std::string_view row_key;
  std::string_view covered;
  if (!ParseEntry(search_, found_, &columns, &row_key, &covered)) {
    return Fail(Status::Corruption("an entry of an index"));
  }
  Found found = CheckCondition(index, row_key, covered, &error);
  if (found == Found::kRow && !locking_ && reads_entries_only()) {
    row_key_.assign(row_key);
    row_.assign(covered);
    if (!ReadEntry(index, row_key_, row_, record)) {
      return Fail(Status::Corruption("an entry of an index"));
    }
  } else if (found == Found::kRow) {
    found = ReadRow(row_key, record, &error);
  } else {
    unlock_row();
  }
  return found == Found::kRow ? 0 : found == Found::kError ? error : HA_ERR_KEY_NOT_FOUND;
}

int ha_sluice::index_read_map(uchar* record, const uchar* key, key_part_map parts,
                              ha_rkey_function function) {
  const Index& index = *indexes_[active_index];
  const uint bytes = calculate_key_len(table, active_index, key, parts);
  search_.clear();
  const bool has_null = AppendImage(index, key, bytes, &search_);
  const bool whole = bytes == table->key_info[active_index].key_length;
  beyond_ = Beyond::kNone;
  Status status = GuardUnique(index, key, bytes);
  if (!status.ok()) {
    return Fail(status);
  }
  ForgetAhead();
  cursor_.StopBefore(in_range_ ? EndOf(index, end_range) : std::string());
  bool forwards = true;
  std::string_view prefix;
  switch (function) {
    case HA_READ_KEY_EXACT:
      if (whole && index.unique && !has_null) {
        return ReadUnique(record);
      }
      [[fallthrough]];
    case HA_READ_PREFIX:
      prefix = search_;
      status = cursor_.SeekFirstIn(search_, Successor(search_));
      break;
    case HA_READ_KEY_OR_NEXT:
      status = cursor_.Seek(search_);
      break;
    case HA_READ_AFTER_KEY: {
      const std::string behind = Successor(search_);
      if (behind.empty()) {
        return HA_ERR_KEY_NOT_FOUND;
      }
      status = cursor_.Seek(behind);
      break;
    }
    case HA_READ_BEFORE_KEY:
      forwards = false;
      status = cursor_.SeekBefore(search_);
      break;
    case HA_READ_PREFIX_LAST:
      prefix = search_;
      forwards = false;
      status = cursor_.SeekLastIn(search_, Successor(search_));
      break;
    case HA_READ_KEY_OR_PREV:
    case HA_READ_PREFIX_LAST_OR_PREV: {
      forwards = false;
      const std::string behind = Successor(search_);
      status = behind.empty() ? cursor_.SeekToLast() : cursor_.SeekBefore(behind);
      break;
    }
    default:
      return HA_ERR_WRONG_COMMAND;
  }
  const int error = ReadOn(status, record, forwards, prefix);
  return error == HA_ERR_END_OF_FILE ? HA_ERR_KEY_NOT_FOUND : error;
}

int ha_sluice::index_next_same(uchar* record, const uchar* key, uint bytes) {
  search_.clear();
  AppendImage(*indexes_[active_index], key, bytes, &search_);
  return ReadNext(record, true, search_);
}

// Whoever has gone on beyond the last row (HANDLER) comes back to it.
int ha_sluice::index_next(uchar* record) {
  if (in_range_) {
    return ReadNext(record, true, {});
  }
  if (beyond_ == Beyond::kFirst) {
    return index_first(record);
  }
  cursor_.StopBefore({});
  const int error = ReadNext(record, true, {});
  beyond_ = error == HA_ERR_END_OF_FILE ? Beyond::kLast : Beyond::kNone;
  return error;
}

int ha_sluice::index_prev(uchar* record) {
  if (beyond_ == Beyond::kLast) {
    return index_last(record);
  }
  const int error = ReadNext(record, false, {});
  beyond_ = error == HA_ERR_END_OF_FILE ? Beyond::kFirst : Beyond::kNone;
  return error;
}

int ha_sluice::index_first(uchar* record) {
  beyond_ = Beyond::kNone;
  cursor_.StopBefore(in_range_ ? EndOf(*indexes_[active_index], end_range) : std::string());
  return ReadOn(cursor_.SeekToFirst(), record, true, {});
}

int ha_sluice::index_last(uchar* record) {
  beyond_ = Beyond::kNone;
  return ReadOn(cursor_.SeekToLast(), record, false, {});
}

int ha_sluice::rnd_init(bool scan) {
  scanning_ = true;
  started_ = false;
  if (scan) {
    cursor_.Open(session_, rows(), sight());
  }
  return 0;
}

int ha_sluice::rnd_end() {
  scanning_ = false;
  cursor_.Close();
  return 0;
}

int ha_sluice::rnd_next(uchar* record) {
  if (!started_) {
    started_ = true;
    return ReadOn(cursor_.SeekFirstIn({}, {}), record, true, {});
  }
  return ReadOn(cursor_.Next(), record, true, {});
}

void ha_sluice::SetPosition(std::string_view row_key) {
  std::memset(ref, 0, ref_length);
  int2store(ref, row_key.size());
  std::memcpy(ref + 2, row_key.data(), row_key.size());
}

void ha_sluice::position(const uchar* /*record*/) { SetPosition(row_key_); }

int ha_sluice::rnd_pos(uchar* record, uchar* position) {
  const std::string key(reinterpret_cast<const char*>(position) + 2, uint2korr(position));
  int error = 0;
  locked_count_ = 0;
  const Found found = ReadRow(key, record, &error);
  return found == Found::kRow ? 0 : found == Found::kError ? error : HA_ERR_KEY_NOT_FOUND;
}

int ha_sluice::cmp_ref(const uchar* a, const uchar* b) {
  const std::string_view x(reinterpret_cast<const char*>(a) + 2, uint2korr(a));
  const std::string_view y(reinterpret_cast<const char*>(b) + 2, uint2korr(b));
  return x.compare(y);
}

// Rows lie in the order of the primary key: a range of them costs its share of a scan.
double ha_sluice::read_time(uint index, uint ranges, ha_rows rows) {
  if (index != table->s->primary_key) {
    return handler::read_time(index, ranges, rows);
  }
  const double share =
      std::min(1.0, rows2double(rows) / rows2double(std::max<ha_rows>(1, stats.records)));
  return ranges + share * scan_time();
}

ha_rows ha_sluice::records_in_range(uint index_number, const key_range* begin, const key_range* end,
                                    page_range* /*pages*/) {
  const Index& index = *indexes_[index_number];
  std::string from;
  const std::string to = EndOf(index, end);
  if (begin != nullptr) {
    AppendImage(index, begin->key, begin->length, &from);
    if (begin->flag == HA_READ_AFTER_KEY) {
      from = Successor(from);
      if (from.empty()) {
        return 1;
      }
    }
  }
  uint64_t count = 0;
  // A scan that locks reads another state, and of a statement that is only explained none follows.
  const LEX& lex = *ha_thd()->lex;
  const bool scans = !locking_ && (lex.describe == 0 || lex.analyze_stmt);
  const Status status =
      counted_.Count(session_, subtable(index), scans, from, to, kCountedEntries, &count);
  if (!status.ok()) {
    return HA_POS_ERROR;
  }
  if (count == kCountedEntries) {
    count = std::max(count, engine->db->ApproximateSize(subtable(index), from, to).records);
  }
  return std::max<uint64_t>(1, count);
}
