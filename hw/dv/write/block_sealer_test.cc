// The sealer against the software trailers, its handles, and what a block costs.

#include <gtest/gtest.h>

#include "Vblock_sealer_16.h"
#include "Vblock_sealer_64.h"
#include "Vblock_sealer_8.h"
#include "Vblock_sealer_xxh3_16.h"
#include "Vblock_sealer_xxh3_64.h"
#include "Vblock_sealer_xxh3_8.h"
#include "rocksdb_table/format.h"
#include "streams.h"
#include "table/format.h"

namespace sluice::dv {
namespace {

template <typename M, size_t bytes, bool xxh3 = false>
struct Shape {
  using Model = M;
  static constexpr size_t kBytes = bytes;
  static constexpr bool kXxh3 = xxh3;
};

using Handle = std::pair<uint64_t, uint32_t>;

template <typename S>
class BlockSealer : public testing::Test, protected Randomised {
 protected:
  struct Case {
    std::vector<Beat> in;
    std::vector<bool> compressed;  // with each of them; counts with a block's last
    std::vector<Beat> out;
    std::vector<Handle> handles;
    size_t blocks = 0;
    bool xxh3 = S::kXxh3;        // and with it
    uint32_t checksum_base = 0;  // of the checksums
  };

  void AddBlock(const std::string& content, uint64_t* offset, Case* c) {
    const auto beats = Beats(content, S::kBytes);
    for (size_t i = 0; i < beats.size(); ++i) {
      c->in.push_back({beats[i], i + 1 == beats.size(), 0});
      c->compressed.push_back(rng_() % 2 != 0);
      c->out.push_back({beats[i], false, 0});
    }
    std::string trailer;
    AppendBlockTrailer(content, c->compressed.back() ? Compression::kSnappy : Compression::kNone,
                       &trailer);
    if (c->xxh3) {
      RocksFooter footer;
      footer.checksum_base = c->checksum_base;
      EncodeFixed32(trailer.data() + 1,
                    RocksBlockChecksum(RocksChecksum::kXxh3, content + trailer[0]) +
                        footer.ChecksumModifier(*offset));
    }
    c->out.push_back({trailer, false, 0});
    c->handles.push_back({*offset, static_cast<uint32_t>(content.size())});
    *offset += content.size() + kBlockTrailerBytes;
    ++c->blocks;
  }

  Case Tables(int tables, size_t longest) {
    Case c;
    c.xxh3 = S::kXxh3 && rng_() % 4 != 0;
    c.checksum_base = rng_() % 3 == 0 ? 0 : static_cast<uint32_t>(rng_());
    uint64_t offset = 0;
    for (int table = 0; table < tables; ++table) {
      for (size_t n = rng_() % 12; n > 0; --n) {
        AddBlock(Bytes(4 + rng_() % (longest - 3)), &offset, &c);
      }
      const Beat token{"", true, table + 1 == tables ? kTaskEnd : kTableEnd};
      c.in.push_back(token);
      c.compressed.push_back(rng_() % 2 != 0);
      c.out.push_back(token);
      offset = 0;
    }
    return c;
  }

  uint64_t Run(const Case& c, unsigned in_percent, unsigned out_percent, unsigned handle_percent) {
    Testbench<typename S::Model> dut;
    dut->in_valid_i = dut->out_ready_i = dut->handle_ready_i = 0;
    dut->xxh3_i = c.xxh3;
    dut->checksum_base_i = c.checksum_base;
    dut.Reset();
    Source<Beat> source;
    for (const Beat& beat : c.in) source.Push(beat);
    Sink<Beat> sink;
    Sink<Handle> handles;
    const uint64_t start = dut.cycle();
    const uint64_t limit = 100 * c.out.size() + 100;
    while (dut.cycle() - start < limit &&
           (sink.items().size() < c.out.size() || handles.items().size() < c.handles.size())) {
      DriveBeat(dut, source, rng_, in_percent);
      if (dut->in_valid_i) dut->in_compressed_i = c.compressed[c.in.size() - source.left()];
      dut->out_ready_i = sink.Drive(rng_, out_percent);
      dut->handle_ready_i = handles.Drive(rng_, handle_percent);
      dut.Settle();
      sink.Sample(dut->out_valid_o, OutBeat<S::kBytes>(dut));
      handles.Sample(dut->handle_valid_o, {dut->handle_offset_o, dut->handle_size_o});
      if (dut->in_valid_i && dut->in_ready_o) source.Taken();
      dut.Tick();
    }
    EXPECT_TRUE(sink.items() == c.out);
    EXPECT_TRUE(handles.items() == c.handles);
    EXPECT_TRUE(sink.stable() && handles.stable());
    return dut.cycle() - start;
  }
};

using Shapes =
    testing::Types<Shape<Vblock_sealer_8, 8>, Shape<Vblock_sealer_16, 16>,
                   Shape<Vblock_sealer_64, 64>, Shape<Vblock_sealer_xxh3_8, 8, true>,
                   Shape<Vblock_sealer_xxh3_16, 16, true>, Shape<Vblock_sealer_xxh3_64, 64, true>>;
TYPED_TEST_SUITE(BlockSealer, Shapes);

TYPED_TEST(BlockSealer, EveryLength) {
  typename TestFixture::Case c;
  uint64_t offset = 0;
  const size_t most = TypeParam::kXxh3 ? 300 : 4 + 3 * TypeParam::kBytes;
  for (size_t n = 4; n < most; ++n) {
    this->AddBlock(this->Bytes(n), &offset, &c);
  }
  SCOPED_TRACE(this->Trace(0));
  this->Run(c, 100, 100, 100);
}

TYPED_TEST(BlockSealer, RandomTables) {
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(this->Trace(round));
    const size_t longest = round % 2 == 0 ? 2 * TypeParam::kBytes : 2000;
    this->Run(this->Tables(6, longest), this->Pressure(), this->Pressure(), this->Pressure());
    if (this->HasFailure()) return;
  }
}

// A block costs its trailer's cycle and nothing more, once the words' FIFO has filled.
TYPED_TEST(BlockSealer, OneCyclePerBlock) {
  SCOPED_TRACE(this->Trace(0));
  if constexpr (TypeParam::kXxh3) {
    // Of shorter ones the hash takes longer.
    typename TestFixture::Case c;
    uint64_t offset = 0;
    for (int i = 0; i < 100; ++i) {
      this->AddBlock(this->Bytes(64 * TypeParam::kBytes + i), &offset, &c);
    }
    EXPECT_LE(this->Run(c, 100, 100, 100), c.in.size() + c.blocks + 90);
  } else {
    const auto c = this->Tables(100, 20 * TypeParam::kBytes);
    EXPECT_LE(this->Run(c, 100, 100, 100), c.in.size() + c.blocks + 8);
  }
}

}  // namespace
}  // namespace sluice::dv
