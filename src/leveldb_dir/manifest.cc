#include "leveldb_dir/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "leveldb_dir/log_reader.h"
#include "leveldb_dir/log_writer.h"

namespace sluice {

namespace {

using LevelFiles = std::array<std::map<uint64_t, TableFile>, kNumLevels>;

Status ApplyFiles(VersionEdit* edit, LevelFiles* levels) {
  for (const auto& [level, number] : edit->deleted_files) {
    (*levels)[level].erase(number);
  }
  for (auto& [level, file] : edit->new_files) {
    if (CompareInternalKeys(file.smallest, file.largest) > 0) {
      return Status::Corruption(fmt::format(
          "table {} of level {} has its smallest key after its largest", file.number, level));
    }
    const uint64_t number = file.number;
    (*levels)[level][number] = std::move(file);
  }
  return {};
}

Status ApplyEdit(VersionEdit* edit, DatabaseState* state, VersionEdit* latest, LevelFiles* levels) {
  if (edit->comparator) {
    if (*edit->comparator != kBytewiseComparator) {
      return Status::NotSupported(
          fmt::format("keys are ordered by comparator \"{}\", not by \"{}\"", *edit->comparator,
                      kBytewiseComparator));
    }
    state->comparator = *edit->comparator;
  }
  const auto take = [](const std::optional<uint64_t>& from, std::optional<uint64_t>* to) {
    if (from) {
      *to = from;
    }
  };
  take(edit->log_number, &latest->log_number);
  take(edit->previous_log_number, &latest->previous_log_number);
  take(edit->next_file_number, &latest->next_file_number);
  take(edit->last_sequence, &latest->last_sequence);
  return ApplyFiles(edit, levels);
}

Status CheckComplete(const DatabaseState& state, const VersionEdit& latest) {
  const char* missing = state.comparator.empty()   ? "comparator"
                        : !latest.log_number       ? "log number"
                        : !latest.next_file_number ? "next file number"
                        : !latest.last_sequence    ? "last sequence number"
                                                   : nullptr;
  if (missing != nullptr) {
    return Status::Corruption(fmt::format("no edit gives the {}", missing));
  }
  if (*latest.last_sequence > kMaxSequence) {
    return Status::Corruption(
        fmt::format("last sequence number {} has more than 56 bits", *latest.last_sequence));
  }
  return {};
}

Status CheckDisjoint(uint32_t level, const std::vector<TableFile>& files) {
  for (size_t i = 1; i < files.size(); ++i) {
    if (CompareInternalKeys(files[i - 1].largest, files[i].smallest) >= 0) {
      return Status::Corruption(fmt::format("tables {} and {} of level {} overlap",
                                            files[i - 1].number, files[i].number, level));
    }
  }
  return {};
}

}  // namespace

Status ReadManifest(std::string_view manifest, DatabaseState* state) {
  *state = {};
  VersionEdit latest;
  LevelFiles levels;
  LogReader reader(manifest);
  std::string_view record;
  while (reader.Next(&record)) {
    VersionEdit edit;
    Status status = VersionEdit::Parse(record, &edit);
    if (status.ok()) {
      status = ApplyEdit(&edit, state, &latest, &levels);
    }
    if (!status.ok()) {
      return status.WithContext(fmt::format("offset {}", reader.record_offset()));
    }
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  SLUICE_RETURN_IF_ERROR(CheckComplete(*state, latest));
  state->log_number = *latest.log_number;
  state->previous_log_number = latest.previous_log_number.value_or(0);
  state->next_file_number = *latest.next_file_number;
  state->last_sequence = *latest.last_sequence;
  for (uint32_t level = 0; level < kNumLevels; ++level) {
    std::vector<TableFile>& files = state->levels[level];
    for (auto& [number, file] : levels[level]) {
      files.push_back(std::move(file));
    }
    if (level > 0) {
      std::ranges::sort(files, [](const TableFile& a, const TableFile& b) {
        return CompareInternalKeys(a.smallest, b.smallest) < 0;
      });
      SLUICE_RETURN_IF_ERROR(CheckDisjoint(level, files));
    }
  }
  return {};
}

std::string WriteManifest(const DatabaseState& state) {
  VersionEdit edit;
  edit.comparator = state.comparator;
  edit.log_number = state.log_number;
  edit.previous_log_number = state.previous_log_number;
  edit.next_file_number = state.next_file_number;
  edit.last_sequence = state.last_sequence;
  for (uint32_t level = 0; level < kNumLevels; ++level) {
    for (const TableFile& file : state.levels[level]) {
      edit.new_files.emplace_back(level, file);
    }
  }
  std::string record;
  edit.AppendTo(&record);
  std::string manifest;
  AppendLogRecord(record, &manifest);
  return manifest;
}

}  // namespace sluice
