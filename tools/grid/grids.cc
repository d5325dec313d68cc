#include "grid/grids.h"

#include <fmt/format.h>

#include "grid/thesis.h"

namespace sluice::grid {

namespace {

const std::vector<Shape> kAllShapes = {Shape::kRandom, Shape::kOneRunFirst, Shape::kDuplicates,
                                       Shape::kDeletions};

struct Axes {
  std::vector<std::string> configs;
  std::vector<Shape> shapes;
  std::vector<uint32_t> key_bytes;
  std::vector<uint32_t> value_bytes;
  std::vector<uint32_t> latencies;
};

std::vector<Cell> Product(const Axes& axes) {
  std::vector<Cell> cells;
  for (const std::string& config : axes.configs) {
    for (const Shape shape : axes.shapes) {
      for (const uint32_t key : axes.key_bytes) {
        for (const uint32_t value : axes.value_bytes) {
          for (const uint32_t latency : axes.latencies) {
            cells.push_back({config, shape, {key, key}, {value, value}, latency});
          }
        }
      }
    }
  }
  return cells;
}

// hw/CMakeLists.txt has models of these: n2v8 and so on, with ports as wide as the datapath.
std::vector<std::string> AllConfigurations() {
  std::vector<std::string> names;
  for (const int ways : {2, 4, 8, 9, 16}) {
    for (const int value_bytes : {8, 16, 32, 64}) {
      names.push_back(fmt::format("n{}v{}", ways, value_bytes));
    }
  }
  return names;
}

std::vector<Cell> ThesisCells() {
  std::vector<Cell> cells;
  for (const ThesisResult& r : kThesisResults) {
    cells.push_back({"tiny", Shape::kThesis, r.key_bytes, {r.value_bytes, r.value_bytes}});
  }
  return cells;
}

}  // namespace

const std::vector<Grid>& Grids() {
  static const std::vector<Grid> grids = {
      {"quick", "the named configurations at the corners of the contract",
       Product({{"tiny", "fcae2", "fcae9", "fast20", "wide"},
                kAllShapes,
                {16, 256},
                {0, 128, 4096},
                {30, 200}})},
      {"full", "every N and V of the contract, ports of V bytes",
       Product({AllConfigurations(),
                kAllShapes,
                {8, 32, 256},
                {0, 32, 128, 512, 2048, 4096},
                {30, 200}})},
      {"fcae", "FCAE (ICDE'20), VII-B and VII-C: keys of 16 bytes",
       Product({{"tiny", "fcae2", "n2v32", "n2v64", "fcae9"},
                {Shape::kRandom},
                {16},
                {64, 128, 256, 512, 1024, 2048},
                {30}})},
      {"fast20", "FAST'20, 4.2: keys of 8 bytes, nothing dropped",
       Product({{"n4v8", "fast20"},
                {Shape::kRandom},
                {8},
                {32, 64, 128, 256, 384, 512, 640, 768, 896, 1024},
                {30}})},
      {"thesis", "LSM-Compactron3000, 4.3: 50 + 30 records, one job with its start-up",
       ThesisCells()},
  };
  return grids;
}

}  // namespace sluice::grid
