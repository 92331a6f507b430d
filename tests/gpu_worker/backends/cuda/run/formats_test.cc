#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/offers/forms.h"
#include "optimizer/kernels/format_rules.h"
#include "tests/gpu_worker/backends/cuda/run/simulated_executor.h"

namespace plait::cuda {
namespace {

using FormatsTest = SimulatedExecutorTest;

// Whether there is a reorder: between all formats but those of 16 bits of two kinds.
bool CanReorder(const TensorType& type, Format from, Format to) {
  const DataType read = StoredType(type, from).dtype, written = StoredType(type, to).dtype;
  return from != to && (read == written || read == type.dtype || written == type.dtype);
}

// A value that a node writes in `first` and others read after it was brought into the formats in
// turn. The last reorder is there to be asked what it has read.
Plan PlanOfReorders(const plait::Graph& graph, const CudaCatalog& catalog, Format first,
                    const std::vector<Format>& formats) {
  const TensorId x = graph.inputs()[0], y = graph.node(0).outputs[0], z = graph.outputs()[0];
  Plan plan{.graph_fingerprint = graph.fingerprint().ToString(), .threads = 1, .streams = 1};
  const auto value_of = [&](TensorId tensor, Format format, bool in_arena) {
    const int64_t bytes = in_arena ? BytesOf(graph.type(tensor), format) : 0;
    plan.values.push_back({tensor, format, {plan.arena_bytes, bytes}});
    plan.arena_bytes += in_arena ? 1024 : 0;
    return static_cast<int>(plan.values.size()) - 1;
  };
  const auto reorder = [&](int from, Format to) {
    const Value value = plan.values[from];
    const int written = value_of(value.tensor, to, true);
    plan.steps.push_back({.kernel = catalog.Reorder(graph.type(value.tensor), value.format, to),
                          .inputs = {from},
                          .outputs = {written}});
    return written;
  };
  const auto run = [&](NodeId node, int from, int to) {
    plan.steps.push_back({.kernel = {.family = "elementwise",
                                     .variant = std::string(kStrictForm),
                                     .nodes = {node},
                                     .input_formats = {plan.values[from].format},
                                     .output_formats = {plan.values[to].format}},
                          .inputs = {from},
                          .outputs = {to}});
  };
  int read = value_of(x, Format::kPlain, false);
  if (first != Format::kPlain) read = reorder(read, first);
  const int written = value_of(y, first, true);
  run(0, read, written);
  int last = written;
  for (const Format format : formats) {
    if (format != plan.values[last].format) last = reorder(last, format);
  }
  if (first == Format::kPlain) {
    run(1, written, value_of(z, first, false));
  } else {
    const int result = value_of(z, first, true);
    run(1, written, result);
    plan.steps.push_back({.kernel = catalog.Reorder(graph.type(z), first, Format::kPlain),
                          .inputs = {result},
                          .outputs = {value_of(z, Format::kPlain, false)}});
  }
  return plan;
}

// What lay in 16 bits is rounded once.
TEST_F(FormatsTest, ReordersAllWays) {
  const plait::Graph graph = Parse(
      "graph {\n  input %x: float32[2,3,4,5]\n  %y = Neg(%x)\n  %z = Neg(%y)\n  output %z\n}");
  const TensorType& type = graph.type(graph.inputs()[0]);
  const std::vector<Tensor> inputs = InputsFor(graph);
  std::vector<double> negative = inputs[0].AsDoubles();
  for (double& value : negative) value = -value;
  int reorders = 0;
  for (const Format from : kAllFormats) {
    for (const Format to : kAllFormats) {
      if (!CanReorder(type, from, to)) continue;
      const Format first = to == Format::kPlain ? Format::kChannelsLast : Format::kPlain;
      const auto then = std::find_if(kAllFormats.begin(), kAllFormats.end(), [&](Format format) {
        return format != first && format != from && CanReorder(type, to, format);
      });
      Plan plan = PlanOfReorders(graph, catalog_, first, {from, to, *then});
      plan.device_fingerprint = executor_->device().fingerprint;
      const auto loaded = Load(graph, plan);
      ASSERT_NE(loaded, nullptr);
      const auto observed =
          std::find_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
            return step.kernel.nodes.empty() && step.kernel.output_formats[0] == *then;
          });
      std::vector<Tensor> read;
      ASSERT_TRUE(loaded
                      ->RunObserved(inputs, {static_cast<int>(observed - plan.steps.begin())},
                                    [&](int, absl::Span<const Tensor> tensors) {
                                      read.assign(tensors.begin(), tensors.end());
                                      return absl::OkStatus();
                                    })
                      .ok());
      const bool is_narrowed = StoredType(type, from).dtype != type.dtype;
      const DataType stored = StoredType(type, is_narrowed ? from : to).dtype;
      const Tensor rounded = Tensor::FromDoubles({stored, type.shape}, negative);
      ASSERT_EQ(read.size(), 1u);
      EXPECT_TRUE(read[0] == Tensor::FromDoubles(type, rounded.AsDoubles()))
          << FormatName(from) << " " << FormatName(to);
      ++reorders;
    }
  }
  EXPECT_EQ(reorders, 22);
  const plait::Kernel no_reorder = catalog_.Reorder(type, Format::kF16, Format::kBf16);
  EXPECT_TRUE(
      absl::IsInvalidArgument(executor_->LoadKernel(graph, no_reorder, NoWeights()).status()));
}

// The largest difference of a kernel's first output, by its largest value.
double LossOf(const plait::Graph& graph, Executable& executable,
              const std::vector<Tensor>& inputs) {
  const auto expected = EvaluateGraph(graph, inputs, NoWeights());
  const auto actual = executable.Run(inputs);
  EXPECT_TRUE(expected.ok() && actual.ok()) << actual.status();
  if (!expected.ok() || !actual.ok()) return 1;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < (*expected)[0].elements(); ++i) {
    const double value = (*expected)[0].at<float>(i);
    largest = std::max(largest, std::abs(value));
    difference = std::max(difference, std::abs((*actual)[0].at<float>(i) - value));
  }
  return difference / largest;
}

// A depthwise convolution, which our own kernels run, with weights that are packed in 16 bits.
TEST_F(FormatsTest, RunsKernelsWhoseOperandsLieIn16Bits) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[1,8,12,12]
  const %w: float32[8,1,3,3] = synthetic 1
  %y = Conv(%x, %w) {group=8}
  output %y
})");
  for (const bool is_half : {true, false}) {
    const CudaCatalog catalog({.fp16 = is_half, .bf16 = !is_half});
    const plait::Kernel kernel = catalog.KernelsAt(graph, 0, /*fuse=*/false).back();
    ASSERT_EQ(kernel.variant, is_half ? kFp16Form : kBf16Form);
    const auto loaded = executor_->LoadKernel(graph, kernel, NoWeights());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const double loss = LossOf(graph, **loaded, InputsFor(graph));
    EXPECT_GT(loss, is_half ? 1e-5 : 1e-4);
    EXPECT_LT(loss, is_half ? 2e-3 : 2e-2);
    EXPECT_THAT((*loaded)->step_variants()[0],
                testing::StartsWith(is_half ? "fp16/generated/" : "bf16/generated/"));
  }
}

}  // namespace
}  // namespace plait::cuda
