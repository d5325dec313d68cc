#include "device/f2/mapped_bars.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "util/coding.h"

namespace sluice {

namespace {

constexpr uint64_t kRegisterBytes = 64 << 10;  // BAR0 repeats them
constexpr uint64_t kLine = 64;
constexpr uint64_t kPage = 4096;

// A file that is mapped from its beginning.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data_ != nullptr) {
      munmap(data_, bytes_);
    }
    if (fd_ >= 0) {
      close(fd_);
    }
  }

  // At most so many bytes, in whole pages.
  Status Open(const std::string& path, uint64_t bytes) {
    fd_ = open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC);
    struct stat info = {};
    if (fd_ < 0 || fstat(fd_, &info) != 0) {
      return Error(path);
    }
    bytes = std::min<uint64_t>(bytes, info.st_size) & ~(kPage - 1);
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (data == MAP_FAILED) {
      return Error(path);
    }
    data_ = static_cast<char*>(data);
    bytes_ = bytes;
    return {};
  }
  Status Lock(const std::string& path) const {
    return flock(fd_, LOCK_EX | LOCK_NB) == 0 ? Status() : Error(path);
  }
  char* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  static Status Error(const std::string& path) {
    return Status::IoError(errno == EWOULDBLOCK
                               ? path + " is in use by another process"
                               : fmt::format("{}: {}", path, std::strerror(errno)));
  }

  int fd_ = -1;
  char* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// One line, in one read on the bus if the processor can: a streaming load fetches all of it.
void ReadLine(const char* from, char* to) {
#ifdef __SSE4_2__
  for (size_t i = 0; i < kLine; i += sizeof(__m128i)) {
    auto* const source = reinterpret_cast<__m128i*>(const_cast<char*>(from + i));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + i), _mm_stream_load_si128(source));
  }
#else
  for (size_t i = 0; i < kLine; i += sizeof(uint64_t)) {
    EncodeFixed64(to + i, *reinterpret_cast<const volatile uint64_t*>(from + i));
  }
#endif
}

// Until what was written has left the processor's buffers, and before anything is read.
void Fence() {
#ifdef __SSE4_2__
  _mm_mfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

class MappedBars : public F2Bars {
 public:
  Status Open(const std::string& directory, uint64_t memory_bytes) {
    const std::string registers = directory + "/resource0";
    const std::string combined = directory + "/resource4_wc";
    SLUICE_RETURN_IF_ERROR(registers_.Open(registers, kRegisterBytes));
    SLUICE_RETURN_IF_ERROR(registers_.Lock(registers));
    return memory_.Open(std::filesystem::exists(combined) ? combined : directory + "/resource4",
                        memory_bytes);
  }

  uint32_t Read(uint32_t offset) override { return *Register(offset); }
  void Write(uint32_t offset, uint32_t value) override { *Register(offset) = value; }

  uint64_t memory_bytes() const override { return memory_.bytes(); }
  void WriteMemory(uint64_t address, std::string_view bytes) override {
    std::memcpy(memory_.data() + address, bytes.data(), bytes.size());
    Fence();
  }
  void ReadMemory(uint64_t address, uint64_t bytes, char* out) override {
    Fence();  // a streaming load may come from before
    while (bytes != 0) {
      alignas(kLine) char line[kLine];
      const uint64_t skip = address % kLine;
      const uint64_t n = std::min(bytes, kLine - skip);
      ReadLine(memory_.data() + (address - skip), line);
      std::memcpy(out, line + skip, n);
      address += n;
      out += n;
      bytes -= n;
    }
  }

 private:
  volatile uint32_t* Register(uint32_t offset) const {
    return reinterpret_cast<volatile uint32_t*>(registers_.data() + offset);
  }

  Mapping registers_;
  Mapping memory_;
};

}  // namespace

Status MapF2Bars(const std::string& directory, uint64_t memory_bytes,
                 std::shared_ptr<F2Bars>* bars) {
  if (!std::filesystem::is_directory(directory)) {
    return Status::NotFound("no PCI function " + directory);
  }
  auto mapped = std::make_shared<MappedBars>();
  SLUICE_RETURN_IF_ERROR(mapped->Open(directory, memory_bytes));
  *bars = std::move(mapped);
  return {};
}

}  // namespace sluice
