#include "optimizer/search/budgeted_profiles.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// One task of the worker: about a second of measuring between two looks at the budget.
constexpr size_t kBatchKernels = 16;

}  // namespace

int64_t BudgetedProfiles::StepsOf(const std::vector<ProfileQuery>& queries) {
  absl::flat_hash_set<std::string> kernels;
  for (const ProfileQuery& query : queries) kernels.insert(query.key.ToString());
  return static_cast<int64_t>((kernels.size() + kBatchKernels - 1) / kBatchKernels);
}

bool BudgetedProfiles::TakeStep() {
  if (!exhausted_ && !budget_.Allows(step_)) {
    exhausted_ = true;
    log_.set_exhausted_at_step(step_);
  }
  if (!exhausted_) ++step_;
  return !exhausted_;
}

absl::Status BudgetedProfiles::Resolve(std::vector<ProfileQuery> queries) {
  absl::flat_hash_map<std::string, size_t> number_of;
  std::vector<std::vector<ProfileQuery>> by_kernel;
  for (ProfileQuery& query : queries) {
    const auto [entry, is_new] = number_of.emplace(query.key.ToString(), by_kernel.size());
    if (is_new) by_kernel.emplace_back();
    by_kernel[entry->second].push_back(std::move(query));
  }
  for (size_t first = 0; first < by_kernel.size(); first += kBatchKernels) {
    if (!TakeStep()) return absl::OkStatus();
    std::vector<ProfileQuery> batch;
    const size_t end = std::min(by_kernel.size(), first + kBatchKernels);
    for (size_t kernel = first; kernel < end; ++kernel) {
      batch.insert(batch.end(), std::make_move_iterator(by_kernel[kernel].begin()),
                   std::make_move_iterator(by_kernel[kernel].end()));
    }
    PLAIT_RETURN_IF_ERROR(profiles_.Resolve(batch));
  }
  return absl::OkStatus();
}

}  // namespace plait
