// RtlDevice over one Verilated model class. Instantiated once per configuration, by the sources
// generated from rtl_configuration.cc.in.

#pragma once

#include <fmt/format.h>
#include <verilated.h>

#include <cstring>
#include <memory>
#include <string>

#include "offload/rtlsim/rtl_device.h"
#include "sluice_abi.h"

namespace sluice::rtlsim {

template <typename Model>
class RtlDevice final : public Device {
 public:
  RtlDevice(std::string name, const RtlDeviceOptions& options)
      : options_(options),
        dram_(options.memory.bytes),
        model_(MakeModel(options, &context_)),
        index_read_("index", &dram_, options_.memory, 8, IndexReadSignals()),
        index_write_("index", &dram_, options_.memory, 8, IndexWriteSignals()),
        data_read_("in", &dram_, options_.memory, sizeof(model_->m_axi_in_rdata),
                   DataReadSignals()),
        data_write_("out", &dram_, options_.memory, sizeof(model_->m_axi_out_wdata),
                    DataWriteSignals()) {
    PowerUp();
    info_.name = std::move(name);
    info_.ways = ReadRegister(abi::capability::kWays);
    info_.value_bytes = ReadRegister(abi::capability::kValueBytes);
    info_.in_bytes = ReadRegister(abi::capability::kInBytes);
    info_.out_bytes = ReadRegister(abi::capability::kOutBytes);
    info_.max_key_bytes = ReadRegister(abi::capability::kMaxKeyBytes);
    info_.max_value_bytes = ReadRegister(abi::capability::kMaxValueBytes);
    info_.max_restarts = ReadRegister(abi::capability::kMaxRestarts);
    info_.max_blocks = ReadRegister(abi::capability::kMaxBlocks);
    info_.memory_bytes = dram_.size();
    info_.clock_mhz = 200;
  }
  ~RtlDevice() override { model_->final(); }

  const DeviceInfo& info() const override { return info_; }

  Status Allocate(uint64_t bytes, uint64_t* address) override {
    const uint64_t rounded = (bytes + 4095) & ~4095ull;
    if (rounded > dram_.size() - allocated_) {
      return Status::NotSupported(fmt::format("device memory: {} bytes asked, {} of {} left", bytes,
                                              dram_.size() - allocated_, dram_.size()));
    }
    *address = allocated_;
    allocated_ += rounded;
    return {};
  }
  void FreeAll() override {
    allocated_ = kFirstAddress;
    loaded_ = 0;
  }

  Status Write(uint64_t address, std::string_view bytes) override {
    if (!dram_.Contains(address, bytes.size())) {
      return Status::InvalidArgument(fmt::format("write outside device memory at {:#x}", address));
    }
    std::memcpy(dram_.data() + address, bytes.data(), bytes.size());
    loaded_ += bytes.size();
    return {};
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    if (!dram_.Contains(address, bytes)) {
      return Status::InvalidArgument(fmt::format("read outside device memory at {:#x}", address));
    }
    std::memcpy(out, dram_.data() + address, bytes);
    return {};
  }

  Status Start(uint64_t descriptor) override {
    WriteRegister(abi::control::kGie, 1);
    WriteRegister(abi::control::kIer, 1);
    WriteRegister(abi::control::kJobAddrLo, static_cast<uint32_t>(descriptor));
    WriteRegister(abi::control::kJobAddrHi, static_cast<uint32_t>(descriptor >> 32));
    WriteRegister(abi::control::kCtrl, 1u << abi::control::kCtrlStartShift);
    return PortFault();
  }

  Status Wait(uint8_t* status) override {
    const uint64_t read0 = data_read_.beats();
    uint64_t last_move = cycle_;
    while (!model_->irq) {
      if (Cycle()) {
        last_move = cycle_;
      }
      if (cycle_ - last_move > options_.hang_cycles) {
        return Status::IoError(fmt::format("device {}: no answer, and nothing moved for {} cycles",
                                           info_.name, options_.hang_cycles));
      }
      if (options_.progress && cycle_ % options_.progress_cycles == 0) {
        options_.progress((data_read_.beats() - read0) * info_.in_bytes, loaded_);
      }
    }
    WriteRegister(abi::control::kIsr, 1);
    WriteRegister(abi::control::kCtrl, 1u << abi::control::kCtrlContinueShift);
    *status = static_cast<uint8_t>(ReadRegister(abi::control::kStatus));
    return PortFault();
  }

  Status Reset() override {
    PowerUp();
    return {};
  }

 private:
  // Address 0 stays unused, so that a null address is never a valid one.
  static constexpr uint64_t kFirstAddress = 4096;

