#include "gpu_worker/simulated_gpu/cudnn/evaluate.h"

#include <cmath>

#include "gtest/gtest.h"

namespace plait::simulated_gpu {
namespace {

// 1/3 + 1/3 - 2/3, whose first sum is kept in the type.
double RestOf(cudnnDataType_t type) {
  OperationGraph graph;
  for (int i = 0; i < 4; ++i) graph.tensors.push_back({.id = i, .sizes = {1}, .strides = {1}});
  graph.tensors[1].type = type;
  graph.tensors[1].is_virtual = true;
  graph.operations = {{PointwiseOperation{.mode = CUDNN_POINTWISE_ADD}, {0, 0}, 1},
                      {PointwiseOperation{.mode = CUDNN_POINTWISE_SUB}, {1, 2}, 3}};
  std::vector<TensorValues> values(4);
  values[0] = {1.0 / 3};
  values[2] = {2.0 / 3};
  EvaluateGraph(graph, /*rounds_to_tf32=*/false, &values);
  return std::abs(values[3][0]);
}

TEST(EvaluateGraphTest, WhatIsKeptIn16BitsIsRounded) {
  EXPECT_EQ(RestOf(CUDNN_DATA_FLOAT), 0);
  EXPECT_NEAR(RestOf(CUDNN_DATA_HALF), 1.6e-4, 1e-5);
  EXPECT_NEAR(RestOf(CUDNN_DATA_BFLOAT16), 1.3e-3, 1e-4);
}

// The square of 1 + 2^-12, and then 2^-12 more: what is added is not rounded.
double SquareAndMore(bool rounds_to_tf32) {
  OperationGraph graph;
  for (int i = 0; i < 4; ++i) {
    graph.tensors.push_back({.id = i, .sizes = {1, 1, 1}, .strides = {1, 1, 1}});
  }
  graph.operations = {{MatmulOperation{}, {0, 0}, 1},
                      {PointwiseOperation{.mode = CUDNN_POINTWISE_ADD}, {1, 2}, 3}};
  std::vector<TensorValues> values(4);
  values[0] = {1 + 0x1p-12};
  values[2] = {0x1p-12};
  EvaluateGraph(graph, rounds_to_tf32, &values);
  return values[3][0];
}

TEST(EvaluateGraphTest, WhatTensorCoresMultiplyIsRounded) {
  EXPECT_EQ(SquareAndMore(false), (1 + 0x1p-12) * (1 + 0x1p-12) + 0x1p-12);
  EXPECT_EQ(SquareAndMore(true), 1 + 0x1p-12);
}

}  // namespace
}  // namespace plait::simulated_gpu
