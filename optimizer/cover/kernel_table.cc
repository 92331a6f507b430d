#include "optimizer/cover/kernel_table.h"

#include <optional>
#include <utility>

#include "optimizer/kernels/format_mask.h"
#include "optimizer/kernels/kernel_key.h"

// Conv and Relu on a device of two threads. The backend offers seven kernels: Conv plain or in
// channels-last, one or two threads wide each, Relu plain and one thread wide, and the pair one or
// two wide in channels-last. They make four groups: at Conv {plain}, {channels-last} and the pair
// {channels-last}, at Relu {plain}; of the first three `whole` is the faster kernel of two threads
// and `part` that of one, of the last both are the same kernel. All three tensors are wanted in
// both formats, so that each gets its two reorders. What has no profile yet is missing from its
// group, and noted.

namespace plait {
namespace {

// A group under construction: the fastest choice of each width so far.
struct OpenGroup {
  KernelGroup group;
  std::optional<KernelChoice> whole;
  std::optional<KernelChoice> part;
};

void Offer(std::optional<KernelChoice>& best, const KernelChoice& choice) {
  if (!best.has_value() || choice.latency_us < best->latency_us) best = choice;
}

KernelGroup Close(OpenGroup&& open) {
  open.group.whole = open.whole.has_value() ? *open.whole : *open.part;
  open.group.part = open.part.has_value() ? *open.part : *open.whole;
  return std::move(open.group);
}

class TableBuilder {
 public:
  TableBuilder(const Graph& graph, const KernelTableOptions& options,
               std::vector<ProfileQuery>* missing)
      : graph_(graph), options_(options), missing_(missing), wanted_(graph.tensor_count(), 0) {}

  KernelTable Build() {
    table_.groups_at.resize(graph_.node_count());
    table_.reorders.resize(graph_.tensor_count());
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (graph_.node(node).op == OpKind::kOpaque) {
        AddOpaque(node);
      } else {
        AddKernelsAt(node);
      }
    }
    AddReorders();
    return std::move(table_);
  }

 private:
  ProfileOrigin OriginOf(const Kernel& kernel) const {
    return {options_.device.fingerprint, options_.catalog.Version(kernel.family)};
  }

  void AddGroup(NodeId node, KernelGroup group) {
    table_.groups_at[node].push_back(static_cast<int>(table_.groups.size()));
    table_.groups.push_back(std::move(group));
  }

  // Row-major, of no cost and as wide as the device, so that nothing runs beside it.
  void AddOpaque(NodeId node) {
    KernelGroup group;
    group.nodes = {node};
    group.inputs = InputsOf(graph_, group.nodes);
    group.outputs = OutputsOf(graph_, group.nodes);
    group.input_formats.assign(group.inputs.size(), Format::kPlain);
    group.output_formats.assign(group.outputs.size(), Format::kPlain);
    Kernel kernel;
    kernel.family = "opaque";
    kernel.nodes = group.nodes;
    kernel.width = options_.device.threads;
    kernel.input_formats = group.input_formats;
    kernel.output_formats = group.output_formats;
    group.whole.kernel = kernel;
    group.part = group.whole;
    AddGroup(node, std::move(group));
  }

  void AddKernelsAt(NodeId node) {
    std::vector<OpenGroup> open;
    // Variants of one node set follow each other, so what depends on the set alone is kept.
    KernelGroup shape;
    Fingerprint structure;
    for (Kernel& kernel : options_.catalog.KernelsAt(graph_, node, options_.fuse)) {
      if (kernel.nodes != shape.nodes) {
        shape.nodes = kernel.nodes;
        shape.inputs = InputsOf(graph_, shape.nodes);
        shape.outputs = OutputsOf(graph_, shape.nodes);
        structure = StructureFingerprint(graph_, shape.nodes);
      }
      NoteFormats(shape, kernel);
      const Fingerprint fingerprint = KernelFingerprint(structure, kernel);
      const Profile* profile = options_.profiles.Find(fingerprint);
      if (profile == nullptr) {
        if (missing_ != nullptr) {
          missing_->push_back({fingerprint, KernelProfileKey(graph_, kernel, OriginOf(kernel))});
        }
      } else if (profile->samples > 0) {
        AddChoice(open, shape, std::move(kernel), *profile);
      }
    }
    for (OpenGroup& group : open) AddGroup(node, Close(std::move(group)));
  }

