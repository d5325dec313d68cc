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

// Counts what `extent`, which is added, refers to. What is known already is the same for all that
// refer to it, or else it would have its pages twice.
Status AddValues(std::map<uint64_t, ValueUse>* values, Extent* extent) {
  std::shared_ptr<ValueShares> shared;
  for (size_t i = 0; i < ValueShares::Of(*extent).size(); ++i) {
    const ValueShares::Share& share = extent->values->shares[i];
    ValueUse& use = (*values)[share.extent->pages.number];
    if (use.extent == nullptr) {
      use.extent = share.extent;
    } else if (!(use.extent->pages == share.extent->pages)) {
      return Status::Corruption(
          fmt::format("extents {} and another have different places for value "
                      "extent {}",
                      extent->number, share.extent->pages.number));
    }
    ++use.extents;
    use.live_bytes += share.bytes;
    if (use.extent != share.extent) {
      if (shared == nullptr) {
        shared = std::make_shared<ValueShares>(*extent->values);
      }
      shared->shares[i].extent = use.extent;
    }
  }
  if (shared != nullptr) {
    extent->values = std::move(shared);
  }
  return {};
}

// The opposite, for an extent that is removed.
void RemoveValues(std::map<uint64_t, ValueUse>* values, const Extent& extent) {
  for (const ValueShares::Share& share : ValueShares::Of(extent)) {
    const auto use = values->find(share.extent->pages.number);
    if (use == values->end()) {
      continue;
    }
    use->second.live_bytes -= share.bytes;
    if (--use->second.extents == 0) {
      values->erase(use);
    }
  }
}

Status CheckValues(const Metadata::Subtable& subtable, const Extent& added) {
  for (const ValueShares::Share& share : ValueShares::Of(added)) {
    const auto found = subtable.values.find(share.extent->pages.number);
    if (found == subtable.values.end()) {
      continue;  // the extent was removed by the same edit
    }
    const ValueUse& use = found->second;
    if (use.live_bytes > use.extent->pages.bytes) {
      return Status::Corruption(fmt::format("value extent {} has {} bytes, but extents refer to {}",
                                            use.extent->pages.number, use.extent->pages.bytes,
                                            use.live_bytes));
    }
  }
  return {};
}

// Which sub-tables there are, and their options.
Status ChangeSubtables(const MetadataEdit& edit,
                       std::map<uint32_t, Metadata::Subtable>* subtables) {
  for (const uint32_t id : edit.dropped) {
    if (subtables->erase(id) == 0) {
      return Unknown(id);
    }
  }
  for (const auto& [id, name] : edit.created) {
    if (!subtables->emplace(id, Metadata::Subtable{.name = name}).second) {
      return Status::Corruption(fmt::format("metadata edit creates sub-table {} again", id));
    }
  }
  for (const auto& [id, options] : edit.options) {
    const auto subtable = subtables->find(id);
    if (subtable == subtables->end()) {
      return Unknown(id);
    }
    subtable->second.options = options;
  }
  return {};
}

}  // namespace

Status Metadata::Apply(const MetadataEdit& edit) {
  if (edit.whole) {
    *this = {};
  }
  SLUICE_RETURN_IF_ERROR(ChangeSubtables(edit, &subtables));
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
    const auto subtable = subtables.find(id);
    if (subtable == subtables.end()) {
      return Unknown(id);
    }
    auto added = std::make_shared<Extent>(extent);
    SLUICE_RETURN_IF_ERROR(AddValues(&subtable->second.values, added.get()));
    changes[{id, run}].added.push_back(std::move(added));
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
    const RunIndex before = run;
    SLUICE_RETURN_IF_ERROR(
        run.Edit(change.removed, change.added, &run)
            .WithContext(fmt::format("metadata edit of sub-table {}, level {}, run {}", id,
                                     run_id.level, run_id.run)));
    for (const ExtentPtr& removed : change.removed) {
      // It is there, since Edit found it; but Find goes by its last key, and a damaged extent may
      // end before it begins.
      const Extent* const there = before.Find(removed->smallest);
      if (there != nullptr && there->number == removed->number) {
        RemoveValues(&subtable->second.values, *there);
      }
    }
    if (run.empty()) {
      subtable->second.runs.erase(run_id);
    }
  }
  for (const auto& [id, run, extent] : edit.added) {
    SLUICE_RETURN_IF_ERROR(CheckValues(subtables.at(id), extent));
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
    if (subtable.options != SubtableOptions()) {
      edit.options.push_back({id, subtable.options});
    }
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
