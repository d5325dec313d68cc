#include "util/files.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <memory>

namespace sluice {

Status WriteFileSynced(Env* env, const std::string& path, std::string_view contents) {
  std::unique_ptr<WritableFile> file;
  SLUICE_RETURN_IF_ERROR(env->NewWritableFile(path, &file));
  SLUICE_RETURN_IF_ERROR(file->Append(contents));
  SLUICE_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

Status ReadIn(const MappedFile& file, const std::string& path) {
#ifdef MADV_POPULATE_READ
  const std::string_view bytes = file.bytes();
  if (::madvise(const_cast<char*>(bytes.data()), bytes.size(), MADV_POPULATE_READ) != 0 &&
      (errno == EFAULT || errno == EHWPOISON)) {
    return Status::FromErrno(fmt::format("{}: cannot read", path), EIO);
  }
#endif
  return {};
}

std::string DirName(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace sluice
