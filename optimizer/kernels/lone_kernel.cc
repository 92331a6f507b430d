#include "optimizer/kernels/lone_kernel.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

absl::StatusOr<LoneKernel> MakeLoneKernel(absl::string_view graph_text, Kernel chosen,
                                          absl::Span<const absl::string_view> formats,
                                          bool cold_weights) {
  PLAIT_ASSIGN_OR_RETURN(Graph graph, ParseTypedGraph(graph_text));
  chosen.nodes.clear();
  for (NodeId node = 0; node < graph.node_count(); ++node) chosen.nodes.push_back(node);
  const size_t inputs = graph.node_count() == 0 ? 1 : InputsOf(graph, chosen.nodes).size();
  chosen.input_formats.clear();
  chosen.output_formats.clear();
  for (const absl::string_view name : formats) {
    const std::optional<Format> format = FormatFromName(name);
    if (!format) {
      return absl::InvalidArgumentError(
          absl::StrCat("format \"", absl::CHexEscape(name), "\": there is no such format"));
    }
    // Too many or too few are found when the kernel is loaded, which knows what it needs.
    const bool is_input = chosen.input_formats.size() < inputs;
    (is_input ? chosen.input_formats : chosen.output_formats).push_back(*format);
  }
  return LoneKernel{std::move(graph), std::move(chosen), cold_weights};
}

absl::StatusOr<LoneKernel> LoneKernelOf(const ProfileKey& key) {
  Kernel chosen;
  chosen.family = key.family;
  chosen.variant = key.variant;
  chosen.width = key.width;
  const std::vector<absl::string_view> formats =
      absl::StrSplit(key.formats, ',', absl::SkipEmpty());
  return MakeLoneKernel(key.graph_text, std::move(chosen), formats, key.cold_weights);
}

}  // namespace plait
