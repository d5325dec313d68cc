// Statuses as Python exceptions: the classes of sluice/errors.py.

#pragma once

#include <nanobind/nanobind.h>

#include "sluice/status.h"

namespace sluice::python {

// Imports the classes. Must be called before the others.
void ImportErrors();

// The exception that stands for `status`, which is not ok. REQUIRES the GIL, as all of these do.
nanobind::object MakeError(const Status& status);
void ThrowIfError(const Status& status);
// For calls on something that was closed, or that has ended.
[[noreturn]] void ThrowClosed(const char* message);
[[noreturn]] void ThrowInvalidArgument(const std::string& message);

}  // namespace sluice::python
