// The hand-written loops of every instruction set that this processor has, against double
// precision.
#include "gpu_worker/backends/cpu/loops/loops.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "optimizer/ir/float16.h"

namespace plait {
namespace {

std::vector<const LoopTable*> TablesOfThisProcessor() {
  std::vector<const LoopTable*> tables = {&GenericLoops()};
  const std::string best = Loops().instruction_set;
  if (best == "avx2" || best == "avx512") tables.push_back(&Avx2Loops());
  if (best == "avx512") tables.push_back(&Avx512Loops());
  return tables;
}

// From -range to range, denser near 0; an odd count, so that vectors have a rest.
std::vector<float> Ramp(float range) {
  std::vector<float> values;
  for (int i = -5000; i <= 5000; ++i) {
    const float t = static_cast<float>(i) / 5000;
    values.push_back(range * t * t * t);
  }
  return values;
}

void ExpectClose(UnaryLoop loop, float range, double (*exact)(double), double error_max) {
  const std::vector<float> x = Ramp(range);
  for (const LoopTable* table : TablesOfThisProcessor()) {
    std::vector<float> y(x.size());
    table->unary[static_cast<int>(loop)](x.data(), y.data(), static_cast<int64_t>(x.size()), 1, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(x[i]);
      ASSERT_NEAR(y[i], expected, error_max * std::max(std::abs(expected), 1e-30))
          << table->instruction_set << " at " << x[i];
    }
  }
}

// 1e-6 is eight units in the last place.
TEST(CpuLoopsTest, ExponentialIsAccurate) {
  ExpectClose(
      UnaryLoop::kExp, 80, [](double x) { return std::exp(x); }, 1e-6);
}

TEST(CpuLoopsTest, ErrorFunctionIsAccurate) {
  ExpectClose(
      UnaryLoop::kErf, 6, [](double x) { return std::erf(x); }, 1e-6);
}

TEST(CpuLoopsTest, HyperbolicTangentIsAccurate) {
  ExpectClose(
      UnaryLoop::kTanh, 12, [](double x) { return std::tanh(x); }, 1e-6);
}

TEST(CpuLoopsTest, SigmoidIsAccurate) {
  ExpectClose(
      UnaryLoop::kSigmoid, 60, [](double x) { return 1 / (1 + std::exp(-x)); }, 1e-6);
}

// A unit in the last place is 1.2e-7 of the smallest numbers that have it.
TEST(CpuLoopsTest, LoopsOfExponentialsAreWithinTwoUnits) {
  ExpectClose(
      UnaryLoop::kExp, 87, [](double x) { return std::exp(x); }, 2.4e-7);
  ExpectClose(
      UnaryLoop::kSigmoid, 86, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.4e-7);
  ExpectClose(
      UnaryLoop::kSwish, 86, [](double x) { return x / (1 + std::exp(-x)); }, 2.4e-7);
}

TEST(CpuLoopsTest, SwishTakesItsFactorAndAResultInPlace) {
  for (const LoopTable* table : TablesOfThisProcessor()) {
    for (const int64_t size : {1, 15, 16, 17, 37}) {
      std::vector<float> values(size + 1, -0.75f);
      table->unary[static_cast<int>(UnaryLoop::kSwish)](values.data(), values.data(), size, 1.5f,
                                                        0);
      for (int64_t i = 0; i < size; ++i) {
        EXPECT_NEAR(values[i], -0.75 / (1 + std::exp(1.125)), 1e-7) << table->instruction_set;
      }
      EXPECT_EQ(values[size], -0.75f);
    }
  }
}

TEST(CpuLoopsTest, EluIsAccurateNearZero) {
  ExpectClose(
      UnaryLoop::kElu, 2, [](double x) { return x < 0 ? std::expm1(x) : x; }, 1e-6);
}

TEST(CpuLoopsTest, SpecialValuesStaySpecial) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float x[] = {infinity, -infinity, nan, 0.0f, 1000.0f, -1000.0f};
  for (const LoopTable* table : TablesOfThisProcessor()) {
    SCOPED_TRACE(table->instruction_set);
    float y[6];
    const auto run = [&](UnaryLoop loop) { table->unary[static_cast<int>(loop)](x, y, 6, 1, 0); };
    run(UnaryLoop::kExp);
    EXPECT_EQ(y[0], infinity);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 1);
    EXPECT_EQ(y[4], infinity);
    EXPECT_EQ(y[5], 0);
    run(UnaryLoop::kSigmoid);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 0.5f);
    EXPECT_EQ(y[4], 1);
    EXPECT_EQ(y[5], 0);
    run(UnaryLoop::kSwish);
    EXPECT_EQ(y[0], infinity);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 0);
    EXPECT_EQ(y[4], 1000);
    EXPECT_EQ(y[5], 0);
    run(UnaryLoop::kTanh);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], -1);
    EXPECT_TRUE(std::isnan(y[2]));
    run(UnaryLoop::kErf);
    EXPECT_EQ(y[4], 1);
    EXPECT_TRUE(std::isnan(y[2]));
    run(UnaryLoop::kLog);
    EXPECT_EQ(y[0], infinity);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[3], -infinity);
    run(UnaryLoop::kRelu);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_TRUE(std::isnan(table->maximum(x, 6)));
    EXPECT_TRUE(std::isnan(table->minimum(x, 6)));
  }
}