  // Models with assertions start with random bits wherever nothing is reset.
  static std::unique_ptr<Model> MakeModel(const RtlDeviceOptions& options,
                                          VerilatedContext* context) {
    context->randReset(2);
    context->randSeed(static_cast<int>(options.memory.seed % 0x7fff'ffff) + 1);
    return std::make_unique<Model>(context);
  }

  AxiReadSignals IndexReadSignals() {
    Model& m = *model_;
    return {&m.m_axi_index_araddr,  &m.m_axi_index_arlen,   &m.m_axi_index_arsize,
            &m.m_axi_index_arburst, &m.m_axi_index_arvalid, &m.m_axi_index_arready,
            &m.m_axi_index_rdata,   &m.m_axi_index_rresp,   &m.m_axi_index_rlast,
            &m.m_axi_index_rvalid,  &m.m_axi_index_rready};
  }
  AxiWriteSignals IndexWriteSignals() {
    Model& m = *model_;
    return {&m.m_axi_index_awaddr,  &m.m_axi_index_awlen,   &m.m_axi_index_awsize,
            &m.m_axi_index_awburst, &m.m_axi_index_awvalid, &m.m_axi_index_awready,
            &m.m_axi_index_wdata,   &m.m_axi_index_wstrb,   &m.m_axi_index_wlast,
            &m.m_axi_index_wvalid,  &m.m_axi_index_wready,  &m.m_axi_index_bresp,
            &m.m_axi_index_bvalid,  &m.m_axi_index_bready};
  }
  AxiReadSignals DataReadSignals() {
    Model& m = *model_;
    return {&m.m_axi_in_araddr,  &m.m_axi_in_arlen,   &m.m_axi_in_arsize, &m.m_axi_in_arburst,
            &m.m_axi_in_arvalid, &m.m_axi_in_arready, &m.m_axi_in_rdata,  &m.m_axi_in_rresp,
            &m.m_axi_in_rlast,   &m.m_axi_in_rvalid,  &m.m_axi_in_rready};
  }
  AxiWriteSignals DataWriteSignals() {
    Model& m = *model_;
    return {&m.m_axi_out_awaddr,  &m.m_axi_out_awlen,   &m.m_axi_out_awsize, &m.m_axi_out_awburst,
            &m.m_axi_out_awvalid, &m.m_axi_out_awready, &m.m_axi_out_wdata,  &m.m_axi_out_wstrb,
            &m.m_axi_out_wlast,   &m.m_axi_out_wvalid,  &m.m_axi_out_wready, &m.m_axi_out_bresp,
            &m.m_axi_out_bvalid,  &m.m_axi_out_bready};
  }

  // One clock cycle; true if any port moved.
  bool Cycle() {
    index_read_.Drive(cycle_);
    index_write_.Drive(cycle_);
    data_read_.Drive(cycle_);
    data_write_.Drive(cycle_);
    model_->ap_clk = 0;
    model_->eval();
    bool moved = index_read_.Sample(cycle_);
    moved |= index_write_.Sample(cycle_);
    moved |= data_read_.Sample(cycle_);
    moved |= data_write_.Sample(cycle_);
    model_->ap_clk = 1;
    model_->eval();
    context_.timeInc(1);
    ++cycle_;
    return moved;
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

  void WriteRegister(size_t offset, uint32_t value) {
    Model& m = *model_;
    m.s_axi_control_awaddr = static_cast<uint16_t>(offset);
    m.s_axi_control_awvalid = 1;
    m.s_axi_control_wdata = value;
    m.s_axi_control_wstrb = 0xf;
    m.s_axi_control_wvalid = 1;
    // Address and data are taken in the same cycle.
    model_->ap_clk = 0;
    model_->eval();
    while (!m.s_axi_control_awready) {
      Cycle();
      model_->ap_clk = 0;
      model_->eval();
    }
    Cycle();
    m.s_axi_control_awvalid = 0;
    m.s_axi_control_wvalid = 0;
    Cycle();
  }

  uint32_t ReadRegister(size_t offset) {
    Model& m = *model_;
    m.s_axi_control_araddr = static_cast<uint16_t>(offset);
    m.s_axi_control_arvalid = 1;
    Cycle();
    m.s_axi_control_arvalid = 0;
    while (!m.s_axi_control_rvalid) {
      Cycle();
    }
    const uint32_t value = m.s_axi_control_rdata;
    Cycle();
    return value;
  }

  Status PortFault() const {
    for (const AxiPort* port : std::initializer_list<const AxiPort*>{&index_read_, &index_write_,
                                                                     &data_read_, &data_write_}) {
      if (!port->fault().empty()) {
        return Status::IoError(port->fault());
      }
    }
    return {};
  }

  RtlDeviceOptions options_;
  DeviceInfo info_;
  Dram dram_;
  uint64_t allocated_ = kFirstAddress;
  uint64_t loaded_ = 0;
  uint64_t cycle_ = 0;
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  AxiReadPort index_read_;
  AxiWritePort index_write_;
  AxiReadPort data_read_;
  AxiWritePort data_write_;
};

}  // namespace sluice::rtlsim
