/** @file
 * The C interface of the storage engine: what sluice/db.h offers, for C and for language bindings.
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

/** An open database. */
typedef struct sluice_db_t sluice_db_t;
/** How a database is opened. */
typedef struct sluice_options_t sluice_options_t;
/** How a write is done. */
typedef struct sluice_write_options_t sluice_write_options_t;
/** How a read is done. */
typedef struct sluice_read_options_t sluice_read_options_t;
/** A sub-table of a database. */
typedef struct sluice_subtable_t sluice_subtable_t;
/** What a sub-table has of its own among the options. */
typedef struct sluice_subtable_options_t sluice_subtable_options_t;
/** Writes that take effect together. */
typedef struct sluice_batch_t sluice_batch_t;
/** A position among the keys of a sub-table. */
typedef struct sluice_iterator_t sluice_iterator_t;
/** A state of the database that reads can return to. */
typedef struct sluice_snapshot_t sluice_snapshot_t;
/** How a transaction is begun. */
typedef struct sluice_transaction_options_t sluice_transaction_options_t;
/** A transaction that has begun. */
typedef struct sluice_transaction_t sluice_transaction_t;
/** Sorted records that become part of the database together, past its log. */
typedef struct sluice_ingestion_t sluice_ingestion_t;

/** Frees what a call allocated by malloc; null is allowed. */
SLUICE_EXPORT void sluice_free(void* pointer);

/* Options. */

/** The defaults of sluice::Options. The CPU merges unless sluice/c_device.h says otherwise. */
SLUICE_EXPORT sluice_options_t* sluice_options_create(void);
/** Frees the options; databases opened with them stay as they are. */
SLUICE_EXPORT void sluice_options_destroy(sluice_options_t* options);
/** Sets the field `name` of sluice::Options. Numbers are decimal, booleans 0 or 1; "compression" is
 * none, snappy, lz4 or zstd; "compression_per_level" is such names, "level_paths" are directories and
 * "level_tiers" numbers, separated by commas. */
SLUICE_EXPORT void sluice_options_set(sluice_options_t* options, const char* name,
                                      const char* value, char** error);

/** Options of a sub-table, none of which is set (sluice::SubtableOptions). */
SLUICE_EXPORT sluice_subtable_options_t* sluice_subtable_options_create(void);
/** Frees the options; sub-tables that were given them stay as they are. */
SLUICE_EXPORT void sluice_subtable_options_destroy(sluice_subtable_options_t* options);
/** Sets the field `name` of sluice::SubtableOptions, as sluice_options_set does; a null value: not
 * set, so that the database's holds. */
SLUICE_EXPORT void sluice_subtable_options_set(sluice_subtable_options_t* options, const char* name,
                                               const char* value, char** error);
/** What is set, as "compression=zstd block_bytes=16384"; allocated by malloc. */
SLUICE_EXPORT char* sluice_subtable_options_text(const sluice_subtable_options_t* options);

/** The defaults of sluice::WriteOptions. */
SLUICE_EXPORT sluice_write_options_t* sluice_write_options_create(void);
/** Frees the options. */
SLUICE_EXPORT void sluice_write_options_destroy(sluice_write_options_t* options);
/** Whether a write returns only when it would survive a loss of power. */
SLUICE_EXPORT void sluice_write_options_set_sync(sluice_write_options_t* options, int sync);

/** The defaults of sluice::ReadOptions. */
SLUICE_EXPORT sluice_read_options_t* sluice_read_options_create(void);
/** Frees the options. */
SLUICE_EXPORT void sluice_read_options_destroy(sluice_read_options_t* options);
/** The state that is read; null: the one at the time of the call. */
SLUICE_EXPORT void sluice_read_options_set_snapshot(sluice_read_options_t* options,
                                                    const sluice_snapshot_t* snapshot);
/** Whether caches keep what was read. */
SLUICE_EXPORT void sluice_read_options_set_fill_cache(sluice_read_options_t* options,
                                                      int fill_cache);