TEST(CpuLoopsTest, LogarithmIsAccurate) {
  std::vector<float> x;
  for (float value = 1e-35f; value < 1e35f; value *= 1.013f) x.push_back(value);
  // Denormals, the smallest and the largest one, and the smallest number that is none.
  for (const float value : {1e-45f, 1e-40f, 1.17549421e-38f, 1.17549435e-38f}) x.push_back(value);
  for (const LoopTable* table : TablesOfThisProcessor()) {
    std::vector<float> y(x.size());
    table->unary[static_cast<int>(UnaryLoop::kLog)](x.data(), y.data(),
                                                    static_cast<int64_t>(x.size()), 0, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = std::log(static_cast<double>(x[i]));
      ASSERT_NEAR(y[i], expected, 1e-6 * std::max(1.0, std::abs(expected))) << "at " << x[i];
    }
  }
}

TEST(CpuLoopsTest, NormalizationDoesNotCancel) {
  // A large mean beside a small spread: the naive formula loses everything.
  std::vector<float> x;
  for (int i = 0; i < 1000; ++i) x.push_back(10000.0f + static_cast<float>(i % 2));
  for (const LoopTable* table : TablesOfThisProcessor()) {
    std::vector<float> y(x.size());
    table->normalization_row({x.data(), nullptr, nullptr, y.data(), 1000, 0.0f});
    EXPECT_NEAR(y[0], -1, 1e-2) << table->instruction_set;
    EXPECT_NEAR(y[1], 1, 1e-2) << table->instruction_set;
  }
}

// Twelve chains, whose elements approach 2 by halves: one that was left out would show.
TEST(CpuLoopsTest, SumsOfSquaresAndExponentialsAreAccurate) {
  const std::vector<float> x = Ramp(3);
  const auto size = static_cast<int64_t>(x.size());
  double squares = 0;
  double exponentials = 0;
  for (const float value : x) squares += static_cast<double>(value) * value;
  for (const float value : x) exponentials += std::exp(static_cast<double>(value) - 2);
  for (const LoopTable* table : TablesOfThisProcessor()) {
    EXPECT_NEAR(table->sum_of_squares(x.data(), size), squares, 1e-5 * squares);
    EXPECT_NEAR(table->sum_of_exponentials(x.data(), size, 2), exponentials, 1e-5 * exponentials);
    EXPECT_EQ(table->sum_of_squares(x.data(), 0), 0);
  }
}

TEST(CpuLoopsTest, ChainsOfMultiplyAddsAreAllComputed) {
  for (const LoopTable* table : TablesOfThisProcessor()) {
    EXPECT_EQ(table->chain_multiply_adds(0), 72) << table->instruction_set;
    EXPECT_EQ(table->chain_multiply_adds(100), 24) << table->instruction_set;
    EXPECT_GE(table->multiply_adds_per_step, GenericLoops().multiply_adds_per_step);
  }
}

// All of them, and what lies halfway between neighbours, and a little to both sides of that.
TEST(CpuLoopsTest, HalvesAreRoundedAsTheReferenceRoundsThem) {
  using Decode = double (*)(uint16_t);
  using Encode = uint16_t (*)(double);
  const std::pair<Decode, Encode> references[] = {{Float16ToDouble, DoubleToFloat16},
                                                  {Bfloat16ToDouble, DoubleToBfloat16}};
  std::vector<uint16_t> halves(1 << 16);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  const auto size = static_cast<int64_t>(halves.size());
  for (const LoopTable* table : TablesOfThisProcessor()) {
    for (int type = 0; type < 2; ++type) {
      const auto& [decode, encode] = references[type];
      std::vector<float> widened(halves.size());
      table->halves.widen[type](halves.data(), widened.data(), size);
      for (int64_t i = 0; i < size; ++i) {
        const double expected = decode(halves[i]);
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(widened[i]) : widened[i] == expected) << i;
        ASSERT_EQ(std::signbit(widened[i]), std::signbit(expected)) << i;
      }
      for (const int beside : {-1, 0, 1}) {
        std::vector<float> x(halves.size());
        for (int64_t i = 0; i < size; ++i) {
          const float next = widened[std::min<int64_t>(i + 1, size - 1)];
          const float middle = widened[i] + (next - widened[i]) / 2;
          x[i] = beside == 0 ? middle : std::nextafter(middle, beside * HUGE_VALF);
        }
        x[0] = 65519.996f;  // still the largest float16
        x[1] = 65520.0f;
        x[2] = std::numeric_limits<float>::max();
        std::vector<uint16_t> narrowed(halves.size());
        table->halves.narrow[type](x.data(), narrowed.data(), size);
        for (int64_t i = 0; i < size; ++i) {
          const bool is_nan = std::isnan(x[i]) && std::isnan(decode(narrowed[i]));
          ASSERT_TRUE(is_nan || narrowed[i] == encode(x[i]))
              << table->instruction_set << " of " << x[i] << " is " << narrowed[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait
