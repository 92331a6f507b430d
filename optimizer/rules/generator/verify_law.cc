#include "optimizer/rules/generator/verify_law.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/generator/field_evaluation.h"

namespace plait {
namespace {

constexpr int kPointsPerShape = 3;
constexpr int kShapesMin = 3;

using Sizes = std::map<int64_t, int64_t>;  // of each variable

// The law's own sizes, equal ones, odd ones, even ones, and random ones.
std::vector<Sizes> Assignments(const Graph& source, Random* random) {
  const Sizes own = SizeVariablesOf(source);
  std::vector<Sizes> assignments(5, own);
  int64_t next = 0;
  for (const auto& [variable, size] : own) {
    assignments[1][variable] = 4;
    assignments[2][variable] = 5 + 2 * (next % 3);
    assignments[3][variable] = 4 + 2 * (next % 3);
    assignments[4][variable] = random->Integer(1, 8);
    ++next;
  }
  return assignments;
}

// A Split's sizes are variables, those of inputs.
void SetParts(const Graph& graph, NodeId id, const Sizes& sizes, Node* node,
              GraphBuilder* builder) {
  const Tensor* parts = graph.inline_constant(id, 1);
  if (node->op != OpKind::kSplit || parts == nullptr) return;
  std::vector<int64_t> values = parts->AsInt64s();
  for (int64_t& value : values) {
    const auto found = sizes.find(value);
    if (found != sizes.end()) value = found->second;
  }
  node->inputs[1] = builder->AddConstant(Constant::OfTensor(Tensor::Int64s(values)));
}

int DegreeOf(const Graph& graph) {
  std::vector<int> degrees(graph.tensor_count(), 0);
  for (const TensorId input : graph.inputs()) degrees[input] = 1;
  int largest = 1;
  for (const Node& node : graph.nodes()) {
    const bool multiplies =
        node.op == OpKind::kMatMul || node.op == OpKind::kMul || node.op == OpKind::kConv;
    int degree = 0;
    for (const TensorId input : node.inputs) {
      degree = multiplies ? degree + degrees[input] : std::max(degree, degrees[input]);
    }
    // The results of an unknown function are variables of their own.
    if (node.op == OpKind::kRelu) degree = 1;
    for (const TensorId output : node.outputs) degrees[output] = degree;
    largest = std::max(largest, degree);
  }
  return largest;
}

std::vector<EvalTensor> RandomPoint(const Graph& graph, Random* random) {
  std::vector<EvalTensor> point;
  for (const TensorId input : graph.inputs()) {
    std::vector<FieldElement> values(graph.type(input).elements());
    for (FieldElement& value : values) value = FieldElement(random->Next());
    point.push_back({graph.type(input), std::move(values)});
  }
  return point;
}

absl::Status Compare(const Graph& source, const Graph& target, int points, Random* random) {
  for (int i = 0; i < points; ++i) {
    const std::vector<EvalTensor> point = RandomPoint(source, random);
    PLAIT_ASSIGN_OR_RETURN(const auto expected, EvaluateWithUnknownFunctions(source, point));
    PLAIT_ASSIGN_OR_RETURN(const auto actual, EvaluateWithUnknownFunctions(target, point));
    if (expected.size() != actual.size()) {
      return absl::FailedPreconditionError("the sides have different numbers of outputs");
    }
    for (size_t j = 0; j < expected.size(); ++j) {
      if (expected[j].type != actual[j].type || expected[j].values != actual[j].values) {
        std::string shapes;
        for (const TensorId input : source.inputs()) {
          absl::StrAppend(&shapes, " ", source.type(input).ToString());
        }
        return absl::FailedPreconditionError(
            absl::StrCat("output ", j, " differs for inputs", shapes));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::map<int64_t, int64_t> SizeVariablesOf(const Graph& graph) {
  std::map<int64_t, int64_t> sizes;
  for (const TensorId input : graph.inputs()) {
    for (const int64_t size : graph.type(input).shape) {
      if (IsVariableSize(size)) sizes[size] = size;
    }
  }
  return sizes;
}

absl::StatusOr<Graph> AtSizes(const Graph& graph, const std::map<int64_t, int64_t>& sizes) {
  GraphBuilder builder;
  std::vector<TensorId> inputs;
  for (const TensorId input : graph.inputs()) {
    TensorType type = graph.type(input);
    for (int64_t& size : type.shape) {
      const auto found = sizes.find(size);
      if (found != sizes.end()) size = found->second;
    }
    inputs.push_back(builder.AddInput(std::move(type), *graph.tensor(input).name));
  }
  GraphCopier copier(graph, &builder, inputs);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& original = graph.node(id);
    Node node = copier.Detached(id);
    SetParts(graph, id, sizes, &node, &builder);
    PLAIT_ASSIGN_OR_RETURN(const auto types,
                           InferTypes(builder, node, static_cast<int>(original.outputs.size())));
    const std::vector<TensorId> outputs = builder.AddNode(std::move(node), types);
    for (size_t i = 0; i < outputs.size(); ++i) copier.Set(original.outputs[i], outputs[i]);
  }
  for (const TensorId output : graph.outputs()) builder.AddOutput(copier.TensorOf(output));
  return std::move(builder).Finish();
}

std::string Evidence::ToString() const {
  const int bits = 61 - static_cast<int>(std::bit_width(static_cast<unsigned>(degree)));
  return absl::StrCat(points, " points at ", shapes, " shapes, degree ", degree,
                      ", a wrong law passes a point with less than 2^-", bits);
}

absl::StatusOr<Evidence> VerifyLaw(const Law& law, uint64_t seed) {
  Random random(seed);
  Evidence evidence;
  evidence.degree = std::max(DegreeOf(law.source), DegreeOf(law.target));
  for (const Sizes& sizes : Assignments(law.source, &random)) {
    const auto source = AtSizes(law.source, sizes);
    if (!source.ok()) continue;  // a window larger than its image
    const auto target = AtSizes(law.target, sizes);
    if (!target.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the target has no types: ", target.status().message()));
    }
    PLAIT_RETURN_IF_ERROR(Compare(*source, *target, kPointsPerShape, &random));
    ++evidence.shapes;
    evidence.points += kPointsPerShape;
  }
  if (evidence.shapes < kShapesMin) {
    return absl::FailedPreconditionError(
        absl::StrCat("it was tried at ", evidence.shapes, " shapes only"));
  }
  return evidence;
}

bool AgreeAtAPoint(const Graph& a, const Graph& b, uint64_t seed) {
  Random random(seed);
  return Compare(a, b, 1, &random).ok();
}

}  // namespace plait
