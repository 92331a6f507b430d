#pragma once

#include <limits>

namespace plait {

// What spreads where kernels take numbers apart.
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace plait
