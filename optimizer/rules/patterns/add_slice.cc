#include "optimizer/rules/patterns/add_slice.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace plait {

// Names only the axes that it cuts, and steps only where there are some.
TensorId AddSlice(RewriteBuilder* builder, TensorId x, absl::Span<const SliceRange> ranges) {
  std::vector<int64_t> axes;
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> steps;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const auto& [start, step, count] = ranges[axis];
    if (count == builder->type(x).shape[axis]) continue;
    axes.push_back(static_cast<int64_t>(axis));
    starts.push_back(start);
    ends.push_back(count > 1 ? start + (count - 1) * step + 1 : start + count);
    steps.push_back(count > 1 ? step : 1);
  }
  if (axes.empty()) return x;
  std::vector<TensorId> inputs = {x};
  for (const std::vector<int64_t>& list : {starts, ends, axes}) {
    inputs.push_back(builder->AddConstant(Tensor::Int64s(list)));
  }
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) {
    inputs.push_back(builder->AddConstant(Tensor::Int64s(steps)));
  }
  return builder->Add(OpKind::kSlice, {}, inputs);
}

}  // namespace plait
