// The shell of an F2 instance around a Verilated sluice_f2, as the custom logic sees it: the host's
// accesses to BAR0 and BAR4 arrive on OCL and PCIS, and the DDR4 controller is AxiReadPort and
// AxiWritePort. It keeps the shell's rules, uses the freedom that they leave, and checks those that
// bind the custom logic (AWS_Shell_Interface_Specification and errata of the HDK, version 2.0.2):
//
//   - valid and its payload stay until they are taken; answers have the ID of what they answer;
//   - no answer to a write before its last beat, no beat too few or too many of a read;
//   - everything that is issued, on OCL or PCIS, is answered within 8 us: else the shell answers
//     with ones, and nothing on this port is good any more;
//   - at the memory: full width, no burst over 4 KiB.
//
// Bursts on PCIS have any length up to 4 KiB, begin at any byte, and are of full width. Up to 32
// are outstanding each way, of several IDs. There is no order between OCL, writes and reads on
// PCIS.
//
// Time passes in the accesses only. Thread-safe.

#pragma once

#include <fmt/format.h>
#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "device/f2/f2_bars.h"
#include "device/f2/f2_device.h"
#include "device/rtlsim/axi_memory.h"
#include "device/rtlsim/coverage.h"
#include "device/rtlsim/fair_mutex.h"

namespace sluice::dv {

struct ShellOptions {
  rtlsim::MemoryOptions memory{};
  uint32_t stall_percent = 20;  // of cycles in which the shell gives nothing, or takes nothing
  uint64_t ready_cycle = 0;     // from which on the memory is ready, after each reset
};

// For the host: how to wait for a card that is a thousand times slower than one.
inline F2DeviceOptions SimulatedCard(uint64_t memory_bytes) {
  return {.memory_bytes = memory_bytes,
          .clear_memory = false,
          .patience_seconds = 600,
          .stall_seconds = 300,
          .flush_seconds = 300};
}

template <typename Model>
class F2Shell : public F2Bars {
 public:
  explicit F2Shell(const ShellOptions& options)
      : options_(options),
        rng_(options.memory.seed),
        dram_(options.memory.bytes),
        model_(MakeModel(options, &context_)),
        ddr_read_("ddr", &dram_, options_.memory, kBeat,
                  SLUICE_AXI_READ(model_, cl_sh_ddr_axi_, , )),
        ddr_write_("ddr", &dram_, options_.memory, kBeat,
                   SLUICE_AXI_WRITE(model_, cl_sh_ddr_axi_, , )) {
    options_.memory.partial_strobes = true;
    PowerUp();
  }
  ~F2Shell() override {
    model_->final();
    rtlsim::WriteCoverage(&context_);
  }

  // ---- the host's accesses
  uint32_t Read(uint32_t offset) override {
    const std::lock_guard turn(mutex_);
    CyclesUntil([&] { return ocl_writes_.empty(); });  // a register is read after what was written
    ocl_read_ = {.address = offset, .issued = cycle_, .done = false};
    CyclesUntil([&] { return ocl_read_.done; });
    Pass();
    return fault_.empty() ? ocl_read_.data : ~uint32_t{0};
  }
  void Write(uint32_t offset, uint32_t value) override {
    const std::lock_guard turn(mutex_);
    ocl_writes_.push_back({.address = offset, .data = value});
    Pass();
  }
  uint64_t memory_bytes() const override { return dram_.size(); }
  void WriteMemory(uint64_t address, std::string_view bytes) override {
    const std::lock_guard turn(mutex_);
    while (!bytes.empty()) {
      const uint64_t n = SomeBytes(address, bytes.size());
      Post(address, bytes.substr(0, n));
      address += n;
      bytes.remove_prefix(n);
      CyclesUntil([&] { return posted_.size() < kMaxPosted; });
    }
  }
  void ReadMemory(uint64_t address, uint64_t bytes, char* out) override {
    const std::lock_guard turn(mutex_);
    std::memset(out, 0xff, bytes);
    while (bytes != 0) {
      const uint64_t n = SomeBytes(address, bytes);
      asked_.push_back({.id = SomeId(), .address = address, .bytes = n, .out = out});
      address += n;
      out += n;
      bytes -= n;
    }
    CyclesUntil([&] { return asked_.empty() && reads_.empty(); });
    Pass();
  }

