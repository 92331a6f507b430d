#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/simulated_device.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/problem/strict_kernels.h"
#include "gpu_worker/backends/groups/move_chains.h"
#include "optimizer/kernels/format_rules.h"

namespace plait::cuda {
namespace {

constexpr const CudaFamily* kFamilies[] = {
#define PLAIT_CUDA_FAMILY(name, Name) &k##Name##Family,
#include "gpu_worker/backends/cuda/families.def"
#undef PLAIT_CUDA_FAMILY
};

Kernel KernelOf(absl::string_view family, std::vector<NodeId> nodes, const FormatRow& row) {
  return {.family = std::string(family),
          .nodes = std::move(nodes),
          .input_formats = row.inputs,
          .output_formats = row.outputs};
}

std::vector<Precision> PrecisionsOf16Bits(const CudaCatalog::Options& options) {
  std::vector<Precision> precisions;
  if (options.fp16) precisions.push_back(Precision::kFp16);
  if (options.bf16) precisions.push_back(Precision::kBf16);
  return precisions;
}

void AddViews(const Graph& graph, const std::vector<NodeId>& nodes,
              const CudaCatalog::Options& options, std::vector<Kernel>* kernels) {
  for (const FormatRow& row : ViewRows(graph, nodes)) {
    kernels->push_back(KernelOf(kViewFamily, nodes, row));
    if (graph.output_type(nodes.back()).dtype != DataType::kFloat32) continue;
    for (const Precision precision : PrecisionsOf16Bits(options)) {
      kernels->push_back(KernelOf(kViewFamily, nodes, StoredIn(precision, row)));
    }
  }
}

// The kernel, and where its family has one the form of it that leaves room for others.
void AddForms(const CudaFamily& family, Precision precision, Kernel kernel,
              const CudaCatalog::Options& options, std::vector<Kernel>* kernels) {
  kernels->push_back(kernel);
  if (!options.narrow || !family.multiplies) return;
  kernel.variant = std::string(NarrowFormOf(precision));
  kernels->push_back(std::move(kernel));
}

// Tensor cores take images in channels-last, the last row: cuDNN would copy others into that.
void AddKernelsOf16Bits(const Graph& graph, const CudaFamily& family,
                        const std::vector<NodeId>& nodes, const CudaCatalog::Options& options,
                        std::vector<Kernel>* kernels) {
  if (!family.has_16_bits || !HasMeasurableLayer(graph, nodes.front())) return;
  const FormatRow row = family.rows(graph, nodes).back();
  for (const Precision precision : PrecisionsOf16Bits(options)) {
    Kernel kernel = KernelOf(family.name, nodes, StoredIn(precision, row));
    kernel.variant = std::string(FormOf(precision));
    if (ProblemOfKernel(graph, kernel).has_value()) {
      AddForms(family, precision, std::move(kernel), options, kernels);
    }
  }
}

// Whether it is offered in fp32. What no kernel computes whole would be several, which are offered
// on their own. A product is, whatever ends it: cuDNN compiles one kernel of it for tensor cores,
// and that form is found beside the one in fp32 (LessExact).
bool IsOfferedInFp32(const KernelProblem& problem) {
  return std::holds_alternative<GemmProblem>(problem.problem) ||
         HasStrictKernel(problem.problem, problem.layout);
}

// Those of the group that have a problem.
void AddKernels(const Graph& graph, const CudaFamily& family, const std::vector<NodeId>& nodes,
                const CudaCatalog::Options& options, std::vector<Kernel>* kernels) {
  for (const FormatRow& row : family.rows(graph, nodes)) {
    Kernel kernel = KernelOf(family.name, nodes, row);
    kernel.variant = std::string(kStrictForm);
    const std::optional<KernelProblem> problem = ProblemOfKernel(graph, kernel);
    if (!problem.has_value() || !IsOfferedInFp32(*problem)) continue;
    AddForms(family, Precision::kStrict, std::move(kernel), options, kernels);
  }
  AddKernelsOf16Bits(graph, family, nodes, options, kernels);
}

// Views that move nothing, and what copies nothing, come first.
std::vector<Kernel> KernelsOfSize(const Graph& graph, NodeId node, bool alone,
                                  const CudaCatalog::Options& options) {
  std::vector<Kernel> kernels;
  if (alone && IsView(graph, node)) AddViews(graph, {node}, options, &kernels);
  if (!alone) {
    for (const std::vector<NodeId>& chain : GrowViews(graph, node)) {
      AddViews(graph, chain, options, &kernels);
    }
  }
  if (graph.node(node).op == OpKind::kOpaque) return kernels;
  for (const CudaFamily* family : kFamilies) {
    for (const std::vector<NodeId>& group : family->groups(graph, node)) {
      if ((group.size() == 1) == alone) AddKernels(graph, *family, group, options, &kernels);
    }
  }
  return kernels;
}

// Images in channels-last alone have pixels with gaps between, and no values in 16 bits; a chain
// that moves elements is a transpose of what has none.
bool TakesParts(const Kernel& kernel) {
  if (IsOf16Bits(PrecisionOfForm(kernel.variant).value_or(Precision::kStrict))) return false;
  const CudaFamily* const family = FindCudaFamily(kernel.family);
  const auto is_image = [](Format format) { return format == Format::kChannelsLast; };
  return family != nullptr && family->takes_parts &&
         (family != &kMoveFamily ||
          (kernel.nodes.size() == 1 &&
           std::all_of(kernel.input_formats.begin(), kernel.input_formats.end(), is_image) &&
           std::all_of(kernel.output_formats.begin(), kernel.output_formats.end(), is_image)));
}

}  // namespace

absl::Span<const CudaFamily* const> CudaFamilies() { return kFamilies; }

const CudaFamily* FindCudaFamily(absl::string_view name) {
  for (const CudaFamily* family : kFamilies) {
    if (family->name == name) return family;
  }
  return nullptr;
}

std::vector<Kernel> CudaCatalog::KernelsAt(const Graph& graph, NodeId node, bool fuse) const {
  std::vector<Kernel> kernels = KernelsOfSize(graph, node, true, options_);
  if (kernels.empty()) {
    kernels.push_back(KernelOf(kHostFamily, {node}, RowIn(graph, {node}, Format::kPlain)));
  }
  if (!fuse) return kernels;
  std::vector<Kernel> fused = KernelsOfSize(graph, node, false, options_);
  std::move(fused.begin(), fused.end(), std::back_inserter(kernels));
  return kernels;
}

Kernel CudaCatalog::Reorder(const TensorType& /*type*/, Format from, Format to) const {
  return {.family = "reorder", .input_formats = {from}, .output_formats = {to}};
}

bool CudaCatalog::NeedsAdmission(const Kernel& kernel) const {
  return PrecisionOfForm(kernel.variant).value_or(Precision::kStrict) != Precision::kStrict;
}

std::string CudaCatalog::OfferedVariant(const Kernel& kernel) const {
  if (ImplementationOfForm(kernel.variant).empty()) return kernel.variant;
  if (kernel.nodes.empty()) return Reorder({}, Format::kPlain, Format::kPlain).variant;
  return std::string(FormOf(PrecisionOfForm(kernel.variant).value_or(Precision::kStrict)));
}

std::optional<std::string> CudaCatalog::MoreExact(const Kernel& kernel) const {
  if (kernel.variant == kTf32Form) return std::string(kStrictForm);
  if (kernel.variant == kNarrowTf32Form) return std::string(kNarrowForm);
  return std::nullopt;
}

std::optional<std::string> CudaCatalog::LessExact(const Kernel& kernel) const {
  const CudaFamily* const family = FindCudaFamily(kernel.family);
  const bool has_one = options_.tf32 && family != nullptr && family->multiplies;
  if (has_one && kernel.variant == kStrictForm) return std::string(kTf32Form);
  if (has_one && kernel.variant == kNarrowForm) return std::string(kNarrowTf32Form);
  return std::nullopt;
}

bool CudaCatalog::HasPrecision(absl::string_view precision) const {
  return (precision == "tf32" && options_.tf32) || (precision == "fp16" && options_.fp16) ||
         (precision == "bf16" && options_.bf16);
}

bool CudaCatalog::LeavesRoom(const Kernel& kernel, int threads) const {
  return options_.narrow ? IsNarrowForm(kernel.variant)
                         : KernelCatalog::LeavesRoom(kernel, threads);
}

bool CudaCatalog::ReadsParts(const Kernel& kernel) const { return TakesParts(kernel); }

bool CudaCatalog::WritesParts(const Kernel& kernel) const { return ReadsParts(kernel); }

bool CudaCatalog::IsFallback(const Kernel& kernel) const { return kernel.family == kHostFamily; }

std::string CudaCatalog::GeneratedName(const Graph& graph, const Kernel& kernel) const {
  absl::string_view named = ImplementationOfForm(kernel.variant);
  if (absl::ConsumePrefix(&named, "generated/")) return std::string(named);
  const std::optional<KernelProblem> problem =
      kernel.nodes.empty() ? ProblemOfReorder(graph.type(graph.inputs()[0]), kernel)
                           : ProblemOfKernel(graph, kernel);
  // The families rely on sizes that are checked.
  if (!named.empty() || !problem.has_value() || !ShapeOf(problem->problem).ok()) return "";
  const KernelForm form{
      .precision = problem->precision, .layout = problem->layout, .device = options_.device};
  for (const GeneratedFamily* family : GeneratedFamilies()) {
    for (const GeneratedKernel& generated : family->list(problem->problem, form)) {
      if (generated.is_listed) return absl::StrCat(family->name, "/", generated.variant);
    }
  }
  return "";
}

absl::string_view CudaCatalog::Version(absl::string_view /*family*/) const { return "1"; }

}  // namespace plait::cuda

namespace plait {

std::unique_ptr<KernelCatalog> NewCudaCatalog(const DeviceDescription& device,
                                              const CatalogOptions& options) {
  // The simulated device has no times, by which a kernel that leaves room could be chosen.
  return std::make_unique<cuda::CudaCatalog>(
      cuda::CudaCatalog::Options{.tf32 = options.tf32,
                                 .narrow = !IsSimulatedFingerprint(device.fingerprint),
                                 .fp16 = options.fp16_values,
                                 .bf16 = options.bf16_values});
}

}  // namespace plait
