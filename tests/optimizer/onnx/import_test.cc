#include "optimizer/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

constexpr char kRelu[] = "g (float[2] x) => (float[2] y) { y = Relu(x) }";

void ExpectRefusedModel(const std::string& bytes, absl::StatusCode code, const std::string& what) {
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), code) << model.status();
  EXPECT_THAT(std::string(model.status().message()), HasSubstr(what));
}

void ExpectInvalidModel(const std::string& bytes, const std::string& what) {
  ExpectRefusedModel(bytes, absl::StatusCode::kInvalidArgument, what);
}

TEST(ImportTest, AcceptsEveryOpsetFromOldestToNewest) {
  for (int opset = 7; opset <= 28; ++opset) {
    const absl::StatusOr<Model> model = ImportOnnx(GraphBytes(opset, kRelu));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->opset(), opset);
  }
}

TEST(ImportTest, RefusesOpsetsOutsideTheRangeAndSaysWhichAreAccepted) {
  ExpectInvalidModel(GraphBytes(6, kRelu), "opset 6; accepted are 7 to 28");
  ExpectInvalidModel(GraphBytes(29, kRelu), "opset 29; accepted are 7 to 28");
}

TEST(ImportTest, AcceptsAnyIrVersion) {
  for (const int version : {3, 4, 8, 14, 99}) {
    const std::string bytes =
        GraphBytes(13, kRelu, [=](onnx::ModelProto* model) { model->set_ir_version(version); });
    EXPECT_TRUE(ImportOnnx(bytes).ok()) << version;
  }
}

TEST(ImportTest, RefusesAModelWithoutAnOpsetOfOnnx) {
  ExpectInvalidModel(GraphBytes(13, kRelu, [](auto* model) { model->clear_opset_import(); }),
                     "imports no opset");
}

TEST(ImportTest, RefusesBytesThatAreNoModel) {
  ExpectInvalidModel("", "empty");
  ExpectInvalidModel("this is no protobuf message", "not an ONNX model");
  ExpectInvalidModel(std::string("\x08\x08", 2), "no graph");
}

TEST(ImportTest, DescribesInputsAndOutputs) {
  const absl::StatusOr<Model> model = ImportOnnx(GraphBytes(
      13, "g (float[batch, 3, 8] x, int64 n) => (float[batch, 3, 8] y) { y = Relu(x) }"));
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->inputs().size(), 2u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].TypeToString(), "float32[batch,3,8]");
  EXPECT_EQ(model->inputs()[1].dtype, DataType::kInt64);
  EXPECT_EQ(model->outputs()[0].name, "y");
  EXPECT_EQ(model->graph_name(), "g");
  EXPECT_EQ(model->node_count(), 1);
}

TEST(ImportTest, NamesTheDuplicatedValue) {
  ExpectInvalidModel(GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Relu(x) y = Abs(x) }"),
                     "two values of the graph are named 'y'");
  ExpectInvalidModel(GraphBytes(13, "g (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }"),
                     "two values of the graph are named 'x'");
}

TEST(ImportTest, NamesTheNodeThatReadsWhatNothingProduces) {
  ExpectInvalidModel(GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Add(x, missing) }"),
                     "Add of 'y': reads 'missing', which nothing produces");
}

TEST(ImportTest, NamesTheOutputThatNothingProduces) {
  ExpectInvalidModel(GraphBytes(13, "g (float[2] x) => (float[2] z) { y = Relu(x) }"),
                     "output 'z' is produced by nothing");
}

TEST(ImportTest, NamesANodeOfACycle) {
  ExpectInvalidModel(
      GraphBytes(13, "g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Abs(b) }"),
      "Add of 'a': reads its own result through a cycle");
}

TEST(ImportTest, TakesAnInitializerThatIsAlsoAnInputAsAConstant) {
  const auto add_weight = [](onnx::ModelProto* model) {
    *model->mutable_graph()->add_initializer() = FloatTensor("w", {2});
  };
  const std::string graph = "g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }";
  const absl::StatusOr<Model> model = ImportOnnx(GraphBytes(13, graph, add_weight));
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->inputs().size(), 1u);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_THAT(model->warnings()[0], HasSubstr("input 'w' has a default value"));

  const absl::StatusOr<Model> old = ImportOnnx(GraphBytes(7, graph, [&](auto* proto) {
    add_weight(proto);
    proto->set_ir_version(3);
  }));
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_TRUE(old->warnings().empty());
}

