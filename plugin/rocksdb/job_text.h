// How RocksDB describes a compaction to its CompactionService, and what it wants to hear of it.
//
//   text   := version (fixed32, 1) | fields
//   fields := (name "=" value ";")*        in any order
//   value  := number | "true" | "false" | string in hexadecimal | "{" fields "}"
//             | value (":" value)*         for vectors
//
// What is not known is declined, as it may change what a compaction has to do.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/executor.h"
#include "util/status.h"

namespace sluice::rocks {

using Fields = std::map<std::string, std::string, std::less<>>;

// Takes fields apart, no deeper than the first braces, which stay. Corruption if they are malformed,
// or if a name comes twice.
Status ParseFields(std::string_view text, Fields* fields);

struct JobInput {
  std::string family;  // name of the column family
  std::vector<SequenceNumber> snapshots;
  std::vector<std::string> files;  // names within the database's directory
  int output_level = 0;
  bool has_begin = false;
  bool has_end = false;
  std::string begin;  // user key, the first; with has_begin
  std::string end;    // user key, the first behind them; with has_end
};

Status ParseJobInput(std::string_view text, JobInput* input);

struct OutputFile {
  std::string name;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  SequenceNumber smallest_sequence = 0;
  SequenceNumber largest_sequence = 0;
  std::string smallest;  // internal keys
  std::string largest;
};

struct JobOutput {
  std::string dir;  // where the files are
  int output_level = 0;
  std::vector<OutputFile> files;
  uint64_t oldest_ancestor_time = 0;
  uint64_t creation_time = 0;
  uint64_t epoch_number = 0;  // the least of the inputs'; from RocksDB 8 on
  uint64_t input_records = 0;
  uint64_t output_records = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t micros = 0;
};

// `major`: of RocksDB's version, which decides about the fields.
std::string EncodeJobOutput(const JobOutput& output, int major);

}  // namespace sluice::rocks
