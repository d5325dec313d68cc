// What CREATE and ALTER TABLE may say of how a table is stored and compacted, or a partition or an index
// of it:
//
//     CREATE TABLE t (..., KEY (b) COMPRESSION='none') ENGINE=SLUICE COMPRESSION='zstd' BLOCK_SIZE=16384
//
// The server keeps it in the table's definition. The sub-tables follow that when the table is made,
// and whenever it is opened: so does what ALTER TABLE changes, without any part in it of the engine.

#pragma once

#include <sluice/options.h>

#include <string_view>

#include "server.h"

namespace sluice::mariadb {

// What may be said of each; zeros: nothing.
struct StorageOptions {
  uint compression = 0;
  ulonglong block_size = 0;
  uint executor = 0;
  uint level_tiers = 0;
};

// For handlerton, of tables and of indexes.
extern ha_create_table_option storage_options[];

// Whether what is said of the partition that the engine knows as the table `name` can be done; the
// client is told what cannot. True if that is no partition: the server checks the other options.
bool CheckPartitionOptions(THD* thd, const TABLE& table, std::string_view name);

// Of the sub-table of an index of the table or partition `name`: what is said of the index goes before
// what is said of the partition, and that before what is said of the table. MAX_KEY: of the rows of a
// table without a primary key.
SubtableOptions OptionsOf(THD* thd, const TABLE& table, std::string_view name, uint index);

}  // namespace sluice::mariadb

// The server's names for them.
struct ha_table_option_struct : sluice::mariadb::StorageOptions {};
struct ha_index_option_struct : sluice::mariadb::StorageOptions {};
