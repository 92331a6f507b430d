#include "optimizer/rules/patterns/average_pool_view.h"

#include <algorithm>

namespace plait {

bool AverageKeepsConstants(const Graph& graph, NodeId average_pool) {
  const Attributes& attributes = *graph.node(average_pool).attributes;
  // ceil_mode and auto_pad can add some padding of their own.
  const auto pads = attributes.Ints("pads");
  const bool has_no_padding =
      attributes.Int("ceil_mode", 0) == 0 && attributes.String("auto_pad", "NOTSET") == "NOTSET" &&
      std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
  if (has_no_padding) return true;
  // Zeros that are counted pull the average down, and where the taps of a window are apart all of
  // them may lie in the padding, whose average is 0.
  const auto dilations = attributes.Ints("dilations");
  return attributes.Int("count_include_pad", 0) == 0 &&
         std::all_of(dilations.begin(), dilations.end(), [](int64_t tap) { return tap == 1; });
}

}  // namespace plait
