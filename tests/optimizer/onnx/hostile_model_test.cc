#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/external_data.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/strip.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

// A little of everything that import, binding and export read.
std::string Victim() {
  return GraphBytes(13, R"(g (float[1,3,8,8] x, bool c) => (float[1,4] y, float[2] z) {
      k = Conv <pads = [1,1,1,1], strides = [1,1]> (x, w)
      n = BatchNormalization <epsilon = 0.001> (k, s, s, s, s)
      p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (n)
      sh = Shape(p)
      i = Constant <value_ints = [0,1]> ()
      g = Gather(sh, i)
      m = Constant <value_ints = [-1]> ()
      t = Concat <axis = 0> (g, m)
      r = Reshape(p, t)
      ax = Constant <value_ints = [2]> ()
      q = ReduceSum <keepdims = 0> (r, ax)
      y = Softmax <axis = 1> (q)
      z = If (c) <
        then_branch = a () => (float[2] u) { u = Abs(v) },
        else_branch = b () => (float[2] o) { o = Neg(v) }
      >
    })",
                    [](auto* model) {
                      auto* graph = model->mutable_graph();
                      *graph->add_initializer() = FloatTensor("w", {4, 3, 3, 3}, -1, 0.01f);
                      *graph->add_initializer() = FloatTensor("s", {4}, 1);
                      *graph->add_initializer() = FloatTensor("v", {2}, 1);
                    });
}

// Weights that stay where they lie are those that are copied.
void ExpectTheSameOfOwnedBytes(const std::string& bytes, const absl::StatusOr<Model>& model) {
  absl::StatusOr<LargeBuffer> buffer = LargeBuffer::Allocate(static_cast<int64_t>(bytes.size()));
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  bytes.copy(buffer->data(), bytes.size());
  const absl::StatusOr<Model> owned = ImportOnnx(*std::move(buffer), 2);
  ASSERT_EQ(owned.status(), model.status());
  if (!model.ok()) return;
  EXPECT_EQ(owned->weights().digests(), model->weights().digests());
}

// Everything that a stranger's bytes reach; none of it may crash or hang.
void Swallow(const std::string& bytes) {
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  ExpectTheSameOfOwnedBytes(bytes, model);
  (void)StripWeights(bytes);
  (void)PackExternalData(bytes, [](const ExternalRange&) -> absl::StatusOr<std::string> {
    return absl::NotFoundError("no such file");
  });
  if (!model.ok()) {
    EXPECT_FALSE(model.status().message().empty());
    return;
  }
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  if (!bound.ok()) return;
  int64_t constant_bytes = 0;
  for (const TensorInfo& tensor : bound->graph.tensors()) {
    if (tensor.constant != nullptr) constant_bytes += tensor.type.bytes();
  }
  // Computing large constants is right but slow.
  if (constant_bytes > 1 << 20) return;
  const absl::StatusOr<std::string> exported =
      ExportOnnx(*model, bound->graph, model->weights(), {});
  if (!exported.ok()) return;
  const absl::StatusOr<Model> again = ImportOnnx(*exported);
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST(HostileModelTest, TheVictimItselfIsFine) {
  const absl::StatusOr<Model> model = ImportOnnx(Victim());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const auto exported = ExportOnnx(*model, bound->graph, model->weights(), {});
  EXPECT_TRUE(exported.ok()) << exported.status();
}

TEST(HostileModelTest, SurvivesTruncationAtEveryByte) {
  const std::string bytes = Victim();
  for (size_t size = 0; size < bytes.size(); ++size) Swallow(bytes.substr(0, size));
}

TEST(HostileModelTest, SurvivesRandomByteChanges) {
  const std::string bytes = Victim();
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::string changed = bytes;
    const int64_t changes = random.Integer(1, 4);
    for (int64_t i = 0; i < changes; ++i) {
      const size_t at =
          static_cast<size_t>(random.Integer(0, static_cast<int64_t>(changed.size()) - 1));
      changed[at] = static_cast<char>(random.Integer(0, 255));
    }
    Swallow(changed);
  }
}

TEST(HostileModelTest, SurvivesChangedIntegers) {
  const onnx::ModelProto original = [] {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(Victim()));
    return model;
  }();
  constexpr int64_t kAwkward[] = {-1,        0,        1, 2, 7, -9, 1 << 20, int64_t{1} << 40,
                                  INT64_MAX, INT64_MIN};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    onnx::ModelProto model = original;
    const auto awkward = [&random, &kAwkward] { return kAwkward[random.Integer(0, 9)]; };
    onnx::GraphProto* graph = model.mutable_graph();
    onnx::NodeProto* node =
        graph->mutable_node(static_cast<int>(random.Integer(0, graph->node_size() - 1)));
    for (onnx::AttributeProto& attribute : *node->mutable_attribute()) {
      if (attribute.has_i()) attribute.set_i(awkward());
      for (int i = 0; i < attribute.ints_size(); ++i) {
        if (random.Integer(0, 1) == 0) attribute.set_ints(i, awkward());
      }
      if (random.Integer(0, 9) == 0) attribute.add_ints(awkward());
    }
    if (random.Integer(0, 3) == 0) {
      auto* shape = graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
      shape->mutable_dim(static_cast<int>(random.Integer(0, 3)))->set_dim_value(awkward());
    }
    Swallow(model.SerializeAsString());
  }
}

}  // namespace
}  // namespace plait
