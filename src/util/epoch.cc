// How it works:
//
//   1. Retired objects gather in their thread's list. A full batch of them is sealed with the
//      number e of the current epoch, and the epoch advances to e + 1: a guard that enters in e + 1 or
//      later has seen that the objects are unlinked.
//   2. So a batch may go once every guard held entered after e. To ask, a reclaimer first has the
//      kernel run a memory barrier in every thread of the process: a guard whose store of `entered`
//      it then does not see makes its loads after the barrier, and finds the objects unlinked too.
//      That leaves guards without a fence of their own, which costs more than all the rest of them.

#include "util/epoch.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "util/fork_mark.h"
#include "util/mutex.h"
#include "util/thread_owned.h"

namespace sluice {

namespace epoch_internal {

constinit Domain domain;
constinit thread_local ThreadSlot* thread_slot = nullptr;

}  // namespace epoch_internal

namespace {

using epoch_internal::domain;
using epoch_internal::thread_slot;
using epoch_internal::ThreadSlot;

struct Retired {
  void* object;
  void (*deleter)(void*);
};

struct Batch {
  uint64_t epoch;
  std::vector<Retired> objects;
};

// What waits for its deletion.
struct Waiting {
  Mutex mutex;
  std::vector<Retired> open SLUICE_GUARDED_BY(mutex);
  size_t open_bytes SLUICE_GUARDED_BY(mutex) = 0;     // of those that said so
  std::deque<Batch> sealed SLUICE_GUARDED_BY(mutex);  // by epoch
  // A thread runs deleters of what it took out of here, and is to look once more when it has.
  bool deleting SLUICE_GUARDED_BY(mutex) = false;
  bool again SLUICE_GUARDED_BY(mutex) = false;
};

struct Slot : ThreadSlot {
  const ForkMark made;
  Slot* next = nullptr;  // in the list of all slots; set once
  std::atomic<bool> taken{true};
  Waiting waiting;
};

int Membarrier(int command) { return static_cast<int>(::syscall(__NR_membarrier, command, 0, 0)); }

// Of the process, as in the copy of a fork's child guards and mutexes may be held for ever by
// threads that the child does not have; what was retired there stays as it is.
struct Registry {
  Registry() {
    thread_slot = nullptr;
    domain.guards_fence.store(Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0);
  }

