// The tables of a simulated database: each is an interval of the key space, and what was written to
// each part of it. Their extents are the engine's own.
//
// Thread-compatible.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compaction/compaction_planner.h"
#include "simulate/key_model.h"
#include "simulate/table_shape.h"
#include "tree/extent.h"
#include "tree/extent_space.h"
#include "tree/metadata_edit.h"

namespace sluice::simulate {

// Some writes of an interval that begins here and ends where the next one begins.
struct Span {
  Key begin = 0;
  Written written;
};

inline Key BeginOf(const Extent& extent) { return KeyOf(UserKey(extent.smallest)); }
inline Key EndOf(const Extent& extent) { return KeyOf(UserKey(extent.largest)) + 1; }

// A plan that asks them sees a few large blocks per table, and finds a key wherever it looks in
// one: an extent of one run that an extent of another spans is merged, not reused.
class Tables final : public PlanSource {
 public:
  // Both outlive this.
  Tables(const KeyModel* model, const TableShape* shape);

  // How many keys an interval has.
  double Records(Key begin, Key end, const Written& written) const {
    return model_.Distinct(written) * (static_cast<double>(end - begin) / kKeySpace);
  }
  // The extent of a new table, which ends at `end`. There must be a key in it.
  Extent Make(uint64_t number, std::vector<Span> spans, Key end, bool full);
  // As MakeSlice: what the extent has of [begin, end).
  Extent Slice(const Extent& extent, Key begin, Key end) const;
  // Calls visit(begin, end, written) for what the extent has of [begin, end), in order.
  template <typename Visit>
  void VisitSpans(const Extent& extent, Key begin, Key end, const Visit& visit) const {
    begin = std::max(begin, BeginOf(extent));
    end = std::min(end, EndOf(extent));
    const Table& table = tables_.at(extent.number);
    for (size_t i = 0; i < table.spans.size() && begin < end; ++i) {
      const Key next = i + 1 < table.spans.size() ? table.spans[i + 1].begin : table.end;
      if (begin < next) {
        visit(begin, std::min(end, next), table.spans[i].written);
        begin = next;
      }
    }
  }

  // To be called before and after an edit takes effect: a table is kept while an extent is part of
  // it.
  void AddedBy(const MetadataEdit& edit);
  void RemovedBy(const MetadataEdit& edit);
  // The size of the pages of all tables that are kept, dead parts of slices included.
  uint64_t disk_bytes() const { return disk_bytes_; }

  Status OpenHead(const Extent& extent, TableHeadRef* head) override;
  Status FindKey(const Extent& extent, const BlockHandle& handle, std::string_view from,
                 std::string* user_key) override;

 private:
  static constexpr uint64_t kMostBlocks = 4;  // of a table, as plans see it

  struct Table {
    std::vector<Span> spans;
    Key end = 0;
    uint32_t bytes = 0;
    uint32_t extents = 0;  // of the metadata
    uint64_t records = 0;
  };
  // Where block `i` of so many begins.
  static Key BlockBegin(const Table& table, uint64_t i, uint64_t blocks);
  uint64_t BlocksOf(const Table& table) const;

  const KeyModel& model_;
  const TableShape& shape_;
  std::unique_ptr<ExtentSpace> space_;          // of which places need one; there are no files
  std::unordered_map<uint64_t, Table> tables_;  // by the extents' number
  uint64_t disk_bytes_ = 0;
  std::array<std::pair<uint64_t, TableHeadRef>, 1024> heads_;  // a cache, by number
};

}  // namespace sluice::simulate
