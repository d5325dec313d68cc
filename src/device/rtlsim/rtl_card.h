// A simulated card: one Verilated model of sluice_unit, of sluice_card with several units, or of a
// kernel (hw/kernel), its memory and its clock. Nothing moves unless a caller waits for it: time
// passes in the calls below.
//
// Thread-safe: threads that wait for different units take turns at the clock.

#pragma once

#include <fmt/format.h>
#include <verilated.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>

#include "device/rtlsim/axi_memory.h"
#include "device/rtlsim/coverage.h"
#include "device/rtlsim/fair_mutex.h"
#include "device/rtlsim/rtl_device.h"
#include "sluice_abi.h"

namespace sluice::rtlsim {

template <typename Model, unsigned kUnits>
class RtlCard {
 public:
  explicit RtlCard(const RtlDeviceOptions& options)
      : options_(options),
        dram_(options.memory.bytes),
        model_(MakeModel(options, &context_)),
        index_read_("index", &dram_, options_.memory, 8, SLUICE_AXI_READ(model_, m_axi_index_, , )),
        index_write_("index", &dram_, options_.memory, 8,
                     SLUICE_AXI_WRITE(model_, m_axi_index_, , )),
        data_read_("in", &dram_, options_.memory, sizeof(model_->m_axi_in_rdata),
                   SLUICE_AXI_READ(model_, m_axi_in_, , )),
        data_write_("out", &dram_, options_.memory, sizeof(model_->m_axi_out_wdata),
                    SLUICE_AXI_WRITE(model_, m_axi_out_, , )) {
    PowerUp();
  }
  ~RtlCard() {
    model_->final();
    WriteCoverage(&context_);
  }

  // The card does not keep two threads from the same bytes: units have memory of their own.
  Dram& dram() { return dram_; }

  // How memory behaves; may be changed between jobs.
  MemoryOptions& memory() { return options_.memory; }

  // Where the model's variables can be found by name.
  VerilatedContext& context() { return context_; }

  // Registers of a unit.
  uint32_t Read(unsigned unit, size_t offset) {
    const std::lock_guard turn(mutex_);
    return ReadRegister(Window(unit) + offset);
  }
  void Write(unsigned unit, size_t offset, uint32_t value) {
    const std::lock_guard turn(mutex_);
    WriteRegister(Window(unit) + offset, value);
  }

  // The memory that a unit may use, in whole pages. A bare one has the card for itself.
  void SetWindow(unsigned unit, uint64_t begin, uint64_t end) {
    if constexpr (kHasCardRegisters) {
      const std::lock_guard turn(mutex_);
      WriteRegister(abi::card::kWindowBase + unit * sizeof(uint32_t),
                    static_cast<uint32_t>(begin / kPageBytes));
      WriteRegister(abi::card::kWindowLimit + unit * sizeof(uint32_t),
                    static_cast<uint32_t>(end / kPageBytes));
    }
  }

  // Until the unit's interrupt line is up. IoError if that takes more than `cycles` since the one
  // in which the job was started, or if the unit moves nothing for too long. `progress(beats)`: of
  // the data read port, by all units, since the call.
  Status Wait(unsigned unit, uint64_t started, uint64_t cycles,
              const std::function<void(uint64_t)>& progress) {
    const uint64_t most = std::min(cycles, options_.job_cycles);
    std::unique_lock turn(mutex_);
    const uint64_t read0 = data_read_.beats();
    uint32_t moved = Moved(unit);
    uint64_t checked = cycle_;
    for (uint64_t n = 1; (Interrupts() >> unit & 1) == 0; ++n) {
      Cycle();
      if (cycle_ - started > most) {
        return Status::IoError(fmt::format("no answer in {} cycles", most));
      }
      if (cycle_ - checked > options_.hang_cycles) {
        const uint32_t before = moved;
        moved = Moved(unit);
        checked = cycle_;
        if (moved == before) {
          return Status::IoError(
              fmt::format("no answer, and nothing moved for {} cycles", options_.hang_cycles));
        }
      }
      if (progress && cycle_ % options_.progress_cycles == 0) {
        progress(data_read_.beats() - read0);
      }
      if (kUnits > 1 && n % kTurnCycles == 0 && mutex_.wanted()) {
        turn.unlock();
        turn.lock();
      }
    }
    return {};
  }

  Status Reset(unsigned unit) {
    const std::lock_guard turn(mutex_);
    if constexpr (!kHasCardRegisters) {
      PowerUp();
      return {};
    }
    WriteRegister(abi::card::kReset, 1u << unit);
    const uint64_t start = cycle_;
    while ((ReadRegister(abi::card::kReset) >> unit & 1) != 0) {
      if (cycle_ - start > options_.hang_cycles) {
        return Status::IoError(fmt::format("unit {} does not come out of its reset", unit));
      }
    }
    return {};
  }

