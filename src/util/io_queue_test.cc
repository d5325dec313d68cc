#include "util/io_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "util/alignment.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace {

bool no_memory = false;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = no_memory ? nullptr : std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice {
namespace {

class IoQueueTest : public testing::TestWithParam<IoQueue::Use> {};

INSTANTIATE_TEST_SUITE_P(Uses, IoQueueTest,
                         testing::Values(IoQueue::Use::kKernelIfPossible, IoQueue::Use::kNoKernel),
                         [](const auto& info) {
                           return info.param == IoQueue::Use::kNoKernel ? "NoKernel" : "Kernel";
                         });

// Blocks of a file written and read in any order, never one that is under way.
void RandomTraffic(IoQueue* queue, DataFile* file) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  constexpr size_t kBlocks = 50;
  const size_t alignment =
      std::max(file->read_descriptor().alignment, file->write_descriptor().alignment);
  const size_t bytes = RoundUp(5000, alignment);
  ASSERT_TRUE(file->Write(0, std::string(kBlocks * bytes, '\0')).ok());
  struct Work {
    IoRequest request;
    std::string memory;
    size_t block;
  };
  std::vector<std::string> model(kBlocks, std::string(bytes, '\0'));
  std::vector<bool> busy(kBlocks);
  std::deque<Work> works;
  const auto finish = [&](IoRequest* request) {
    ASSERT_NE(request, nullptr);
    EXPECT_TRUE(request->status.ok()) << request->status.ToString();
    const auto work = std::find_if(works.begin(), works.end(),
                                   [&](const Work& one) { return &one.request == request; });
    ASSERT_NE(work, works.end());
    EXPECT_EQ(std::string_view(request->data, bytes), model[work->block]);
    busy[work->block] = false;
    request->file = nullptr;  // back
  };
  for (int i = 0; i < 2000 && !testing::Test::HasFatalFailure(); ++i) {
    const size_t block = rng() % kBlocks;
    if (busy[block] || rng() % 3 == 0) {
      if (IoRequest* const request = queue->Poll()) {
        finish(request);
      } else if (std::count(busy.begin(), busy.end(), true) > 0) {
        finish(queue->Wait());
      }
      continue;
    }
    Work& work = works.emplace_back();
    work.block = block;
    work.memory.assign(bytes + alignment, static_cast<char>(rng()));
    work.request.file = file;
    work.request.offset = block * bytes;
    work.request.data = AlignUp(work.memory.data(), alignment);
    work.request.bytes = bytes;
    busy[block] = true;
    if (rng() % 2 == 0) {
      work.request.kind = IoRequest::Kind::kWrite;
      model[block] = std::string(work.request.data, bytes);
    }
    queue->Submit(&work.request);
  }
  while (IoRequest* const request = queue->Wait()) {
    finish(request);
  }
  for (const Work& work : works) {
    EXPECT_EQ(work.request.file, nullptr);
  }
  std::string contents(kBlocks * bytes, '\0');
  ASSERT_TRUE(file->Read(0, contents.size(), contents.data()).ok());
  for (size_t block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(contents.substr(block * bytes, bytes), model[block]);
  }
}

TEST_P(IoQueueTest, RealFiles) {
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4, GetParam());
  std::cout << "asynchronous: " << queue->asynchronous() << std::endl;
  RandomTraffic(queue.get(), file.get());
  std::unique_ptr<DataFile> bypassing;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("g"), &bypassing).ok());
  if (!bypassing->BypassPageCache().IsNotSupported()) {
    RandomTraffic(queue.get(), bypassing.get());
  }
}

