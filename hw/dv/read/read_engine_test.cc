// cu_read_engine against a memory with random timing: every client gets its beats, every request
// its CRC, errors and nothing else; and the bus is busy when it can be.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "../common/testbench.h"
#include "device/rtlsim/axi_memory.h"
#include "read_engine_model.h"
#include "util/crc32c.h"

namespace sluice::dv {
namespace {

constexpr size_t kW = READ_ENGINE_BUS_BYTES;
constexpr size_t kClients = READ_ENGINE_CLIENTS;
constexpr bool kTails = READ_ENGINE_TAILS;

struct Request {
  uint64_t address;
  uint32_t bytes;
};

class Bench {
 public:
  explicit Bench(uint64_t seed)
      : rng(seed),
        memory(256 << 10, (rng() & 0xff'ffff) << 12),
        options{.seed = seed},
        axi("read", &memory, options, kW, SLUICE_AXI_READ(tb, m_axi_, _i, _o)) {
    std::generate_n(memory.data(), memory.size(), [&] { return static_cast<char>(rng()); });
    Idle();
    tb.Reset();
  }

  void Idle() {
    tb->req_valid_i = 0;
    tb->beat_ready_i = 0;
    tb->done_ready_i = 0;
    tb->halt_i = 0;
    tb->m_axi_rvalid_i = 0;
  }

  Request RandomRequest() {
    static constexpr uint32_t kLimits[] = {12, 80, 600, 5000, 40000};
    const uint32_t bytes = 5 + rng() % kLimits[rng() % 5];
    return {memory.base() + rng() % (memory.size() - bytes), bytes};
  }

  std::string_view Read(uint64_t address, uint64_t bytes) { return {memory.At(address), bytes}; }
  // Some beat of these bytes is answered with an error.
  bool Broken(uint64_t address, uint64_t bytes) const {
    return std::ranges::any_of(options.poison, [&](const auto& bad) {
      return bad.first / kW >= address / kW && bad.first / kW <= (address + bytes - 1) / kW;
    });
  }

  std::mt19937_64 rng;
  Testbench<Model> tb;
  rtlsim::Dram memory;
  rtlsim::MemoryOptions options;
  rtlsim::AxiReadPort axi;
};

// What a client does with its requests, in order; checks all that comes back.
struct Client {
  std::deque<Request> to_send, expect_beats, expect_done;
  uint64_t next_beat = 0;  // address; 0: at the start of a request
};

void Serve(Bench& b, std::vector<Client>& clients, unsigned percent, uint64_t max_cycles) {
  auto pending = [&] {
    for (const Client& c : clients) {
      if (!c.to_send.empty() || !c.expect_beats.empty() || !c.expect_done.empty()) {
        return true;
      }
    }
    return false;
  };
  const uint64_t limit = b.tb.cycle() + max_cycles;
  std::vector<bool> offered(kClients, false);
  while (pending()) {
    ASSERT_LT(b.tb.cycle(), limit) << "stuck";
    uint64_t valid = 0, beat_ready = 0, done_ready = 0;
    for (size_t i = 0; i < kClients; ++i) {
      Client& c = clients[i];
      offered[i] = !c.to_send.empty() && (offered[i] || Chance(b.rng, percent));
      if (offered[i]) {
        valid |= uint64_t{1} << i;
        std::memcpy(reinterpret_cast<char*>(&b.tb->req_addr_i) + 8 * i, &c.to_send.front().address,
                    8);
        std::memcpy(reinterpret_cast<char*>(&b.tb->req_bytes_i) + 4 * i, &c.to_send.front().bytes,
                    4);
      }
      beat_ready |= uint64_t{Chance(b.rng, percent)} << i;
      done_ready |= uint64_t{Chance(b.rng, percent)} << i;
    }
    b.tb->req_valid_i = valid;
    b.tb->beat_ready_i = beat_ready;
    b.tb->done_ready_i = done_ready;
    b.axi.Drive(b.tb.cycle());
    b.tb.Settle();
    ASSERT_TRUE(b.tb->m_axi_rready_o);
    for (size_t i = 0; i < kClients; ++i) {
      Client& c = clients[i];
      if (valid >> i & b.tb->req_ready_o >> i & 1) {
        c.expect_beats.push_back(c.to_send.front());
        c.expect_done.push_back(c.to_send.front());
        c.to_send.pop_front();
        offered[i] = false;
      }
      if (beat_ready >> i & b.tb->beat_valid_o >> i & 1) {
        ASSERT_FALSE(c.expect_beats.empty());
        const Request& r = c.expect_beats.front();
        if (c.next_beat == 0) {
          c.next_beat = r.address / kW * kW;
        }
        if (!b.Broken(c.next_beat, kW)) {
          ASSERT_EQ(GetBytes(b.tb->beat_data_o, kW, i * kW), b.Read(c.next_beat, kW));
        }
        c.next_beat += kW;
        if (c.next_beat >= r.address + r.bytes) {
          c.expect_beats.pop_front();
          c.next_beat = 0;
        }
      }
      if (done_ready >> i & b.tb->done_valid_o >> i & 1) {
        ASSERT_FALSE(c.expect_done.empty());
        const Request r = c.expect_done.front();
        c.expect_done.pop_front();
        const bool error = b.Broken(r.address, r.bytes);
        ASSERT_EQ((b.tb->done_error_o >> i & 1) != 0, error);
        const uint32_t expected = Crc32c(b.Read(r.address, r.bytes - 4));
        if (kTails && !error) {
          uint32_t stored = 0;
          std::memcpy(&stored, b.memory.At(r.address + r.bytes - 4), 4);
          ASSERT_EQ((b.tb->done_good_o >> i & 1) != 0, stored == MaskCrc(expected))
              << "bytes " << r.bytes << " lane " << r.address % kW;
          if (r.bytes >= 9) {
            ASSERT_EQ(GetBytes(b.tb->done_tail_o, 5, 5 * i), b.Read(r.address + r.bytes - 9, 5))
                << "bytes " << r.bytes << " lane " << r.address % kW;
          }
        } else if (!error) {
          uint32_t crc = 0;
          std::memcpy(&crc, GetBytes(b.tb->done_crc_o, 4, 4 * i).data(), 4);
          ASSERT_EQ(crc, expected) << "bytes " << r.bytes << " lane " << r.address % kW;
        }
      }
    }
    b.axi.Sample(b.tb.cycle());
    b.tb.Tick();
  }
  EXPECT_EQ(b.axi.fault(), "");
  b.Idle();
}

TEST(ReadEngine, RandomRequestsAndTiming) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  for (int round = 0; round < 12; ++round) {
    Bench b(seed + round);
    b.options.latency = b.rng() % 60;
    b.options.jitter = b.rng() % 40;
    b.options.take_stall_percent = b.rng() % 71;
    b.options.give_stall_percent = b.rng() % 71;
    std::vector<Client> clients(kClients);
    for (Client& c : clients) {
      for (int i = 0; i < 30; ++i) {
        c.to_send.push_back(b.RandomRequest());
      }
    }
    if (round % 3 == 0) {
      for (int i = 0; i < 4; ++i) {
        const uint64_t address = b.memory.base() + b.rng() % b.memory.size();
        b.options.poison.emplace_back(address, address + 1);
      }
    }
    Serve(b, clients, 20 + b.rng() % 81, 3'000'000);
    if (HasFatalFailure()) {
      return;
    }
  }
}

// Every lane and every length around one and two beats: where message, inverted bytes and stored
// CRC straddle beats.
TEST(ReadEngine, CrcAtEveryAlignment) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Bench b(seed);
  std::vector<Client> clients(kClients);
  for (size_t lane = 0; lane < kW; ++lane) {
    for (uint32_t bytes = 5; bytes <= 2 * kW + 6; bytes += 1 + (kW > 16 ? b.rng() % 5 : 0)) {
      clients[b.rng() % kClients].to_send.push_back({b.memory.base() + 4096 - kW + lane, bytes});
    }
  }
  Serve(b, clients, 100, 3'000'000);
}

// Blocks of which every other one has the right CRC.
TEST(ReadEngine, StoredCrcAtEveryAlignment) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Bench b(seed);
  for (size_t lane = 0; lane < kW; ++lane) {
    std::vector<Client> clients(kClients);
    uint64_t address = b.memory.base() + lane;
    for (uint32_t bytes = 9; bytes <= 2 * kW + 10; ++bytes) {
      if (bytes % 2 != 0) {
        const uint32_t stored = MaskCrc(Crc32c(b.Read(address, bytes - 4)));
        std::memcpy(b.memory.At(address + bytes - 4), &stored, 4);
      }
      clients[b.rng() % kClients].to_send.push_back({address, bytes});
      address += 4 * kW;
    }
    Serve(b, clients, 100, 3'000'000);
    if (HasFatalFailure()) {
      return;
    }
  }
}

// One client alone keeps the bus busy through 200 cycles of latency, block after block.
TEST(ReadEngine, OneClientSaturatesTheBus) {
  Bench b(1);
  b.options.latency = 200;
  std::vector<Client> clients(kClients);
  for (int i = 0; i < 60; ++i) {
    clients[0].to_send.push_back({b.memory.base() + 4101ull * i, 4101});
  }
  const uint64_t start = b.tb.cycle();
  Serve(b, clients, 100, 1'000'000);
  const double busy = double(b.axi.beats()) / double(b.tb.cycle() - start - 220);
  std::cout << "W=" << kW << ": " << 100 * busy << "% of cycles carry a beat\n";
  EXPECT_GT(busy, kW == 64 ? 0.93 : 0.97);
}

TEST(ReadEngine, HaltDrainsAndResetRestarts) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Bench b(seed);
  b.options.latency = 50;
  b.options.jitter = 20;
  b.options.take_stall_percent = b.options.give_stall_percent = 40;
  for (int round = 0; round < 20; ++round) {
    // Requests that nobody reads the beats of, until the engine stands or the halt comes.
    const uint64_t cycles = b.rng() % 400;
    for (uint64_t i = 0; i < cycles + 2000; ++i) {
      const bool halt = i >= cycles;
      const Request r = b.RandomRequest();
      b.tb->req_valid_i = 1;
      SetBytes(b.tb->req_addr_i, std::string(reinterpret_cast<const char*>(&r.address), 8));
      SetBytes(b.tb->req_bytes_i, std::string(reinterpret_cast<const char*>(&r.bytes), 4));
      b.tb->halt_i = halt;
      b.axi.Drive(b.tb.cycle());
      b.tb.Settle();
      if (halt && b.tb->idle_o) {
        break;
      }
      ASSERT_LT(i, cycles + 1999) << "never idle";
      b.axi.Sample(b.tb.cycle());
      b.tb.Tick();
    }
    EXPECT_EQ(b.axi.outstanding(), 0u);
    b.Idle();
    b.tb.Reset();
    std::vector<Client> clients(kClients);
    for (Client& c : clients) {
      c.to_send.push_back(b.RandomRequest());
    }
    Serve(b, clients, 50, 100'000);
    if (HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace sluice::dv
