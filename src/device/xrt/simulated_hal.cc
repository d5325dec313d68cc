#include "device/xrt/simulated_hal.h"

#include <xclbin.h>
#include <xrt.h>
#include <xrt/xrt_bo.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "sluice_abi.h"

namespace sluice::xrtsim {

namespace {

Card* the_card = nullptr;

RtlDeviceOptions SimulationOptions() {
  RtlDeviceOptions options;
  options.memory.bytes = kUnits * kBankBytes;
  options.hang_cycles = 100'000;
  return options;
}

}  // namespace

Card::Card(const CardOptions& options)
    : options_(options), card_(std::make_unique<Simulation>(SimulationOptions())) {
  the_card = this;
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    units_[unit].thread = std::thread([this, unit] { Serve(unit); });
  }
}

Card::~Card() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (Unit& unit : units_) {
    unit.thread.join();
  }
  the_card = nullptr;
}

Card* Card::Get() { return the_card; }

// Lets the clock run while the unit has a job.
void Card::Serve(unsigned unit) {
  Unit& u = units_[unit];
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || u.started; });
    if (stopping_) {
      return;
    }
    u.started = false;
    lock.unlock();
    const bool done = card_->Wait(unit, card_->cycle(), UINT64_MAX, {}).ok();
    lock.lock();
    if (done && !lose_interrupts_) {
      u.interrupt = true;
      changed_.notify_all();
    }
  }
}

uint64_t Card::Open() { return generation_; }

void Card::ResetFromOutside() {
  ++generation_;
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    ResetUnit(unit);
  }
  std::fill_n(card_->dram().data(), card_->dram().size(), char{0x55});
}

void Card::PlugIn() {
  ResetFromOutside();
  gone_ = false;
}

void Card::ResetUnit(unsigned unit) {
  {
    const std::lock_guard lock(mutex_);
    units_[unit].started = units_[unit].interrupt = false;
  }
  if (const Status status = card_->Reset(unit); !status.ok()) {
    throw std::runtime_error(status.ToString());
  }
}

// The registers of a card of one unit, for each.
uint32_t Card::Read(unsigned unit, uint32_t offset) {
  if (offset < abi::card::kUnitStride) {
    return card_->Read(unit, offset);
  }
  switch (offset) {
    case abi::card::kBeats:
      return card_->Read(0, offset + unit * sizeof(uint32_t));
    case abi::card::kReset:
      return hold_resets_ ? 1 : 0;  // the simulated card resets a unit before Write returns
    default:
      return 0;
  }
}

void Card::Write(unsigned unit, uint32_t offset, uint32_t value) {
  const bool start =
      offset == abi::control::kCtrl && (value >> abi::control::kCtrlStartShift & 1) != 0;
  if (start && lose_starts_) {
    return;
  }
  switch (offset) {
    case abi::card::kReset:
      ResetUnit(unit);
      break;
    case abi::card::kWindowBase:
      window_base_[unit] = value;
      break;
    case abi::card::kWindowLimit:
      card_->SetWindow(unit, uint64_t{window_base_[unit]} << 12, uint64_t{value} << 12);
      break;
    default:
      card_->Write(unit, offset, value);
  }
  if (start) {
    const std::lock_guard lock(mutex_);
    units_[unit].started = true;
    changed_.notify_all();
  }
}

unsigned Card::Allocate(unsigned bank, char* host, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t begin = bank * kBankBytes;
  for (const auto& [number, buffer] : buffers_) {
    if (buffer.address == begin) {
      return 0;  // a bank has room for one
    }
  }
  if (bank >= kUnits || bytes > kBankBytes) {
    return 0;
  }
  buffers_[next_buffer_] = {begin, host, bytes};
  return next_buffer_++;
}

void Card::Free(unsigned buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.erase(buffer);
}

bool Card::Where(unsigned buffer, uint64_t* address, uint64_t* bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(buffer);
  if (it == buffers_.end()) {
    return false;
  }
  *address = it->second.address;
  *bytes = it->second.bytes;
  return true;
}

