#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

namespace plait {

// The lines of elementwise_ops.def, as far as the offers need them; kernels/ reads the same lines
// for the loops that they name. Pure and thread-safe.

// Which operators a tile program has decides what elementwise_group takes into a group; which of
// them follow a product decides what epilogue fuses.

// Sets of element types that an operator's inputs may have.
enum class ElementTypes : uint8_t {
  kFloat32,
  kArithmetic,  // float32, int32, int64
  kStorable,    // what a tile can be read from and written to: those, bool, and the integers of 8
                // and 16 bits and uint32, whose values int64 has
  kCastable,    // those, float16 and bfloat16, whose values float32 has
  kBool,
  kInteger,  // all integers; uint64 only for what is done bit by bit
};

// Whether the set has the type.
bool Contains(ElementTypes types, DataType dtype);

// float16 or bfloat16.
bool IsHalf(DataType dtype);

struct ElementwiseOp {
  ElementTypes types = ElementTypes::kFloat32;
  bool follows = false;         // a convolution or matrix product can apply it to what it writes
  bool has_parameters = false;  // alpha and beta are defaults of attributes
  float alpha = 0;
  float beta = 0;
};

// The operator's line; nullopt when it has none.
std::optional<ElementwiseOp> FindElementwiseOp(OpKind op);

// What a unary operator computes with. Gelu has alpha 1 where tanh stands in for erf, else 0.
struct UnaryParameters {
  float alpha = 0;
  float beta = 0;
};
UnaryParameters UnaryParametersOf(const Node& node);

}  // namespace plait
