#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/random.h"
#include "gtest/gtest.h"
#include "optimizer/ops/evaluation/run_operator.h"
#include "tests/optimizer/ops/op_testing.h"
#include "tests/optimizer/ops/samples.h"

// Whatever a model says, inference answers, and what inference accepts can be evaluated.
namespace plait {
namespace {

constexpr int kMutantsPerSample = 1000;
// Larger mutants are inferred only, so that the test stays short.
constexpr int64_t kEvaluatedMax = 2000;

struct Call {
  Attributes attributes;
  std::vector<TensorType> types;
  std::vector<Tensor> values;  // by input; of type kUndefined where it is no constant
  int output_count = 1;
};

constexpr int64_t kAwkward[] = {std::numeric_limits<int64_t>::min(),
                                -(int64_t{1} << 31),
                                -3,
                                -2,
                                -1,
                                0,
                                1,
                                2,
                                3,
                                7,
                                int64_t{1} << 31,
                                int64_t{1} << 40,
                                int64_t{1} << 62,
                                std::numeric_limits<int64_t>::max()};

int64_t AwkwardInteger(Random* random) {
  // Half of them small, so that some mutants are accepted.
  if (random->Integer(0, 1) == 0) return random->Integer(-2, 4);
  return kAwkward[random->Integer(0, std::size(kAwkward) - 1)];
}

double AwkwardNumber(Random* random) {
  using Limits = std::numeric_limits<float>;
  constexpr double kNumbers[] = {
      -1, 0, 1e-30, 0.3, 1, 1.7, 3, 1e30, Limits::infinity(), Limits::quiet_NaN()};
  return kNumbers[random->Integer(0, std::size(kNumbers) - 1)];
}

template <typename T>
void MutateList(Random* random, T value, std::vector<T>* list) {
  switch (random->Integer(0, 2)) {
    case 0:
      list->push_back(value);
      break;
    case 1:
      if (!list->empty()) list->pop_back();
      break;
    default:
      if (!list->empty()) (*list)[random->Integer(0, list->size() - 1)] = value;
  }
}

void MutateAttribute(Random* random, Attributes* attributes) {
  if (attributes->empty()) return;
  auto [name, value] = attributes->entries()[random->Integer(0, attributes->entries().size() - 1)];
  if (random->Integer(0, 5) == 0) {
    attributes->Erase(name);
    return;
  }
  if (auto* integer = std::get_if<int64_t>(&value)) *integer = AwkwardInteger(random);
  if (auto* real = std::get_if<float>(&value)) *real = std::numeric_limits<float>::quiet_NaN();
  if (auto* text = std::get_if<std::string>(&value)) *text = "what";
  if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    MutateList(random, AwkwardInteger(random), list);
  }
  if (random->Integer(0, 9) == 0) value = std::string("another type");
  attributes->Set(name, value);
}

void MutateType(Random* random, TensorType* type) {
  constexpr DataType kTypes[] = {DataType::kFloat32,  DataType::kFloat64, DataType::kBool,
                                 DataType::kInt64,    DataType::kUint8,   DataType::kString,
                                 DataType::kUndefined};
  constexpr int64_t kExtents[] = {0, 1, 2, 3, 5, int64_t{1} << 33};
  const int64_t extent = kExtents[random->Integer(0, 5)];
  if (random->Integer(0, 3) == 0) {
    type->dtype = kTypes[random->Integer(0, 6)];
    return;
  }
  std::vector<int64_t> shape(type->shape.begin(), type->shape.end());
  MutateList(random, extent, &shape);
  type->shape.assign(shape.begin(), shape.end());
}

void MutateInput(Random* random, Call* call) {
  if (call->types.empty()) return;
  const int64_t index = random->Integer(0, call->types.size() - 1);
  Tensor& constant = call->values[index];
  if (!constant.type().known()) {
    MutateType(random, &call->types[index]);
    return;
  }
  if (random->Integer(0, 4) == 0) {
    constant = Tensor();  // a value that is not known
    return;
  }
  if (IsFloat(constant.type().dtype)) {
    std::vector<double> list = constant.AsDoubles();
    MutateList(random, AwkwardNumber(random), &list);
    constant =
        Tensor::FromDoubles({constant.type().dtype, {static_cast<int64_t>(list.size())}}, list);
    call->types[index] = constant.type();
    return;
  }
  std::vector<int64_t> list;
  if (IsInteger(constant.type().dtype)) list = constant.AsInt64s();
  MutateList(random, AwkwardInteger(random), &list);
  constant = Tensor::Int64s(list);
  call->types[index] = constant.type();
}

Call CallOf(const Graph& graph) {
  Call call;
  const Node& node = graph.nodes().back();
  call.attributes = *node.attributes;
  call.output_count = static_cast<int>(node.outputs.size());
  for (TensorId input : node.inputs) {
    if (input == kNoTensor) {
      call.types.emplace_back();
      call.values.emplace_back();
      continue;
    }
    call.types.push_back(graph.type(input));
    const auto& constant = graph.tensor(input).constant;
    const Tensor* value = constant == nullptr ? nullptr : constant->inline_value();
    call.values.push_back(value == nullptr ? Tensor() : *value);
  }
  return call;
}

void Mutate(Random* random, Call* call) {
  const int64_t mutations = random->Integer(1, 3);
  for (int64_t i = 0; i < mutations; ++i) {
    switch (random->Integer(0, 6)) {
      case 0:
      case 1:
      case 2:
        MutateAttribute(random, &call->attributes);
        break;
      case 3:
        if (!call->types.empty() && random->Integer(0, 3) == 0) {
          call->types.pop_back();
          call->values.pop_back();
        }
        break;
      default:
        MutateInput(random, call);
    }
  }
}

// Returns whether inference accepted the call.
bool TryCall(OpKind op, const Call& call) {
  std::vector<const Tensor*> constants;
  for (const Tensor& value : call.values)
    constants.push_back(value.type().known() ? &value : nullptr);
  const auto types = InferTypes(op, call.attributes, call.types, constants, call.output_count);
  if (!types.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(types.status()) || absl::IsUnimplemented(types.status()))
        << types.status();
    return false;
  }
  EXPECT_EQ(types->size(), static_cast<size_t>(call.output_count));
  int64_t elements = 0;
  for (const TensorType& type : call.types) {
    elements = std::max(elements, type.elements());
    if (!IsValidShape(type.shape)) return false;
  }
  for (const TensorType& type : *types) {
    EXPECT_TRUE(IsValidShape(type.shape));
    elements = std::max(elements, type.elements());
  }
  const OpSpec& spec = SpecOf(op);
  const OpCall op_call{call.attributes, call.types, constants, call.output_count};
  const Work work =
      spec.work == nullptr ? DefaultWork(op_call, *types) : spec.work(op_call, *types);
  EXPECT_GE(work.flops, 0);
  EXPECT_GE(work.bytes, 0);
  if (elements > kEvaluatedMax) return true;
  std::vector<EvalTensor> values(call.types.size());
  std::vector<const EvalTensor*> inputs(call.types.size(), nullptr);
  for (size_t i = 0; i < call.types.size(); ++i) {
    if (!call.types[i].known()) continue;
    values[i] =
        ToEvalTensor(constants[i] != nullptr ? *constants[i] : RandomTensor(call.types[i], i));
    inputs[i] = &values[i];
  }
  const auto outputs =
      RunOperator({op, call.attributes, constants, call.output_count}, inputs, Numbers::kReal);
  if (!outputs.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(outputs.status())) << outputs.status();
    return true;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    EXPECT_EQ((*outputs)[i].type, (*types)[i]);
    std::visit(
        [&](const auto& list) {
          EXPECT_EQ(static_cast<int64_t>(list.size()), (*types)[i].elements());
        },
        (*outputs)[i].values);
  }
  return true;
}

