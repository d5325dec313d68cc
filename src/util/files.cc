#include "util/files.h"

#include <memory>

namespace sluice {

Status WriteFileSynced(Env* env, const std::string& path, std::string_view contents) {
  std::unique_ptr<WritableFile> file;
  SLUICE_RETURN_IF_ERROR(env->NewWritableFile(path, &file));
  SLUICE_RETURN_IF_ERROR(file->Append(contents));
  SLUICE_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

std::string DirName(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace sluice
