#include "leveldb_dir/log_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "leveldb_dir/file_names.h"
#include "leveldb_dir/log_reader.h"
#include "leveldb_dir/logged_batch.h"
#include "table/table_writer.h"

namespace sluice {

namespace {

// Appends the log's batches to `batches`, and views of their records to `records`.
Status ReadLog(std::string_view log, std::deque<std::string>* batches,
               std::vector<LoggedRecord>* records) {
  LogReader reader(log);
  std::string_view batch;
  while (reader.Next(&batch)) {
    batches->emplace_back(batch);
    const Status status = ParseWriteBatch(batches->back(), records);
    if (!status.ok()) {
      return status.WithContext(fmt::format("offset {}", reader.record_offset()));
    }
  }
  return reader.status();
}

// Newest versions first within a user key. Of records with one internal key, which no LevelDB
// writes, the last stays, as it would in a memtable.
void SortRecords(std::vector<LoggedRecord>* records) {
  std::ranges::stable_sort(*records, [](const LoggedRecord& a, const LoggedRecord& b) {
    const int order = a.user_key.compare(b.user_key);
    return order != 0 ? order < 0 : a.trailer > b.trailer;
  });
  const auto same = [](const LoggedRecord& a, const LoggedRecord& b) {
    return a.trailer == b.trailer && a.user_key == b.user_key;
  };
  // From the back, so that the last of equals is the one that is kept.
  const auto kept = std::unique(records->rbegin(), records->rend(), same);
  records->erase(records->begin(), kept.base());
}

// Builds a table of the records from `*next` on, and moves that past them.
Status BuildTable(const std::vector<LoggedRecord>& records, uint64_t table_bytes, size_t* next,
                  LogTable* table) {
  StringFile file;
  TableWriter writer({}, &file);
  do {
    const LoggedRecord& record = records[*next];
    table->largest.assign(record.user_key);
    PutFixed64(&table->largest, record.trailer);
    if (table->smallest.empty()) {
      table->smallest = table->largest;
    }
    SLUICE_RETURN_IF_ERROR(writer.Add(table->largest, record.value));
    ++*next;
  } while (*next < records.size() && writer.file_bytes() < table_bytes);
  SLUICE_RETURN_IF_ERROR(writer.Finish());
  table->image = file.contents();
  Footer footer;
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(std::string_view(table->image).substr(table->image.size() - kFooterBytes),
                    table->image.size(), &footer));
  table->index = footer.index;
  return {};
}

}  // namespace

Status ReadLogs(Env* env, const Database& database, uint64_t table_bytes, LogRun* contents) {
  *contents = {};
  std::deque<std::string> batches;
  std::vector<LoggedRecord> records;
  for (const uint64_t number : database.logs) {
    const std::string path = database.Path(LogFileName(number));
    MappedFile log;
    SLUICE_RETURN_IF_ERROR(env->MapFile(path, &log));
    SLUICE_RETURN_IF_ERROR(ReadLog(log.bytes(), &batches, &records).WithContext(path));
    contents->file_bytes += log.bytes().size();
  }
  contents->records = records.size();
  for (const LoggedRecord& record : records) {
    contents->last_sequence = std::max(contents->last_sequence, TrailerSequence(record.trailer));
  }
  SortRecords(&records);
  for (size_t next = 0; next < records.size();) {
    SLUICE_RETURN_IF_ERROR(
        BuildTable(records, table_bytes, &next, &contents->tables.emplace_back()));
  }
  return {};
}

}  // namespace sluice
