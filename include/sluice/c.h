/* The C interface of the storage engine: what sluice/db.h has, for C and for bindings.
 *
 *   char* error = NULL;
 *   sluice_options_t* options = sluice_options_create();
 *   sluice_options_set(options, "create_if_missing", "1", &error);
 *   sluice_db_t* db = sluice_open(options, "/data/db", &error);
 *   sluice_put(db, NULL, NULL, "key", 3, "value", 5, &error);
 *   if (error != NULL) { fprintf(stderr, "%s\n", error); sluice_free(error); }
 *
 * A call that can fail takes `char** error`, which must point to NULL: a failure leaves a message
 * there, to be given to sluice_free, and what it begins with is the kind ("not found: ",
 * "corruption: ", "no space: ", ...; sluice/status.h). Keys and values are any bytes with a length;
 * what a call returns by malloc is said, and goes to sluice_free. Null for options or a sub-table
 * means the defaults. Threads: as sluice/db.h says; options, batches and iterators are used by one
 * thread at a time.
 */

#ifndef SLUICE_C_H_
#define SLUICE_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_db_t sluice_db_t;
typedef struct sluice_options_t sluice_options_t;
typedef struct sluice_write_options_t sluice_write_options_t;
typedef struct sluice_read_options_t sluice_read_options_t;
typedef struct sluice_subtable_t sluice_subtable_t;
typedef struct sluice_batch_t sluice_batch_t;
typedef struct sluice_iterator_t sluice_iterator_t;
typedef struct sluice_snapshot_t sluice_snapshot_t;
typedef struct sluice_transaction_options_t sluice_transaction_options_t;
typedef struct sluice_transaction_t sluice_transaction_t;

void sluice_free(void* pointer);

/* Options. `name` is that of a field of sluice::Options; numbers are decimal, truths 0 or 1,
 * "compression" is none or snappy, "executor", "configuration" and "replay_dump_dir" those of
 * Options::Offload, "level_paths" directories separated by commas. */
sluice_options_t* sluice_options_create(void);
void sluice_options_destroy(sluice_options_t* options);
void sluice_options_set(sluice_options_t* options, const char* name, const char* value,
                        char** error);

sluice_write_options_t* sluice_write_options_create(void);
void sluice_write_options_destroy(sluice_write_options_t* options);
void sluice_write_options_set_sync(sluice_write_options_t* options, int sync);

sluice_read_options_t* sluice_read_options_create(void);
void sluice_read_options_destroy(sluice_read_options_t* options);
void sluice_read_options_set_snapshot(sluice_read_options_t* options,
                                      const sluice_snapshot_t* snapshot);
void sluice_read_options_set_fill_cache(sluice_read_options_t* options, int fill_cache);
/* Copies the bound; a null key takes it away. The options outlive iterators made with them. */
void sluice_read_options_set_lower_bound(sluice_read_options_t* options, const char* key,
                                         size_t key_bytes);
void sluice_read_options_set_upper_bound(sluice_read_options_t* options, const char* key,
                                         size_t key_bytes);

/* What an event is told as: its kind ("flush", "compaction", "stall", "offload failure",
 * "background error") and a description as JSON, valid during the call. See sluice/listener.h. */
typedef void (*sluice_listener_t)(void* context, const char* kind, const char* json);
void sluice_options_set_listener(sluice_options_t* options, sluice_listener_t listener,
                                 void* context);

/* Databases. */
sluice_db_t* sluice_open(const sluice_options_t* options, const char* path, char** error);
/* Closes and destroys; iterators and snapshots must be gone. */
void sluice_close(sluice_db_t* db, char** error);
void sluice_destroy(const sluice_options_t* options, const char* path, char** error);

/* Sub-tables; handles belong to the database. */
sluice_subtable_t* sluice_create_subtable(sluice_db_t* db, const char* name, char** error);
void sluice_drop_subtable(sluice_db_t* db, sluice_subtable_t* subtable, char** error);
sluice_subtable_t* sluice_find_subtable(sluice_db_t* db, const char* name); /* null: none */
/* An array of *count handles, by malloc. */
sluice_subtable_t** sluice_list_subtables(sluice_db_t* db, size_t* count);
const char* sluice_subtable_name(const sluice_subtable_t* subtable); /* as long as the handle */

