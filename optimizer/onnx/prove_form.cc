#include "optimizer/onnx/prove_form.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/onnx/node_form.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Zero finds an epsilon that is gone, small numbers one that changed, large ones bounds of Clip.
constexpr double kSizes[] = {0, 0x1p-6, 1, 8, 1024};

// Operations and elements of a node alone, so that its evaluations take less than 0.1 seconds.
constexpr int64_t kEvaluatedWorkMax = 1 << 19;

// How many times rounding may show: a form has up to two constants that it rounds.
constexpr int kRoundings = 4;

// The largest relative error of rounding to nearest; of float64, what sums in another order make of
// it where a square root follows a difference.
double UnitOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return 0x1p-11;
    case DataType::kBfloat16:
      return 0x1p-8;
    case DataType::kFloat32:
      return 0x1p-24;
    default:
      return 0x1p-28;
  }
}

// Integers may be indices, which any extent must hold.
int64_t IndexMax(const Graph& graph) {
  int64_t smallest = 8;
  for (const TensorId input : graph.inputs()) {
    for (const int64_t extent : graph.type(input).shape) {
      if (extent > 0) smallest = std::min(smallest, extent);
    }
  }
  return smallest - 1;
}

bool IsSigned(DataType dtype) {
  return dtype == DataType::kInt8 || dtype == DataType::kInt16 || dtype == DataType::kInt32 ||
         dtype == DataType::kInt64;
}

std::vector<EvalTensor> RandomInputs(const Graph& graph, double size, Random& random) {
  const int64_t index_max = IndexMax(graph);
  std::vector<EvalTensor> inputs;
  for (const TensorId id : graph.inputs()) {
    EvalTensor input = ZeroEvalTensor(graph.type(id), /*in_field=*/false);
    if (auto* floats = std::get_if<std::vector<double>>(&input.values)) {
      for (double& value : *floats) value = random.Uniform(-size, size);
    } else if (size > 0) {
      const DataType dtype = input.type.dtype;
      const int64_t high = dtype == DataType::kBool ? 1 : index_max;
      for (int64_t& value : std::get<std::vector<int64_t>>(input.values)) {
        value = random.Integer(IsSigned(dtype) ? -high - 1 : 0, high);
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<EvalTensor> SlightlyLarger(std::vector<EvalTensor> inputs) {
  for (EvalTensor& input : inputs) {
    auto* floats = std::get_if<std::vector<double>>(&input.values);
    if (floats == nullptr) continue;
    const double factor = 1 + kRoundings * UnitOf(input.type.dtype);
    for (double& value : *floats) value *= factor;
  }
  return inputs;
}

// The largest difference; infinite where only one is NaN or they are different infinities.
double LargestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = std::fabs(a[i] - b[i]);
    largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : difference);
  }
  return largest;
}

double LargestFinite(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

// `moved` is what slightly larger inputs give in the place of `wanted`.
absl::Status CompareOutput(const EvalTensor& wanted, const EvalTensor& got,
                           const EvalTensor& moved) {
  if (const auto* floats = std::get_if<std::vector<double>>(&wanted.values)) {
    const double shift = LargestDifference(*floats, std::get<std::vector<double>>(moved.values));
    const double rounding = kRoundings * UnitOf(wanted.type.dtype) * LargestFinite(*floats);
    const double bound = rounding + (std::isfinite(shift) ? shift : 0);
    const double difference = LargestDifference(*floats, std::get<std::vector<double>>(got.values));
    if (difference <= bound) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("differs by ", difference, ", explained by rounding is ", bound));
  }
  if (wanted.values == got.values) return absl::OkStatus();
  return absl::InternalError("has other values");
}

absl::Status CompareTypes(const Graph& graph, absl::Span<const TensorId> tensors, const Graph& form,
                          absl::Span<const TensorId> in_form, absl::string_view what) {
  if (tensors.size() != in_form.size()) {
    return absl::InternalError(
        absl::StrCat(in_form.size(), " ", what, "s in place of ", tensors.size()));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (graph.type(tensors[i]) == form.type(in_form[i])) continue;
    return absl::InternalError(absl::StrCat(what, " ", i, " is ", form.type(in_form[i]).ToString(),
                                            " in place of ", graph.type(tensors[i]).ToString()));
  }
  return absl::OkStatus();
}

// Operations of a node alone, and elements that it reads and writes.
int64_t WorkOfAlone(const Graph& alone) {
  int64_t work = WorkOf(alone, 0).flops;
  for (const TensorInfo& tensor : alone.tensors()) work += tensor.type.elements();
  return work;
}

bool HaveSameOperators(const Graph& a, const Graph& b) {
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    [](const Node& one, const Node& other) {
                      return one.op == other.op && *one.attributes == *other.attributes;
                    });
}

