#include "loading/reference_nodes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"

namespace plait {
namespace {

// More would make a sentence that nobody reads; the report of `plait optimize` names them all.
constexpr size_t kOperatorsToldMax = 8;

}  // namespace

absl::Status ReferenceNodes::Add(const LoadedPlan& loaded, const DeviceDescription& device) {
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(device));
  for (const Step& step : loaded.plan.steps) {
    if (step.kernel.nodes.empty() || !catalog->IsFallback(step.kernel)) continue;
    for (const NodeId node : step.kernel.nodes) {
      ++count_;
      std::string name(OpKindName(loaded.graph.node(node).op));
      if (std::find(operators_.begin(), operators_.end(), name) == operators_.end()) {
        operators_.push_back(std::move(name));
      }
    }
  }
  return absl::OkStatus();
}

std::string ReferenceNodes::Text() const {
  if (count_ == 0) return "";
  const size_t told = std::min(operators_.size(), kOperatorsToldMax);
  const std::string more =
      told < operators_.size() ? absl::StrCat(" and ", operators_.size() - told, " more") : "";
  return absl::StrCat(
      "; ", count_, count_ == 1 ? " node runs" : " nodes run", " as slow reference code (",
      absl::StrJoin(operators_.begin(), operators_.begin() + told, ", "), more, ")");
}

}  // namespace plait
