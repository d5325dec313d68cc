// A device that fails at a chosen rate, for tests of what must cope with that.
//
// A job, which begins with FreeAll, has one fault at most:
//  * hang: the start is not answered, or the job is started and never ends;
//  * lost interrupt: the job ends, and the host does not hear of it;
//  * late: the host gives the job up, and what it makes reaches memory before the reset has ended;
//  * bus error: the job ends with READ_ERROR or WRITE_ERROR and no completion record;
//  * wrong result: one bit is flipped in what is written to the device, in what is read from it or
//    in its memory, before the job or after it; or the device says that it is done and has done
//    nothing.
// After the first three, calls to Start fail until Reset. A reset may fail, too, and change
// nothing. A job that is silent uses up the cycles that Wait allows at once.
//
// What no layer above a Device can see is not among them: a write that reports success and leaves
// an older table in its place.

#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace sluice {

// Shares of all jobs; together 1 at most.
struct FaultRates {
  double hang = 0;
  double lost_interrupt = 0;
  double late = 0;
  double bus_error = 0;
  double wrong_result = 0;

  double Sum() const { return hang + lost_interrupt + late + bus_error + wrong_result; }
};

struct FaultOptions {
  FaultRates rates;
  double stuck_reset = 0;      // share of resets that fail
  uint64_t jobs = UINT64_MAX;  // only the first so many can fail
  uint64_t seed = 1;
};

class FaultDevice : public Device {
 public:
  FaultDevice(std::unique_ptr<Device> device, const FaultOptions& options)
      : device_(std::move(device)), options_(options), rng_(options.seed) {}

  const DeviceInfo& info() const override { return device_->info(); }
  Status Allocate(uint64_t bytes, uint64_t* address) override;
  void FreeAll() override;
  Status Write(uint64_t address, std::string_view bytes) override;
  Status Read(uint64_t address, uint64_t bytes, char* out) override;
  Status Start(uint64_t descriptor) override;
  Status Wait(uint64_t cycles, uint8_t* status) override;
  Status Reset() override;
  double CardCpuSeconds() override { return device_->CardCpuSeconds(); }

  // Faults that have come to pass.
  uint64_t injected() const { return injected_; }

 private:
  enum class Fault {
    kNone,
    kHangAtStart,
    kHang,
    kLostInterrupt,
    kLate,
    kBusError,
    kFlipWritten,
    kFlipRead,
    kFlipBefore,
    kFlipAfter,
    kNothingDone,
  };
  struct Region {
    uint64_t address;
    uint64_t bytes;
  };

  Fault Draw();
  // Whether `fault` is due, here and now.
  bool Strikes(Fault fault) {
    if (fault_ != fault) {
      return false;
    }
    fault_ = Fault::kNone;
    ++injected_;
    return true;
  }
  void FlipBit(char* bytes, uint64_t n);
  Status FlipInMemory();

  std::unique_ptr<Device> device_;
  const FaultOptions options_;
  std::mt19937_64 rng_;
  std::vector<Region> regions_;  // allocated
  Fault fault_ = Fault::kNone;   // of this job, still to come
  bool silent_ = false;          // the host will not hear of the job that was started
  uint64_t late_cycles_ = 0;     // that it may still take; 0: there is none
  uint64_t jobs_ = 0;
  uint64_t injected_ = 0;
};

}  // namespace sluice
