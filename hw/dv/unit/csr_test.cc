// cu_csr alone: registers, byte strobes, and the ap_ctrl_chain protocol, with random gaps on every
// AXI4-Lite channel.

#include <Vcu_csr_model.h>
#include <gtest/gtest.h>

#include "hw/dv/common/testbench.h"
#include "sluice_abi.h"

namespace sluice::dv {
namespace {

class Csr : public ::testing::Test {
 protected:
  Csr() : seed_(TestSeed()), rng_(seed_) {
    tb_->s_axi_bready_i = 0;
    tb_->s_axi_rready_i = 0;
    tb_.Reset();
  }

  void Cycle() {
    tb_.Settle();
    tb_.Tick();
    tb_.Settle();
  }

  void Write(size_t offset, uint32_t value, uint8_t strobes = 0xf) {
    bool address = false;
    bool data = false;
    tb_->s_axi_awaddr_i = static_cast<uint16_t>(offset);
    tb_->s_axi_wdata_i = value;
    tb_->s_axi_wstrb_i = strobes;
    for (int i = 0; i < 1000 && !(address && data); ++i) {
      // A valid that is up stays up.
      tb_->s_axi_awvalid_i = !address && (tb_->s_axi_awvalid_i || Chance(rng_, 50));
      tb_->s_axi_wvalid_i = !data && (tb_->s_axi_wvalid_i || Chance(rng_, 50));
      tb_.Settle();
      address |= tb_->s_axi_awvalid_i && tb_->s_axi_awready_o;
      data |= tb_->s_axi_wvalid_i && tb_->s_axi_wready_o;
      tb_.Tick();
    }
    tb_->s_axi_awvalid_i = 0;
    tb_->s_axi_wvalid_i = 0;
    ASSERT_TRUE(address && data);
    bool answered = false;
    for (int i = 0; i < 1000 && !answered; ++i) {
      tb_->s_axi_bready_i = Chance(rng_, 50);
      tb_.Settle();
      answered = tb_->s_axi_bvalid_o && tb_->s_axi_bready_i;
      tb_.Tick();
    }
    ASSERT_TRUE(answered);
    tb_->s_axi_bready_i = 0;
    tb_.Settle();
  }

  uint32_t Read(size_t offset) {
    tb_->s_axi_araddr_i = static_cast<uint16_t>(offset);
    tb_->s_axi_arvalid_i = 1;
    bool asked = false;
    for (int i = 0; i < 1000; ++i) {
      tb_->s_axi_rready_i = Chance(rng_, 50);
      tb_.Settle();
      const bool got = tb_->s_axi_rvalid_o && tb_->s_axi_rready_i;
      const uint32_t value = tb_->s_axi_rdata_o;
      asked |= tb_->s_axi_arvalid_i && tb_->s_axi_arready_o;
      tb_.Tick();
      tb_->s_axi_arvalid_i = !asked;
      if (got) {
        tb_->s_axi_rready_i = 0;
        tb_.Settle();
        return value;
      }
    }
    ADD_FAILURE() << "no answer to a read of " << offset;
    return 0;
  }

  // Takes the waiting job, as job control does, and completes it.
  void RunJob(uint8_t status) {
    ASSERT_TRUE(tb_->job_valid_o);
    tb_->job_ready_i = 1;
    Cycle();
    tb_->job_ready_i = 0;
    for (int i = 0; i < 5; ++i) {
      EXPECT_FALSE(tb_->job_valid_o);
      Cycle();
    }
    tb_->job_done_i = 1;
    tb_->job_status_i = status;
    Cycle();
    tb_->job_done_i = 0;
    tb_.Settle();
  }

  static bool Bit(uint32_t word, unsigned bit) { return (word >> bit & 1) != 0; }

  const uint64_t seed_;
  std::mt19937_64 rng_;
  Testbench<Vcu_csr_model> tb_;
};

TEST_F(Csr, SaysWhatItWasBuiltWith) {
  EXPECT_EQ(Read(abi::capability::kId), abi::kMagic << 16 | abi::kVersion);
  EXPECT_EQ(Read(abi::capability::kWays), 3u);
  EXPECT_EQ(Read(abi::capability::kValueBytes), 32u);
  EXPECT_EQ(Read(abi::capability::kInBytes), 64u);
  EXPECT_EQ(Read(abi::capability::kMaxKeyBytes), 512u);
  EXPECT_EQ(Read(abi::capability::kFeatures), 1u << abi::capability::kFeaturesSnappyShift |
                                                  1u << abi::capability::kFeaturesBloomShift |
                                                  4u << abi::capability::kFeaturesCompressorsShift |
                                                  1u << abi::capability::kFeaturesXxh3Shift);
  EXPECT_EQ(Read(0x80), 0u) << "no register there";
}

TEST_F(Csr, KeepsBytesThatStrobesLeaveOut) {
  Write(abi::control::kJobAddrLo, 0x11223344);
  Write(abi::control::kJobAddrLo, 0xaabbccdd, 0b0101);
  EXPECT_EQ(Read(abi::control::kJobAddrLo), 0x11bb33ddu);
  Write(abi::control::kJobAddrHi, 7);
  EXPECT_EQ(tb_->job_addr_o, 0x7'11bb'33ddull);
}

TEST_F(Csr, RunsAJobAndWaitsForContinue) {
  using namespace abi::control;  // NOLINT(google-build-using-namespace): register names
  EXPECT_TRUE(Bit(Read(kCtrl), kCtrlIdleShift));
  Write(kGie, 1);
  Write(kIer, 1);
  Write(kCtrl, 1u << kCtrlStartShift);
  EXPECT_FALSE(tb_->interrupt_o);
  RunJob(9);
  EXPECT_TRUE(tb_->interrupt_o);
  const uint32_t ctrl = Read(kCtrl);
  EXPECT_TRUE(Bit(ctrl, kCtrlDoneShift));
  EXPECT_TRUE(Bit(ctrl, kCtrlReadyShift));
  EXPECT_EQ(Read(kStatus), 9u);
  EXPECT_EQ(Read(kIsr), 1u);

  // A second start waits until the first completion has been acknowledged.
  Write(kCtrl, 1u << kCtrlStartShift);
  EXPECT_FALSE(tb_->job_valid_o);
  EXPECT_FALSE(Bit(Read(kCtrl), kCtrlReadyShift));
  Write(kIsr, 1);
  EXPECT_FALSE(tb_->interrupt_o);
  Write(kCtrl, 1u << kCtrlContinueShift);
  EXPECT_FALSE(Bit(Read(kCtrl), kCtrlDoneShift));
  RunJob(0);
  EXPECT_TRUE(tb_->interrupt_o);
  EXPECT_EQ(Read(kStatus), 0u);
}

TEST_F(Csr, InterruptsOnlyWhenEnabled) {
  using namespace abi::control;  // NOLINT(google-build-using-namespace): register names
  Write(kCtrl, 1u << kCtrlStartShift);
  RunJob(0);
  EXPECT_FALSE(tb_->interrupt_o);
  EXPECT_EQ(Read(kIsr), 0u);
  Write(kCtrl, 1u << kCtrlContinueShift);
  Write(kIer, 3);
  Write(kCtrl, 1u << kCtrlStartShift);
  RunJob(0);
  EXPECT_EQ(Read(kIsr), 3u);
  EXPECT_FALSE(tb_->interrupt_o);
  Write(kGie, 1);
  EXPECT_TRUE(tb_->interrupt_o);
}

}  // namespace
}  // namespace sluice::dv
