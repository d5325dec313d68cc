#include "sluice/c.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "c/c_types.h"
#include "db/describe.h"
#include "sluice/db.h"

using sluice::Copy;
using sluice::Status;
using sluice::Tell;

struct sluice_write_options_t {
  sluice::WriteOptions rep;
};
struct sluice_read_options_t {
  sluice::ReadOptions rep;
  std::string lower;
  std::string upper;
};
struct sluice_db_t {
  std::unique_ptr<sluice::DB> rep;
};
struct sluice_batch_t {
  sluice::WriteBatch rep;
};
struct sluice_iterator_t {
  std::unique_ptr<sluice::Iterator> rep;
};
struct sluice_ingestion_t {
  std::unique_ptr<sluice::Ingestion> rep;
};
struct sluice_transaction_options_t {
  sluice::TransactionOptions rep;
};
struct sluice_transaction_t {
  std::unique_ptr<sluice::Transaction> rep;
};

namespace {

sluice::WriteOptions Of(const sluice_write_options_t* options) {
  return options != nullptr ? options->rep : sluice::WriteOptions{};
}
std::chrono::milliseconds Milliseconds(uint64_t milliseconds) {
  return std::chrono::milliseconds(
      std::min<uint64_t>(milliseconds, std::chrono::milliseconds::max().count()));
}
sluice::TransactionOptions Of(const sluice_transaction_options_t* options) {
  return options != nullptr ? options->rep : sluice::TransactionOptions{};
}
sluice::ReadOptions Of(const sluice_read_options_t* options) {
  return options != nullptr ? options->rep : sluice::ReadOptions{};
}
sluice::SubtableOptions Of(const sluice_subtable_options_t* options) {
  return options != nullptr ? options->rep : sluice::SubtableOptions{};
}
sluice::Subtable* Of(sluice_subtable_t* subtable) {
  return reinterpret_cast<sluice::Subtable*>(subtable);
}
const sluice::Subtable* Of(const sluice_subtable_t* subtable) {
  return reinterpret_cast<const sluice::Subtable*>(subtable);
}
sluice_subtable_t* ToC(sluice::Subtable* subtable) {
  return reinterpret_cast<sluice_subtable_t*>(subtable);
}

// What a Get has found, as C wants it.
char* Found(const Status& status, const std::string& value, size_t* value_bytes, char** error) {
  *value_bytes = 0;
  if (!status.ok()) {
    if (!status.IsNotFound()) {
      Tell(status, error);
    }
    return nullptr;
  }
  *value_bytes = value.size();
  return Copy(value);
}

// A range's bound; null: none.
std::string_view Bound(const char* key, size_t bytes) { return {key, key != nullptr ? bytes : 0}; }

void SetBound(const char* key, size_t bytes, std::string* copy, const std::string** bound) {
  *bound = nullptr;
  if (key != nullptr) {
    copy->assign(key, bytes);
    *bound = copy;
  }
}

}  // namespace

