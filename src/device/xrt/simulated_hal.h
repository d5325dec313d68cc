// A simulated card as XRT's libraries see one: the calls of the layer below them (xcl*, xrt.h),
// defined in the program and exported to XRT's own emulation library, which has everything else as
// for a card. Each unit of the card is a kernel's compute unit with a memory bank of its own.
//
// A test makes the card, then uses XRT; there is one at a time.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "Vcard_tiny3.h"
#include "device/rtlsim/rtl_card.h"

namespace sluice::xrtsim {

inline constexpr unsigned kUnits = 3;
inline constexpr uint64_t kBankBytes = 64 << 20;

struct CardOptions {
  // As XRT for PCIe has them from version 2.14 on.
  bool interrupts = true;
  // What the kernel is called.
  std::string kernel = "sluice_tiny";
};

class Card {
 public:
  explicit Card(const CardOptions& options = {});
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card();

  // The card that there is.
  static Card* Get();

  // The file of the card's image, its metadata only.
  static void WriteXclbin(const std::string& path, const CardOptions& options = {});

  // What may happen to a card.
  void LoseInterrupts(bool lose) { lose_interrupts_ = lose; }
  void Unplug() { gone_ = true; }
  void PlugIn();
  // As `xbutil reset` does: units stop, memory is lost, and who has the card open must open it again.
  void ResetFromOutside();
  // Units do not hear that a job is to be started.
  void LoseStarts(bool lose) { lose_starts_ = lose; }
  // Resets do not end.
  void HoldResets(bool hold) { hold_resets_ = hold; }

  uint64_t interrupts_waited() const { return interrupts_waited_; }

  // The layer's calls.
  uint64_t Open();
  bool Usable(uint64_t generation) const { return !gone_ && generation == generation_; }
  uint32_t Read(unsigned unit, uint32_t offset);
  void Write(unsigned unit, uint32_t offset, uint32_t value);
  unsigned Allocate(unsigned bank, char* host, uint64_t bytes);
  void Free(unsigned buffer);
  bool Sync(unsigned buffer, bool to_card, uint64_t bytes, uint64_t offset);
  bool Where(unsigned buffer, uint64_t* address, uint64_t* bytes);
  bool has_interrupts() const { return options_.interrupts; }
  // Whether there was one.
  bool WaitForInterrupt(unsigned unit, int milliseconds);

 private:
  struct Buffer {
    uint64_t address;
    char* host;
    uint64_t bytes;
  };
  struct Unit {
    bool started = false;
    bool interrupt = false;
    std::thread thread;
  };
  using Simulation = rtlsim::RtlCard<Vcard_tiny3, kUnits>;

  void Serve(unsigned unit);
  void ResetUnit(unsigned unit);

  const CardOptions options_;
  std::unique_ptr<Simulation> card_;
  std::atomic<bool> lose_interrupts_{false};
  std::atomic<bool> gone_{false};
  std::atomic<bool> lose_starts_{false};
  std::atomic<bool> hold_resets_{false};
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> interrupts_waited_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  Unit units_[kUnits];
  uint32_t window_base_[kUnits] = {};
  std::map<unsigned, Buffer> buffers_;
  unsigned next_buffer_ = 1;
};

}  // namespace sluice::xrtsim
