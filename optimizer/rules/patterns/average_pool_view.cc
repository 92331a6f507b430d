#include "optimizer/rules/patterns/average_pool_view.h"

#include <algorithm>

namespace plait {

bool AverageKeepsConstants(const Graph& graph, NodeId average_pool) {
  const Attributes& attributes = *graph.node(average_pool).attributes;
  if (attributes.Int("count_include_pad", 0) == 0) return true;
  // Zeros that are counted pull the average down; ceil_mode and auto_pad can add some of their own.
  const auto pads = attributes.Ints("pads");
  return attributes.Int("ceil_mode", 0) == 0 &&
         attributes.String("auto_pad", "NOTSET") == "NOTSET" &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

}  // namespace plait