extern "C" {

void sluice_free(void* pointer) { std::free(pointer); }

sluice_write_options_t* sluice_write_options_create(void) { return new sluice_write_options_t; }
void sluice_write_options_destroy(sluice_write_options_t* options) { delete options; }
void sluice_write_options_set_sync(sluice_write_options_t* options, int sync) {
  options->rep.sync = sync != 0;
}

sluice_read_options_t* sluice_read_options_create(void) { return new sluice_read_options_t; }
void sluice_read_options_destroy(sluice_read_options_t* options) { delete options; }
void sluice_read_options_set_snapshot(sluice_read_options_t* options,
                                      const sluice_snapshot_t* snapshot) {
  options->rep.snapshot = reinterpret_cast<const sluice::Snapshot*>(snapshot);
}
void sluice_read_options_set_fill_cache(sluice_read_options_t* options, int fill_cache) {
  options->rep.fill_cache = fill_cache != 0;
}
void sluice_read_options_set_lower_bound(sluice_read_options_t* options, const char* key,
                                         size_t key_bytes) {
  SetBound(key, key_bytes, &options->lower, &options->rep.lower_bound);
}
void sluice_read_options_set_upper_bound(sluice_read_options_t* options, const char* key,
                                         size_t key_bytes) {
  SetBound(key, key_bytes, &options->upper, &options->rep.upper_bound);
}

sluice_db_t* sluice_open(const sluice_options_t* options, const char* path, char** error) {
  auto db = std::make_unique<sluice_db_t>();
  const Status status =
      sluice::DB::Open(options != nullptr ? options->rep : sluice::Options{}, path, &db->rep);
  Tell(status, error);
  return status.ok() ? db.release() : nullptr;
}
void sluice_close(sluice_db_t* db, char** error) {
  Tell(db->rep->Close(), error);
  delete db;
}
void sluice_destroy(const sluice_options_t* options, const char* path, char** error) {
  Tell(sluice::DB::Destroy(options != nullptr ? options->rep : sluice::Options{}, path), error);
}

sluice_subtable_t* sluice_create_subtable(sluice_db_t* db, const char* name, char** error) {
  sluice::Subtable* subtable = nullptr;
  Tell(db->rep->CreateSubtable(name, &subtable), error);
  return ToC(subtable);
}
sluice_subtable_t* sluice_create_subtable_with_options(sluice_db_t* db,
                                                       const sluice_subtable_options_t* options,
                                                       const char* name, char** error) {
  sluice::Subtable* subtable = nullptr;
  Tell(db->rep->CreateSubtable(Of(options), name, &subtable), error);
  return ToC(subtable);
}
void sluice_set_subtable_options(sluice_db_t* db, sluice_subtable_t* subtable,
                                 const sluice_subtable_options_t* options, char** error) {
  Tell(db->rep->SetSubtableOptions(Of(subtable), Of(options)), error);
}
sluice_subtable_options_t* sluice_get_subtable_options(sluice_db_t* db,
                                                       sluice_subtable_t* subtable) {
  return new sluice_subtable_options_t{db->rep->GetSubtableOptions(Of(subtable))};
}
void sluice_drop_subtable(sluice_db_t* db, sluice_subtable_t* subtable, char** error) {
  Tell(db->rep->DropSubtable(Of(subtable)), error);
}
sluice_subtable_t* sluice_find_subtable(sluice_db_t* db, const char* name) {
  return ToC(db->rep->FindSubtable(name));
}
sluice_subtable_t** sluice_list_subtables(sluice_db_t* db, size_t* count) {
  const std::vector<sluice::Subtable*> list = db->rep->ListSubtables();
  *count = list.size();
  auto** const copy =
      static_cast<sluice_subtable_t**>(std::malloc(list.size() * sizeof(sluice_subtable_t*)));
  for (size_t i = 0; i < list.size(); ++i) {
    copy[i] = ToC(list[i]);
  }
  return copy;
}
const char* sluice_subtable_name(const sluice_subtable_t* subtable) {
  return Of(subtable)->name().c_str();
}

void sluice_put(sluice_db_t* db, const sluice_write_options_t* options, sluice_subtable_t* subtable,
                const char* key, size_t key_bytes, const char* value, size_t value_bytes,
                char** error) {
  Tell(db->rep->Put(Of(options), Of(subtable), {key, key_bytes}, {value, value_bytes}), error);
}
void sluice_delete(sluice_db_t* db, const sluice_write_options_t* options,
                   sluice_subtable_t* subtable, const char* key, size_t key_bytes, char** error) {
  Tell(db->rep->Delete(Of(options), Of(subtable), {key, key_bytes}), error);
}
void sluice_delete_range(sluice_db_t* db, const sluice_write_options_t* options,
                         sluice_subtable_t* subtable, const char* begin, size_t begin_bytes,
                         const char* end, size_t end_bytes, char** error) {
  Tell(db->rep->DeleteRange(Of(options), Of(subtable), Bound(begin, begin_bytes),
                            Bound(end, end_bytes)),
       error);
}
void sluice_write(sluice_db_t* db, const sluice_write_options_t* options,
                  const sluice_batch_t* batch, char** error) {
  Tell(db->rep->Write(Of(options), batch->rep), error);
}
void sluice_write_async(sluice_db_t* db, const sluice_write_options_t* options,
                        const sluice_batch_t* batch, void (*callback)(void* argument, char* error),
                        void* argument) {
  db->rep->WriteAsync(Of(options), batch->rep, [callback, argument](const Status& status) {
    char* error = nullptr;
    Tell(status, &error);
    callback(argument, error);
  });
}

sluice_batch_t* sluice_batch_create(void) { return new sluice_batch_t; }
void sluice_batch_destroy(sluice_batch_t* batch) { delete batch; }
void sluice_batch_put(sluice_batch_t* batch, const sluice_subtable_t* subtable, const char* key,
                      size_t key_bytes, const char* value, size_t value_bytes) {
  batch->rep.Put(Of(subtable), {key, key_bytes}, {value, value_bytes});
}
void sluice_batch_delete(sluice_batch_t* batch, const sluice_subtable_t* subtable, const char* key,
                         size_t key_bytes) {
  batch->rep.Delete(Of(subtable), {key, key_bytes});
}
void sluice_batch_delete_range(sluice_batch_t* batch, const sluice_subtable_t* subtable,
                               const char* begin, size_t begin_bytes, const char* end,
                               size_t end_bytes) {
  batch->rep.DeleteRange(Of(subtable), Bound(begin, begin_bytes), Bound(end, end_bytes));
}
void sluice_batch_clear(sluice_batch_t* batch) { batch->rep.Clear(); }
uint32_t sluice_batch_count(const sluice_batch_t* batch) { return batch->rep.count(); }

char* sluice_get(sluice_db_t* db, const sluice_read_options_t* options, sluice_subtable_t* subtable,
                 const char* key, size_t key_bytes, size_t* value_bytes, char** error) {
  std::string value;
  const Status status = db->rep->Get(Of(options), Of(subtable), {key, key_bytes}, &value);
  return Found(status, value, value_bytes, error);
}
void sluice_multi_get(sluice_db_t* db, const sluice_read_options_t* options,
                      sluice_subtable_t* subtable, size_t count, const char* const* keys,
                      const size_t* keys_bytes, char** values, size_t* values_bytes,
                      char** errors) {
  std::vector<std::string_view> wanted;
  wanted.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    wanted.emplace_back(keys[i], keys_bytes[i]);
  }
  std::vector<std::string> found;
  const std::vector<Status> statuses = db->rep->MultiGet(Of(options), Of(subtable), wanted, &found);
  for (size_t i = 0; i < count; ++i) {
    values[i] = statuses[i].ok() ? Copy(found[i]) : nullptr;
    values_bytes[i] = statuses[i].ok() ? found[i].size() : 0;
    errors[i] = nullptr;
    if (!statuses[i].IsNotFound()) {
      Tell(statuses[i], &errors[i]);
    }
  }
}

