#include "optimizer/cost/layer_error.h"

#include <algorithm>

namespace plait {
namespace {

constexpr double kSerialErrorFactor = 1.5;
constexpr double kErrorAdmitted = 1.5e-6;

bool IsSmall(double error, double serial_error) {
  return error <= std::max(kErrorAdmitted, kSerialErrorFactor * serial_error);
}

}  // namespace

bool IsAdmitted(const LayerError& error) {
  return IsSmall(error.error, error.serial_error) &&
         IsSmall(error.hard_error, error.serial_hard_error);
}

}  // namespace plait
