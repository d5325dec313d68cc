// Logs of small segments, for tests.

#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "log/redo_log.h"

namespace sluice {

struct LogRecord {
  LogPosition end;
  std::string payload;
};

inline LogVisitor CollectInto(std::vector<LogRecord>* records) {
  return [records](LogPosition end, std::string_view payload) {
    records->push_back({end, std::string(payload)});
    return Status();
  };
}

inline constexpr RedoLogOptions kSmallLog = {.segment_bytes = 2000, .step_bytes = 600};

inline std::string RandomPayload(std::mt19937_64& rng, uint64_t id) {
  const size_t bytes = rng() % 20 == 0 ? 3000 : rng() % 300;  // 3000: more than a segment
  std::string payload = std::to_string(id) + "/";
  while (payload.size() < bytes) {
    payload.push_back(static_cast<char>(rng() % 3 == 0 ? 0 : rng()));
  }
  return payload;
}

}  // namespace sluice
