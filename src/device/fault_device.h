// A device that fails at a chosen rate, for tests of what must cope with that.
//
// A job, which begins with the first write to its slot's memory, has one fault at most, whatever
// other jobs are in flight:
//  * hang: the start is not answered, or the job is started and never ends;
//  * lost interrupt: the job ends, and the host does not hear of it;
//  * late: the host gives the job up, and what it makes reaches memory before the reset has ended;
//  * bus error: the job ends with READ_ERROR or WRITE_ERROR and no completion record;
//  * wrong result: one bit is flipped in what is written to the job's memory, in what is read from
//    it or in there, before the job or after it; or the device says that it is done and has done
//    nothing.
// After the first three, calls to Start fail until Reset. A reset may fail, too, and change
// nothing. A job that is silent uses up the cycles that Wait allows at once.
//
// What no layer above a Device can see is not among them: a write that reports success and leaves
// an older table in its place.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "util/mutex.h"

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
  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override;
  void Free(uint32_t slot) override;
  Status Write(uint64_t address, std::string_view bytes) override;
  Status Read(uint64_t address, uint64_t bytes, char* out) override;
  Status Start(uint64_t descriptor) override;
  Status Wait(uint64_t cycles, uint8_t* status) override;
  Status Reset() override;
  std::optional<double> TransferSeconds(uint64_t bytes) const override {
    return device_->TransferSeconds(bytes);
  }
  double CardCpuSeconds() override { return device_->CardCpuSeconds(); }

  // Faults that have come to pass.
  uint64_t injected() const {
    const MutexLock lock(mutex_);
    return injected_;
  }

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
  // In a slot.
  struct Job {
    std::vector<Region> regions;
    bool begun = false;
    Fault fault = Fault::kNone;  // still to come
  };

  Fault Draw() SLUICE_REQUIRES(mutex_);
  // The job whose memory has `address`; null if none has.
  Job* Find(uint64_t address) SLUICE_REQUIRES(mutex_);
  // Whether `fault` of `job` is due, here and now.
  bool Strikes(Job* job, Fault fault) SLUICE_REQUIRES(mutex_) {
    if (job == nullptr || job->fault != fault) {
      return false;
    }
    job->fault = Fault::kNone;
    ++injected_;
    return true;
  }
  void FlipBit(char* bytes, uint64_t n) SLUICE_REQUIRES(mutex_);
  // In memory of the job that runs.
  Status FlipInMemory();

  std::unique_ptr<Device> device_;
  const FaultOptions options_;
  mutable Mutex mutex_;  // not held while the device does something
  std::mt19937_64 rng_ SLUICE_GUARDED_BY(mutex_);
  std::map<uint32_t, Job> jobs_ SLUICE_GUARDED_BY(mutex_);  // by slot
  uint64_t begun_ SLUICE_GUARDED_BY(mutex_) = 0;            // jobs
  uint64_t injected_ SLUICE_GUARDED_BY(mutex_) = 0;
  // Of the job that was started last. Only used by the calls of which there is one at a time.
  uint64_t descriptor_ = 0;
  bool silent_ = false;       // the host will not hear of it
  uint64_t late_cycles_ = 0;  // that it may still take; 0: there is none
};

}  // namespace sluice