TEST(ImportTest, KeepsLargeWeightsByDigest) {
  const onnx::TensorProto large = FloatTensor("w", {300});
  const absl::StatusOr<Model> model = ImportOnnx(
      GraphBytes(13, "g (float[300] x) => (float[300] y) { y = Add(x, w) }",
                 [&](auto* proto) { *proto->mutable_graph()->add_initializer() = large; }));
  ASSERT_TRUE(model.ok()) << model.status();
  const ModelWeights weights = model->weights();
  ASSERT_EQ(weights.digests().size(), 1u);
  const Digest digest = weights.digests()[0];
  EXPECT_EQ(digest, DigestOf(large.raw_data()));
  const absl::StatusOr<Tensor> value = weights.Get(digest, {DataType::kFloat32, {300}});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->at<float>(299), 299.0f);
  EXPECT_EQ(weights.Get(DigestOf("other"), {DataType::kFloat32, {300}}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(weights.Get(digest, {DataType::kFloat32, {299}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ImportTest, RefusesTensorsWhoseDataDoesNotFillTheShape) {
  const auto with = [](const onnx::TensorProto& tensor) {
    return GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Add(x, w) }",
                      [&](auto* model) { *model->mutable_graph()->add_initializer() = tensor; });
  };
  onnx::TensorProto tensor = FloatTensor("w", {2});
  tensor.mutable_raw_data()->pop_back();
  ExpectInvalidModel(with(tensor), "tensor 'w': holds 7 bytes of data, but float32[2] has 8");
  tensor = FloatTensor("w", {2});
  tensor.set_dims(0, -2);
  ExpectInvalidModel(with(tensor), "tensor 'w': shape [-2]");
  tensor.set_dims(0, int64_t{1} << 62);
  ExpectInvalidModel(with(tensor), "larger than allowed");
  tensor = FloatTensor("w", {2});
  for (int i = 0; i < kTensorRankMax; ++i) tensor.add_dims(1);
  ExpectInvalidModel(with(tensor), "larger than allowed");
  tensor = FloatTensor("w", {2});
  tensor.mutable_segment()->set_begin(0);
  ExpectInvalidModel(with(tensor), "segmented");
}

TEST(ImportTest, RefusesExternalDataAndNamesTheTensor) {
  onnx::TensorProto tensor = FloatTensor("w", {2});
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("/etc/passwd");
  ExpectInvalidModel(
      GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Add(x, w) }",
                 [&](auto* model) { *model->mutable_graph()->add_initializer() = tensor; }),
      "tensor 'w': its data lies in another file");
}

TEST(ImportTest, RefusesNamesThatAreNotUtf8) {
  ExpectInvalidModel(GraphBytes(13, kRelu,
                                [](auto* model) {
                                  model->mutable_graph()->mutable_node(0)->set_name("\xff\xfe");
                                }),
                     "node name '\\xff\\xfe' is not UTF-8");
}

onnx::GraphProto NestedIf(int depth) {
  onnx::GraphProto graph;
  graph.set_name("inner");
  onnx::NodeProto* node = graph.add_node();
  node->add_output("r");
  graph.add_output()->set_name("r");
  if (depth == 0) {
    node->set_op_type("Identity");
    node->add_input("x");
    return graph;
  }
  node->set_op_type("If");
  node->add_input("x");
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto* branch = node->add_attribute();
    branch->set_name(name);
    branch->set_type(onnx::AttributeProto::GRAPH);
    *branch->mutable_g() = depth > 1 && name[0] == 'e' ? NestedIf(0) : NestedIf(depth - 1);
  }
  return graph;
}

std::string Repeated(const std::string& text, int64_t times) {
  std::string repeated;
  repeated.reserve(text.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// A message with one field, which is a message with one field, and so on, down to `content`.
std::string Nested(const std::vector<int>& path, std::string content) {
  for (auto field = path.rbegin(); field != path.rend(); ++field) {
    std::string message;
    AppendLengthDelimited(*field, content, &message);
    content = std::move(message);
  }
  return content;
}

TEST(ImportTest, LimitsTheNestingOfSubgraphs) {
  const auto nested = [](int depth) {
    return GraphBytes(13, "g (float[2] x) => (float[2] r) { r = Relu(x) }", [&](auto* model) {
      *model->mutable_graph()->mutable_node() = NestedIf(depth).node();
    });
  };
  EXPECT_TRUE(ImportOnnx(nested(kSubgraphDepthMax)).ok());
  ExpectRefusedModel(nested(kSubgraphDepthMax + 1), absl::StatusCode::kResourceExhausted,
                     "nested deeper than 16");
}

TEST(ImportTest, LimitsTheNumberOfNodesBeforeParsing) {
  // A node without fields takes two bytes in the file and a hundred times as much once parsed.
  const std::string nodes = Repeated(std::string("\x0a\x00", 2), kModelNodesMax + 1);
  ExpectRefusedModel(Nested({7}, nodes), absl::StatusCode::kResourceExhausted,
                     "more than 1000000 nodes");
}

TEST(ImportTest, LimitsTheNumberOfFieldsOfEveryMessageBeforeParsing) {
  struct Bomb {
    const char* what;
    std::vector<int> path;  // field numbers, from the model down
    int field;
  };
  const Bomb bombs[] = {
      {"metadata of the model", {}, 14},
      {"strings of an initializer", {7, 5}, 6},
      {"dimensions of an input", {7, 11, 2, 1, 2}, 1},
  };
  for (const Bomb& bomb : bombs) {
    SCOPED_TRACE(bomb.what);
    // Without content: two bytes in the file.
    std::string field;
    AppendLengthDelimited(bomb.field, "", &field);
    ExpectRefusedModel(Nested(bomb.path, Repeated(field, kModelFieldsMax + 1)),
                       absl::StatusCode::kResourceExhausted, "more than 16000000 fields");
  }
}

TEST(ImportTest, LimitsPackedNumbersThatGrowInMemory) {
  // A number of one byte takes eight in memory.
  const int64_t numbers = kModelFieldsMax * 200 / 7 + 1000;
  std::string packed;
  AppendVarint(7 << 3 | 2, &packed);
  AppendVarint(static_cast<uint64_t>(numbers), &packed);
  packed.append(static_cast<size_t>(numbers), '\1');
  ExpectRefusedModel(Nested({7, 5}, packed), absl::StatusCode::kResourceExhausted,
                     "more than 16000000 fields");
}

TEST(ImportTest, LimitsTheNestingOfTypes) {
  // A sequence of sequences of ...
  std::vector<int> path = {7, 11, 2};
  for (int i = 0; i < 60; ++i) path.insert(path.end(), {4, 1});
  ExpectRefusedModel(Nested(path, ""), absl::StatusCode::kResourceExhausted,
                     "nested deeper than 100");
}

}  // namespace
}  // namespace plait