  // ---- what else can happen
  // As when the image is loaded again: registers are as after power-up, memory is lost.
  void LoadImage() {
    const std::lock_guard turn(mutex_);
    PowerUp();
    std::fill_n(dram_.data(), dram_.size(), char{0x55});
  }

  // Of the model's rules: the first that was broken, as a sentence.
  std::string Fault() {
    const std::lock_guard turn(mutex_);
    for (const rtlsim::AxiPort* port :
         std::initializer_list<const rtlsim::AxiPort*>{&ddr_read_, &ddr_write_}) {
      if (!port->fault().empty()) {
        return port->fault();
      }
    }
    return fault_;
  }
  uint64_t cycle() {
    const std::lock_guard turn(mutex_);
    return cycle_;
  }
  rtlsim::Dram& dram() { return dram_; }
  // How memory behaves; may be changed between jobs.
  rtlsim::MemoryOptions& memory() { return options_.memory; }
  // The longest that the host had to wait on PCIS for an answer, in cycles.
  uint64_t longest() const { return longest_; }

 private:
  static constexpr uint64_t kBeat = 64;
  static constexpr uint8_t kBeatSize = 6;
  static constexpr uint64_t kMostBytes = 4096;
  static constexpr uint64_t kTimeout = 2000;  // 8 us at 250 MHz
  static constexpr size_t kMaxIssued = 32;    // each way
  static constexpr uint64_t kMaxBeats =
      256;  // of these bursts: more would take a slow shell too long
  static constexpr size_t kMaxPosted = 64;

  struct Beat {
    char data[kBeat] = {};
    uint64_t strobes = 0;
    bool last = false;
  };
  struct PostedWrite {
    uint16_t id;
    uint64_t address;
    std::deque<Beat> beats;
  };
  struct IssuedWrite {
    uint16_t id;
    uint64_t address;
    uint64_t issued;
    size_t beats;
    size_t given = 0;  // of them
    bool addressed = false;
  };
  struct ReadRequest {
    uint16_t id = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    char* out = nullptr;
    uint64_t issued = 0;
    uint64_t line = 0;  // of the next beat
    bool addressed = false;
  };
  struct RegisterWrite {
    uint32_t address;
    uint32_t data;
    uint64_t issued = 0;
    bool addressed = false;
    bool given = false;
  };
  struct RegisterRead {
    uint32_t address = 0;
    uint64_t issued = 0;
    bool addressed = false;
    bool done = true;
    uint32_t data = 0;
  };
  // What the custom logic holds up on a channel until it is taken.
  struct Held {
    std::string payload;
    bool waits = false;
  };

