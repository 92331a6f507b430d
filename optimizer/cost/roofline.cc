#include "optimizer/cost/roofline.h"

#include <algorithm>

namespace plait {
namespace {

double RatioOrZero(int64_t amount, double rate) {
  return rate > 0 ? static_cast<double>(amount) / rate : 0;
}

}  // namespace

double Roofline::LatencyUs(const Work& work) const {
  return std::max(ComputeUs(work), RatioOrZero(work.bytes, bytes_per_us));
}

double Roofline::ComputeUs(const Work& work) const { return RatioOrZero(work.flops, flops_per_us); }

}  // namespace plait
