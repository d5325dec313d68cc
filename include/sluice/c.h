/* The C interface of the storage engine: what sluice/db.h offers, for C and for language bindings.
 *
 *   char* error = NULL;
 *   sluice_options_t* options = sluice_options_create();
 *   sluice_options_set(options, "create_if_missing", "1", &error);
 *   sluice_db_t* db = sluice_open(options, "/data/db", &error);
 *   sluice_put(db, NULL, NULL, "key", 3, "value", 5, &error);
 *   if (error != NULL) { fprintf(stderr, "%s\n", error); sluice_free(error); }
 *
 * A call that can fail takes `char** error`, which must point to NULL. A failure stores a message
 * there, which the caller passes to sluice_free; it begins with the kind of the error, such as
 * "not found: ", "corruption: " or "no space: " (sluice/status.h). Keys and values are arbitrary
 * bytes with a length. Comments say which results are allocated by malloc; pass those to
 * sluice_free. Null for options or a sub-table means the defaults. Thread safety is as in
 * sluice/db.h; options, batches and iterators are used by one thread at a time.
 */

#ifndef SLUICE_C_H_
#define SLUICE_C_H_

#include <stddef.h>
#include <stdint.h>

#include "sluice/export.h"

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

SLUICE_EXPORT void sluice_free(void* pointer);

/* Options. `name` names a field of sluice::Options. Numbers are decimal, booleans 0 or 1;
 * "compression" is none or snappy; "level_paths" are directories separated by commas. The CPU
 * merges unless sluice/c_device.h says otherwise. */
SLUICE_EXPORT sluice_options_t* sluice_options_create(void);
SLUICE_EXPORT void sluice_options_destroy(sluice_options_t* options);
SLUICE_EXPORT void sluice_options_set(sluice_options_t* options, const char* name,
                                      const char* value, char** error);

SLUICE_EXPORT sluice_write_options_t* sluice_write_options_create(void);
SLUICE_EXPORT void sluice_write_options_destroy(sluice_write_options_t* options);
SLUICE_EXPORT void sluice_write_options_set_sync(sluice_write_options_t* options, int sync);

SLUICE_EXPORT sluice_read_options_t* sluice_read_options_create(void);
SLUICE_EXPORT void sluice_read_options_destroy(sluice_read_options_t* options);
SLUICE_EXPORT void sluice_read_options_set_snapshot(sluice_read_options_t* options,
                                                    const sluice_snapshot_t* snapshot);
SLUICE_EXPORT void sluice_read_options_set_fill_cache(sluice_read_options_t* options,
                                                      int fill_cache);
/* Copies the bound; a null key removes it. The options must outlive iterators made with them. */
SLUICE_EXPORT void sluice_read_options_set_lower_bound(sluice_read_options_t* options,
                                                       const char* key, size_t key_bytes);
SLUICE_EXPORT void sluice_read_options_set_upper_bound(sluice_read_options_t* options,
                                                       const char* key, size_t key_bytes);

/* Receives an event: its kind ("flush", "compaction", "stall", "offload failure",
 * "background error") and a description as JSON, valid during the call. See sluice/listener.h. */
typedef void (*sluice_listener_t)(void* context, const char* kind, const char* json);
SLUICE_EXPORT void sluice_options_set_listener(sluice_options_t* options,
                                               sluice_listener_t listener, void* context);

/* Databases. */
SLUICE_EXPORT sluice_db_t* sluice_open(const sluice_options_t* options, const char* path,
                                       char** error);
/* Closes the database and destroys the handle; no iterator or snapshot may be left. */
SLUICE_EXPORT void sluice_close(sluice_db_t* db, char** error);
SLUICE_EXPORT void sluice_destroy(const sluice_options_t* options, const char* path, char** error);

/* Sub-tables. Handles belong to the database. */
SLUICE_EXPORT sluice_subtable_t* sluice_create_subtable(sluice_db_t* db, const char* name,
                                                        char** error);
SLUICE_EXPORT void sluice_drop_subtable(sluice_db_t* db, sluice_subtable_t* subtable, char** error);
SLUICE_EXPORT sluice_subtable_t* sluice_find_subtable(sluice_db_t* db,
                                                      const char* name); /* null: none */
/* An array of *count handles, allocated by malloc. */
SLUICE_EXPORT sluice_subtable_t** sluice_list_subtables(sluice_db_t* db, size_t* count);
SLUICE_EXPORT const char* sluice_subtable_name(
    const sluice_subtable_t* subtable); /* lives as the handle does */

/* Writes. */
SLUICE_EXPORT void sluice_put(sluice_db_t* db, const sluice_write_options_t* options,
                              sluice_subtable_t* subtable, const char* key, size_t key_bytes,
                              const char* value, size_t value_bytes, char** error);
