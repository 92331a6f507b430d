#include <limits>

#include <gtest/gtest.h>

#include "tests/gpu_worker/backends/cpu/cpu_executor_fixture.h"

// Kernels that compute what the reference does to the last bit, whatever the number of threads:
// updates that meet in one place keep their order, and sums are rounded once.

namespace plait {
namespace {

class ExactKernelsTest : public testing::TestWithParam<const char*>, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 0); }
};

TEST_P(ExactKernelsTest, ComputeWhatTheReferenceDoesOnAnyNumberOfThreads) {
  const Graph graph = ParseTyped(GetParam());
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, *inputs, NoWeights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  Kernel kernel = catalog_->KernelsAt(graph, 0, false).front();
  ASSERT_NE(kernel.family, "reference");
  for (kernel.width = 1; kernel.width <= executor_->device().threads; ++kernel.width) {
    const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (int run = 0; run < 3; ++run) {
      const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(*inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      for (size_t i = 0; i < expected->size(); ++i) {
        EXPECT_EQ((*actual)[i].bytes(), (*expected)[i].bytes()) << "width " << kernel.width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, ExactKernelsTest,
                         testing::Values(
                             R"(graph {
  input %x: float32[30]
  input %i: int64[5000,1]
  input %u: float32[5000]
  %y = ScatterND(%x, %i, %u) {reduction="add"}
  output %y
})",
                             R"(graph {
  input %x: float32[5,1300]
  input %i: int64[40,1]
  input %u: float32[40,1300]
  %y = ScatterND(%x, %i, %u)
  output %y
})",
                             R"(graph {
  input %x: float16[5,7,90]
  input %i: int64[40,2]
  input %u: float16[40,90]
  %y = ScatterND(%x, %i, %u) {reduction="mul"}
  output %y
})",
                             R"(graph {
  input %x: float16[30,4]
  input %i: int64[900,4]
  input %u: float16[900,4]
  %y = ScatterElements(%x, %i, %u) {reduction="add"}
  output %y
})",
                             R"(graph {
  input %x: float32[3,500,70]
  const %one: int64[] = [1]
  %y = CumSum(%x, %one)
  output %y
})",
                             R"(graph {
  input %x: float32[30,500]
  const %one: int64[] = [1]
  %y = CumProd(%x, %one) {reverse=1}
  output %y
})",
                             R"(graph {
  input %x: float16[3,70,50]
  input %i: int64[3,41,45]
  %y = GatherElements(%x, %i) {axis=1}
  output %y
})",
                             R"(graph {
  input %x: uint8[3,70]
  input %i: int32[3,9001]
  %y = GatherElements(%x, %i) {axis=1}
  output %y
})",
                             R"(graph {
  input %x: float32[3,70,5]
  input %i: int64[3,9001,1]
  %y = GatherND(%x, %i) {batch_dims=1}
  output %y
})",
                             R"(graph {
  input %x: float32[2,3,40,51]
  const %pads: int64[8] = [0, 0, 3, 5, 0, 0, 2, 4]
  %y = Pad(%x, %pads) {mode="reflect"}
  output %y
})",
                             R"(graph {
  input %x: uint8[5,71,90]
  input %k: int64[]
  %y = Trilu(%x, %k)
  output %y
})",
                             R"(graph {
  input %x: float16[90,5,71]
  const %lengths: int64[5] = [90, 41, 0, 1, 2]
  %y = ReverseSequence(%x, %lengths)
  output %y
})",
                             R"(graph {
  input %x: int16[9,71,5,90]
  const %axes: int64[2] = [1, 3]
  %y = ReduceProd(%x, %axes)
  output %y
})",
                             R"(graph {
  input %x: uint64[9,71,90]
  const %axes: int64[2] = [0, 1]
  %y = ReduceMax(%x, %axes)
  output %y
})"));

// Nothing is read or written before all indices are known to be right.
class IndicesTest : public testing::TestWithParam<const char*>, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 2); }
};

TEST_P(IndicesTest, AreRefusedOutsideOfTheirAxis) {
  const Graph graph = ParseTyped(GetParam());
  const Kernel kernel = catalog_->KernelsAt(graph, 0, false).front();
  ASSERT_NE(kernel.family, "reference");
  const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const TensorType type = (*inputs)[1].type();
  const auto run = [&](int64_t wrong) {
    std::vector<int64_t> indices(static_cast<size_t>(type.elements()), 0);
    indices.back() = wrong;
    std::vector<Tensor> changed = *inputs;
    changed[1] = Tensor::FromInt64s(type, indices);
    return (*executable)->Run(changed).status();
  };
  const bool is_short = type.dtype == DataType::kInt32;
  const int64_t lowest =
      is_short ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  const int64_t highest =
      is_short ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  for (const int64_t index : {int64_t{-4}, int64_t{3}}) EXPECT_TRUE(run(index).ok()) << index;
  for (const int64_t index : {int64_t{-5}, int64_t{4}, lowest, highest}) {
    EXPECT_EQ(run(index).code(), absl::StatusCode::kInvalidArgument) << index;
    EXPECT_NE(run(index).message().find("outside an axis of 4"), std::string::npos) << index;
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, IndicesTest,
                         testing::Values(
                             R"(graph {
  input %x: float32[4,5]
  input %i: int64[3,2]
  %y = Gather(%x, %i)
  output %y
})",
                             R"(graph {
  input %x: float32[2,4]
  input %i: int32[2,9000]
  %y = GatherElements(%x, %i) {axis=1}
  output %y
})",
                             R"(graph {
  input %x: float32[3,4]
  input %i: int64[9000,2]
  %y = GatherND(%x, %i)
  output %y
})",
                             R"(graph {
  input %x: float32[4,5]
  input %i: int64[2,5]
  input %u: float32[2,5]
  %y = ScatterElements(%x, %i, %u)
  output %y
})",
                             R"(graph {
  input %x: float32[3,4]
  input %i: int64[2,2]
  input %u: float32[2]
  %y = ScatterND(%x, %i, %u)
  output %y
})"));

TEST_F(CpuExecutorTest, RefusesALengthThatIsOutOfRange) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[3,2]
  input %l: int64[2]
  %y = ReverseSequence(%x, %l)
  output %y
})");
  const Kernel kernel = catalog_->KernelsAt(graph, 0, false).front();
  ASSERT_EQ(kernel.family, "reverse_sequence");
  const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  const Tensor x = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](int64_t length) {
    return (*executable)->Run({x, Tensor::Int64s({0, length})}).status();
  };
  for (const int64_t length : {0, 3}) EXPECT_TRUE(run(length).ok()) << length;
  for (const int64_t length : {-1, 4}) {
    EXPECT_EQ(run(length).code(), absl::StatusCode::kInvalidArgument) << length;
  }
}

}  // namespace
}  // namespace plait
