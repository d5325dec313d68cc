#include "grid/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "grid/thesis.h"

namespace sluice::grid {

namespace {

// FCAE Table V: keys of 16 bytes, N = 2, W_in = W_out = 64, MB/s of input tables.
struct FcaeSpeed {
  uint32_t value_bytes;
  double cpu;   // LevelDB on one thread of an i7-8700K
  double v[4];  // V = 8, 16, 32, 64
};
constexpr FcaeSpeed kFcaeTable5[] = {
    {64, 5.3, {178.5, 164.5, 181.8, 175.8}},     {128, 6.9, {260.1, 312.1, 311.8, 291.7}},
    {256, 9.0, {343.9, 451.6, 510.7, 524.9}},    {512, 12.2, {446.9, 627.9, 672.8, 745.4}},
    {1024, 14.8, {448.5, 739.5, 896.7, 1026.3}}, {2048, 13.3, {506.3, 709.0, 1077.4, 1205.6}},
};

const FcaeSpeed* FindFcae(uint32_t value_bytes) {
  const auto* row = std::find_if(std::begin(kFcaeTable5), std::end(kFcaeTable5),
                                 [&](const FcaeSpeed& r) { return r.value_bytes == value_bytes; });
  return row == std::end(kFcaeTable5) ? nullptr : row;
}

// FCAE's "size of input SSTables / kernel compaction time"; their index blocks are left out.
double InputRate(const Measurement& m) {
  return static_cast<double>(m.steady.read_bytes) / static_cast<double>(m.steady.cycles) *
         kClockMhz;
}

std::optional<Published> Fcae(const Measurement& m) {
  const FcaeSpeed* row = FindFcae(m.cell.value_bytes.min);
  size_t column = 0;
  while (column < 4 && (8u << column) != m.info.value_bytes) {
    ++column;
  }
  if (row == nullptr || m.info.ways != 2 || column == 4) {
    return {};
  }
  Published p{"FCAE Table V", "MB/s", row->v[column], InputRate(m)};
  p.speedup = p.measured / p.value;
  p.cycles_per_record = m.CyclesPerRecord() * p.speedup;
  return p;
}

// FAST'20 equations 3 and 4 with the constants of Table 1: Merger and KV Transfer run one after the
// other, and together bound their unit (section 4.2). Figure 11 plots this and the measurement,
// which is within 5% of it up to 256-byte values and 13% at 1024.
double Fast20Cycles(uint32_t key_bytes, uint32_t value_bytes) {
  constexpr double kBus = 8;
  const double merger = 50 + 5 * key_bytes / kBus;
  const double transfer = 18 + (key_bytes + value_bytes) / kBus;
  return merger + transfer;
}

std::optional<Published> Fast20(const Measurement& m) {
  Published p{"FAST'20 eqs. 3 and 4 (Figure 11)", "M records/s"};
  p.cycles_per_record = Fast20Cycles(m.cell.key_bytes.min, m.cell.value_bytes.min);
  p.value = kClockMhz / p.cycles_per_record;
  p.measured = kClockMhz / m.CyclesPerRecord();
  p.speedup = p.measured / p.value;
  return p;
}

std::optional<Published> Thesis(const Measurement& m) {
  for (const ThesisResult& r : kThesisResults) {
    if (r.key_bytes.min == m.cell.key_bytes.min && r.value_bytes == m.cell.value_bytes.min) {
      Published p{"thesis Table 4.1", "unit cycles"};
      p.value = r.cpu_cycles * kThesisUnitPerCpuCycle;
      p.measured = static_cast<double>(m.steady.cycles);
      p.speedup = p.value / p.measured;
      p.cycles_per_record = p.value / static_cast<double>(m.steady.records);
      return p;
    }
  }
  return {};
}

// How much slower nine ways are than two of the same width, which FCAE Figure 12 shows.
std::string WaysCost(const std::vector<Measurement>& measurements) {
  std::map<uint32_t, double> rates[2];  // by value length: two ways, nine ways
  for (const Measurement& m : measurements) {
    if (m.info.value_bytes == 8 && (m.info.ways == 2 || m.info.ways == 9)) {
      rates[m.info.ways == 9][m.cell.value_bytes.min] = InputRate(m);
    }
  }
  std::string text;
  for (const auto& [value_bytes, two] : rates[0]) {
    if (const auto nine = rates[1].find(value_bytes); nine != rates[1].end()) {
      text += fmt::format("{}{:+.1f}% at {} B", text.empty() ? "" : ", ",
                          100 * (nine->second / two - 1), value_bytes);
    }
  }
  return text;
}

// FCAE Figure 9 is Table V divided by its CPU column.
std::string Accelerations(const std::vector<Measurement>& measurements) {
  std::string text;
  for (const Measurement& m : measurements) {
    const std::optional<Published> p = Fcae(m);
    const FcaeSpeed* row = FindFcae(m.cell.value_bytes.min);
    if (p && (row->value_bytes == 64 || row->value_bytes == 2048)) {
      text +=
          fmt::format("{}{} at {} B {:.0f} (theirs {:.0f})", text.empty() ? "" : ", ",
                      m.cell.config, row->value_bytes, p->measured / row->cpu, p->value / row->cpu);
    }
  }
  return text;
}

std::string FcaeNotes(const std::vector<Measurement>& measurements) {
  return fmt::format(
      R"notes(- Theirs are kernel times on a KCU1500 card at 200 MHz; ours cycle counts of the RTL at an
  assumed 200 MHz. Theirs has ports of 64 bytes at every V.
- Figure 9, times the CPU column of Table V (LevelDB on an i7-8700K): {}.
- Figure 12, nine ways against two, has no printed numbers. The text: "degradation in
  comparison with 2-input for small value length (about 70%)", less as they grow. Here at
  V = 8: {}.
- Figure 13, nine ways against the CPU, is a plot without printed numbers.
- Table VII, of a KCU1500, as N/W_in/V, BRAM, FF, LUT: 2/64/16 18% 10% 72%, 2/64/8 17% 9%
  63%, 9/64/8 35% 27% 206%, 9/16/16 30% 18% 125%, 9/16/8 26% 16% 103%, 9/8/8 25% 14% 84%.
  `make synth` counts ours.
)notes",
      Accelerations(measurements), WaysCost(measurements));
}

constexpr std::string_view kFast20Notes =
    R"(- Figure 11 plots their unit, and their model of it, which is printed: 50 + 5 K/8 cycles of the
  Merger and, after it, 18 + (K + L)/8 of KV Transfer for a key of K and a value of L bytes at
  200 MHz. Measured, it is within 5% up to values of 256 bytes and 13% at 1024. It has four
  inputs and a bus of 8 bytes.
- Figure 10 sets whole offloaded compactions, transfers included, against one CPU thread: 203% to
  507% higher. The numbers are not printed, and this grid has no host; `make bench` has the CPU.
- Table 2, one unit on a VU9P: 38635 LUT (3.2%), 30783 FF (1.3%), 46 of 960 RAM (4.8%), of it four
  decoders with 5783 LUT and 4570 FF each. `make synth` counts ours.
)";

constexpr std::string_view kThesisNotes =
    R"(- Table 4.1 counts cycles of the ARM core that waits, at 650 MHz; the unit's are these times
  100/650, DMA and control included. Ours includes start-up and descriptors from memory.
- Similarity 0.6 is read as: 18 keys of the second table are in the first. Their bus is 4 bytes
  wide, and their format is their own.
)";

}  // namespace

std::optional<Published> FindPublished(std::string_view grid, const Measurement& measurement) {
  if (grid == "fcae") {
    return Fcae(measurement);
  }
  if (grid == "fast20") {
    return Fast20(measurement);
  }
  if (grid == "thesis") {
    return Thesis(measurement);
  }
  return {};
}

std::string PublishedNotes(std::string_view grid, const std::vector<Measurement>& measurements) {
  if (grid == "fcae") {
    return FcaeNotes(measurements);
  }
  return std::string(grid == "fast20" ? kFast20Notes : grid == "thesis" ? kThesisNotes : "");
}

}  // namespace sluice::grid
