// The calls of XRT's lower layer that nobody here makes, so that its library can be loaded.

#include <cerrno>

#define SLUICE_UNUSED(name) \
  int name() { return -ENOSYS; }

extern "C" {
SLUICE_UNUSED(xclAllocBO)
SLUICE_UNUSED(xclCopyBO)
SLUICE_UNUSED(xclExecBuf)
SLUICE_UNUSED(xclExecWait)
SLUICE_UNUSED(xclExportBO)
SLUICE_UNUSED(xclImportBO)
SLUICE_UNUSED(xclMapBO)
SLUICE_UNUSED(xclP2pEnable)
SLUICE_UNUSED(xclReClock2)
SLUICE_UNUSED(xclRead)
SLUICE_UNUSED(xclUnmapBO)
SLUICE_UNUSED(xclUnmgdPread)
SLUICE_UNUSED(xclUnmgdPwrite)
SLUICE_UNUSED(xclWrite)
}

// NOLINTBEGIN(readability-identifier-naming): XRT's names
enum xclResetKind : int;
int xclCloseExportHandle(int) { return -ENOSYS; }
int xclCmaEnable(void*, bool, unsigned long) { return -ENOSYS; }
int xclInternalResetDevice(void*, xclResetKind) { return -ENOSYS; }
int xclUpdateSchedulerStat(void*) { return -ENOSYS; }

// What the emulation's devices ask their shim: whether they have DMA, and copy within the card.
namespace xrt_core::query {
enum class key_type;
}
namespace xclhwemhal2 {
struct HwEmShim {
  static HwEmShim* handleCheck(void* handle);
  int deviceQuery(xrt_core::query::key_type key);
};
HwEmShim* HwEmShim::handleCheck(void*) { return nullptr; }
int HwEmShim::deviceQuery(xrt_core::query::key_type) { return 0; }
}  // namespace xclhwemhal2
// NOLINTEND(readability-identifier-naming)