/** The first key of iterators. Copies it; a null key removes the bound. The options must outlive
 * iterators made with them, and their bounds must not change meanwhile. */
SLUICE_EXPORT void sluice_read_options_set_lower_bound(sluice_read_options_t* options,
                                                       const char* key, size_t key_bytes);
/** Iterators end before this key; the same rules. */
SLUICE_EXPORT void sluice_read_options_set_upper_bound(sluice_read_options_t* options,
                                                       const char* key, size_t key_bytes);

/** Receives an event: its kind ("flush", "compaction", "set aside", "compaction abandoned", "stall",
 * "offload failure", "background error") and a description as JSON, valid during the call; what is
 * not UTF-8 in names is replaced. See sluice/listener.h. */
typedef void (*sluice_listener_t)(void* context, const char* kind, const char* json);
/** Calls `listener` with `context` for each event of databases opened with these options; null: calls
 * none. */
SLUICE_EXPORT void sluice_options_set_listener(sluice_options_t* options,
                                               sluice_listener_t listener, void* context);

/* Databases. */

/** Opens a database (sluice::DB::Open); null after an error. */
SLUICE_EXPORT sluice_db_t* sluice_open(const sluice_options_t* options, const char* path,
                                       char** error);
/** Closes the database and destroys the handle; no iterator or snapshot may be left. */
SLUICE_EXPORT void sluice_close(sluice_db_t* db, char** error);
/** Removes a closed database and all its files (sluice::DB::Destroy). */
SLUICE_EXPORT void sluice_destroy(const sluice_options_t* options, const char* path, char** error);

/* Sub-tables. Handles belong to the database. */

/** Makes an empty sub-table; null after an error. */
SLUICE_EXPORT sluice_subtable_t* sluice_create_subtable(sluice_db_t* db, const char* name,
                                                        char** error);
/** The same with options of its own; null options: none. */
SLUICE_EXPORT sluice_subtable_t* sluice_create_subtable_with_options(
    sluice_db_t* db, const sluice_subtable_options_t* options, const char* name, char** error);
/** Gives the sub-table these options in place of those it had (sluice::DB::SetSubtableOptions). */
SLUICE_EXPORT void sluice_set_subtable_options(sluice_db_t* db, sluice_subtable_t* subtable,
                                               const sluice_subtable_options_t* options,
                                               char** error);
/** The sub-table's own options; to be freed by sluice_subtable_options_destroy. */
SLUICE_EXPORT sluice_subtable_options_t* sluice_get_subtable_options(sluice_db_t* db,
                                                                     sluice_subtable_t* subtable);
/** Removes a sub-table and its keys. */
SLUICE_EXPORT void sluice_drop_subtable(sluice_db_t* db, sluice_subtable_t* subtable, char** error);
/** The sub-table of this name; null if there is none. */
SLUICE_EXPORT sluice_subtable_t* sluice_find_subtable(sluice_db_t* db, const char* name);
/** All sub-tables: an array of *count handles, allocated by malloc. */
SLUICE_EXPORT sluice_subtable_t** sluice_list_subtables(sluice_db_t* db, size_t* count);
/** The sub-table's name, which lives as the handle does. */
SLUICE_EXPORT const char* sluice_subtable_name(const sluice_subtable_t* subtable);

/* Writes. */

/** Sets the value of a key, whether it had one or not. */
SLUICE_EXPORT void sluice_put(sluice_db_t* db, const sluice_write_options_t* options,
                              sluice_subtable_t* subtable, const char* key, size_t key_bytes,
                              const char* value, size_t value_bytes, char** error);
/** Deletes a key; no error if it is absent. */
SLUICE_EXPORT void sluice_delete(sluice_db_t* db, const sluice_write_options_t* options,
                                 sluice_subtable_t* subtable, const char* key, size_t key_bytes,
                                 char** error);
/** Deletes the keys in [begin, end), all at once; a null or empty `end` means no bound
 * (sluice::DB::DeleteRange). */
