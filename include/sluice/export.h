/* Marks what the shared library exports; everything else in it is hidden. */

#pragma once

#if defined(__cplusplus)
#define SLUICE_EXPORT [[gnu::visibility("default")]]
#elif defined(__GNUC__)
#define SLUICE_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_EXPORT
#endif
