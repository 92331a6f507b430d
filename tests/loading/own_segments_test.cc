#include "loading/own_segments.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/load_segments.h"
#include "loading/segmented_executable.h"
#include "optimizer/onnx/import.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

// Models around nodes that plait computes itself: nobody brings a runner.

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model that is loaded in parts.
class Parts {
 public:
  explicit Parts(const std::string& bytes, int threads = 1, HostRunner* runner = nullptr)
      : executor_(OpenCpu(threads)) {
    const Model model = *ImportOnnx(bytes);
    const Bound bound = *Bind(model, {});
    absl::StatusOr<LoadedSegments> loaded =
        LoadSegments({model, bound, {}, PartsLoading{*executor_, runner}});
    status_ = loaded.status();
    if (!loaded.ok()) return;
    loaded_ = *std::move(loaded);
    executable_ = std::make_unique<SegmentedExecutable>(std::move(loaded_.model), 0);
  }

  const absl::Status& status() const { return status_; }
  const LoadedSegments& loaded() const { return loaded_; }

  absl::StatusOr<std::vector<Tensor>> TryRun(const std::vector<Tensor>& inputs) {
    if (!status_.ok()) return status_;
    return executable_->Run(inputs);
  }

  std::vector<Tensor> Run(const std::vector<Tensor>& inputs) {
    absl::StatusOr<std::vector<Tensor>> outputs = TryRun(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>(8);
  }

 private:
  std::unique_ptr<Executor> executor_;
  absl::Status status_;
  LoadedSegments loaded_;
  std::unique_ptr<Executable> executable_;
};

Tensor Flag(bool value) { return Tensor::Of<bool>({}, {value}); }

TEST(OwnSegmentsTest, WhatFollowsIsBoundToTheSizesOfARun) {
  Parts parts(GraphBytes(17, R"(g (float[2,3] x) => (float[n] y, int64[k] s) {
        a = Relu(x)
        places = NonZero(a)
        rows = Transpose(places)
        picked = GatherND(a, rows)
        y = Neg(picked)
        s = Shape(picked)
      })"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  EXPECT_EQ(parts.loaded().islands, 1);
  EXPECT_EQ(parts.loaded().host_nodes, 1);
  EXPECT_EQ(parts.loaded().late_nodes, 4);
  EXPECT_THAT(parts.loaded().explanation,
              HasSubstr("1 node that plait lacks (NonZero) runs node by node; 4 nodes behind them "
                        "are planned when a run tells the sizes"));
  std::vector<Tensor> outputs = parts.Run({Floats({2, 3}, {1, -2, 3, 0, 5, 6})});
  EXPECT_EQ(outputs[0], Floats({4}, {-1, -3, -5, -6}));
  EXPECT_THAT(outputs[1].AsInt64s(), ElementsAre(4));
  outputs = parts.Run({Floats({2, 3}, {0, 0, 7, 0, 0, 0})});
  EXPECT_EQ(outputs[0], Floats({1}, {-7}));
  // Nothing at all, and the first size again.
  outputs = parts.Run({Floats({2, 3}, {0, 0, 0, 0, 0, 0})});
  EXPECT_EQ(outputs[0], Floats({0}, {}));
  outputs = parts.Run({Floats({2, 3}, {1, 1, 1, 1, 0, 0})});
  EXPECT_EQ(outputs[0], Floats({4}, {-1, -1, -1, -1}));
}

TEST(OwnSegmentsTest, NamesWhatRunsAsReferenceCodeInAnIsland) {
  Parts parts(GraphBytes(17, R"(g (double[2,2] x) => (int64[k,n] y) {
        a = MatMul(x, x)
        y = NonZero(a)
      })"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  EXPECT_EQ(parts.loaded().reference_nodes, 1);
  EXPECT_THAT(parts.loaded().explanation,
              HasSubstr("; 1 node runs as slow reference code (MatMul)"));
}

// More than reference evaluation is for, with weights, for more sizes than are kept.
TEST(OwnSegmentsTest, LateProductsRunByPlans) {
  Parts parts(GraphBytes(17, R"(g (float[64,48] x, bool[64] c) => (float[n,96] y) {
        a = Relu(x)
        rows = Compress <axis = 0> (a, c)
        b = MatMul(rows, w)
        y = Relu(b)
      })",
                         [](::onnx::ModelProto* model) {
                           *model->mutable_graph()->add_initializer() =
                               FloatTensor("w", {48, 96}, -3, 0.001953125F);
                         }),
              2);
  ASSERT_EQ(parts.status(), absl::OkStatus());
  std::vector<float> x(64 * 48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 4;
  for (int count = 0; count <= 40; ++count) {
    std::string kept(64, '\0');
    for (int i = 0; i < count; ++i) kept[63 - i] = '\1';
    const std::vector<Tensor> outputs =
        parts.Run({Floats({64, 48}, x), Tensor({DataType::kBool, {64}}, kept)});
    ASSERT_EQ(outputs[0].type().shape, Shape({count, 96}));
    for (int row = 0; row < count; ++row) {
      double expected = 0;
      for (int k = 0; k < 48; ++k) {
        const float value = std::max(0.0F, x[(64 - count + row) * 48 + k]);
        expected += value * (-3 + 0.001953125 * (k * 96 + 7));
      }
      EXPECT_NEAR(outputs[0].at<float>(row * 96 + 7), std::max(0.0, expected), 1e-3);
    }
  }
}

