// CheckEnv: a function per kind of file or name, each rule of sluice/env.h a Rule.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sluice/conformance.h"
#include "util/alignment.h"
#include "util/files.h"

namespace sluice {

namespace {

Status Broken(std::string_view rule) {
  return Status::NotSupported(fmt::format("the Env breaks a rule: {}", rule));
}

Status Rule(bool kept, std::string_view rule) { return kept ? Status() : Broken(rule); }

// For an operation that must work.
Status Works(const Status& status, std::string_view what) {
  return status.ok() ? status : Broken(fmt::format("{} ({})", what, status.ToString()));
}

// For one that must fail with NotFound and name the path.
Status FindsNothing(const Status& status, const std::string& path, std::string_view operation) {
  if (!status.IsNotFound()) {
    return Broken(fmt::format("{} of what is not there says NotFound (\"{}\")", operation,
                              status.ToString()));
  }
  return Rule(status.message().find(path) != std::string::npos,
              fmt::format("the error of {} names the path (\"{}\")", operation, status.message()));
}

// Bytes that differ from place to place.
std::string Pattern(size_t bytes, uint64_t seed) {
  std::string pattern(bytes, '\0');
  uint64_t state = seed * 2 + 1;
  for (char& c : pattern) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return pattern;
}

class EnvChecker {
 public:
  EnvChecker(Env* env, std::string dir) : env_(*env), dir_(std::move(dir)) {}

  Status Run() {
    SLUICE_RETURN_IF_ERROR(Works(env_.CreateDir(dir_), "CreateDir makes a directory"));
    std::vector<std::string> names;
    SLUICE_RETURN_IF_ERROR(Works(env_.GetChildren(dir_, &names), "GetChildren lists a directory"));
    if (!names.empty()) {
      return Status::InvalidArgument(fmt::format("{}: is not empty; it has '{}'", dir_, names[0]));
    }
    for (const auto check :
         {&EnvChecker::WritableFiles, &EnvChecker::ReservedFiles, &EnvChecker::DataFiles,
          &EnvChecker::Discarding, &EnvChecker::Cloning, &EnvChecker::Bypassing,
          &EnvChecker::Threads, &EnvChecker::Reading, &EnvChecker::Names, &EnvChecker::Ids,
          &EnvChecker::Missing, &EnvChecker::Locks}) {
      SLUICE_RETURN_IF_ERROR((this->*check)());
    }
    return Works(env_.RemoveDir(dir_), "RemoveDir removes an empty directory");
  }

 private:
  std::string File(std::string_view name) const { return fmt::format("{}/{}", dir_, name); }
  Status Remove(std::string_view name) {
    return Works(env_.RemoveFile(File(name)), "RemoveFile removes a file");
  }
  Status Make(std::string_view name, std::string_view contents) {
    return Works(WriteFileSynced(&env_, File(name), contents), "a file is written and synced");
  }
  Status Holds(std::string_view name, std::string_view contents, std::string_view rule) {
    std::string found = "contents of before";
    SLUICE_RETURN_IF_ERROR(Works(env_.ReadFile(File(name), &found), "ReadFile reads a file"));
    return Rule(found == contents, fmt::format("{} ({} bytes expected, {} found)", rule,
                                               contents.size(), found.size()));
  }

