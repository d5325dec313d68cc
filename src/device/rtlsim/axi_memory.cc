#include "device/rtlsim/axi_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>

namespace sluice::rtlsim {

Dram::Dram(uint64_t bytes) : size_(bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  data_ = p == MAP_FAILED ? nullptr : static_cast<char*>(p);
  if (data_ == nullptr) {
    size_ = 0;
  }
}

Dram::~Dram() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

void AxiPort::Fault(const std::string& what) {
  if (fault_.empty()) {
    fault_ = fmt::format("AXI port {}: {}", name_, what);
  }
}

void AxiPort::CheckBurst(bool write, uint64_t address, uint8_t len, uint8_t size, uint8_t burst) {
  const uint64_t bytes = (len + 1ull) * beat_bytes_;
  if (options_.watch) {
    options_.watch({name_, write, address, bytes, beat_bytes_});
  }
  const uint64_t first = address & ~(beat_bytes_ - 1ull);
  if (first / 4096 != (first + bytes - 1) / 4096) {
    Fault(fmt::format("burst of {} beats at {:#x} crosses a 4 KiB border", len + 1, address));
  }
  if ((1u << size) != beat_bytes_ || burst != 1) {
    Fault(fmt::format("burst at {:#x} has size {} and type {}", address, size, burst));
  }
}

bool AxiPort::Answers(uint64_t address) const {
  return address + beat_bytes_ <= options_.poison_begin || address >= options_.poison_end;
}

// ------------------------------------------------------------------------------------ reading

void AxiReadPort::Reset() {
  bursts_.clear();
  holding_ = false;
  asked_ = false;
}

void AxiReadPort::Drive(uint64_t cycle) {
  *s_.arready = bursts_.size() < kMaxOutstanding && !Stalls(cycle);
  if (!holding_) {
    const bool ready = !bursts_.empty() && bursts_.front().ready_cycle <= cycle && !Stalls(cycle);
    *s_.rvalid = ready;
    if (ready) {
      const Burst& burst = bursts_.front();
      const uint64_t address = burst.address & ~(beat_bytes_ - 1ull);
      *s_.rlast = burst.beats_left == 1;
      const bool there = dram_->Contains(address, beat_bytes_);
      if (there && Answers(address)) {
        *s_.rresp = kOkay;
        std::memcpy(s_.rdata, dram_->data() + address, beat_bytes_);
      } else {
        *s_.rresp = there ? kSlaveError : kDecodeError;
        std::memset(s_.rdata, 0xdb, beat_bytes_);
      }
    }
  }
}

void AxiReadPort::Sample(uint64_t cycle) {
  if (asked_ && (!*s_.arvalid || *s_.araddr != asked_address_)) {
    Fault(
        fmt::format("arvalid withdrawn or araddr changed before arready at {:#x}", asked_address_));
  }
  asked_ = *s_.arvalid && !*s_.arready;
  asked_address_ = *s_.araddr;
  if (*s_.arvalid && *s_.arready) {
    CheckBurst(false, *s_.araddr, *s_.arlen, *s_.arsize, *s_.arburst);
    bursts_.push_back({*s_.araddr, *s_.arlen + 1u, cycle + options_.latency});
  }
  holding_ = *s_.rvalid && !*s_.rready;
  if (*s_.rvalid && *s_.rready) {
    Burst& burst = bursts_.front();
    burst.address = (burst.address & ~(beat_bytes_ - 1ull)) + beat_bytes_;
    ++beats_;
    if (--burst.beats_left == 0) {
      bursts_.pop_front();
    }
  }
}

// ------------------------------------------------------------------------------------ writing

void AxiWritePort::Reset() {
  bursts_.clear();
  responses_.clear();
  holding_ = false;
  asked_ = false;
}

void AxiWritePort::Drive(uint64_t cycle) {
  *s_.awready = bursts_.size() + responses_.size() < kMaxOutstanding && !Stalls(cycle);
  // Data is taken once its address is known: the unit sends addresses first.
  *s_.wready = !bursts_.empty() && !Stalls(cycle);
  if (!holding_) {
    const bool ready =
        !responses_.empty() && responses_.front().ready_cycle <= cycle && !Stalls(cycle);
    *s_.bvalid = ready;
    if (ready) {
      *s_.bresp = responses_.front().response;
    }
  }
}

void AxiWritePort::TakeBeat(uint64_t cycle) {
  Burst& burst = bursts_.front();
  uint64_t strobes = 0;
  std::memcpy(&strobes, s_.wstrb, (beat_bytes_ + 7) / 8);
  if (!dram_->Contains(burst.address, beat_bytes_)) {
    burst.response = kDecodeError;
  } else if (!Answers(burst.address)) {
    burst.response = kSlaveError;
  } else {
    const char* bytes = static_cast<const char*>(s_.wdata);
    for (uint64_t left = strobes; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      dram_->data()[burst.address + i] = bytes[i];
    }
  }
  burst.address += beat_bytes_;
  ++beats_;
  --burst.beats_left;
  if (*s_.wlast != (burst.beats_left == 0)) {
    Fault("wlast does not end the burst");
  }
  if (burst.beats_left == 0) {
    responses_.push_back({cycle + options_.latency, burst.response});
    bursts_.pop_front();
  }
}

void AxiWritePort::Sample(uint64_t cycle) {
  if (asked_ && (!*s_.awvalid || *s_.awaddr != asked_address_)) {
    Fault(
        fmt::format("awvalid withdrawn or awaddr changed before awready at {:#x}", asked_address_));
  }
  asked_ = *s_.awvalid && !*s_.awready;
  asked_address_ = *s_.awaddr;
  holding_ = *s_.bvalid && !*s_.bready;
  if (*s_.bvalid && *s_.bready) {
    responses_.pop_front();
  }
  if (*s_.wvalid && *s_.wready) {
    TakeBeat(cycle);
  }
  if (*s_.awvalid && *s_.awready) {
    CheckBurst(true, *s_.awaddr, *s_.awlen, *s_.awsize, *s_.awburst);
    if (*s_.awaddr % beat_bytes_ != 0) {
      Fault(fmt::format("write burst at {:#x} is not aligned to beats", *s_.awaddr));
    }
    bursts_.push_back({*s_.awaddr, *s_.awlen + 1u, kOkay});
  }
}

}  // namespace sluice::rtlsim
