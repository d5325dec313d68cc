// Epoch-based reclamation: memory that readers may still look at is deleted once none of them does.
//
// A reader holds a guard while it follows pointers that others may unlink; the thread that unlinks
// an object retires it:
//
//   reader:  const EpochGuard guard;  use(*shared.load(std::memory_order_acquire));
//   writer:  EpochRetire(shared.exchange(replacement));
//
// An object is deleted once no guard that was held when it was retired is held any more. Guards do
// not wait and are not waited for, so a guard that is held for long prevents the deletion of
// everything that is retired in the meantime, by any thread: hold it for a lookup, not for a scan.
//
// Thread-safe; one domain for the process. A guard costs about 2 ns and shares no cache line that
// is written often; a retirement costs some 20 ns and now and then the deletions that have become
// due, which the retiring thread runs: up to kRetireBatch objects, or kRetireBytes, of each thread
// wait for that. More bytes than those are deleted when the last guard ends that may see them, by
// that guard's thread.
// What a thread has not deleted when it exits, other threads delete.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr size_t kRetireBatch = 64;
inline constexpr size_t kRetireBytes = size_t{256} << 10;

namespace epoch_internal {

// One for each live thread that ever held a guard; a later thread uses it again.
struct alignas(64) ThreadSlot {
  std::atomic<uint64_t> entered{0};  // the epoch in which its outermost guard began; 0: none held
  unsigned guards = 0;               // held, nested; only its thread uses this
  // Its thread is to reclaim when its guard ends: that guard keeps much from deletion.
  std::atomic<bool> reclaim{false};
  unsigned number = 0;
};

struct alignas(64) Domain {
  std::atomic<uint64_t> epoch{1};
  // Whether guards fence for themselves, because the kernel cannot do it for them when need be.
  std::atomic<bool> guards_fence{false};
};

extern constinit Domain domain;
extern constinit thread_local ThreadSlot* thread_slot;
ThreadSlot* TakeThreadSlot();  // sets thread_slot
void ReclaimOfThread();
void Fence();

// Between a guard's store and the loads that must not happen before it is visible. Reclaimers see
// to that with a barrier in all threads before they look at `entered`; else a guard needs a fence,
// and a read-modify-write is none: on ARM, later loads pass its store.
inline void OrderStoreBeforeLoads() {
  if (domain.guards_fence.load(std::memory_order_relaxed)) [[unlikely]] {
    Fence();
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

}  // namespace epoch_internal

// On the stack of one thread; may be nested.
class EpochGuard {
 public:
  EpochGuard() : slot_(epoch_internal::thread_slot) {
    if (slot_ == nullptr) {
      slot_ = epoch_internal::TakeThreadSlot();
    }
    if (slot_->guards++ > 0) {
      return;
    }
    slot_->entered.store(epoch_internal::domain.epoch.load(std::memory_order_acquire),
                         std::memory_order_release);
    epoch_internal::OrderStoreBeforeLoads();
  }
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;
  ~EpochGuard() {
    if (--slot_->guards == 0) {
      // The thread that sets `reclaim` looks at `entered` afterwards, after the same barrier.
      slot_->entered.store(0, std::memory_order_release);
      epoch_internal::OrderStoreBeforeLoads();
      if (slot_->reclaim.load(std::memory_order_relaxed)) [[unlikely]] {
        epoch_internal::ReclaimOfThread();
      }
    }
  }

 private:
  epoch_internal::ThreadSlot* slot_;
};

// A small number that no other thread has as long as this one lives; for counters that threads do
// not share. REQUIRES: the caller holds a guard.
inline unsigned EpochThreadNumber() { return epoch_internal::thread_slot->number; }

// REQUIRES: no thread can come to `object` any more but through a pointer that it took under a
// guard that it still holds. `deleter` runs on any thread that retires something, with whatever
// locks and guards that one holds: it must take none that a caller of EpochRetire may hold. It may
// retire. `bytes`: of memory that it gives back, where that may be much.
void EpochRetire(void* object, void (*deleter)(void*), size_t bytes = 0);

template <typename T>
void EpochRetire(T* object) {
  EpochRetire(object, [](void* retired) { delete static_cast<T*>(retired); });
}

// Deletes what can be of all that any thread retired, however little that is, and waits for no
// guard: what is still looked at stays for the next time. To be called, now and then, by who
// retires things that hold much memory or space, with no lock held that a deleter takes. Costs a
// microsecond or two, some 50 ns for each thread that there ever was at once, and the deleters' time.
void EpochReclaim();

// Returns when everything is deleted that this thread has retired: waits for guards that may see it,
// so for the time of a lookup, or until a thread with a guard has the CPU again.
// REQUIRES: the caller holds no guard and is no deleter.
void EpochWait();

// Returns when everything is deleted that was retired before the call, and, if no other thread
// retires anything meanwhile, what the deleters retired in turn. For tests and for shutting down.
// REQUIRES: the caller holds no guard and is no deleter.
void EpochDrain();

}  // namespace sluice
