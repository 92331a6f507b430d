#include "bench/gpu/kernel_list.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

Error Invalid(const std::string& what) {
  return Error{ErrorCode::kInvalid, "kernel list: " + what};
}

// The index of `name` in `names`.
template <size_t kCount>
std::optional<int> IndexOf(const char* const (&names)[kCount], const std::string& name) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return static_cast<int>(i);
  }
  return std::nullopt;
}

template <size_t kCount>
Status ReadArray(const FlatObject& object, const std::string& name,
                 std::array<int64_t, kCount>* array) {
  if (!object.Has(name)) return Ok();
  const std::vector<int64_t> values = object.Integers(name);
  if (values.size() != kCount) return Invalid(name + " must have " + std::to_string(kCount));
  std::copy(values.begin(), values.end(), array->begin());
  return Ok();
}

Status ReadActivation(const FlatObject& object, const std::string& name, Activation* activation) {
  static constexpr const char* kNames[] = {"none",      "relu", "relu6",   "gelu",
                                           "gelu_tanh", "silu", "sigmoid", "tanh"};
  const std::optional<int> index = IndexOf(kNames, object.Text(name, "none"));
  if (!index) return Invalid(name + ": unknown activation");
  *activation = static_cast<Activation>(*index);
  return Ok();
}

Result<ConvProblem> ReadConv(const FlatObject& o) {
  ConvProblem p{.n = o.Integer("n", 1),
                .c = o.Integer("c", 1),
                .h = o.Integer("h", 1),
                .w = o.Integer("w", 1),
                .k = o.Integer("k", 1),
                .r = o.Integer("r", 1),
                .s = o.Integer("s", 1)};
  PLAIT_CUDA_RETURN_IF_ERROR(ReadArray(o, "stride", &p.stride));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadArray(o, "dilation", &p.dilation));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadArray(o, "pad", &p.pad));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadActivation(o, "activation", &p.activation));
  p.groups = o.Integer("groups", 1);
  p.bias = o.Bool("bias");
  p.residual = o.Bool("residual");
  p.prologue_relu = o.Bool("prologue_relu");
  return p;
}

Result<Problem> ReadSeparable(const FlatObject& o) {
  Result<ConvProblem> depthwise = ReadConv(o);
  if (!depthwise.ok()) return depthwise.error();
  SeparableConvProblem p{.depthwise = depthwise.value(), .pointwise = {}};
  const ConvProblem& d = p.depthwise;
  if (d.stride[0] <= 0 || d.stride[1] <= 0) return Invalid("stride must be positive");
  p.pointwise = {
      .n = d.n, .c = d.k, .h = d.output_h(), .w = d.output_w(), .k = o.Integer("pointwise_k", 1)};
  p.pointwise.bias = o.Bool("pointwise_bias");
  p.pointwise.residual = o.Bool("pointwise_residual");
  p.pointwise.prologue_relu = o.Bool("pointwise_prologue_relu");
  PLAIT_CUDA_RETURN_IF_ERROR(ReadActivation(o, "pointwise_activation", &p.pointwise.activation));
  return Problem(p);
}

Result<Problem> ReadGemm(const FlatObject& o) {
  GemmProblem p{.batch = o.Integer("batch", 1),
                .m = o.Integer("m", 1),
                .n = o.Integer("n", 1),
                .k = o.Integer("k", 1),
                .weights = o.Bool("weights", true),
                .transpose_a = o.Bool("transpose_a"),
                .transpose_b = o.Bool("transpose_b"),
                .bias = o.Bool("bias"),
                .residual = o.Bool("residual")};
  PLAIT_CUDA_RETURN_IF_ERROR(ReadActivation(o, "activation", &p.activation));
  return Problem(p);
}

