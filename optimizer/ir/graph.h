#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/attributes.h"
#include "optimizer/ir/constant.h"
#include "optimizer/ir/fingerprint.h"
#include "optimizer/ir/graph_reads.h"
#include "optimizer/ir/op_kind.h"
#include "optimizer/ir/tensor_type.h"

// The IR: a Graph is a value that is built once and never changed. Rules describe changes as a
// Rewrite (rewrite.h), the text form is in text.h, and what operators mean is in optimizer/ops.
namespace plait {

// Indices into a graph's arrays; valid for that graph only.
// 32 bits: a model has at most kModelNodesMax nodes.
using NodeId = int32_t;
using TensorId = int32_t;
constexpr NodeId kNoNode = -1;
constexpr TensorId kNoTensor = -1;  // an omitted optional input or output

// Names are shared between graphs and take no part in hashes or matching.
using NameRef = std::shared_ptr<const std::string>;

// One application of an operator, in the semantics of the newest opset.
// kOpaque nodes carry the attributes "domain", "op_type" and "proto" (the serialized ONNX node),
// and have the outer tensors that their subgraphs read as additional inputs behind the
// `explicit_inputs`.
// Trailing inputs that are omitted may be missing or kNoTensor; which inputs there must be is said
// by the operator's OpSpec.
struct Node {
  OpKind op = OpKind::kOpaque;
  AttributesRef attributes = NoAttributes();
  absl::InlinedVector<TensorId, 4> inputs;
  absl::InlinedVector<TensorId, 2> outputs;
  NameRef name;  // may be null
};

// A value that flows along edges: a graph input, a constant, or an output of a node.
struct TensorInfo {
  TensorType type;
  NodeId producer = kNoNode;  // kNoNode for graph inputs and constants
  ConstantRef constant;       // null unless a constant
  NameRef name;               // unique within the graph, never null
};

// A computation: an immutable, flat value. Nodes stand in topological order; tensors that are graph
// inputs come first, in order. Every constant and every node is reachable from an output (builders
// drop what is dead, but never a graph input).
// Copies share everything, so copying costs one counter, and a search may hold thousands of graphs.
// Thread rule: const access from any thread.
class Graph {
 public:
  Graph();  // empty

  // By id, in topological order: a node's inputs are made by nodes with smaller ids.
  absl::Span<const Node> nodes() const { return whole().nodes; }
  const Node& node(NodeId id) const {
    if (reads_ != nullptr) reads_->AddNode(id);
    return data_->nodes[id];
  }
  int node_count() const { return static_cast<int>(whole().nodes.size()); }
  bool has_node(NodeId id) const {
    const bool is_there = id >= 0 && id < static_cast<NodeId>(data_->nodes.size());
    // That there is none says how many there are.
    return is_there || (id >= 0 && id < node_count());
  }

  // By id: graph inputs, then constants and outputs of nodes as they are first met.
  absl::Span<const TensorInfo> tensors() const { return whole().tensors; }
  const TensorInfo& tensor(TensorId id) const {
    NoteTensor(id, GraphReads::kType | GraphReads::kSource);
    return data_->tensors[id];
  }
  int tensor_count() const { return static_cast<int>(whole().tensors.size()); }

  // In the order of the model. An input may be unread, an output may be an input or a constant, and
  // a tensor may be listed as an output twice.
  absl::Span<const TensorId> inputs() const { return whole().inputs; }
  absl::Span<const TensorId> outputs() const { return whole().outputs; }

  // The nodes that read a tensor, ascending, each once.
  absl::Span<const NodeId> users(TensorId id) const {
    NoteTensor(id, GraphReads::kUses);
    return data_->users[id];
  }
  bool is_output(TensorId id) const {
    NoteTensor(id, GraphReads::kUses);
    return data_->is_output[id];
  }

  // True when exactly one node reads the tensor, once, and it is not a graph output: a rule may
  // remove its producer together with that reader.
  bool has_single_use(TensorId id) const;

  // The producer of input `index` of `node`; kNoNode for graph inputs, constants and omitted
  // inputs, also where the node has fewer inputs.
  NodeId producer(NodeId node, int index) const;

  // The constant at input `index` of `node`; nullptr when it is none (or omitted).
  const Constant* constant(NodeId node, int index) const;

  // The value of a small constant input; nullptr when the input is no inline constant.
  const Tensor* inline_constant(NodeId node, int index) const;

