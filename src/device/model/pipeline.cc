#include "device/model/pipeline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "device/model/snappy_cycles.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "table/internal_key.h"

namespace sluice::model {

namespace {

// Registers from one stage to the next; docs/model.md counts them.
constexpr double kStartCycles = 42;   // wake, job descriptor, first run, but for latency
constexpr double kRangeCycles = 11;   // a range key, but for its words and latency
constexpr double kHandleCycles = 57;  // table descriptor, index block, first handle
constexpr double kDataCycles = 8;     // handle to data, but for latency
constexpr double kKeyCycles = 5;      // decoder to tree
constexpr double kLevelCycles = 2;    // of the tree
constexpr double kRootCycles = 1;     // the FIFO behind it
constexpr double kVerdictCycles = 4;
constexpr double kDrainCycles = 34;  // last word to the last burst and the halt
constexpr uint32_t kWideBytes = 64;  // words whose FIFOs are in block RAM: a cycle more for each
constexpr double kIndexDrainCycles = 24;
constexpr double kDescriptorBeats = 4;

// Records that have left a stage and still stand in a FIFO: what comes next waits for the oldest to
// be taken.
class Fifo {
 public:
  // When there is room for a record of `beats` beats, if the FIFO holds `capacity` of them and so
  // many records; for its last beats, if it is longer than that.
  double Room(double beats, double capacity, size_t records) {
    while (!taken_.empty() && (held_ + beats > capacity || taken_.size() >= records)) {
      time_ = taken_.front().second;
      held_ -= taken_.front().first;
      taken_.pop_front();
    }
    return time_;
  }
  void Push(double beats, double taken) {
    held_ += beats;
    taken_.emplace_back(beats, taken);
  }

 private:
  double time_ = 0;
  double held_ = 0;
  std::deque<std::pair<double, double>> taken_;  // beats, and when they are
};

// What comes one by one and waits for the one so many before.
class Window {
 public:
  explicit Window(size_t size) : size_(size) {}
  double Room() const { return times_.size() < size_ ? 0 : times_.front(); }
  void Push(double time) {
    if (times_.size() == size_) {
      times_.pop_front();
    }
    times_.push_back(time);
  }

 private:
  const size_t size_;
  std::deque<double> times_;
};

struct Way {
  explicit Way(std::vector<RawTable> tables) : walk(std::move(tables)) {}

  // When the beat that `beats` have gone before is there.
  double Arrival(double beats) {
    while (arrivals.size() > 1 && arrivals.front().first < beats) {
      arrivals.pop_front();
    }
    return arrivals.empty() ? 0 : arrivals.front().second - (arrivals.front().first - beats);
  }

  TableWalk walk;
  double key_time = 0;     // the head's key is decoded
  double decoded = 0;      // the head is
  double value_left = 0;   // beats of the head's value that are not decoded
  double data_left = 0;    // data beats that hold them
  double begun = 0;        // the block is
  double chunks = 0;       // of the block have gone into the window
  double index_time = 0;   // the block's handle is there
  double block_beats = 0;  // data beats of the blocks before
  double unpacking = 0;    // Snappy's decoder begins with the block
  double unpacked = 0;     // it has ended
  double freed = 0;        // beats that the decoder has taken
  double requested = 0;
  double total = 0;                                // data beats
  std::deque<std::pair<double, double>> arrivals;  // beats up to here; when they are there
  Window blocks{kBlocksAhead};                     // decoded
  Fifo keys;
  Fifo values;
  double decode_busy = 0;
};

// An encoder of Snappy: the block that it took last.
struct Compressor {
  double begun = 0;
  double done = 0;
  double left = 0;   // the unit's packer has all of it
  double bytes = 0;  // before compression
};

class Pipeline {
 public:
  Pipeline(const UnitShape& unit, const MergeTask& task, std::vector<RawTable> outputs);

  CycleEstimate Run();

