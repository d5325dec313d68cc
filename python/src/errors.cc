#include "errors.h"

#include <array>
#include <string>

namespace sluice::python {

namespace nb = nanobind;

namespace {

constexpr std::array kNames = {
    "Error",
    "NotFoundError",
    "CorruptionError",
    "NotSupportedError",
    "InvalidArgumentError",
    "BusyError",
    "IoError",
    "NoSpaceError",
    "DeadlockError",
    "ConflictError",
    "TimedOutError",
    "TooLargeError",
    "CancelledError",
    "ClosedError",
};
constexpr size_t kClosed = kNames.size() - 1;
static_assert(static_cast<size_t>(Status::Code::kNoSpace) == 7 &&
              static_cast<size_t>(Status::Code::kCancelled) + 1 == kClosed);

std::array<PyObject*, kNames.size()> classes{};  // never released: used until the process ends

[[noreturn]] void Throw(size_t index, const std::string& message) {
  const nb::str text = nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  PyErr_SetObject(classes[index], text.ptr());
  throw nb::python_error();
}

}  // namespace

void ImportErrors() {
  const nb::module_ module = nb::module_::import_("sluice.errors");
  for (size_t i = 0; i < kNames.size(); ++i) {
    classes[i] = nb::object(module.attr(kNames[i])).release().ptr();
  }
}

nb::object MakeError(const Status& status) {
  const std::string& message = status.message();
  const nb::str text = nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  return nb::borrow(classes[static_cast<size_t>(status.code())])(text);
}

void ThrowIfError(const Status& status) {
  if (!status.ok()) [[unlikely]] {
    Throw(static_cast<size_t>(status.code()), status.message());
  }
}

void ThrowClosed(const char* message) { Throw(kClosed, message); }

void ThrowInvalidArgument(const std::string& message) {
  Throw(static_cast<size_t>(Status::Code::kInvalidArgument), message);
}

}  // namespace sluice::python