  const TensorType& type(TensorId id) const {
    NoteTensor(id, GraphReads::kType);
    return data_->tensors[id].type;
  }
  // REQUIRES: the input is not omitted.
  const TensorType& input_type(NodeId id, int index) const { return type(node(id).inputs[index]); }
  const TensorType& output_type(NodeId id, int index = 0) const {
    return type(node(id).outputs[index]);
  }

  // Position-independent: equal for graphs that are equal but for names and the order of
  // independent nodes. Covers operators, attributes, constants by content, types, wiring, and the
  // order of inputs and outputs. Computed when the graph was built.
  const Fingerprint& fingerprint() const { return whole().fingerprint; }

  // The same graph; what is asked of it and of its copies is noted in `reads`, which must outlive
  // them. Names are not: nothing may depend on them.
  Graph Watched(GraphReads* reads) const {
    Graph watched = *this;
    watched.reads_ = reads;
    return watched;
  }

 private:
  friend class GraphBuilder;

  // Everything, in flat arrays; `users` and `is_output` follow from the rest and are kept because
  // every rule asks for them at every node.
  struct Data {
    std::vector<Node> nodes;
    std::vector<TensorInfo> tensors;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    std::vector<absl::InlinedVector<NodeId, 4>> users;
    std::vector<bool> is_output;
    Fingerprint fingerprint;
  };

  explicit Graph(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  static Fingerprint FingerprintOf(const Data& data);

  void NoteTensor(TensorId id, uint8_t parts) const {
    if (reads_ != nullptr) reads_->AddTensor(id, parts);
  }
  const Data& whole() const {
    if (reads_ != nullptr) reads_->AddWhole();
    return *data_;
  }

  std::shared_ptr<const Data> data_;  // never null
  GraphReads* reads_ = nullptr;
};

struct Rewrite;

// Builds a Graph: the only way to make one. It takes the types that it is told; whoever adds a node
// asks InferTypes of optimizer/ops for them. Tensors get ids as they are added; Finish re-numbers.
// Not thread-safe.
class GraphBuilder {
 public:
  // The tensor's name becomes unique by a suffix ("_1") where it is taken. Where it is empty,
  // Finish generates one ("t0", "t1", ...), and tensor(id).name is null until then.
  TensorId AddInput(TensorType type, absl::string_view name);
  TensorId AddConstant(ConstantRef constant, absl::string_view name = "");

  // Adds a node that produces tensors of `output_types`, whose names are `output_names` (or
  // generated). An output with type kUndefined and an empty name in `output_names` that is to be
  // omitted is written as kNoTensor: pass `omitted` true at its index. Returns the node's output
  // tensors.
  std::vector<TensorId> AddNode(Node node, absl::Span<const TensorType> output_types,
                                absl::Span<const std::string> output_names = {},
                                absl::Span<const bool> omitted = {});

  // Appends to the graph's outputs; the same tensor may come twice.
  void AddOutput(TensorId tensor);

  // Renames a tensor; the holder of that name so far, if any, gets a generated one.
  void Rename(TensorId tensor, absl::string_view name);

  // What was added under `id`. REQUIRES: an id of this builder. The reference is valid until the
  // next tensor is added.
  const TensorInfo& tensor(TensorId id) const { return tensors_[id]; }

  // Sorts nodes topologically (Kahn; among ready nodes the one added first), drops dead nodes and
  // constants, and merges constants with equal fingerprints, but for graph outputs, which keep
  // their names. A tensor that is both graph input and output, or an output listed twice, stays so.
  // Tensors are numbered: inputs, then by node each constant at its first use and the outputs.
  // Errors: InvalidArgument when the nodes form a cycle, naming one of them.
  absl::StatusOr<Graph> Finish() &&;

 private:
  friend class RewriteApplication;

  NameRef UniqueName(absl::string_view name);
  TensorId AddTensor(TensorInfo tensor);
  void MergeConstants();
  std::vector<bool> LiveNodes() const;
  absl::StatusOr<std::vector<NodeId>> SortedNodes() const;
  void Renumber(absl::Span<const NodeId> order, Graph::Data* data);

  std::vector<Node> nodes_;
  std::vector<TensorInfo> tensors_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
  absl::flat_hash_map<std::string, TensorId> names_;
  // The last suffix given to a name, so that many equal names do not try the same suffixes again.
  absl::flat_hash_map<std::string, int> suffixes_;
};

}  // namespace plait
