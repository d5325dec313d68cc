// A point before each atomic operation. The engine's copy for the simulation is compiled as if for
// ThreadSanitizer: each of its atomic operations is a call of one of these functions, and each of
// its other accesses a call of one that does nothing. One thread runs at a time, so all are
// sequentially consistent.

#include <cstddef>
#include <cstdint>

#include "scheduler.h"

namespace sluice::sim {

namespace {

inline void Point(const volatile void* at) {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    scheduler->Point("atomic", const_cast<const void*>(at));
  }
}

}  // namespace

#define SLUICE_SIM_NAMED(type, name, arguments, symbol) \
  type name arguments __asm__(symbol);                  \
  type name arguments

#define SLUICE_SIM_FETCH(bits, name)                                          \
  SLUICE_SIM_NAMED(uint##bits##_t, Fetch_##name##bits,                        \
                   (volatile uint##bits##_t * at, uint##bits##_t value, int), \
                   "__tsan_atomic" #bits "_fetch_" #name) {                   \
    Point(at);                                                                \
    return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                \
  }

#define SLUICE_SIM_COMPARE(bits, name)                                                           \
  SLUICE_SIM_NAMED(                                                                              \
      bool, Compare_##name##bits,                                                                \
      (volatile uint##bits##_t * at, uint##bits##_t * expected, uint##bits##_t value, int, int), \
      "__tsan_atomic" #bits "_compare_exchange_" #name) {                                        \
    Point(at);                                                                                   \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,             \
                                       __ATOMIC_SEQ_CST);                                        \
  }

#define SLUICE_SIM_ATOMICS(bits)                                                                 \
  SLUICE_SIM_NAMED(uint##bits##_t, Load##bits, (const volatile uint##bits##_t* at, int),         \
                   "__tsan_atomic" #bits "_load") {                                              \
    Point(at);                                                                                   \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
  }                                                                                              \
  SLUICE_SIM_NAMED(void, Store##bits, (volatile uint##bits##_t * at, uint##bits##_t value, int), \
                   "__tsan_atomic" #bits "_store") {                                             \
    Point(at);                                                                                   \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                               \
  }                                                                                              \
  SLUICE_SIM_NAMED(uint##bits##_t, Exchange##bits,                                               \
                   (volatile uint##bits##_t * at, uint##bits##_t value, int),                    \
                   "__tsan_atomic" #bits "_exchange") {                                          \
    Point(at);                                                                                   \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                              \
  SLUICE_SIM_FETCH(bits, add)                                                                    \
  SLUICE_SIM_FETCH(bits, sub)                                                                    \
  SLUICE_SIM_FETCH(bits, and)                                                                    \
  SLUICE_SIM_FETCH(bits, or)                                                                     \
  SLUICE_SIM_FETCH(bits, xor)                                                                    \
  SLUICE_SIM_COMPARE(bits, strong)                                                               \
  SLUICE_SIM_COMPARE(bits, weak)

SLUICE_SIM_ATOMICS(8)
SLUICE_SIM_ATOMICS(16)
SLUICE_SIM_ATOMICS(32)
SLUICE_SIM_ATOMICS(64)

SLUICE_SIM_NAMED(void, ThreadFence, (int), "__tsan_atomic_thread_fence") {}
SLUICE_SIM_NAMED(void, SignalFence, (int), "__tsan_atomic_signal_fence") {}
SLUICE_SIM_NAMED(void, Init, (), "__tsan_init") {}

#define SLUICE_SIM_ACCESS(name) \
  SLUICE_SIM_NAMED(void, Access_##name, (const void*), "__tsan_" #name) {}
SLUICE_SIM_ACCESS(read1)
SLUICE_SIM_ACCESS(read2)
SLUICE_SIM_ACCESS(read4)
SLUICE_SIM_ACCESS(read8)
SLUICE_SIM_ACCESS(read16)
SLUICE_SIM_ACCESS(write1)
SLUICE_SIM_ACCESS(write2)
SLUICE_SIM_ACCESS(write4)
SLUICE_SIM_ACCESS(write8)
SLUICE_SIM_ACCESS(write16)
SLUICE_SIM_ACCESS(unaligned_read2)
SLUICE_SIM_ACCESS(unaligned_read4)
SLUICE_SIM_ACCESS(unaligned_read8)
SLUICE_SIM_ACCESS(unaligned_read16)
SLUICE_SIM_ACCESS(unaligned_write2)
SLUICE_SIM_ACCESS(unaligned_write4)
SLUICE_SIM_ACCESS(unaligned_write8)
SLUICE_SIM_ACCESS(unaligned_write16)
SLUICE_SIM_ACCESS(volatile_read1)
SLUICE_SIM_ACCESS(volatile_read4)
SLUICE_SIM_ACCESS(volatile_read8)
SLUICE_SIM_ACCESS(volatile_write1)
SLUICE_SIM_ACCESS(volatile_write4)
SLUICE_SIM_ACCESS(volatile_write8)
SLUICE_SIM_NAMED(void, ReadRange, (const void*, size_t), "__tsan_read_range") {}
SLUICE_SIM_NAMED(void, WriteRange, (const void*, size_t), "__tsan_write_range") {}
SLUICE_SIM_NAMED(void, VptrUpdate, (void**, void*), "__tsan_vptr_update") {}
SLUICE_SIM_NAMED(void, VptrRead, (void**), "__tsan_vptr_read") {}
SLUICE_SIM_NAMED(void, FuncEntry, (const void*), "__tsan_func_entry") {}
SLUICE_SIM_NAMED(void, FuncExit, (), "__tsan_func_exit") {}

}  // namespace sluice::sim
