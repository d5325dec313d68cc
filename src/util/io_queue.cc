#include "util/io_queue.h"

#include <liburing.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "util/no_throw.h"

namespace sluice {

namespace {

Status Outcome(const IoRequest& request) {
  return NoThrow([&request] {
    return request.kind == IoRequest::Kind::kRead
               ? request.file->Read(request.offset, request.bytes, request.data)
               : request.file->Write(request.offset, {request.data, request.bytes});
  });
}

void DoNow(IoRequest* request) { request->status = Outcome(*request); }

// In the order in which they came.
class Requests {
 public:
  bool empty() const { return first_ == nullptr; }
  void Add(IoRequest* request) {
    request->next = nullptr;
    *(empty() ? &first_ : &last_->next) = request;
    last_ = request;
  }
  // Null if there is none.
  IoRequest* Take() {
    IoRequest* const request = first_;
    if (request != nullptr) {
      first_ = request->next;
    }
    return request;
  }

 private:
  IoRequest* first_ = nullptr;
  IoRequest* last_ = nullptr;  // if there is a first one
};

// The descriptor that the request is for; -1: there is none.
int DescriptorOf(const IoRequest& request) {
  return request.kind == IoRequest::Kind::kRead ? request.file->read_descriptor().fd
                                                : request.file->write_descriptor().fd;
}

class PlainQueue final : public IoQueue {
 public:
  void Submit(IoRequest* request) override {
    DoNow(request);
    done_.Add(request);
  }
  IoRequest* Wait() override { return done_.Take(); }
  IoRequest* Poll() override { return Wait(); }
  void Do(std::span<IoRequest> requests) override {
    for (IoRequest& request : requests) {
      DoNow(&request);
    }
  }
  bool asynchronous() override { return false; }

 private:
  Requests done_;
};

class UringQueue final : public IoQueue {
 public:
  UringQueue(unsigned depth, std::chrono::milliseconds patience)
      : depth_(depth), patience_(patience) {}
  ~UringQueue() override {
    if (open_) {
      while (Wait() != nullptr) {
      }
      ::io_uring_queue_exit(&ring_);
    }
  }

  void Submit(IoRequest* request) override {
    const int fd = DescriptorFor(*request);
    if (fd < 0) {
      DoNow(request);
      done_.Add(request);
      return;
    }
    while (under_way_ == depth_) {
      Await(1);
    }
    Push(request, fd);
    Enter();
  }

  void Do(std::span<IoRequest> requests) override {
    if (requests.size() == 1) {
      DoNow(requests.data());  // there is nothing to wait for together
      return;
    }
    while (!requests.empty()) {
      for (; !requests.empty() && under_way_ < depth_; requests = requests.subspan(1)) {
        if (const int fd = DescriptorFor(requests[0]); fd >= 0) {
          Push(&requests[0], fd);
        } else {
          DoNow(&requests[0]);
        }
      }
      if (under_way_ > 0) {
        Enter();
      }
      while (under_way_ > 0) {
        Await(under_way_);
      }
      done_ = {};
    }
  }

  IoRequest* Wait() override {
    while (done_.empty() && under_way_ > 0) {
      Await(1);
    }
    return done_.Take();
  }

  IoRequest* Poll() override {
    Reap();
    return done_.Take();
  }

  bool asynchronous() override { return !broken_ && Open(); }

 private:
  // The ring is made for the first request that it can take, because that costs several system
  // calls, and files of other Envs have no use for it. False if the kernel has none for us.
  bool Open() {
    if (!open_) {
      open_ = ::io_uring_queue_init(depth_, &ring_, 0) == 0;
      broken_ = !open_;
    }
    return open_;
  }

  // -1 if the request is to be done without the ring.
  int DescriptorFor(const IoRequest& request) {
    const int fd = broken_ ? -1 : DescriptorOf(request);
    return fd >= 0 && Open() ? fd : -1;
  }