  static std::unique_ptr<Model> MakeModel(const ShellOptions& options, VerilatedContext* context) {
    context->threads(1);
    context->randReset(2);
    context->randSeed(static_cast<int>(options.memory.seed % 0x7fff'ffff) + 1);
    return std::make_unique<Model>(context);
  }

  bool Coin() { return rng_() % 100 >= options_.stall_percent; }
  uint16_t SomeId() { return static_cast<uint16_t>(std::array{0x20, 0x20, 0, 3}[rng_() % 4]); }
  // Of those left at `address`, how many make the next burst.
  uint64_t SomeBytes(uint64_t address, uint64_t left) {
    const uint64_t most = std::min(left, kMostBytes - address % kMostBytes);
    switch (rng_() % 8) {
      case 0:
        return std::min<uint64_t>(most, 1 + rng_() % 16);  // a store
      case 1:
        return most;  // as a DMA engine would
      default:
        // Lines, of which the first may begin anywhere, in what a PCIe packet holds.
        return std::min(most, (1 + rng_() % 8) * kBeat - address % kBeat);
    }
  }
  void Post(uint64_t address, std::string_view bytes) {
    PostedWrite write{SomeId(), address, {}};
    for (uint64_t at = address; at != address + bytes.size();) {
      Beat beat;
      std::memset(beat.data, static_cast<int>(rng_() & 0xff), kBeat);
      const uint64_t skip = at % kBeat;
      const uint64_t n = std::min(kBeat - skip, address + bytes.size() - at);
      std::memcpy(beat.data + skip, bytes.data() + (at - address), n);
      beat.strobes = (n == kBeat ? ~0ull : (1ull << n) - 1) << skip;
      at += n;
      beat.last = at == address + bytes.size();
      write.beats.push_back(beat);
    }
    posted_.push_back(std::move(write));
  }

  void Fail(const std::string& what) {
    if (fault_.empty()) {
      fault_ = fmt::format("shell, cycle {}: {}", cycle_, what);
      std::cerr << fault_ << "\n";
    }
  }

  // Some time between accesses, in which what was posted may or may not move.
  void Pass() {
    for (uint64_t n = rng_() % 60; n != 0; --n) {
      Cycle();
    }
  }
  // After a fault the shell has no answers any more.
  template <typename Done>
  void CyclesUntil(const Done& done) {
    while (!done() && fault_.empty()) {
      Cycle();
    }
    if (!fault_.empty()) {
      asked_.clear();
      reads_.clear();
    }
  }

  void PowerUp() {
    posted_.clear();
    issued_.clear();
    beats_.clear();
    asked_.clear();
    reads_.clear();
    ocl_writes_.clear();
    ocl_read_ = {};
    taken_ = {};
    for (Held* held : {&held_b_, &held_r_, &held_ocl_b_, &held_ocl_r_}) {
      *held = {};
    }
    ddr_read_.Reset();
    ddr_write_.Reset();
    Model& m = *model_;
    m.rst_main_n = 0;
    m.ddr_is_ready = 0;
    m.ocl_cl_awvalid = m.ocl_cl_wvalid = m.ocl_cl_arvalid = 0;
    m.ocl_cl_bready = m.ocl_cl_rready = 0;
    m.sh_cl_dma_pcis_awvalid = m.sh_cl_dma_pcis_wvalid = m.sh_cl_dma_pcis_arvalid = 0;
    m.sh_cl_dma_pcis_bready = m.sh_cl_dma_pcis_rready = 0;
    m.cl_sh_ddr_axi_rvalid = m.cl_sh_ddr_axi_bvalid = 0;
    m.cl_sh_ddr_axi_arready = m.cl_sh_ddr_axi_awready = m.cl_sh_ddr_axi_wready = 0;
    for (int i = 0; i < 8; ++i) {
      Edge();
    }
    m.rst_main_n = 1;
    ready_from_ = cycle_ + options_.ready_cycle;
    // The reset is registered on its way, and takes the cycle that slices need to become ready.
    for (int i = 0; i < 4; ++i) {
      Edge();
    }
  }
  void Edge() {
    model_->clk_main_a0 = 0;
    model_->eval();
    model_->clk_main_a0 = 1;
    model_->eval();
    context_.timeInc(1);
    ++cycle_;
  }

  void Cycle() {
    Model& m = *model_;
    m.ddr_is_ready = cycle_ >= ready_from_;
    Issue();
    DriveOcl();
    DrivePcis();
    ddr_read_.Drive(cycle_);
    ddr_write_.Drive(cycle_);
    if (m.ddr_is_ready == 0) {
      m.cl_sh_ddr_axi_arready = m.cl_sh_ddr_axi_awready = 0;
    }
    m.clk_main_a0 = 0;
    m.eval();
    SampleOcl();
    SamplePcisWrites();
    SamplePcisReads();
    ddr_read_.Sample(cycle_);
    ddr_write_.Sample(cycle_);
    CheckTimes();
    m.clk_main_a0 = 1;
    m.eval();
    context_.timeInc(1);
    ++cycle_;
  }

  // From here on the shell's clock runs, whether the custom logic takes the address or not.
  void Issue() {
    const auto room = [](size_t bursts, uint64_t beats) {
      return bursts < kMaxIssued && (beats < kMaxBeats || bursts == 0);
    };
    if (!posted_.empty() && room(issued_.size(), beats_.size()) && Coin()) {
      PostedWrite& write = posted_.front();
      issued_.push_back({write.id, write.address, cycle_, write.beats.size()});
      beats_.insert(beats_.end(), write.beats.begin(), write.beats.end());
      posted_.pop_front();
    }
    uint64_t beats = 0;
    for (const ReadRequest& read : reads_) {
      beats += (read.address + read.bytes - read.line + kBeat - 1) / kBeat;
    }
    if (!asked_.empty() && room(reads_.size(), beats) && Coin()) {
      asked_.front().issued = cycle_;
      asked_.front().line = asked_.front().address & ~(kBeat - 1);
      reads_.push_back(asked_.front());
      asked_.pop_front();
    }
  }

  // -------------------------------------------------------------------- OCL
  void DriveOcl() {
    Model& m = *model_;
    m.ocl_cl_bready = Coin();
    m.ocl_cl_rready = Coin();
    const bool write = !ocl_writes_.empty();
    if (write && ocl_writes_.front().issued == 0) {  // one at a time
      ocl_writes_.front().issued = cycle_;
    }
    if (Free(&m.ocl_cl_awvalid, &taken_.ocl_aw) && write && !ocl_writes_.front().addressed) {
      m.ocl_cl_awaddr = Somewhere(ocl_writes_.front().address);
      m.ocl_cl_awvalid = Coin();
    }
    if (Free(&m.ocl_cl_wvalid, &taken_.ocl_w) && write && !ocl_writes_.front().given) {
      m.ocl_cl_wdata = ocl_writes_.front().data;
      m.ocl_cl_wstrb = 0xf;
      m.ocl_cl_wvalid = Coin();
    }
    if (Free(&m.ocl_cl_arvalid, &taken_.ocl_ar) && !ocl_read_.done && !ocl_read_.addressed) {
      m.ocl_cl_araddr = Somewhere(ocl_read_.address);
      m.ocl_cl_arvalid = Coin();
    }
  }
  void SampleOcl() {
    Model& m = *model_;
    if (Taken("OCL B", &held_ocl_b_, m.cl_ocl_bvalid, m.ocl_cl_bready,
              [&] { return Bytes(m.cl_ocl_bresp); })) {
      if (ocl_writes_.empty() || !ocl_writes_.front().addressed || !ocl_writes_.front().given) {
        return Fail("OCL answers a write that was not made");
      }
      ocl_writes_.pop_front();
    }
    if (Taken("OCL R", &held_ocl_r_, m.cl_ocl_rvalid, m.ocl_cl_rready,
              [&] { return Bytes(m.cl_ocl_rresp) + Bytes(m.cl_ocl_rdata); })) {
      if (ocl_read_.done || !ocl_read_.addressed) {
        return Fail("OCL answers a read that was not made");
      }
      ocl_read_.done = true;
      ocl_read_.data = m.cl_ocl_rdata;
    }
    taken_.ocl_aw = m.ocl_cl_awvalid && m.cl_ocl_awready;
    taken_.ocl_w = m.ocl_cl_wvalid && m.cl_ocl_wready;
    taken_.ocl_ar = m.ocl_cl_arvalid && m.cl_ocl_arready;
    if (taken_.ocl_aw) {
      ocl_writes_.front().addressed = true;
    }
    if (taken_.ocl_w) {
      ocl_writes_.front().given = true;
    }
    ocl_read_.addressed |= taken_.ocl_ar;
  }

  // ------------------------------------------------------------------- PCIS
  void DrivePcis() {
    Model& m = *model_;
    m.sh_cl_dma_pcis_bready = Coin();
    m.sh_cl_dma_pcis_rready = Coin();
    const auto aw = std::ranges::find(issued_, false, &IssuedWrite::addressed);
    if (Free(&m.sh_cl_dma_pcis_awvalid, &taken_.aw) && aw != issued_.end()) {
      m.sh_cl_dma_pcis_awid = aw->id;
      m.sh_cl_dma_pcis_awaddr = aw->address;
      m.sh_cl_dma_pcis_awlen = static_cast<uint8_t>(aw->beats - 1);
      m.sh_cl_dma_pcis_awsize = kBeatSize;
      m.sh_cl_dma_pcis_awvalid = Coin();
    }
    // Data may come before its address, too.
    if (Free(&m.sh_cl_dma_pcis_wvalid, &taken_.w) && !beats_.empty()) {
      std::memcpy(&m.sh_cl_dma_pcis_wdata, beats_.front().data, kBeat);
      m.sh_cl_dma_pcis_wstrb = beats_.front().strobes;
      m.sh_cl_dma_pcis_wlast = beats_.front().last;
      m.sh_cl_dma_pcis_wvalid = Coin();
    }
    const auto ar = std::ranges::find(reads_, false, &ReadRequest::addressed);
    if (Free(&m.sh_cl_dma_pcis_arvalid, &taken_.ar) && ar != reads_.end()) {
      m.sh_cl_dma_pcis_arid = ar->id;
      m.sh_cl_dma_pcis_araddr = ar->address;
      m.sh_cl_dma_pcis_arlen =
          static_cast<uint8_t>((ar->address + ar->bytes - 1) / kBeat - ar->address / kBeat);
      m.sh_cl_dma_pcis_arsize = kBeatSize;
      m.sh_cl_dma_pcis_arvalid = Coin();
    }
  }
  void SamplePcisWrites() {
    Model& m = *model_;
    if (Taken("PCIS B", &held_b_, m.cl_sh_dma_pcis_bvalid, m.sh_cl_dma_pcis_bready,
              [&] { return Bytes(m.cl_sh_dma_pcis_bid) + Bytes(m.cl_sh_dma_pcis_bresp); })) {
      const auto write = std::ranges::find(issued_, m.cl_sh_dma_pcis_bid, &IssuedWrite::id);
      if (write == issued_.end() || !write->addressed || write->given != write->beats) {
        return Fail("PCIS answers a write that was not made");
      }
      longest_ = std::max(longest_, cycle_ - write->issued);
      issued_.erase(write);
    }
    taken_.aw = m.sh_cl_dma_pcis_awvalid && m.cl_sh_dma_pcis_awready;
    taken_.w = m.sh_cl_dma_pcis_wvalid && m.cl_sh_dma_pcis_wready;
    if (taken_.aw) {
      std::ranges::find(issued_, false, &IssuedWrite::addressed)->addressed = true;
    }
    if (taken_.w) {
      ++std::ranges::find_if(issued_, [](const IssuedWrite& w) {
          return w.given != w.beats;
        })->given;
      beats_.pop_front();
    }
  }
  void SamplePcisReads() {
    Model& m = *model_;
    if (Taken("PCIS R", &held_r_, m.cl_sh_dma_pcis_rvalid, m.sh_cl_dma_pcis_rready, [&] {
          return Bytes(m.cl_sh_dma_pcis_rid) + Bytes(m.cl_sh_dma_pcis_rresp) +
                 Bytes(m.cl_sh_dma_pcis_rlast) + Bytes(m.cl_sh_dma_pcis_rdata);
        })) {
      const auto read = std::ranges::find(reads_, m.cl_sh_dma_pcis_rid, &ReadRequest::id);
      if (read == reads_.end() || !read->addressed) {
        return Fail("PCIS answers a read that was not made");
      }
      const uint64_t end = read->address + read->bytes;
      const uint64_t from = std::max(read->line, read->address);
      const uint64_t to = std::min(read->line + kBeat, end);
      std::memcpy(read->out + (from - read->address),
                  reinterpret_cast<const char*>(&m.cl_sh_dma_pcis_rdata) + from % kBeat, to - from);
      read->line += kBeat;
      if ((read->line >= end) != (m.cl_sh_dma_pcis_rlast != 0)) {
        return Fail("rlast does not end the burst");
      }
      if (read->line >= end) {
        longest_ = std::max(longest_, cycle_ - read->issued);
        reads_.erase(read);
      }
    }
    taken_.ar = m.sh_cl_dma_pcis_arvalid && m.cl_sh_dma_pcis_arready;
    if (taken_.ar) {
      std::ranges::find(reads_, false, &ReadRequest::addressed)->addressed = true;
    }
  }

  // Withdraws what was taken at the last edge. Whether there is room for another one.
  static bool Free(uint8_t* valid, bool* taken) {
    if (std::exchange(*taken, false)) {
      *valid = 0;
    }
    return *valid == 0;
  }
  uint32_t Somewhere(uint32_t offset) {  // BAR0 repeats the registers
    return offset | static_cast<uint32_t>(rng_() % 8) << 16;
  }
  template <typename Port>
  static std::string Bytes(const Port& port) {
    return {reinterpret_cast<const char*>(&port), sizeof(port)};
  }
  // Whether the coming edge takes what the custom logic gives.
  template <typename Payload>
  bool Taken(const char* channel, Held* held, bool valid, bool ready, const Payload& payload) {
    if (held->waits && (!valid || payload() != held->payload)) {
      Fail(fmt::format("{} is withdrawn or changes before it is taken", channel));
    }
    held->waits = valid && !ready;
    if (held->waits) {
      held->payload = payload();
    }
    return valid && ready;
  }
  void CheckTimes() {
    const auto late = [&](uint64_t issued) { return issued != 0 && cycle_ - issued > kTimeout; };
    if ((!issued_.empty() && late(issued_.front().issued)) ||
        (!reads_.empty() && late(reads_.front().issued))) {
      Fail("no answer on PCIS within 8 us");
    }
    if ((!ocl_writes_.empty() && late(ocl_writes_.front().issued)) ||
        (!ocl_read_.done && late(ocl_read_.issued))) {
      Fail("no answer on OCL within 8 us");
    }
  }

  ShellOptions options_;
  rtlsim::FairMutex mutex_;  // held while anything below is used
  std::mt19937_64 rng_;
  rtlsim::Dram dram_;
  uint64_t cycle_ = 0;
  uint64_t ready_from_ = 0;
  uint64_t longest_ = 0;
  std::string fault_;
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  rtlsim::AxiReadPort ddr_read_;
  rtlsim::AxiWritePort ddr_write_;

  std::deque<PostedWrite> posted_;  // on the link
  std::deque<IssuedWrite> issued_;  // not answered
  std::deque<Beat> beats_;          // of these, not taken
  std::deque<ReadRequest> asked_;   // on the link
  std::deque<ReadRequest> reads_;   // issued and not answered
  std::deque<RegisterWrite> ocl_writes_;
  RegisterRead ocl_read_;
  Held held_b_, held_r_, held_ocl_b_, held_ocl_r_;
  struct {  // by the custom logic, at the last edge
    bool ocl_aw = false, ocl_w = false, ocl_ar = false, aw = false, w = false, ar = false;
  } taken_;
};

}  // namespace sluice::dv
