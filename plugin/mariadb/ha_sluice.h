// A table of the server, as the server uses it: one thread at a time, in one statement at a time.
//
// Each index is a sub-table. The rows are in that of the primary key or, without one, of numbers
// that rise. An entry of another index:
//
//     key     the index's columns, then the row's key; a unique index without NULL: its columns only
//     value   varint   bytes of the columns in the key
//             text     unique without NULL: the row's key, with its length as a varint in front
//             bytes    the columns as a row (RowCodec), for reads that need no others

#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "counted_range.h"
#include "cursor.h"
#include "engine.h"
#include "key_codec.h"
#include "read_ahead.h"
#include "row_codec.h"
#include "share.h"

class ha_sluice final : public handler {
 public:
  ha_sluice(handlerton* hton, TABLE_SHARE* table_share) : handler(hton, table_share) {}

  Table_flags table_flags() const override;
  ulong index_flags(uint index, uint part, bool all_parts) const override;
  uint max_supported_keys() const override { return MAX_KEY; }
  uint max_supported_key_length() const override { return 3072; }
  uint max_supported_key_part_length() const override { return 3072; }
  const char* index_type(uint /*index*/) override { return "BTREE"; }
  uint8 table_cache_type() override { return HA_CACHE_TBL_NOCACHE; }
  bool get_error_message(int error, String* message) override;