 private:
  void Start(const MergeTask& task);
  void ReadAhead(double time);
  void Request(Way* way, double time, double beats);
  void LoadHead(Way* way);
  void BeginBlock(Way* way);
  double BeatsTo(const Way& way, uint64_t offset) const;
  double Unpacked(const Way& way, uint64_t offset) const;
  void DecodeValue(Way* way, double value_beats);
  void EndBlock(Way* way);
  Way* Winner();
  void Take(Way* way);
  void Encode(double begin, double value_beats);
  void EndOutputBlock();
  void Compress();
  // What FIFOs of words of V bytes add on the way.
  double FifoCycles(int fifos) const { return unit_.value_bytes < kWideBytes ? 0 : fifos; }
  // From a decoder to the verdict stage.
  double TreeCycles() const {
    return kKeyCycles + kLevelCycles * std::bit_width(unit_.ways - 1) + kRootCycles + FifoCycles(2);
  }

  const UnitShape unit_;
  std::vector<Way> ways_;
  TableWalk output_;
  CycleEstimate result_;

  double port_ = 0;          // the data read port has brought all requested so far
  double index_port_ = 0;    // likewise
  double index_reader_ = 0;  // it has walked all entries so far
  double memory_ = 0;
  double merged_ = 0;
  double moved_ = 0;
  double encoded_ = 0;
  double block_begun_ = 0;  // the output block at hand is
  double compressed_ = 0;   // the block before has left its encoder of Snappy
  double written_ = 0;
  double indexed_ = 0;
  Window verdicts_{kVerdicts};  // taken
  Window last_keys_{kBlocksBehind};
  std::vector<Compressor> compressors_;  // if the task asks for them
  size_t turn_ = 0;                      // the one that takes the next block
  Fifo kept_;
};

// Of a block, trailer counted; with Snappy, the beat of its type comes first.
double BlockBeats(const UnitShape& unit, const TableWalk& walk) {
  return (unit.snappy ? 1.0 : 0.0) +
         static_cast<double>(BeatsFrom(walk.handle().offset,
                                       walk.handle().size + kBlockTrailerBytes, unit.in_bytes));
}

double TotalBeats(const UnitShape& unit, const std::vector<RawTable>& tables) {
  double beats = 0;
  for (TableWalk walk(tables); walk.Valid(); walk.NextBlock()) {
    beats += BlockBeats(unit, walk);
  }
  return beats;
}

Pipeline::Pipeline(const UnitShape& unit, const MergeTask& task, std::vector<RawTable> outputs)
    : unit_(unit), output_(std::move(outputs)), compressors_(task.compress ? unit.compressors : 0) {
  for (const MergeRun& run : task.runs) {
    std::vector<RawTable> tables;
    for (const MergeTable& table : run) {
      tables.push_back(InputTable(table));
    }
    ways_.emplace_back(tables).total = TotalBeats(unit, tables);
  }
  Start(task);
}

void Pipeline::Start(const MergeTask& task) {
  const double latency = unit_.latency;
  double time = kStartCycles + 2 * latency;
  for (const std::string* key :
       {task.has_begin ? &task.begin : nullptr, task.has_end ? &task.end : nullptr}) {
    time += key == nullptr ? 0 : latency + kRangeCycles + Beats(key->size(), 8);
  }
  // First descriptors, then first index bursts, of all ways in turn.
  index_port_ = index_reader_ = time + kHandleCycles + 2 * latency;
  double behind = 0;
  for (Way& way : ways_) {
    way.index_time = index_port_ + behind;
    if (way.walk.Valid()) {
      behind +=
          std::clamp<double>(Beats(way.walk.index_bytes(), 8), kDescriptorReadCycles, kBurstBeats);
    }
  }
  ReadAhead(index_port_);
  for (Way& way : ways_) {
    LoadHead(&way);
    merged_ = std::max(merged_, way.key_time);
  }
  merged_ += TreeCycles();
  result_.fill = static_cast<uint64_t>(merged_);
}

// The first bursts: one a cycle, in turn of the ways that have a handle and room, as long as the
// port takes requests. So the first way may fill its FIFO before the next one has a handle.
void Pipeline::ReadAhead(double time) {
  Window outstanding(kBurstsAhead);
  const auto wanted = [](const Way& way) {
    return std::min(
        {double{kBurstBeats}, way.total - way.requested, kReadFifoBeats - way.requested});
  };
  size_t turn = 0;
  while (true) {
    double next = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < ways_.size() && next > time; ++i) {
      Way& way = ways_[(turn + i) % ways_.size()];
      if (wanted(way) <= 0) {
        continue;
      }
      next = std::min(next, way.index_time);
      if (next <= time) {
        turn += i;
      }
    }
    if (std::isinf(next)) {
      return;
    }
    time = std::max({time, next, outstanding.Room()});
    Way& way = ways_[turn % ways_.size()];
    if (way.index_time <= time && wanted(way) > 0) {
      Request(&way, time - kDataCycles, wanted(way));
      outstanding.Push(port_);
      ++turn;
      time += 1;
    }
  }
}

// Asks for a way's next `beats`, as there is room for them from `time` on.
void Pipeline::Request(Way* way, double time, double beats) {
  beats = std::min(beats, way->total - way->requested);
  if (beats <= 0) {
    return;
  }
  way->requested += beats;
  port_ = std::max(port_, time + RoundTrip(unit_)) + beats;
  result_.busy.data_port += beats;
  if (unit_.memory_bytes > 0) {
    const double cycles = beats * unit_.in_bytes / unit_.memory_bytes;
    memory_ = std::max(memory_, time + RoundTrip(unit_)) + cycles;
    result_.busy.memory += cycles;
    port_ = std::max(port_, memory_);
  }
  way->arrivals.emplace_back(way->requested, port_);
}

// The walk of a way has come to a block.
void Pipeline::BeginBlock(Way* way) {
  const TableWalk& walk = way->walk;
  double beats = walk.index_entry_bytes() / 8.0;
  double read = IndexReadCycles(walk.index_entry_bytes(), walk.index_key_bytes());
  if (walk.table_begins()) {
    beats += kDescriptorBeats;
    read += kDescriptorReadCycles;
  }
  if (walk.table_ends()) {
    const double end = BeatsFrom(walk.index_end_offset(), walk.index_end_bytes(), 8);
    beats += end;
    read += end + kIndexReadEndCycles;
  }
  index_reader_ += read;
  result_.busy.index_read += read;
  read =
      std::max(read, beats * RoundTrip(unit_) / (IndexFifoBeats(unit_.value_bytes) - kBurstBeats));
  index_port_ += beats;
  // The handle waits until an earlier block is done with.
  const double request = way->blocks.Room();
  way->index_time =
      std::max({std::max(way->index_time, request) + read, index_port_, index_reader_});
  way->decoded = std::max({way->decoded, way->index_time, request + RoundTrip(unit_)});
  way->begun = way->decoded;
  result_.busy.index_port += beats;
  if (unit_.snappy) {
    const double chunks = kSnappyChunks + kWindowChunks;
    way->unpacking = std::max(way->unpacked, way->begun - chunks);
    way->unpacked = way->unpacking + kSnappyBlockCycles +
                    (walk.compressed() ? SnappyPieces(walk.stored(), unit_.value_bytes)
                                       : Beats(walk.held().size(), unit_.value_bytes));
  }
}

// The walk of a way has come to a record, which the decoder takes up.
void Pipeline::LoadHead(Way* way) {
  const TableWalk& walk = way->walk;
  if (!walk.Valid()) {
    return;
  }
  if (walk.block_begins()) {
    BeginBlock(way);
  }
  const uint64_t value = walk.value_bytes();
  const double value_beats = Beats(value, unit_.value_bytes);
  const double key_beats = MergeCycles(unit_, walk.user_bytes());
  const double cycles = DecodeCycles(unit_, walk.user_bytes(), value);
  const double key_end = BeatsTo(*way, walk.end_offset() - value);
  const double end = BeatsTo(*way, walk.end_offset());
  const double queue = kQueuedKeys * std::min(key_beats, Beats(kMaxKeyBytes, unit_.value_bytes) /
                                                             double{kQueuedKeys});
  way->key_time =
      std::max({way->decoded + cycles - value_beats, way->Arrival(key_end),
                Unpacked(*way, walk.end_offset() - value),
                way->keys.Room(key_beats, kKeyFifoBeats + queue, kKeyFifoBeats + kQueuedKeys)});
  Request(way, way->key_time, key_end - way->freed);
  way->freed = key_end;
  way->decoded = way->key_time;
  way->decode_busy += cycles;
  // As much of the value as its FIFO holds.
  way->value_left = value_beats;
  way->data_left = end - key_end;
  DecodeValue(way, std::min<double>(value_beats, kValueFifoBeats));
  way->decoded = std::max({way->decoded, Unpacked(*way, walk.end_offset()),
                           way->values.Room(value_beats, kValueFifoBeats, kInfoFifo)});
}

// Beats of the way up to byte `offset` of what the block holds.
double Pipeline::BeatsTo(const Way& way, uint64_t offset) const {
  const TableWalk& walk = way.walk;
  uint64_t stored = walk.handle().offset % unit_.in_bytes + offset;
  if (walk.compressed()) {
    stored += offset * walk.handle().size / walk.held().size() - offset;
  }
  return way.block_beats + (unit_.snappy ? 1.0 : 0.0) +
         static_cast<double>(Beats(stored, unit_.in_bytes));
}

// When byte `offset` of what the block holds has left Snappy's decoder.
double Pipeline::Unpacked(const Way& way, uint64_t offset) const {
  const double share = static_cast<double>(offset) / static_cast<double>(way.walk.held().size());
  return unit_.snappy ? way.unpacking + share * (way.unpacked - way.unpacking) : 0;
}

// Decodes so many beats more of the head's value, burst by burst: what is taken makes room for what
// comes.
void Pipeline::DecodeValue(Way* way, double value_beats) {
  if (value_beats == 0) {
    return;
  }
  const double data = way->data_left * value_beats / way->value_left;
  const auto bursts = std::max<uint64_t>(1, std::ceil(data / kBurstBeats));
  const double count = static_cast<double>(bursts);
  for (uint64_t burst = 0; burst < bursts; ++burst) {
    way->decoded =
        std::max(way->decoded + value_beats / count, way->Arrival(way->freed + data / count));
    Request(way, way->decoded, data / count);
    way->freed += data / count;
  }
  way->value_left -= value_beats;
  way->data_left -= data;
}

void Pipeline::EndBlock(Way* way) {
  const TableWalk& walk = way->walk;
  // What Snappy's decoder makes begins in lane 0, and has no trailer.
  const uint64_t first = unit_.snappy ? 0 : walk.handle().offset;
  const uint64_t bytes = walk.held().size() + (unit_.snappy ? 0 : kBlockTrailerBytes);
  const double tail =
      DecodeEndCycles(unit_, first + walk.entries_bytes(), bytes - walk.entries_bytes());
  // The block's chunks come one a cycle.
  way->chunks = std::max(way->chunks, way->begun - kWindowChunks) +
                BeatsFrom(first, bytes, unit_.value_bytes);
  way->decoded = std::max({way->decoded + tail, way->chunks, way->unpacked});
  way->decode_busy += tail;
  way->block_beats += BlockBeats(unit_, walk);
  way->blocks.Push(way->decoded);
  Request(way, way->decoded, way->block_beats - way->freed);
  way->freed = way->block_beats;
}

// The way whose head comes first; nullptr at the end. Sees to it that all heads are there.
Way* Pipeline::Winner() {
  Way* winner = nullptr;
  for (Way& way : ways_) {
    if (way.walk.Valid() &&
        (winner == nullptr || CompareInternalKeys(way.walk.key(), winner->walk.key()) < 0)) {
      winner = &way;
    }
  }
  return winner;
}

// A record goes from the tree to the encoder, or is dropped.
void Pipeline::Take(Way* way) {
  const TableWalk& walk = way->walk;
  const uint64_t value = walk.value_bytes();
  const double value_beats = Beats(value, unit_.value_bytes);
  const double merge = MergeCycles(unit_, walk.user_bytes());
  const double transfer = TransferCycles(unit_, value);
  double ready = 0;  // all heads
  for (const Way& other : ways_) {
    ready = other.walk.Valid() ? std::max(ready, other.key_time) : ready;
  }
  merged_ = std::max({merged_ + merge, ready + TreeCycles(), verdicts_.Room()});
  const bool keep = output_.Valid() && output_.key() == walk.key();
  const double begin = std::max(moved_, merged_ + kVerdictCycles);
  verdicts_.Push(begin);
  if (way->value_left > 0) {
    // What is longer than its FIFO leaves the decoder as it moves on.
    way->decoded = std::max(way->decoded, begin);
    DecodeValue(way, way->value_left);
  }
  moved_ = std::max(begin + transfer, way->decoded + kKeyCycles);
  result_.busy.merge += merge;
  result_.busy.transfer += transfer;
  if (keep) {
    moved_ = std::max(moved_, kept_.Room(value_beats, kTransferFifo, kTransferFifo));
    Encode(begin, value_beats);
  }
  if (value_beats > kValueFifoBeats) {
    way->decoded = std::max(way->decoded, moved_ - kValueFifoBeats);
  }
  if (walk.block_ends()) {
    EndBlock(way);
  }
  way->keys.Push(merge, merged_);
  way->values.Push(value_beats, moved_);
  way->walk.Next();
  LoadHead(way);
}

// A kept record, whose value's transfer has begun at `begin`.
void Pipeline::Encode(double begin, double value_beats) {
  const double cycles =
      EncodeCycles(unit_, output_.user_bytes(), output_.shared(), output_.value_bytes());
  encoded_ = std::max(std::max(encoded_, begin) + cycles, moved_ + 1);
  if (value_beats > kTransferFifo) {
    moved_ = std::max(moved_, encoded_ - kTransferFifo);
  }
  kept_.Push(value_beats, encoded_);
  result_.busy.encode += cycles;
  if (output_.block_ends()) {
    EndOutputBlock();
  }
  output_.Next();
}

// The output block at hand, which ends, goes through the encoder of Snappy whose turn it is;
// compressed_ is when it has left.
void Pipeline::Compress() {
  Compressor& compressor = compressors_[turn_];
  turn_ = (turn_ + 1) % compressors_.size();
  const Compressor before = compressor;
  const auto bytes = static_cast<double>(output_.held().size());
  compressor.bytes = bytes;
  compressor.begun = std::max(before.done, block_begun_);
  // What its FIFO has no room for waits until as much of the blocks in it has been taken.
  const double excess = before.bytes + bytes - kCompressBytes;
  if (excess > before.bytes) {
    encoded_ = std::max(encoded_, compressor.begun + (excess - before.bytes) / 4);
  } else if (excess > 0) {
    encoded_ = std::max(encoded_, before.begun + excess / 4);
  }
  // Beyond its longest block it lets bytes pass.
  const uint64_t taken = std::min<uint64_t>(output_.held().size(), kCompressBytes);
  const double cycles = CompressCycles(taken, output_.compressed());
  compressor.done = std::max({compressor.begun + cycles, encoded_, before.left});
  compressed_ = std::max(compressor.done, compressed_) +
                static_cast<double>(Beats(output_.handle().size, unit_.value_bytes));
  compressor.left = compressed_;
  result_.busy.compress += cycles / static_cast<double>(compressors_.size());
}

void Pipeline::EndOutputBlock() {
  double encode = EncodeEndCycles(unit_, output_.restarts());
  double bytes = static_cast<double>(output_.handle().size + kBlockTrailerBytes);
  double index = IndexEncodeCycles(output_.user_bytes(), output_.handle_bytes());
  double index_bytes = output_.index_entry_bytes();
  if (output_.table_ends()) {
    encode += kTableEndCycles;
    bytes += 32;  // padding, on average
    index += IndexEndCycles(output_.blocks());
    index_bytes += output_.index_end_bytes() + 48;
  }
  encoded_ += encode;
  double& made = compressors_.empty() ? encoded_ : compressed_;
  if (!compressors_.empty()) {
    Compress();
  }
  // Bursts that the memory has not answered yet are so many at most.
  const double beat_cycles =
      std::max(1.0, (RoundTrip(unit_) + kBurstBeats) / (kWriteBursts * kBurstBeats));
  const double write = bytes / unit_.out_bytes * beat_cycles;
  written_ = std::max(written_ + write, made);
  made = std::max(made, written_ - kWriteFifoBeats * beat_cycles);
  index = std::max(index, index_bytes / 8);
  indexed_ = std::max(indexed_, made) + index;
  encoded_ = std::max(encoded_, last_keys_.Room());
  block_begun_ = encoded_;
  last_keys_.Push(indexed_);
  StageCycles& busy = result_.busy;
  busy.encode += encode;
  busy.data_write += write;
  busy.index_encode += index;
  if (unit_.memory_bytes > 0) {
    const double cycles = (bytes + index_bytes) / unit_.memory_bytes;
    memory_ += cycles;
    busy.memory += cycles;
  }
}

CycleEstimate Pipeline::Run() {
  while (Way* way = Winner()) {
    Take(way);
  }
  for (const Way& way : ways_) {
    result_.busy.decode = std::max(result_.busy.decode, way.decode_busy);
  }
  double end = std::max(moved_, merged_) + kVerdictCycles;
  encoded_ = std::max(encoded_, compressed_);
  const double last = std::max(encoded_, end);
  if (result_.busy.encode > 0) {
    end = std::max({end, encoded_ + kDrainCycles + FifoCycles(2) + unit_.latency,
                    indexed_ + kIndexDrainCycles + unit_.latency});
  }
  result_.drain = static_cast<uint64_t>(end - last);
  result_.cycles = static_cast<uint64_t>(end);
  return result_;
}

}  // namespace

UnitShape ShapeOf(const DeviceInfo& info, uint32_t latency) {
  return {info.ways, info.value_bytes, info.in_bytes,   info.out_bytes, std::max(1u, latency),
          0,         info.snappy,      info.compressors};
}

double StageCycles::Max() const {
  return std::max({index_read, index_port, data_port, decode, merge, transfer, encode, compress,
                   data_write, index_encode, memory});
}

CycleEstimate Estimate(const UnitShape& unit, const MergeTask& task,
                       std::vector<RawTable> outputs) {
  return Pipeline(unit, task, std::move(outputs)).Run();
}

MergeResult EstimateTask(const UnitShape& unit, const MergeTask& task, CycleEstimate* estimate) {
  std::vector<OwnedOutput> outputs;
  MergeResult result = CpuExecutor().Run(task, CollectInto(&outputs));
  std::vector<RawTable> tables;
  tables.reserve(outputs.size());
  for (const OwnedOutput& output : outputs) {
    tables.push_back(OutputTable(output.data(), output.index_block()));
  }
  *estimate = Estimate(unit, task, std::move(tables));
  return result;
}

}  // namespace sluice::model
