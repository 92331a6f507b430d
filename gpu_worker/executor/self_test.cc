#include "gpu_worker/executor/self_test.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Of kernels whose values lie as they are: sums in another order.
constexpr double kRelErrorMax = 1e-4;
// Of others: what is read, the constants and the results are each rounded once. That alone moves
// the network's kernels by one rounding of the largest value.
constexpr int kRoundings = 4;
constexpr int kF16Bits = 11;  // of a number, with the one that is not stored
constexpr int kBf16Bits = 8;
constexpr int kInputs = 2;
constexpr uint64_t kSeed = 1;

// Small enough for a second, and with kernels of the commonest families: windows, an epilogue, a
// residual addition, a view, a product and a softmax.
constexpr absl::string_view kNetwork = R"(graph {
  input %x: float32[1,3,16,16]
  const %w: float32[16,3,3,3] = synthetic 1
  const %b: float32[16] = synthetic 2
  const %v: float32[64,10] = synthetic 3
  const %s: int64[2] = [1,64]
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1], strides=[2,2]}
  %r = Relu(%c) {}
  %a = Add(%r, %c) {}
  %p = MaxPool(%a) {kernel_shape=[4,4], strides=[4,4]}
  %f = Reshape(%p, %s) {}
  %m = MatMul(%f, %v) {}
  %y = Softmax(%m) {axis=-1}
  output %y
}
)";

// By the roughest format that the kernel reads or writes.
double RelErrorMaxOf(const Kernel& kernel) {
  double rel_error_max = kRelErrorMax;
  const auto add = [&rel_error_max](Format format) {
    const DataType stored = StoredType({DataType::kFloat32, {}}, format).dtype;
    if (stored == DataType::kFloat32) return;
    const int bits = stored == DataType::kFloat16 ? kF16Bits : kBf16Bits;
    rel_error_max = std::max(rel_error_max, std::ldexp(kRoundings, -bits));
  };
  std::for_each(kernel.input_formats.begin(), kernel.input_formats.end(), add);
  std::for_each(kernel.output_formats.begin(), kernel.output_formats.end(), add);
  return rel_error_max;
}

// What is wrong with a kernel of the network.
absl::Status CheckKernel(Executor& executor, const Graph& network, Kernel kernel) {
  const Graph graph = KernelGraph(network, kernel.nodes);
  for (size_t i = 0; i < kernel.nodes.size(); ++i) kernel.nodes[i] = static_cast<NodeId>(i);
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                         executor.LoadKernel(graph, kernel, NoWeights()));
  OutputComparer comparer(RelErrorMaxOf(kernel));
  for (int i = 0; i < kInputs; ++i) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(graph, kSeed, i));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> expected,
                           EvaluateGraph(graph, inputs, NoWeights()));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, executable->Run(inputs));
    comparer.Add(expected, outputs);
  }
  const OutputComparison comparison = comparer.Result();
  if (comparison.equivalence.verdict == Verdict::kEquivalent) return absl::OkStatus();
  return absl::InternalError(comparison.reason);
}

}  // namespace

absl::StatusOr<int> RunSelfTest(Executor& executor, const KernelCatalog& catalog) {
  PLAIT_ASSIGN_OR_RETURN(const Graph network, ParseTypedGraph(kNetwork));
  int checked = 0;
  for (NodeId node = 0; node < network.node_count(); ++node) {
    for (const Kernel& kernel : catalog.KernelsAt(network, node, true)) {
      if (const absl::Status status = CheckKernel(executor, network, kernel); !status.ok()) {
        return absl::InternalError(absl::StrCat("self test: ", kernel.family, " kernel \"",
                                                kernel.variant, "\": ", status.message()));
      }
      ++checked;
    }
  }
  return checked;
}

}  // namespace plait
