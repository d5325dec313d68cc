#include "stack.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sluice::sim {

namespace {

constexpr int kMostFrames = 64;

uintptr_t load_address = 0;
uintptr_t load_end = 0;
std::string program;

}  // namespace

void PrepareStacks() {
  void* frames[1];
  (void)::backtrace(frames, 1);  // loads a library the first time
  // The first object is this program.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        load_address = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          load_end = std::max<uintptr_t>(
              load_end, load_address + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        }
        return 1;
      },
      nullptr);
  char path[4096];
  const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof(path));
  program.assign(path, bytes > 0 ? bytes : 0);
}

void PrintStack() {
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  std::string command = "addr2line -Cfpsi -e '" + program + "'";
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(frames[i]);
    if (address >= load_address && address < load_end) {
      command += fmt::format(" {:#x}", address - load_address - 1);
    }
  }
  command += " | grep -v -e scheduler.cc -e stack.cc -e ^_start 1>&2";
  std::fflush(stderr);
  if (std::system(command.c_str()) != 0) {
    ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
  }
}

}  // namespace sluice::sim