  Status WritableFiles() {
    SLUICE_RETURN_IF_ERROR(Make("f", "of before, and longer than what comes first"));
    std::unique_ptr<WritableFile> file;
    SLUICE_RETURN_IF_ERROR(Works(env_.NewWritableFile(File("f"), &file),
                                 "NewWritableFile opens a file that is there"));
    SLUICE_RETURN_IF_ERROR(Holds("f", "", "NewWritableFile empties a file that is there"));
    std::string expected;
    for (const size_t bytes : {0, 1, 100, 65535, 1, 65536, 65537, 200000, 3}) {
      const std::string piece = Pattern(bytes, bytes);
      SLUICE_RETURN_IF_ERROR(Works(file->Append(piece), "Append takes any number of bytes"));
      expected += piece;
    }
    SLUICE_RETURN_IF_ERROR(Works(file->Flush(), "Flush works"));
    SLUICE_RETURN_IF_ERROR(Holds("f", expected, "what was appended can be read after Flush"));
    SLUICE_RETURN_IF_ERROR(Works(file->Append("end"), "Append works after Flush"));
    SLUICE_RETURN_IF_ERROR(Works(file->Sync(), "Sync works"));
    expected += "end";
    SLUICE_RETURN_IF_ERROR(Holds("f", expected, "what was appended can be read after Sync"));
    SLUICE_RETURN_IF_ERROR(Works(file->Append("!"), "Append works after Sync"));
    SLUICE_RETURN_IF_ERROR(Works(file->Close(), "Close works"));
    file.reset();
    SLUICE_RETURN_IF_ERROR(Holds("f", expected + "!", "Close flushes what was appended"));
    uint64_t bytes = 0;
    SLUICE_RETURN_IF_ERROR(Works(env_.GetFileSize(File("f"), &bytes), "GetFileSize works"));
    SLUICE_RETURN_IF_ERROR(
        Rule(bytes == expected.size() + 1, "GetFileSize says how long a file is"));
    return Remove("f");
  }

