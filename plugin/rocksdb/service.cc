// The service between RocksDB and jobs. RocksDB tells its listener that a compaction begins, on the
// same thread, and only there which database it is of, the levels of its inputs and the compression
// of its outputs. Then it calls the service for each part of it:
//
//   OnCompactionBegin -> StartV2, WaitForCompleteV2 (7.8) or Schedule, Wait (10) -> OnCompactionCompleted
//
// A job runs while RocksDB waits for it, on the thread that waits. The files lie in a directory of
// their own until RocksDB renames them; a directory that a crash leaves is removed at the next AddTo.

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/listener.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>

#include "job.h"
#include "policy.h"
#include "sluice_rocksdb.h"

namespace sluice {

namespace {

using rocks::JobInput;
using rocksdb::CompactionServiceJobInfo;
using rocksdb::CompactionServiceJobStatus;

constexpr std::string_view kOutputDirPrefix = "sluice-compaction-";

// After a job that was left for records such as single deletions, of which no property tells, as many
// jobs of its family look at their inputs' keys first: that costs a fraction of a merge in vain.
constexpr int kWaryJobs = 32;

// What is known of a compaction that has begun.
struct Compaction {
  rocksdb::DB* db = nullptr;
  std::string session;  // of the database
  uint32_t family_id = 0;
  std::string family;
  int output_level = 0;
  rocks::Policy policy;
  std::vector<std::string> dirs;  // that its jobs have made
};

// A job that was accepted, until it has run.
struct Pending {
  rocks::Job job;
  rocks::JobOutput output;  // as far as it is known before
  std::shared_ptr<std::atomic<bool>> cancelled;
  rocksdb::DB* db = nullptr;
  uint64_t job_id = 0;
};

using Clock = std::chrono::steady_clock;

uint64_t SecondsSince1970() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

// Removes the directories that jobs of other sessions left; no other session is alive.
void RemoveLeftDirs(const std::string& path, const std::string& session) {
  std::error_code ignored;
  const std::string ours = fmt::format("{}{}", kOutputDirPrefix, session);
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kOutputDirPrefix) && !name.starts_with(ours)) {
      std::filesystem::remove_all(entry.path(), ignored);
    }
  }
}

// Calls a function that returns a Status. RocksDB knows no exceptions: what throws, for want of memory
// as a rule, is an error like others.
template <typename Function>
Status Guarded(const Function& function) noexcept {
  try {
    return function();
  } catch (const std::exception& error) {
    try {
      return Status::IoError(error.what());
    } catch (...) {
    }
  } catch (...) {
  }
  return Status::IoError("exception");  // short enough to need no memory
}

class Service : public SluiceCompactionService, public std::enable_shared_from_this<Service> {
 public:
  explicit Service(const SluiceCompactionOptions& options) : options_(options) {}

  const char* Name() const override { return "SluiceCompactionService"; }

  void AddTo(rocksdb::DBOptions* options) override;
  SluiceCompactionStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  void Cancel() override {
    cancelled_ = true;
    CancelJobsAtHand();
  }

#if ROCKSDB_MAJOR >= 10
  rocksdb::CompactionServiceScheduleResponse Schedule(const CompactionServiceJobInfo& info,
                                                      const std::string& input) override {
    return Start(info, input)
               ? rocksdb::CompactionServiceScheduleResponse(JobName(info),
                                                            CompactionServiceJobStatus::kSuccess)
               : rocksdb::CompactionServiceScheduleResponse(CompactionServiceJobStatus::kUseLocal);
  }
  CompactionServiceJobStatus Wait(const std::string& id, std::string* result) override {
    return Run(id, result);
  }
  // A database is being closed. RocksDB does not say which; of the others, jobs that come later are
  // done again.
  void CancelAwaitingJobs() override { CancelJobsAtHand(); }
#else
  CompactionServiceJobStatus StartV2(const CompactionServiceJobInfo& info,
                                     const std::string& input) override {
    return Start(info, input) ? CompactionServiceJobStatus::kSuccess
                              : CompactionServiceJobStatus::kUseLocal;
  }
  CompactionServiceJobStatus WaitForCompleteV2(const CompactionServiceJobInfo& info,
                                               std::string* result) override {
    return Run(JobName(info), result);
  }
#endif