  void Push(IoRequest* request, int fd) {
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);  // there is one: under_way_ < depth_
    const auto bytes = static_cast<unsigned>(request->bytes);
    if (request->kind == IoRequest::Kind::kRead) {
      ::io_uring_prep_read(entry, fd, request->data, bytes, request->offset);
    } else {
      ::io_uring_prep_write(entry, fd, request->data, bytes, request->offset);
    }
    ::io_uring_sqe_set_data(entry, request);
    pushed_.Add(request);
    ++under_way_;
  }

  // Hands what was pushed to the kernel. If that takes nothing any more (somebody closed all
  // descriptors, or forbade the call), it is done here.
  void Enter() {
    do {
      int submitted = ::io_uring_submit(&ring_);
      if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
        DoPushed();
        return;
      }
      for (; submitted > 0; --submitted) {
        (void)pushed_.Take();
      }
    } while (!pushed_.empty());  // for want of memory it takes only some
  }

  void DoPushed() {
    broken_ = true;
    while (IoRequest* const request = pushed_.Take()) {
      DoNow(request);
      done_.Add(request);
      --under_way_;
    }
  }

  // Takes what is done. If that is nothing, waits for `count` requests first, or for a while: a
  // kernel (6.18) was seen to keep requests for ever without a thread that does them. What none has
  // begun to do comes back then, and is done by a plain call.
  void Await(unsigned count) {
    if (Reap()) {
      return;
    }
    io_uring_cqe* first = nullptr;
    __kernel_timespec patience{.tv_sec = patience_.count() / 1000,
                               .tv_nsec = patience_.count() % 1000 * 1'000'000};
    const int outcome = ::io_uring_wait_cqes(&ring_, &first, count, &patience, nullptr);
    if (outcome == -ETIME) {
      io_uring_sync_cancel_reg all{};
      all.flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY;
      (void)::io_uring_register_sync_cancel(&ring_, &all);  // since Linux 6.0
    } else if (outcome != 0 && outcome != -EINTR) {
      ::sched_yield();  // what the kernel has taken is done nevertheless
    }
    Reap();
  }

  // Takes what is done; false: nothing.
  bool Reap() {
    bool any = false;
    io_uring_cqe* completion = nullptr;
    while (under_way_ > 0 && ::io_uring_peek_cqe(&ring_, &completion) == 0) {
      Take(completion);
      any = true;
    }
    return any;
  }

  void Take(io_uring_cqe* completion) {
    auto* const request = static_cast<IoRequest*>(::io_uring_cqe_get_data(completion));
    const int result = completion->res;
    ::io_uring_cqe_seen(&ring_, completion);
    --under_way_;
    if (result < 0 || static_cast<size_t>(result) < request->bytes) {
      // The kernel may do a part, be interrupted, or have given the request back: the plain call goes
      // on from there, and finds the words for what is wrong.
      const size_t part = std::max(result, 0);
      request->status = Outcome({.kind = request->kind,
                                 .file = request->file,
                                 .offset = request->offset + part,
                                 .data = request->data + part,
                                 .bytes = request->bytes - part,
                                 .status = {}});
    } else {
      request->status = {};
    }
    done_.Add(request);
  }

  const unsigned depth_;
  const std::chrono::milliseconds patience_;
  io_uring ring_{};
  bool open_ = false;
  unsigned under_way_ = 0;
  Requests pushed_;      // of these, what the kernel has not taken yet
  bool broken_ = false;  // it takes nothing any more
  Requests done_;
};

}  // namespace

std::unique_ptr<IoQueue> IoQueue::New(unsigned depth, Use use, std::chrono::milliseconds patience) {
#ifdef __SANITIZE_THREAD__
  // It sees neither what the kernel does to a request's bytes nor where the kernel maps a ring.
  use = Use::kNoKernel;
#endif
  if (use == Use::kKernelIfPossible) {
    return std::make_unique<UringQueue>(depth, patience);
  }
  return std::make_unique<PlainQueue>();
}

}  // namespace sluice
