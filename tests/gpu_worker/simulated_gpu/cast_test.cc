#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "optimizer/ir/float16.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

namespace plait::simulated_gpu {
namespace {

using cuda::ElementType;
using cuda::Precision;

// Casts a row of numbers by the kernel that plans do it with, on the simulated device.
std::vector<float> Cast(const std::vector<float>& values, ElementType from, ElementType to,
                        Precision precision) {
  const cuda::MovementProblem problem = {.kind = cuda::MovementProblem::Kind::kTranspose,
                                         .inputs = {{static_cast<int64_t>(values.size())}},
                                         .permutation = {0},
                                         .type = from,
                                         .cast_to = to};
  std::vector<Work> works;
  for (const cuda::GeneratedFamily* family : cuda::GeneratedFamilies()) {
    for (Work& work : WorkOf(*family, precision, {{"cast", problem}})) {
      works.push_back(std::move(work));
    }
  }
  EXPECT_EQ(works.size(), 1u);
  const auto module = CompileWork(works, "compute_90");
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return {};
  const auto program = DecodeKernel(*module, EntryOf(works[0]));
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  Trial trial;
  trial.operands.inputs = {values};
  const auto run = RunWork(*program, works[0], trial);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? run->outputs[0] : std::vector<float>();
}

// In software that shares nothing with the device's.
float Rounded(float value, Precision precision) {
  return static_cast<float>(precision == Precision::kFp16
                                ? Float16ToDouble(DoubleToFloat16(value))
                                : Bfloat16ToDouble(DoubleToBfloat16(value)));
}

float OfBits(uint32_t bits, Precision precision) {
  const auto low = static_cast<uint16_t>(bits);
  return static_cast<float>(precision == Precision::kFp16 ? Float16ToDouble(low)
                                                          : Bfloat16ToDouble(low));
}

// Zeros have their signs, and what is no number stays none.
void ExpectSame(float actual, float expected, float of) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << of;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << of;
  }
}

class CastTest : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  }
};

// All numbers of 16 bits, what lies half way between two of them, and the floats beside that:
// subnormal ones, and those that become infinite, are among them.
TEST_P(CastTest, RoundsToTheNearestAndTiesToEven) {
  const Precision precision = GetParam();
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = OfBits(bits, precision);
    const float next = OfBits(bits + 1, precision);
    const auto half = static_cast<float>((double{value} + double{next}) / 2);
    values.push_back(value);
    for (const float to : {-INFINITY, INFINITY}) values.push_back(std::nextafter(half, to));
    values.push_back(half);
  }
  for (const float beyond : {65519.996f, 65520.0f, 3.3961775e38f, 3.4028235e38f, 1e-45f, 1e-40f}) {
    values.insert(values.end(), {beyond, -beyond});
  }
  const std::vector<float> cast =
      Cast(values, ElementType::kFloat32, ElementType::kFloat, precision);
  ASSERT_EQ(cast.size(), values.size());
  for (size_t i = 0; i < values.size() && !HasFailure(); ++i) {
    ExpectSame(cast[i], Rounded(values[i], precision), values[i]);
  }
}

TEST_P(CastTest, WidensEveryNumberExactly) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(OfBits(bits, GetParam()));
  const std::vector<float> cast =
      Cast(values, ElementType::kFloat, ElementType::kFloat32, GetParam());
  ASSERT_EQ(cast.size(), values.size());
  for (size_t i = 0; i < values.size() && !HasFailure(); ++i) {
    ExpectSame(cast[i], values[i], values[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, CastTest, testing::Values(Precision::kFp16, Precision::kBf16),
                         [](const testing::TestParamInfo<Precision>& info) {
                           return std::string(cuda::PrecisionName(info.param));
                         });

}  // namespace
}  // namespace plait::simulated_gpu
