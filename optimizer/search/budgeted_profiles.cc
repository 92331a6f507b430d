#include "optimizer/search/budgeted_profiles.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/status_macros.h"

namespace plait {

absl::Status BudgetedProfiles::Resolve(std::vector<ProfileQuery> queries) {
  // 64 kernels: a few seconds of measuring at most between two looks at the budget.
  constexpr size_t kBatchQueries = 64;
  std::map<std::string, std::vector<ProfileQuery>> by_key;
  for (ProfileQuery& query : queries) {
    std::string key_text = query.key.ToString();
    by_key[std::move(key_text)].push_back(std::move(query));
  }
  std::vector<ProfileQuery> batch;
  size_t keys_in_batch = 0;
  for (auto entry = by_key.begin(); entry != by_key.end();) {
    batch.insert(batch.end(), entry->second.begin(), entry->second.end());
    ++keys_in_batch;
    ++entry;
    if (keys_in_batch < kBatchQueries && entry != by_key.end()) continue;
    if (!exhausted_ && !budget_.Allows(step_)) {
      exhausted_ = true;
      log_.set_exhausted_at_step(step_);
    }
    if (exhausted_) return absl::OkStatus();
    ++step_;
    PLAIT_RETURN_IF_ERROR(profiles_.Resolve(batch));
    batch.clear();
    keys_in_batch = 0;
  }
  return absl::OkStatus();
}

}  // namespace plait