// What is queued once the page cache is bypassed leaves nothing there.
TEST(IoQueue, LeavesNothingInThePageCache) {
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4);
  if (!queue->asynchronous() || !file->BypassPageCache().ok() || file->read_descriptor().fd < 0) {
    GTEST_SKIP() << "no queue in the kernel, no O_DIRECT, or a file in memory";
  }
  constexpr size_t kBytes = 1 << 20;
  std::string memory(kBytes + 4096, 'x');
  for (const auto kind : {IoRequest::Kind::kWrite, IoRequest::Kind::kRead}) {
    IoRequest request{.kind = kind,
                      .file = file.get(),
                      .data = AlignUp(memory.data(), 4096),
                      .bytes = kBytes,
                      .status = {}};
    queue->Submit(&request);
    ASSERT_EQ(queue->Wait(), &request);
    ASSERT_TRUE(request.status.ok()) << request.status.ToString();
    EXPECT_EQ(CachedPages(dir.File("f")), 0u);
  }
}

// Pieces of a file read at once, more than the queue's depth, past the page cache and not.
TEST_P(IoQueueTest, ReadsTogether) {
  TempDir dir;
  TestRandom random(TestSeed());
  std::string bytes(300'000, '\0');
  std::generate(bytes.begin(), bytes.end(), [&] { return Uniform(&random, 0, 255); });
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4, GetParam());
  for (const bool bypass : {false, true}) {
    std::unique_ptr<DataFile> file;
    ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
    ASSERT_TRUE(file->Write(0, bytes).ok());
    if (bypass && file->BypassPageCache().IsNotSupported()) {
      GTEST_SKIP() << "no O_DIRECT";
    }
    for (const size_t count : {0, 1, 2, 4, 5, 50}) {
      const size_t alignment = file->read_descriptor().alignment;
      const size_t piece = (5000 + alignment - 1) / alignment * alignment;
      std::string memory(count * piece + alignment, '\0');
      char* const at = AlignUp(memory.data(), alignment);
      std::vector<IoRequest> requests(count);
      for (size_t i = 0; i < count; ++i) {
        requests[i] = {.kind = IoRequest::Kind::kRead,
                       .file = file.get(),
                       .offset = Uniform(&random, 0, 320'000) / alignment * alignment,
                       .data = at + i * piece,
                       .bytes = piece,
                       .status = {}};
      }
      queue->Do(requests);
      EXPECT_EQ(queue->Wait(), nullptr);
      for (const IoRequest& request : requests) {
        // Some reach past the end.
        ASSERT_EQ(request.status.ok(), request.offset + piece <= bytes.size());
        if (request.status.ok()) {
          ASSERT_EQ(std::string(request.data, piece), bytes.substr(request.offset, piece));
        } else {
          EXPECT_NE(request.status.message().find(dir.File("f")), std::string::npos);
        }
      }
    }
  }
}

// As daemons do that close all descriptors which they do not know.
TEST_P(IoQueueTest, OutlivesItsDescriptor) {
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4, GetParam());
  ASSERT_TRUE(file->Write(0, std::string(100, 'x')).ok());
  std::string before(100, '\0');
  IoRequest request{
      .file = file.get(), .data = before.data(), .bytes = before.size(), .status = {}};
  queue->Submit(&request);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == "anon_inode:[io_uring]") {
      ::close(std::stoi(entry.path().filename()));
    }
  }
  ASSERT_EQ(queue->Wait(), &request);
  EXPECT_TRUE(request.status.ok());
  EXPECT_EQ(before, std::string(100, 'x'));
  RandomTraffic(queue.get(), file.get());
  std::string after(300, '\0');
  ASSERT_TRUE(file->Write(0, std::string(300, 'y')).ok());
  std::vector<IoRequest> requests(3);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i] = {.kind = IoRequest::Kind::kRead,
                   .file = file.get(),
                   .offset = 100 * i,
                   .data = after.data() + 100 * i,
                   .bytes = 100,
                   .status = {}};
  }
  queue->Do(requests);
  EXPECT_EQ(after, std::string(300, 'y'));
}

TEST_P(IoQueueTest, FilesOfAnotherEnv) {
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env.NewDataFile("d/f", &file).ok());
  RandomTraffic(IoQueue::New(4, GetParam()).get(), file.get());
}

