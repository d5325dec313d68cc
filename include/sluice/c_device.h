/** @file
 * The Compaction Unit for users of the C interface (sluice/device.h). In the library
 * sluice_device. */

#pragma once

#include "sluice/c.h"
#include "sluice/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Merges with the units that `name` stands for, "rtl:fast20" for example, instead of those that
 * were set before. `name` and errors are those of sluice::OpenUnits. */
SLUICE_EXPORT void sluice_options_set_executor(sluice_options_t* options, const char* name,
                                               char** error);

#ifdef __cplusplus
}
#endif
