/// @file
/// A compaction as a pure function: sorted runs in, sorted tables and statistics out.
///
/// This is the seam between policy (what to merge, and when) and mechanism (how): policy knows no
/// device, and an Executor knows no level. All executors write byte-identical tables, so any can
/// stand in for any other, and the CPU executor is the reference for the rest.
///
/// Rules, for every executor:
///  * Order: user key ascending bytewise, then sequence number descending; among equal internal
///    keys the lower run comes first.
///  * Of one user key, a version is kept if it is newer than all `snapshots`, or the newest at or
///    below one of them: what some snapshot sees, and what later ones may. All others are shadowed
///    and dropped. The version that the smallest snapshot sees is dropped, too, if it is a
///    tombstone and the task is `bottommost`.
///  * Records outside [begin, end) are as if they were not there: not counted, not kept. Which they
///    are the blocks say. Index keys are hints: blocks may stay unread, with the faults in them, if
///    they are outside, given that the blocks that are read tell the truth and the run is in order.
///  * Types (table_format.h): a record of type 2 is a value as one of type 1 is; any above 2 is a
///    fault, kRecordType.
///  * Entry: `shared` is the common prefix of the user keys only (a trailer is never shared), and 0
///    at a restart, which is the first entry of a block and every restart_interval-th after it.
///  * Block: ends after the entry with which entries, restart array and count reach block_bytes.
///  * Table: ends before a record of a new user key if the blocks finished so far, trailers
///    counted, reach table_bytes; the open block, if any, ends with it.
///  * Compressed outputs, if the task asks for them: each data block that becomes smaller by more
///    than an eighth as Snappy, with the matches that a unit finds (src/table/snappy_encoder.h); the
///    others, and those above 8 KiB, stay raw. Where tables end does not depend on it.
///  * Index: one entry per block, its full last internal key and its handle, every entry a restart.
///  * Filters, if the task asks for them: of each block what LevelDB's built-in Bloom filter policy
///    makes of the user keys of all its records, equal ones too.
///  * Input blocks are raw or compressed with Snappy: any other compression is kBlockType. The
///    engine decompresses such blocks before it makes a task.
///  * Checksums: index blocks have the CRC32C; data blocks of inputs and outputs have it, too, or
///    all of a task have RocksDB's checksum by XXH3, with its modifier where a table has a base.
///  * Input is checked before it is believed: index and data blocks against their checksum, handles
///    against the table's bounds, entries against the block's, keys for order within a run. Of
///    several faults in one block, the checksum is reported before the compression type and that
///    before anything within the block. Damage under a right checksum can be several faults within
///    the block at once; which of them is named depends on the executor (SameFault), as a streaming
///    decoder learns only at the end where the entries had to end.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/export.h"
#include "sluice/status.h"
#include "sluice/table_format.h"