sluice_iterator_t* sluice_iterator_create(sluice_db_t* db, const sluice_read_options_t* options,
                                          sluice_subtable_t* subtable) {
  return new sluice_iterator_t{db->rep->NewIterator(Of(options), Of(subtable))};
}
void sluice_iterator_destroy(sluice_iterator_t* iterator) { delete iterator; }
int sluice_iterator_valid(const sluice_iterator_t* iterator) {
  return iterator->rep->Valid() ? 1 : 0;
}
void sluice_iterator_seek_to_first(sluice_iterator_t* iterator) { iterator->rep->SeekToFirst(); }
void sluice_iterator_seek_to_last(sluice_iterator_t* iterator) { iterator->rep->SeekToLast(); }
void sluice_iterator_seek(sluice_iterator_t* iterator, const char* key, size_t key_bytes) {
  iterator->rep->Seek({key, key_bytes});
}
void sluice_iterator_seek_for_prev(sluice_iterator_t* iterator, const char* key, size_t key_bytes) {
  iterator->rep->SeekForPrev({key, key_bytes});
}
void sluice_iterator_next(sluice_iterator_t* iterator) { iterator->rep->Next(); }
void sluice_iterator_prev(sluice_iterator_t* iterator) { iterator->rep->Prev(); }
const char* sluice_iterator_key(const sluice_iterator_t* iterator, size_t* key_bytes) {
  const std::string_view key = iterator->rep->key();
  *key_bytes = key.size();
  return key.data();
}
const char* sluice_iterator_value(const sluice_iterator_t* iterator, size_t* value_bytes) {
  const std::string_view value = iterator->rep->value();
  *value_bytes = value.size();
  return value.data();
}
void sluice_iterator_get_error(const sluice_iterator_t* iterator, char** error) {
  Tell(iterator->rep->status(), error);
}

