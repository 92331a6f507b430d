#include "optimizer/cost/layer_error.h"

#include <algorithm>

namespace plait {
namespace {

constexpr double kSerialErrorFactor = 1.5;
constexpr double kErrorAdmitted = 1.5e-6;

}  // namespace

double AdmittedError(double serial_error) {
  return std::max(kErrorAdmitted, kSerialErrorFactor * serial_error);
}

bool IsAdmitted(const LayerError& error) {
  return error.error <= AdmittedError(error.serial_error) &&
         error.hard_error <= AdmittedError(error.serial_hard_error);
}

}  // namespace plait