namespace sluice {

/// An input table: the bytes of its file (or as many as hold its data and index blocks), and where
/// the index stands. The bytes must stay unchanged until Run returns.
struct MergeTable {
  std::string_view image;  ///< the bytes
  BlockHandle index;       ///< of the index block
  /// With MergeTask::checksum kXxh3: from which, and from a data block's offset in `image`, the
  /// modifier of its checksum is made; 0: there is none.
  uint32_t checksum_base = 0;
};

/// Tables in key order that do not overlap.
using MergeRun = std::vector<MergeTable>;

/// What is to be merged, and how.
struct MergeTask {
  std::vector<MergeRun> runs;  ///< the first has priority among equal internal keys
  /// Ascending, distinct, at least one. A read at one of these sequence numbers, or at any above
  /// the last of them, finds in the outputs what it would have found in the inputs.
  std::vector<SequenceNumber> snapshots{kMaxSequence};
  bool bottommost = false;         ///< nothing older than these runs holds any of their keys
  bool has_begin = false;          ///< user keys below `begin` are ignored
  bool has_end = false;            ///< user keys at or above `end` are ignored
  std::string begin;               ///< with has_begin
  std::string end;                 ///< with has_end
  uint32_t block_bytes = 4096;     ///< with which a block ends
  uint64_t table_bytes = 2 << 20;  ///< of finished data blocks, before compression
  uint32_t restart_interval = 16;  ///< entries from one restart of a block to the next
  /// Of a Bloom filter for each data block; 0: none are made. At most kMaxMergeBloomBits, and only
  /// for executors that make filters (Executor::makes_filters).
  uint32_t bloom_bits_per_key = 0;
  /// Whether output data blocks are compressed, with Snappy. Only for executors that do so
  /// (Executor::compresses).
  bool compress = false;
  /// Of the data blocks of inputs and outputs. What is not kCrc32c is only for executors that take
  /// it (Executor::takes_xxh3).
  BlockChecksum checksum = BlockChecksum::kCrc32c;
  uint32_t checksum_base = 0;  ///< as MergeTable::checksum_base, of all outputs
};

/// One output table, all but what the host adds: file := data | index | ... | footer.
struct MergeOutput {
  std::string_view data;    ///< data blocks with trailers, raw unless the task says otherwise
  std::string_view index;   ///< index block with trailer; handles are offsets in `data`
  std::string smallest;     ///< first internal key
  std::string largest;      ///< last internal key
  uint64_t entries = 0;     ///< in all data blocks
  uint64_t tombstones = 0;  ///< deletions among them
  /// If the task asks for them: the filter of each data block, in the order of the index.
  std::vector<std::string_view> filters{};
  /// If there is one, `data`, `index` and `filters` live as long as a copy of it does: who keeps a
  /// table need not copy it.
  std::shared_ptr<const void> hold = nullptr;
};

/// Takes each finished table, in key order; without a MergeOutput::hold the views die when it
/// returns. An error ends the merge.
using MergeSink = std::function<Status(const MergeOutput&)>;

/// Where a fault was found: run and table number within the task, and the offset in the table of
/// the block that has it (of the index block for a fault in the index).
struct MergeFault {
  uint32_t run = 0;     ///< number of the run
  uint32_t table = 0;   ///< number of the table in it
  uint64_t offset = 0;  ///< of the block in the table

