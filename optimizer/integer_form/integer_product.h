#pragma once

#include <optional>

#include "optimizer/integer_form/dequantized.h"

namespace plait {

// A product or convolution of floats whose result a QuantizeLinear makes integers of, with one
// scale for all. Between the two may be a Relu or Clip.
struct QuantizedProduct {
  NodeId product = kNoNode;
  NodeId bound = kNoNode;  // the Relu or Clip; kNoNode too where the integers' range implies it
  NodeId quantize = kNoNode;
  double scale = 1;
  DataType dtype = DataType::kUint8;
};

// The product by `op` in front of a QuantizeLinear, which alone reads it; nullopt when there is
// none.
std::optional<QuantizedProduct> ProductBefore(const Graph& graph, NodeId quantize, OpKind op);

// Whether ONNX Runtime has a kernel that makes the product's result of these integers: no other
// mixes of types do, and a file with such a node would load in no runtime but ours.
bool RunsInOnnxRuntime(const QuantizedProduct& product, const Dequantized& x, const Dequantized& w);

// Scale and zero point of the result, as inputs of the operator on integers.
TensorId ResultScaleOf(const Graph& graph, const QuantizedProduct& product);
TensorId ResultZeroPointOf(const Graph& graph, const QuantizedProduct& product,
                           RewriteBuilder* builder);

// Readers of the QuantizeLinear read `y`, the integers without the Relu or Clip, which is applied
// to them where their range does not imply it: both are monotonic, so that bounding what was
// rounded is rounding what was bounded.
Rewrites ReplaceQuantized(const Graph& graph, const QuantizedProduct& product, TensorId y,
                          RewriteBuilder* builder);

// Input 2 of the product in units of its integer sums, which are x's scale times w's, as int32 of
// shape [channels]; kNoTensor where it is omitted. A bias that is dequantized from int32 in these
// units is so exactly (up to 2^21 units, and to 24 bits beyond). One in floats is rounded to them:
// only where no unit is more than an integer of the result, so that this moves the result by half
// an integer at most.
// nullopt when the bias cannot be written so.
std::optional<TensorId> BiasOfSums(const Graph& graph, const QuantizedProduct& product,
                                   const Dequantized& x, const Dequantized& w, int64_t channels,
                                   RewriteBuilder* builder);

}  // namespace plait
