#include "optimizer/ir/graph.h"

#include <algorithm>

namespace plait {

Graph::Graph() {
  // One for all: an empty graph is made wherever a result is declared before it is known.
  static const std::shared_ptr<const Data> empty = [] {
    auto data = std::make_shared<Data>();
    data->fingerprint = FingerprintOf(*data);
    return data;
  }();
  data_ = empty;
}

bool Graph::has_single_use(TensorId id) const {
  if (is_output(id) || users(id).size() != 1) return false;
  // Add(x, x) is one reader that reads twice.
  const auto& inputs = node(users(id)[0]).inputs;
  return std::count(inputs.begin(), inputs.end(), id) == 1;
}

NodeId Graph::producer(NodeId node_id, int index) const {
  const auto& inputs = node(node_id).inputs;
  if (index >= static_cast<int>(inputs.size()) || inputs[index] == kNoTensor) return kNoNode;
  return tensor(inputs[index]).producer;
}

const Constant* Graph::constant(NodeId node_id, int index) const {
  const auto& inputs = node(node_id).inputs;
  if (index >= static_cast<int>(inputs.size()) || inputs[index] == kNoTensor) return nullptr;
  return tensor(inputs[index]).constant.get();
}

const Tensor* Graph::inline_constant(NodeId node_id, int index) const {
  const Constant* found = constant(node_id, index);
  return found != nullptr ? found->inline_value() : nullptr;
}

}  // namespace plait
