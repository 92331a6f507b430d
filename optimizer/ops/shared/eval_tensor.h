#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/tensor.h"

// The numbers that operators are evaluated with. They are wider than any tensor's elements, so that
// the reference is exact where hardware rounds.
namespace plait {

// An element of GF(p), p = 2^61 - 1 (a Mersenne prime, so reduction is two additions).
// Two multilinear programs that agree on random elements are equal with overwhelming probability
// (PET, OSDI 2021, Theorem 2), which is how polynomial rules are proved. Two polynomials of degree
// d that differ agree on random elements with a probability of at most d / p (Schwartz and Zippel):
// for d = 10 that is less than 1 in 10^17.
class FieldElement {
 public:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

  constexpr FieldElement() = default;
  // Any integer stands for its rest modulo p.
  explicit constexpr FieldElement(uint64_t value) : value_(value % kPrime) {}
  // Negative integers become their representatives.
  static constexpr FieldElement FromInt(int64_t value) {
    const int64_t rest = value % static_cast<int64_t>(kPrime);
    return FieldElement(
        static_cast<uint64_t>(rest < 0 ? rest + static_cast<int64_t>(kPrime) : rest));
  }

  // The representative in [0, p).
  constexpr uint64_t value() const { return value_; }

  // Sums are below 2^62 and differences are taken of value + p, so that neither overflows. A
  // product has 122 bits; its upper and lower 61 are added, because 2^61 = 1 in this field.
  friend constexpr FieldElement operator+(FieldElement a, FieldElement b) {
    return FieldElement(a.value_ + b.value_);
  }
  friend constexpr FieldElement operator-(FieldElement a, FieldElement b) {
    return FieldElement(a.value_ + kPrime - b.value_);
  }
  friend constexpr FieldElement operator*(FieldElement a, FieldElement b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a.value_) * b.value_;
    return FieldElement(static_cast<uint64_t>(product & kPrime) +
                        static_cast<uint64_t>(product >> 61));
  }
  friend constexpr bool operator==(FieldElement a, FieldElement b) = default;

  // The multiplicative inverse; 0 for 0, so that quotients of random elements are total. Costs
  // about 120 multiplications.
  FieldElement Inverse() const;

 private:
  uint64_t value_ = 0;
};

// A tensor under reference evaluation, row-major. Float tensors hold doubles (or field elements
// when a rule is proved), integer and bool tensors hold int64 (unsigned 64-bit wraps).
struct EvalTensor {
  TensorType type;
  std::variant<std::vector<double>, std::vector<int64_t>, std::vector<FieldElement>> values;
};

// The tensor's values as they are, in doubles or int64. REQUIRES: a float, integer or bool tensor.
EvalTensor ToEvalTensor(const Tensor& tensor);

// The field element that stands for a float: the integer itself for small integers, otherwise a
// fixed arbitrary element per value. So 2 * 3 = 6 holds in the field as well, and 0.1 is a symbol
// of which nothing is known but that it is equal to itself.
FieldElement ToFieldElement(double value);

// Integer tensors stay, floats become field elements by ToFieldElement.
EvalTensor ToFieldTensor(const Tensor& tensor);

// A tensor of zeros, as evaluation finds its outputs. Float tensors hold field elements when
// `in_field`, else doubles.
EvalTensor ZeroEvalTensor(const TensorType& type, bool in_field);

// Makes every value one that the declared dtype can hold: floats round to nearest even, integers
// wrap. Field elements stay.
void RoundToType(EvalTensor* tensor);

// The inverse of ToEvalTensor. Rounds to the declared dtype, as RoundToType. REQUIRES: no field
// elements.
Tensor FromEvalTensor(const EvalTensor& tensor);

}  // namespace plait
