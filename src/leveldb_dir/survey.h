// A database's tables as the inputs of a compaction, and what its new tables must be like.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb_dir/database.h"
#include "merge/input_map.h"
#include "sluice/env.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

struct InputTable {
  std::string path;
  uint64_t bytes = 0;
  BlockHandle index;
  std::string smallest;  // user keys
  std::string largest;
};

struct Survey {
  // Newest first: each table of level 0, then each deeper level that has any.
  std::vector<std::vector<InputTable>> runs;
  InputMap map;  // all tables are added; not sorted yet
  uint64_t file_bytes = 0;
  Compression compression = Compression::kSnappy;  // LevelDB's default, if no table tells
  int bloom_bits_per_key = 0;
};

// Opens every table once. `piece_bytes`: how finely to note where the bytes of a table lie.
//
// Errors: NotSupported (a filter policy or metaindex entry that is not LevelDB's), Corruption with
// file and offset.
Status SurveyTables(Env* env, const Database& database, uint64_t piece_bytes, Survey* survey);

}  // namespace sluice
