#pragma once

#include "optimizer/cost/profile.h"

namespace plait {

// What a profile would be, had it been measured while the device was as `present` says: profiles of
// a fast hour and of a slow one are compared after this.
//
// A kernel that computes more for each byte that it moves than the device can while it reads one is
// bound by computing, and its times follow the multiply-adds; those of any other follow the reads.
// 1000 flops/us and 100 bytes/us when it was measured make 10 flops per byte. A kernel of 20 flops
// per byte took 8 us; now the device does 500 flops/us, and the kernel takes 16 us, however fast
// memory is.
//
// Times alone are changed; the profile's yardsticks stay those of its measurement. A profile whose
// yardsticks are unknown, or a present that is, leaves it as it is. Pure.
Profile ScaledToPresent(const Profile& profile, const Yardsticks& present);

}  // namespace plait