TEST_P(IoQueueTest, ErrorsNameTheFile) {
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  ASSERT_TRUE(file->Write(0, "0123456789").ok());
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4, GetParam());
  EXPECT_EQ(queue->Wait(), nullptr);
  char buffer[11];
  IoRequest request{.file = file.get(), .data = buffer, .bytes = sizeof(buffer), .status = {}};
  queue->Submit(&request);
  ASSERT_EQ(queue->Wait(), &request);
  EXPECT_EQ(request.status.code(), Status::Code::kIoError);
  EXPECT_NE(request.status.message().find(dir.File("f")), std::string::npos);
}

// What has been submitted is waited for, whatever happens: the kernel may read from it.
TEST_P(IoQueueTest, NeedsNoMemory) {
  constexpr size_t kBytes = 100;
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  ASSERT_TRUE(file->Write(0, std::string(kBytes, 'x')).ok());
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<DataFile> other;
  ASSERT_TRUE(env.NewDataFile("d/f", &other).ok());
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4, GetParam());
  // Every other one is an error, whose message needs memory.
  std::string buffer(kBytes, '\0');
  std::vector<IoRequest> requests(500);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].file = i % 3 == 0 ? other.get() : file.get();
    requests[i].offset = i % 3 == 0 ? size_t{1} << 30 : i % 2;
    requests[i].data = buffer.data();
    requests[i].bytes = kBytes;
  }
  size_t back = 0;
  no_memory = true;
  for (IoRequest& request : requests) {
    queue->Submit(&request);
  }
  while (queue->Wait() != nullptr) {
    ++back;
  }
  no_memory = false;
  EXPECT_EQ(back, requests.size());
  EXPECT_TRUE(requests[2].status.ok()) << requests[2].status.ToString();
  EXPECT_EQ(requests[1].status.ToString(), Status::IoError("out of memory").ToString());
  EXPECT_EQ(requests[3].status.ToString(), Status::IoError("out of memory").ToString());
}

// Flushes and compactions make a queue each, and a ring takes longer to make than it takes to copy
// what goes to an Env in memory.
TEST(IoQueue, MakesNoRingForAFileWithoutADescriptor) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  FaultEnv env;
  ASSERT_TRUE(env.CreateDir("dir").ok());
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env.NewDataFile("dir/f", &file).ok());
  const auto before = descriptors();
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4);
  char buffer[] = "in memory";
  IoRequest request{.kind = IoRequest::Kind::kWrite,
                    .file = file.get(),
                    .data = buffer,
                    .bytes = sizeof(buffer),
                    .status = {}};
  queue->Submit(&request);
  ASSERT_EQ(queue->Wait(), &request);
  queue->Do({&request, 1});
  EXPECT_EQ(descriptors(), before);
}

#ifdef __x86_64__
// A kernel without memory takes some of the requests and stops. Here it takes one at a time:
// a filter turns its call into a signal, whose handler makes the call for one of them.
constexpr unsigned long kFromHandler = 9;  // a last argument that the kernel ignores

void SubmitOne(int /*signal*/, siginfo_t* /*info*/, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool all = registers[REG_RSI] <= 1;
  const long result = ::syscall(SYS_io_uring_enter, registers[REG_RDI],
                                all ? registers[REG_RSI] : 1, all ? registers[REG_RDX] : 0,
                                registers[REG_R10] & ~IORING_ENTER_EXT_ARG, nullptr, kFromHandler);
  registers[REG_RAX] = result < 0 ? -errno : result;
}

