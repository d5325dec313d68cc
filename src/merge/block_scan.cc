#include "merge/block_scan.h"

#include "merge/x86_vectors.h"

namespace sluice {

#ifdef __x86_64__

bool ScanAscending(const char* p, const char* limit, ScannedKey* key, ScannedRecords* records) {
  static decltype(ScanAscending)* const scan = internal::HasAvx512() ? internal::ScanAvx512
                                               : internal::HasAvx2() ? internal::ScanAvx2
                                                                     : nullptr;
  return scan != nullptr && scan(p, limit, key, records);
}

#else

bool ScanAscending(const char*, const char*, ScannedKey*, ScannedRecords*) { return false; }

#endif

}  // namespace sluice
