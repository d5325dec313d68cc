#include "leveldb_dir/log_writer.h"

#include <algorithm>

#include "leveldb_dir/log_format.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

namespace {

void AppendFragment(LogFragment type, std::string_view payload, std::string* log) {
  const char type_byte = static_cast<char>(type);
  PutFixed32(log, MaskCrc(ExtendCrc32c(Crc32c({&type_byte, 1}), payload)));
  log->push_back(static_cast<char>(payload.size() & 0xff));
  log->push_back(static_cast<char>(payload.size() >> 8));
  log->push_back(type_byte);
  log->append(payload);
}

}  // namespace

void AppendLogRecord(std::string_view record, std::string* log) {
  bool first = true;
  do {  // once for an empty record, too
    size_t room = kLogBlockBytes - log->size() % kLogBlockBytes;
    if (room < kLogHeaderBytes) {
      log->append(room, '\0');
      room = kLogBlockBytes;
    }
    const size_t bytes = std::min(record.size(), room - kLogHeaderBytes);
    const bool last = bytes == record.size();
    const LogFragment type = first && last ? LogFragment::kFull
                             : first       ? LogFragment::kFirst
                             : last        ? LogFragment::kLast
                                           : LogFragment::kMiddle;
    AppendFragment(type, record.substr(0, bytes), log);
    record.remove_prefix(bytes);
    first = false;
    if (last) {
      return;
    }
  } while (true);
}

}  // namespace sluice