SLUICE_EXPORT void sluice_delete_range(sluice_db_t* db, const sluice_write_options_t* options,
                                       sluice_subtable_t* subtable, const char* begin,
                                       size_t begin_bytes, const char* end, size_t end_bytes,
                                       char** error);
/** Does all writes of the batch, or none. */
SLUICE_EXPORT void sluice_write(sluice_db_t* db, const sluice_write_options_t* options,
                                const sluice_batch_t* batch, char** error);
/** Calls `callback` with `argument` when the write is done (sluice::DB::WriteAsync). `error` is
 * null, or the callback passes it to sluice_free. The batch may be destroyed at once. */
SLUICE_EXPORT void sluice_write_async(sluice_db_t* db, const sluice_write_options_t* options,
                                      const sluice_batch_t* batch,
                                      void (*callback)(void* argument, char* error),
                                      void* argument);

/** An empty batch. */
SLUICE_EXPORT sluice_batch_t* sluice_batch_create(void);
/** Frees the batch. */
SLUICE_EXPORT void sluice_batch_destroy(sluice_batch_t* batch);
/** Adds a put; key and value are copied. */
SLUICE_EXPORT void sluice_batch_put(sluice_batch_t* batch, const sluice_subtable_t* subtable,
                                    const char* key, size_t key_bytes, const char* value,
                                    size_t value_bytes);
/** Adds a deletion; the key is copied. */
SLUICE_EXPORT void sluice_batch_delete(sluice_batch_t* batch, const sluice_subtable_t* subtable,
                                       const char* key, size_t key_bytes);
/** Adds the deletion of the keys in [begin, end), as sluice_delete_range; the bounds are copied. */
SLUICE_EXPORT void sluice_batch_delete_range(sluice_batch_t* batch,
                                             const sluice_subtable_t* subtable, const char* begin,
                                             size_t begin_bytes, const char* end, size_t end_bytes);
/** Removes all writes. */
SLUICE_EXPORT void sluice_batch_clear(sluice_batch_t* batch);
/** How many writes it holds. */
SLUICE_EXPORT uint32_t sluice_batch_count(const sluice_batch_t* batch);

/* Reads. */

/** Reads the value of a key. It is allocated by malloc; null, without an error, if there is no such
 * key. */
SLUICE_EXPORT char* sluice_get(sluice_db_t* db, const sluice_read_options_t* options,
                               sluice_subtable_t* subtable, const char* key, size_t key_bytes,
                               size_t* value_bytes, char** error);
/** Does sluice_get for each of `count` keys, all from one state; errors[i] is as *error there. */
SLUICE_EXPORT void sluice_multi_get(sluice_db_t* db, const sluice_read_options_t* options,
                                    sluice_subtable_t* subtable, size_t count,
                                    const char* const* keys, const size_t* keys_bytes,
                                    char** values, size_t* values_bytes, char** errors);

/** An iterator on no record yet. Destroy it before the database is closed. */
SLUICE_EXPORT sluice_iterator_t* sluice_iterator_create(sluice_db_t* db,
                                                        const sluice_read_options_t* options,
                                                        sluice_subtable_t* subtable);
/** Frees the iterator and what it pins. */
SLUICE_EXPORT void sluice_iterator_destroy(sluice_iterator_t* iterator);
/** 1 if it is on a record, otherwise 0. */
SLUICE_EXPORT int sluice_iterator_valid(const sluice_iterator_t* iterator);
/** Moves to the first key. */
SLUICE_EXPORT void sluice_iterator_seek_to_first(sluice_iterator_t* iterator);
/** Moves to the last key. */
SLUICE_EXPORT void sluice_iterator_seek_to_last(sluice_iterator_t* iterator);
/** Moves to the first key at or after this one. */
SLUICE_EXPORT void sluice_iterator_seek(sluice_iterator_t* iterator, const char* key,
                                        size_t key_bytes);
/** Moves to the last key at or before this one. */
SLUICE_EXPORT void sluice_iterator_seek_for_prev(sluice_iterator_t* iterator, const char* key,
                                                 size_t key_bytes);
