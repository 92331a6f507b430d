#include <functional>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph.h"

// How a builder's arrays become a graph, in four steps: equal constants are merged, nodes that no
// output depends on are left out, the others are sorted, and tensors are numbered as the sorted
// nodes meet them. The cost is that of one walk over nodes and edges, times a logarithm for the
// sort: a search does it for every candidate that it accepts.
namespace plait {
namespace {

constexpr char kGeneratedPrefix = 't';

// The number in "t<number>"; nullopt for any other name.
std::optional<int64_t> GeneratedNumber(absl::string_view name) {
  int64_t number = 0;
  if (name.size() < 2 || name[0] != kGeneratedPrefix) return std::nullopt;
  if (!absl::SimpleAtoi(name.substr(1), &number)) return std::nullopt;
  return number;
}

// Names the tensors that have none. Only names of the generated form can collide, so the others are
// not even hashed: rewrites are applied by the million.
void GenerateNames(absl::Span<TensorInfo> tensors) {
  absl::flat_hash_set<int64_t> taken;
  bool all_named = true;
  for (const TensorInfo& tensor : tensors) {
    all_named = all_named && tensor.name != nullptr;
    if (tensor.name == nullptr) continue;
    if (const auto number = GeneratedNumber(*tensor.name)) taken.insert(*number);
  }
  if (all_named) return;
  int64_t next = 0;
  for (TensorInfo& tensor : tensors) {
    if (tensor.name != nullptr) continue;
    while (taken.contains(next)) ++next;
    tensor.name = std::make_shared<const std::string>(
        absl::StrCat(absl::string_view(&kGeneratedPrefix, 1), next++));
  }
}

// How an error calls a node: by its name, else by its first output's.
std::string Describe(const Node& node, absl::Span<const TensorInfo> tensors) {
  if (node.name != nullptr && !node.name->empty()) return *node.name;
  for (TensorId output : node.outputs) {
    if (output != kNoTensor && tensors[output].name != nullptr) {
      return absl::StrCat(OpKindName(node.op), " of %", *tensors[output].name);
    }
  }
  return std::string(OpKindName(node.op).data(), OpKindName(node.op).size());
}

}  // namespace

NameRef GraphBuilder::UniqueName(absl::string_view name) {
  if (name.empty()) return nullptr;
  std::string unique(name);
  // A suffix may be taken as well: "a", "a_1" and again "a" give "a_2".
  if (names_.contains(unique)) {
    int& suffix = suffixes_[unique];
    do {
      unique = absl::StrCat(name, "_", ++suffix);
    } while (names_.contains(unique));
  }
  // AddTensor is next and takes this id.
  names_.emplace(unique, static_cast<TensorId>(tensors_.size()));
  return std::make_shared<const std::string>(std::move(unique));
}

TensorId GraphBuilder::AddTensor(TensorInfo tensor) {
  tensors_.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors_.size()) - 1;
}

TensorId GraphBuilder::AddInput(TensorType type, absl::string_view name) {
  const TensorId id =
      AddTensor({.type = std::move(type), .constant = nullptr, .name = UniqueName(name)});
  inputs_.push_back(id);
  return id;
}

TensorId GraphBuilder::AddConstant(ConstantRef constant, absl::string_view name) {
  PLAIT_CHECK(constant != nullptr);
  TensorType type = constant->type();
  return AddTensor(
      {.type = std::move(type), .constant = std::move(constant), .name = UniqueName(name)});
}

std::vector<TensorId> GraphBuilder::AddNode(Node node, absl::Span<const TensorType> output_types,
                                            absl::Span<const std::string> output_names,
                                            absl::Span<const bool> omitted) {
  for (TensorId input : node.inputs) {
    PLAIT_CHECK(input >= kNoTensor && input < static_cast<TensorId>(tensors_.size()));
  }
  if (node.attributes == nullptr) node.attributes = NoAttributes();
  const NodeId id = static_cast<NodeId>(nodes_.size());
  node.outputs.clear();
  for (size_t i = 0; i < output_types.size(); ++i) {
    if (i < omitted.size() && omitted[i]) {
      node.outputs.push_back(kNoTensor);
      continue;
    }
    absl::string_view name;
    if (i < output_names.size()) name = output_names[i];
    node.outputs.push_back(AddTensor(
        {.type = output_types[i], .producer = id, .constant = nullptr, .name = UniqueName(name)}));
  }
  std::vector<TensorId> outputs(node.outputs.begin(), node.outputs.end());
  nodes_.push_back(std::move(node));
  return outputs;
}

void GraphBuilder::AddOutput(TensorId tensor) {
  PLAIT_CHECK(tensor >= 0 && tensor < static_cast<TensorId>(tensors_.size()));
  outputs_.push_back(tensor);
}

void GraphBuilder::Rename(TensorId tensor, absl::string_view name) {
  PLAIT_CHECK(tensor >= 0 && tensor < static_cast<TensorId>(tensors_.size()) && !name.empty());
  std::string wanted(name);
  if (tensors_[tensor].name != nullptr) names_.erase(*tensors_[tensor].name);
  const auto [holder, added] = names_.try_emplace(wanted, tensor);
  if (!added) {
    tensors_[holder->second].name = nullptr;
    holder->second = tensor;
  }
  tensors_[tensor].name = std::make_shared<const std::string>(std::move(wanted));
}