  void Begin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info,
             const rocks::Opening& opening);
  void End(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info);

 private:
  // By path of the database and RocksDB's number of the compaction.
  using CompactionKey = std::pair<std::string, uint64_t>;

  using FamilyKey = std::pair<std::string, std::string>;  // path of the database, name

  static std::string JobName(const CompactionServiceJobInfo& info) {
    return fmt::format("{}/{}/{}", info.db_name, info.db_session_id, info.job_id);
  }
  static CompactionKey KeyOf(const CompactionServiceJobInfo& info) {
    return {info.db_name, info.job_id >> 32};  // below are the numbers of its parts
  }
  // True if Sluice is to do the job.
  bool Start(const CompactionServiceJobInfo& info, const std::string& input);
  // Prepares a job. Not ok: RocksDB is to do it, for this reason.
  Status Prepare(const CompactionServiceJobInfo& info, const std::string& input, Pending* pending);
  // The same as far as options decide. `*compaction`: which one it belongs to.
  Status PrepareFromOptions(const CompactionServiceJobInfo& info, Pending* pending,
                            Compaction* compaction);
  CompactionServiceJobStatus Run(const std::string& name, std::string* result);
  CompactionServiceJobStatus RunPending(Pending* pending, std::string* result);
  void CancelJobsAtHand() {
    const std::lock_guard lock(mutex_);
    jobs_at_hand_cancelled_->store(true);
    jobs_at_hand_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  }
  void CountLeft(const Status& reason);
  void Count(const rocks::JobReport& report, uint64_t micros);
  void Log(rocksdb::DB* db, uint64_t job_id, const std::string& line) const;

  const SluiceCompactionOptions options_;
  std::atomic<bool> cancelled_ = false;

  mutable std::mutex mutex_;
  std::shared_ptr<std::atomic<bool>> jobs_at_hand_cancelled_ =
      std::make_shared<std::atomic<bool>>(false);
  std::map<CompactionKey, Compaction> compactions_;
  std::map<std::string, Pending> pending_;
  std::map<FamilyKey, int> wary_jobs_;  // how many more there are, if any
  SluiceCompactionStatistics statistics_;
};

// RocksDB knows the properties of its own outputs alone; programs look at those of all.
void AddProperties(rocksdb::TablePropertiesCollection* tables) {
  for (auto& [path, properties] : *tables) {
    if (properties == nullptr) {
      rocksdb::SstFileReader reader{rocksdb::Options()};
      properties = reader.Open(path).ok() ? reader.GetTableProperties()
                                          : std::make_shared<const rocksdb::TableProperties>();
    }
  }
}

// Listens to one database. Keeps the service as long as the options have it.
class Listener : public rocksdb::EventListener {
 public:
  Listener(std::shared_ptr<Service> service, rocks::Opening opening)
      : service_(std::move(service)), opening_(std::move(opening)) {}
  const char* Name() const override { return "SluiceCompactionListener"; }
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    (void)Guarded([&] {
      service_->Begin(db, info, opening_);
      return Status();
    });
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    (void)Guarded([&] {
      service_->End(db, info);
      AddProperties(&const_cast<rocksdb::CompactionJobInfo&>(info).table_properties);
      return Status();
    });
  }

 private:
  const std::shared_ptr<Service> service_;
  const rocks::Opening opening_;
};

