#pragma once

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/model.h"

namespace plait {

// The shapes that a user gives to inputs, by input name.
using Bindings = absl::btree_map<std::string, Shape>;

// What inputs hold, by input name.
using InputValues = absl::btree_map<std::string, Tensor>;

// A node that stays as it is: nothing moves across it, and no backend runs it.
struct OpaqueNode {
  std::string name;
  std::string op_type;
  std::string domain;
  std::string reason;  // a phrase such as "unknown operator"
};

// A model with static shapes, as a graph.
struct Bound {
  Graph graph;
  std::vector<OpaqueNode> opaque_nodes;  // in the graph's order, dead ones included
  std::vector<std::string> warnings;     // the model's, then those of binding
};

// Makes a graph of a model: the baseline of every measurement, so nothing is optimized. Each ONNX
// node becomes one node in the newest opset's semantics, except for what is known before the model
// runs: Shape and Size of a static shape, and nodes that read constants only. Their results are
// constants: small ones are computed here, so that the arithmetic of exported shapes vanishes,
// others become expressions over weights. And except for operators of quantized models that are
// written in floats, which are read as what they stand for (integer_form.h), and of what a model
// computes in 16 bits, which is computed in float32 (float32_form.h): that is what the model
// computes, in the baseline as in everything that is compared with it.
//
// A symbolic dimension gets its size from the shape given to an input that has it, and holds for
// all other inputs with the same symbol. Operators that plait does not understand, control flow,
// and readers of their results whose types nothing declares become opaque nodes.
//
// Errors: InvalidArgument naming the input and dimension that no binding gives, a binding for no
// input or against a static dimension, and naming the node that no runtime could execute.
absl::StatusOr<Bound> Bind(const Model& model, const Bindings& shapes);

// The same for inputs whose values are known as well: those are constants, and no inputs of the
// graph. REQUIRES: `shapes` has theirs, and `values` are of the inputs' types.
absl::StatusOr<Bound> Bind(const Model& model, const Bindings& shapes, const InputValues& values);

}  // namespace plait