  std::atomic<Slot*> slots{nullptr};  // of all threads there ever were at once; none is removed
  std::atomic<unsigned> slots_made{0};
  Waiting orphans;  // of threads that exited, and what a drain gathers
  std::atomic<bool> any_orphans{false};
};

Registry& TheRegistry() { return PerProcess<Registry>::Get(); }

void Seal(Waiting& waiting, std::vector<Retired> objects) SLUICE_REQUIRES(waiting.mutex) {
  waiting.sealed.push_back(
      {domain.epoch.fetch_add(1, std::memory_order_acq_rel), std::move(objects)});
}

// Whatever was sealed with an epoch less than this can be deleted.
uint64_t OldestGuard() {
  // What is sealed from now on is none of it: guards that begin meanwhile are not seen.
  uint64_t oldest = domain.epoch.load(std::memory_order_acquire);
  if (domain.guards_fence.load(std::memory_order_relaxed)) {
    epoch_internal::Fence();  // the counterpart of the guards'
  } else if (Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    return 0;
  }
  for (const Slot* slot = TheRegistry().slots.load(std::memory_order_acquire); slot != nullptr;
       slot = slot->next) {
    if (const uint64_t entered = slot->entered.load(std::memory_order_acquire); entered != 0) {
      oldest = std::min(oldest, entered);
    }
  }
  return oldest;
}

// Deletes what can be; leaves alone an open batch that is not full. `oldest`: as OldestGuard says, if
// it was asked already.
void Reclaim(Waiting& waiting, std::optional<uint64_t> oldest = {}) {
  MutexLock lock(waiting.mutex);
  if (waiting.deleting) {  // called by a deleter, or another thread is at it
    waiting.again = true;
    return;
  }
  do {
    waiting.again = false;
    if (waiting.open.size() >= kRetireBatch || waiting.open_bytes >= kRetireBytes) {
      waiting.open_bytes = 0;
      Seal(waiting, std::exchange(waiting.open, {}));
      waiting.open.reserve(kRetireBatch);
    }
    std::vector<Batch> free;
    if (!waiting.sealed.empty()) {
      for (const uint64_t before = oldest ? *oldest : OldestGuard();
           !waiting.sealed.empty() && waiting.sealed.front().epoch < before;) {
        free.push_back(std::move(waiting.sealed.front()));
        waiting.sealed.pop_front();
      }
    }
    oldest.reset();  // another time it is another one
    waiting.deleting = true;
    lock.unlock();
    for (const Batch& batch : free) {
      for (const Retired& retired : batch.objects) {
        retired.deleter(retired.object);
      }
    }
    lock.lock();
    waiting.deleting = false;
    // The deleters may have retired as much, and a guard may have ended.
  } while (waiting.again || waiting.open.size() >= kRetireBatch ||
           waiting.open_bytes >= kRetireBytes);
}

std::vector<Retired> TakeAll(Waiting& waiting) SLUICE_REQUIRES(waiting.mutex) {
  std::vector<Retired> all = std::exchange(waiting.open, {});
  waiting.open_bytes = 0;
  for (const Batch& batch : std::exchange(waiting.sealed, {})) {
    all.insert(all.end(), batch.objects.begin(), batch.objects.end());
  }
  return all;
}

void Orphan(std::vector<Retired> objects) {
  if (!objects.empty()) {
    Waiting& orphans = TheRegistry().orphans;
    const MutexLock lock(orphans.mutex);
    Seal(orphans, std::move(objects));
    TheRegistry().any_orphans.store(true, std::memory_order_relaxed);
  }
}

void ReclaimOrphans() {
  Registry& registry = TheRegistry();
  if (registry.any_orphans.load(std::memory_order_relaxed)) {
    Reclaim(registry.orphans);
    const MutexLock lock(registry.orphans.mutex);
    registry.any_orphans.store(!registry.orphans.sealed.empty(), std::memory_order_relaxed);
  }
}

Slot* NewSlot() {
  std::atomic<Slot*>& slots = TheRegistry().slots;
  for (Slot* slot = slots.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    if (!slot->taken.load(std::memory_order_relaxed) &&
        !slot->taken.exchange(true, std::memory_order_acquire)) {
      return slot;
    }
  }
  auto* const slot = new Slot;
  slot->number = TheRegistry().slots_made.fetch_add(1, std::memory_order_relaxed);
  slot->next = slots.load(std::memory_order_relaxed);
  while (!slots.compare_exchange_weak(slot->next, slot, std::memory_order_acq_rel)) {
  }
  return slot;
}

// Of a thread that exits.
void GiveSlotBack(void* object) {
  auto* const slot = static_cast<Slot*>(object);
  if (slot->made.IsCopy()) {
    return;
  }
  thread_slot = nullptr;
  std::vector<Retired> left;
  {
    const MutexLock lock(slot->waiting.mutex);
    left = TakeAll(slot->waiting);
  }
  Orphan(std::move(left));
  slot->taken.store(false, std::memory_order_release);
}

}  // namespace

namespace epoch_internal {

ThreadSlot* TakeThreadSlot() {
  Slot* const slot = NewSlot();
  AtThreadEnd(GiveSlotBack, slot);
  return thread_slot = slot;
}

// Not in line: ThreadSanitizer knows no fences, and GCC warns of that wherever it sees one. It needs
// none here, because the pointers that guards follow carry their own order.
void Fence() {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

// What other guards still keep is left to their threads: this one may do nothing more for long.
void ReclaimOfThread() {
  thread_slot->reclaim.exchange(false, std::memory_order_acquire);
  Waiting& waiting = static_cast<Slot*>(thread_slot)->waiting;
  Reclaim(waiting);
  std::vector<Retired> left;
  {
    const MutexLock lock(waiting.mutex);
    if (!waiting.sealed.empty() && !waiting.deleting) {
      left = TakeAll(waiting);
    }
  }
  if (!left.empty()) {
    Orphan(std::move(left));
    for (Slot* slot = TheRegistry().slots.load(std::memory_order_acquire); slot != nullptr;
         slot = slot->next) {
      if (slot->entered.load(std::memory_order_relaxed) != 0) {
        slot->reclaim.store(true, std::memory_order_release);
      }
    }
  }
  ReclaimOrphans();  // those guards, too, that have ended meanwhile may have kept it
}

}  // namespace epoch_internal

void EpochRetire(void* object, void (*deleter)(void*), size_t bytes) {
  if (thread_slot == nullptr) {
    epoch_internal::TakeThreadSlot();
  }
  Waiting& waiting = static_cast<Slot*>(thread_slot)->waiting;
  bool much;
  {
    const MutexLock lock(waiting.mutex);
    waiting.open.push_back({object, deleter});
    waiting.open_bytes += bytes;
    much = waiting.open_bytes >= kRetireBytes;
    if (much && thread_slot->guards > 0) {  // which keeps it
      thread_slot->reclaim.store(true, std::memory_order_relaxed);
      much = false;
    }
    if (!much && waiting.open.size() % kRetireBatch != 0) {
      return;
    }
  }
  if (much) {
    return epoch_internal::ReclaimOfThread();
  }
  Reclaim(waiting);
  ReclaimOrphans();
}

void EpochReclaim() {
  Slot* const slots = TheRegistry().slots.load(std::memory_order_acquire);
  bool any = false;
  for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
    Waiting& waiting = slot->waiting;
    const MutexLock lock(waiting.mutex);
    if (!waiting.open.empty()) {
      waiting.open_bytes = 0;
      Seal(waiting, std::exchange(waiting.open, {}));
    }
    any = any || !waiting.sealed.empty();
  }
  if (any) {
    // Asked for all slots at once: it looks at each of them.
    const uint64_t oldest = OldestGuard();
    for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
      Reclaim(slot->waiting, oldest);
    }
  }
  ReclaimOrphans();
}

