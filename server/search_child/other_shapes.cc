#include "server/search_child/other_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "optimizer/plan/loaded_bytes.h"
#include "server/search_child/shape_variables.h"

// Of a range from 1 to 8 with plans for 1, 2, 4 and 8 the plan for 4 is nearest to 3 and 5, the one
// for 8 to 6 and 7; those for 1 and 2 are nearest to nothing else.

namespace plait {
namespace {

std::string KeyOf(const ModelValue& input, size_t axis) {
  const std::string& symbol = input.shape[axis].symbol;
  return symbol.empty() ? absl::StrCat(input.name, "[", axis, "]") : symbol;
}

// The first ones that are sizes, and others than `size`.
std::vector<int64_t> OthersThan(int64_t size, absl::Span<const int64_t> candidates) {
  std::vector<int64_t> others;
  for (const int64_t candidate : candidates) {
    const bool is_known = std::find(others.begin(), others.end(), candidate) != others.end();
    if (candidate < 1 || candidate == size || is_known) continue;
    if (others.size() < kOtherShapesMax) others.push_back(candidate);
  }
  return others;
}

// Sizes nearer to this bucket than to the ones beside it, by their ratios.
std::vector<int64_t> OthersOfRange(const ShapeVariable& variable, int64_t size) {
  const std::vector<int64_t> buckets = BucketsOf(variable);
  const auto bucket = std::find(buckets.begin(), buckets.end(), size);
  if (bucket == buckets.end()) return {};
  const auto middle = [&](int64_t other) {
    return std::sqrt(static_cast<double>(size) * static_cast<double>(other));
  };
  int64_t low = size;
  int64_t high = size;
  if (bucket != buckets.begin()) low = static_cast<int64_t>(middle(*(bucket - 1))) + 1;
  if (bucket + 1 != buckets.end()) {
    high = static_cast<int64_t>(std::ceil(middle(*(bucket + 1)))) - 1;
  }
  low = std::min(low, size);
  high = std::max(high, size);
  return OthersThan(size, {low, high, low + (size - low) / 2, size + (high - size) / 2});
}

std::vector<int64_t> OthersOfOpen(int64_t size) {
  const int64_t smaller = size - std::max<int64_t>(size / 3, 1);
  return OthersThan(size, {smaller, smaller + (size - smaller + 1) / 2, size + 1, size + 2});
}

// By variable; a variable that has but the plan's size has none.
std::map<std::string, std::vector<int64_t>> OtherSizes(const Model& model,
                                                       const v1::OptimizeOptions& options,
                                                       const Graph& planned) {
  std::map<std::string, std::vector<int64_t>> others;
  ShapeVariables ranges;
  if (absl::StatusOr<ShapeVariables> variables = VariablesOf(model, options); variables.ok()) {
    ranges = *std::move(variables);
  }
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ModelValue& input = model.inputs()[i];
    const Shape& shape = planned.type(planned.inputs()[i]).shape;
    for (size_t axis = 0; axis < input.shape.size() && axis < shape.size(); ++axis) {
      if (input.shape[axis].known()) continue;
      const std::string key = KeyOf(input, axis);
      const auto range = ranges.find(key);
      if (range != ranges.end()) {
        others[key] = OthersOfRange(range->second, shape[axis]);
      } else if (ranges.empty()) {
        others[key] = OthersOfOpen(shape[axis]);
      }
    }
  }
  return others;
}

}  // namespace

std::vector<Bindings> OtherShapesOf(const Model& model, const v1::OptimizeOptions& options,
                                    const Graph& planned) {
  std::vector<Bindings> found;
  if (model.inputs().size() != planned.inputs().size()) return found;
  const auto sizes = OtherSizes(model, options, planned);
  for (size_t turn = 0; turn < kOtherShapesMax; ++turn) {
    Bindings shapes;
    bool is_other = false;
    for (size_t i = 0; i < model.inputs().size(); ++i) {
      const ModelValue& input = model.inputs()[i];
      Shape shape = planned.type(planned.inputs()[i]).shape;
      bool is_open = !input.has_shape;
      for (size_t axis = 0; axis < input.shape.size() && axis < shape.size(); ++axis) {
        is_open |= !input.shape[axis].known();
        const auto of_axis = sizes.find(KeyOf(input, axis));
        if (input.shape[axis].known() || of_axis == sizes.end()) continue;
        if (of_axis->second.size() <= turn) continue;
        shape[axis] = of_axis->second[turn];
        is_other = true;
      }
      if (is_open) shapes[input.name] = std::move(shape);
    }
    if (is_other) found.push_back(std::move(shapes));
  }
  return found;
}

std::vector<Graph> GraphsAt(const Model& model, const std::vector<Bindings>& shapes,
                            int64_t memory_bytes) {
  std::vector<Graph> graphs;
  for (const Bindings& bindings : shapes) {
    absl::StatusOr<Bound> bound = Bind(model, bindings);
    if (!bound.ok() || !bound->opaque_nodes.empty()) continue;
    if (memory_bytes > 0 && LeastLoadedBytes(bound->graph) > memory_bytes) continue;
    graphs.push_back(std::move(bound->graph));
  }
  return graphs;
}

}  // namespace plait