Result<Problem> ReadPool(const FlatObject& o) {
  static constexpr const char* kModes[] = {"max", "average", "average_with_padding"};
  const std::optional<int> mode = IndexOf(kModes, o.Text("mode", "max"));
  if (!mode) return Invalid("mode: unknown");
  PoolProblem p{.mode = static_cast<PoolProblem::Mode>(*mode),
                .n = o.Integer("n", 1),
                .c = o.Integer("c", 1),
                .h = o.Integer("h", 1),
                .w = o.Integer("w", 1),
                .r = o.Integer("r", 1),
                .s = o.Integer("s", 1)};
  PLAIT_CUDA_RETURN_IF_ERROR(ReadArray(o, "stride", &p.stride));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadArray(o, "pad", &p.pad));
  p.output_h = o.Integer("output_h", 1);
  p.output_w = o.Integer("output_w", 1);
  return Problem(p);
}

Result<Problem> ReadRows(const FlatObject& o) {
  static constexpr const char* kKinds[] = {"softmax",    "log_softmax",  "layer_norm",
                                           "reduce_sum", "reduce_mean",  "reduce_max",
                                           "rms_norm",   "instance_norm"};
  const std::optional<int> kind = IndexOf(kKinds, o.Text("kind", "softmax"));
  if (!kind) return Invalid("kind: unknown rows kind " + o.Text("kind"));
  return Problem(RowsProblem{.kind = static_cast<RowsProblem::Kind>(*kind),
                             .rows = o.Integer("rows", 1),
                             .columns = o.Integer("columns", 1),
                             .inner = o.Integer("inner", 1),
                             .channels = o.Integer("channels", 1),
                             .residual = o.Bool("residual"),
                             .epsilon = static_cast<float>(o.Number("epsilon", 1e-5))});
}

Status ReadStrides(const FlatObject& object, const std::string& name,
                   std::optional<AttentionProblem::Strides>* strides) {
  if (!object.Has(name)) return Ok();
  return ReadArray(object, name, &strides->emplace());
}

Result<Problem> ReadAttention(const FlatObject& o) {
  AttentionProblem p{.batch = o.Integer("batch", 1),
                     .heads = o.Integer("heads", 1),
                     .query = o.Integer("query", 1),
                     .keys = o.Integer("keys", 1),
                     .dim = o.Integer("dim", 1),
                     .mask = o.Bool("mask"),
                     .causal = o.Bool("causal"),
                     .mask_batch = o.Bool("mask_batch", true),
                     .mask_heads = o.Bool("mask_heads"),
                     .mask_query = o.Bool("mask_query", true)};
  if (o.Has("scale")) p.scale = static_cast<float>(o.Number("scale"));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadStrides(o, "query_strides", &p.query_strides));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadStrides(o, "key_strides", &p.key_strides));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadStrides(o, "value_strides", &p.value_strides));
  PLAIT_CUDA_RETURN_IF_ERROR(ReadStrides(o, "result_strides", &p.result_strides));
  return Problem(p);
}

Result<Problem> ReadMovement(const FlatObject& o) {
  static constexpr const char* kKinds[] = {"transpose", "concat", "slice", "gather", "pad", "copy"};
  const std::optional<int> kind = IndexOf(kKinds, o.Text("kind", "copy"));
  if (!kind) return Invalid("kind: unknown movement " + o.Text("kind"));
  static constexpr const char* kFills[] = {"value", "edge", "reflect", "wrap"};
  const std::optional<int> fill = IndexOf(kFills, o.Text("fill", "value"));
  if (!fill) return Invalid("fill: unknown " + o.Text("fill"));
  return Problem(MovementProblem{.kind = static_cast<MovementProblem::Kind>(*kind),
                                 .inputs = o.IntegerLists("inputs"),
                                 .permutation = o.Integers("permutation"),
                                 .axis = o.Integer("axis"),
                                 .starts = o.Integers("starts"),
                                 .sizes = o.Integers("sizes"),
                                 .steps = o.Integers("steps"),
                                 .fill = static_cast<MovementProblem::Fill>(*fill),
                                 .value = o.Number("value")});
}

