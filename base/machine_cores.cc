#include "base/machine_cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <sched.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/control_groups.h"

namespace plait {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// Microseconds of processor time in each period of so many microseconds. Without a limit the first
// is "max" in the second version of control groups, and -1 in the first.
double Quota(const std::string& time_us, const std::string& period_us) {
  int64_t time = 0;
  int64_t period = 0;
  if (!absl::SimpleAtoi(time_us, &time) || !absl::SimpleAtoi(period_us, &period)) return kNoQuota;
  if (time <= 0 || period <= 0) return kNoQuota;
  return static_cast<double>(time) / static_cast<double>(period);
}

double QuotaOf(const ControlGroup& group) {
  std::string time_us;
  std::string period_us;
  if (group.is_unified) {
    std::ifstream(absl::StrCat(group.folder, "/cpu.max")) >> time_us >> period_us;
  } else {
    std::ifstream(absl::StrCat(group.folder, "/cpu.cfs_quota_us")) >> time_us;
    std::ifstream(absl::StrCat(group.folder, "/cpu.cfs_period_us")) >> period_us;
  }
  return Quota(time_us, period_us);
}

int AllowedCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  // A machine of more cores than the set has room for.
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

int CoreLimits::threads() const {
  // Quotas are written in whole microseconds: 2 cores may come out a little less.
  const double granted = std::floor(std::min<double>(quota, allowed) + 0.01);
  return std::max(1, static_cast<int>(granted));
}

double GroupCoreQuota(absl::string_view groups, const std::string& root) {
  double quota = kNoQuota;
  for (const ControlGroup& group : ControlGroupsOf("cpu", groups, root)) {
    quota = std::min(quota, QuotaOf(group));
  }
  return quota;
}

CoreLimits MachineCoreLimits() {
  return {AllowedCores(), GroupCoreQuota(OwnControlGroups(), std::string(kControlGroupsRoot))};
}

int MachineCores() { return MachineCoreLimits().threads(); }

}  // namespace plait
