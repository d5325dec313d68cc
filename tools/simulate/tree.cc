#include "simulate/tree.h"

#include <algorithm>

namespace sluice::simulate {

Status Tree::Flush(Key begin, Key end, const Written& written) {
  Output output = NewOutput(shape_);
  output.Add(begin, end, model_.Simplified(written));
  output.EndExtent();
  ++counters_.flushes;
  counters_.flush_bytes += output.bytes();
  return AddFlushed(output.extents());
}

void Tree::Merge(const std::vector<const Extent*>& extents, Key begin, Key end,
                 const std::function<void(Key, Key, const Written&)>& visit) const {
  // Where what the extents have changes, and by how much, modulo 2^64.
  struct Change {
    Key at;
    int parts;
    Written written;
  };
  std::vector<Change> changes;
  for (const Extent* const extent : extents) {
    tables_.VisitSpans(*extent, begin, end, [&](Key from, Key to, const Written& written) {
      changes.push_back({from, 1, written});
      changes.push_back({to, -1, {-written.once, -written.draws}});
    });
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  Change now{};
  for (const Change& change : changes) {
    if (change.at > now.at && now.parts > 0) {
      visit(now.at, change.at, model_.Simplified(now.written));
    }
    now.at = change.at;
    now.parts += change.parts;
    now.written.once += change.written.once;
    now.written.draws += change.written.draws;
  }
}

}  // namespace sluice::simulate
