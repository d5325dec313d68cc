// Whether addresses decide anything.

#pragma once

namespace sluice::sim {

// From now on, objects lie elsewhere in memory, and in another order.
void DisturbAddresses();

}  // namespace sluice::sim