const sluice_snapshot_t* sluice_snapshot_create(sluice_db_t* db) {
  return reinterpret_cast<const sluice_snapshot_t*>(db->rep->GetSnapshot());
}
void sluice_snapshot_release(sluice_db_t* db, const sluice_snapshot_t* snapshot) {
  db->rep->ReleaseSnapshot(reinterpret_cast<const sluice::Snapshot*>(snapshot));
}

sluice_transaction_options_t* sluice_transaction_options_create(void) {
  return new sluice_transaction_options_t;
}
void sluice_transaction_options_destroy(sluice_transaction_options_t* options) { delete options; }
void sluice_transaction_options_set_isolation(sluice_transaction_options_t* options,
                                              int isolation) {
  options->rep.isolation = isolation == sluice_isolation_read_committed
                               ? sluice::Isolation::kReadCommitted
                               : sluice::Isolation::kSnapshot;
}
void sluice_transaction_options_set_lock_timeout(sluice_transaction_options_t* options,
                                                 uint64_t milliseconds) {
  options->rep.lock_timeout = Milliseconds(milliseconds);
}
void sluice_transaction_options_set_max_bytes(sluice_transaction_options_t* options, size_t bytes) {
  options->rep.max_bytes = bytes;
}

sluice_transaction_t* sluice_transaction_begin(sluice_db_t* db,
                                               const sluice_transaction_options_t* options,
                                               const sluice_write_options_t* write_options) {
  return new sluice_transaction_t{db->rep->BeginTransaction(Of(options), Of(write_options))};
}
void sluice_transaction_destroy(sluice_transaction_t* transaction) { delete transaction; }
uint64_t sluice_transaction_id(const sluice_transaction_t* transaction) {
  return transaction->rep->id();
}
void sluice_transaction_set_lock_timeout(sluice_transaction_t* transaction, uint64_t milliseconds) {
  transaction->rep->SetLockTimeout(Milliseconds(milliseconds));
}
void sluice_transaction_cancel_waits(sluice_transaction_t* transaction) {
  transaction->rep->CancelWaits();
}
void sluice_transaction_allow_waits(sluice_transaction_t* transaction) {
  transaction->rep->AllowWaits();
}
void sluice_transaction_put(sluice_transaction_t* transaction, sluice_subtable_t* subtable,
                            const char* key, size_t key_bytes, const char* value,
                            size_t value_bytes, char** error) {
  Tell(transaction->rep->Put(Of(subtable), {key, key_bytes}, {value, value_bytes}), error);
}
void sluice_transaction_delete(sluice_transaction_t* transaction, sluice_subtable_t* subtable,
                               const char* key, size_t key_bytes, char** error) {
  Tell(transaction->rep->Delete(Of(subtable), {key, key_bytes}), error);
}
void sluice_transaction_put_untracked(sluice_transaction_t* transaction,
                                      sluice_subtable_t* subtable, const char* key,
                                      size_t key_bytes, const char* value, size_t value_bytes,
                                      char** error) {
  Tell(transaction->rep->PutUntracked(Of(subtable), {key, key_bytes}, {value, value_bytes}), error);
}
void sluice_transaction_delete_untracked(sluice_transaction_t* transaction,
                                         sluice_subtable_t* subtable, const char* key,
                                         size_t key_bytes, char** error) {
  Tell(transaction->rep->DeleteUntracked(Of(subtable), {key, key_bytes}), error);
}
char* sluice_transaction_get(sluice_transaction_t* transaction,
                             const sluice_read_options_t* options, sluice_subtable_t* subtable,
                             const char* key, size_t key_bytes, size_t* value_bytes, char** error) {
  std::string value;
  const Status status = transaction->rep->Get(Of(options), Of(subtable), {key, key_bytes}, &value);
  return Found(status, value, value_bytes, error);
}
char* sluice_transaction_get_for_update(sluice_transaction_t* transaction,
                                        const sluice_read_options_t* options,
                                        sluice_subtable_t* subtable, const char* key,
                                        size_t key_bytes, size_t* value_bytes, char** error) {
  std::string value;
  const Status status =
      transaction->rep->GetForUpdate(Of(options), Of(subtable), {key, key_bytes}, &value);
  return Found(status, value, value_bytes, error);
}
char* sluice_transaction_get_for_share(sluice_transaction_t* transaction,
                                       const sluice_read_options_t* options,
                                       sluice_subtable_t* subtable, const char* key,
                                       size_t key_bytes, size_t* value_bytes, char** error) {
  std::string value;
  const Status status =
      transaction->rep->GetForShare(Of(options), Of(subtable), {key, key_bytes}, &value);
  return Found(status, value, value_bytes, error);
}
void sluice_transaction_lock_range_for_update(sluice_transaction_t* transaction,
                                              sluice_subtable_t* subtable, const char* begin,
                                              size_t begin_bytes, const char* end, size_t end_bytes,
                                              char** error) {
  Tell(transaction->rep->LockRangeForUpdate(Of(subtable), Bound(begin, begin_bytes),
                                            Bound(end, end_bytes)),
       error);
}
void sluice_transaction_lock_range_for_share(sluice_transaction_t* transaction,
                                             sluice_subtable_t* subtable, const char* begin,
                                             size_t begin_bytes, const char* end, size_t end_bytes,
                                             char** error) {
  Tell(transaction->rep->LockRangeForShare(Of(subtable), Bound(begin, begin_bytes),
                                           Bound(end, end_bytes)),
       error);
}
void sluice_transaction_unlock(sluice_transaction_t* transaction, sluice_subtable_t* subtable,
                               const char* key, size_t key_bytes, char** error) {
  Tell(transaction->rep->Unlock(Of(subtable), {key, key_bytes}), error);
}
sluice_iterator_t* sluice_transaction_iterator_create(sluice_transaction_t* transaction,
                                                      const sluice_read_options_t* options,
                                                      sluice_subtable_t* subtable) {
  return new sluice_iterator_t{transaction->rep->NewIterator(Of(options), Of(subtable))};
}
void sluice_transaction_set_savepoint(sluice_transaction_t* transaction) {
  transaction->rep->SetSavepoint();
}
void sluice_transaction_rollback_to_savepoint(sluice_transaction_t* transaction, char** error) {
  Tell(transaction->rep->RollbackToSavepoint(), error);
}
void sluice_transaction_release_savepoint(sluice_transaction_t* transaction, char** error) {
  Tell(transaction->rep->ReleaseSavepoint(), error);
}
void sluice_transaction_commit(sluice_transaction_t* transaction, char** error) {
  Tell(transaction->rep->Commit(), error);
}
void sluice_transaction_commit_async(sluice_transaction_t* transaction,
                                     void (*callback)(void* argument, char* error),
                                     void* argument) {
  transaction->rep->CommitAsync([callback, argument](const Status& status) {
    char* error = nullptr;
    Tell(status, &error);
    callback(argument, error);
  });
}
void sluice_transaction_rollback(sluice_transaction_t* transaction, char** error) {
  Tell(transaction->rep->Rollback(), error);
}

