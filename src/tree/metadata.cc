#include "tree/metadata.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

namespace {

Status Unknown(uint32_t subtable) {
  return Status::Corruption(
      fmt::format("metadata edit of sub-table {}, which is not there", subtable));
}

}  // namespace

Status Metadata::Apply(const MetadataEdit& edit) {
  if (edit.whole) {
    *this = {};
  }
  for (const uint32_t id : edit.dropped) {
    if (subtables.erase(id) == 0) {
      return Unknown(id);
    }
  }
  for (const auto& [id, name] : edit.created) {
    if (!subtables.emplace(id, Subtable{name, 0, {}}).second) {
      return Status::Corruption(fmt::format("metadata edit creates sub-table {} again", id));
    }
  }
  for (const auto& [id, sequence] : edit.flushed) {
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    subtable->second.flushed = std::max(subtable->second.flushed, sequence);
  }
  for (const auto& [id, run_id, extent] : edit.removed) {
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    const auto run = subtable->second.runs.find(run_id);
    if (run == subtable->second.runs.end() || run->second.erase(extent) == 0) {
      return Status::Corruption(fmt::format(
          "metadata edit removes extent {} from level {}, run {} of sub-table {}, where "
          "it is not",
          extent, run_id.level, run_id.run, id));
    }
    if (run->second.empty()) {
      subtable->second.runs.erase(run);
    }
  }
  for (const auto& [id, run_id, extent] : edit.added) {
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    if (!subtable->second.runs[run_id]
             .emplace(extent.number, std::make_shared<const Extent>(extent))
             .second) {
      return Status::Corruption(fmt::format("metadata edit adds extent {} again", extent.number));
    }
  }
  log_start = edit.log_start.value_or(log_start);
  next_number = edit.next_number.value_or(next_number);
  return {};
}

MetadataEdit Metadata::ToEdit() const {
  MetadataEdit edit;
  edit.whole = true;
  for (const auto& [id, subtable] : subtables) {
    edit.created.push_back({id, subtable.name});
    edit.flushed.push_back({id, subtable.flushed});
    for (const auto& [run_id, run] : subtable.runs) {
      for (const auto& [number, extent] : run) {
        edit.added.push_back({id, run_id, *extent});
      }
    }
  }
  edit.log_start = log_start;
  edit.next_number = next_number;
  return edit;
}

}  // namespace sluice
