// A merge task in one file, inputs and all: what failed once can be run again elsewhere
// (`sluice unit replay`). Integers are little-endian:
//
//   file  := "sluicetk" | version (fixed32) = 4 | note (lp) | flags (fixed32)
//            | block_bytes (fixed32) | restart_interval (fixed32) | bloom_bits_per_key (fixed32)
//            | checksum_base (fixed32) | table_bytes (fixed64) | snapshots (fixed32)
//            | snapshot (fixed64)* | begin (lp) | end (lp) | runs (fixed32) | run*
//            | masked CRC32C of all before (fixed32)
//   run   := tables (fixed32) | table*
//   table := index offset (fixed64) | index size (fixed64) | checksum_base (fixed32)
//            | image bytes (fixed64) | image
//   lp    := length (varint32) | bytes
//   flags := 1 if bottommost, 2 if has_begin, 4 if has_end, 8 if compress, 16 if checksum is kXxh3
//
// The note is for people: why the task was kept.

#pragma once

#include <string>
#include <string_view>

#include "sluice/env.h"
#include "sluice/executor.h"
#include "util/status.h"

namespace sluice {

// Writes and syncs the file; the name becomes durable with the next SyncDir.
Status WriteTaskFile(Env* env, const std::string& path, const MergeTask& task,
                     std::string_view note);

// A task and the file that its tables lie in.
struct TaskFile {
  MappedFile file;
  MergeTask task;
  std::string note;
};

// Corruption if the file is not what it must be; its tables are as they were and not looked at.
Status ReadTaskFile(Env* env, const std::string& path, TaskFile* task);

}  // namespace sluice