SLUICE_EXPORT void sluice_delete(sluice_db_t* db, const sluice_write_options_t* options,
                                 sluice_subtable_t* subtable, const char* key, size_t key_bytes,
                                 char** error);
SLUICE_EXPORT void sluice_delete_range(sluice_db_t* db, const sluice_write_options_t* options,
                                       sluice_subtable_t* subtable, const char* begin,
                                       size_t begin_bytes, const char* end, size_t end_bytes,
                                       char** error);
SLUICE_EXPORT void sluice_write(sluice_db_t* db, const sluice_write_options_t* options,
                                const sluice_batch_t* batch, char** error);
/* Calls `callback` with `argument` when the write is done (DB::WriteAsync). `error` is null, or the
 * callback passes it to sluice_free. The batch may be destroyed at once. */
SLUICE_EXPORT void sluice_write_async(sluice_db_t* db, const sluice_write_options_t* options,
                                      const sluice_batch_t* batch,
                                      void (*callback)(void* argument, char* error),
                                      void* argument);

SLUICE_EXPORT sluice_batch_t* sluice_batch_create(void);
SLUICE_EXPORT void sluice_batch_destroy(sluice_batch_t* batch);
SLUICE_EXPORT void sluice_batch_put(sluice_batch_t* batch, const sluice_subtable_t* subtable,
                                    const char* key, size_t key_bytes, const char* value,
                                    size_t value_bytes);
SLUICE_EXPORT void sluice_batch_delete(sluice_batch_t* batch, const sluice_subtable_t* subtable,
                                       const char* key, size_t key_bytes);
SLUICE_EXPORT void sluice_batch_clear(sluice_batch_t* batch);
SLUICE_EXPORT uint32_t sluice_batch_count(const sluice_batch_t* batch);

/* Reads. The value is allocated by malloc; null, without an error, if there is no such key. */
SLUICE_EXPORT char* sluice_get(sluice_db_t* db, const sluice_read_options_t* options,
                               sluice_subtable_t* subtable, const char* key, size_t key_bytes,
                               size_t* value_bytes, char** error);
/* As sluice_get for each of `count` keys, all from one state; errors[i] is as *error there. */
SLUICE_EXPORT void sluice_multi_get(sluice_db_t* db, const sluice_read_options_t* options,
                                    sluice_subtable_t* subtable, size_t count,
                                    const char* const* keys, const size_t* keys_bytes,
                                    char** values, size_t* values_bytes, char** errors);

SLUICE_EXPORT sluice_iterator_t* sluice_iterator_create(sluice_db_t* db,
                                                        const sluice_read_options_t* options,
                                                        sluice_subtable_t* subtable);
SLUICE_EXPORT void sluice_iterator_destroy(sluice_iterator_t* iterator);
SLUICE_EXPORT int sluice_iterator_valid(const sluice_iterator_t* iterator);
SLUICE_EXPORT void sluice_iterator_seek_to_first(sluice_iterator_t* iterator);
SLUICE_EXPORT void sluice_iterator_seek_to_last(sluice_iterator_t* iterator);
SLUICE_EXPORT void sluice_iterator_seek(sluice_iterator_t* iterator, const char* key,
                                        size_t key_bytes);
SLUICE_EXPORT void sluice_iterator_seek_for_prev(sluice_iterator_t* iterator, const char* key,
                                                 size_t key_bytes);
SLUICE_EXPORT void sluice_iterator_next(sluice_iterator_t* iterator);
SLUICE_EXPORT void sluice_iterator_prev(sluice_iterator_t* iterator);
/* Valid until the iterator moves. */
SLUICE_EXPORT const char* sluice_iterator_key(const sluice_iterator_t* iterator, size_t* key_bytes);
SLUICE_EXPORT const char* sluice_iterator_value(const sluice_iterator_t* iterator,
                                                size_t* value_bytes);
SLUICE_EXPORT void sluice_iterator_get_error(const sluice_iterator_t* iterator, char** error);

SLUICE_EXPORT const sluice_snapshot_t* sluice_snapshot_create(sluice_db_t* db);
SLUICE_EXPORT void sluice_snapshot_release(sluice_db_t* db, const sluice_snapshot_t* snapshot);

/* Transactions (sluice/transaction.h); each is used by one thread at a time. Their errors may also
 * begin with "deadlock", "conflict", "timed out" (begin the transaction again) or "too large". */
enum { sluice_isolation_snapshot = 0, sluice_isolation_read_committed = 1 };
SLUICE_EXPORT sluice_transaction_options_t* sluice_transaction_options_create(void);
SLUICE_EXPORT void sluice_transaction_options_destroy(sluice_transaction_options_t* options);
SLUICE_EXPORT void sluice_transaction_options_set_isolation(sluice_transaction_options_t* options,
                                                            int isolation);
