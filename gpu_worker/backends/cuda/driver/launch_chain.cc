#include "gpu_worker/backends/cuda/driver/launch_chain.h"

#include <algorithm>
#include <string>

#include "gpu_worker/backends/cuda/driver/owned.h"

namespace plait::cuda {

Result<ExecutableGraph> BuildChain(Runtime* runtime, int count,
                                   const std::function<Status(int index, Stream)>& launch,
                                   const Kept& used, std::vector<NodeDescription>* nodes) {
  FlatGraphBuilder builder(runtime);
  for (const std::shared_ptr<const void>& one : used) builder.Keep(one);
  std::vector<int> order;
  for (int i = 0; i < count; ++i) {
    const Result<int> operation = builder.AddOperation(
        "launch " + std::to_string(i), [&](Stream stream) { return launch(i, stream); });
    if (!operation.ok()) return operation.error();
    order.push_back(operation.value());
  }
  if (nodes != nullptr && count > 0) {
    Result<std::vector<NodeDescription>> described = builder.Describe(0);
    if (described.ok()) *nodes = std::move(described).value();
  }
  PLAIT_CUDA_RETURN_IF_ERROR(builder.AddStreamOrder(order));
  return builder.Build();
}

Result<double> SpanUs(Runtime* runtime, Stream stream, const std::function<Status()>& enqueue) {
  OwnedEvent events[2];
  for (OwnedEvent& event : events) {
    const Result<Event> created = runtime->CreateEvent();
    if (!created.ok()) return created.error();
    event = OwnedEvent(runtime, created.value());
  }
  PLAIT_CUDA_RETURN_IF_ERROR(runtime->RecordEvent(events[0].get(), stream));
  PLAIT_CUDA_RETURN_IF_ERROR(enqueue());
  PLAIT_CUDA_RETURN_IF_ERROR(runtime->RecordEvent(events[1].get(), stream));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime->Synchronize(stream));
  return runtime->ElapsedUs(events[0].get(), events[1].get());
}

double ComputeShare(const std::vector<NodeDescription>& nodes, int multiprocessors) {
  double share = 0;
  for (const NodeDescription& node : nodes) {
    if (node.kind != NodeDescription::Kind::kKernel || node.blocks_per_multiprocessor == 0) {
      continue;
    }
    const double blocks = static_cast<double>(node.grid[0]) * node.grid[1] * node.grid[2];
    share = std::max(
        share, blocks / (static_cast<double>(node.blocks_per_multiprocessor) * multiprocessors));
  }
  return share == 0 ? 1.0 : std::min(share, 1.0);
}

}  // namespace plait::cuda
