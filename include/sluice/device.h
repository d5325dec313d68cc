/// @file
/// The Compaction Unit as an executor: simulated from its RTL, or modelled. In the library
/// sluice_device.
///
///     sluice::Options options;
///     sluice::Status status = sluice::OpenUnits("rtl:fast20", &options.executors);

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "sluice/executor.h"
#include "sluice/export.h"
#include "sluice/status.h"

namespace sluice {

/// Adds the units that `name` stands for to `units`:
///
///     cpu            none: the CPU merges
///     rtl:CONFIG     all units of the card CONFIG (`sluice unit list` shows them), simulated from
///                    the RTL: slow, some 10^5 cycles per second
///     model:CONFIG   all units of the card, with the CPU's results and the time that the cycle
///                    model and a PCIe link give them
///     check:CONFIG   as rtl, each result compared with the CPU's, which counts
///     xrt:FILE       all units of a card behind the Xilinx Runtime, that FILE, an xclbin, has;
///                    `@` and a card's index or PCIe address may follow. Has never run on a card
///     f2:ADDRESS     all units of an AWS F2 card, by its PCI address, such as 0000:34:00.0. Has
///                    never run on a card
///
/// Without ":CONFIG" it is fast20. The units are thread-safe and may be shared by databases; one
/// has several tasks in flight (Executor::max_tasks), and keeps up to 72 MiB of memory for the tables
/// of the next ones, beside what stands for the card's own. Errors: InvalidArgument for another
/// kind, NotFound for an unknown CONFIG, FILE or ADDRESS, NotSupported for xrt where it was not
/// built in, IoError for what a card or its driver says.
SLUICE_EXPORT Status OpenUnits(std::string_view name,
                               std::vector<std::shared_ptr<Executor>>* units);

}  // namespace sluice
