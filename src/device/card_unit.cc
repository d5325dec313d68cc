#include "device/card_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "sluice_abi.h"

namespace sluice {

namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

constexpr CardUnit::Clock::duration kResetTime = std::chrono::seconds(1);
constexpr double kTimesTheCycles = 10;  // Device::Wait
constexpr uint64_t kPage = 4096;
// What the bus answers a read with if nothing is there.
constexpr uint32_t kNobody = 0xffffffff;

}  // namespace

uint32_t CardUnit::Read(uint32_t offset) const {
  return card_->Read(static_cast<uint32_t>(abi::card::kUnit + unit_ * abi::card::kUnitStride) +
                     offset);
}

void CardUnit::Write(uint32_t offset, uint32_t value) {
  card_->Write(static_cast<uint32_t>(abi::card::kUnit + unit_ * abi::card::kUnitStride) + offset,
               value);
}

Status CardUnit::AwaitReset() const {
  for (const Clock::time_point began = Clock::now();;) {
    const uint32_t resets = card_->Read(abi::card::kReset);
    if (resets == kNobody || (resets >> unit_ & 1) == 0) {
      return {};
    }
    if (Clock::now() - began > kResetTime) {
      return Status::IoError(name_ + " does not come out of its reset");
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

Status CardUnit::CheckIdentity() const {
  SLUICE_RETURN_IF_ERROR(AwaitReset());  // meanwhile it does not answer
  const uint32_t id = Read(abi::capability::kId);
  if (id >> 16 != abi::kMagic) {
    return Status::IoError(
        fmt::format("{} does not answer as a Compaction Unit: {:#x}", name_, id));
  }
  if ((id & 0xffff) != abi::kVersion) {
    return Status::InvalidArgument(
        fmt::format("{} is of version {} of the interface, this program of {}", name_, id & 0xffff,
                    abi::kVersion));
  }
  return {};
}

void CardUnit::ReadCapabilities(DeviceInfo* info) const {
  info->ways = Read(abi::capability::kWays);
  info->value_bytes = Read(abi::capability::kValueBytes);
  info->in_bytes = Read(abi::capability::kInBytes);
  info->out_bytes = Read(abi::capability::kOutBytes);
  info->max_key_bytes = Read(abi::capability::kMaxKeyBytes);
  info->max_value_bytes = Read(abi::capability::kMaxValueBytes);
  info->max_restarts = Read(abi::capability::kMaxRestarts);
  info->max_blocks = Read(abi::capability::kMaxBlocks);
  const uint32_t features = Read(abi::capability::kFeatures);
  info->snappy = (features >> abi::capability::kFeaturesSnappyShift &
                  abi::capability::kFeaturesSnappyMask) != 0;
  info->bloom =
      (features >> abi::capability::kFeaturesBloomShift & abi::capability::kFeaturesBloomMask) != 0;
  info->compressors = features >> abi::capability::kFeaturesCompressorsShift &
                      abi::capability::kFeaturesCompressorsMask;
  info->xxh3 =
      (features >> abi::capability::kFeaturesXxh3Shift & abi::capability::kFeaturesXxh3Mask) != 0;
}

void CardUnit::SetWindow(uint64_t begin, uint64_t end) {
  card_->Write(Mine(abi::card::kWindowBase), static_cast<uint32_t>(begin / kPage));
  card_->Write(Mine(abi::card::kWindowLimit), static_cast<uint32_t>(end / kPage));
}

bool CardUnit::HasWindow(uint64_t begin, uint64_t end) const {
  return card_->Read(Mine(abi::card::kWindowBase)) == begin / kPage &&
         card_->Read(Mine(abi::card::kWindowLimit)) == end / kPage;
}

Status CardUnit::Reset() {
  card_->Write(abi::card::kReset, 1u << unit_);
  return AwaitReset();
}

void CardUnit::Start(uint64_t descriptor) {
  started_ = Clock::now();
  Write(abi::control::kGie, 1);
  Write(abi::control::kIer, 1);
  Write(abi::control::kJobAddrLo, static_cast<uint32_t>(descriptor));
  Write(abi::control::kJobAddrHi, static_cast<uint32_t>(descriptor >> 32));
  Write(abi::control::kCtrl, 1u << abi::control::kCtrlStartShift);
}

Status CardUnit::Wait(uint64_t cycles, double clock_mhz, const Patience& patience,
                      const std::function<void(Clock::duration)>& pause, uint8_t* status) {
  SLUICE_RETURN_IF_ERROR(WaitUntilDone(cycles, clock_mhz, patience, pause));
  Write(abi::control::kIsr, 1);
  Write(abi::control::kCtrl, 1u << abi::control::kCtrlContinueShift);
  *status = static_cast<uint8_t>(Read(abi::control::kStatus));
  return {};
}

void CardUnit::Sleep(Clock::duration elapsed) {
  std::this_thread::sleep_for(
      std::clamp<Clock::duration>(elapsed / 16, std::chrono::microseconds(20), milliseconds(1)));
}

Status CardUnit::WaitUntilDone(uint64_t cycles, double clock_mhz, const Patience& patience,
                               const std::function<void(Clock::duration)>& pause) {
  const Seconds most{std::max(patience.least_seconds,
                              kTimesTheCycles * static_cast<double>(cycles) / (clock_mhz * 1e6))};
  uint32_t moved = card_->Read(Mine(abi::card::kBeats));
  Clock::time_point checked = Clock::now();
  while (true) {
    const uint32_t control = Read(abi::control::kCtrl);
    if (control == kNobody) {
      return Status::IoError(fmt::format("{} is gone from the bus", name_));
    }
    if ((control >> abi::control::kCtrlDoneShift & 1) != 0) {
      return {};
    }
    const Clock::time_point now = Clock::now();
    if (now - started_ > most) {
      return Status::IoError(fmt::format("no answer in {:.1f} s", Seconds(now - started_).count()));
    }
    if (now - checked > Seconds(patience.stall_seconds)) {
      const uint32_t before = std::exchange(moved, card_->Read(Mine(abi::card::kBeats)));
      if (moved == before) {
        return Status::IoError(fmt::format("no answer, and nothing moved for {:.1f} s",
                                           Seconds(now - checked).count()));
      }
      checked = now;
    }
    pause(now - started_);
  }
}

}  // namespace sluice
