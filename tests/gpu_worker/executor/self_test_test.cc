#include "gpu_worker/executor/self_test.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The values as a kernel reads or writes them in the format.
Tensor Rounded(const Tensor& tensor, Format format) {
  const Tensor stored = Tensor::FromDoubles(StoredType(tensor.type(), format), tensor.AsDoubles());
  return Tensor::FromDoubles(tensor.type(), stored.AsDoubles());
}

// What computes exactly and rounds what it reads and writes; then the last element of its result
// is off by a share of the largest.
class RoundingExecutable : public Executable {
 public:
  RoundingExecutable(const Graph& graph, const Kernel& kernel, double error)
      : graph_(graph), kernel_(kernel), error_(error) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    std::vector<Tensor> rounded;
    for (size_t i = 0; i < inputs.size(); ++i) {
      rounded.push_back(Rounded(inputs[i], kernel_.input_formats[i]));
    }
    PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                           EvaluateGraph(graph_, rounded, NoWeights()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = Rounded(outputs[i], kernel_.output_formats[i]);
      std::vector<double> values = outputs[i].AsDoubles();
      double largest = 0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      values.back() += error_ * largest;
      outputs[i] = Tensor::FromDoubles(outputs[i].type(), values);
    }
    return outputs;
  }
  absl::StatusOr<std::vector<double>> Time(int) override { return std::vector<double>(); }
  absl::Status SetInputs(absl::Span<const Tensor>) override { return absl::OkStatus(); }
  void EvictCaches() override {}
  int fallback_nodes() const override { return 0; }

 private:
  const Graph graph_;
  const Kernel kernel_;
  const double error_;
};

class RoundingExecutor : public Executor {
 public:
  RoundingExecutor() { device_.memory_bytes = int64_t{1} << 30; }
  const DeviceDescription& device() const override { return device_; }

  std::string wrong_variant;
  double error = 0;  // of its results

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource&) override {
    const Kernel& kernel = plan.steps[0].kernel;
    return std::make_unique<RoundingExecutable>(graph, kernel,
                                                kernel.variant == wrong_variant ? error : 0);
  }

  DeviceDescription device_;
};

// Each node alone, in every format that lies row by row; the variant is the format's name.
class RowsCatalog : public KernelCatalog {
 public:
  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool) const override {
    const auto formats_of = [&graph](const std::vector<TensorId>& tensors, Format format) {
      std::vector<Format> formats;
      for (const TensorId id : tensors) formats.push_back(EffectiveFormat(graph.type(id), format));
      return formats;
    };
    std::vector<Kernel> kernels;
    for (const Format format : {Format::kPlain, Format::kF16, Format::kBf16}) {
      Kernel kernel{.family = "rows", .variant = std::string(FormatName(format)), .nodes = {node}};
      kernel.input_formats = formats_of(InputsOf(graph, kernel.nodes), format);
      kernel.output_formats = formats_of(OutputsOf(graph, kernel.nodes), format);
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }
  Kernel Reorder(const TensorType&, Format, Format) const override { return {}; }
  absl::string_view Version(absl::string_view) const override { return "1"; }
};

TEST(RunSelfTestTest, RoundingIsRightInTheFormatsThatRound) {
  RoundingExecutor executor;
  const absl::StatusOr<int> checked = RunSelfTest(executor, RowsCatalog());
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(*checked, 3 * 7);
}

TEST(RunSelfTestTest, AKernelThatIsWrongInItsFormatIsNamed) {
  struct Case {
    std::string variant;
    double right;
    double wrong;
  };
  const Case cases[] = {{"plain", 3e-5, 3e-4}, {"f16", 5e-4, 5e-3}, {"bf16", 5e-3, 5e-2}};
  for (const Case& each : cases) {
    RoundingExecutor executor;
    executor.wrong_variant = each.variant;
    executor.error = each.right;
    EXPECT_TRUE(RunSelfTest(executor, RowsCatalog()).ok()) << each.variant;
    executor.error = each.wrong;
    const absl::Status status = RunSelfTest(executor, RowsCatalog()).status();
    EXPECT_TRUE(absl::IsInternal(status)) << each.variant;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("rows kernel \"" + each.variant + "\""), HasSubstr("differs by")));
  }
}

}  // namespace
}  // namespace plait
