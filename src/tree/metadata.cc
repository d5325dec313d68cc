#include "tree/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

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
    if (!subtables.emplace(id, Subtable{name, 0, {}, {}}).second) {
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
  for (const auto& [id, sequence] : edit.cuts_done) {
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    RangeDeletions left;
    subtable->second.cuts.ForEach([&, done = sequence](const RangeDeletion& cut) {
      if (cut.sequence > done) {
        left.Add(cut);
      }
    });
    subtable->second.cuts = std::move(left);
  }
  for (const auto& [id, cut] : edit.cuts) {
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    subtable->second.cuts.Add(cut);
  }
  struct Change {
    std::vector<ExtentPtr> removed;
    std::vector<ExtentPtr> added;
  };
  std::map<std::pair<uint32_t, RunId>, Change> changes;
  for (const auto& [id, run, number, smallest] : edit.removed) {
    changes[{id, run}].removed.push_back(
        std::make_shared<const Extent>(Extent{.number = number, .smallest = smallest}));
  }
  for (const auto& [id, run, extent] : edit.added) {
    changes[{id, run}].added.push_back(std::make_shared<const Extent>(extent));
  }
  for (const auto& [where, change] : changes) {
    const auto& [id, run_id] = where;
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    if (run_id.level > kAsideLevel) {
      return Status::Corruption(fmt::format(
          "metadata edit of sub-table {}, level {}, of which there is none", id, run_id.level));
    }
    RunIndex& run = subtable->second.runs[run_id];
    SLUICE_RETURN_IF_ERROR(
        run.Edit(change.removed, change.added, &run)
            .WithContext(fmt::format("metadata edit of sub-table {}, level {}, run {}", id,
                                     run_id.level, run_id.run)));
    if (run.empty()) {
      subtable->second.runs.erase(run_id);
    }
  }
  log_start = edit.log_start.value_or(log_start);
  next_number = edit.next_number.value_or(next_number);
  next_subtable = edit.next_subtable.value_or(next_subtable);
  database = edit.database.value_or(database);
  return {};
}

MetadataEdit Metadata::ToEdit() const {
  MetadataEdit edit;
  edit.whole = true;
  for (const auto& [id, subtable] : subtables) {
    edit.created.push_back({id, subtable.name});
    edit.flushed.push_back({id, subtable.flushed});
    subtable.cuts.ForEach([&, of = id](const RangeDeletion& cut) {
      edit.cuts.push_back({of, cut});
    });
    for (const auto& [run_id, run] : subtable.runs) {
      RunIndex::Iterator at(run);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        edit.added.push_back({id, run_id, *at.extent()});
      }
    }
  }
  edit.log_start = log_start;
  edit.next_number = next_number;
  edit.next_subtable = next_subtable;
  edit.database = database;
  return edit;
}

}  // namespace sluice
