#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"

namespace plait::cuda {

// An attribute with one number, or two, for each axis of an image; sequences have the last one
// only, and are images with one row. What is not given stays. False where there are others.
template <size_t kCount>
bool ReadAxes(const Node& node, absl::string_view name, std::array<int64_t, kCount>* values) {
  const std::vector<int64_t> given = node.attributes->Ints(name);
  if (given.empty()) return true;
  if (given.size() == kCount) {
    std::copy(given.begin(), given.end(), values->begin());
    return true;
  }
  if (given.size() * 2 != kCount) return false;
  for (size_t i = 0; i < given.size(); ++i) (*values)[2 * i + 1] = given[i];
  return true;
}

}  // namespace plait::cuda