void Service::AddTo(rocksdb::DBOptions* options) {
  // RocksDB writes them down for each job, and a database stops where it cannot.
  std::string text;
  if (!rocksdb::GetStringFromDBOptions(rocksdb::ConfigOptions(), *options, &text).ok()) {
    CountLeft(Status::NotSupported("options that RocksDB cannot write down"));
    return;
  }
  // The first one: what it adds to a compaction's description is for the others.
  options->listeners.insert(
      options->listeners.begin(),
      std::make_shared<Listener>(shared_from_this(),
                                 rocks::MakeOpening(*options, options_.write_committed_only)));
  options->compaction_service = shared_from_this();
}

void Service::Begin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info,
                    const rocks::Opening& opening) {
  Compaction compaction{.db = db,
                        .session = {},
                        .family_id = info.cf_id,
                        .family = info.cf_name,
                        .output_level = info.output_level,
                        .policy = rocks::MakePolicy(db, info, opening),
                        .dirs = {}};
  if (!db->GetDbSessionId(compaction.session).ok()) {
    return;
  }
  const std::string name = db->GetName();
  const std::lock_guard lock(mutex_);
  // A database that is being closed does not tell that its compactions have ended.
  std::erase_if(compactions_, [&](const auto& entry) {
    return entry.first.first == name && entry.second.session != compaction.session;
  });
  compactions_.insert_or_assign({name, static_cast<uint64_t>(info.job_id)}, std::move(compaction));
}

void Service::End(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  const std::lock_guard lock(mutex_);
  const auto found = compactions_.find({db->GetName(), static_cast<uint64_t>(info.job_id)});
  if (found != compactions_.end()) {
    for (const std::string& dir : found->second.dirs) {
      std::error_code ignored;
      std::filesystem::remove_all(dir, ignored);
    }
    compactions_.erase(found);
  }
}

bool Service::Start(const CompactionServiceJobInfo& info, const std::string& input) {
  bool started = false;
  (void)Guarded([&] {
    Pending pending;
    const Status status = Guarded([&] { return Prepare(info, input, &pending); });
    if (!status.ok()) {
      CountLeft(status);
      return status;
    }
    const std::lock_guard lock(mutex_);
    pending_.insert_or_assign(JobName(info), std::move(pending));
    started = true;
    return Status();
  });
  return started;
}

Status Service::PrepareFromOptions(const CompactionServiceJobInfo& info, Pending* pending,
                                   Compaction* compaction) {
  const JobInput& input = pending->job.input;
  const std::lock_guard lock(mutex_);
  const auto begun = compactions_.find(KeyOf(info));
  if (begun == compactions_.end() || begun->second.session != info.db_session_id ||
      begun->second.family != input.family || begun->second.output_level != input.output_level) {
    return Status::NotSupported("a compaction that the listener was not told of");
  }
  const rocks::Policy& policy = begun->second.policy;
  if (!policy.declined.empty()) {
    return Status::NotSupported(policy.declined);
  }
  if (input.output_level == 0) {
    return Status::NotSupported("a compaction within level 0");
  }
  rocks::Job& job = pending->job;
  job.format = policy.format;
  job.block_bytes = policy.block_bytes;
  job.restart_interval = policy.restart_interval;
  job.file_bytes = policy.file_bytes;
  if (const std::shared_ptr<rocksdb::RateLimiter> limiter = policy.rate_limiter) {
    job.before_write = [limiter](uint64_t bytes) {
      while (bytes > 0) {
        const int64_t part = std::min(static_cast<int64_t>(bytes), limiter->GetSingleBurstBytes());
        limiter->Request(part, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kWrite);
        bytes -= static_cast<uint64_t>(part);
      }
    };
  }
  if (const auto wary = wary_jobs_.find({info.db_name, input.family}); wary != wary_jobs_.end()) {
    job.look_for_other_types = true;
    if (--wary->second == 0) {
      wary_jobs_.erase(wary);
    }
  }
  *compaction = begun->second;
  return {};
}

