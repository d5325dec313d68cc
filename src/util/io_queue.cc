#include "util/io_queue.h"

#include <fmt/format.h>
#include <liburing.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "util/no_throw.h"

namespace sluice {

namespace {

Status Outcome(const IoRequest& request) {
  return NoThrow([&request] {
    switch (request.kind) {
      case IoRequest::Kind::kRead:
        return request.file->Read(request.offset, request.bytes, request.data);
      case IoRequest::Kind::kWrite:
        return request.file->Write(request.offset, {request.data, request.bytes});
      case IoRequest::Kind::kSync:
        break;
    }
    return request.file->Sync();
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
  switch (request.kind) {
    case IoRequest::Kind::kRead:
      return request.file->read_descriptor().fd;
    case IoRequest::Kind::kWrite:
      return request.file->write_descriptor().fd;
    case IoRequest::Kind::kSync:
      break;
  }
  return request.file->descriptor();
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
  explicit UringQueue(unsigned depth) : depth_(depth) {}
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
      Reap(true);
    }
    Push(request, fd);
    Enter(0);
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
        Enter(under_way_);
      }
      while (under_way_ > 0) {
        Reap(true);
      }
      done_ = {};
    }
  }

  IoRequest* Wait() override {
    while (done_.empty() && under_way_ > 0) {
      Reap(true);
    }
    return done_.Take();
  }

  IoRequest* Poll() override {
    while (under_way_ > 0 && Reap(false)) {
    }
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
    switch (request->kind) {
      case IoRequest::Kind::kRead:
        ::io_uring_prep_read(entry, fd, request->data, bytes, request->offset);
        break;
      case IoRequest::Kind::kWrite:
        ::io_uring_prep_write(entry, fd, request->data, bytes, request->offset);
        break;
      case IoRequest::Kind::kSync:
        ::io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
        break;
    }
    ::io_uring_sqe_set_data(entry, request);
    pushed_.Add(request);
    ++under_way_;
  }

  // Hands what was pushed to the kernel, and may wait until so many are done. If the kernel takes
  // nothing any more (somebody closed all descriptors, or forbade the call), it is done here.
  void Enter(unsigned wait) {
    do {
      int submitted = ::io_uring_submit_and_wait(&ring_, wait);
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

  // Takes one completion, if there is one or `wait`.
  bool Reap(bool wait) {
    io_uring_cqe* completion = nullptr;
    int outcome;
    do {
      outcome = wait ? ::io_uring_wait_cqe(&ring_, &completion)
                     : ::io_uring_peek_cqe(&ring_, &completion);
    } while (outcome == -EINTR);
    if (outcome != 0) {
      if (wait) {
        ::sched_yield();  // what the kernel has taken is done nevertheless
      }
      return false;
    }
    auto* const request = static_cast<IoRequest*>(::io_uring_cqe_get_data(completion));
    const int result = completion->res;
    ::io_uring_cqe_seen(&ring_, completion);
    --under_way_;
    if (request->kind == IoRequest::Kind::kSync) {
      // Never tried again: after a failed sync the next one would say ok.
      request->status = NoThrow([&] {
        return result == 0 ? Status()
                           : Status::FromErrno(
                                 fmt::format("{}: cannot sync", request->file->path()), -result);
      });
    } else if (result < 0 || static_cast<size_t>(result) < request->bytes) {
      // The kernel may do a part, or be interrupted: the plain call goes on from there, and finds
      // the words for what is wrong.
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
    return true;
  }

  const unsigned depth_;
  io_uring ring_{};
  bool open_ = false;
  unsigned under_way_ = 0;
  Requests pushed_;      // of these, what the kernel has not taken yet
  bool broken_ = false;  // it takes nothing any more
  Requests done_;
};

}  // namespace

std::unique_ptr<IoQueue> IoQueue::New(unsigned depth, Use use) {
#ifdef __SANITIZE_THREAD__
  // It sees neither what the kernel does to a request's bytes nor where the kernel maps a ring.
  use = Use::kNoKernel;
#endif
  if (use == Use::kKernelIfPossible) {
    return std::make_unique<UringQueue>(depth);
  }
  return std::make_unique<PlainQueue>();
}

}  // namespace sluice
