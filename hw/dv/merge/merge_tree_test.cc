#include <gtest/gtest.h>

#include "Vmerge_node_16.h"
#include "Vmerge_node_64.h"
#include "Vmerge_node_8.h"
#include "Vmerge_tree_16_16.h"
#include "Vmerge_tree_2_64.h"
#include "Vmerge_tree_3_8.h"
#include "Vmerge_tree_4_16.h"
#include "Vmerge_tree_8_64.h"
#include "Vmerge_tree_9_8.h"
#include "merge_ports.h"

namespace sluice::dv {
namespace {

TEST(MergeNode, RandomV8) { TestRandomMerges<Vmerge_node_8>(2, 8, 1024, 1500); }
TEST(MergeNode, RandomV16) { TestRandomMerges<Vmerge_node_16>(2, 16, 1024, 1500); }
TEST(MergeNode, RandomV64) { TestRandomMerges<Vmerge_node_64>(2, 64, 1024, 1500); }
TEST(MergeNode, ThroughputV8) { TestMergeThroughput<Vmerge_node_8>("node V=8", 2, 8); }
TEST(MergeNode, ThroughputV64) { TestMergeThroughput<Vmerge_node_64>("node V=64", 2, 64); }

TEST(MergeTree, RandomN2V64) { TestRandomMerges<Vmerge_tree_2_64>(2, 64, 1024, 1000); }
TEST(MergeTree, RandomN3V8) { TestRandomMerges<Vmerge_tree_3_8>(3, 8, 1024, 400); }
TEST(MergeTree, RandomN4V16) { TestRandomMerges<Vmerge_tree_4_16>(4, 16, 1024, 400); }
TEST(MergeTree, RandomN8V64) { TestRandomMerges<Vmerge_tree_8_64>(8, 64, 1024, 400); }
TEST(MergeTree, RandomN9V8) { TestRandomMerges<Vmerge_tree_9_8>(9, 8, 1024, 300); }
TEST(MergeTree, RandomN16V16) { TestRandomMerges<Vmerge_tree_16_16>(16, 16, 1024, 200); }
TEST(MergeTree, ThroughputN9V8) { TestMergeThroughput<Vmerge_tree_9_8>("tree N=9 V=8", 9, 8); }
TEST(MergeTree, ThroughputN16V16) {
  TestMergeThroughput<Vmerge_tree_16_16>("tree N=16 V=16", 16, 16);
}
TEST(MergeTree, ThroughputN8V64) { TestMergeThroughput<Vmerge_tree_8_64>("tree N=8 V=64", 8, 64); }

// Two user keys of which one is the other and zero bytes look the same in every padded beat.
TEST(MergeNode, ZeroExtension) {
  std::mt19937_64 rng(1);
  Testbench<Vmerge_node_8> tb;
  for (size_t length : {0, 1, 7, 8, 9, 15, 16, 1000}) {
    for (size_t zeros : {1, 7, 8, 9, 24}) {
      const std::string shorter(length, 'a');
      const std::string longer = shorter + std::string(zeros, '\0');
      for (unsigned way = 0; way < 2; ++way) {
        std::vector<KeyRun> runs(2);
        runs[way] = {{shorter, 1}};
        runs[1 - way] = {{longer, 0xffffffffffffffff}};
        ExpectMerged(RunMerge(tb, runs, 8, 100, 100, rng).keys, MergeModel(runs));
      }
    }
  }
}

TEST(MergeTree, TiesGoToTheLowerWay) {
  std::mt19937_64 rng(1);
  Testbench<Vmerge_tree_9_8> tb;
  const std::vector<KeyRun> runs(9, KeyRun(3, Key{std::string(20, 't'), 0x501}));
  ExpectMerged(RunMerge(tb, runs, 8, 100, 100, rng).keys, MergeModel(runs));
}

TEST(MergeTree, AllWaysEmpty) {
  std::mt19937_64 rng(1);
  Testbench<Vmerge_tree_3_8> tb;
  const auto got = RunMerge(tb, std::vector<KeyRun>(3), 8, 50, 50, rng);
  EXPECT_TRUE(got.ended);
  EXPECT_TRUE(got.keys.empty());
}

}  // namespace
}  // namespace sluice::dv
