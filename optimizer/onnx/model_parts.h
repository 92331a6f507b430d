#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "base/digest.h"
#include "base/large_buffer.h"
#include "optimizer/ir/constant.h"
#include "optimizer/onnx/messages/messages.h"
#include "optimizer/onnx/model.h"

namespace plait {

// The inside of a Model, shared by all copies of it. Constant once import returns it; weights look
// into `proto`.
struct ModelParts {
  // What large initializers of `proto` look at; empty for a model whose bytes were copied.
  LargeBuffer bytes;
  onnx::ModelProto proto;  // functions inlined
  int opset = 0;
  std::vector<ModelValue> inputs;
  std::vector<ModelValue> outputs;
  std::vector<int> node_order;  // topological; indices into proto.graph().node

  // Initializers and results of Constant nodes that the IR can hold, by name.
  absl::flat_hash_map<std::string, ConstantRef> constants;
  // The bytes of weights; nullopt for a stripped one.
  absl::btree_map<Digest, std::optional<Tensor>> weights;
  bool weightless = false;
  std::vector<std::string> warnings;
};

}  // namespace plait
