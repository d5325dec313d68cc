// An XFS, whose files share space (DataFile::CloneFrom), for tests.

#pragma once

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "util/testing.h"

namespace sluice {

class XfsMount {
 public:
  // 512 MiB, of a sparse file, in a mount namespace of this thread and those that it starts. There is
  // none if the process may not mount.
  XfsMount() {
    const std::string make = fmt::format(
        "PATH=$PATH:/sbin:/usr/sbin; truncate -s 512M '{0}' && "
        "mkfs.xfs -q -m reflink=1 '{0}' && mkdir '{1}' && mount -o loop '{0}' '{1}'",
        dir_.File("image"), path_);
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      error_ = std::strerror(errno);              // NOLINT(concurrency-mt-unsafe): as the next
    } else if (std::system(make.c_str()) != 0) {  // NOLINT(concurrency-mt-unsafe): one thread
      error_ = "no XFS could be made, or mounted";
    }
  }
  XfsMount(const XfsMount&) = delete;
  XfsMount& operator=(const XfsMount&) = delete;
  ~XfsMount() {
    if (error_.empty()) {
      (void)::umount2(path_.c_str(), MNT_DETACH);
    }
  }

  // Why there is none; empty if there is.
  const std::string& error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  const TempDir dir_;
  const std::string path_ = dir_.File("mounted");
  std::string error_;
};

}  // namespace sluice
