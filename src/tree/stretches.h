// The stretches of keys that the last level consists of, between the first keys of two leaves of its
// index: some hundred MiB each. What the levels above have is counted by them (space_use.h,
// compaction/key_windows.h), and this tells what an edit changes of that.
//
// Only stretches that an edit's extents overlap change. Where it changes at which keys stretches
// begin, that goes for each extent, too, that lies above one of these borders.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tree/metadata_edit.h"
#include "tree/run_index.h"

namespace sluice {

// A sub-table's runs (Metadata::Subtable::runs).
using Runs = std::map<RunId, RunIndex>;

// Keeps the extents of the last call alive. Thread-compatible.
class Stretches {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;

    // An extent of any level has come, or is gone.
    virtual void Changed(const RunId& /*run*/, const Extent& /*extent*/, bool /*came*/) {}
    // An extent above the last level overlaps stretches [first, end) from now on, or no longer.
    virtual void Overlaps(const RunId& run, const Extent& extent, size_t first, size_t end,
                          bool does) = 0;
    // These stretches, from `first` on, have other extents; they overlap what they did.
    virtual void Rewritten(size_t first, const std::vector<RunIndex::Summary>& now) = 0;
    // Stretches [first, end) are replaced by others, which nothing overlaps as yet, nor did it
    // overlap these any longer.
    virtual void Replaced(size_t first, size_t end, const std::vector<RunIndex::Summary>& now) = 0;
  };

  // Tells the observers how to get from what the last call was told to `runs`. Costs O(extents that
  // came and went, with the stretches that they overlap) and, if stretches begin elsewhere, moving
  // some bytes for each that there is.
  void Update(const Runs& runs, const std::vector<Observer*>& observers);

  const Runs& runs() const { return runs_; }
  size_t size() const { return begins_.size(); }
  // User keys at which they begin, ascending; the first one has no meaning.
  const std::vector<std::string>& begins() const { return begins_; }
  // Whether no two begin at the same key, of which both have versions.
  bool distinct() const { return repeated_ == 0; }
  // The last stretch that begins at or before the user key. The search begins at `hint`.
  size_t Of(std::string_view user_key, size_t hint) const;

 private:
  void UpdateRun(const RunId& id, const RunIndex& before, const RunIndex& after,
                 const std::vector<Observer*>& observers);
  void UpdateLast(const RunIndex& before, const RunIndex& after, const Runs& runs,
                  const std::vector<Observer*>& observers);
  void Replace(size_t first, size_t end, std::vector<std::string> begins,
               const std::vector<RunIndex::Summary>& now, const Runs& runs,
               const std::vector<Observer*>& observers);
  // How many of these begin where the one before does.
  size_t Repeated(size_t first, size_t end) const;
  void TellOverlap(const RunId& id, const Extent& extent, bool does,
                   const std::vector<Observer*>& observers);

  Runs runs_;
  std::vector<std::string> begins_;
  size_t repeated_ = 0;
  size_t hint_ = 0;  // where the last extent above began
};

}  // namespace sluice
