// cu_job_control alone: the bench is the index port, the ways and the write engines.

#include <Vcu_job_control_model.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>

#include "hw/dv/common/testbench.h"
#include "sluice_abi.h"
#include "util/coding.h"

namespace sluice::dv {
namespace {

using abi::MergeStatus;
namespace job = abi::job;
namespace completion = abi::completion;

constexpr uint64_t kJobAddr = 0x1000;
constexpr uint64_t kCompletionAddr = 0x2000;
constexpr int kWays = 3;

// A 64-bit lane of a packed array port.
template <typename Port>
void SetLane(Port& port, int lane, uint64_t value) {
  std::memcpy(reinterpret_cast<char*>(&port) + 8 * lane, &value, 8);
}

class JobControl : public ::testing::Test {
 protected:
  JobControl() : seed_(TestSeed()), rng_(seed_) {
    Set(job::kHead, abi::kMagic | uint64_t{abi::kVersion} << job::kHeadVersionShift |
                        2ull << job::kHeadRunsShift | 1ull << job::kHeadCompressShift |
                        1ull << job::kHeadXxh3Shift);
    Set(job::kChecksumBase, 0x89abcdef);
    Set(job::kBlock, Block(10, 6));
    Set(job::kFilterAddr, 0x12000);
    Set(job::kFilterBytes, 0x1000);
    Set(job::kTableBytes, 1 << 20);
    for (uint64_t s = 0; s < job::kSnapshotCount; ++s) {
      Set(job::kSnapshot + 8 * s, 77 + s);
    }
    Set(job::kDataAddr, 0x10000);
    Set(job::kDataBytes, 0x1000);
    Set(job::kIndexAddr, 0x20000);
    Set(job::kIndexBytes, 0x2000);
    Set(job::kCompletionAddr, kCompletionAddr);
    for (int w = 0; w < kWays; ++w) {
      Set(job::kRun + 8 * w, (0x3000 + 0x100 * w) | uint64_t(5 + w) << job::kRunCountShift);
    }
    tb_->ports_idle_i = 1;
    tb_->ports_move_i = 1;
    tb_->data_done_i = 0;
    tb_->index_done_i = 0;
    tb_->filter_done_i = 0;
    tb_.Reset();
  }

  static uint64_t Block(uint64_t bloom_bits, uint64_t bloom_probes) {
    return 4096 | 16ull << job::kBlockRestartIntervalShift |
           bloom_bits << job::kBlockBloomBitsShift | bloom_probes << job::kBlockBloomProbesShift;
  }

  void Set(size_t offset, uint64_t word) { memory_[kJobAddr + offset] = word; }

  // One cycle as the surroundings of the module live it.
  void Cycle() {
    tb_->req_ready_i = Chance(rng_, 50);
    tb_->beat_valid_i = 0;
    tb_->done_valid_i = 0;
    tb_->done_error_i = 0;
    if (!beats_.empty() && Chance(rng_, 60)) {
      tb_->beat_valid_i = 1;
      tb_->beat_data_i = beats_.front();
    } else if (beats_.empty() && asked_) {
      tb_->done_valid_i = 1;
      tb_->done_error_i = fail_read_of_ == asked_address_;
    }
    tb_->record_ready_i = Chance(rng_, 70);
    tb_->job_addr_i = job_addr_;
    tb_.Settle();
    const bool taken = tb_->job_ready_o && tb_->job_valid_i;
    Observe();
    tb_.Tick();
    tb_->job_valid_i = tb_->job_valid_i && !taken;
    // A write engine is done some time after the counts stand still, or the record's last word.
    tb_->index_done_i = record_addr_ ? record_over_ : merge_over_ && ++cycles_since_merge_ > 2;
    tb_->filter_done_i = filters_over_;
    tb_.Settle();
  }

