#include "gpu_worker/backends/cuda/problem/host_operands.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/packed_weights.h"

namespace plait::cuda {
namespace {

// Conversions by hand, since the host compiler need not have a half type. To nearest, ties to even:
// below, 0xfff + odd carries into the kept bits exactly where rounding up is right.
uint16_t ToHalfBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  // 65520, halfway between the largest half and the next power of two: from here on infinite.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Adding 0.5 lines the last bit of a subnormal half up with the last bit of the float.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

float FromHalfBits(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  // 112 = 127 - 15, the difference of the exponents' biases; 31 stands for infinity and NaN.
  const uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

uint16_t ToBfloatBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // Rounding a NaN could carry it into infinity; the bit that is set keeps it one.
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float FromBfloatBits(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// A number that depends on its place alone, so that threads may fill any part (splitmix64).
uint64_t Hash(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Four uniform numbers added: close to a normal distribution, and cheap.
float Normal(uint64_t hash) {
  const uint64_t sum =
      (hash & 0xffffu) + ((hash >> 16) & 0xffffu) + ((hash >> 32) & 0xffffu) + (hash >> 48);
  return (static_cast<float>(sum) - 131070.0f) / 37837.0f;  // deviation of the sum: 65536 / sqrt(3)
}

struct Distribution {
  float mean = 0;
  float deviation = 1;
  bool positive = false;  // between 0.5 and 2 instead
  ElementType type = ElementType::kFloat;
};

float Number(uint64_t hash, const Distribution& distribution) {
  const bool positive = distribution.positive;
  switch (distribution.type) {
    case ElementType::kBool:
      return hash >> 63 != 0 ? 1.0f : 0.0f;
    case ElementType::kInt64:
    case ElementType::kInt32:
    case ElementType::kInt16:
      // So few that some are equal.
      return static_cast<float>(static_cast<int>(hash % 9) + (positive ? 1 : -4));
    case ElementType::kFloat:
    case ElementType::kFloat32:
      break;
  }
  return positive ? 0.5f + 1.5f * static_cast<float>(hash >> 40) / 16777216.0f
                  : distribution.mean + distribution.deviation * Normal(hash);
}

std::vector<float> Draw(int64_t count, uint64_t seed, Distribution distribution,
                        Precision precision) {
  std::vector<float> values(count);
  const auto fill = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t hash = Hash(seed + static_cast<uint64_t>(i));
      const float number = Number(hash, distribution);
      const bool is_wide = distribution.type == ElementType::kFloat32;
      values[i] = is_wide ? number : RoundToStorage(number, precision);
    }
  };
  // Below half a million numbers a thread costs more than it saves.
  constexpr int64_t kPerThreadMin = 1 << 19;
  const int64_t threads = std::clamp<int64_t>(
      std::min<int64_t>(count / kPerThreadMin, std::thread::hardware_concurrency()), 1, 32);
  std::vector<std::thread> workers;
  for (int64_t t = 1; t < threads; ++t) {
    workers.emplace_back(fill, count * t / threads, count * (t + 1) / threads);
  }
  fill(0, count / threads);
  for (std::thread& worker : workers) worker.join();
  return values;
}

// How many products are added to one output of the weights.
int64_t FanIn(const Problem& problem) {
  if (const auto* p = std::get_if<ConvProblem>(&problem)) return p->c / p->groups * p->r * p->s;
  if (const auto* p = std::get_if<SeparableConvProblem>(&problem)) {
    return p->depthwise.r * p->depthwise.s;
  }
  if (const auto* p = std::get_if<GemmProblem>(&problem)) return p->k;
  if (const auto* p = std::get_if<RecurrentLayerProblem>(&problem)) return p->input;
  return 1;
}

// The same of the second weights.
int64_t SecondFanIn(const Problem& problem) {
  if (const auto* p = std::get_if<SeparableConvProblem>(&problem)) return p->pointwise.c;
  if (const auto* p = std::get_if<RecurrentLayerProblem>(&problem)) return p->hidden;
  return 1;
}

// 0 for every other problem: only a gather has operands that are not numbers but places.
int64_t GatheredRows(const Problem& problem) {
  const auto* p = std::get_if<MovementProblem>(&problem);
  return p != nullptr && p->kind == MovementProblem::Kind::kGather ? p->inputs[0][p->axis] : 0;
}

bool NeedsPositiveInputs(const Problem& problem) {
  if (const auto* p = std::get_if<RecurrenceProblem>(&problem)) {
    const Result<std::vector<Expression>> steps = StepsOf(*p);
    return steps.ok() && std::any_of(steps.value().begin(), steps.value().end(),
                                     [](const auto& step) { return step.needs_positive_inputs(); });
  }
  const auto* p = std::get_if<ElementwiseProblem>(&problem);
  if (p == nullptr) return false;
  const Result<Expression> expression = Expression::Of(*p);
  return expression.ok() && expression.value().needs_positive_inputs();
}

}  // namespace

HostOperands MakeHostOperands(const Problem& problem, const ProblemShape& shape,
                              Precision precision, uint64_t seed) {
  HostOperands operands;
  // Each operand has a stream of its own, so that adding a bias to a problem leaves its input as it
  // was.
  uint64_t stream = Hash(seed);
  const auto draw = [&](int64_t count, Distribution distribution) {
    stream = Hash(stream);
    return Draw(count, stream, distribution, precision);
  };
  const int64_t rows = GatheredRows(problem);
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    if (rows > 0 && i == 1) {
      operands.inputs.emplace_back();
      for (int64_t k = 0; k < shape.inputs[i]; ++k) {
        // Half of them count from the end.
        operands.indices.push_back(static_cast<int64_t>(Hash(stream + k) % (2 * rows)) - rows);
      }
    } else {
      operands.inputs.push_back(draw(
          shape.inputs[i],
          {.mean = 0, .positive = NeedsPositiveInputs(problem), .type = InputType(problem, i)}));
    }
  }
  // A scale around 1, as trained normalizations have it.
  const bool normalizes = std::holds_alternative<RowsProblem>(problem) ||
                          std::holds_alternative<ScaleShiftProblem>(problem);
  // A sum of n products of unit deviation has deviation sqrt(n); dividing the weights by it keeps
  // outputs near 1, far from the limits of fp16.
  const float weight_deviation = 1.0f / std::sqrt(static_cast<float>(FanIn(problem)));
  operands.weights = draw(shape.weights, {.mean = normalizes ? 1.0f : 0.0f,
                                          .deviation = normalizes ? 0.2f : weight_deviation});
  if (HasPackedWeights(problem)) operands.packed_weights = PackWeights(problem, operands.weights);
  if (shape.second_weights > 0) {
    const float deviation = 1.0f / std::sqrt(static_cast<float>(SecondFanIn(problem)));
    operands.second_weights = draw(shape.second_weights, {.deviation = deviation});
  }
  operands.bias = draw(shape.bias, {.deviation = 0.5f});
  operands.second_bias = draw(shape.second_bias, {.deviation = 0.5f});
  operands.residual = draw(shape.residual, {});
  return operands;
}

float RoundToStorage(float value, Precision precision) {
  if (precision == Precision::kFp16) return FromHalfBits(ToHalfBits(value));
  if (precision == Precision::kBf16) return FromBfloatBits(ToBfloatBits(value));
  return value;
}

std::vector<std::byte> ToStorage(const std::vector<float>& values, Precision precision) {
  std::vector<std::byte> bytes(values.size() * ElementBytes(precision));
  if (ElementBytes(precision) == 4) {
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits =
        precision == Precision::kFp16 ? ToHalfBits(values[i]) : ToBfloatBits(values[i]);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  return bytes;
}

std::vector<float> FromStorage(const std::byte* bytes, size_t count, Precision precision) {
  std::vector<float> values(count);
  if (ElementBytes(precision) == 4) {
    if (count > 0) std::memcpy(values.data(), bytes, 4 * count);
    return values;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes + 2 * i, 2);
    values[i] = precision == Precision::kFp16 ? FromHalfBits(bits) : FromBfloatBits(bits);
  }
  return values;
}

namespace {

template <typename Stored>
std::vector<std::byte> Stores(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto stored = static_cast<Stored>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

template <typename Stored>
std::vector<float> Loads(const std::byte* bytes, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    Stored stored = 0;
    std::memcpy(&stored, bytes + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<float>(stored);
  }
  return values;
}

}  // namespace

std::vector<std::byte> ToStorage(const std::vector<float>& values, ElementType type,
                                 Precision precision) {
  switch (type) {
    case ElementType::kInt64:
      return Stores<int64_t>(values);
    case ElementType::kInt32:
      return Stores<int32_t>(values);
    case ElementType::kInt16:
      return Stores<int16_t>(values);
    case ElementType::kBool:
      return Stores<uint8_t>(values);
    case ElementType::kFloat32:
      return Stores<float>(values);
    case ElementType::kFloat:
      break;
  }
  return ToStorage(values, precision);
}

std::vector<float> FromStorage(const std::byte* bytes, size_t count, ElementType type,
                               Precision precision) {
  switch (type) {
    case ElementType::kInt64:
      return Loads<int64_t>(bytes, count);
    case ElementType::kInt32:
      return Loads<int32_t>(bytes, count);
    case ElementType::kInt16:
      return Loads<int16_t>(bytes, count);
    case ElementType::kBool:
      return Loads<uint8_t>(bytes, count);
    case ElementType::kFloat32:
      return Loads<float>(bytes, count);
    case ElementType::kFloat:
      break;
  }
  return FromStorage(bytes, count, precision);
}

}  // namespace plait::cuda
