// What a host sees of an F2 card: two ranges of its own addresses. BAR0 holds the card's registers,
// BAR4 its memory. Thread-safe.

#pragma once

#include <cstdint>
#include <string_view>

#include "device/card_unit.h"

namespace sluice {

class F2Bars : public CardRegisters {
 public:
  // Of memory that BAR4 leads to.
  virtual uint64_t memory_bytes() const = 0;

  // A write is on its way when the call returns. It may arrive after accesses that are made later,
  // but for writes to memory: those arrive in their order.
  virtual void WriteMemory(uint64_t address, std::string_view bytes) = 0;
  virtual void ReadMemory(uint64_t address, uint64_t bytes, char* out) = 0;
};

}  // namespace sluice