/** Moves to the next key; it must be on a record. */
SLUICE_EXPORT void sluice_iterator_next(sluice_iterator_t* iterator);
/** Moves to the previous key; it must be on a record. */
SLUICE_EXPORT void sluice_iterator_prev(sluice_iterator_t* iterator);
/** The record's key, valid until the iterator moves. */
SLUICE_EXPORT const char* sluice_iterator_key(const sluice_iterator_t* iterator, size_t* key_bytes);
/** The record's value, valid until the iterator moves. A value that is stored apart is read here: if
    that fails, an empty one is returned, and the iterator has the error from then on. */
SLUICE_EXPORT const char* sluice_iterator_value(const sluice_iterator_t* iterator,
                                                size_t* value_bytes);
/** Stores the error that stopped the iterator, or that kept a value from being read, if any. */
SLUICE_EXPORT void sluice_iterator_get_error(const sluice_iterator_t* iterator, char** error);

/* Ingestions (sluice/ingestion.h); each is used by one thread at a time. */

/** Begins an ingestion; null and an error if another one is under way. */
SLUICE_EXPORT sluice_ingestion_t* sluice_ingestion_create(sluice_db_t* db, char** error);
/** Adds a record; the keys of each sub-table must ascend. */
SLUICE_EXPORT void sluice_ingestion_add(sluice_ingestion_t* ingestion, sluice_subtable_t* subtable,
                                        const char* key, size_t key_bytes, const char* value,
                                        size_t value_bytes, char** error);
/** Makes all of it visible and durable at one instant. */
SLUICE_EXPORT void sluice_ingestion_commit(sluice_ingestion_t* ingestion, char** error);
/** Frees the ingestion, and its space unless it is committed. */
SLUICE_EXPORT void sluice_ingestion_destroy(sluice_ingestion_t* ingestion);

/** Estimates the records in [begin, end) and their bytes (DB::ApproximateSize); a null bound means no
 * bound. Each of the results may be null. */
SLUICE_EXPORT void sluice_approximate_size(sluice_db_t* db, sluice_subtable_t* subtable,
                                           const char* begin, size_t begin_bytes, const char* end,
                                           size_t end_bytes, uint64_t* records, uint64_t* bytes);

/** Holds the present state, until it is released. */
SLUICE_EXPORT const sluice_snapshot_t* sluice_snapshot_create(sluice_db_t* db);
/** Ends the use of the snapshot. */
SLUICE_EXPORT void sluice_snapshot_release(sluice_db_t* db, const sluice_snapshot_t* snapshot);

/* Transactions (sluice/transaction.h); each is used by one thread at a time. Their errors may also
 * begin with "deadlock", "conflict", "timed out" (begin the transaction again), "too large" or
 * "cancelled". */

/** Values of sluice::Isolation. */
enum {
  sluice_isolation_snapshot = 0,      /**< all reads see one state */
  sluice_isolation_read_committed = 1 /**< each read sees the newest committed state */
};

/** The defaults of sluice::TransactionOptions. */
SLUICE_EXPORT sluice_transaction_options_t* sluice_transaction_options_create(void);
/** Frees the options. */
SLUICE_EXPORT void sluice_transaction_options_destroy(sluice_transaction_options_t* options);
/** One of sluice_isolation_snapshot and sluice_isolation_read_committed. */
SLUICE_EXPORT void sluice_transaction_options_set_isolation(sluice_transaction_options_t* options,
                                                            int isolation);
/** Limit on each wait for a row; 0: do not wait. */
SLUICE_EXPORT void sluice_transaction_options_set_lock_timeout(
    sluice_transaction_options_t* options, uint64_t milliseconds);
/** Limit on the memory of its writes and locks. */
SLUICE_EXPORT void sluice_transaction_options_set_max_bytes(sluice_transaction_options_t* options,
                                                            size_t bytes);

/** Begins a transaction. Destroy it before the database is closed. */
SLUICE_EXPORT sluice_transaction_t* sluice_transaction_begin(
    sluice_db_t* db, const sluice_transaction_options_t* options,
    const sluice_write_options_t* write_options);