Result<Problem> ReadRecurrence(const FlatObject& o) {
  RecurrenceProblem p{.columns = o.Integer("columns", 1),
                      .inputs = o.Integers("inputs"),
                      .outputs = o.IntegerLists("outputs")};
  std::istringstream steps(o.Text("steps"));
  for (std::string step; std::getline(steps, step, ';');) p.steps.push_back(step);
  return Problem(std::move(p));
}

ResizeProblem::Axis ReadAxis(const FlatObject& o, const std::string& name, int64_t input) {
  ResizeProblem::Axis axis{.input = input,
                           .taps = o.Integer(name + "_taps", 1),
                           .elements = o.Integers(name + "_elements")};
  for (const double weight : o.Numbers(name + "_weights")) {
    axis.weights.push_back(static_cast<float>(weight));
  }
  return axis;
}

Result<Problem> ReadResize(const FlatObject& o) {
  return Problem(ResizeProblem{.n = o.Integer("n", 1),
                               .c = o.Integer("c", 1),
                               .rows = ReadAxis(o, "row", o.Integer("h", 1)),
                               .columns = ReadAxis(o, "column", o.Integer("w", 1))});
}

Result<Problem> ReadRecurrentLayer(const FlatObject& o) {
  static constexpr const char* kKinds[] = {"rnn", "gru", "lstm"};
  static constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  const std::optional<int> kind = IndexOf(kKinds, o.Text("kind"));
  const std::optional<int> direction = IndexOf(kDirections, o.Text("direction"));
  if (!kind || !direction) return Invalid("recurrent_layer: unknown kind or direction");
  RecurrentLayerProblem p{.kind = static_cast<RecurrentLayerProblem::Kind>(*kind),
                          .direction = static_cast<RecurrentLayerProblem::Direction>(*direction),
                          .steps = o.Integer("steps", 1),
                          .batch = o.Integer("batch", 1),
                          .input = o.Integer("input", 1),
                          .hidden = o.Integer("hidden", 1),
                          .bias = o.Bool("bias"),
                          .initial_h = o.Bool("initial_h"),
                          .initial_c = o.Bool("initial_c"),
                          .linear_before_reset = o.Bool("linear_before_reset"),
                          .y = o.Bool("y"),
                          .y_h = o.Bool("y_h"),
                          .y_c = o.Bool("y_c")};
  PLAIT_CUDA_RETURN_IF_ERROR(ReadActivation(o, "activation", &p.activation));
  return Problem(p);
}

Result<Problem> ReadProblem(const FlatObject& o) {
  const std::string name = o.Text("problem");
  if (name == "conv") {
    Result<ConvProblem> conv = ReadConv(o);
    if (!conv.ok()) return conv.error();
    return Problem(conv.value());
  }
  if (name == "separable_conv") return ReadSeparable(o);
  if (name == "gemm") return ReadGemm(o);
  if (name == "pool") return ReadPool(o);
  if (name == "rows") return ReadRows(o);
  if (name == "movement") return ReadMovement(o);
  if (name == "attention") return ReadAttention(o);
  if (name == "recurrence") return ReadRecurrence(o);
  if (name == "resize") return ReadResize(o);
  if (name == "recurrent_layer") return ReadRecurrentLayer(o);
  if (name == "scale_shift") {
    ScaleShiftProblem p{
        .n = o.Integer("n", 1), .c = o.Integer("c", 1), .spatial = o.Integer("spatial", 1)};
    PLAIT_CUDA_RETURN_IF_ERROR(ReadActivation(o, "activation", &p.activation));
    return Problem(p);
  }
  if (name == "elementwise") {
    return Problem(
        ElementwiseProblem{o.Text("expression"), o.Integers("shape"), o.IntegerLists("inputs")});
  }
  return Invalid("problem: unknown \"" + name + "\"");
}

