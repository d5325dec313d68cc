// Arguments that are bytes, or anything else whose contents are contiguous bytes: bytearray,
// memoryview, mmap, array. They are read where they are. While a call lives, its buffers are
// exported, so nobody can shrink or free them, even when the call has released the GIL.

#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace sluice::python {

struct BytesLike {
  std::string_view view;

  operator std::string_view() const { return view; }
};

// Bytes, or None.
struct OptionalBytes {
  std::string_view view;
  bool given = false;
};

// Throws what Python has for a failed allocation.
inline nanobind::object ToBytes(std::string_view bytes) {
  PyObject* const object =
      PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  if (object == nullptr) {
    throw nanobind::python_error();
  }
  return nanobind::steal(object);
}

// Names are text for Python, but any bytes for the engine.
inline nanobind::object ToText(std::string_view bytes) {
  PyObject* const object =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (object == nullptr) {
    throw nanobind::python_error();
  }
  return nanobind::steal(object);
}

inline std::string FromText(nanobind::str text) {
  PyObject* const bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
  if (bytes == nullptr) {
    throw nanobind::python_error();
  }
  const nanobind::object owned = nanobind::steal(bytes);
  return {PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes))};
}

}  // namespace sluice::python

namespace nanobind::detail {

// Not the usual macro, because the buffer is exported until the caster goes, when the call returns.
template <>
struct type_caster<sluice::python::BytesLike> {
  using Value = sluice::python::BytesLike;
  static constexpr auto Name = const_name("typing_extensions.Buffer");
  template <typename T>
  using Cast = Value;

  type_caster() = default;
  type_caster(const type_caster&) = delete;
  type_caster& operator=(const type_caster&) = delete;
  ~type_caster() {
    if (exported_.obj != nullptr) {
      PyBuffer_Release(&exported_);
    }
  }

  bool from_python(handle source, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    if (PyBytes_CheckExact(source.ptr())) {
      value_.view = {PyBytes_AsString(source.ptr()),
                     static_cast<size_t>(PyBytes_Size(source.ptr()))};
      return true;
    }
    if (PyObject_GetBuffer(source.ptr(), &exported_, PyBUF_SIMPLE) != 0) {
      PyErr_Clear();  // nanobind's TypeError says what is expected
      return false;
    }
    value_.view = {static_cast<const char*>(exported_.buf), static_cast<size_t>(exported_.len)};
    return true;
  }

  explicit operator Value() { return value_; }

 private:
  Value value_;
  Py_buffer exported_{};
};

template <>
struct type_caster<sluice::python::OptionalBytes> {
  using Value = sluice::python::OptionalBytes;
  static constexpr auto Name = const_name("typing_extensions.Buffer | None");
  template <typename T>
  using Cast = Value;

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    given_ = !source.is_none();
    return !given_ || bytes_.from_python(source, flags, cleanup);
  }

  explicit operator Value() {
    return {static_cast<sluice::python::BytesLike>(bytes_).view, given_};
  }

 private:
  type_caster<sluice::python::BytesLike> bytes_;
  bool given_ = false;
};

}  // namespace nanobind::detail
