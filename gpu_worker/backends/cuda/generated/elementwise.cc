#include <algorithm>

#include "gpu_worker/backends/cuda/generated/elements.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

// The problem in memory order: dimensions that lie next to each other in every operand are one.
struct Flat {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> inputs;  // each of the shape's rank, 1 where it broadcasts
};

// By an example in NCHW: shape {8,16,4,4} with inputs {8,16,4,4} and {16,1,1}. The last two
// dimensions join, the others do not, since the second input spreads over some of them only:
// {8,16,16} with {8,16,16} and {1,16,1}. Fewer dimensions are fewer divisions per element.
// Where an operand has a pitch, the channels stay a dimension of their own, the last one.
Flat Flatten(const ElementwiseProblem& p, const KernelForm& form) {
  const MemoryLayout layout = form.layout;
  Flat flat;
  const std::vector<int64_t> shape = InMemoryOrder(p.shape, layout);
  std::vector<std::vector<int64_t>> inputs;
  for (const auto& input : p.inputs) {
    inputs.push_back(InMemoryOrder(WithRank(input, p.shape.size()), layout));
  }
  flat.inputs.resize(inputs.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_apart = !form.pitches.are_dense() && d + 1 == shape.size();
    if (shape[d] == 1 && !is_apart) continue;
    bool joins = !flat.shape.empty() && !is_apart;
    for (size_t i = 0; i < inputs.size() && joins; ++i) {
      joins = (flat.inputs[i].back() == 1) == (inputs[i][d] == 1);
    }
    if (!joins) {
      flat.shape.push_back(1);
      for (auto& input : flat.inputs) input.push_back(1);
    }
    flat.shape.back() *= shape[d];
    for (size_t i = 0; i < inputs.size(); ++i) flat.inputs[i].back() *= inputs[i][d];
  }
  // A single element.
  if (flat.shape.empty()) {
    flat.shape.push_back(1);
    for (auto& input : flat.inputs) input.push_back(1);
  }
  return flat;
}

// Where an operand of these sizes has element `e` of the shape, vector `i` of so many elements.
// What has vectors is counted in them: a product by their width shows the compiler that all of them
// are aligned. Where it cannot see that it loads and stores one element after the other.
std::string OffsetSource(const Flat& flat, const std::vector<int64_t>& sizes,
                         const PixelPitch& pitch, int width) {
  if (sizes == flat.shape && pitch.is_dense()) return "e";
  const bool has_vectors = width > 1 && sizes.back() != 1;
  const int64_t unit = has_vectors ? width : 1;
  const std::string number = has_vectors ? "i" : "e";
  std::string text;
  int64_t output_stride = 1, input_stride = 1;
  for (size_t d = flat.shape.size(); d-- > 0;) {
    const bool is_last = d + 1 == flat.shape.size();
    const int64_t extent = flat.shape[d] / (is_last ? unit : 1);
    if (sizes[d] != 1) {
      text += text.empty() ? "" : " + ";
      text += number + " / " + std::to_string(output_stride) + "u % " + std::to_string(extent) +
              "u * " + std::to_string(input_stride) + "u";
    }
    output_stride *= extent;
    input_stride *= is_last ? (pitch.is_dense() ? sizes[d] : pitch.pitch) / unit : sizes[d];
  }
  if (text.empty()) return "0u";
  return has_vectors ? "(" + text + ") * kWidth" : text;
}

// One thread for kWidth neighbours in memory: every operand that does not broadcast is read along
// memory, once. One that spreads over the last dimension is one number for the whole vector.
GeneratedKernel ElementwiseKernel(const Problem& problem, const Flat& flat,
                                  const OperandPitches& pitches, const std::string& expression,
                                  int width) {
  GeneratedKernel kernel;
  std::string loads, names;
  for (size_t i = 0; i < flat.inputs.size(); ++i) {
    const ElementType type = InputType(problem, i);
    const bool floats = type == ElementType::kFloat;
    kernel.arguments.push_back({Kind::kInput, static_cast<int>(i), type});
    const std::string n = std::to_string(i),
                      offset = OffsetSource(flat, flat.inputs[i], pitches.input(i), width);
    const bool spread = width > 1 && flat.inputs[i].back() == 1;
    loads += std::string("  ") + HeldName(type) + " a" + n + "[kWidth];\n";
    if (spread) {
      const std::string element = "x" + n + "[" + offset + "]";
      loads += "  a" + n + "[0] = " + (floats ? "ToFloat(" + element + ")" : element) + ";\n";
    } else {
      loads += "  " + VectorFunction("Load", type) + "<kWidth>(x" + n + " + (" + offset + "), a" +
               n + ");\n";
    }
    names += std::string("    const ") + ValueName(type) + " x" + n + " = a" + n +
             (spread ? "[0]" : "[j]") + (type == ElementType::kBool ? " != 0;\n" : ";\n");
  }
  const ElementType result = OutputType(problem);
  kernel.arguments.push_back({Kind::kOutput, 0, result});
  const int64_t vectors = ElementCount(flat.shape) / width;
  kernel.variant = "v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  if (!IsOfFloats(problem)) kernel.source = ElementFunctions();
  kernel.source +=
      Constants({{"kVectors", vectors}, {"kWidth", width}, {"kThreads", kBlockThreads}});
  kernel.source += Replace(R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVectors) return;
  const unsigned e = i * kWidth;
$LOADS$  $HELD$ result[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
$NAMES$    result[j] = $EXPRESSION$;
  }
  $STORE$<kWidth>(y0 + ($PLACE$), result);
}
)",
                           {{"PARAMETERS", Parameters(kernel.arguments)},
                            {"PLACE", OffsetSource(flat, flat.shape, pitches.output(0), width)},
                            {"HELD", HeldName(result)},
                            {"STORE", VectorFunction("Store", result)},
                            {"LOADS", loads},
                            {"NAMES", names},
                            {"EXPRESSION", expression}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateElementwise(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<ElementwiseProblem>(&problem);
  if (p == nullptr) return {};
  const Result<Expression> expression = Expression::Of(*p);
  if (!expression.ok()) return {};
  const Flat flat = Flatten(*p, form);
  // No vector is longer than one load, that of the longest elements.
  ElementType longest = OutputType(problem);
  for (size_t i = 0; i < p->inputs.size(); ++i) {
    const ElementType type = InputType(problem, i);
    if (ElementBytes(type, form.precision) > ElementBytes(longest, form.precision)) longest = type;
  }
  const int widest = VectorWidth(form, {flat.shape.back()}, longest);
  std::vector<GeneratedKernel> kernels;
  // A small tensor wants many threads more than wide loads. One is enough to list: over 166 tensors
  // of models it takes 1.008 times what the best of all widths does. Of masks, which are small,
  // there is nothing to choose: see IsOfFloats().
  int listed = widest;
  while (listed > 2 && ElementCount(flat.shape) / listed < kThreadsToFill) listed /= 2;
  const int narrowest = IsOfFloats(problem) ? std::max(1, widest / 4) : widest;
  for (int width = widest; width >= narrowest; width /= 2) {
    kernels.push_back(
        ElementwiseKernel(problem, flat, form.pitches, expression.value().Source(), width));
    kernels.back().is_listed = width == std::max(listed, narrowest);
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedElementwise;
const GeneratedFamily kGeneratedElementwise = {"elementwise", GenerateElementwise, true};

}  // namespace plait::cuda
