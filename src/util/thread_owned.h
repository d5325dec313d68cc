// Objects that each thread has of its own, and can have whenever it runs.
//
//   thread_local ThreadOwned<std::string> kept;
//   KeptBuffer buffer(&*kept);
//
// A thread_local object with a destructor is gone when that has run, but destructors of a thread's
// other thread_local objects run later, and so do those of static objects, in the thread that ends
// the process. They may use a database: what they need is made once more, and destroyed after them;
// of the thread that ends the process it is left to the system.

#pragma once

#include <memory>
#include <utility>

namespace sluice {

// Has `end(object)` called when this thread ends: before what asked for that earlier, and after the
// caller if this thread is ending already. Not in the thread that ends the process if that is past
// its thread_local objects.
void AtThreadEnd(void (*end)(void* object), void* object);

// A thread_local variable, which is trivial to destroy: see the top of the file.
template <typename T>
class ThreadOwned {
 public:
  constexpr ThreadOwned() = default;
  ThreadOwned(const ThreadOwned&) = delete;
  ThreadOwned& operator=(const ThreadOwned&) = delete;

  // Makes it if it is not there.
  T& operator*() {
    if (object_ == nullptr) [[unlikely]] {
      Make();
    }
    return *object_;
  }

 private:
  void Make() {
    auto made = std::make_unique<T>();
    AtThreadEnd(
        [](void* self) { delete std::exchange(static_cast<ThreadOwned*>(self)->object_, nullptr); },
        this);
    object_ = made.release();
  }

  T* object_ = nullptr;
};

}  // namespace sluice
