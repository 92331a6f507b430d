#include "optimizer/cover/cover_table.h"

#include <algorithm>

namespace plait {
namespace {

CoverGroup CoverGroupOf(const KernelGroup& group) {
  const KernelChoice& whole = group.whole;
  const KernelChoice& part = group.part;
  return {.nodes = group.nodes,
          .inputs = group.inputs,
          .outputs = group.outputs,
          .input_formats = group.input_formats,
          .output_formats = group.output_formats,
          .latency = {whole.latency_us, part.latency_us},
          .cost = {whole.latency_us + whole.price_us, part.latency_us + part.price_us}};
}

}  // namespace

double CoverTable::ReorderUs(TensorId tensor, Format from, Format to, CoverWidth width) const {
  const int first = reorders_of[tensor];
  if (first < 0 || static_cast<size_t>(std::max(from, to)) >= formats) return kNever;
  return reorders[first + PlaceOf(from, to)].At(width);
}

CoverTable CoverTableOf(const KernelTable& table) {
  CoverTable covers;
  for (const KernelGroup& group : table.groups) covers.groups.push_back(CoverGroupOf(group));
  int groups = 0;
  for (const std::vector<int>& at_node : table.groups_at) {
    covers.first_group_at.push_back(groups);
    groups += static_cast<int>(at_node.size());
  }
  covers.first_group_at.push_back(groups);
  for (const std::vector<KernelGroup>& of_tensor : table.reorders) {
    covers.reorders_of.push_back(of_tensor.empty() ? -1 : static_cast<int>(covers.reorders.size()));
    for (const KernelGroup& reorder : of_tensor) {
      const bool can_run = !reorder.inputs.empty();
      covers.reorders.push_back(can_run ? CoverGroupOf(reorder).latency
                                        : WidthTimes{kNever, kNever});
    }
  }
  return covers;
}

}  // namespace plait
