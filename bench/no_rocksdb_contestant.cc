#include "bench/contestant.h"

namespace sluice::bench {

std::unique_ptr<Contestant> NewRocksDbContestant() { return nullptr; }

}  // namespace sluice::bench
