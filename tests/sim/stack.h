// Where a thread is, for people.

#pragma once

namespace sluice::sim {

// Loads what PrintStack needs; once, before anything goes wrong.
void PrepareStacks();
// The calling thread's functions, files and lines, to stderr.
void PrintStack();

}  // namespace sluice::sim
