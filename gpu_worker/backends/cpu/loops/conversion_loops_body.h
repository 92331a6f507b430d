// A part of loops_body.h, which includes it and says how such loops are written.

namespace plait {
namespace {

// The largest floats that are integers of 32 and of 64 bits.
constexpr float kLargestOfInt32 = 2147483520.0f;
constexpr float kLargestOfInt64 = 9223371487098961920.0f;

// The comparisons let a NaN through, which is taken out behind them.
template <typename Integer>
void ToIntegersLoop(const float* x, int64_t size, Integer lowest, Integer highest, int64_t* y) {
  constexpr bool kIsLong = sizeof(Integer) == 8;
  constexpr float kBound = kIsLong ? 0x1p63f : 0x1p31f;
  constexpr float kLargest = kIsLong ? kLargestOfInt64 : kLargestOfInt32;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    float bounded = AtMost(AtLeast(x[i], -kBound), kLargest);
    bounded = x[i] == x[i] ? bounded : 0.0f;
    Integer integer = static_cast<Integer>(bounded);
    integer = x[i] >= kBound ? highest : integer;
    integer = integer < lowest ? lowest : integer;
    y[i] = integer > highest ? highest : integer;
  }
}

void ToFloatsLoop(const int64_t* x, int64_t size, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = static_cast<float>(x[i]);
}

void ToTruthsLoop(const float* x, int64_t size, int64_t* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = x[i] != 0 ? 1 : 0;
}

void AreNanLoop(const float* x, int64_t size, int64_t* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = x[i] != x[i] ? 1 : 0;
}

void AreEitherLoop(const float* x, int64_t size, float a, float b, int64_t* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = (x[i] == a) | (x[i] == b) ? 1 : 0;
}

template <typename Integer>
void WidenLoop(const std::byte* x, int64_t size, int64_t* y) {
  const Integer* const integers = reinterpret_cast<const Integer*>(x);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = integers[i];
}

template <typename Integer>
void NarrowLoop(const int64_t* x, int64_t size, std::byte* y) {
  Integer* const integers = reinterpret_cast<Integer*>(y);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) integers[i] = static_cast<Integer>(x[i]);
}

constexpr ConversionLoops kConversionLoops = {
    .to_integers = ToIntegersLoop<int32_t>,
    .to_long_integers = ToIntegersLoop<int64_t>,
    .to_floats = ToFloatsLoop,
    .to_truths = ToTruthsLoop,
    .are_nan = AreNanLoop,
    .are_either = AreEitherLoop,
    .widen = {{WidenLoop<uint8_t>, WidenLoop<uint16_t>, WidenLoop<uint32_t>},
              {WidenLoop<int8_t>, WidenLoop<int16_t>, WidenLoop<int32_t>}},
    .narrow = {NarrowLoop<uint8_t>, NarrowLoop<uint16_t>, NarrowLoop<uint32_t>},
};

}  // namespace
}  // namespace plait