/** Frees the transaction, and rolls it back unless it is committed or prepared. */
SLUICE_EXPORT void sluice_transaction_destroy(sluice_transaction_t* transaction);
/** Its number in messages; never reused while the database is open. */
SLUICE_EXPORT uint64_t sluice_transaction_id(const sluice_transaction_t* transaction);

/** Sets the limit on each wait for a row from now on; 0: do not wait. */
SLUICE_EXPORT void sluice_transaction_set_lock_timeout(sluice_transaction_t* transaction,
                                                       uint64_t milliseconds);
/** Ends the wait that is under way with an error, and later ones at once, until waits are allowed
 * again. From any thread, as long as the transaction is not destroyed. */
SLUICE_EXPORT void sluice_transaction_cancel_waits(sluice_transaction_t* transaction);
/** Undoes sluice_transaction_cancel_waits. */
SLUICE_EXPORT void sluice_transaction_allow_waits(sluice_transaction_t* transaction);

/** Locks the row, and writes it when the transaction commits. */
SLUICE_EXPORT void sluice_transaction_put(sluice_transaction_t* transaction,
                                          sluice_subtable_t* subtable, const char* key,
                                          size_t key_bytes, const char* value, size_t value_bytes,
                                          char** error);
/** Locks the row, and deletes it when the transaction commits. */
SLUICE_EXPORT void sluice_transaction_delete(sluice_transaction_t* transaction,
                                             sluice_subtable_t* subtable, const char* key,
                                             size_t key_bytes, char** error);
/** Writes the row when the transaction commits, without locking it. */
SLUICE_EXPORT void sluice_transaction_put_untracked(sluice_transaction_t* transaction,
                                                    sluice_subtable_t* subtable, const char* key,
                                                    size_t key_bytes, const char* value,
                                                    size_t value_bytes, char** error);
/** Deletes the row when the transaction commits, without locking it. */
SLUICE_EXPORT void sluice_transaction_delete_untracked(sluice_transaction_t* transaction,
                                                       sluice_subtable_t* subtable, const char* key,
                                                       size_t key_bytes, char** error);
/** Reads as sluice_get does, the transaction's own writes too. */
SLUICE_EXPORT char* sluice_transaction_get(sluice_transaction_t* transaction,
                                           const sluice_read_options_t* options,
                                           sluice_subtable_t* subtable, const char* key,
                                           size_t key_bytes, size_t* value_bytes, char** error);
/** The same, after locking the row as a write would. */
SLUICE_EXPORT char* sluice_transaction_get_for_update(sluice_transaction_t* transaction,
                                                      const sluice_read_options_t* options,
                                                      sluice_subtable_t* subtable, const char* key,
                                                      size_t key_bytes, size_t* value_bytes,
                                                      char** error);
/** The same, after locking the row so that others may lock it so, too, but not write it. */
SLUICE_EXPORT char* sluice_transaction_get_for_share(sluice_transaction_t* transaction,
                                                     const sluice_read_options_t* options,
                                                     sluice_subtable_t* subtable, const char* key,
                                                     size_t key_bytes, size_t* value_bytes,
                                                     char** error);
/** Locks the keys in [begin, end) until the transaction ends, whether they exist or not, so that
 * others neither lock nor write a row in it; a null or empty `end` means no bound. */
SLUICE_EXPORT void sluice_transaction_lock_range_for_update(sluice_transaction_t* transaction,
                                                            sluice_subtable_t* subtable,
                                                            const char* begin, size_t begin_bytes,
                                                            const char* end, size_t end_bytes,
                                                            char** error);
/** The same, but others may lock its rows and ranges for share, too. */
SLUICE_EXPORT void sluice_transaction_lock_range_for_share(sluice_transaction_t* transaction,
                                                           sluice_subtable_t* subtable,
                                                           const char* begin, size_t begin_bytes,
                                                           const char* end, size_t end_bytes,
                                                           char** error);
