/* The C interface, from C: every call does what sluice/c.h says. Argument: a directory to use. */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/c_device.h"

static char* error = NULL;

static void check(int ok, const char* what, int line) {
  if (!ok) {
    fprintf(stderr, "c_test.c:%d: %s%s%s\n", line, what, error != NULL ? ": " : "",
            error != NULL ? error : "");
    exit(1);
  }
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_OK() check(error == NULL, "no error", __LINE__)
/* The last call failed, with a message that begins so. */
static void expect_error(const char* begin, int line) {
  check(error != NULL && strncmp(error, begin, strlen(begin)) == 0, begin, line);
  sluice_free(error);
  error = NULL;
}
#define EXPECT_ERROR(begin) expect_error(begin, __LINE__)

static void on_written(void* writes, char* message) {
  check(message == NULL, "no error", __LINE__);
  ++*(atomic_int*)writes;
}

static int flushes = 0;
static atomic_int set_aside = 0;
static void on_event(void* context, const char* kind, const char* json) {
  if (strcmp(kind, "flush") == 0 && strstr(json, "\"extents\":1") != NULL) {
    ++*(int*)context;
  }
  if (strcmp(kind, "set aside") == 0 && strstr(json, "\"records\":1") != NULL) {
    ++set_aside;
  }
}

static void expect_value(sluice_db_t* db, const sluice_read_options_t* options,
                         sluice_subtable_t* subtable, const char* key, const char* value,
                         int line) {
  size_t bytes;
  char* found = sluice_get(db, options, subtable, key, strlen(key), &bytes, &error);
  check(error == NULL, "no error", line);
  check((found == NULL) == (value == NULL), key, line);
  if (value != NULL) {
    check(bytes == strlen(value) && memcmp(found, value, bytes) == 0, found, line);
  }
  sluice_free(found);
}
#define EXPECT_VALUE(options, subtable, key, value) \
  expect_value(db, options, subtable, key, value, __LINE__)

/* What `options`, or if that is null the sub-table, has set. */
static void expect_options(sluice_db_t* db, sluice_subtable_t* subtable,
                           const sluice_subtable_options_t* options, const char* text, int line) {
  sluice_subtable_options_t* own = sluice_get_subtable_options(db, subtable);
  char* found = sluice_subtable_options_text(options != NULL ? options : own);
  check(strcmp(found, text) == 0, found, line);
  sluice_free(found);
  sluice_subtable_options_destroy(own);
}
#define EXPECT_OPTIONS(subtable, options, text) \
  expect_options(db, subtable, options, text, __LINE__)

static void test_subtable_options(sluice_db_t* db) {
  sluice_subtable_options_t* own = sluice_subtable_options_create();
  EXPECT_OPTIONS(NULL, own, "");
  sluice_subtable_options_set(own, "compression", "zstd", &error);
  sluice_subtable_options_set(own, "compression_per_level", "none,lz4", &error);
  sluice_subtable_options_set(own, "block_bytes", "8192", &error);
  CHECK_OK();
  sluice_subtable_options_set(own, "row_cache_bytes", "1", &error);
  EXPECT_ERROR("invalid argument: no option 'row_cache_bytes'");
  sluice_subtable_options_set(own, "block_bytes", "8k", &error);
  EXPECT_ERROR("invalid argument: '8k' is no value for option block_bytes");
  sluice_subtable_options_set(own, "offload", "no", &error);
  EXPECT_ERROR("invalid argument: 'no' is no value for option offload");
  sluice_subtable_options_set(own, "offload", "0", &error);
  sluice_subtable_options_set(own, "level_tiers", "0,0,1", &error);
  CHECK_OK();
  sluice_subtable_t* packed = sluice_create_subtable_with_options(db, own, "packed", &error);
  CHECK_OK();
  EXPECT_OPTIONS(packed, NULL,
                 "block_bytes=8192 compression=zstd compression_per_level=none,lz4 offload=false "
                 "level_tiers=0,0,1");
  sluice_subtable_options_set(own, "compression_per_level", NULL, &error);
  sluice_subtable_options_set(own, "offload", NULL, &error);
  sluice_subtable_options_set(own, "level_tiers", NULL, &error);
  sluice_set_subtable_options(db, packed, own, &error);
  CHECK_OK();
  EXPECT_OPTIONS(packed, NULL, "block_bytes=8192 compression=zstd");
  sluice_subtable_options_set(own, "zstd_level", "23", &error);
  CHECK_OK();
  CHECK(sluice_create_subtable_with_options(db, own, "bad", &error) == NULL);
  EXPECT_ERROR("invalid argument: SubtableOptions::zstd_level");
  sluice_set_subtable_options(db, packed, NULL, &error);
  EXPECT_OPTIONS(packed, NULL, "");
  sluice_drop_subtable(db, packed, &error);
  CHECK_OK();
  sluice_subtable_options_destroy(own);
}

static void test_transactions(sluice_db_t* db, const sluice_write_options_t* sync,
                              sluice_subtable_t* other) {
  sluice_transaction_options_t* options = sluice_transaction_options_create();
  sluice_transaction_options_set_isolation(options, sluice_isolation_snapshot);
  sluice_transaction_options_set_lock_timeout(options, 0);
  sluice_transaction_options_set_max_bytes(options, 10000);
  sluice_transaction_t* t = sluice_transaction_begin(db, options, sync);
  sluice_transaction_t* u = sluice_transaction_begin(db, options, NULL);
  CHECK(sluice_transaction_id(t) != sluice_transaction_id(u));
  size_t bytes;
  CHECK(sluice_transaction_get_for_update(t, NULL, other, "t1", 2, &bytes, &error) == NULL);
  sluice_transaction_put(t, other, "t1", 2, "1", 1, &error);
  sluice_transaction_put(t, other, "t2", 2, "1", 1, &error);
  sluice_transaction_set_savepoint(t);
  sluice_transaction_put(t, other, "t2", 2, "2", 1, &error);
  CHECK_OK();
  sluice_transaction_rollback_to_savepoint(t, &error);
  sluice_transaction_set_savepoint(t);
  sluice_transaction_delete(t, other, "t3", 2, &error);
  sluice_transaction_release_savepoint(t, &error);
  CHECK_OK();
  sluice_transaction_release_savepoint(t, &error);
  EXPECT_ERROR("not found");
  sluice_transaction_rollback_to_savepoint(t, &error);
  EXPECT_ERROR("not found");
  char* value = sluice_transaction_get(t, NULL, other, "t2", 2, &bytes, &error);
  CHECK(value != NULL && bytes == 1 && value[0] == '1');
  sluice_free(value);
  sluice_iterator_t* at = sluice_transaction_iterator_create(t, NULL, other);
  sluice_iterator_seek(at, "t1", 2);
  CHECK(sluice_iterator_valid(at));
  CHECK(memcmp(sluice_iterator_key(at, &bytes), "t1", 2) == 0);
  sluice_iterator_destroy(at);
  sluice_transaction_put(u, other, "t1", 2, "u", 1, &error);
  EXPECT_ERROR("timed out");
  sluice_transaction_set_lock_timeout(u, 5);
  sluice_transaction_put(u, other, "t1", 2, "u", 1, &error);
  CHECK(error != NULL && strstr(error, " waited 5 ms for ") != NULL);
  EXPECT_ERROR("timed out");
  sluice_transaction_cancel_waits(u);
  CHECK(sluice_transaction_get_for_share(u, NULL, other, "t1", 2, &bytes, &error) == NULL);
  EXPECT_ERROR("cancelled");
  sluice_transaction_allow_waits(u);
  sluice_transaction_set_lock_timeout(u, 0);
  CHECK(sluice_transaction_get_for_share(u, NULL, other, "t5", 2, &bytes, &error) == NULL);
  CHECK_OK();
  sluice_transaction_put(t, other, "t5", 2, "1", 1, &error);
  EXPECT_ERROR("timed out");
  sluice_transaction_unlock(u, other, "t5", 2, &error);
  CHECK_OK();
  sluice_transaction_unlock(u, other, "t5", 2, &error);
  EXPECT_ERROR("invalid argument");
  sluice_transaction_put(t, other, "t5", 2, "1", 1, &error);
  sluice_transaction_delete_untracked(t, other, "t5", 2, &error);
  sluice_transaction_put_untracked(t, other, "t6", 2, "1", 1, &error);
  CHECK_OK();
  sluice_transaction_lock_range_for_share(u, other, "v", 1, "w", 1, &error);
  CHECK_OK();
  sluice_transaction_lock_range_for_share(t, other, "v1", 2, NULL, 0, &error);
  CHECK_OK();
  sluice_transaction_put(t, other, "v0", 2, "1", 1, &error);
  EXPECT_ERROR("timed out");
  sluice_transaction_lock_range_for_update(u, other, "v0", 2, "v1", 2, &error);
  CHECK_OK();
  sluice_transaction_lock_range_for_update(u, other, "v0", 2, "v2", 2, &error);
  EXPECT_ERROR("timed out");
  char large[10000];
  memset(large, 'x', sizeof(large));
  sluice_transaction_put(t, other, "t4", 2, large, sizeof(large), &error);
  EXPECT_ERROR("too large");
  CHECK(sluice_transaction_get(u, NULL, other, "t1", 2, &bytes, &error) == NULL);
  sluice_transaction_commit(t, &error);
  CHECK_OK();
  EXPECT_VALUE(NULL, other, "t1", "1");
  EXPECT_VALUE(NULL, other, "t6", "1");
  sluice_transaction_put(u, other, "t1", 2, "u", 1, &error);
  EXPECT_ERROR("conflict");
  sluice_transaction_rollback(u, &error);
  CHECK_OK();
  sluice_transaction_destroy(t);
  sluice_transaction_destroy(u);
  t = sluice_transaction_begin(db, NULL, sync);
  sluice_transaction_delete(t, other, "t1", 2, &error);
  sluice_transaction_delete(t, other, "t2", 2, &error);
  CHECK_OK();
  atomic_int commits = 0;
  sluice_transaction_commit_async(t, on_written, &commits);
  sluice_transaction_destroy(t);
  while (commits == 0) {
  }
  EXPECT_VALUE(NULL, other, "t1", NULL);

  t = sluice_transaction_begin(db, NULL, sync);
  sluice_transaction_put(t, other, "t1", 2, "1", 1, &error);
  sluice_transaction_lock_range_for_share(t, other, "u", 1, "v", 1, &error);
  sluice_transaction_prepare(t, "xid", 3, /*keep_read_locks=*/1, &error);
  CHECK_OK();
  u = sluice_transaction_begin(db, options, NULL);
  sluice_transaction_put(u, other, "u1", 2, "1", 1, &error);
  EXPECT_ERROR("timed out");
  sluice_transaction_destroy(u);
  sluice_transaction_put(t, other, "t1", 2, "2", 1, &error);
  EXPECT_ERROR("invalid argument");
  CHECK(sluice_transaction_resume(db, "xid", 3, NULL, &error) == NULL);
  EXPECT_ERROR("busy");
  sluice_transaction_destroy(t);
  char* name = sluice_prepared_name(db, 0, &bytes);
  CHECK(name != NULL && bytes == 3 && memcmp(name, "xid", 3) == 0);
  CHECK(sluice_prepared_name(db, 1, &bytes) == NULL);
  t = sluice_transaction_resume(db, name, 3, sync, &error);
  CHECK_OK();
  sluice_transaction_rollback(t, &error);
  CHECK_OK();
  sluice_transaction_destroy(t);
  sluice_free(name);
  EXPECT_VALUE(NULL, other, "t1", NULL);
  sluice_transaction_options_destroy(options);
}

/* A block that a compaction cannot read, in a database with `options`: an event and the statistics
 * tell of it, though the sub-table's name is not UTF-8. */
static void test_damage(const sluice_options_t* options, const char* path) {
  sluice_db_t* db = sluice_open(options, path, &error);
  CHECK_OK();
  sluice_subtable_t* latin1 = sluice_create_subtable(db, "caf\xe9", &error);
  sluice_put(db, NULL, latin1, "key", 3, "a value like no other", 21, &error);
  CHECK_OK();
  sluice_flush(db, latin1, &error);
  sluice_wait_for_background_work(db, &error);
  sluice_put(db, NULL, latin1, "key", 3, "a value like no other", 21, &error);
  CHECK_OK();
  sluice_compact_range(db, latin1, NULL, 0, NULL, 0, &error);
  sluice_close(db, &error);
  CHECK_OK();
  char data[4096 + 16];
  snprintf(data, sizeof(data), "%s/000001.data", path);
  FILE* file = fopen(data, "r+b");
  CHECK(file != NULL);
  static char bytes[1 << 20];
  const size_t count = fread(bytes, 1, sizeof(bytes), file);
  for (size_t i = 0; i + 21 <= count; ++i) {
    if (memcmp(bytes + i, "a value like no other", 21) == 0) {
      CHECK(fseek(file, (long)i, SEEK_SET) == 0 && fputc('A', file) == 'A');
    }
  }
  CHECK(fclose(file) == 0);
  db = sluice_open(options, path, &error);
  latin1 = sluice_find_subtable(db, "caf\xe9");
  sluice_put(db, NULL, latin1, "key", 3, "another", 7, &error);
  CHECK_OK();
  sluice_compact_range(db, latin1, NULL, 0, NULL, 0, &error);
  EXPECT_ERROR("corruption");
  CHECK(set_aside == 1);
  char* json = sluice_statistics_json(db);
  CHECK(strstr(json, "\"set_aside\"") != NULL && strstr(json, "caf\xef\xbf\xbd") != NULL);
  sluice_free(json);
  sluice_close(db, &error);
  CHECK_OK();
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  char copy[4096];
  snprintf(path, sizeof(path), "%s/db", argv[1]);
  snprintf(copy, sizeof(copy), "%s/copy", argv[1]);

  sluice_options_t* options = sluice_options_create();
  sluice_options_set(options, "create", "1", &error);
  EXPECT_ERROR("invalid argument: no option 'create'");
  sluice_options_set(options, "memtable_bytes", "1x", &error);
  EXPECT_ERROR("invalid argument: '1x' is no value");
  sluice_destroy(options, path, &error);
  sluice_destroy(options, copy, &error);
  CHECK_OK();
  CHECK(sluice_open(options, path, &error) == NULL);
  EXPECT_ERROR("not found");
  sluice_options_set(options, "create_if_missing", "1", &error);
  sluice_options_set(options, "create_if_missing", "yes", &error);
  EXPECT_ERROR("invalid argument: 'yes' is no value");  // and it stays as it was
  sluice_options_set(options, "compression_per_level", "", &error);
  sluice_options_set(options, "memtable_bytes", "1048576", &error);
  sluice_options_set(options, "compression", "snappy", &error);
  sluice_options_set(options, "compression_per_level", "none,lz4,zstd", &error);
  CHECK_OK();
  sluice_options_set(options, "compression_per_level", "none,lz5", &error);
  EXPECT_ERROR("invalid argument: 'none,lz5' is no value");
  sluice_options_set(options, "compression_per_level", "none,lz4,zstd", &error);
  sluice_options_set(options, "transaction_memory_bytes", "1000000", &error);
  sluice_options_set(options, "deletion_share", "0.25", &error);
  sluice_options_set_executor(options, "gpu", &error);
  EXPECT_ERROR("invalid argument: no executor 'gpu'");
  sluice_options_set_executor(options, "model:tiny", &error);
  sluice_options_set(options, "level_paths", ",", &error);
  sluice_options_set_listener(options, on_event, &flushes);
  sluice_db_t* db = sluice_open(options, path, &error);
  CHECK_OK();

  sluice_write_options_t* sync = sluice_write_options_create();
  sluice_write_options_set_sync(sync, 1);
  sluice_put(db, sync, NULL, "a", 1, "1", 1, &error);
  sluice_put(db, NULL, NULL, "b", 1, "2", 1, &error);
  CHECK_OK();
  EXPECT_VALUE(NULL, NULL, "a", "1");
  EXPECT_VALUE(NULL, NULL, "c", NULL);

  const sluice_snapshot_t* snapshot = sluice_snapshot_create(db);
  sluice_read_options_t* old = sluice_read_options_create();
  sluice_read_options_set_snapshot(old, snapshot);
  sluice_read_options_set_fill_cache(old, 0);
  sluice_delete(db, NULL, NULL, "a", 1, &error);
  EXPECT_VALUE(NULL, NULL, "a", NULL);
  EXPECT_VALUE(old, NULL, "a", "1");
  sluice_flush(db, NULL, &error);
  sluice_wait_for_background_work(db, &error); /* the event may come a little later */
  CHECK_OK();
  CHECK(flushes == 1);

  sluice_subtable_t* other = sluice_create_subtable(db, "other", &error);
  CHECK_OK();
  CHECK(sluice_create_subtable(db, "other", &error) == NULL);
  EXPECT_ERROR("invalid argument");
  CHECK(sluice_find_subtable(db, "other") == other && sluice_find_subtable(db, "x") == NULL);
  size_t count;
  sluice_subtable_t** list = sluice_list_subtables(db, &count);
  CHECK(count == 2 && strcmp(sluice_subtable_name(list[0]), "default") == 0);
  sluice_free(list);

  sluice_batch_t* batch = sluice_batch_create();
  sluice_batch_put(batch, NULL, "x", 1, "gone", 4);
  sluice_batch_clear(batch);
  for (char c = 'c'; c <= 'h'; ++c) {
    sluice_batch_put(batch, other, &c, 1, "batch", 5);
  }
  sluice_batch_delete(batch, other, "e", 1);
  CHECK(sluice_batch_count(batch) == 7);
  atomic_int writes = 0;
  sluice_write_async(db, sync, batch, on_written, &writes);
  sluice_write(db, NULL, batch, &error);
  sluice_batch_destroy(batch);
  CHECK_OK();
  while (writes == 0) {
  }
  EXPECT_VALUE(NULL, NULL, "x", NULL);
  EXPECT_VALUE(NULL, other, "d", "batch");
  EXPECT_VALUE(NULL, other, "e", NULL);

  test_transactions(db, sync, other);

  const char* keys[] = {"b", "none"};
  const size_t keys_bytes[] = {1, 4};
  char* values[2];
  size_t values_bytes[2];
  char* errors[2];
  sluice_multi_get(db, NULL, NULL, 2, keys, keys_bytes, values, values_bytes, errors);
  CHECK(values_bytes[0] == 1 && values[0][0] == '2' && values[1] == NULL);
  CHECK(errors[0] == NULL && errors[1] == NULL);
  sluice_free(values[0]);

  sluice_read_options_t* bounds = sluice_read_options_create();
  sluice_read_options_set_lower_bound(bounds, "d", 1);
  sluice_read_options_set_upper_bound(bounds, "h", 1);
  sluice_iterator_t* at = sluice_iterator_create(db, bounds, other);
  char seen[16] = "";
  size_t bytes;
  for (sluice_iterator_seek_to_first(at); sluice_iterator_valid(at); sluice_iterator_next(at)) {
    strncat(seen, sluice_iterator_key(at, &bytes), 1);
    sluice_iterator_value(at, &bytes);
    CHECK(bytes == 5);
  }
  for (sluice_iterator_seek_to_last(at); sluice_iterator_valid(at); sluice_iterator_prev(at)) {
    strncat(seen, sluice_iterator_key(at, &bytes), 1);
  }
  CHECK(strcmp(seen, "dfggfd") == 0);
  sluice_iterator_seek(at, "e", 1);
  CHECK(sluice_iterator_key(at, &bytes)[0] == 'f');
  sluice_iterator_seek_for_prev(at, "e", 1);
  CHECK(sluice_iterator_key(at, &bytes)[0] == 'd');
  sluice_iterator_get_error(at, &error);
  CHECK_OK();
  sluice_iterator_destroy(at);

  sluice_delete_range(db, NULL, other, "c", 1, "g", 1, &error);
  CHECK_OK();
  EXPECT_VALUE(NULL, other, "f", NULL);
  EXPECT_VALUE(NULL, other, "g", "batch");
  sluice_batch_t* ranges = sluice_batch_create();
  sluice_batch_put(ranges, other, "h", 1, "before", 6);
  sluice_batch_delete_range(ranges, other, "h", 1, NULL, 7); /* null: no bound, whatever its size */
  sluice_batch_put(ranges, other, "i", 1, "after", 5);
  CHECK(sluice_batch_count(ranges) == 3);
  sluice_write(db, NULL, ranges, &error);
  sluice_batch_destroy(ranges);
  CHECK_OK();
  EXPECT_VALUE(NULL, other, "g", "batch");
  EXPECT_VALUE(NULL, other, "h", NULL);
  EXPECT_VALUE(NULL, other, "i", "after");
  sluice_delete_range(db, NULL, other, "j", 1, NULL, 7, &error);
  sluice_compact_range(db, other, NULL, 7, NULL, 7, &error);
  sluice_wait_for_background_work(db, &error);
  sluice_verify(db, &error);
  sluice_checkpoint(db, copy, &error);
  CHECK_OK();
  sluice_checkpoint(db, copy, &error);
  EXPECT_ERROR("invalid argument");
  char* text = sluice_statistics_text(db);
  char* json = sluice_statistics_json(db);
  CHECK(strstr(text, "write amplification") != NULL && strstr(json, "\"manual\": 1") != NULL);
  sluice_free(text);
  sluice_free(json);
  char* files = sluice_get_property(db, other, "sluice.num-files-at-level2", &error);
  CHECK_OK();
  CHECK(strcmp(files, "1") == 0);
  sluice_free(files);
  sluice_ingestion_t* ingestion = sluice_ingestion_create(db, &error);
  CHECK_OK();
  CHECK(sluice_ingestion_create(db, &error) == NULL);
  EXPECT_ERROR("busy");
  sluice_ingestion_add(ingestion, other, "x", 1, "ingested", 8, &error);
  CHECK_OK();
  sluice_ingestion_add(ingestion, other, "w", 1, "too late", 8, &error);
  EXPECT_ERROR("invalid argument");
  EXPECT_VALUE(NULL, other, "x", NULL);
  sluice_ingestion_commit(ingestion, &error);
  CHECK_OK();
  sluice_ingestion_destroy(ingestion);
  EXPECT_VALUE(NULL, other, "x", "ingested");
  sluice_subtable_t* sized = sluice_create_subtable(db, "sized", &error);
  sluice_put(db, NULL, sized, "a", 1, "value", 5, &error);
  sluice_put(db, NULL, sized, "b", 1, "value", 5, &error);
  sluice_put(db, NULL, sized, "c", 1, "value", 5, &error);
  CHECK_OK();
  uint64_t records;
  uint64_t estimated;
  sluice_approximate_size(db, sized, "b", 1, NULL, 0, &records, &estimated);
  CHECK(records == 2 && estimated == 12);
  sluice_approximate_size(db, sized, NULL, 0, "b", 1, &records, NULL);
  CHECK(records == 1);
  sluice_drop_subtable(db, sized, &error);
  test_subtable_options(db);
  CHECK_OK();
  char* memory = sluice_get_property(db, NULL, "sluice.transaction-memory-capacity", &error);
  CHECK_OK();
  CHECK(strcmp(memory, "1000000") == 0);
  sluice_free(memory);
  CHECK(sluice_get_property(db, other, "sluice.num-files-at-level3", &error) == NULL);
  EXPECT_ERROR("invalid argument");
  sluice_drop_subtable(db, other, &error);
  CHECK_OK();
  sluice_put(db, NULL, other, "a", 1, "", 0, &error);
  EXPECT_ERROR("invalid argument");

  sluice_snapshot_release(db, snapshot);
  sluice_read_options_destroy(bounds);
  sluice_read_options_destroy(old);
  sluice_write_options_destroy(sync);
  sluice_close(db, &error);
  CHECK_OK();
  sluice_options_set_listener(options, NULL, NULL);
  db = sluice_open(options, copy, &error);
  CHECK_OK();
  EXPECT_VALUE(NULL, sluice_find_subtable(db, "other"), "g", "batch");
  sluice_put(db, NULL, NULL, "unheard", 7, "flush", 5, &error);
  sluice_flush(db, NULL, &error);
  CHECK_OK();
  sluice_close(db, &error);
  sluice_options_set_listener(options, on_event, &flushes);
  CHECK_OK();

  sluice_options_t* reading = sluice_options_create();
  sluice_options_set(reading, "read_only", "1", &error);
  db = sluice_open(reading, copy, &error);
  CHECK_OK();
  EXPECT_VALUE(NULL, sluice_find_subtable(db, "other"), "g", "batch");
  sluice_put(db, NULL, NULL, "a", 1, "", 0, &error);
  EXPECT_ERROR("invalid argument: ");
  sluice_close(db, &error);
  sluice_options_destroy(reading);
  CHECK_OK();

  sluice_destroy(options, path, &error);
  sluice_destroy(options, copy, &error);
  CHECK_OK();

  test_damage(options, path);
  sluice_destroy(options, path, &error);
  CHECK_OK();

  char identity[4096 + 16];
  snprintf(identity, sizeof(identity), "%s/IDENTITY.new", path);
  CHECK(mkdir(path, 0755) == 0 && symlink("/dev/full", identity) == 0);
  CHECK(sluice_open(options, path, &error) == NULL);
  EXPECT_ERROR("no space: ");
  unlink(identity);
  sluice_options_destroy(options);
  CHECK_OK();
  return 0;
}
