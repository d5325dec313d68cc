#include "grid/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace sluice::grid {

namespace {

// Of a cell's name, what a run can be told to leave out: configuration and latency.
std::string ChoiceOf(const std::string& cell_name) {
  return cell_name.substr(0, cell_name.find('/')) + cell_name.substr(cell_name.rfind('/'));
}

}  // namespace

Baseline MakeBaseline(const std::vector<Measurement>& measurements) {
  Baseline baseline;
  for (const Measurement& m : measurements) {
    const std::string name = CellName(m.cell);
    baseline.cycles[name] = m.job_cycles;
    if (!m.MeetsContract()) {
      baseline.below_contract.insert(name);
    }
  }
  return baseline;
}

Status ReadBaseline(const std::string& path, Baseline* baseline) {
  std::ifstream in(path);
  if (!in) {
    return Status::IoError(fmt::format("{}: cannot be read", path));
  }
  try {
    const nlohmann::json json = nlohmann::json::parse(in);
    json.at("cycles").get_to(baseline->cycles);
    json.at("below_contract").get_to(baseline->below_contract);
  } catch (const nlohmann::json::exception& error) {
    return Status::Corruption(fmt::format("{}: {}", path, error.what()));
  }
  return {};
}

Status WriteBaseline(const std::string& path, const Baseline& baseline) {
  // A line per cell, so that a diff shows which ones a change touched.
  std::string below;
  for (const std::string& name : baseline.below_contract) {
    below += fmt::format("{}\n    \"{}\"", below.empty() ? "" : ",", name);
  }
  std::string cycles;
  for (const auto& [name, jobs] : baseline.cycles) {
    cycles +=
        fmt::format("{}\n    \"{}\": [{}]", cycles.empty() ? "" : ",", name, fmt::join(jobs, ", "));
  }
  std::ofstream out(path);
  out << fmt::format("{{\n  \"below_contract\": [{}],\n  \"cycles\": {{{}\n  }}\n}}\n",
                     below.empty() ? "" : below + "\n  ", cycles);
  out.close();
  return out ? Status() : Status::IoError(fmt::format("{}: cannot be written", path));
}

std::vector<std::string> Compare(const Baseline& then, const Baseline& now) {
  std::vector<std::string> complaints;
  std::set<std::string> chosen;
  for (const auto& [name, jobs] : now.cycles) {
    chosen.insert(ChoiceOf(name));
    const auto old = then.cycles.find(name);
    if (old == then.cycles.end()) {
      complaints.push_back(fmt::format("{}: not in the baseline", name));
    } else if (old->second != jobs) {
      complaints.push_back(fmt::format("{}: {} cycles, and {} in the baseline", name,
                                       fmt::join(jobs, " and "), fmt::join(old->second, " and ")));
    }
    const bool below = now.below_contract.contains(name);
    if (below && !then.below_contract.contains(name)) {
      complaints.push_back(fmt::format("{}: below the contract", name));
    } else if (!below && then.below_contract.contains(name)) {
      complaints.push_back(
          fmt::format("{}: meets the contract, but the baseline calls it below", name));
    }
  }
  for (const auto& [name, jobs] : then.cycles) {
    if (chosen.contains(ChoiceOf(name)) && !now.cycles.contains(name)) {
      complaints.push_back(fmt::format("{}: in the baseline, but not measured", name));
    }
  }
  return complaints;
}

}  // namespace sluice::grid
