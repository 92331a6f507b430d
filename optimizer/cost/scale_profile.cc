#include "optimizer/cost/scale_profile.h"

#include "base/limits.h"

namespace plait {
namespace {

bool AreKnown(const Yardsticks& yardsticks) {
  return yardsticks.multiply_add_flops_per_us > 0 && yardsticks.read_bytes_per_us > 0;
}

bool IsBoundByComputing(const Profile& profile) {
  const Yardsticks& then = profile.yardsticks;
  // Of a quotient on both sides, so that a kernel that moves nothing is no division by zero.
  return static_cast<double>(profile.flops) * then.read_bytes_per_us >
         static_cast<double>(profile.bytes) * then.multiply_add_flops_per_us;
}

}  // namespace

Profile ScaledToPresent(const Profile& profile, const Yardsticks& present) {
  const Yardsticks& then = profile.yardsticks;
  if (!AreKnown(then) || !AreKnown(present)) return profile;
  const double factor = IsBoundByComputing(profile)
                            ? then.multiply_add_flops_per_us / present.multiply_add_flops_per_us
                            : then.read_bytes_per_us / present.read_bytes_per_us;
  Profile scaled = profile;
  scaled.latency_us_median *= factor;
  scaled.latency_us_p10 *= factor;
  scaled.latency_us_mad *= factor;
  // Rates of a stranger's log may be any: a time that is none would never end in a simulation.
  const bool are_times =
      scaled.latency_us_median + scaled.latency_us_p10 + scaled.latency_us_mad <= kLatencyUsMax;
  return are_times ? scaled : profile;
}

}  // namespace plait
