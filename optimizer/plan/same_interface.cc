#include "optimizer/plan/same_interface.h"

#include <algorithm>

namespace plait {

bool IsNamedAsOutput(const Graph& graph, TensorId output) {
  const auto outputs = graph.outputs();
  return graph.tensor(output).producer != kNoNode &&
         std::count(outputs.begin(), outputs.end(), output) == 1;
}

bool HaveSameInterface(const Graph& a, const Graph& b) {
  const auto same = [&](TensorId x, TensorId y) {
    const auto& name = a.tensor(x).name;
    const auto& other = b.tensor(y).name;
    return a.type(x) == b.type(y) && name != nullptr && other != nullptr && *name == *other;
  };
  const auto same_output = [&](TensorId x, TensorId y) {
    if (same(x, y)) return true;
    return a.type(x) == b.type(y) && !(IsNamedAsOutput(a, x) && IsNamedAsOutput(b, y));
  };
  return std::equal(a.inputs().begin(), a.inputs().end(), b.inputs().begin(), b.inputs().end(),
                    same) &&
         std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
                    same_output);
}

}  // namespace plait
