#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"
#include "tests/optimizer/ops/op_testing.h"
#include "tests/optimizer/ops/samples.h"

// What holds for every operator of op_kinds.def.
namespace plait {
namespace {

using ::testing::AnyOf;

std::vector<OpKind> AllOperators() {
  std::vector<OpKind> all;
  for (int i = 1; i < kOpKindCount; ++i) all.push_back(static_cast<OpKind>(i));
  return all;
}

TEST(OperatorConformanceTest, EverySpecIsCompleteAndSane) {
  for (OpKind op : AllOperators()) {
    SCOPED_TRACE(std::string(OpKindName(op)));
    const OpSpec& spec = SpecOf(op);
    EXPECT_EQ(spec.kind, op);
    EXPECT_GE(spec.since_opset, 1);
    EXPECT_LE(spec.since_opset, kOpsetMax);
    EXPECT_GE(spec.inputs.min, 0);
    EXPECT_LE(spec.inputs.min, spec.inputs.max);
    EXPECT_GE(spec.outputs.min, 1);
    EXPECT_LE(spec.outputs.min, spec.outputs.max);
    EXPECT_NE(spec.infer, nullptr);
    EXPECT_NE(spec.evaluate, nullptr);
  }
}

TEST(OperatorConformanceTest, EveryOperatorHasASample) {
  std::set<std::string> sampled;
  for (const OperatorSample& sample : OperatorSamples()) sampled.insert(sample.op);
  for (OpKind op : AllOperators()) {
    EXPECT_TRUE(sampled.contains(std::string(OpKindName(op)))) << OpKindName(op);
  }
}

TEST(OperatorConformanceTest, ElementwiseOperatorsHaveOneOutputAndTheRightInputs) {
  for (OpKind op : AllOperators()) {
    const OpSpec& spec = SpecOf(op);
    if (HasTraits(op, kElementwiseBinary)) {
      EXPECT_LE(spec.inputs.min, 2) << OpKindName(op);
      EXPECT_GE(spec.inputs.max, 2) << OpKindName(op);
    }
    if (HasTraits(op, kElementwiseUnary)) {
      EXPECT_EQ(spec.inputs.min, 1) << OpKindName(op);
    }
  }
}

// One node's graph, taken apart and put together again with another node in its place.
class NodeGraph {
 public:
  explicit NodeGraph(const Graph& graph) : graph_(graph), node_(graph.nodes().back()) {
    for (TensorId id = 0; id < graph.tensor_count(); ++id) {
      const TensorInfo& info = graph.tensor(id);
      if (info.constant != nullptr) {
        ids_.push_back(builder_.AddConstant(info.constant, *info.name));
      } else if (info.producer == kNoNode) {
        ids_.push_back(builder_.AddInput(info.type, *info.name));
      } else {
        ids_.push_back(kNoTensor);
      }
    }
  }

  GraphBuilder* builder() { return &builder_; }

  // The node with inputs that are tensors of the builder.
  Node node() const {
    Node node = node_;
    for (TensorId& input : node.inputs) input = input == kNoTensor ? kNoTensor : ids_[input];
    return node;
  }

  absl::StatusOr<Graph> Finish(absl::Span<const TensorId> outputs) && {
    for (TensorId output : outputs) builder_.AddOutput(output);
    return std::move(builder_).Finish();
  }

  VersionedNode versioned(int opset) const {
    VersionedNode versioned;
    versioned.opset = opset;
    versioned.attributes = *node_.attributes;
    versioned.output_count = static_cast<int>(node_.outputs.size());
    for (TensorId input : node_.inputs) {
      const bool present = input != kNoTensor;
      versioned.present.push_back(present);
      versioned.input_types.push_back(present ? graph_.type(input) : TensorType{});
      versioned.constants.emplace_back();
      if (!present || graph_.tensor(input).constant == nullptr) continue;
      const Tensor* value = graph_.tensor(input).constant->inline_value();
      if (value != nullptr) versioned.constants.back() = *value;
    }
    return versioned;
  }

 private:
  const Graph& graph_;
  const Node& node_;
  GraphBuilder builder_;
  std::vector<TensorId> ids_;
};

void ExpectNear(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual,
                double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].type(), actual[i].type());
    const std::vector<double> a = expected[i].AsDoubles();
    const std::vector<double> b = actual[i].AsDoubles();
    for (size_t j = 0; j < a.size(); ++j) {
      if (std::isnan(a[j]) && std::isnan(b[j])) continue;
      if (a[j] == b[j]) continue;
      EXPECT_NEAR(a[j], b[j], tolerance * (1 + std::abs(a[j])))
          << "output " << i << "[" << j << "]";
    }
  }
}

class OperatorSampleTest : public ::testing::TestWithParam<OperatorSample> {
 protected:
  void SetUp() override {
    absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(GetParam()));
    ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << GraphTextOf(GetParam());
    graph_ = *std::move(graph);
    ASSERT_GE(graph_.node_count(), 1);
    spec_ = &SpecOf(graph_.nodes().back().op);
    inputs_ = RandomInputs(graph_, 17);
  }

  std::vector<Tensor> Run(const Graph& graph) {
    absl::StatusOr<std::vector<Tensor>> outputs = EvaluateGraph(graph, inputs_, NoWeights());
    EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << PrintGraph(graph);
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>{};
  }

  Graph graph_;
  const OpSpec* spec_ = nullptr;
  std::vector<Tensor> inputs_;
};

