#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu_worker/executor/executor.h"
#include "loading/choose_plan.h"

namespace plait {

inline Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::Of<float>(std::move(shape), values);
}

// The processor, with this many threads. Fails the test where it cannot be opened.
std::unique_ptr<Executor> OpenCpu(int threads);

// "y = Relu(x * w)" for x of [N, 8], with N open.
std::string OpenModel();

// Padded convolutions and a pool over x of [N, 3, H, W], all of them open but the channels.
std::string OpenImages();

// A plan of a graph that `original` was rewritten to, as it is embedded.
EmbeddedPlan PlanOfGraph(
    const Graph& graph, const Graph& original, const DeviceDescription& device,
    const std::function<void(Plan*)>& change = [](Plan*) {});

// A plan of a model for these shapes of its inputs on the device, as it is embedded.
EmbeddedPlan PlanOfShapes(
    const std::string& model, const Bindings& shapes, const DeviceDescription& device,
    const std::function<void(Plan*)>& change = [](Plan*) {});

// A plan of OpenModel for N rows on the device, as it is embedded.
EmbeddedPlan PlanOfRows(int64_t rows, const DeviceDescription& device);
// The same after a change of the plan.
EmbeddedPlan PlanOfRows(int64_t rows, const DeviceDescription& device,
                        const std::function<void(Plan*)>& change);

// The model with these plans inside.
Model ModelWith(absl::Span<const EmbeddedPlan> plans, const std::string& original = OpenModel());

// What the plan of a choice computes of rows of ones.
std::vector<float> RunOnOnes(const LoadedPlan& loaded);

}  // namespace plait