SLUICE_EXPORT void sluice_transaction_options_set_lock_timeout(
    sluice_transaction_options_t* options, uint64_t milliseconds);
SLUICE_EXPORT void sluice_transaction_options_set_max_bytes(sluice_transaction_options_t* options,
                                                            size_t bytes);

SLUICE_EXPORT sluice_transaction_t* sluice_transaction_begin(
    sluice_db_t* db, const sluice_transaction_options_t* options,
    const sluice_write_options_t* write_options);
/* Rolls the transaction back unless it is committed or prepared. */
SLUICE_EXPORT void sluice_transaction_destroy(sluice_transaction_t* transaction);
SLUICE_EXPORT uint64_t sluice_transaction_id(const sluice_transaction_t* transaction);

SLUICE_EXPORT void sluice_transaction_put(sluice_transaction_t* transaction,
                                          sluice_subtable_t* subtable, const char* key,
                                          size_t key_bytes, const char* value, size_t value_bytes,
                                          char** error);
SLUICE_EXPORT void sluice_transaction_delete(sluice_transaction_t* transaction,
                                             sluice_subtable_t* subtable, const char* key,
                                             size_t key_bytes, char** error);
/* Both return their value as sluice_get does. */
SLUICE_EXPORT char* sluice_transaction_get(sluice_transaction_t* transaction,
                                           const sluice_read_options_t* options,
                                           sluice_subtable_t* subtable, const char* key,
                                           size_t key_bytes, size_t* value_bytes, char** error);
SLUICE_EXPORT char* sluice_transaction_get_for_update(sluice_transaction_t* transaction,
                                                      const sluice_read_options_t* options,
                                                      sluice_subtable_t* subtable, const char* key,
                                                      size_t key_bytes, size_t* value_bytes,
                                                      char** error);
/* Destroy it before the transaction. */
SLUICE_EXPORT sluice_iterator_t* sluice_transaction_iterator_create(
    sluice_transaction_t* transaction, const sluice_read_options_t* options,
    sluice_subtable_t* subtable);

SLUICE_EXPORT void sluice_transaction_set_savepoint(sluice_transaction_t* transaction);
SLUICE_EXPORT void sluice_transaction_rollback_to_savepoint(sluice_transaction_t* transaction,
                                                            char** error);
SLUICE_EXPORT void sluice_transaction_release_savepoint(sluice_transaction_t* transaction,
                                                        char** error);

SLUICE_EXPORT void sluice_transaction_commit(sluice_transaction_t* transaction, char** error);
/* Reports as sluice_write_async does; the transaction may be destroyed at once. */
SLUICE_EXPORT void sluice_transaction_commit_async(sluice_transaction_t* transaction,
                                                   void (*callback)(void* argument, char* error),
                                                   void* argument);
SLUICE_EXPORT void sluice_transaction_rollback(sluice_transaction_t* transaction, char** error);

/* The first of two phases; afterwards only commit and rollback are possible. */
SLUICE_EXPORT void sluice_transaction_prepare(sluice_transaction_t* transaction, const char* name,
                                              size_t name_bytes, char** error);
/* The name of prepared transaction number `index`, counted from 0 in order; allocated by malloc.
 * Null after the last one. */
SLUICE_EXPORT char* sluice_prepared_name(sluice_db_t* db, size_t index, size_t* name_bytes);
SLUICE_EXPORT sluice_transaction_t* sluice_transaction_resume(
    sluice_db_t* db, const char* name, size_t name_bytes,
    const sluice_write_options_t* write_options, char** error);

/* Maintenance. */
SLUICE_EXPORT void sluice_flush(sluice_db_t* db, sluice_subtable_t* subtable, char** error);
/* A null bound means no bound. */
SLUICE_EXPORT void sluice_compact_range(sluice_db_t* db, sluice_subtable_t* subtable,
                                        const char* begin, size_t begin_bytes, const char* end,
                                        size_t end_bytes, char** error);
SLUICE_EXPORT void sluice_wait_for_background_work(sluice_db_t* db, char** error);
SLUICE_EXPORT void sluice_checkpoint(sluice_db_t* db, const char* path, char** error);
SLUICE_EXPORT void sluice_verify(sluice_db_t* db, char** error);
/* For human readers, and as JSON; allocated by malloc. */
SLUICE_EXPORT char* sluice_statistics_text(sluice_db_t* db);
SLUICE_EXPORT char* sluice_statistics_json(sluice_db_t* db);
/* One statistic by name (DB::GetProperty); allocated by malloc. */
SLUICE_EXPORT char* sluice_get_property(sluice_db_t* db, sluice_subtable_t* subtable,
                                        const char* name, char** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SLUICE_C_H_ */