  void Observe() {
    if (tb_->beat_valid_i) {
      beats_.pop_front();
    } else if (tb_->done_valid_i) {
      asked_ = false;
    }
    if (tb_->req_valid_o && tb_->req_ready_i) {
      asked_ = true;
      asked_address_ = tb_->req_addr_o;
      for (uint64_t a = 0; a < tb_->req_bytes_o; a += 8) {
        beats_.push_back(memory_[tb_->req_addr_o + a]);
      }
    }
    for (int w = 0; w < kWays; ++w) {
      if (tb_->way_load_o >> w & 1) {
        loads_[w] = {tb_->way_tables_o, tb_->way_count_o};
      }
    }
    started_ |= tb_->way_start_o;
    if (tb_->range_we_o) {
      range_[tb_->range_sel_o].push_back(tb_->range_data_o);
    }
    write_started_ |= tb_->write_start_o;
    if (tb_->record_start_o) {
      record_addr_ = tb_->record_addr_o;
    }
    if (tb_->record_valid_o && tb_->record_ready_i) {
      if (tb_->record_last_o) {
        record_over_ = true;
      } else {
        record_.push_back(tb_->record_data_o);
      }
    }
    if (tb_->job_done_o) {
      status_ = static_cast<MergeStatus>(tb_->job_status_o);
    }
  }

  // Runs a job to its end; `merge` is called in every cycle once the ways have been started.
  template <typename Merge>
  MergeStatus Run(Merge merge) {
    tb_->job_valid_i = 1;
    for (int i = 0; i < 5000 && !status_; ++i) {
      Cycle();
      if (started_) {
        merge();
      }
    }
    EXPECT_TRUE(status_.has_value()) << "job control hangs";
    return status_.value_or(MergeStatus::kDevice);
  }

  void FinishMerge() {
    merge_over_ = filters_over_ = true;
    tb_->data_done_i = 1;
  }

  uint64_t Record(size_t offset) const { return record_.at(offset / 8); }

