#include "optimizer/ir/graph.h"

namespace plait {
namespace {

enum TensorTag : int { kOmittedTag, kInputTag, kConstantTag, kNodeTag };

// What a node computes: its operator and everything that it is computed from.
Fingerprint DownOf(const Node& node, absl::Span<const TensorInfo> tensors,
                   absl::Span<const Fingerprint> down) {
  FingerprintBuilder builder;
  // The operator's name, because OpKind's numbers differ between builds.
  builder.Add(kNodeTag).Add(OpKindName(node.op)).Add(node.attributes->fingerprint());
  builder.Add(uint64_t{node.inputs.size()});
  for (TensorId input : node.inputs) {
    builder.Add(input == kNoTensor ? Fingerprint{} : down[input]);
  }
  builder.Add(uint64_t{node.outputs.size()});
  for (TensorId output : node.outputs) {
    if (output == kNoTensor) {
      builder.Add(kOmittedTag);
    } else {
      builder.Add(FingerprintOf(tensors[output].type));
    }
  }
  return builder.Finish();
}

}  // namespace

// A Merkle hash in both directions. Downwards, a tensor's hash covers everything it is computed
// from; upwards, it covers everything that is computed from it, as a sum over its readers. A node
// counts with both, which tells apart graphs that compute equal values but share them differently.
// Add(r, r) with r = Relu(x), and Add(r, s) with r and s = Relu(x): downwards all hashes are equal,
// but upwards r has two uses in the first graph, and r and s have one each in the second.
// Sums make the order of independent nodes and of readers meaningless. One pass down and one up,
// linear in nodes and edges.
Fingerprint Graph::FingerprintOf(const Data& data) {
  FingerprintBuilder whole;
  std::vector<Fingerprint> down(data.tensors.size());
  whole.Add(uint64_t{data.inputs.size()});
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const Fingerprint type = plait::FingerprintOf(data.tensors[data.inputs[i]].type);
    down[data.inputs[i]] = FingerprintBuilder().Add(kInputTag).Add(uint64_t{i}).Add(type).Finish();
    whole.Add(down[data.inputs[i]]);
  }
  for (size_t id = 0; id < data.tensors.size(); ++id) {
    if (const ConstantRef& constant = data.tensors[id].constant) {
      down[id] = FingerprintBuilder().Add(kConstantTag).Add(constant->fingerprint()).Finish();
    }
  }
  std::vector<Fingerprint> node_down;
  for (const Node& node : data.nodes) {
    node_down.push_back(DownOf(node, data.tensors, down));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor) continue;
      down[node.outputs[i]] = FingerprintBuilder().Add(node_down.back()).Add(uint64_t{i}).Finish();
    }
  }

  // Backwards: every reader of a tensor has been seen before its producer.
  std::vector<Fingerprint> up(data.tensors.size());
  whole.Add(uint64_t{data.outputs.size()});
  for (size_t i = 0; i < data.outputs.size(); ++i) {
    Fingerprint& use = up[data.outputs[i]];
    // The output's position counts, so that outputs exchanged are another graph.
    use = use + FingerprintBuilder().Add(uint64_t{i}).Finish();
    whole.Add(down[data.outputs[i]]);
  }
  Fingerprint nodes;
  for (size_t n = data.nodes.size(); n-- > 0;) {
    const Node& node = data.nodes[n];
    FingerprintBuilder builder;
    builder.Add(node_down[n]);
    for (TensorId output : node.outputs) {
      builder.Add(output == kNoTensor ? Fingerprint{} : up[output]);
    }
    const Fingerprint both = builder.Finish();
    nodes = nodes + both;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoTensor) continue;
      Fingerprint& use = up[node.inputs[i]];
      use = use + FingerprintBuilder().Add(both).Add(uint64_t{i}).Finish();
    }
  }
  return whole.Add(nodes).Finish();
}

}  // namespace plait