  // ha_sluice_tables.cc
  int open(const char* name, int mode, uint test_if_locked) override;
  int close() override;
  int create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) override;
  int delete_table(const char* name) override;
  int rename_table(const char* from, const char* to) override;
  int truncate() override;
  int info(uint flags) override;
  int extra(enum ha_extra_function operation) override;
  int reset() override;
  void update_create_info(HA_CREATE_INFO* create_info) override;
  bool check_if_incompatible_data(HA_CREATE_INFO* create_info, uint table_changes) override;
  int check(THD* thd, HA_CHECK_OPT* options) override;
  int analyze(THD* thd, HA_CHECK_OPT* options) override;
  int optimize(THD* thd, HA_CHECK_OPT* options) override;
  int external_lock(THD* thd, int lock_type) override;
  int start_stmt(THD* thd, thr_lock_type lock_type) override;
  THR_LOCK_DATA** store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) override;

  // ha_sluice_alter.cc
  enum_alter_inplace_result check_if_supported_inplace_alter(TABLE* altered,
                                                             Alter_inplace_info* info) override;
  bool can_convert_nocopy(const Field& field, const Column_definition& type) const override;
  bool prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* info) override;
  bool inplace_alter_table(TABLE* altered, Alter_inplace_info* info) override;
  bool commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* info, bool commit) override;

  // ha_sluice_write.cc
  int write_row(const uchar* record) override;
  int update_row(const uchar* old_record, const uchar* new_record) override;
  int delete_row(const uchar* record) override;
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong wanted, ulonglong* first,
                          ulonglong* reserved) override;
  void release_auto_increment() override;

  // ha_sluice_read.cc
  int read_range_first(const key_range* begin, const key_range* end, bool one_key,
                       bool sorted) override;
  int read_range_next() override;
  int index_init(uint index, bool sorted) override;
  int index_end() override;
  int index_read_map(uchar* record, const uchar* key, key_part_map parts,
                     ha_rkey_function function) override;
  int index_next_same(uchar* record, const uchar* key, uint bytes) override;
  int index_next(uchar* record) override;
  int index_prev(uchar* record) override;
  int index_first(uchar* record) override;
  int index_last(uchar* record) override;
  int rnd_init(bool scan) override;
  int rnd_end() override;
  int rnd_next(uchar* record) override;
  int rnd_pos(uchar* record, uchar* position) override;
  void position(const uchar* record) override;
  int cmp_ref(const uchar* a, const uchar* b) override;
  void unlock_row() override;
  Item* idx_cond_push(uint index, Item* condition) override;
  double read_time(uint index, uint ranges, ha_rows rows) override;
  ha_rows records_in_range(uint index, const key_range* begin, const key_range* end,
                           page_range* pages) override;

 private:
  // Where a column of the primary key is in the server's image of an extended key.
  struct ExtendedPart {
    uint begin;
    uint end;  // the image has it if it is as long as this
  };
  struct Index {
    sluice::mariadb::KeyCodec codec;
    sluice::mariadb::RowCodec columns;
    size_t entry;  // number of its sub-table in the dictionary's entry
    bool unique = false;
    bool covering = true;         // all of its columns can be read from an entry
    bool covers_primary = false;  // and those of the primary key
    uint bytes = 0;               // of the server's image of its columns
    // The server looks whether a row is in the way of another one that has the same in so many bytes
    // of that image; 0: it does not.
    uint guarded_bytes = 0;
    std::vector<Field*> computed = {};  // its VIRTUAL columns, which no row has
    // The primary key's columns, as many as follow in an extended key, and in an entry's key.
    std::vector<ExtendedPart> extension = {};
  };
  struct Entry {
    std::string key;
    std::string value;
    bool guards = false;  // stands for the only row with these columns
  };
  // What a read found where it looked. kGone: others have changed what is there since the cursor's
  // iterator was made; kEnd: it need not look further.
  enum class Found { kRow, kNothing, kGone, kEnd, kError };

  enum class Beyond : uint8_t { kNone, kFirst, kLast };

  struct LockedKey {
    sluice::Subtable* subtable;
    std::string key;
  };

  // The error's number for the server; remembers its message.
  int Fail(const sluice::Status& status);
  sluice::Subtable* rows() const { return share_->subtable(0); }
  sluice::Subtable* subtable(const Index& index) const { return share_->subtable(index.entry); }
  bool has_primary_key() const { return table->s->primary_key != MAX_KEY; }
  // Keys of the server that are not the primary key.
  bool is_secondary(uint index) const { return index != table->s->primary_key; }

  // ha_sluice_tables.cc
  static std::vector<uint> IndexOrder(const TABLE& table);
  static std::vector<sluice::mariadb::IndexEntry> DescribeIndexes(std::string_view name,
                                                                  TABLE* table);
  static const char* Refusal(const TABLE& table, THD* thd);
  static bool TooLongKeys(TABLE* table);
  sluice::Status OpenShare(const char* name);
  void SetOptions(const std::vector<sluice::mariadb::IndexEntry>& described,
                  const std::vector<size_t>& entries);
  void LimitExtendedKeys();
  // Without what only reads need: whether it covers the primary key, and its extension.
  static Index MakeIndex(TABLE* table, const KEY& key, size_t entry);
  void MakeIndexes(const std::vector<size_t>& entries);
  static std::vector<ExtendedPart> DescribeExtension(const TABLE& table, const KEY& key);
  sluice::Status MakeStatistics();
  void TellServerStatistics();
  void TellServerSize(bool shown, bool opened);
  int Start(THD* thd);
  sluice::Status CheckIndex(const Index& index, uint64_t rows, std::string* complaint);

  // ha_sluice_alter.cc
  sluice::Status IngestPiece(sluice::Subtable* subtable, std::vector<Entry>* entries);
  int ForEachEntry(TABLE* altered, const sluice::mariadb::RowCodec& codec, const Index& index,
                   const std::function<sluice::Status(Entry* entry)>& visit);
  int BuildIndex(TABLE* altered, const sluice::mariadb::RowCodec& codec, const Index& index,
                 sluice::Subtable* subtable);

  // ha_sluice_write.cc
  sluice::Status MakeRowKey(const uchar* record, std::string* key);
  void MakeEntry(const Index& index, const uchar* record, std::string_view row_key, Entry* entry);
  sluice::Status Lookup(sluice::Subtable* subtable, std::string_view key, std::string* value);
  sluice::Status Put(sluice::Subtable* subtable, std::string_view key, std::string_view value);
  sluice::Status Delete(sluice::Subtable* subtable, std::string_view key);
  sluice::Status PutEntry(const Index& index, const Entry& entry);
  sluice::Status DeleteEntry(const Index& index, const Entry& entry);
  int FailHalfWritten(const sluice::Status& status);
  int FailDuplicate(uint index, std::string_view row_key);
  int CheckDuplicates(const uchar* record, bool row_key_is_new);
  // The key of a lock on the table's automatic values, in the dictionary's sub-table.
  std::string AutoIncrementToken() const;
  sluice::Status WithAutoIncrement(
      bool for_statement,
      const std::function<sluice::Status(sluice::mariadb::AutoIncrementLock lock)>& take);
  uint64_t AutoIncrementOf(const uchar* record) const;
  sluice::Status HighestAutoIncrement(std::string_view prefix, uint64_t* highest);
  sluice::Status LockAutoIncrementGroup(const uchar* record, std::string* group);
  sluice::Status LockAutoIncrementOf(const uchar* record);
  sluice::Status NoteAutoIncrement(const uchar* record);

  // ha_sluice_read.cc
  static bool ParseEntry(std::string_view key, std::string_view value, std::string_view* columns,
                         std::string_view* row_key, std::string_view* covered);
  // Computes the index's VIRTUAL columns in a record of the table's that has the others. Unless
  // `quietly`, there may be warnings; false if there was an error, which the server knows.
  static bool Compute(const Index& index, TABLE* table, uchar* record, bool quietly);
  Found Unpack(std::string_view row, uchar* record, int* error);
  sluice::Status GetLocked(sluice::Subtable* subtable, std::string_view key, std::string* value);
  sluice::Status GuardUnique(const Index& index, const uchar* image, uint bytes);
  Found ReadRow(std::string_view key, uchar* record, int* error);
  bool UsesPrimary(const MY_BITMAP& columns) const;
  // Whether an entry has all columns that may bound a range of the index.
  static bool HasBounds(const Index& index) {
    return index.covers_primary || index.extension.empty();
  }
  bool ReadEntry(const Index& index, std::string_view row_key, std::string_view covered,
                 uchar* record) const;
  Found CheckCondition(const Index& index, std::string_view row_key, std::string_view covered,
                       int* error);
  Found ReadHere(uchar* record, int* error);
  int ReadOn(const sluice::Status& moved, uchar* record, bool forwards, std::string_view prefix);
  int ReadNext(uchar* record, bool forwards, std::string_view prefix);
  bool reads_entries_only() const;
  bool reads_ahead() const;
  // With the rows of entries that come next.
  int LookAhead(const sluice::Status& moved, bool forwards, std::string_view prefix);
  int TakeAhead(uchar* record, bool forwards, std::string_view prefix);
  void ForgetAhead() {
    ahead_.Restart();
    cursor_ahead_ = false;
  }
  int ReadUnique(uchar* record);
  // What a read of the table or an index sees, and whether that stays so.
  sluice::mariadb::Sight sight() const;
  // Rows need no locks of their own where a guard for share has them.
  bool guards_for_share() const { return sight() == sluice::mariadb::Sight::kGuardForShare; }
  // Appends what the keys of entries begin with that a key in the server's format stands for: the
  // index's columns, or some, or all and then the primary key's. Returns whether one is NULL.
  bool AppendImage(const Index& index, const uchar* image, uint bytes, std::string* out) const;
  // The key behind all in an index that the server's range has; empty: the index's end.
  std::string EndOf(const Index& index, const key_range* end) const;
  void SetPosition(std::string_view row_key);
  static constexpr uint kRowIdBytes = 8;

  THR_LOCK_DATA lock_data_;
  std::shared_ptr<sluice::mariadb::KeyCodec> row_key_codec_;  // of the primary key, if any
  std::unique_ptr<sluice::mariadb::RowCodec> row_codec_;
  std::vector<std::unique_ptr<Index>> indexes_;  // by the server's numbers
  sluice::mariadb::Share* share_ = nullptr;
  sluice::mariadb::Session* session_ = nullptr;  // of the statement
  thr_lock_type lock_type_ = TL_UNLOCK;
  bool locking_ = false;             // reads lock rows
  bool unguarded_ = false;           // what a replica finds may change, even if serializable
  bool only_index_ = false;          // of an index, the server asks for its columns only
  uint64_t statistics_version_ = 0;  // the share's, that the server was told
  bool in_range_ = false;  // the server reads from `end_range` backwards, and nothing behind it
  sluice::mariadb::RowLock row_lock_;
  std::array<LockedKey, 2> locked_;  // by the last read: the row, and an entry of a unique index
  size_t locked_count_ = 0;
  bool auto_increment_locked_ = false;  // by the statement, for itself
  int auto_increment_error_ = 0;        // why there are no values
  bool unshared_ = false;  // no other statement knows the table: no transaction is needed
  sluice::mariadb::CountedRange counted_;
  sluice::mariadb::Cursor cursor_;    // it may take what counted_ has
  sluice::mariadb::ReadAhead ahead_;  // of cursor_
  bool cursor_ahead_ = false;         // it stands on what was not looked at yet, or behind all
  bool scanning_ = false;             // the rows, not an index
  Beyond beyond_ = Beyond::kNone;     // an index's end that a scan has gone beyond
  bool started_ = false;              // a scan of the rows
  std::string search_;                // what the last index_read_map looked for
  std::string row_key_;               // of the row read or written last
  std::string row_;                   // its value; its blobs point here
  std::string message_;               // of the last error
  std::string duplicate_key_;         // of the row that is in the way

  // Scratch space of the calls that write.
  std::string new_row_key_;
  std::string old_row_;
  std::string new_row_;
  std::string found_;
  std::string columns_;
  std::vector<Entry> old_entries_;
  std::vector<Entry> new_entries_;
};