  bool operator==(const MergeFault&) const = default;
};

/// Stages of a unit's pipeline that can stand still: merge, value, encode, pack, read, write.
inline constexpr size_t kMergeStages = 6;
/// The most that MergeTask::block_bytes may be.
inline constexpr uint32_t kMaxMergeBlockBytes = uint32_t{1} << 30;
/// The most that MergeTask::bloom_bits_per_key may be.
inline constexpr uint32_t kMaxMergeBloomBits = 255;

/// What a merge did.
struct MergeStats {
  uint64_t input_records = 0;    ///< within [begin, end)
  uint64_t output_records = 0;   ///< input = output + dropped
  uint64_t dropped_records = 0;  ///< for whichever reason
  /// Dropped because a newer version shadows them. A unit counts the sum of both reasons only: of a
  /// bottommost task neither is known, and both are 0; of any other all are shadowed.
  uint64_t dropped_shadowed = 0;
  uint64_t dropped_tombstones = 0;  ///< dropped, though not shadowed: of a bottommost task
  uint64_t input_bytes = 0;         ///< of data blocks read, trailers counted
  uint64_t output_bytes = 0;        ///< of data and index blocks written, trailers counted
  uint64_t output_tables = 0;       ///< handed to the sink
  /// Sum modulo 2^64 of RecordChecksum over the input records: input = output + dropped.
  uint64_t input_checksum = 0;
  uint64_t output_checksum = 0;   ///< the same over the output records
  uint64_t dropped_checksum = 0;  ///< and over those that were dropped
  uint64_t cycles = 0;            ///< of a device, from start to completion
  /// Cycles of a device that each stage stood still.
  std::array<uint64_t, kMergeStages> stalls{};
};

/// How a merge ended. A unit of the hardware answers with the same numbers (abi/sluice.rdl).
enum class MergeStatus : uint8_t {
  kOk = 0,             ///< well
  kBadDescriptor = 1,  ///< the task asks for what the executor does not do
  kIndexChecksum = 2,  ///< an index block does not match its CRC
  kIndexCorrupt = 3,   ///< an index block is malformed
  kBadHandle = 4,      ///< an index entry points outside its table, or back
  kBlockChecksum = 5,  ///< a data block does not match its checksum
  kBlockType = 6,      ///< compressed in a way that is not understood
  kBlockCorrupt = 7,   ///< a data block is malformed
  kRecordType = 8,     ///< a record of a type above 2
  kKeyTooLong = 9,     ///< for the executor
  kValueTooLong = 10,  ///< for the executor
  kUnsorted = 11,      ///< keys of a run are not in order
  kDataFull = 12,      ///< the area for data blocks is full
  kIndexFull = 13,     ///< the area for index blocks is full
  kLimit = 14,         ///< more restarts, blocks or filters than there is room for
  kReadError = 15,     ///< the device's memory failed a read
  kWriteError = 16,    ///< the device's memory failed a write
  kEndToEnd = 17,      ///< records that left are not the records that entered
  kSink = 18,          ///< the sink answered with an error
  kDevice = 19,        ///< the device did not answer as it must
};
/// How many values MergeStatus has.
inline constexpr size_t kMergeStatuses = 20;

/// A status as a word: "block_checksum".
SLUICE_EXPORT std::string_view MergeStatusName(MergeStatus status);
/// A status for people: "block checksum mismatch".
SLUICE_EXPORT std::string_view MergeStatusText(MergeStatus status);

/// What Executor::Run returns.
struct MergeResult {
  MergeStatus status = MergeStatus::kOk;  ///< how it ended
  MergeFault fault;                       ///< unless ok
  MergeStats stats;                       ///< what was done until then
  Status error;                           ///< the error for people; ok if status is

  /// Whether the outputs are right and complete.
  bool ok() const { return status == MergeStatus::kOk && error.ok(); }
};

/// Whether the status is of a fault in the input, and `fault` says where.
inline bool IsInputFault(MergeStatus status) {
  return status >= MergeStatus::kIndexChecksum && status <= MergeStatus::kUnsorted;
}

/// Whether the task itself is one: InvalidArgument says what is wrong with it.
SLUICE_EXPORT Status CheckTask(const MergeTask& task);

/// The least trailer of older versions of its user key that a version with `trailer` shadows: none
/// is shadowed by what is newer than all snapshots, and what a lower snapshot sees is below.
SLUICE_EXPORT uint64_t ShadowedFrom(const std::vector<SequenceNumber>& snapshots, uint64_t trailer);

/// Whether nothing was lost on the way and nothing came twice: input = output + dropped, in records
/// and in checksums, and the reasons account for no more than was dropped. Every executor checks
/// this before it calls a result ok (IoError, kEndToEnd).
SLUICE_EXPORT Status CheckBalance(const MergeStats& stats);

/// Whether two failed results tell of the same fault: the same status, or faults within the same
/// block.
SLUICE_EXPORT bool SameFault(const MergeResult& a, const MergeResult& b);

/// Order-independent end-to-end protection: each record's checksum is summed where it enters,
/// where it is dropped and where it leaves.
///
///     lanes: key and value apart, each as 64-bit little-endian words w[i], the last zero-padded;
///            fold(w) = XOR over i of rotl64(w[i], 11 * (i mod 8))
///     RecordChecksum = fold(user key) XOR rotl64(trailer, 3) XOR rotl64(fold(value), 5)
///                      XOR ((user key bytes + 8) << 32 | value bytes)
///
/// A single flipped bit always changes it; the lanes make it cheap at any datapath width up to 64
/// bytes.
SLUICE_EXPORT uint64_t RecordChecksum(std::string_view user_key, uint64_t trailer,
                                      std::string_view value);

/// What a task is like, as far as its cost goes.
struct TaskShape {
  uint64_t bytes = 0;           ///< of its tables
  uint64_t longest_run = 0;     ///< of these bytes, what the longest run has
  uint64_t records = 0;         ///< in all of them, about
  uint32_t user_key_bytes = 0;  ///< of a record, on average
  uint32_t value_bytes = 0;     ///< of a record, on average
  uint64_t packed_bytes = 0;    ///< of these bytes, those of compressed blocks, about
  uint64_t unpacked_bytes = 0;  ///< that these blocks hold, about
  uint32_t shared_bytes = 0;    ///< of a user key, that its entry leaves out, on average
  bool compress = false;        ///< whether output blocks are to be (MergeTask::compress)