bool Card::Sync(unsigned buffer, bool to_card, uint64_t bytes, uint64_t offset) {
  uint64_t address = 0;
  char* host = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto it = buffers_.find(buffer);
    if (it == buffers_.end() || offset > it->second.bytes || bytes > it->second.bytes - offset) {
      return false;
    }
    address = it->second.address;
    host = it->second.host;
  }
  char* const card = card_->dram().data() + address;
  if (to_card) {
    std::copy_n(host + offset, bytes, card + offset);
  } else {
    std::copy_n(card + offset, bytes, host + offset);
  }
  return true;
}

bool Card::WaitForInterrupt(unsigned unit, int milliseconds) {
  std::unique_lock lock(mutex_);
  bool& interrupt = units_[unit].interrupt;
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return interrupt; });
  interrupts_waited_ += interrupt ? 1 : 0;
  return std::exchange(interrupt, false);
}

// Sections as v++ would write them, each behind the last, at multiples of eight bytes.
void Card::WriteXclbin(const std::string& path, const CardOptions& options) {
  struct Section {
    axlf_section_kind kind;
    std::string bytes;
  };
  const auto as_bytes = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  // Each section begins with the count of its entries, of four bytes, and is padded as its struct.
  std::string topology = as_bytes(uint64_t{kUnits});
  std::string layout = as_bytes(uint64_t{kUnits});
  std::string connections = as_bytes(int32_t{3 * kUnits});
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    mem_data bank = {};
    bank.m_type = MEM_DDR4;
    bank.m_used = 1;
    bank.m_size = kBankBytes >> 10;
    bank.m_base_address = unit * kBankBytes;
    const std::string tag = "bank" + std::to_string(unit);
    std::copy(tag.begin(), tag.end(), bank.m_tag);
    topology += as_bytes(bank);
    ip_data ip = {};
    ip.m_type = IP_KERNEL;
    ip.properties = AP_CTRL_CHAIN << IP_CONTROL_SHIFT | IP_INT_ENABLE_MASK;
    ip.m_base_address = 0x1800000 + unit * 0x10000;
    const std::string name = options.kernel + ":" + options.kernel + "_" + std::to_string(unit + 1);
    std::copy(name.begin(), name.end(), ip.m_name);
    layout += as_bytes(ip);
    for (int32_t argument = 0; argument < 3; ++argument) {
      connections +=
          as_bytes(connection{argument, static_cast<int32_t>(unit), static_cast<int32_t>(unit)});
    }
  }
  const Section sections[] = {
      {MEM_TOPOLOGY, topology}, {IP_LAYOUT, layout}, {CONNECTIVITY, connections}};
  constexpr size_t kSections = std::size(sections);

  axlf top = {};
  std::memcpy(top.m_magic, "xclbin2", 8);
  top.m_signature_length = -1;
  std::fill(std::begin(top.m_header.uuid), std::end(top.m_header.uuid), uint8_t{0x51});
  top.m_header.m_numSections = kSections;
  std::string headers;
  std::string body;
  const size_t head = sizeof(axlf) + (kSections - 1) * sizeof(axlf_section_header);
  for (const Section& section : sections) {
    axlf_section_header header = {};
    header.m_sectionKind = section.kind;
    header.m_sectionOffset = head + body.size();
    header.m_sectionSize = section.bytes.size();
    headers += as_bytes(header);
    body += section.bytes;
    body.resize((body.size() + 7) & ~size_t{7});
  }
  top.m_header.m_length = head + body.size();
  std::string file = as_bytes(top).substr(0, sizeof(axlf) - sizeof(axlf_section_header));
  file += headers + body;
  std::ofstream(path, std::ios::binary) << file;
}

}  // namespace sluice::xrtsim

// What is XRT's own, as far as it is needed here. Its library has weak versions of ishim's calls, for
// cards without interrupts: those of this program take their place.
// NOLINTBEGIN(readability-identifier-naming): its names
namespace xrt_core {

struct ishim {
  int open_ip_interrupt_notify(unsigned int unit);
  void close_ip_interrupt_notify(int handle);
  void enable_ip_interrupt(int handle);
  void disable_ip_interrupt(int handle);
  std::cv_status wait_ip_interrupt(int handle, int milliseconds);
};
class device {
 public:
  void register_axlf(const axlf* xclbin);
};
// Makes XRT's view of what the lower layer has opened; it is kept by that.
std::shared_ptr<device> get_userpf_device(void* handle, unsigned int index);

}  // namespace xrt_core
// NOLINTEND(readability-identifier-naming)