/** Takes back one sluice_transaction_get_for_update or _share; the row stays locked where it is needed otherwise. */
SLUICE_EXPORT void sluice_transaction_unlock(sluice_transaction_t* transaction,
                                             sluice_subtable_t* subtable, const char* key,
                                             size_t key_bytes, char** error);
/** An iterator that shows the transaction's writes of before, too. Destroy it before the
 * transaction. */
SLUICE_EXPORT sluice_iterator_t* sluice_transaction_iterator_create(
    sluice_transaction_t* transaction, const sluice_read_options_t* options,
    sluice_subtable_t* subtable);

/** Sets a savepoint on top of those there are. */
SLUICE_EXPORT void sluice_transaction_set_savepoint(sluice_transaction_t* transaction);
/** Undoes the writes since the newest savepoint and removes it. */
SLUICE_EXPORT void sluice_transaction_rollback_to_savepoint(sluice_transaction_t* transaction,
                                                            char** error);
/** Removes the newest savepoint and keeps the writes. */
SLUICE_EXPORT void sluice_transaction_release_savepoint(sluice_transaction_t* transaction,
                                                        char** error);

/** Makes all writes take effect at once, and ends the transaction. */
SLUICE_EXPORT void sluice_transaction_commit(sluice_transaction_t* transaction, char** error);
/** Commits, and reports as sluice_write_async does; the transaction may be destroyed at once. */
SLUICE_EXPORT void sluice_transaction_commit_async(sluice_transaction_t* transaction,
                                                   void (*callback)(void* argument, char* error),
                                                   void* argument);
/** Ends the transaction without an effect. */
SLUICE_EXPORT void sluice_transaction_rollback(sluice_transaction_t* transaction, char** error);

/** The first of two phases; afterwards only commit and rollback are possible. `keep_read_locks`:
 * locks for share and of ranges are kept until then, too. */
SLUICE_EXPORT void sluice_transaction_prepare(sluice_transaction_t* transaction, const char* name,
                                              size_t name_bytes, int keep_read_locks, char** error);
/** The name of prepared transaction number `index`, counted from 0 in order; allocated by malloc.
 * Null after the last one. */
SLUICE_EXPORT char* sluice_prepared_name(sluice_db_t* db, size_t index, size_t* name_bytes);
/** Returns a prepared transaction, to commit it or to roll it back; null after an error. */
SLUICE_EXPORT sluice_transaction_t* sluice_transaction_resume(
    sluice_db_t* db, const char* name, size_t name_bytes,
    const sluice_write_options_t* write_options, char** error);

/* Maintenance. */

/** Writes the memtables of a sub-table to level 0. */
SLUICE_EXPORT void sluice_flush(sluice_db_t* db, sluice_subtable_t* subtable, char** error);
/** Merges the levels for the keys in [begin, end) into one; a null bound means no bound. */
SLUICE_EXPORT void sluice_compact_range(sluice_db_t* db, sluice_subtable_t* subtable,
                                        const char* begin, size_t begin_bytes, const char* end,
                                        size_t end_bytes, char** error);
/** Waits until no flush or compaction is due or running. */
SLUICE_EXPORT void sluice_wait_for_background_work(sluice_db_t* db, char** error);
/** Copies the database, consistently, to a new directory. */
SLUICE_EXPORT void sluice_checkpoint(sluice_db_t* db, const char* path, char** error);
/** Checks everything that is stored; the error names the first fault. */
SLUICE_EXPORT void sluice_verify(sluice_db_t* db, char** error);
/** The statistics for human readers, allocated by malloc. */
SLUICE_EXPORT char* sluice_statistics_text(sluice_db_t* db);
/** The statistics as JSON, allocated by malloc. */
SLUICE_EXPORT char* sluice_statistics_json(sluice_db_t* db);
/** One statistic by name (DB::GetProperty); allocated by malloc. */
SLUICE_EXPORT char* sluice_get_property(sluice_db_t* db, sluice_subtable_t* subtable,
                                        const char* name, char** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SLUICE_C_H_ */