// By fingerprint and not by value: weights are not at hand. An output keeps its own tensor, because
// its name is part of the model's interface.
void GraphBuilder::MergeConstants() {
  std::vector<bool> is_output(tensors_.size());
  for (TensorId output : outputs_) is_output[output] = true;
  absl::flat_hash_map<Fingerprint, TensorId> first;
  std::vector<TensorId> merged(tensors_.size());
  for (TensorId id = 0; id < static_cast<TensorId>(tensors_.size()); ++id) {
    merged[id] = id;
    if (tensors_[id].constant == nullptr) continue;
    const TensorId kept = first.try_emplace(tensors_[id].constant->fingerprint(), id).first->second;
    if (!is_output[id]) merged[id] = kept;
  }
  for (Node& node : nodes_) {
    for (TensorId& input : node.inputs) {
      if (input != kNoTensor) input = merged[input];
    }
  }
}

// With a stack of its own: a chain of nodes is as long as a model makes it.
std::vector<bool> GraphBuilder::LiveNodes() const {
  std::vector<bool> live(nodes_.size());
  std::vector<NodeId> pending;
  const auto visit = [&](TensorId tensor) {
    const NodeId producer = tensor == kNoTensor ? kNoNode : tensors_[tensor].producer;
    if (producer == kNoNode || live[producer]) return;
    live[producer] = true;
    pending.push_back(producer);
  };
  for (TensorId output : outputs_) visit(output);
  while (!pending.empty()) {
    const Node& node = nodes_[pending.back()];
    pending.pop_back();
    for (TensorId input : node.inputs) visit(input);
  }
  return live;
}

// Kahn's algorithm (Communications of the ACM, 1962). Among ready nodes the one that was added
// first comes first, so that a sorted graph keeps its order and a rewrite moves no more than it
// must. For nodes added as 0 = Relu(2), 1 = Neg(x), 2 = Exp(1): only 1 is ready, then 2, then 0.
absl::StatusOr<std::vector<NodeId>> GraphBuilder::SortedNodes() const {
  const std::vector<bool> live = LiveNodes();
  std::vector<int> missing(nodes_.size(), 0);
  std::vector<absl::InlinedVector<NodeId, 4>> readers(nodes_.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<NodeId>> ready;
  size_t live_count = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    if (!live[id]) continue;
    ++live_count;
    for (TensorId input : nodes_[id].inputs) {
      const NodeId producer = input == kNoTensor ? kNoNode : tensors_[input].producer;
      if (producer == kNoNode) continue;
      ++missing[id];
      readers[producer].push_back(id);
    }
    if (missing[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  order.reserve(live_count);
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (NodeId reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  // What never became ready waits for itself.
  if (order.size() < live_count) {
    NodeId stuck = 0;
    while (missing[stuck] == 0) ++stuck;
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(nodes_[stuck], tensors_), ": depends on itself; remove the cycle"));
  }
  return order;
}

void GraphBuilder::Renumber(absl::Span<const NodeId> order, Graph::Data* data) {
  std::vector<TensorId> renumbered(tensors_.size(), kNoTensor);
  const auto keep = [&](TensorId old, NodeId producer) {
    if (old == kNoTensor) return kNoTensor;
    if (renumbered[old] == kNoTensor) {
      renumbered[old] = static_cast<TensorId>(data->tensors.size());
      data->tensors.push_back(std::move(tensors_[old]));
      data->tensors.back().producer = producer;
    }
    return renumbered[old];
  };
  data->tensors.reserve(tensors_.size());
  data->nodes.reserve(order.size());
  for (TensorId input : inputs_) data->inputs.push_back(keep(input, kNoNode));
  for (NodeId old : order) {
    const NodeId id = static_cast<NodeId>(data->nodes.size());
    Node& node = data->nodes.emplace_back(std::move(nodes_[old]));
    for (TensorId& input : node.inputs) input = keep(input, kNoNode);
    for (TensorId& output : node.outputs) output = keep(output, id);
  }
  for (TensorId output : outputs_) data->outputs.push_back(keep(output, kNoNode));
}

absl::StatusOr<Graph> GraphBuilder::Finish() && {
  MergeConstants();
  PLAIT_ASSIGN_OR_RETURN(const std::vector<NodeId> order, SortedNodes());
  auto data = std::make_shared<Graph::Data>();
  Renumber(order, data.get());
  GenerateNames(absl::MakeSpan(data->tensors));
  // Nodes come in ascending order, so that readers do too, and a double reader is the last one.
  data->users.resize(data->tensors.size());
  for (NodeId id = 0; id < static_cast<NodeId>(data->nodes.size()); ++id) {
    for (TensorId input : data->nodes[id].inputs) {
      if (input == kNoTensor) continue;
      auto& users = data->users[input];
      if (users.empty() || users.back() != id) users.push_back(id);
    }
  }
  data->is_output.resize(data->tensors.size());
  for (TensorId output : data->outputs) data->is_output[output] = true;
  data->fingerprint = Graph::FingerprintOf(*data);
  return Graph(std::move(data));
}

}  // namespace plait
