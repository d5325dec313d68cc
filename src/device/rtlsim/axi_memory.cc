#include "device/rtlsim/axi_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace sluice::rtlsim {

Dram::Dram(uint64_t bytes, uint64_t base) : size_(bytes), base_(base) {
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

void AxiPort::DriveAddress(uint64_t cycle) {
  *address_.ready = outstanding_ < kMaxOutstanding && Takes(cycle);
}

bool AxiPort::SampleAddress(bool write) {
  const uint64_t address = *address_.addr;
  if (asked_ && (!*address_.valid || address != asked_address_)) {
    Fault(fmt::format("{} address withdrawn or changed before it was accepted at {:#x}",
                      write ? "write" : "read", asked_address_));
  }
  asked_ = *address_.valid && !*address_.ready;
  asked_address_ = address;
  if (!*address_.valid || !*address_.ready) {
    return false;
  }
  const uint64_t bytes = (*address_.len + 1ull) * beat_bytes_;
  if (options_.watch) {
    options_.watch({name_, write, address, bytes, beat_bytes_});
  }
  if (address % beat_bytes_ != 0) {
    Fault(fmt::format("burst at {:#x} is not aligned to beats", address));
  }
  if (address / 4096 != (address + bytes - 1) / 4096) {
    Fault(fmt::format("burst of {} bytes at {:#x} crosses a 4 KiB border", bytes, address));
  }
  if ((1u << *address_.size) != beat_bytes_ || *address_.burst != 1) {
    Fault(fmt::format("burst at {:#x} has size {} and type {}", address, *address_.size,
                      *address_.burst));
  }
  ++accepted_;
  ++outstanding_;
  return true;
}

uint8_t AxiPort::Response(uint64_t address) const {
  if (!dram_->Contains(address, beat_bytes_)) {
    return kDecodeError;
  }
  const bool poisoned = std::ranges::any_of(options_.poison, [&](const auto& range) {
    return address + beat_bytes_ > range.first && address < range.second;
  });
  return poisoned ? kSlaveError : kOkay;
}

void AxiPort::ResetAddress() {
  asked_ = false;
  outstanding_ = 0;
}

// ------------------------------------------------------------------------------------ reading

void AxiReadPort::Reset() {
  ResetAddress();
  bursts_.clear();
  holding_ = false;
}

void AxiReadPort::Drive(uint64_t cycle) {
  DriveAddress(cycle);
  if (holding_) {
    return;
  }
  *s_.rvalid = !bursts_.empty() && bursts_.front().ready_cycle <= cycle && Gives(cycle);
  const uint64_t noise = Noise(cycle);
  uint8_t response = noise >> 62;
  *s_.rlast = noise >> 61 & 1;
  if (*s_.rvalid) {
    response = Response(bursts_.front().address);
    *s_.rlast = bursts_.front().beats_left == 1;
  }
  *s_.rresp = response;
  if (*s_.rvalid && response == kOkay) {
    std::memcpy(s_.rdata, dram_->At(bursts_.front().address), beat_bytes_);
  } else {
    std::memset(s_.rdata, static_cast<uint8_t>(noise >> 48), beat_bytes_);
  }
}

void AxiReadPort::Sample(uint64_t cycle) {
  if (SampleAddress(false)) {
    bursts_.push_back({*s_.ar.addr, *s_.ar.len + 1u, Due(cycle)});
  }
  holding_ = *s_.rvalid && !*s_.rready;
  if (*s_.rvalid && *s_.rready) {
    Burst& burst = bursts_.front();
    burst.address += beat_bytes_;
    ++beats_;
    if (--burst.beats_left == 0) {
      bursts_.pop_front();
      --outstanding_;
    }
  }
}

// ------------------------------------------------------------------------------------ writing

void AxiWritePort::Reset() {
  ResetAddress();
  bursts_.clear();
  data_.clear();
  answers_.clear();
  holding_ = false;
}

void AxiWritePort::Drive(uint64_t cycle) {
  DriveAddress(cycle);
  *s_.wready = (options_.data_first || !bursts_.empty()) && Takes(cycle);
  if (!holding_) {
    *s_.bvalid = !answers_.empty() && answers_.front().ready_cycle <= cycle && Gives(cycle);
    *s_.bresp = *s_.bvalid ? answers_.front().response : Noise(cycle) >> 62;
  }
}

void AxiWritePort::TakeBeat() {
  uint64_t strobes = 0;
  std::memcpy(&strobes, s_.wstrb, (beat_bytes_ + 7) / 8);
  if (strobes != 0 && strobes != ~0ull >> (64 - beat_bytes_) && !options_.partial_strobes) {
    Fault(fmt::format("strobes are {:#x}", strobes));
  }
  data_.push_back({{static_cast<const char*>(s_.wdata), beat_bytes_}, strobes, *s_.wlast != 0});
  ++beats_;
}

void AxiWritePort::Store(uint64_t cycle) {
  Burst& burst = bursts_.front();
  const Beat& beat = data_.front();
  if (const uint8_t response = Response(burst.address); response != kOkay) {
    burst.response = response;
  } else if (beat.strobes == ~0ull >> (64 - beat_bytes_)) {
    std::memcpy(dram_->At(burst.address), beat.data.data(), beat_bytes_);
  } else {
    for (uint32_t i = 0; i < beat_bytes_; ++i) {
      if ((beat.strobes >> i & 1) != 0) {
        *dram_->At(burst.address + i) = beat.data[i];
      }
    }
  }
  burst.address += beat_bytes_;
  --burst.beats_left;
  if (beat.last != (burst.beats_left == 0)) {
    Fault("wlast does not end the burst");
  }
  data_.pop_front();
  if (burst.beats_left == 0) {
    answers_.push_back({Due(cycle), burst.response});
    bursts_.pop_front();
  }
}

void AxiWritePort::Sample(uint64_t cycle) {
  holding_ = *s_.bvalid && !*s_.bready;
  if (*s_.bvalid && *s_.bready) {
    answers_.pop_front();
    --outstanding_;
  }
  if (SampleAddress(true)) {
    bursts_.push_back({*s_.aw.addr, *s_.aw.len + 1u, kOkay});
  }
  if (*s_.wvalid && *s_.wready) {
    TakeBeat();
  }
  while (!bursts_.empty() && !data_.empty()) {
    Store(cycle);
  }
}

}  // namespace sluice::rtlsim
