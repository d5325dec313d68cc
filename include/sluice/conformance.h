/// @file
/// Proofs that an implementation of one of Sluice's interfaces keeps its contract: for authors of
/// an Env or an Executor, to be called from a test of theirs. In the library sluice_conformance.
///
///     sluice::Status status = sluice::CheckEnv(&my_env, "/scratch/dir");
///     if (!status.ok()) std::cerr << status.ToString() << "\n";   // the first rule that is broken
///
/// Both run on the calling thread and threads of their own, which end before they return.

#pragma once

#include <cstdint>
#include <string>

#include "sluice/env.h"
#include "sluice/executor.h"
#include "sluice/export.h"
#include "sluice/status.h"

namespace sluice {

/// Takes each operation of `env` through what sluice/env.h promises: contents, names, errors,
/// locks, several threads at once. `dir` is made, must be empty if it is there, and is empty
/// afterwards unless a rule is broken. Takes a few MiB of space and a second. What a loss of power
/// leaves, it cannot see. The error names the first rule that `env` breaks and what was found.
SLUICE_EXPORT Status CheckEnv(Env* env, const std::string& dir);

/// How CheckExecutor tries an executor.
struct ExecutorCheck {
  uint64_t seed = 1;        ///< of the tasks; an error names the seed of the one that failed
  uint64_t tasks = 300;     ///< random ones; most take a millisecond on a CPU
  bool thread_safe = true;  ///< several threads call Run at once, too
};

/// Gives `executor` random tasks of every kind within its limits and holds the answers against a
/// plain implementation of the rules in sluice/executor.h: tables byte for byte, statistics,
/// damaged input, a sink that fails, tasks that are none, several threads. Tasks that it refuses
/// with NotSupported do not count, but it must do a quarter of them. The error says what differed.
SLUICE_EXPORT Status CheckExecutor(Executor* executor, const ExecutorCheck& check = {});

}  // namespace sluice
