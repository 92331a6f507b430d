#include "gpu_worker/backends/cuda/run/split_steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait::cuda {
namespace {

// A step on its way to several.
class StepSplit {
 public:
  StepSplit(const plait::Graph& graph, const Step& step, Plan* plan)
      : graph_(graph), step_(step), plan_(*plan) {
    for (const int value : step.inputs) known_.push_back(value);
  }

  absl::Status Run() {
    absl::Span<const NodeId> left = step_.kernel.nodes;
    while (!left.empty()) {
      PLAIT_ASSIGN_OR_RETURN(const plait::Kernel kernel, FirstKernel(left));
      PLAIT_RETURN_IF_ERROR(Add(kernel));
      left.remove_prefix(kernel.nodes.size());
    }
    return absl::OkStatus();
  }

 private:
  // The value that holds a tensor now, or -1 for what is still to come.
  int ValueOf(TensorId tensor) const {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](int value) {
      return plan_.values[value].tensor == tensor;
    });
    return found == known_.end() ? -1 : *found;
  }

  // The value of the step's outputs that is to hold it, or -1.
  int OutputValueOf(TensorId tensor) const {
    for (const int value : step_.outputs) {
      if (plan_.values[value].tensor == tensor) return value;
    }
    return -1;
  }

  // How many reorders a kernel would need.
  int MismatchesOf(const plait::Kernel& kernel) const {
    int mismatches = 0;
    const std::vector<TensorId> inputs = InputsOf(graph_, kernel.nodes);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int value = ValueOf(inputs[i]);
      if (value >= 0 && plan_.values[value].format != kernel.input_formats[i]) ++mismatches;
    }
    const std::vector<TensorId> outputs = OutputsOf(graph_, kernel.nodes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int value = OutputValueOf(outputs[i]);
      if (value >= 0 && plan_.values[value].format != kernel.output_formats[i]) ++mismatches;
    }
    return mismatches;
  }

  // The first of those with the fewest reorders. REQUIRES: not empty.
  plait::Kernel Best(const std::vector<plait::Kernel>& kernels) const {
    return *std::min_element(kernels.begin(), kernels.end(),
                             [&](const plait::Kernel& a, const plait::Kernel& b) {
                               return MismatchesOf(a) < MismatchesOf(b);
                             });
  }

  Precision precision() const {
    return PrecisionOfForm(step_.kernel.variant).value_or(Precision::kStrict);
  }

  // Kernels of the elementwise family of exactly these nodes, of the step's storage.
  std::vector<plait::Kernel> ElementwiseKernels(absl::Span<const NodeId> nodes) const {
    const CudaFamily& family = *FindCudaFamily("elementwise");
    std::vector<plait::Kernel> kernels;
    const Precision stored = IsOf16Bits(precision()) ? precision() : Precision::kStrict;
    for (const FormatRow& strict_row : family.rows(graph_, nodes)) {
      const FormatRow row = StoredIn(stored, strict_row);
      plait::Kernel kernel = {.family = std::string(family.name),
                              .variant = std::string(FormOf(stored)),
                              .nodes = {nodes.begin(), nodes.end()},
                              .input_formats = row.inputs,
                              .output_formats = row.outputs};
      if (ProblemOfKernel(graph_, kernel).has_value()) kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  // Of the first node, and as many elementwise nodes behind it as can be one kernel with it.
  absl::StatusOr<plait::Kernel> FirstKernel(absl::Span<const NodeId> nodes) const {
    // All of them are what cannot be computed.
    const size_t count_max = std::min(nodes.size(), step_.kernel.nodes.size() - 1);
    // In 16 bits the catalog has products alone.
    const size_t count_min = IsOf16Bits(precision()) ? 1 : 2;
    for (size_t count = count_max; count >= count_min; --count) {
      const std::vector<plait::Kernel> kernels = ElementwiseKernels(nodes.first(count));
      if (!kernels.empty()) return Best(kernels);
    }
    std::vector<plait::Kernel> kernels = catalog_.KernelsAt(graph_, nodes.front(), /*fuse=*/false);
    std::erase_if(kernels, [](const plait::Kernel& kernel) {
      return kernel.family == kHostFamily || kernel.input_formats.empty();
    });
    if (kernels.empty()) {
      return absl::UnimplementedError(absl::StrCat("nothing here computes its node ", nodes.front(),
                                                   ", ",
                                                   OpKindName(graph_.node(nodes.front()).op)));
    }
    return Best(kernels);
  }

  int NewValue(TensorId tensor, Format format) {
    plan_.values.push_back(
        {.tensor = tensor,
         .format = format,
         .buffer = {.offset_bytes = 0, .size_bytes = BytesOf(graph_.type(tensor), format)}});
    return static_cast<int>(plan_.values.size()) - 1;
  }

  void AddStep(plait::Kernel kernel, std::vector<int> inputs, std::vector<int> outputs) {
    kernel.width = step_.kernel.width;
    Step step = {.kernel = std::move(kernel),
                 .stream = step_.stream,
                 .inputs = std::move(inputs),
                 .outputs = std::move(outputs)};
    // The others are behind it on its stream.
    if (std::exchange(is_first_, false)) step.waits = step_.waits;
    plan_.steps.push_back(std::move(step));
  }

  // The value in another format.
  int Reordered(int value, Format format) {
    const Value from = plan_.values[value];
    const int to = NewValue(from.tensor, format);
    AddStep(catalog_.Reorder(graph_.type(from.tensor), from.format, format), {value}, {to});
    return to;
  }

  absl::Status Add(const plait::Kernel& kernel) {
    std::vector<int> inputs, outputs;
    const std::vector<TensorId> read = InputsOf(graph_, kernel.nodes);
    for (size_t i = 0; i < read.size(); ++i) {
      int value = ValueOf(read[i]);
      if (value < 0) return absl::InternalError("a node of the step stands before what it reads");
      if (plan_.values[value].format != kernel.input_formats[i]) {
        value = Reordered(value, kernel.input_formats[i]);
      }
      inputs.push_back(value);
    }
    std::vector<std::pair<int, int>> reorders;
    const std::vector<TensorId> written = OutputsOf(graph_, kernel.nodes);
    for (size_t i = 0; i < written.size(); ++i) {
      const int wanted = OutputValueOf(written[i]);
      const Format format = kernel.output_formats[i];
      const bool fits = wanted >= 0 && plan_.values[wanted].format == format;
      outputs.push_back(fits ? wanted : NewValue(written[i], format));
      if (wanted >= 0 && !fits) reorders.emplace_back(outputs.back(), wanted);
      if (wanted < 0 && kernel.family == kViewFamily && inputs.size() == 1) {
        plan_.values[outputs.back()].alias_of = inputs[0];
      }
      known_.push_back(outputs.back());
    }
    AddStep(kernel, std::move(inputs), std::move(outputs));
    for (const auto& [from, to] : reorders) {
      const Value& source = plan_.values[from];
      AddStep(catalog_.Reorder(graph_.type(source.tensor), source.format, plan_.values[to].format),
              {from}, {to});
    }
    return absl::OkStatus();
  }

  const plait::Graph& graph_;
  const Step step_;
  Plan& plan_;
  const CudaCatalog catalog_{
      {.fp16 = precision() == Precision::kFp16, .bf16 = precision() == Precision::kBf16}};
  std::vector<int> known_;  // values that hold something
  bool is_first_ = true;
};

}  // namespace

absl::StatusOr<SplitPlan> SplitSteps(const plait::Graph& graph, const Plan& plan,
                                     absl::FunctionRef<bool(const Step&)> can_compute) {
  SplitPlan split{.plan = plan};
  split.plan.steps.clear();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    split.first_steps.push_back(static_cast<int>(split.plan.steps.size()));
    Step step = plan.steps[i];
    // On the last of the steps that stand for one.
    for (int& wait : step.waits) wait = split.first_steps[wait + 1] - 1;
    if (step.kernel.nodes.size() < 2 || can_compute(step)) {
      split.plan.steps.push_back(std::move(step));
      continue;
    }
    const absl::Status status = StepSplit(graph, step, &split.plan).Run();
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("step ", i, " (", step.kernel.family, ")"));
    }
  }
  split.first_steps.push_back(static_cast<int>(split.plan.steps.size()));
  return split;
}

}  // namespace plait::cuda
