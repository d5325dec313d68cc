#include "db/range_cuts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/slice.h"

namespace sluice {

namespace {

class Cutter {
 public:
  Cutter(const Version& version, const SubtableImpl& subtable, ExtentReader* reader)
      : version_(version),
        cuts_(version.cuts),
        subtable_(subtable.id()),
        name_(subtable.name()),
        reader_(*reader) {}

  Status Run() {
    for (uint32_t level = 0; level < kLevels; ++level) {
      for (const Version::Run& run : version_.levels[level]) {
        SLUICE_RETURN_IF_ERROR(CutRun({level, run.number}, run.index));
      }
    }
    for (const RunIndex& aside : version_.aside) {
      RunIndex::Iterator first(aside);
      first.SeekToFirst();
      SLUICE_RETURN_IF_ERROR(CutRun({kAsideLevel, first.extent()->number}, aside));
    }
    SequenceNumber last = 0;
    cuts_.ForEach([&](const RangeDeletion& cut) {
      last = std::max(last, cut.sequence);
      if (std::any_of(aside_.begin(), aside_.end(), [&](const ExtentPtr& extent) {
            return extent->newest < cut.sequence && UserKey(extent->largest) >= cut.begin &&
                   (cut.end.empty() || UserKey(extent->smallest) < cut.end);
          })) {
        edit_.cuts.push_back({subtable_, cut});
      }
    });
    edit_.cuts_done.push_back({subtable_, last});
    return {};
  }

  MetadataEdit* edit() { return &edit_; }
  const std::vector<SetAsideEvent>& set_aside() const { return set_aside_; }
  uint64_t extents() const { return extents_; }
  uint64_t records() const { return records_; }

 private:
  Status CutRun(const RunId& id, const RunIndex& run) {
    std::map<std::string_view, ExtentPtr> touched;  // by their smallest keys
    cuts_.ForEach([&](const RangeDeletion& cut) {
      std::string from = cut.begin;
      PutFixed64(&from, FirstTrailer(kMaxSequence));
      RunIndex::Iterator at(run);
      for (at.Seek(from);
           at.Valid() && (cut.end.empty() || UserKey(at.extent()->smallest) < cut.end); at.Next()) {
        if (at.extent()->newest < cut.sequence) {
          touched.emplace(at.extent()->smallest, at.extent());
        }
      }
    });
    for (const auto& [smallest, extent] : touched) {
      SLUICE_RETURN_IF_ERROR(CutOne(id, extent));
    }
    return {};
  }

  Status CutOne(const RunId& id, const ExtentPtr& extent) {
    // Where what is cut begins and ends.
    std::vector<std::string> borders;
    const auto span_at = [&](std::string_view key) { return cuts_.At(key, kMaxSequence); };
    RangeDeletions::Span span = span_at(UserKey(extent->smallest));
    const bool first_is_cut = span.sequence > extent->newest;
    for (bool is = first_is_cut; span.has_end && span.end <= UserKey(extent->largest);) {
      const std::string_view end = span.end;
      span = span_at(end);
      const bool was = std::exchange(is, span.sequence > extent->newest);
      if (is != was) {
        borders.emplace_back(end);
      }
    }
    const bool whole = first_is_cut && borders.empty();
    if (whole) {
      edit_.removed.push_back({subtable_, id, extent->number, extent->smallest});
      ++extents_;
      records_ += extent->entries;
      return {};
    }
    std::vector<Extent> left;
    if (const Status status = CutOutOfExtent(*extent, borders, first_is_cut, &reader_, &left);
        !status.ok()) {
      if (!IsOfTheInput(status)) {
        return status;
      }
      aside_.push_back(extent);
      if (id.level == kAsideLevel) {
        return {};
      }
      edit_.removed.push_back({subtable_, id, extent->number, extent->smallest});
      edit_.added.push_back({subtable_, {kAsideLevel, extent->number}, *extent});
      set_aside_.push_back({.subtable = name_,
                            .extent = extent->number,
                            .level = static_cast<int>(id.level),
                            .bytes = extent->bytes,
                            .records = extent->entries,
                            .reason = status});
      return {};
    }
    uint64_t records = extent->entries;
    for (const Extent& slice : left) {
      records -= slice.entries;
    }
    if (records == 0) {
      return {};  // the cut lies between two of its keys
    }
    edit_.removed.push_back({subtable_, id, extent->number, extent->smallest});
    for (Extent& slice : left) {
      edit_.added.push_back({subtable_, id, std::move(slice)});
    }
    records_ += records;
    return {};
  }

  const Version& version_;
  const RangeDeletions& cuts_;
  const uint32_t subtable_;
  const std::string& name_;
  ExtentReader& reader_;
  MetadataEdit edit_;
  std::vector<ExtentPtr> aside_;  // that cuts must stay for, if they are not wholly within one
  std::vector<SetAsideEvent> set_aside_;
  uint64_t extents_ = 0;
  uint64_t records_ = 0;
};

}  // namespace

Status CarryOutCuts(DbState* db, SubtableImpl* subtable) {
  const std::shared_ptr<const Version> version = subtable->PinVersion();
  Cutter cutter(*version, *subtable, &db->reader);
  SLUICE_RETURN_IF_ERROR(cutter.Run());
  {
    const MutexLock metadata_lock(db->metadata_mutex);
    if (subtable->dropped) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(db->ApplyEdit(subtable, cutter.edit(), [](Version*) {}));
  }
  db->counters.range_cuts.fetch_add(1);
  db->counters.cut_extents.fetch_add(cutter.extents());
  db->counters.cut_records.fetch_add(cutter.records());
  for (const SetAsideEvent& event : cutter.set_aside()) {
    db->Tell([&](EventListener& listener) { listener.OnSetAside(event); });
  }
  return {};
}

}  // namespace sluice