// What the tree tells of a job: whether anything lies below its keys, and how old they are.
Status PrepareFromTree(const Compaction& compaction, Pending* pending) {
  const JobInput& input = pending->job.input;
  std::vector<rocksdb::ColumnFamilyMetaData> families;
  compaction.db->GetAllColumnFamilyMetaData(&families);
  const auto family = std::find_if(families.begin(), families.end(), [&](const auto& metadata) {
    return metadata.name == input.family;
  });
  if (family == families.end()) {
    return Status::NotSupported("a column family that is gone");
  }
  size_t found = 0;
  std::string smallest;
  std::string largest;
  uint64_t oldest = 0;
  uint64_t epoch = UINT64_MAX;
  for (const rocksdb::LevelMetaData& level : family->levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      if (std::find(input.files.begin(), input.files.end(), file.relative_filename) ==
          input.files.end()) {
        continue;
      }
      smallest = found == 0 ? file.smallestkey : std::min(smallest, file.smallestkey);
      largest = found == 0 ? file.largestkey : std::max(largest, file.largestkey);
      if (file.oldest_ancester_time != 0) {
        oldest = oldest == 0 ? file.oldest_ancester_time
                             : std::min<uint64_t>(oldest, file.oldest_ancester_time);
      }
#if ROCKSDB_MAJOR >= 8
      epoch = std::min<uint64_t>(epoch, file.epoch_number);
#endif
      ++found;
    }
  }
  if (found != input.files.size()) {
    return Status::NotSupported("input files that are not in the tree");
  }
  if (input.has_begin) {
    smallest = std::max(smallest, input.begin);
  }
  if (input.has_end) {
    largest = std::min(largest, input.end);
  }
  pending->job.bottommost = true;
  for (const rocksdb::LevelMetaData& level : family->levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      if (level.level > input.output_level && file.smallestkey <= largest &&
          file.largestkey >= smallest) {
        pending->job.bottommost = false;
      }
    }
  }
  pending->output.creation_time = SecondsSince1970();
  pending->output.oldest_ancestor_time = oldest != 0 ? oldest : pending->output.creation_time;
  pending->output.epoch_number = epoch == UINT64_MAX ? 0 : epoch;
  return {};
}

Status Service::Prepare(const CompactionServiceJobInfo& info, const std::string& text,
                        Pending* pending) {
  if (cancelled_) {
    return Status::Busy("cancelled");
  }
  rocks::Job& job = pending->job;
  SLUICE_RETURN_IF_ERROR(rocks::ParseJobInput(text, &job.input));
  Compaction compaction;
  SLUICE_RETURN_IF_ERROR(PrepareFromOptions(info, pending, &compaction));
  SLUICE_RETURN_IF_ERROR(PrepareFromTree(compaction, pending));
  job.dir = info.db_name;
  job.output_dir =
      fmt::format("{}/{}{}-{}", info.db_name, kOutputDirPrefix, info.db_session_id, info.job_id);
  RemoveLeftDirs(info.db_name, info.db_session_id);
  // Not synced: after a crash it may be gone with what is in it.
  if (std::error_code error; !std::filesystem::create_directory(job.output_dir, error)) {
    return Status::IoError(fmt::format("{}: cannot be made: {}", job.output_dir, error.message()));
  }
  {
    const std::lock_guard lock(mutex_);
    compactions_[KeyOf(info)].dirs.push_back(job.output_dir);
    pending->cancelled = jobs_at_hand_cancelled_;
    job.cancelled = pending->cancelled.get();
  }
  RocksProperties& properties = job.format.properties;
  properties.SetText("rocksdb.creating.db.identity", info.db_id);
  properties.SetText("rocksdb.column.family.name", job.input.family);
  properties.SetNumber("rocksdb.column.family.id", compaction.family_id);
  properties.SetNumber("rocksdb.creation.time", pending->output.oldest_ancestor_time);
  properties.SetNumber("rocksdb.oldest.key.time", pending->output.oldest_ancestor_time);
  properties.SetNumber("rocksdb.file.creation.time", pending->output.creation_time);
  pending->output.dir = job.output_dir;
  pending->output.output_level = job.input.output_level;
  pending->db = compaction.db;
  pending->job_id = info.job_id >> 32;
  return {};
}