TEST(InferTypesFuzzTest, MutatedCallsAreRefusedOrEvaluated) {
  int accepted = 0;
  int refused = 0;
  uint64_t seed = 0;
  for (const OperatorSample& sample : OperatorSamples()) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(sample));
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (int i = 0; i < kMutantsPerSample; ++i) {
      SCOPED_TRACE(absl::StrCat(sample.node, ", seed ", ++seed));
      Random random(seed);
      Call call = CallOf(*graph);
      Mutate(&random, &call);
      (TryCall(graph->nodes().back().op, call) ? accepted : refused)++;
    }
  }
  // Both happen often, or the mutants test nothing.
  EXPECT_GT(accepted, seed / 10);
  EXPECT_GT(refused, seed / 10);
}

TEST(InferTypesFuzzTest, MutatedNodesOfAnyOpsetAreRaisedAndLoweredOrRefused) {
  uint64_t seed = 1'000'000;
  for (const OperatorSample& sample : OperatorSamples()) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(sample));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const OpSpec& spec = SpecOf(graph->nodes().back().op);
    for (int i = 0; i < kMutantsPerSample; ++i) {
      SCOPED_TRACE(absl::StrCat(sample.node, ", seed ", ++seed));
      Random random(seed);
      Call call = CallOf(*graph);
      Mutate(&random, &call);
      VersionedNode node;
      node.opset = static_cast<int>(random.Integer(kOpsetMin, kOpsetMax));
      node.attributes = call.attributes;
      node.output_count = call.output_count;
      node.input_types = call.types;
      for (size_t j = 0; j < call.types.size(); ++j) {
        node.present.push_back(call.types[j].known());
        node.constants.emplace_back();
        if (call.values[j].type().known()) node.constants[j] = call.values[j];
      }
      // An importer raises what it reads, mandatory inputs or not; an exporter lowers valid nodes
      // only.
      VersionedNode raised = node;
      if (spec.raise != nullptr) spec.raise(&raised).IgnoreError();
      EXPECT_EQ(raised.present.size(), raised.constants.size());
      EXPECT_EQ(raised.present.size(), raised.input_types.size());
    }
  }
}

}  // namespace
}  // namespace plait
