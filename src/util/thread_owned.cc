#include "util/thread_owned.h"

#include <cxxabi.h>

// Stands for this library, which must not be unloaded before. Every C++ program has it, no header.
extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;  // NOLINT

namespace sluice {

void AtThreadEnd(void (*end)(void* object), void* object) {
  abi::__cxa_thread_atexit(end, object, static_cast<void*>(&__dso_handle));
}

}  // namespace sluice
