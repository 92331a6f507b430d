#pragma once

namespace plait {

// How far a device's speed may move beside a measurement that is to count. 3 %: a step of 100 MHz
// of a processor's clock is within it, and two are not.
inline constexpr double kYardstickDriftMax = 0.03;

}  // namespace plait
