// What is kept of a sub-table's runs from edit to edit, so that neither an edit nor a pick has to look
// at all extents.
//
// Thread-safe.

#pragma once

#include <string>
#include <vector>

#include "compaction/key_windows.h"
#include "tree/metadata.h"
#include "tree/space_use.h"
#include "tree/stretches.h"
#include "util/mutex.h"

namespace sluice {

class RunTotals {
 public:
  // To be called for each edit. Keeps the extents alive until the next call.
  SpaceUse Update(const Metadata::Subtable& subtable) {
    const MutexLock lock(mutex_);
    stretches_.Update(subtable.runs, {&space_, &windows_});
    return space_.Use(subtable);
  }

  // Calls use(begins, windows) with the windows of the runs as of the last edit. False, if
  // MakeWindows must be asked (KeyWindows::Current).
  template <typename Use>
  bool UseWindows(const Use& use) {
    const MutexLock lock(mutex_);
    const std::vector<Window>* const windows = windows_.Current();
    if (windows != nullptr) {
      use(stretches_.begins(), *windows);
    }
    return windows != nullptr;
  }

 private:
  Mutex mutex_;
  Stretches stretches_ SLUICE_GUARDED_BY(mutex_);
  SpaceEstimate space_ SLUICE_GUARDED_BY(mutex_);
  KeyWindows windows_ SLUICE_GUARDED_BY(mutex_){&stretches_};
};

}  // namespace sluice
