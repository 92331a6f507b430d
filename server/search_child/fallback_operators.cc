#include "server/search_child/fallback_operators.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "proto/wire/device.h"
#include "proto/wire/error.h"
#include "server/search_child/job_catalog.h"

namespace plait {
namespace {

// Of each operator, in a message that travels with each look at the job.
constexpr int kNamesToldMax = 16;

std::unique_ptr<KernelCatalog> CatalogOf(const internal::Start& start) {
  const absl::StatusOr<DeviceDescription> device = wire::DeviceFromProto(start.device());
  if (!device.ok()) return nullptr;
  absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = JobCatalog(start.options(), *device);
  return catalog.ok() ? *std::move(catalog) : nullptr;
}

// A rewrite's node has no name; of a layer whose first output nobody wants that is not there.
std::string NameOf(const Graph& graph, const Node& node) {
  if (node.name != nullptr && !node.name->empty()) return *node.name;
  const auto output = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [](TensorId tensor) { return tensor != kNoTensor; });
  return absl::StrCat(OpKindName(node.op), " of '",
                      output == node.outputs.end() ? "" : *graph.tensor(*output).name, "'");
}

}  // namespace

std::vector<v1::FallbackOperator> FallbackOperators(const internal::Start& start,
                                                    absl::Span<const PlannedPart> parts) {
  const std::unique_ptr<KernelCatalog> catalog = CatalogOf(start);
  if (catalog == nullptr) return {};
  std::map<std::string, v1::FallbackOperator> by_name;
  for (const auto& [graph, plan] : parts) {
    for (const Step& step : plan.steps) {
      if (!catalog->IsFallback(step.kernel)) continue;
      for (const NodeId id : step.kernel.nodes) {
        const Node& node = graph.node(id);
        v1::FallbackOperator& fallback = by_name[std::string(OpKindName(node.op))];
        fallback.set_nodes(fallback.nodes() + 1);
        if (fallback.names_size() == kNamesToldMax) continue;
        fallback.add_names(wire::ValidUtf8(NameOf(graph, node), kNameBytesMax));
      }
    }
  }
  std::vector<v1::FallbackOperator> sorted;
  for (auto& [name, fallback] : by_name) {
    fallback.set_op_type(name);
    sorted.push_back(std::move(fallback));
  }
  return sorted;
}

}  // namespace plait