void EpochWait() {
  constexpr std::chrono::microseconds kPoll{100};
  // Batches of a thread are deleted in order, so this is the last to go.
  std::atomic<bool> last{false};
  EpochRetire(&last, [](void* flag) {
    static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_release);
  });
  EpochReclaim();
  while (!last.load(std::memory_order_acquire)) {
    std::this_thread::sleep_for(kPoll);
    Reclaim(static_cast<Slot*>(thread_slot)->waiting);
    ReclaimOrphans();  // where a drain of another thread has put it
  }
}

void EpochDrain() {
  Registry& registry = TheRegistry();
  bool more = true;
  while (more) {
    for (Slot* slot = registry.slots.load(std::memory_order_acquire); slot != nullptr;
         slot = slot->next) {
      Waiting& waiting = slot->waiting;
      MutexLock lock(waiting.mutex);
      while (waiting.deleting) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
      }
      Orphan(TakeAll(waiting));
    }
    for (bool left = true; left;) {
      ReclaimOrphans();
      std::this_thread::yield();
      const MutexLock lock(registry.orphans.mutex);
      left = !registry.orphans.sealed.empty() || registry.orphans.deleting;
    }
    more = false;  // unless deleters, which ran here, retired more
    if (thread_slot != nullptr) {
      Waiting& own = static_cast<Slot*>(thread_slot)->waiting;
      const MutexLock lock(own.mutex);
      more = !own.open.empty() || !own.sealed.empty();
    }
  }
}

}  // namespace sluice