// How many there are decides what is taken: the value of an input, and of what a plan computes.
TEST(OwnSegmentsTest, SizesMayFollowFromValues) {
  Parts parts(GraphBytes(17, R"(g (float[8] x) => (float[n] y, int64[n] at) {
        a = Relu(x)
        places = NonZero(a)
        ones = Cast <to = 7> (a)
        some = Sign(ones)
        count = ReduceSum <keepdims = 1> (some)
        y, at = TopK(a, count)
      })"));
  ASSERT_EQ(parts.status(), absl::OkStatus()) << parts.status();
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> outputs = parts.Run({Floats({8}, {1, -1, 3, 0, 9, -2, 0, 2})});
    EXPECT_EQ(outputs[0], Floats({4}, {9, 3, 2, 1}));
    EXPECT_THAT(outputs[1].AsInt64s(), ElementsAre(4, 2, 7, 0));
    outputs = parts.Run({Floats({8}, {1, -1, 0, 0, 0, -2, 0, 2})});
    EXPECT_EQ(outputs[0], Floats({2}, {2, 1}));
  }
}

// Of floats as well, where a size follows from those.
TEST(OwnSegmentsTest, SizesMayFollowFromFloats) {
  Parts parts(GraphBytes(17, R"(g (float[2] x) => (float[n] y) {
        sum = ReduceSum <keepdims = 0> (x)
        r = Range(zero, sum, one)
        y = Neg(r)
      })",
                         [](::onnx::ModelProto* proto) {
                           for (const auto& [name, value] : {std::pair("zero", 0), {"one", 1}}) {
                             ::onnx::TensorProto& tensor =
                                 *proto->mutable_graph()->add_initializer();
                             tensor.set_name(name);
                             tensor.set_data_type(::onnx::TensorProto::FLOAT);
                             tensor.add_float_data(static_cast<float>(value));
                           }
                         }));
  ASSERT_EQ(parts.status(), absl::OkStatus()) << parts.status();
  EXPECT_EQ(parts.Run({Floats({2}, {1, 2})})[0].type().shape, Shape({3}));
  EXPECT_EQ(parts.Run({Floats({2}, {0.5F, 0.25F})})[0].type().shape, Shape({1}));
}

TEST(OwnSegmentsTest, IfRunsTheBranchThatIsChosen) {
  Parts parts(GraphBytes(17, R"(g (float[4] x, bool flag) => (float[4] y) {
        a = Relu(x)
        b = If (flag) <
            then_branch = g1 () => (float[4] z) { z = Add(a, w) },
            else_branch = g2 () => (float[4] z) { z = Identity(a) }>
        y = Neg(b)
      })",
                         [](::onnx::ModelProto* proto) {
                           *proto->mutable_graph()->add_initializer() = FloatTensor("w", {4}, 10);
                         }));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  const Tensor x = Floats({4}, {-1, 2, 3, 4});
  EXPECT_EQ(parts.Run({x, Flag(true)})[0], Floats({4}, {-10, -13, -15, -17}));
  EXPECT_EQ(parts.Run({x, Flag(false)})[0], Floats({4}, {-0.0F, -2, -3, -4}));
}

