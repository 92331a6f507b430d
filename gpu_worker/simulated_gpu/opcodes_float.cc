#include <cmath>
#include <limits>

#include "gpu_worker/simulated_gpu/lanes.h"

// Arithmetic on f32 and f64. The host rounds as IEEE 754 has it, to nearest even, and keeps
// subnormals, as PTX does without .ftz. Of the approximations PTX promises an error of 1 to 2 units
// in the last place; they are computed in double here and rounded once, so that an agreement to the
// last bit with a device is not to be expected.

namespace plait::simulated_gpu {
namespace {

template <typename T>
T FloatAdd(T a, T b) {
  return a + b;
}
template <typename T>
T FloatSubtract(T a, T b) {
  return a - b;
}
template <typename T>
T Multiply(T a, T b) {
  return a * b;
}
template <typename T>
T FloatDivide(T a, T b) {
  return a / b;
}
template <typename T>
T Fma(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <typename T>
T Reciprocal(T a) {
  return T{1} / a;
}
template <typename T>
T SquareRoot(T a) {
  return std::sqrt(a);
}
template <typename T>
T FloatNegate(T a) {
  return -a;
}
template <typename T>
T FloatAbsolute(T a) {
  return std::fabs(a);
}

// The sign of the first on the value of the second.
template <typename T>
T CopySign(T a, T b) {
  return std::copysign(b, a);
}

// A NaN and a number give the number; -0 is less than +0.
template <typename T>
T FloatMinimum(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
T FloatMaximum(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}
float MinimumOrNan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : FloatMinimum(a, b);
}
float MaximumOrNan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : FloatMaximum(a, b);
}

// a * b + c rounded towards minus infinity (down) or plus infinity. The product of two floats is
// exact in double, and what the sum loses there is known exactly too (Knuth's two-sum), so that the
// nearest float is moved by one where it lies on the wrong side.
float FmaDirected(float a, float b, float c, bool down) {
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  if (!std::isfinite(sum)) return static_cast<float>(sum);
  const double c_part = sum - product;
  const double lost = (product - (sum - c_part)) + (c - c_part);
  const float nearest = static_cast<float>(sum);
  const double above = static_cast<double>(nearest) - sum;  // exact, or infinite
  if (down && (above > 0 || (above == 0 && lost < 0))) {
    return std::nextafter(nearest, -std::numeric_limits<float>::infinity());
  }
  if (!down && (above < 0 || (above == 0 && lost > 0))) {
    return std::nextafter(nearest, std::numeric_limits<float>::infinity());
  }
  return nearest;
}
float FmaDown(float a, float b, float c) { return FmaDirected(a, b, c, true); }
float FmaUp(float a, float b, float c) { return FmaDirected(a, b, c, false); }

float PowerOfTwo(float a) { return static_cast<float>(std::exp2(static_cast<double>(a))); }
float LogarithmOfTwo(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }
float ReciprocalRoot(float a) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}
float Sine(float a) { return static_cast<float>(std::sin(static_cast<double>(a))); }
float Cosine(float a) { return static_cast<float>(std::cos(static_cast<double>(a))); }
float Tangent(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }

float Flush(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }

// The function with subnormal operands and results replaced by zeros: .ftz.
template <auto F>
struct Flushed;
template <typename... Arguments, float (*F)(Arguments...)>
struct Flushed<F> {
  static float Call(Arguments... arguments) { return Flush(F(Flush(arguments)...)); }
};

// name.f32 and name.ftz.f32.
template <auto F>
void AddSingle(OpcodeTable* table, const std::string& name, InstructionClass instruction_class) {
  AddOpcode<F>(table, name + ".f32", instruction_class);
  AddOpcode<Flushed<F>::Call>(table, name + ".ftz.f32", instruction_class);
}

void AddSingles(OpcodeTable* table) {
  constexpr InstructionClass kFloat = InstructionClass::kFloat;
  for (const char* rounding : {"", ".rn"}) {
    AddSingle<FloatAdd<float>>(table, std::string("add") + rounding, kFloat);
    AddSingle<FloatSubtract<float>>(table, std::string("sub") + rounding, kFloat);
    AddSingle<Multiply<float>>(table, std::string("mul") + rounding, kFloat);
  }
  AddSingle<Fma<float>>(table, "fma.rn", kFloat);
  AddSingle<Fma<float>>(table, "mad.rn", kFloat);
  AddSingle<FmaDown>(table, "fma.rm", kFloat);
  AddSingle<FmaUp>(table, "fma.rp", kFloat);
  AddSingle<FloatMinimum<float>>(table, "min", kFloat);
  AddSingle<FloatMaximum<float>>(table, "max", kFloat);
  AddOpcode<MinimumOrNan>(table, "min.NaN.f32", kFloat);
  AddOpcode<MaximumOrNan>(table, "max.NaN.f32", kFloat);
  AddSingle<FloatNegate<float>>(table, "neg", kFloat);
  AddSingle<FloatAbsolute<float>>(table, "abs", kFloat);
  AddOpcode<CopySign<float>>(table, "copysign.f32", kFloat);
}

void AddSpecials(OpcodeTable* table) {
  constexpr InstructionClass kSpecial = InstructionClass::kSpecial;
  for (const char* rounding : {".rn", ".approx", ".full"}) {
    AddSingle<FloatDivide<float>>(table, std::string("div") + rounding, kSpecial);
  }
  for (const char* rounding : {".rn", ".approx"}) {
    AddSingle<Reciprocal<float>>(table, std::string("rcp") + rounding, kSpecial);
    AddSingle<SquareRoot<float>>(table, std::string("sqrt") + rounding, kSpecial);
  }
  AddSingle<ReciprocalRoot>(table, "rsqrt.approx", kSpecial);
  AddSingle<PowerOfTwo>(table, "ex2.approx", kSpecial);
  AddSingle<LogarithmOfTwo>(table, "lg2.approx", kSpecial);
  AddSingle<Sine>(table, "sin.approx", kSpecial);
  AddSingle<Cosine>(table, "cos.approx", kSpecial);
  AddOpcode<Tangent>(table, "tanh.approx.f32", kSpecial);
}

void AddDoubles(OpcodeTable* table) {
  constexpr InstructionClass kFloat = InstructionClass::kFloat;
  for (const char* rounding : {"", ".rn"}) {
    AddOpcode<FloatAdd<double>>(table, std::string("add") + rounding + ".f64", kFloat);
    AddOpcode<FloatSubtract<double>>(table, std::string("sub") + rounding + ".f64", kFloat);
    AddOpcode<Multiply<double>>(table, std::string("mul") + rounding + ".f64", kFloat);
  }
  AddOpcode<Fma<double>>(table, "fma.rn.f64", kFloat);
  AddOpcode<FloatMinimum<double>>(table, "min.f64", kFloat);
  AddOpcode<FloatMaximum<double>>(table, "max.f64", kFloat);
  AddOpcode<FloatNegate<double>>(table, "neg.f64", kFloat);
  AddOpcode<FloatAbsolute<double>>(table, "abs.f64", kFloat);
  AddOpcode<FloatDivide<double>>(table, "div.rn.f64", InstructionClass::kSpecial);
  AddOpcode<Reciprocal<double>>(table, "rcp.rn.f64", InstructionClass::kSpecial);
  AddOpcode<SquareRoot<double>>(table, "sqrt.rn.f64", InstructionClass::kSpecial);
}

}  // namespace

void AddFloatOpcodes(OpcodeTable* table) {
  AddSingles(table);
  AddSpecials(table);
  AddDoubles(table);
}

}  // namespace plait::simulated_gpu