/* Writes. */
void sluice_put(sluice_db_t* db, const sluice_write_options_t* options, sluice_subtable_t* subtable,
                const char* key, size_t key_bytes, const char* value, size_t value_bytes,
                char** error);
void sluice_delete(sluice_db_t* db, const sluice_write_options_t* options,
                   sluice_subtable_t* subtable, const char* key, size_t key_bytes, char** error);
void sluice_delete_range(sluice_db_t* db, const sluice_write_options_t* options,
                         sluice_subtable_t* subtable, const char* begin, size_t begin_bytes,
                         const char* end, size_t end_bytes, char** error);
void sluice_write(sluice_db_t* db, const sluice_write_options_t* options,
                  const sluice_batch_t* batch, char** error);
/* Calls `callback` with `argument` when the write is done (DB::WriteAsync): `error` is null, or
 * goes to sluice_free. The batch may be destroyed at once. */
void sluice_write_async(sluice_db_t* db, const sluice_write_options_t* options,
                        const sluice_batch_t* batch, void (*callback)(void* argument, char* error),
                        void* argument);

sluice_batch_t* sluice_batch_create(void);
void sluice_batch_destroy(sluice_batch_t* batch);
void sluice_batch_put(sluice_batch_t* batch, const sluice_subtable_t* subtable, const char* key,
                      size_t key_bytes, const char* value, size_t value_bytes);
void sluice_batch_delete(sluice_batch_t* batch, const sluice_subtable_t* subtable, const char* key,
                         size_t key_bytes);
void sluice_batch_clear(sluice_batch_t* batch);
uint32_t sluice_batch_count(const sluice_batch_t* batch);

/* Reads. The value by malloc; null, without an error, if there is no such key. */
char* sluice_get(sluice_db_t* db, const sluice_read_options_t* options, sluice_subtable_t* subtable,
                 const char* key, size_t key_bytes, size_t* value_bytes, char** error);
/* As sluice_get, of one state, for each of `count` keys; errors[i] as *error there. */
void sluice_multi_get(sluice_db_t* db, const sluice_read_options_t* options,
                      sluice_subtable_t* subtable, size_t count, const char* const* keys,
                      const size_t* keys_bytes, char** values, size_t* values_bytes, char** errors);

sluice_iterator_t* sluice_iterator_create(sluice_db_t* db, const sluice_read_options_t* options,
                                          sluice_subtable_t* subtable);
void sluice_iterator_destroy(sluice_iterator_t* iterator);
int sluice_iterator_valid(const sluice_iterator_t* iterator);
void sluice_iterator_seek_to_first(sluice_iterator_t* iterator);
void sluice_iterator_seek_to_last(sluice_iterator_t* iterator);
void sluice_iterator_seek(sluice_iterator_t* iterator, const char* key, size_t key_bytes);
void sluice_iterator_seek_for_prev(sluice_iterator_t* iterator, const char* key, size_t key_bytes);
void sluice_iterator_next(sluice_iterator_t* iterator);
void sluice_iterator_prev(sluice_iterator_t* iterator);
/* Valid until the iterator moves. */
const char* sluice_iterator_key(const sluice_iterator_t* iterator, size_t* key_bytes);
const char* sluice_iterator_value(const sluice_iterator_t* iterator, size_t* value_bytes);
void sluice_iterator_get_error(const sluice_iterator_t* iterator, char** error);

const sluice_snapshot_t* sluice_snapshot_create(sluice_db_t* db);
void sluice_snapshot_release(sluice_db_t* db, const sluice_snapshot_t* snapshot);

/* Transactions (sluice/transaction.h); each is used by one thread at a time. Their errors begin
 * with "deadlock", "conflict", "timed out" (begin the transaction again) or "too large", too. */
