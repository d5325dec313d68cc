// What the parts of the C interface share.

#pragma once

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "sluice/c.h"
#include "sluice/options.h"
#include "sluice/status.h"

struct sluice_options_t {
  sluice::Options rep;
};
struct sluice_subtable_options_t {
  sluice::SubtableOptions rep;
};

namespace sluice {

// To be freed by sluice_free. A zero follows, for those who print.
inline char* Copy(std::string_view bytes) {
  auto* const copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

inline void Tell(const Status& status, char** error) {
  if (!status.ok() && *error == nullptr) {
    *error = Copy(status.ToString());
  }
}

}  // namespace sluice