// Larger than what reference evaluation is for, and nothing is left of one branch.
TEST(OwnSegmentsTest, BranchesRunByPlans) {
  Parts parts(
      GraphBytes(
          17, R"(g (float[200,200] x, bool flag) => (float[200,200] y) {
        y = If (flag) <
            then_branch = g1 () => (float[200,200] z) { z = MatMul(x, w) },
            else_branch = g2 () => (float[200,200] z) { z = Identity(x) }>
      })",
          [](::onnx::ModelProto* proto) {
            *proto->mutable_graph()->add_initializer() = FloatTensor("w", {200, 200}, 0.5F, 0);
          }),
      2);
  ASSERT_EQ(parts.status(), absl::OkStatus());
  const Tensor x = Floats({200, 200}, std::vector<float>(40'000, 2));
  EXPECT_EQ(parts.Run({x, Flag(true)})[0], Floats({200, 200}, std::vector<float>(40'000, 200)));
  EXPECT_EQ(parts.Run({x, Flag(false)})[0], x);
}

// A node of an unknown size behind another one, when there is nothing to find.
TEST(OwnSegmentsTest, NothingMayBeFoundTwice) {
  Parts parts(GraphBytes(17, R"(g (float[6] x) => (float[n] y, float[m] sums) {
        places = NonZero(x)
        rows = Transpose(places)
        found = GatherND(x, rows)
        large = Sub(found, w)
        positive = Relu(large)
        again = NonZero(positive)
        rows2 = Transpose(again)
        y = GatherND(large, rows2)
        sums = ReduceSum(positive)
      })",
                         [](::onnx::ModelProto* proto) {
                           *proto->mutable_graph()->add_initializer() = FloatTensor("w", {1}, 2);
                         }));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  EXPECT_EQ(parts.Run({Floats({6}, {1, 0, 3, 5, 0, 2})})[0], Floats({2}, {1, 3}));
  EXPECT_EQ(parts.Run({Floats({6}, {1, 0, 1, 1, 0, 2})})[0], Floats({0}, {}));
  const std::vector<Tensor> none = parts.Run({Floats({6}, {0, 0, 0, 0, 0, 0})});
  EXPECT_EQ(none[0], Floats({0}, {}));
  EXPECT_EQ(none[1], Floats({1}, {0}));
}

// Branches of different sizes, and one in the other.
TEST(OwnSegmentsTest, BranchesMayDifferInWhatTheyGive) {
  Parts parts(GraphBytes(17, R"(g (float[4] x, bool flag, bool inner) => (float[n] y) {
        y = If (flag) <
            then_branch = g1 () => (float[n] z) {
              z = If (inner) <
                then_branch = g3 () => (float[n] u) { u = Concat <axis = 0> (x, x) },
                else_branch = g4 () => (float[n] u) { u = Sqrt(x) }>
            },
            else_branch = g2 () => (float[n] z) { k = NonZero(x) z = Cast <to = 1> (k) }>
      })"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  const Tensor x = Floats({4}, {0, 1, 0, 4});
  EXPECT_EQ(parts.Run({x, Flag(true), Flag(true)})[0], Floats({8}, {0, 1, 0, 4, 0, 1, 0, 4}));
  EXPECT_EQ(parts.Run({x, Flag(true), Flag(false)})[0], Floats({4}, {0, 1, 0, 2}));
  EXPECT_EQ(parts.Run({x, Flag(false), Flag(true)})[0], Floats({1, 2}, {1, 3}));
}

std::string Loop(const std::string& condition) {
  return GraphBytes(17,
                    R"(g (float[2] x, int64 m) => (float[2] y, float[n,2] all) {
        a = Relu(x)
        y, all = Loop (m, go, a) <
            body = b (int64 i, bool going, float[2] state) => (bool goes, float[2] next,
                                                               float[2] seen) {
              next = Add(state, step)
              seen = Mul(next, next)
              sum = ReduceSum <keepdims = 0> (next)
              goes = )" +
                        condition + R"(
            }>
      })",
                    [](::onnx::ModelProto* proto) {
                      *proto->mutable_graph()->add_initializer() = FloatTensor("step", {2}, 1, 1);
                      ::onnx::TensorProto& go = *proto->mutable_graph()->add_initializer();
                      go.set_name("go");
                      go.set_data_type(::onnx::TensorProto::BOOL);
                      go.add_int32_data(1);
                      ::onnx::TensorProto& limit = *proto->mutable_graph()->add_initializer();
                      limit.set_name("limit");
                      limit.set_data_type(::onnx::TensorProto::FLOAT);
                      limit.add_float_data(10);
                    });
}