TEST_P(OperatorSampleTest, InfersTheGoldenTypes) {
  EXPECT_EQ(OutputTypes(GraphTextOf(GetParam())), GetParam().types);
}

TEST_P(OperatorSampleTest, EvaluatesToTheInferredTypes) {
  const std::vector<Tensor> outputs = Run(graph_);
  ASSERT_EQ(outputs.size(), graph_.outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].type(), graph_.type(graph_.outputs()[i]));
  }
}

TEST_P(OperatorSampleTest, HasWork) {
  const Work work = WorkOf(graph_, graph_.node_count() - 1);
  EXPECT_GE(work.flops, 0);
  EXPECT_GE(work.bytes, 0);
  EXPECT_LT(work.flops, 100'000);
}

// In GF(p) an operator has the right types or no meaning; it never crashes.
TEST_P(OperatorSampleTest, EvaluatesInTheFieldOrSaysThatItCannot) {
  std::vector<EvalTensor> inputs;
  for (const Tensor& input : inputs_) inputs.push_back(ToFieldTensor(input));
  const absl::StatusOr<std::vector<EvalTensor>> outputs =
      EvaluateGraphInField(graph_, inputs, NoWeights());
  if (!outputs.ok()) {
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kUnimplemented) << outputs.status();
    return;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    EXPECT_EQ((*outputs)[i].type, graph_.type(graph_.outputs()[i]));
    EXPECT_EQ(std::holds_alternative<std::vector<FieldElement>>((*outputs)[i].values),
              IsFloat((*outputs)[i].type.dtype));
  }
}

TEST_P(OperatorSampleTest, ExpansionComputesTheSameByOlderOperators) {
  if (spec_->expand == nullptr) return;
  NodeGraph parts(graph_);
  const absl::StatusOr<std::vector<TensorId>> outputs =
      spec_->expand(parts.node(), parts.builder());
  if (absl::IsUnimplemented(outputs.status())) return;
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const absl::StatusOr<Graph> expanded = std::move(parts).Finish(*outputs);
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  for (const Node& node : expanded->nodes()) {
    if (node.op == spec_->kind || spec_->since_opset <= kOpsetMin) continue;
    // An operator that replaced another one is written as that.
    if (spec_->removed_opset <= kOpsetMax || SpecOf(node.op).removed_opset <= kOpsetMax) continue;
    // What import expands must exist in the opset that it came from.
    const int newest = spec_->since_opset - (spec_->expands_at_import == nullptr ? 1 : 0);
    EXPECT_LE(SpecOf(node.op).since_opset, newest) << OpKindName(node.op);
  }
  const bool half = graph_.type(graph_.outputs()[0]).dtype == DataType::kFloat16;
  ExpectNear(Run(graph_), Run(*expanded), half ? 2e-3 : 2e-6);
}

// Lowering to any opset and raising again must not change what is computed.
TEST_P(OperatorSampleTest, LoweredAndRaisedNodesComputeTheSame) {
  const std::vector<Tensor> expected = Run(graph_);
  const int last = std::min(kOpsetMax, spec_->removed_opset - 1);
  for (int opset = std::max(kOpsetMin, spec_->since_opset); opset <= last; ++opset) {
    SCOPED_TRACE(absl::StrCat("opset ", opset));
    NodeGraph parts(graph_);
    VersionedNode versioned = parts.versioned(opset);
    const absl::Status lowered =
        spec_->lower == nullptr ? absl::OkStatus() : spec_->lower(&versioned);
    if (absl::IsUnimplemented(lowered)) continue;
    ASSERT_TRUE(lowered.ok()) << lowered;
    ASSERT_EQ(versioned.present.size(), versioned.constants.size());
    ASSERT_EQ(versioned.present.size(), versioned.input_types.size());
    const absl::Status raised =
        spec_->raise == nullptr ? absl::OkStatus() : spec_->raise(&versioned);
    ASSERT_TRUE(raised.ok()) << raised;
    ASSERT_EQ(versioned.present.size(), versioned.constants.size());
    Node node = parts.node();
    node.attributes = MakeAttributes(versioned.attributes);
    node.inputs.resize(versioned.present.size(), kNoTensor);
    for (size_t i = 0; i < versioned.present.size(); ++i) {
      if (!versioned.present[i]) {
        node.inputs[i] = kNoTensor;
      } else if (versioned.constants[i].has_value()) {
        node.inputs[i] = parts.builder()->AddConstant(Constant::OfTensor(*versioned.constants[i]));
      }
    }
    const auto types = InferTypes(*parts.builder(), node, static_cast<int>(node.outputs.size()));
    ASSERT_TRUE(types.ok()) << types.status();
    const std::vector<TensorId> outputs = parts.builder()->AddNode(node, *types);
    const absl::StatusOr<Graph> again = std::move(parts).Finish(outputs);
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectNear(expected, Run(*again), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(AllOperators, OperatorSampleTest, ::testing::ValuesIn(OperatorSamples()),
                         [](const ::testing::TestParamInfo<OperatorSample>& info) {
                           return absl::StrCat(info.param.op, info.index);
                         });

}  // namespace

// Keeps GoogleTest from printing a sample as bytes.
void PrintTo(const OperatorSample& sample, std::ostream* out) { *out << sample.node; }

}  // namespace plait
