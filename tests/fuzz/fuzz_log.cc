// LogReader: any bytes.

#include "fuzz/fuzz.h"
#include "leveldb_dir/log_format.h"
#include "leveldb_dir/log_reader.h"
#include "leveldb_dir/log_writer.h"
#include "table/testing.h"

namespace sluice::fuzz {

void RunLog(std::string_view input) {
  const ExactCopy log(input);
  LogReader reader(log.view());
  std::string_view record;
  uint64_t bytes = 0;
  uint64_t next_offset = 0;
  while (reader.Next(&record)) {
    Check(reader.record_offset() >= next_offset, "records come in order");
    next_offset = reader.record_offset() + kLogHeaderBytes;
    bytes += record.size() + kLogHeaderBytes;
    Check(bytes <= input.size(), "a record has no more bytes than were read");
  }
  Check(reader.status().ok() || reader.status().IsCorruption(), "a fault is corruption");
  Check(!reader.Next(&record), "the end is the end");
}

std::string MakeLogSeed(Random* random) {
  std::string log;
  for (uint64_t records = Uniform(random, 0, 10); records > 0; --records) {
    AppendLogRecord(std::string(SkewedSize(random, 40000), 'r'), &log);
  }
  return log;
}

}  // namespace sluice::fuzz