bool LetTheKernelTakeOne() {
  struct sigaction action {};
  action.sa_sigaction = SubmitOne;
  action.sa_flags = SA_SIGINFO;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kFromHandler, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const sock_fprog program{std::size(filter), filter};
  return ::sigaction(SIGSYS, &action, nullptr) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(IoQueue, TheKernelMayTakeSomeRequestsOnly) {
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  ASSERT_TRUE(file->Write(0, "0123456789").ok());
  if (file->read_descriptor().fd < 0) {
    GTEST_SKIP() << "a file in memory";
  }
  enum { kDone, kNoFilter, kNoQueue, kWrong };
  const pid_t child = ::fork();  // filters stay
  if (child == 0) {
    ::alarm(30);
    const std::unique_ptr<IoQueue> queue = IoQueue::New(4);
    if (!queue->asynchronous()) {
      ::_exit(kNoQueue);
    }
    if (!LetTheKernelTakeOne()) {
      ::_exit(kNoFilter);
    }
    char digits[10];
    std::vector<IoRequest> requests(10);
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].file = file.get();
      requests[i].offset = i;
      requests[i].data = digits + i;
      requests[i].bytes = 1;
    }
    queue->Do(requests);
    ::_exit(std::string_view(digits, 10) == "0123456789" ? kDone : kWrong);
  }
  int outcome = 0;
  ASSERT_EQ(::waitpid(child, &outcome, 0), child);
  ASSERT_TRUE(WIFEXITED(outcome)) << "signal " << WTERMSIG(outcome);
  if (WEXITSTATUS(outcome) == kNoQueue || WEXITSTATUS(outcome) == kNoFilter) {
    GTEST_SKIP() << "no queue in the kernel, or no filters";
  }
  EXPECT_EQ(WEXITSTATUS(outcome), kDone);
}
#endif

// The kernel never does what it was given, as if it had lost it: it reads from a pipe.
TEST(IoQueue, DoesItselfWhatTheKernelDoesNot) {
  class File final : public DataFile {
   public:
    File() { EXPECT_EQ(::pipe(pipe_.data()), 0); }
    ~File() override {
      ::close(pipe_[0]);
      ::close(pipe_[1]);
    }
    Status Read(uint64_t offset, size_t n, char* out) const override {
      std::fill(out, out + n, static_cast<char>('a' + offset));
      return {};
    }
    Status Write(uint64_t, std::string_view) override { return Status::NotSupported(""); }
    Status Sync() override { return {}; }
    Status Discard(uint64_t, uint64_t) override { return {}; }
    Status Truncate(uint64_t) override { return {}; }
    Status GetDiskBytes(uint64_t*) const override { return {}; }
    const std::string& path() const override { return path_; }
    IoDescriptor read_descriptor() const override { return {.fd = pipe_[0]}; }

   private:
    std::array<int, 2> pipe_;
    const std::string path_ = "pipe";
  } file;
  const std::unique_ptr<IoQueue> queue =
      IoQueue::New(4, IoQueue::Use::kKernelIfPossible, std::chrono::milliseconds(50));
  if (!queue->asynchronous()) {
    GTEST_SKIP() << "no queue in the kernel";
  }
  std::string read(6, '\0');
  std::vector<IoRequest> requests(read.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].file = &file;
    requests[i].offset = i;
    requests[i].data = &read[i];
    requests[i].bytes = 1;
  }
  for (IoRequest& request : requests) {
    queue->Submit(&request);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    IoRequest* const done = queue->Wait();
    ASSERT_NE(done, nullptr);
    EXPECT_TRUE(done->status.ok()) << done->status.ToString();
  }
  EXPECT_EQ(read, "abcdef");
  read.assign(6, '\0');
  queue->Do(requests);
  EXPECT_EQ(read, "abcdef");
}

// The system writes a part, and no more: the part is there, and the error says where it ended.
TEST_P(IoQueueTest, AShortWriteIsAnErrorOfItsRest) {
  constexpr size_t kLimit = 1 << 20;
  TempDir dir;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  const std::unique_ptr<IoQueue> queue = IoQueue::New(4, GetParam());
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limited{kLimit, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  std::string buffer(100, 'x');
  IoRequest request{.kind = IoRequest::Kind::kWrite,
                    .file = file.get(),
                    .offset = kLimit - 40,
                    .data = buffer.data(),
                    .bytes = buffer.size(),
                    .status = {}};
  queue->Submit(&request);
  EXPECT_EQ(queue->Wait(), &request);
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(request.status.message(),
            fmt::format("{}: cannot write at offset {}: File too large", dir.File("f"), kLimit));
  std::string written(40, '\0');
  ASSERT_TRUE(file->Read(kLimit - 40, written.size(), written.data()).ok());
  EXPECT_EQ(written, std::string(40, 'x'));
}

}  // namespace
}  // namespace sluice
