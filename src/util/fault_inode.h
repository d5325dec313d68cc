// A file of FaultEnv (fault_env.h): its bytes, and what of them a crash leaves. Not thread-safe.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "util/testing.h"

namespace sluice {

// A length in [low, high], the ends as likely as all between.
size_t TornLength(TestRandom* random, size_t low, size_t high);

struct FaultInode {
  std::string data;
  size_t flushed = 0;  // bytes of data that a kill of the process leaves
  size_t synced = 0;   // and that a loss of power leaves
  // What the file held at its last sync, if it was truncated since.
  std::optional<std::string> before_truncation;
  // If the file is written in place: what the sectors written since the last sync held, by offset.
  std::map<size_t, std::string> sectors_before;
  // What the disk has of the sectors that a failed sync dropped, by offset.
  std::map<size_t, std::string> dropped;

  std::string AfterKill(TestRandom* random) const;
  std::string AfterPowerLoss(TestRandom* random) const;
  void Append(std::string_view bytes);
  // Beyond the end too.
  void Overwrite(size_t offset, std::string_view bytes);
  void Resize(size_t bytes);
  void Truncate();
  void MarkSynced();
  // Marks all as clean, and lets some of it be lost.
  void FailSync(TestRandom* random);

 private:
  // A page that is written to is written back whole, with what was dropped of it.
  void MakeDirty(size_t begin, size_t end);
};

}  // namespace sluice