void sluice_transaction_prepare(sluice_transaction_t* transaction, const char* name,
                                size_t name_bytes, int keep_read_locks, char** error) {
  Tell(transaction->rep->Prepare({name, name_bytes}, {.keep_read_locks = keep_read_locks != 0}),
       error);
}
char* sluice_prepared_name(sluice_db_t* db, size_t index, size_t* name_bytes) {
  const std::vector<std::string> names = db->rep->ListPrepared();
  *name_bytes = index < names.size() ? names[index].size() : 0;
  return index < names.size() ? Copy(names[index]) : nullptr;
}
sluice_transaction_t* sluice_transaction_resume(sluice_db_t* db, const char* name,
                                                size_t name_bytes,
                                                const sluice_write_options_t* write_options,
                                                char** error) {
  auto transaction = std::make_unique<sluice_transaction_t>();
  const Status status =
      db->rep->ResumeTransaction({name, name_bytes}, Of(write_options), &transaction->rep);
  Tell(status, error);
  return status.ok() ? transaction.release() : nullptr;
}

void sluice_flush(sluice_db_t* db, sluice_subtable_t* subtable, char** error) {
  Tell(db->rep->Flush(Of(subtable)), error);
}
void sluice_compact_range(sluice_db_t* db, sluice_subtable_t* subtable, const char* begin,
                          size_t begin_bytes, const char* end, size_t end_bytes, char** error) {
  Tell(db->rep->CompactRange(Of(subtable), Bound(begin, begin_bytes), Bound(end, end_bytes)),
       error);
}
sluice_ingestion_t* sluice_ingestion_create(sluice_db_t* db, char** error) {
  auto ingestion = std::make_unique<sluice_ingestion_t>();
  const Status status = db->rep->NewIngestion(&ingestion->rep);
  Tell(status, error);
  return status.ok() ? ingestion.release() : nullptr;
}
void sluice_ingestion_add(sluice_ingestion_t* ingestion, sluice_subtable_t* subtable,
                          const char* key, size_t key_bytes, const char* value, size_t value_bytes,
                          char** error) {
  Tell(ingestion->rep->Add(Of(subtable), {key, key_bytes}, {value, value_bytes}), error);
}
void sluice_ingestion_commit(sluice_ingestion_t* ingestion, char** error) {
  Tell(ingestion->rep->Commit(), error);
}
void sluice_ingestion_destroy(sluice_ingestion_t* ingestion) { delete ingestion; }
void sluice_approximate_size(sluice_db_t* db, sluice_subtable_t* subtable, const char* begin,
                             size_t begin_bytes, const char* end, size_t end_bytes,
                             uint64_t* records, uint64_t* bytes) {
  const sluice::RangeSize size =
      db->rep->ApproximateSize(Of(subtable), Bound(begin, begin_bytes), Bound(end, end_bytes));
  if (records != nullptr) {
    *records = size.records;
  }
  if (bytes != nullptr) {
    *bytes = size.bytes;
  }
}
void sluice_wait_for_background_work(sluice_db_t* db, char** error) {
  Tell(db->rep->WaitForBackgroundWork(), error);
}
void sluice_checkpoint(sluice_db_t* db, const char* path, char** error) {
  Tell(db->rep->CreateCheckpoint(path), error);
}
void sluice_verify(sluice_db_t* db, char** error) { Tell(db->rep->Verify({}), error); }
char* sluice_statistics_text(sluice_db_t* db) { return Copy(db->rep->GetStatistics().ToString()); }
char* sluice_statistics_json(sluice_db_t* db) {
  return Copy(sluice::TextOf(ToJson(db->rep->GetStatistics()), 2));
}
char* sluice_get_property(sluice_db_t* db, sluice_subtable_t* subtable, const char* name,
                          char** error) {
  std::string value;
  const Status status = db->rep->GetProperty(Of(subtable), name, &value);
  Tell(status, error);
  return status.ok() ? Copy(value) : nullptr;
}

}  // extern "C"