CompactionServiceJobStatus Service::Run(const std::string& name, std::string* result) {
  std::map<std::string, Pending>::node_type node;
  {
    const std::lock_guard lock(mutex_);
    node = pending_.extract(name);
  }
  CompactionServiceJobStatus status = CompactionServiceJobStatus::kUseLocal;
  if (!node.empty()) {
    (void)Guarded([&] {
      status = RunPending(&node.mapped(), result);
      return Status();
    });
  }
  return status;
}

CompactionServiceJobStatus Service::RunPending(Pending* job, std::string* result) {
  Pending& pending = *job;
  const Clock::time_point start = Clock::now();
  rocks::JobReport report;
  const Status status = Guarded(
      [&] { return rocks::RunJob(Env::Posix(), pending.job, options_.executor.get(), &report); });
  const auto micros = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
  if (report.other_types) {
    const std::lock_guard lock(mutex_);
    wary_jobs_[{pending.job.dir, pending.job.input.family}] = kWaryJobs;
  }
  if (!status.ok()) {
    CountLeft(status);
    Log(pending.db, pending.job_id, fmt::format("left to RocksDB: {}", status.ToString()));
    return CompactionServiceJobStatus::kUseLocal;
  }
  rocks::JobOutput& output = pending.output;
  output.files = report.files;
  output.input_records = report.merge.input_records;
  output.output_records = report.merge.output_records;
  output.bytes_read = report.bytes_read;
  output.bytes_written = report.bytes_written;
  output.micros = micros;
  *result = rocks::EncodeJobOutput(output, ROCKSDB_MAJOR);
  Count(report, micros);
  Log(pending.db, pending.job_id,
      fmt::format("{} records of {} files became {} records in {} files by {}{}, {} to {} bytes, "
                  "{} us",
                  output.input_records, pending.job.input.files.size(), output.output_records,
                  output.files.size(), report.retried ? "the CPU, as that could not: " : "",
                  report.retried                 ? report.retry_reason
                  : options_.executor == nullptr ? "cpu"
                                                 : std::string(options_.executor->name()),
                  output.bytes_read, output.bytes_written, micros));
  return CompactionServiceJobStatus::kSuccess;
}

void Service::CountLeft(const Status& reason) {
  // Files and offsets, which would make a reason of each job, are for the log.
  const std::string key = reason.IsNotSupported() && reason.message().find('/') == std::string::npos
                              ? reason.message()
                          : reason.IsNotSupported()              ? "input: not supported"
                          : reason.IsCorruption()                ? "input: corrupt"
                          : reason.code() == Status::Code::kBusy ? "cancelled"
                                                                 : "failed";
  const std::lock_guard lock(mutex_);
  ++statistics_.jobs_left;
  ++statistics_.reasons[key];
}

void Service::Count(const rocks::JobReport& report, uint64_t micros) {
  const std::lock_guard lock(mutex_);
  ++statistics_.jobs;
  statistics_.cpu_retries += report.retried;
  statistics_.input_records += report.merge.input_records;
  statistics_.output_records += report.merge.output_records;
  statistics_.input_bytes += report.bytes_read;
  statistics_.output_bytes += report.bytes_written;
  statistics_.micros += micros;
}

void Service::Log(rocksdb::DB* db, uint64_t job_id, const std::string& line) const {
  if (options_.log_jobs) {
    rocksdb::Info(db->GetDBOptions().info_log, "[sluice] [JOB %d] %s", static_cast<int>(job_id),
                  line.c_str());
  }
}

}  // namespace

std::shared_ptr<SluiceCompactionService> NewSluiceCompactionService(
    const SluiceCompactionOptions& options) {
  return std::make_shared<Service>(options);
}

}  // namespace sluice