  const uint64_t seed_;
  std::mt19937_64 rng_;
  uint64_t job_addr_ = kJobAddr;
  Testbench<Vcu_job_control_model> tb_;
  std::map<uint64_t, uint64_t> memory_;
  std::deque<uint64_t> beats_;
  bool asked_ = false;
  uint64_t asked_address_ = 0;
  uint64_t fail_read_of_ = 0;
  std::map<int, std::pair<uint64_t, uint32_t>> loads_;
  bool started_ = false;
  std::map<int, std::vector<uint64_t>> range_;
  bool write_started_ = false;
  bool merge_over_ = false;
  int cycles_since_merge_ = 0;
  bool filters_over_ = false;
  std::optional<uint64_t> record_addr_;
  std::vector<uint64_t> record_;
  bool record_over_ = false;
  std::optional<MergeStatus> status_;
};

TEST_F(JobControl, HandsOutTheDescriptorAndReports) {
  Set(job::kHead, memory_[kJobAddr] | 1ull << job::kHeadBottommostShift |
                      1ull << job::kHeadHasBeginShift | 1ull << job::kHeadHasEndShift);
  Set(job::kRange, 11 | 8ull << job::kRangeEndBytesShift);
  Set(job::kBeginAddr, 0x5000);
  Set(job::kEndAddr, 0x6000);
  memory_[0x5000] = 0x1111111111111111;
  memory_[0x5008] = 0x2222222222222222;
  memory_[0x6000] = 0x3333333333333333;
  const MergeStatus status = Run([&] {
    EXPECT_EQ(tb_->bottommost_o, 1);
    EXPECT_EQ(tb_->block_bytes_o, 4096u);
    EXPECT_EQ(tb_->restart_interval_o, 16u);
    EXPECT_EQ(tb_->compress_o, 1);
    EXPECT_EQ(tb_->xxh3_o, 1);
    EXPECT_EQ(tb_->checksum_base_o, 0x89abcdefu);
    EXPECT_EQ(tb_->bloom_bits_o, 10u);
    EXPECT_EQ(tb_->bloom_probes_o, 6u);
    EXPECT_EQ(tb_->filter_addr_o, 0x12000u);
    EXPECT_EQ(tb_->filter_limit_o, 0x1000u);
    EXPECT_EQ(tb_->table_bytes_o, 1ull << 20);
    for (unsigned s = 0; s < job::kSnapshotCount; ++s) {
      EXPECT_EQ(GetBytes(tb_->snapshots_o, 7, 7 * s),
                std::string({static_cast<char>(77 + s), 0, 0, 0, 0, 0, 0}));
    }
    EXPECT_EQ(tb_->begin_bytes_o, 11u);
    EXPECT_EQ(tb_->end_bytes_o, 8u);
    tb_->input_records_i = 10;
    tb_->output_records_i = 7;
    tb_->dropped_records_i = 3;
    tb_->input_checksum_i = 50;
    tb_->output_checksum_i = 30;
    tb_->dropped_checksum_i = 20;
    tb_->data_used_i = 640;
    tb_->index_used_i = 128;
    tb_->filter_used_i = 56;
    tb_->content_sum_i = 1234;
    tb_->tables_i = 1;
    SetLane(tb_->input_bytes_i, 0, 100);
    SetLane(tb_->input_bytes_i, 1, 20);
    SetLane(tb_->input_bytes_i, 2, 3);
    FinishMerge();
  });
  EXPECT_EQ(status, MergeStatus::kOk);
  EXPECT_EQ(loads_[0], std::pair(uint64_t{0x3000}, 5u));
  EXPECT_EQ(loads_[1], std::pair(uint64_t{0x3100}, 6u));
  EXPECT_EQ(loads_[2].second, 0u) << "the third way has no run";
  EXPECT_EQ(range_[0], (std::vector<uint64_t>{0x1111111111111111, 0x222222}));
  EXPECT_EQ(range_[1], (std::vector<uint64_t>{0x3333333333333333}));
  EXPECT_TRUE(write_started_);
  EXPECT_EQ(record_addr_, kCompletionAddr);
  ASSERT_EQ(record_.size(), completion::kBytes / 8);
  EXPECT_EQ(Record(completion::kStatus), uint64_t{abi::kMagic} << completion::kStatusMagicShift);
  EXPECT_EQ(Record(completion::kInputRecords), 10u);
  EXPECT_EQ(Record(completion::kOutputRecords), 7u);
  EXPECT_EQ(Record(completion::kDroppedRecords), 3u);
  EXPECT_EQ(Record(completion::kInputBytes), 123u);
  EXPECT_EQ(Record(completion::kDataBytes), 640u);
  EXPECT_EQ(Record(completion::kIndexBytes), 128u);
  EXPECT_EQ(Record(completion::kTables), 1u);
  EXPECT_EQ(Record(completion::kFilterBytes), 56u);
  EXPECT_EQ(Record(completion::kContentSum), 1234u);
  EXPECT_GT(Record(completion::kCycles), 0u);
}

// Each of the bits that follow changes the parity of what is kept of the descriptor.
TEST_F(JobControl, AWholeDescriptorHasItsParity) {
  for (const size_t offset :
       {job::kTableBytes, job::kSnapshot, job::kDataAddr, job::kFilterBytes, job::kChecksumBase}) {
    SCOPED_TRACE(offset);
    Set(offset, memory_[kJobAddr + offset] ^ 1 << 22);
    status_.reset();
    started_ = merge_over_ = record_over_ = false;
    record_addr_.reset();
    EXPECT_EQ(Run([&] {
                EXPECT_EQ(tb_->parity_error_o, 0);
                FinishMerge();
              }),
              MergeStatus::kOk);
  }
}

TEST_F(JobControl, AJobEndsWithItsLastFilter) {
  int cycles = 0;
  const MergeStatus status = Run([&] {
    FinishMerge();
    filters_over_ = ++cycles > 100;
  });
  EXPECT_EQ(status, MergeStatus::kOk);
  EXPECT_GT(cycles, 100);
}

TEST_F(JobControl, WithoutFiltersTheirAreaDoesNotMatter) {
  Set(job::kBlock, Block(0, 0));
  Set(job::kFilterAddr, 0x12345);
  EXPECT_EQ(Run([&] { FinishMerge(); }), MergeStatus::kOk);
}

TEST_F(JobControl, RefusesWhatTheUnitIsNotBuiltFor) {
  const std::map<uint64_t, uint64_t> good = memory_;
  const std::vector<std::pair<size_t, uint64_t>> bad = {
      {job::kHead,
       (good.at(kJobAddr) & ~(0xffull << job::kHeadRunsShift)) | 4ull << job::kHeadRunsShift},
      {job::kHead, good.at(kJobAddr) & ~(0xffull << job::kHeadRunsShift)},
      {job::kBlock, 4096},
      {job::kBlock, 16ull << job::kBlockRestartIntervalShift},
      {job::kTableBytes, 0},
      {job::kRange, 513},
      {job::kRange, 513ull << job::kRangeEndBytesShift},
      {job::kDataAddr, 0x10008},
      {job::kIndexBytes, 0x2001},
      {job::kBeginAddr, 0x5001},
      {job::kBlock, (abi::kBlockBytesLimit + 1) | 16ull << job::kBlockRestartIntervalShift},
      {job::kBlock, Block(10, 0)},
      {job::kBlock, Block(10, 31)},
      {job::kFilterAddr, 0x12008},
      {job::kFilterBytes, 0x2001},
  };
  for (const auto& [offset, word] : bad) {
    SCOPED_TRACE(offset);
    memory_ = good;
    Set(offset, word);
    status_.reset();
    record_.clear();
    record_over_ = false;
    record_addr_.reset();
    EXPECT_EQ(Run([] {}), MergeStatus::kBadDescriptor);
    ASSERT_EQ(record_.size(), completion::kBytes / 8);
    EXPECT_EQ(Record(completion::kStatus) & 0xff, uint64_t(MergeStatus::kBadDescriptor));
    EXPECT_FALSE(started_);
  }
}

TEST_F(JobControl, RefusesTablesThatAreNotAligned) {
  for (const uint64_t shift : {1, 4}) {
    SCOPED_TRACE(shift);
    Set(job::kRun + 8, 0x3100 + shift + (6ull << job::kRunCountShift));
    status_.reset();
    record_.clear();
    record_over_ = false;
    record_addr_.reset();
    EXPECT_EQ(Run([] {}), MergeStatus::kBadDescriptor);
    EXPECT_EQ(Record(completion::kStatus) & 0xff, uint64_t(MergeStatus::kBadDescriptor));
    EXPECT_FALSE(started_);
  }
}

TEST_F(JobControl, WithoutARunTablesDoNotMatter) {
  Set(job::kRun + 16, ~uint64_t{0});
  EXPECT_EQ(Run([&] { FinishMerge(); }), MergeStatus::kOk);
  EXPECT_EQ(loads_[2].second, 0u);
}

TEST_F(JobControl, RefusesADescriptorThatIsNotAligned) {
  job_addr_ = kJobAddr + 8;
  EXPECT_EQ(Run([] {}), MergeStatus::kBadDescriptor);
  EXPECT_EQ(asked_address_, 0u) << "nothing may be read";
  EXPECT_FALSE(record_addr_.has_value());
}

TEST_F(JobControl, WritesNothingForWhatIsNoDescriptor) {
  Set(job::kHead, 0x1234);
  EXPECT_EQ(Run([] {}), MergeStatus::kBadDescriptor);
  EXPECT_FALSE(record_addr_.has_value());
}

TEST_F(JobControl, ReportsReadErrors) {
  fail_read_of_ = kJobAddr;
  EXPECT_EQ(Run([] {}), MergeStatus::kReadError);
  EXPECT_FALSE(record_addr_.has_value());
}

// What comes with an error may be anything: no way may follow an address that came with one.
TEST_F(JobControl, StartsNoWayIfTheRunListCannotBeRead) {
  fail_read_of_ = kJobAddr + job::kRun;
  EXPECT_EQ(Run([] {}), MergeStatus::kReadError);
  EXPECT_EQ(Record(completion::kStatus) & 0xff, uint64_t(MergeStatus::kReadError));
  EXPECT_FALSE(started_);
}

TEST_F(JobControl, NamesTheLowestWayWithAFault) {
  const MergeStatus status = Run([&] {
    SetLane(tb_->fault_offset_i, 1, 4242);
    SetLane(tb_->fault_offset_i, 2, 9);
    tb_->fault_table_i = 9ull << 32 | 3ull << 16;
    tb_->fault_status_i = 11u << 16 | 5u << 8;
    tb_->fault_valid_i = 0b110;
  });
  EXPECT_EQ(status, MergeStatus::kBlockChecksum);
  EXPECT_EQ(Record(completion::kStatus) & 0xffff, 1u << 8 | 5u);
  EXPECT_EQ(
      Record(completion::kStatus) >> completion::kStatusTableShift & completion::kStatusTableMask,
      3u);
  EXPECT_EQ(Record(completion::kFaultOffset), 4242u);
}

TEST_F(JobControl, NamesAFaultOfAnIndex) {
  EXPECT_EQ(Run([&] {
              SetLane(tb_->fault_offset_i, 2, 9);
              tb_->fault_status_i = 5u << 16;
              tb_->fault_valid_i = 0b100;
              tb_->index_fault_offset_i = 4242;
              tb_->index_fault_table_i = 3;
              tb_->index_fault_status_i = 11;
              tb_->index_fault_valid_i = 0b010;
            }),
            MergeStatus(11));
  EXPECT_EQ(Record(completion::kStatus) & 0xffff, 1u << 8 | 11u);
  EXPECT_EQ(
      Record(completion::kStatus) >> completion::kStatusTableShift & completion::kStatusTableMask,
      3u);
  EXPECT_EQ(Record(completion::kFaultOffset), 4242u);
}

TEST_F(JobControl, NamesAFaultOfABlockBeforeOneOfItsIndex) {
  EXPECT_EQ(Run([&] {
              SetLane(tb_->fault_offset_i, 2, 9);
              tb_->fault_status_i = 5u << 16;
              tb_->fault_valid_i = 0b100;
              tb_->index_fault_offset_i = 4242;
              tb_->index_fault_status_i = 11;
              tb_->index_fault_valid_i = 0b100;
            }),
            MergeStatus::kBlockChecksum);
  EXPECT_EQ(Record(completion::kFaultOffset), 9u);
}

// While the ports come to rest, another index can have a fault.
TEST_F(JobControl, NamesTheFaultThatEndedTheJob) {
  bool late = false;
  tb_->ports_idle_i = 0;
  EXPECT_EQ(Run([&] {
              tb_->index_fault_offset_i = late ? 9 : 4242;
              tb_->index_fault_table_i = late ? 8 : 3;
              tb_->index_fault_status_i = late ? 5 : 11;
              tb_->index_fault_valid_i = late ? 0b011 : 0b010;
              late = tb_->halt_o;
              tb_->ports_idle_i = late;
            }),
            MergeStatus(11));
  EXPECT_EQ(Record(completion::kStatus) & 0xffffffff, 3u << 16 | 1u << 8 | 11u);
  EXPECT_EQ(Record(completion::kFaultOffset), 4242u);
}

// As a stray bit can make one.
TEST_F(JobControl, AFaultWithoutACauseIsNoSuccess) {
  EXPECT_EQ(Run([&] {
              tb_->fault_status_i = 0;
              tb_->fault_valid_i = 0b010;
            }),
            MergeStatus::kEndToEnd);
}

TEST_F(JobControl, NoticesRecordsThatGotLost) {
  EXPECT_EQ(Run([&] {
              tb_->input_records_i = 2;
              tb_->output_records_i = 2;
              tb_->input_checksum_i = 5;
              tb_->output_checksum_i = 6;
              FinishMerge();
            }),
            MergeStatus::kEndToEnd);
}

// A pipeline that stands still although its ports are free: the job ends, and can say so in memory.
TEST_F(JobControl, EndsAJobThatStandsStill) {
  tb_->ports_move_i = 0;
  EXPECT_EQ(Run([] {}), MergeStatus::kDevice);
  EXPECT_EQ(Record(completion::kStatus) & 0xff, uint64_t(MergeStatus::kDevice));
}

// Ports that stay busy: the job ends all the same, but nothing can be written, and no job be taken,
// before they are idle.
TEST_F(JobControl, DoesNotWaitForPortsWithoutEnd) {
  const auto busy = [&] {
    tb_->ports_idle_i = 0;
    tb_->data_full_i = 1;
  };
  tb_->ports_move_i = 0;
  EXPECT_EQ(Run(busy), MergeStatus::kDevice);
  EXPECT_FALSE(record_addr_.has_value());
  for (int i = 0; i < 300; ++i) {
    Cycle();
    EXPECT_TRUE(tb_->halt_o);
    EXPECT_TRUE(tb_->pipe_rst_no) << "what is on the bus must not be forgotten";
  }
  started_ = false;
  status_.reset();
  EXPECT_EQ(Run([] {}), MergeStatus::kDevice) << "refused";
  EXPECT_FALSE(started_);
  tb_->ports_idle_i = 1;
  tb_->data_full_i = 0;
  Cycle();
  status_.reset();
  EXPECT_EQ(Run([&] { FinishMerge(); }), MergeStatus::kOk);
}

// A job that is started about when the ports become idle is refused or done, and never forgotten.
TEST_F(JobControl, AnswersAJobThatComesAsThePortsBecomeIdle) {
  const auto busy = [&] {
    tb_->ports_idle_i = 0;
    tb_->data_full_i = 1;
  };
  for (int start = 0; start < 10; ++start) {
    SCOPED_TRACE(start);
    tb_->ports_move_i = 0;
    EXPECT_EQ(Run(busy), MergeStatus::kDevice);
    tb_->ports_move_i = 1;
    started_ = merge_over_ = filters_over_ = record_over_ = false;
    cycles_since_merge_ = 0;
    record_addr_.reset();
    record_.clear();
    status_.reset();
    for (int i = 0; i < 10; ++i) {
      if (i == 5) {
        tb_->ports_idle_i = 1;
        tb_->data_full_i = 0;
        tb_->data_done_i = 0;
      }
      if (i == start) {
        tb_->job_valid_i = 1;
      }
      Cycle();
    }
    for (int i = 0; i < 5000 && !status_; ++i) {
      Cycle();
      if (started_) {
        FinishMerge();
      }
    }
    ASSERT_TRUE(status_.has_value()) << "the job is lost";
    EXPECT_TRUE(*status_ == MergeStatus::kOk || *status_ == MergeStatus::kDevice);
    started_ = merge_over_ = filters_over_ = record_over_ = false;
    cycles_since_merge_ = 0;
    record_addr_.reset();
    record_.clear();
    status_.reset();
    tb_->data_done_i = 0;
    for (int i = 0; i < 10; ++i) {
      Cycle();
    }
  }
}

TEST_F(JobControl, WaitsForThePortsBeforeItEnds) {
  int waited = 0;
  EXPECT_EQ(Run([&] {
              tb_->ports_idle_i = waited > 50;
              tb_->data_full_i = 1;
              if (tb_->halt_o) {
                ++waited;
              } else {
                EXPECT_TRUE(waited == 0 || waited > 50);
              }
            }),
            MergeStatus::kDataFull);
  EXPECT_GT(waited, 50);
}

}  // namespace
}  // namespace sluice::dv