  Status ReservedFiles() {
    SLUICE_RETURN_IF_ERROR(Make("f", "of before"));
    std::unique_ptr<ReservedFile> file;
    SLUICE_RETURN_IF_ERROR(Works(env_.NewReservedFile(File("f"), 1 << 20, &file),
                                 "NewReservedFile opens a file that is there"));
    SLUICE_RETURN_IF_ERROR(Holds("f", "", "NewReservedFile empties a file that is there"));
    SLUICE_RETURN_IF_ERROR(Works(file->Reserve(10'000), "Reserve works"));
    SLUICE_RETURN_IF_ERROR(
        Holds("f", std::string(10'000, '\0'), "a reserved file is so long, and of zeros"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(9'990, "0123456789"), "the last bytes are written"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(0, "start"), "the first bytes are written"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(5, {}), "nothing is written"));
    const std::string written = "start" + std::string(9'985, '\0') + "0123456789";
    SLUICE_RETURN_IF_ERROR(Holds("f", written, "a write to a reserved file can be read at once"));
    SLUICE_RETURN_IF_ERROR(Works(file->Reserve(5'000), "less is reserved than there is"));
    SLUICE_RETURN_IF_ERROR(Holds("f", written, "Reserve never shortens the file"));
    SLUICE_RETURN_IF_ERROR(Works(file->Reserve(600'000), "more is reserved"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(599'999, "!"), "the new last byte is written"));
    SLUICE_RETURN_IF_ERROR(Works(file->Sync(), "Sync of a reserved file works"));
    file.reset();
    SLUICE_RETURN_IF_ERROR(Holds("f", written + std::string(589'999, '\0') + "!",
                                 "Reserve keeps what was written, and adds zeros"));
    return Remove("f");
  }

  Status DataFiles() {
    std::unique_ptr<DataFile> file;
    SLUICE_RETURN_IF_ERROR(
        Works(env_.NewDataFile(File("f"), &file), "NewDataFile makes a file that is not there"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(5000, "end"), "a write beyond the end works"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(0, "start"), "a write in front of others works"));
    SLUICE_RETURN_IF_ERROR(Works(file->Sync(), "Sync of a data file works"));
    SLUICE_RETURN_IF_ERROR(Rule(file->path() == File("f"), "a data file knows its path"));
    file.reset();
    SLUICE_RETURN_IF_ERROR(
        Works(env_.NewDataFile(File("f"), &file), "NewDataFile opens a file that is there"));
    file->StartWriteback(0, 5003);
    SLUICE_RETURN_IF_ERROR(Works(file->FinishWriteback(0, 5003), "FinishWriteback works"));
    std::string found(5003, 'x');
    SLUICE_RETURN_IF_ERROR(Works(file->Read(0, 5003, found.data()), "a data file is read"));
    SLUICE_RETURN_IF_ERROR(Rule(found == "start" + std::string(4995, '\0') + "end",
                                "a data file keeps what it had, with zeros where it was extended"));
    const Status beyond = file->Read(5000, 4, found.data());
    SLUICE_RETURN_IF_ERROR(
        Rule(!beyond.ok(), "a read of a data file that reaches past its end fails"));
    SLUICE_RETURN_IF_ERROR(Rule(beyond.message().find(File("f")) != std::string::npos,
                                "the error of a read names the path"));
    return Remove("f");
  }

  Status Discarding() {
    constexpr uint64_t kPart = 1 << 20;
    std::unique_ptr<DataFile> file;
    SLUICE_RETURN_IF_ERROR(Works(env_.NewDataFile(File("f"), &file), "NewDataFile works"));
    const std::string contents = Pattern(3 * kPart, 1);
    SLUICE_RETURN_IF_ERROR(Works(file->Write(0, contents), "a large write works"));
    SLUICE_RETURN_IF_ERROR(Works(file->Sync(), "Sync works"));
    uint64_t whole = 0;
    SLUICE_RETURN_IF_ERROR(Works(file->GetDiskBytes(&whole), "GetDiskBytes works"));
    const Status discarded = file->Discard(kPart, kPart);
    SLUICE_RETURN_IF_ERROR(
        Rule(discarded.ok() || discarded.IsNotSupported(), "Discard works, or says NotSupported"));
    uint64_t left = 0;
    SLUICE_RETURN_IF_ERROR(Works(file->GetDiskBytes(&left), "GetDiskBytes works"));
    SLUICE_RETURN_IF_ERROR(
        Rule(left < whole || !discarded.ok(), "Discard gives space back where it says so"));
    std::string found(kPart, '\0');
    for (const uint64_t part : {0, 2}) {
      SLUICE_RETURN_IF_ERROR(
          Works(file->Read(part * kPart, kPart, found.data()), "what was not discarded is read"));
      SLUICE_RETURN_IF_ERROR(Rule(found == contents.substr(part * kPart, kPart),
                                  "Discard leaves the bytes around it alone"));
    }
    SLUICE_RETURN_IF_ERROR(
        Works(file->Read(kPart, kPart, found.data()), "what was discarded can be read"));
    SLUICE_RETURN_IF_ERROR(
        Rule(found == std::string(kPart, '\0') || found == contents.substr(kPart, kPart),
             "what was discarded reads as it did, or as zeros"));
    SLUICE_RETURN_IF_ERROR(Works(file->Truncate(kPart), "Truncate works"));
    SLUICE_RETURN_IF_ERROR(Holds("f", contents.substr(0, kPart), "Truncate keeps what is before"));
    SLUICE_RETURN_IF_ERROR(Works(file->Write(kPart + 5, "x"), "a cut file grows again"));
    SLUICE_RETURN_IF_ERROR(Holds("f", contents.substr(0, kPart) + std::string(5, '\0') + "x",
                                 "a cut file that grows again has zeros where it was cut"));
    return Remove("f");
  }

  Status Cloning() {
    constexpr uint64_t kPart = 1 << 20;
    std::unique_ptr<DataFile> source;
    std::unique_ptr<DataFile> file;
    SLUICE_RETURN_IF_ERROR(Works(env_.NewDataFile(File("f"), &source), "NewDataFile works"));
    SLUICE_RETURN_IF_ERROR(Works(env_.NewDataFile(File("g"), &file), "NewDataFile works"));
    const std::string contents = Pattern(3 * kPart, 1);
    SLUICE_RETURN_IF_ERROR(Works(source->Write(0, contents), "a large write works"));
    const std::string start = Pattern(kPart, 2);
    SLUICE_RETURN_IF_ERROR(Works(file->Write(0, start), "a large write works"));
    const Status cloned = file->CloneFrom(*source, kPart, 2 * kPart, 2 * kPart);
    SLUICE_RETURN_IF_ERROR(
        Rule(cloned.ok() || cloned.IsNotSupported(), "CloneFrom works, or says NotSupported"));
    std::string expected = start;
    if (cloned.ok()) {
      expected += std::string(kPart, '\0') + contents.substr(kPart);
    }
    SLUICE_RETURN_IF_ERROR(Works(file->Sync(), "Sync works"));
    SLUICE_RETURN_IF_ERROR(
        Holds("g", expected, "CloneFrom has the bytes of its source, or no effect"));
    const Status nothing = file->CloneFrom(*source, 0, 0, 0);
    SLUICE_RETURN_IF_ERROR(
        Rule(nothing.ok() || nothing.IsNotSupported(), "CloneFrom works with no bytes"));
    SLUICE_RETURN_IF_ERROR(
        Works(source->Write(kPart, Pattern(kPart, 3)), "what was cloned is written to"));
    SLUICE_RETURN_IF_ERROR(Works(source->Truncate(kPart), "Truncate works"));
    SLUICE_RETURN_IF_ERROR(Holds("g", expected, "a clone keeps what its source had"));
    SLUICE_RETURN_IF_ERROR(Remove("f"));
    SLUICE_RETURN_IF_ERROR(Holds("g", expected, "a clone outlives its source"));
    return Remove("g");
  }

  // What is read from the descriptor for queued reads must be what Read reads.
  Status Queued(const IoDescriptor& descriptor, const std::string& bytes) {
    const auto [fd, alignment] = descriptor;
    if (fd < 0) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(Rule(std::has_single_bit(alignment) && alignment <= 1 << 16,
                                "the alignment of queued reads is a power of two, 64 KiB at most"));
    std::string memory(3 * size_t{alignment}, '\0');
    char* const at = AlignUp(memory.data(), alignment);
    for (const uint64_t offset : {uint64_t{0}, uint64_t{alignment}}) {
      const size_t whole = std::min<size_t>(2 * size_t{alignment}, bytes.size() - offset);
      const ssize_t got = ::pread(fd, at, 2 * size_t{alignment}, static_cast<off_t>(offset));
      SLUICE_RETURN_IF_ERROR(
          Rule(got == static_cast<ssize_t>(whole) && bytes.compare(offset, whole, at, whole) == 0,
               "the descriptor for queued reads reads what Read does"));
    }
    return {};
  }

  // What is written to the descriptor for queued writes must be what Read reads.
  Status QueuedWrite(DataFile* file, std::string* contents) {
    const auto [fd, alignment] = file->write_descriptor();
    if (fd < 0) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(Rule(std::has_single_bit(alignment) && alignment <= 4096,
                                "the alignment of queued writes is a power of two, 4 KiB at most"));
    const size_t bytes = 2 * size_t{alignment};
    std::string memory(bytes + alignment, 'q');
    char* const at = AlignUp(memory.data(), alignment);
    SLUICE_RETURN_IF_ERROR(Rule(::pwrite(fd, at, bytes, alignment) == static_cast<ssize_t>(bytes),
                                "the descriptor for queued writes can be written to"));
    contents->replace(alignment, bytes, at, bytes);
    std::string found(contents->size(), '\0');
    SLUICE_RETURN_IF_ERROR(Works(file->Read(0, found.size(), found.data()), "a data file is read"));
    return Rule(found == *contents, "what is queued to be written is what Read reads");
  }

  Status Bypassing() {
    std::string contents = Pattern(100'000, 3);
    SLUICE_RETURN_IF_ERROR(Make("f", contents));
    std::unique_ptr<DataFile> data;
    std::unique_ptr<RandomAccessFile> read;
    SLUICE_RETURN_IF_ERROR(Works(env_.NewDataFile(File("f"), &data), "NewDataFile works"));
    SLUICE_RETURN_IF_ERROR(
        Works(env_.NewRandomAccessFile(File("f"), &read), "NewRandomAccessFile works"));
    SLUICE_RETURN_IF_ERROR(Queued(data->read_descriptor(), contents));
    SLUICE_RETURN_IF_ERROR(Queued(read->read_descriptor(), contents));
    SLUICE_RETURN_IF_ERROR(QueuedWrite(data.get(), &contents));
    for (const Status& status : {data->BypassPageCache(), read->BypassPageCache()}) {
      SLUICE_RETURN_IF_ERROR(Rule(status.ok() || status.IsNotSupported(),
                                  "BypassPageCache works, or says NotSupported"));
    }
    const auto holds = [&](const std::string& bytes) -> Status {
      SLUICE_RETURN_IF_ERROR(Queued(data->read_descriptor(), bytes));
      SLUICE_RETURN_IF_ERROR(Queued(read->read_descriptor(), bytes));
      for (const uint64_t offset : {0, 1, 511, 4095, 4096, 50'000, 99'999}) {
        for (const size_t n : {1, 100, 4096, 20'000}) {
          std::string found(n, '\0');
          const bool whole = offset + n <= bytes.size();
          for (const Status& status :
               {data->Read(offset, n, found.data()), read->Read(offset, n, found.data())}) {
            SLUICE_RETURN_IF_ERROR(
                Rule(status.ok() == whole, "a read past the page cache is whole, or an error"));
          }
          SLUICE_RETURN_IF_ERROR(Rule(!whole || found == bytes.substr(offset, n),
                                      "what is read past the page cache is what was written"));
        }
      }
      return {};
    };
    SLUICE_RETURN_IF_ERROR(holds(contents));
    SLUICE_RETURN_IF_ERROR(QueuedWrite(data.get(), &contents));
    const std::string more = contents.substr(0, 60'000) + Pattern(60'000, 4);
    SLUICE_RETURN_IF_ERROR(Works(data->Write(60'000, more.substr(60'000)),
                                 "a file written past the page cache works"));
    SLUICE_RETURN_IF_ERROR(Works(data->Sync(), "Sync works"));
    SLUICE_RETURN_IF_ERROR(holds(more));
    data.reset();
    read.reset();
    return Remove("f");
  }

  // Parts of one data file, and files of their own.
  Status Threads() {
    constexpr int kThreads = 4;
    constexpr size_t kPart = 64 << 10;
    std::unique_ptr<DataFile> shared;
    SLUICE_RETURN_IF_ERROR(Works(env_.NewDataFile(File("f"), &shared), "NewDataFile works"));
    std::vector<Status> outcome(kThreads);
    const auto work = [&](int thread) -> Status {
      const std::string name = fmt::format("f{}", thread);
      const uint64_t at = static_cast<uint64_t>(thread) * kPart;
      for (int i = 0; i < 20; ++i) {
        const std::string contents = Pattern(kPart, static_cast<uint64_t>(thread) * 100 + i);
        SLUICE_RETURN_IF_ERROR(Works(shared->Write(at, contents), "threads write to one file"));
        SLUICE_RETURN_IF_ERROR(Works(shared->Sync(), "threads sync one file"));
        std::string found(kPart, '\0');
        SLUICE_RETURN_IF_ERROR(
            Works(shared->Read(at, kPart, found.data()), "threads read one file"));
        SLUICE_RETURN_IF_ERROR(
            Rule(found == contents, "a thread reads what it wrote, whatever others write"));
        SLUICE_RETURN_IF_ERROR(Make(name, contents));
        SLUICE_RETURN_IF_ERROR(Holds(name, contents, "threads have files of their own"));
      }
      return Remove(name);
    };
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { outcome[i] = work(i); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const Status& status : outcome) {
      SLUICE_RETURN_IF_ERROR(status);
    }
    shared.reset();
    return Remove("f");
  }

  Status Reading() {
    SLUICE_RETURN_IF_ERROR(Make("f", "0123456789"));
    std::unique_ptr<RandomAccessFile> file;
    SLUICE_RETURN_IF_ERROR(
        Works(env_.NewRandomAccessFile(File("f"), &file), "NewRandomAccessFile works"));
    char found[10];
    SLUICE_RETURN_IF_ERROR(Works(file->Read(3, 7, found), "Read up to the end works"));
    SLUICE_RETURN_IF_ERROR(
        Rule(std::string_view(found, 7) == "3456789", "Read reads what is at its offset"));
    SLUICE_RETURN_IF_ERROR(
        Rule(!file->Read(4, 7, found).ok(), "a read that reaches past the end fails"));
    MappedFile map;
    SLUICE_RETURN_IF_ERROR(Works(env_.MapFile(File("f"), &map), "MapFile works"));
    SLUICE_RETURN_IF_ERROR(Rule(map.bytes() == "0123456789", "a map has the file's bytes"));
    const MappedFile moved = std::move(map);
    SLUICE_RETURN_IF_ERROR(Remove("f"));
    SLUICE_RETURN_IF_ERROR(Rule(moved.bytes() == "0123456789",
                                "a map may be moved, and outlives the name of its file"));
    SLUICE_RETURN_IF_ERROR(Works(file->Read(0, 10, found), "an open file outlives its name"));
    SLUICE_RETURN_IF_ERROR(Make("empty", ""));
    SLUICE_RETURN_IF_ERROR(Holds("empty", "", "ReadFile of an empty file gives nothing"));
    SLUICE_RETURN_IF_ERROR(Works(env_.MapFile(File("empty"), &map), "an empty file is mapped"));
    SLUICE_RETURN_IF_ERROR(Rule(map.bytes().empty(), "the map of an empty file is empty"));
    return Remove("empty");
  }

  Status Names() {
    SLUICE_RETURN_IF_ERROR(Works(env_.CreateDir(File("sub")), "CreateDir works"));
    SLUICE_RETURN_IF_ERROR(
        Works(env_.CreateDir(File("sub")), "CreateDir of a directory that is there works"));
    SLUICE_RETURN_IF_ERROR(Make("sub/b", "b"));
    SLUICE_RETURN_IF_ERROR(Make("sub/a", "a"));
    SLUICE_RETURN_IF_ERROR(
        Rule(!env_.CreateDir(File("sub/a")).ok(), "CreateDir fails where there is a file"));
    SLUICE_RETURN_IF_ERROR(
        Works(env_.RenameFile(File("sub/b"), File("sub/a")), "RenameFile replaces a file"));
    SLUICE_RETURN_IF_ERROR(Holds("sub/a", "b", "RenameFile replaces the contents"));
    SLUICE_RETURN_IF_ERROR(Make("sub/0", ""));
    SLUICE_RETURN_IF_ERROR(Works(env_.SyncDir(File("sub")), "SyncDir works"));
    std::vector<std::string> names = {"of before"};
    SLUICE_RETURN_IF_ERROR(Works(env_.GetChildren(File("sub"), &names), "GetChildren works"));
    SLUICE_RETURN_IF_ERROR(Rule(names == std::vector<std::string>{"0", "a"},
                                "GetChildren gives the names that there are, sorted"));
    SLUICE_RETURN_IF_ERROR(Works(env_.FileExists(File("sub")), "FileExists finds a directory"));
    SLUICE_RETURN_IF_ERROR(Works(env_.FileExists(File("sub/a")), "FileExists finds a file"));
    SLUICE_RETURN_IF_ERROR(
        Rule(!env_.RemoveDir(File("sub")).ok(), "RemoveDir fails while something is in it"));
    SLUICE_RETURN_IF_ERROR(Remove("sub/0"));
    SLUICE_RETURN_IF_ERROR(Remove("sub/a"));
    return Works(env_.RemoveDir(File("sub")), "RemoveDir removes an empty directory");
  }

  Status Ids() {
    SLUICE_RETURN_IF_ERROR(Works(env_.CreateDir(File("sub")), "CreateDir works"));
    SLUICE_RETURN_IF_ERROR(Make("f", ""));
    const std::array<std::string, 6> paths = {File("f"),      dir_ + "/./f", File("sub"),
                                              dir_ + "/sub/", dir_,          dir_ + "//"};
    std::array<std::string, 6> ids;
    for (size_t i = 0; i < paths.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(
          Works(env_.GetFileId(paths[i], &ids[i]), fmt::format("GetFileId of {} works", paths[i])));
    }
    SLUICE_RETURN_IF_ERROR(Rule(ids[0] == ids[1] && ids[2] == ids[3] && ids[4] == ids[5],
                                "GetFileId does not depend on how a path is spelt"));
    SLUICE_RETURN_IF_ERROR(Rule(ids[0] != ids[2] && ids[0] != ids[4] && ids[2] != ids[4],
                                "GetFileId tells files and directories apart"));
    SLUICE_RETURN_IF_ERROR(Remove("f"));
    return Works(env_.RemoveDir(File("sub")), "RemoveDir works");
  }

  Status Missing() {
    const std::string path = File("none/f");
    std::unique_ptr<WritableFile> writable;
    std::unique_ptr<ReservedFile> reserved;
    std::unique_ptr<DataFile> data;
    std::unique_ptr<RandomAccessFile> readable;
    std::unique_ptr<FileLock> lock;
    MappedFile map;
    std::string text;
    std::vector<std::string> names;
    uint64_t bytes;
    const std::pair<std::string_view, Status> outcomes[] = {
        {"NewWritableFile", env_.NewWritableFile(path, &writable)},
        {"NewReservedFile", env_.NewReservedFile(path, 10, &reserved)},
        {"NewDataFile", env_.NewDataFile(path, &data)},
        {"NewRandomAccessFile", env_.NewRandomAccessFile(path, &readable)},
        {"ReadFile", env_.ReadFile(path, &text)},
        {"MapFile", env_.MapFile(path, &map)},
        {"GetFileSize", env_.GetFileSize(path, &bytes)},
        {"GetFileId", env_.GetFileId(path, &text)},
        {"GetChildren", env_.GetChildren(path, &names)},
        {"RemoveFile", env_.RemoveFile(path)},
        {"RemoveDir", env_.RemoveDir(path)},
        {"RenameFile", env_.RenameFile(path, File("x"))},
        {"CreateDir", env_.CreateDir(path)},
        {"SyncDir", env_.SyncDir(path)},
        {"FileExists", env_.FileExists(path)},
        {"LockFile", env_.LockFile(path, &lock)},
        {"LockFileShared", env_.LockFileShared(path, &lock)}};
    for (const auto& [operation, status] : outcomes) {
      SLUICE_RETURN_IF_ERROR(FindsNothing(status, path, operation));
    }
    return FindsNothing(env_.LockFileShared(File("f"), &lock), File("f"), "LockFileShared");
  }

  Status Locks() {
    const auto busy = [](const Status& status) { return status.code() == Status::Code::kBusy; };
    std::unique_ptr<FileLock> one;
    std::unique_ptr<FileLock> two;
    SLUICE_RETURN_IF_ERROR(Works(env_.LockFile(File("f"), &one), "LockFile makes the file"));
    SLUICE_RETURN_IF_ERROR(
        Rule(busy(env_.LockFile(File("f"), &two)), "a lock that is held is Busy"));
    SLUICE_RETURN_IF_ERROR(Rule(busy(env_.LockFile(dir_ + "/./f", &two)),
                                "a lock that is held is Busy, however its path is spelt"));
    SLUICE_RETURN_IF_ERROR(
        Rule(busy(env_.LockFileShared(File("f"), &two)), "readers wait for the writer"));
    one.reset();
    SLUICE_RETURN_IF_ERROR(
        Works(env_.LockFileShared(File("f"), &one), "a lock that was given up can be had"));
    SLUICE_RETURN_IF_ERROR(Works(env_.LockFileShared(File("f"), &two), "readers share a lock"));
    std::unique_ptr<FileLock> whole;
    SLUICE_RETURN_IF_ERROR(
        Rule(busy(env_.LockFile(File("f"), &whole)), "the writer waits for all readers"));
    one.reset();
    SLUICE_RETURN_IF_ERROR(
        Rule(busy(env_.LockFile(File("f"), &whole)), "the writer waits for all readers"));
    two.reset();
    SLUICE_RETURN_IF_ERROR(
        Works(env_.LockFile(File("f"), &whole), "the writer has the lock after the readers"));
    whole.reset();
    return Remove("f");
  }

  Env& env_;
  const std::string dir_;
};

}  // namespace

Status CheckEnv(Env* env, const std::string& dir) { return EnvChecker(env, dir).Run(); }

}  // namespace sluice