enum { sluice_isolation_snapshot = 0, sluice_isolation_read_committed = 1 };
sluice_transaction_options_t* sluice_transaction_options_create(void);
void sluice_transaction_options_destroy(sluice_transaction_options_t* options);
void sluice_transaction_options_set_isolation(sluice_transaction_options_t* options, int isolation);
void sluice_transaction_options_set_lock_timeout(sluice_transaction_options_t* options,
                                                 uint64_t milliseconds);
void sluice_transaction_options_set_max_bytes(sluice_transaction_options_t* options, size_t bytes);

sluice_transaction_t* sluice_transaction_begin(sluice_db_t* db,
                                               const sluice_transaction_options_t* options,
                                               const sluice_write_options_t* write_options);
/* Rolls back what is neither committed nor prepared. */
void sluice_transaction_destroy(sluice_transaction_t* transaction);
uint64_t sluice_transaction_id(const sluice_transaction_t* transaction);

void sluice_transaction_put(sluice_transaction_t* transaction, sluice_subtable_t* subtable,
                            const char* key, size_t key_bytes, const char* value,
                            size_t value_bytes, char** error);
void sluice_transaction_delete(sluice_transaction_t* transaction, sluice_subtable_t* subtable,
                               const char* key, size_t key_bytes, char** error);
/* Both as sluice_get. */
char* sluice_transaction_get(sluice_transaction_t* transaction,
                             const sluice_read_options_t* options, sluice_subtable_t* subtable,
                             const char* key, size_t key_bytes, size_t* value_bytes, char** error);
char* sluice_transaction_get_for_update(sluice_transaction_t* transaction,
                                        const sluice_read_options_t* options,
                                        sluice_subtable_t* subtable, const char* key,
                                        size_t key_bytes, size_t* value_bytes, char** error);
/* To be destroyed before the transaction. */
sluice_iterator_t* sluice_transaction_iterator_create(sluice_transaction_t* transaction,
                                                      const sluice_read_options_t* options,
                                                      sluice_subtable_t* subtable);

void sluice_transaction_set_savepoint(sluice_transaction_t* transaction);
void sluice_transaction_rollback_to_savepoint(sluice_transaction_t* transaction, char** error);
void sluice_transaction_release_savepoint(sluice_transaction_t* transaction, char** error);

void sluice_transaction_commit(sluice_transaction_t* transaction, char** error);
/* As sluice_write_async; the transaction may be destroyed at once. */
void sluice_transaction_commit_async(sluice_transaction_t* transaction,
                                     void (*callback)(void* argument, char* error), void* argument);
void sluice_transaction_rollback(sluice_transaction_t* transaction, char** error);

/* The first of two phases; afterwards only commit and rollback are left. */
void sluice_transaction_prepare(sluice_transaction_t* transaction, const char* name,
                                size_t name_bytes, char** error);
/* The name of prepared transaction number `index`, from 0, in order, by malloc; null behind the
 * last one. */
char* sluice_prepared_name(sluice_db_t* db, size_t index, size_t* name_bytes);
sluice_transaction_t* sluice_transaction_resume(sluice_db_t* db, const char* name,
                                                size_t name_bytes,
                                                const sluice_write_options_t* write_options,
                                                char** error);

/* Upkeep. */
void sluice_flush(sluice_db_t* db, sluice_subtable_t* subtable, char** error);
/* A null bound: none. */
void sluice_compact_range(sluice_db_t* db, sluice_subtable_t* subtable, const char* begin,
                          size_t begin_bytes, const char* end, size_t end_bytes, char** error);
void sluice_wait_for_background_work(sluice_db_t* db, char** error);
void sluice_checkpoint(sluice_db_t* db, const char* path, char** error);
void sluice_verify(sluice_db_t* db, char** error);
/* For people, and as JSON; by malloc. */
char* sluice_statistics_text(sluice_db_t* db);
char* sluice_statistics_json(sluice_db_t* db);
/* One of them by name (DB::GetProperty), by malloc. */
char* sluice_get_property(sluice_db_t* db, sluice_subtable_t* subtable, const char* name,
                          char** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SLUICE_C_H_ */