// What XRT's emulation library calls.
namespace {

using sluice::xrtsim::Card;

struct Opened {
  uint64_t generation;  // of the card
  std::shared_ptr<xrt_core::device> device;
};

bool Usable(xclDeviceHandle handle) {
  return Card::Get() != nullptr && Card::Get()->Usable(static_cast<Opened*>(handle)->generation);
}

}  // namespace

extern "C" {

unsigned int xclProbe() { return 1; }

xclDeviceHandle xclOpen(unsigned int index, const char*, xclVerbosityLevel) {
  Card* const card = Card::Get();
  if (card == nullptr || index != 0 || !card->Usable(card->Open())) {
    return nullptr;
  }
  auto* const opened = new Opened{card->Open(), nullptr};
  opened->device = xrt_core::get_userpf_device(opened, index);
  return opened;
}
void xclClose(xclDeviceHandle handle) { delete static_cast<Opened*>(handle); }

int xclGetDeviceInfo2(xclDeviceHandle, xclDeviceInfo2* info) {
  *info = {};
  std::strcpy(info->mName, "simulated");
  info->mOCLFrequency[0] = 200;
  return 0;
}

int xclOpenContext(xclDeviceHandle handle, const xuid_t, unsigned int, bool) {
  return Usable(handle) ? 0 : -ENODEV;
}
int xclCloseContext(xclDeviceHandle, const xuid_t, unsigned int) { return 0; }

// What XRT calls for a buffer with a copy in host memory, which it has allocated.
xclBufferHandle xclAllocUserPtrBO(xclDeviceHandle handle, void* host, size_t size,
                                  unsigned int flags) {
  const unsigned bank = flags & XRT_BO_FLAGS_MEMIDX_MASK;
  const unsigned buffer =
      Usable(handle) ? Card::Get()->Allocate(bank, static_cast<char*>(host), size) : 0;
  return buffer == 0 ? XRT_NULL_BO : buffer;
}
void xclFreeBO(xclDeviceHandle, xclBufferHandle buffer) {
  if (Card::Get() != nullptr) {
    Card::Get()->Free(buffer);
  }
}
int xclSyncBO(xclDeviceHandle handle, xclBufferHandle buffer, xclBOSyncDirection direction,
              size_t size, size_t offset) {
  if (!Usable(handle)) {
    return -ENODEV;
  }
  return Card::Get()->Sync(buffer, direction == XCL_BO_SYNC_BO_TO_DEVICE, size, offset) ? 0
                                                                                        : -EINVAL;
}
int xclGetBOProperties(xclDeviceHandle, xclBufferHandle buffer, xclBOProperties* properties) {
  *properties = {};
  properties->handle = buffer;
  return Card::Get()->Where(buffer, &properties->paddr, &properties->size) ? 0 : -EINVAL;
}

int xclLoadXclBin(xclDeviceHandle handle, const axlf* xclbin) {
  if (!Usable(handle)) {
    return -ENODEV;
  }
  static_cast<Opened*>(handle)->device->register_axlf(xclbin);
  return 0;
}

int xclRegRead(xclDeviceHandle handle, uint32_t unit, uint32_t offset, uint32_t* data) {
  // A bus has an answer even if nobody is there.
  *data = Usable(handle) ? Card::Get()->Read(unit, offset) : 0xffffffff;
  return 0;
}
int xclRegWrite(xclDeviceHandle handle, uint32_t unit, uint32_t offset, uint32_t data) {
  if (Usable(handle)) {
    Card::Get()->Write(unit, offset, data);
  }
  return 0;
}
}

namespace xrt_core {

int ishim::open_ip_interrupt_notify(unsigned int unit) {
  if (!Card::Get()->has_interrupts()) {
    throw std::runtime_error("interrupts are not supported");
  }
  return static_cast<int>(unit);
}
void ishim::close_ip_interrupt_notify(int) {}
void ishim::enable_ip_interrupt(int) {}
void ishim::disable_ip_interrupt(int) {}
std::cv_status ishim::wait_ip_interrupt(int unit, int milliseconds) {
  return Card::Get()->WaitForInterrupt(static_cast<unsigned>(unit), milliseconds)
             ? std::cv_status::no_timeout
             : std::cv_status::timeout;
}

}  // namespace xrt_core