  // Also of kernels without a profile: the reorders around them are measured in the same batch.
  void NoteFormats(const KernelGroup& shape, const Kernel& kernel) {
    for (size_t i = 0; i < shape.inputs.size(); ++i) {
      wanted_[shape.inputs[i]] |= MaskOf(kernel.input_formats[i]);
    }
    for (size_t i = 0; i < shape.outputs.size(); ++i) {
      wanted_[shape.outputs[i]] |= MaskOf(kernel.output_formats[i]);
    }
  }

  void AddChoice(std::vector<OpenGroup>& open, const KernelGroup& shape, Kernel kernel,
                 const Profile& profile) {
    OpenGroup* home = nullptr;
    for (OpenGroup& candidate : open) {
      if (candidate.group.nodes == kernel.nodes &&
          candidate.group.input_formats == kernel.input_formats &&
          candidate.group.output_formats == kernel.output_formats) {
        home = &candidate;
        break;
      }
    }
    if (home == nullptr) {
      home = &open.emplace_back();
      home->group = shape;
      home->group.input_formats = kernel.input_formats;
      home->group.output_formats = kernel.output_formats;
    }
    const bool takes_all = kernel.width >= options_.device.threads;
    Offer(takes_all ? home->whole : home->part,
          {std::move(kernel), profile.latency_us_median, profile.bytes, profile.compute_share});
  }

  // Between all formats in which some kernel touches the tensor, and row-major, which graphs are
  // read and written in.
  void AddReorders() {
    for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      const FormatMask wanted = wanted_[tensor] | MaskOf(Format::kPlain);
      if (wanted == MaskOf(Format::kPlain)) continue;
      table_.reorders[tensor].resize(size_t{kFormatCount} * kFormatCount);
      for (const Format from : kAllFormats) {
        for (const Format to : kAllFormats) {
          if (from == to || !Has(wanted, from) || !Has(wanted, to)) continue;
          AddReorder(tensor, from, to);
        }
      }
    }
  }

  void AddReorder(TensorId tensor, Format from, Format to) {
    const TensorType& type = graph_.type(tensor);
    const Kernel kernel = options_.catalog.Reorder(type, from, to);
    const Fingerprint fingerprint = ReorderFingerprint(type, kernel);
    const Profile* profile = options_.profiles.Find(fingerprint);
    if (profile == nullptr) {
      if (missing_ != nullptr) {
        missing_->push_back({fingerprint, ReorderProfileKey(type, kernel, OriginOf(kernel))});
      }
      return;
    }
    if (profile->samples == 0) return;
    KernelGroup& group = table_.reorders[tensor][ReorderPlace(from, to)];
    group.inputs = {tensor};
    group.outputs = {tensor};
    group.input_formats = {from};
    group.output_formats = {to};
    group.whole = {kernel, profile->latency_us_median, profile->bytes, profile->compute_share};
    group.part = group.whole;
  }

  const Graph& graph_;
  const KernelTableOptions& options_;
  std::vector<ProfileQuery>* missing_;
  std::vector<FormatMask> wanted_;  // per tensor: formats in which kernels read or write it
  KernelTable table_;
};

}  // namespace

const KernelGroup* KernelTable::FindReorder(TensorId tensor, Format from, Format to) const {
  const std::vector<KernelGroup>& of_tensor = reorders[tensor];
  if (of_tensor.empty()) return nullptr;
  const KernelGroup& reorder = of_tensor[ReorderPlace(from, to)];
  return reorder.inputs.empty() ? nullptr : &reorder;
}

KernelTable BuildKernelTable(const Graph& graph, const KernelTableOptions& options,
                             std::vector<ProfileQuery>* missing) {
  return TableBuilder(graph, options, missing).Build();
}

}  // namespace plait