struct NodeAndForm {
  Graph alone;
  Graph form;
};

// The node with `extent` halved wherever it stands; nullopt when that cannot be, or gives another
// form.
std::optional<NodeAndForm> Halved(const NodeAndForm& node, int64_t extent,
                                  const std::set<int64_t, std::greater<>>& extents,
                                  FormOf form_of) {
  // Different ones stay different: equal ones may broadcast.
  int64_t half = std::max<int64_t>((extent + 1) / 2, 2);
  while (extents.contains(half)) ++half;
  if (half >= extent) return std::nullopt;
  absl::StatusOr<Graph> alone = NodeAlone(node.alone, 0, [&](TensorType type) {
    std::replace(type.shape.begin(), type.shape.end(), extent, half);
    return type;
  });
  if (!alone.ok()) return std::nullopt;
  absl::StatusOr<Graph> form = form_of(*alone);
  if (!form.ok() || !HaveSameOperators(node.form, *form)) return std::nullopt;
  return NodeAndForm{*std::move(alone), *std::move(form)};
}

// The node with fewer elements: one extent after the other becomes half of what it was, the largest
// that its operator lets go first.
NodeAndForm SmallerNode(NodeAndForm node, FormOf form_of) {
  while (WorkOfAlone(node.alone) > kEvaluatedWorkMax) {
    std::set<int64_t, std::greater<>> extents;
    for (const TensorId input : node.alone.inputs()) {
      const Shape& shape = node.alone.type(input).shape;
      extents.insert(shape.begin(), shape.end());
    }
    std::optional<NodeAndForm> smaller;
    for (const int64_t extent : extents) {
      smaller = Halved(node, extent, extents, form_of);
      if (smaller.has_value()) break;
    }
    if (!smaller.has_value()) break;
    node = *std::move(smaller);
  }
  return node;
}

}  // namespace

absl::Status CheckSameFunction(const Graph& graph, const Graph& form) {
  PLAIT_RETURN_IF_ERROR(CompareTypes(graph, graph.inputs(), form, form.inputs(), "input"));
  PLAIT_RETURN_IF_ERROR(CompareTypes(graph, graph.outputs(), form, form.outputs(), "output"));
  Random random(1);
  int compared = 0;
  for (const double size : kSizes) {
    const std::vector<EvalTensor> inputs = RandomInputs(graph, size, random);
    const absl::StatusOr<std::vector<EvalTensor>> wanted =
        EvaluateGraphUnrounded(graph, inputs, NoWeights());
    const absl::StatusOr<std::vector<EvalTensor>> got =
        EvaluateGraphUnrounded(form, inputs, NoWeights());
    // What the node refuses, its form may refuse as well.
    if (!wanted.ok() && !got.ok()) continue;
    PLAIT_RETURN_IF_ERROR(wanted.status());
    PLAIT_RETURN_IF_ERROR(got.status());
    PLAIT_ASSIGN_OR_RETURN(const std::vector<EvalTensor> moved,
                           EvaluateGraphUnrounded(graph, SlightlyLarger(inputs), NoWeights()));
    for (size_t i = 0; i < wanted->size(); ++i) {
      const absl::Status same = CompareOutput((*wanted)[i], (*got)[i], moved[i]);
      if (!same.ok()) return Annotate(same, absl::StrCat("output ", i));
    }
    ++compared;
  }
  if (compared > 0) return absl::OkStatus();
  return absl::InternalError("no inputs were found that it can be evaluated on");
}

absl::Status ProveForm(const Graph& alone, const Graph& form, FormOf form_of) {
  const NodeAndForm smaller = SmallerNode({alone, form}, form_of);
  return CheckSameFunction(smaller.alone, smaller.form);
}

}  // namespace plait
