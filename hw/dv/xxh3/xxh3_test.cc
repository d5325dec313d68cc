// XXH3 of streams of words against the library's: every length, and what comes back to back.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "Vcu_xxh3_16.h"
#include "Vcu_xxh3_32.h"
#include "Vcu_xxh3_64.h"
#include "Vcu_xxh3_8.h"
#include "hw/dv/common/testbench.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice::dv {
namespace {

// With which probability, in percent, either side pauses in a cycle.
struct Pauses {
  unsigned in = 0;
  unsigned out = 0;
};

std::string RandomBytes(std::mt19937_64& rng, size_t n) {
  std::string bytes(n, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(rng());
  }
  return bytes;
}

template <typename Model, size_t kWidth>
class Hasher {
 public:
  Hasher() { bench_.Reset(); }

  // Compares the hash of each message; returns the cycles from the first word to the last hash.
  uint64_t Run(std::mt19937_64& rng, const std::vector<std::string>& messages, Pauses pauses) {
    const uint64_t begin = bench_.cycle();
    size_t message = 0;
    size_t at = 0;
    size_t checked = 0;
    bool offered = false;
    bool ready = false;
    while (checked < messages.size()) {
      EXPECT_LT(bench_.cycle() - begin, 200'000'000u);
      // What is offered stays until it is taken.
      offered = message < messages.size() && (offered || !Chance(rng, pauses.in));
      ready = !Chance(rng, pauses.out);
      bench_->valid_i = offered;
      bench_->hash_ready_i = ready;
      SetBytes(bench_->data_i, Junk(rng));
      if (offered) {
        const std::string& bytes = messages[message];
        const size_t n = std::min(kWidth, bytes.size() - at);
        // Behind the last byte anything may stand.
        std::string word = Junk(rng);
        word.replace(0, n, bytes, at, n);
        SetBytes(bench_->data_i, word);
        bench_->bytes_i = n;
        bench_->last_i = at + n == bytes.size();
      }
      bench_.Settle();
      if (bench_->hash_valid_o && ready) {
        const std::string& bytes = messages[checked];
        EXPECT_EQ(bench_->hash_o, static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size())))
            << "message " << checked << " of " << bytes.size() << " bytes";
        ++checked;
      }
      if (offered && bench_->ready_o) {
        offered = false;
        at += kWidth;
        if (at >= messages[message].size()) {
          ++message;
          at = 0;
        }
      }
      bench_.Tick();
      if (::testing::Test::HasFailure()) {
        break;
      }
    }
    return bench_.cycle() - begin;
  }

 private:
  static std::string Junk(std::mt19937_64& rng) { return RandomBytes(rng, kWidth); }

  Testbench<Model> bench_;
};

template <size_t kWidth>
struct ModelOf;
template <>
struct ModelOf<8> {
  using Model = Vcu_xxh3_8;
};
template <>
struct ModelOf<16> {
  using Model = Vcu_xxh3_16;
};
template <>
struct ModelOf<32> {
  using Model = Vcu_xxh3_32;
};
template <>
struct ModelOf<64> {
  using Model = Vcu_xxh3_64;
};

template <typename Width>
class Xxh3 : public ::testing::Test {
 protected:
  static constexpr size_t kWidth = Width::value;

  std::mt19937_64 rng_{TestSeed()};
  Hasher<typename ModelOf<kWidth>::Model, kWidth> hasher_;
};

using Widths =
    ::testing::Types<std::integral_constant<size_t, 8>, std::integral_constant<size_t, 16>,
                     std::integral_constant<size_t, 32>, std::integral_constant<size_t, 64>>;
TYPED_TEST_SUITE(Xxh3, Widths);

TYPED_TEST(Xxh3, EveryLength) {
  std::vector<std::string> messages;
  for (size_t n = 0; n <= 1100; ++n) {
    messages.push_back(RandomBytes(this->rng_, n));
  }
  this->hasher_.Run(this->rng_, messages, {});
}

TYPED_TEST(Xxh3, AnyLengthsWithPauses) {
  for (const Pauses pauses : {Pauses{0, 0}, Pauses{30, 0}, Pauses{0, 90}, Pauses{50, 98}}) {
    std::vector<std::string> messages;
    for (int i = 0; i < 150; ++i) {
      const size_t most = this->rng_() % 3 == 0 ? 9000 : 600;
      // Around the blocks of the hash, too.
      const size_t n = this->rng_() % 4 == 0 ? 1024 * (this->rng_() % 5) + this->rng_() % 70
                                             : this->rng_() % most;
      messages.push_back(RandomBytes(this->rng_, n));
    }
    this->hasher_.Run(this->rng_, messages, pauses);
  }
}

TYPED_TEST(Xxh3, OneWordPerCycle) {
  constexpr size_t kMessages = 50;
  // Shorter ones wait for the end of those before them.
  for (const size_t bytes : {this->kWidth * 64, size_t{4096}, size_t{4101}, size_t{16001}}) {
    std::vector<std::string> messages;
    for (size_t i = 0; i < kMessages; ++i) {
      messages.push_back(RandomBytes(this->rng_, bytes));
    }
    const uint64_t words = kMessages * ((bytes + this->kWidth - 1) / this->kWidth);
    EXPECT_LE(this->hasher_.Run(this->rng_, messages, {}), words + 90) << bytes << " bytes";
  }
  // How long they take if nothing else holds them up.
  for (const size_t bytes : {0, 3, 8, 16, 32, 128, 240, 241}) {
    const std::vector<std::string> messages(kMessages, RandomBytes(this->rng_, bytes));
    fmt::print("V = {}: {} bytes in {:.1f} cycles\n", this->kWidth, bytes,
               static_cast<double>(this->hasher_.Run(this->rng_, messages, {})) / kMessages);
  }
}

}  // namespace
}  // namespace sluice::dv
