#include "server/search_child/budget_warnings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace plait {

// Names a budget that would have been enough: all that was spent, and what was missing.
std::string BudgetWarning(double budget_seconds, double seconds_spent, double seconds_needed) {
  const double enough = std::max(1.2 * (seconds_spent + seconds_needed), budget_seconds + 1);
  const auto needed = static_cast<int64_t>(std::ceil(enough));
  return absl::StrCat("the budget of ", budget_seconds,
                      " s left no time to measure a candidate beside the original, which was "
                      "returned as it is (--budget ",
                      needed, "s is enough)");
}

std::string TaskWarning() {
  return "measuring a candidate beside the original takes longer than this server allows one task "
         "(task_seconds_max); the original was returned as it is";
}

std::string RuntimesWarning(double budget_seconds, int runtimes) {
  const auto needed = static_cast<int64_t>(std::ceil(4.0 * runtimes));
  return absl::StrCat("the budget of ", budget_seconds,
                      " s left no time to measure in other runtimes than plait (--budget ", needed,
                      "s is enough for a small model, --runtime plait asks for none)");
}

std::string RecordedWarning(int64_t recorded, int64_t predicted) {
  return absl::StrCat("of ", recorded + predicted, " times of kernels ", recorded,
                      " were recorded on such a device and imported (plait profiles), and ",
                      predicted, " are predicted; what they add up to is predicted");
}

}  // namespace plait