  // IoError if a port has been used against the rules.
  Status PortFault() {
    const std::lock_guard turn(mutex_);
    for (const AxiPort* port : std::initializer_list<const AxiPort*>{&index_read_, &index_write_,
                                                                     &data_read_, &data_write_}) {
      if (!port->fault().empty()) {
        return Status::IoError(port->fault());
      }
    }
    return {};
  }

  uint64_t cycle() {
    const std::lock_guard turn(mutex_);
    return cycle_;
  }

 private:
  static constexpr uint64_t kTurnCycles = 256;
  static constexpr uint64_t kPageBytes = 4096;
  // A kernel is a card of one unit. Verilator gives its port `interrupt` this name.
  static constexpr bool kIsKernel = requires(const Model& m) { m.__SYM__interrupt; };
  static constexpr bool kHasCardRegisters = kUnits > 1 || kIsKernel;

  static constexpr size_t Window(unsigned unit) {
    return abi::card::kUnit + unit * abi::card::kUnitStride;
  }

  // Models with assertions start with random bits wherever nothing is reset. They are made for one
  // thread: the context need not start others.
  static std::unique_ptr<Model> MakeModel(const RtlDeviceOptions& options,
                                          VerilatedContext* context) {
    context->threads(1);
    context->randReset(2);
    context->randSeed(static_cast<int>(options.memory.seed % 0x7fff'ffff) + 1);
    return std::make_unique<Model>(context);
  }

  void Cycle() {
    index_read_.Drive(cycle_);
    index_write_.Drive(cycle_);
    data_read_.Drive(cycle_);
    data_write_.Drive(cycle_);
    model_->ap_clk = 0;
    model_->eval();
    index_read_.Sample(cycle_);
    index_write_.Sample(cycle_);
    data_read_.Sample(cycle_);
    data_write_.Sample(cycle_);
    model_->ap_clk = 1;
    model_->eval();
    context_.timeInc(1);
    ++cycle_;
  }

  // The units' interrupt lines.
  uint32_t Interrupts() const {
    if constexpr (kIsKernel) {
      return model_->__SYM__interrupt;
    } else {
      return model_->irq;
    }
  }

  // Changes whenever the unit moves a beat.
  uint32_t Moved(unsigned unit) {
    if constexpr (!kHasCardRegisters) {
      return static_cast<uint32_t>(index_read_.beats() + index_write_.beats() + data_read_.beats() +
                                   data_write_.beats());
    }
    return ReadRegister(abi::card::kBeats + unit * sizeof(uint32_t));
  }

  void PowerUp() {
    Model& m = *model_;
    m.ap_rst_n = 0;
    m.s_axi_control_awvalid = 0;
    m.s_axi_control_wvalid = 0;
    m.s_axi_control_arvalid = 0;
    m.s_axi_control_bready = 1;
    m.s_axi_control_rready = 1;
    index_read_.Reset();
    index_write_.Reset();
    data_read_.Reset();
    data_write_.Reset();
    // The ports do not listen yet: until the first clock edge their signals mean nothing.
    for (int i = 0; i < 8; ++i) {
      m.ap_clk = 0;
      m.eval();
      m.ap_clk = 1;
      m.eval();
    }
    m.ap_rst_n = 1;
    Cycle();
  }

  // Cycles up to and with the one in which `ready` is seen. A unit that never is will be found to
  // hang by who waits for its job.
  void CycleUntil(const uint8_t& ready) {
    bool taken = false;
    for (const uint64_t start = cycle_; !taken && cycle_ - start < options_.hang_cycles;) {
      model_->ap_clk = 0;
      model_->eval();
      taken = ready != 0;
      read_data_ = model_->s_axi_control_rdata;
      Cycle();
    }
  }

  void WriteRegister(size_t offset, uint32_t value) {
    Model& m = *model_;
    m.s_axi_control_awaddr = static_cast<uint16_t>(offset);
    m.s_axi_control_awvalid = 1;
    m.s_axi_control_wdata = value;
    m.s_axi_control_wstrb = 0xf;
    m.s_axi_control_wvalid = 1;
    // Address and data are taken in the same cycle.
    CycleUntil(m.s_axi_control_awready);
    m.s_axi_control_awvalid = 0;
    m.s_axi_control_wvalid = 0;
    CycleUntil(m.s_axi_control_bvalid);
  }

  uint32_t ReadRegister(size_t offset) {
    Model& m = *model_;
    m.s_axi_control_araddr = static_cast<uint16_t>(offset);
    m.s_axi_control_arvalid = 1;
    CycleUntil(m.s_axi_control_arready);
    m.s_axi_control_arvalid = 0;
    CycleUntil(m.s_axi_control_rvalid);
    return read_data_;
  }

  RtlDeviceOptions options_;
  FairMutex mutex_;  // held while anything below is used
  Dram dram_;
  uint64_t cycle_ = 0;
  uint32_t read_data_ = 0;  // of the control port, in the last cycle of CycleUntil
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  AxiReadPort index_read_;
  AxiWritePort index_write_;
  AxiReadPort data_read_;
  AxiWritePort data_write_;
};

}  // namespace sluice::rtlsim