// The rank of a type such as "float32[1,64,56,56]" that begins at or behind `at`.
int RankAt(const std::string& graph, size_t at) {
  const size_t open = graph.find('[', at);
  const size_t close = graph.find(']', at);
  if (open == std::string::npos || close == std::string::npos || close < open) return 0;
  if (close == open + 1) return 0;
  return 1 + static_cast<int>(std::count(graph.begin() + open, graph.begin() + close, ','));
}

// The ranks of the graph's inputs, then of its outputs.
std::vector<int> RanksOf(const std::string& graph) {
  std::vector<int> inputs, outputs;
  size_t start = 0;
  while (start < graph.size()) {
    const size_t end = std::min(graph.find('\n', start), graph.size());
    const size_t word = std::min(graph.find_first_not_of(" \t", start), end);
    if (graph.compare(word, 6, "input ") == 0) inputs.push_back(RankAt(graph, word));
    if (graph.compare(word, 7, "output ") == 0) {
      const std::string name = graph.substr(word + 7, end - word - 7);
      outputs.push_back(RankAt(graph, graph.find(name + ":")));
    }
    start = end + 1;
  }
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  return inputs;
}

}  // namespace

Result<ListedKernel> ReadKernel(const FlatObject& object) {
  ListedKernel kernel;
  kernel.family = object.Text("family");
  kernel.graph = object.Text("graph");
  kernel.formats = object.Text("formats");
  kernel.cold_weights = object.Bool("cold_weights", true);
  kernel.priority = object.Integer("priority");
  kernel.origin = object.Text("origin", "model");
  if (kernel.family.empty()) return Invalid("family is missing");
  if (kernel.graph.empty()) return Invalid("graph is missing");
  Result<Problem> problem = ReadProblem(object);
  if (!problem.ok()) return problem.error();
  kernel.problem = std::move(problem).value();
  const Result<ProblemShape> shape = ShapeOf(kernel.problem);
  if (!shape.ok()) return Invalid(shape.error().message);
  return kernel;
}

Result<std::vector<ListedKernel>> ReadKernelList(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kUnavailable, path + ": cannot be read"};
  std::vector<ListedKernel> kernels;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const Result<FlatObject> object = FlatObject::Parse(line);
    Result<ListedKernel> kernel =
        object.ok() ? ReadKernel(object.value()) : Result<ListedKernel>(object.error());
    if (kernel.ok()) {
      kernels.push_back(std::move(kernel).value());
    } else {
      std::fprintf(stderr, "%s:%d: %s\n", path.c_str(), number, kernel.error().message.c_str());
    }
  }
  if (kernels.empty()) return Error{ErrorCode::kInvalid, path + ": no kernel in it"};
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.priority < b.priority; });
  return kernels;
}

std::string FormatsIn(const ListedKernel& kernel, MemoryLayout layout) {
  if (layout == MemoryLayout::kNchw || !LayoutMatters(kernel.problem)) return kernel.formats;
  std::string formats;
  for (int rank : RanksOf(kernel.graph)) {
    if (!formats.empty()) formats += ",";
    formats += rank == 4 ? "channels_last" : "plain";
  }
  return formats;
}

Result<Precision> ParsePrecision(const std::string& name) {
  for (Precision precision :
       {Precision::kStrict, Precision::kTf32, Precision::kFp16, Precision::kBf16}) {
    if (name == PrecisionName(precision)) return precision;
  }
  return Error{ErrorCode::kInvalid, "unknown precision \"" + name + "\""};
}

Result<MemoryLayout> ParseLayout(const std::string& name) {
  for (MemoryLayout layout : {MemoryLayout::kNchw, MemoryLayout::kNhwc}) {
    if (name == LayoutName(layout)) return layout;
  }
  return Error{ErrorCode::kInvalid, "unknown layout \"" + name + "\""};
}

}  // namespace plait::cuda