TEST(OwnSegmentsTest, LoopCarriesStatesAndCollects) {
  Parts parts(Loop("Identity(going)"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  const Tensor x = Floats({2}, {-1, 1});
  std::vector<Tensor> outputs = parts.Run({x, Tensor::ScalarInt64(3)});
  EXPECT_EQ(outputs[0], Floats({2}, {3, 7}));
  EXPECT_EQ(outputs[1], Floats({3, 2}, {1, 9, 4, 25, 9, 49}));
  outputs = parts.Run({x, Tensor::ScalarInt64(0)});
  EXPECT_EQ(outputs[0], Floats({2}, {0, 1}));
  EXPECT_EQ(outputs[1], Floats({0, 2}, {}));
}

// What no checker passes, but a file may hold.
TEST(OwnSegmentsTest, SubgraphsThatTakeOtherInputsThanTheyAreGivenAreErrors) {
  const Tensor x = Floats({4}, {-1, 2, 3, 4});
  const auto conditional = [](const std::string& node) {
    return GraphBytes(
        17, absl::StrCat("g (float[4] x, bool flag) => (float[4] y) {\n", node, "y = Neg(b)\n}"));
  };
  Parts more_than_a_flag(conditional(R"(b = If (flag, x) <
      then_branch = g1 () => (float[4] z) { z = Constant<value_floats=[1.0,2.0,3.0,4.0]>() },
      else_branch = g2 () => (float[4] z) { z = Constant<value_floats=[4.0,3.0,2.0,1.0]>() }>
  )"));
  EXPECT_FALSE(more_than_a_flag.TryRun({x, Flag(true)}).ok());
  Parts branches_with_inputs(conditional(R"(b = If (flag) <
      then_branch = g1 (float[4] p, float[4] q) => (float[4] z) { z = Add(p, x) },
      else_branch = g2 (float[4] p, float[4] q) => (float[4] z) { z = Add(q, x) }>
  )"));
  EXPECT_FALSE(branches_with_inputs.TryRun({x, Flag(true)}).ok());
  ::onnx::ModelProto loop;
  ASSERT_TRUE(loop.ParseFromString(Loop("Identity(going)")));
  ::onnx::GraphProto& body =
      *loop.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  *body.add_initializer() = FloatTensor(body.input(2).name(), {2});
  Parts hidden(loop.SerializeAsString());
  EXPECT_FALSE(hidden.TryRun({Floats({2}, {-1, 1}), Tensor::ScalarInt64(3)}).ok());
}

TEST(OwnSegmentsTest, OfTwoBodiesTheFirstOneRuns) {
  ::onnx::ModelProto loop;
  ASSERT_TRUE(loop.ParseFromString(Loop("Identity(going)")));
  ::onnx::NodeProto& node = *loop.mutable_graph()->mutable_node(1);
  ASSERT_EQ(node.attribute_size(), 1);
  const ::onnx::AttributeProto first = node.attribute(0);
  ::onnx::AttributeProto& second = *node.add_attribute();
  second = first;
  second.mutable_g()->mutable_output()->RemoveLast();
  Parts parts(loop.SerializeAsString());
  ASSERT_EQ(parts.status(), absl::OkStatus());
  EXPECT_EQ(parts.Run({Floats({2}, {-1, 1}), Tensor::ScalarInt64(3)})[1],
            Floats({3, 2}, {1, 9, 4, 25, 9, 49}));
}

TEST(OwnSegmentsTest, LoopEndsWhereItsConditionSays) {
  Parts parts(Loop("Less(sum, limit)"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  const std::vector<Tensor> outputs =
      parts.Run({Floats({2}, {0, 0}), Tensor::ScalarInt64(1'000'000)});
  // Sums of 3, 6, 9 and 12.
  EXPECT_EQ(outputs[0], Floats({2}, {4, 8}));
  EXPECT_EQ(outputs[1].type().shape, Shape({4, 2}));
}

TEST(OwnSegmentsTest, AStateMayGrow) {
  Parts parts(GraphBytes(17, R"(g (float[2] x, int64 m) => (float[n] y) {
        y = Loop (m, , x) <
            body = b (int64 i, bool going, float[k] state) => (bool goes, float[l] next) {
              one = Cast <to = 1> (i)
              axes = Constant <value_ints = [0]> ()
              row = Unsqueeze(one, axes)
              next = Concat <axis = 0> (state, row)
              goes = Identity(going)
            }>
      })"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  EXPECT_EQ(parts.Run({Floats({2}, {7, 8}), Tensor::ScalarInt64(3)})[0],
            Floats({5}, {7, 8, 0, 1, 2}));
}

TEST(OwnSegmentsTest, ScanWalksSlicesFromEitherEnd) {
  Parts parts(GraphBytes(17, R"(g (float[2] s, float[2,3] x) => (float[2] y, float[2,3] all) {
        a = Neg(x)
        y, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                       scan_output_axes = [1],
            body = b (float[2] state, float[2] slice) => (float[2] next, float[2] seen) {
              next = Add(state, slice)
              seen = Identity(next)
            }> (s, a)
      })"));
  ASSERT_EQ(parts.status(), absl::OkStatus());
  const std::vector<Tensor> outputs =
      parts.Run({Floats({2}, {100, 200}), Floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(outputs[0], Floats({2}, {94, 185}));
  EXPECT_EQ(outputs[1], Floats({2, 3}, {97, 95, 94, 194, 189, 185}));
}

TEST(OwnSegmentsTest, NodesOfOthersAreRefusedByName) {
  const auto message = [](const std::string& graph) {
    const Parts parts(
        BytesFromText("<ir_version: 8, opset_import: [\"\" : 17, \"com.example\" : 1]>\n" + graph));
    EXPECT_EQ(parts.status().code(), absl::StatusCode::kUnimplemented);
    return std::string(parts.status().message());
  };
  EXPECT_THAT(message("g (float[4] x) => (float[n] y) {\n"
                      "  p = NonZero(x)\n  q = com.example.Echo(p)\n  y = Neg(q)\n}"),
              HasSubstr("node Echo of 'q': Echo cannot be run: operator of domain 'com.example'"));
  EXPECT_THAT(message("g (float[4] x, bool c) => (float[4] y) {\n"
                      "  y = If (c) <then_branch = a () => (float[4] z) { z = Neg(x) },\n"
                      "    else_branch = b () => (float[4] z) { z = com.example.Echo(x) }>\n}"),
              HasSubstr("node If of 'y': node Echo of 'z' of its subgraph, Echo, cannot be run"));
}

// A runner that takes nothing.
class RefusingRunner : public HostRunner {
 public:
  absl::StatusOr<std::unique_ptr<HostSegment>> Load(absl::string_view /*model*/, int /*threads*/,
                                                    size_t /*outputs*/) override {
    return absl::UnimplementedError("it has none");
  }
};

// Of an operator that plait knows, for numbers that it does not take.
TEST(OwnSegmentsTest, ANodeThatNobodyRunsIsRefusedOnce) {
  RefusingRunner runner;
  for (const char* const before : {"a = Identity(x)", "a = Mul(x, x)"}) {
    Parts parts(GraphBytes(17, absl::StrCat("g (uint32[2] x) => (uint32[1] y) {\n  ", before,
                                            "\n  y = ReduceLogSum(a)\n}")),
                1, &runner);
    const auto outputs = parts.TryRun({Tensor({DataType::kUint32, {2}}, std::string(8, '\1'))});
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kUnimplemented) << outputs.status();
    EXPECT_THAT(std::string(outputs.status().message()),
                HasSubstr("nodes that plait lacks (ReduceLogSum): it has none"));
  }
}

// What it refuses plait computes, as it does without a runner.
TEST(OwnSegmentsTest, WhatARunnerRefusesRunsByItself) {
  RefusingRunner runner;
  Parts parts(GraphBytes(17, R"(g (float[4] x) => (float[n] y) {
        places = NonZero(x)
        rows = Transpose(places)
        y = GatherND(x, rows)
      })"),
              1, &runner);
  EXPECT_EQ(parts.Run({Floats({4}, {0, 1, 2, 0})})[0], Floats({2}, {1, 2}));
}

TEST(OwnSegmentsTest, ErrorsOfARunNameTheNode) {
  Parts parts(GraphBytes(17, R"(g (float[2] x, bool[3] c) => (float[n] y) {
        y = Compress(x, c)
      })"));
  const auto outputs =
      parts.TryRun({Floats({2}, {1, 2}), Tensor({DataType::kBool, {3}}, std::string(3, '\1'))});
  EXPECT_THAT(std::string(outputs.status().message()),
              HasSubstr("Compress of 'y': the condition has 3 elements, the axis 2"));
}

}  // namespace
}  // namespace plait
