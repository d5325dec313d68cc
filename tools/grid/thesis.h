// The inputs of the LSM-Compactron3000 thesis, section 3.5.1, and its results, Table 4.1.

#pragma once

#include "merge/task_generator.h"

namespace sluice::grid {

// Two runs of 50 and 30 records in one table each, similarity 0.6: 18 keys of the second are keys
// of the first, newer. Keys are letters, of a length drawn from `key_bytes`.
GeneratedTask ThesisTask(const LengthRange& key_bytes, const LengthRange& value_bytes);

// Table 4.1: compaction of such an input by the thesis's unit, in cycles of the ARM core at 650 MHz
// that waits for it (section 4.2). Its unit runs at 100 MHz.
struct ThesisResult {
  LengthRange key_bytes;
  uint32_t value_bytes;
  uint32_t cpu_cycles;
};
inline constexpr ThesisResult kThesisResults[] = {
    {{3, 10}, 10, 15752},  {{3, 10}, 50, 20076},  {{3, 10}, 100, 25408},
    {{10, 20}, 10, 16858}, {{10, 20}, 50, 21380}, {{10, 20}, 100, 26692},
    {{20, 32}, 10, 18724}, {{20, 32}, 50, 23538}, {{20, 32}, 100, 28986},
};
inline constexpr double kThesisUnitPerCpuCycle = 100.0 / 650.0;

}  // namespace sluice::grid