  /// Of its tables if no block were compressed, about.
  uint64_t raw_bytes() const { return bytes - packed_bytes + unpacked_bytes; }
};

/// How long a task takes a unit, in seconds, and what it leaves to the host.
struct UnitTime {
  double alone = 0;  ///< from upload to download, if the unit has nothing else to do
  double paced = 0;  ///< by how much it puts off the tasks behind it, which overlap with it
  /// Bytes that the host decompresses: of inputs, if the unit takes raw blocks only, and of outputs
  /// to check them.
  uint64_t unpacked_bytes = 0;
};

/// Runs merge tasks. Thread-safe unless an implementation says otherwise.
class SLUICE_EXPORT Executor {
 public:
  virtual ~Executor() = default;

  /// For messages and statistics.
  virtual std::string_view name() const = 0;
  /// Runs that one task may have.
  virtual size_t max_runs() const = 0;
  /// Snapshots that one task may have.
  virtual size_t max_snapshots() const = 0;
  /// Merges `task`, handing each table to `sink` in key order. After a failure the tables handed
  /// over so far are to be thrown away.
  virtual MergeResult Run(const MergeTask& task, const MergeSink& sink) = 0;
  /// Tasks that it has use for at once, each on a thread of its caller; what is more than that waits.
  virtual size_t max_tasks() const { return 1; }
  /// Time, in seconds, that jobs have taken a unit so far: their cycles, at its clock. From any thread.
  virtual double unit_busy_seconds() const { return 0; }
  /// CPU time of this process, in seconds, that was spent so far on standing for a card which would
  /// have done the work itself: by a simulation or a model of one. From any thread.
  virtual double card_cpu_seconds() const { return 0; }
  /// How long such a task would take it. Nothing: it cannot tell, as a simulation cannot, and then
  /// is given every task that it takes, whatever that costs.
  virtual std::optional<UnitTime> Estimate(const TaskShape&) const { return {}; }
  /// Whether it makes the filters that tasks may ask for. Otherwise it refuses such tasks
  /// (kBadDescriptor, NotSupported), and its callers make them of the records.
  virtual bool makes_filters() const { return false; }
  /// Whether it compresses the output blocks of tasks that ask for it. Otherwise it refuses such
  /// tasks, in the same way, and its callers compress what they store.
  virtual bool compresses() const { return false; }
  /// Whether it takes tasks whose blocks have checksums by XXH3. Otherwise it refuses them, in the
  /// same way.
  virtual bool takes_xxh3() const { return false; }
  /// Whether it has held each table against the checksums that it took of its input, as the CPU
  /// executor and those of simulated units and cards do. Otherwise its callers look at every record
  /// of its tables, which costs 10 to 15 ns for one of 150 bytes, and merge on the CPU if something
  /// is wrong.
  virtual bool checks_outputs() const { return false; }
};

/// The CPU executor: the reference for all others, and something for them to wrap or to fall back
/// on. Thread-safe; a merge takes its caller's thread only.
SLUICE_EXPORT std::unique_ptr<Executor> MakeCpuExecutor();

}  // namespace sluice
