#include "gpu_worker/backends/cpu/run/kernel.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {

// Declared here and not in headers: a family is a line of families.def and two files, and nobody
// but the table below calls its function.
#define PLAIT_CPU_FAMILY(name, Name) \
  absl::StatusOr<std::unique_ptr<CpuKernel>> Load##Name(LoadContext* context);
#include "gpu_worker/backends/cpu/families.def"
#undef PLAIT_CPU_FAMILY

namespace {

constexpr KernelFamily kFamilies[] = {
#define PLAIT_CPU_FAMILY(name, Name) {k##Name##Offer, Load##Name},
#include "gpu_worker/backends/cpu/families.def"
#undef PLAIT_CPU_FAMILY
};

}  // namespace

Shape Operand::strides() const {
  if (whole_channels == 0) return StridesOf(type, format);
  TensorType whole = type;
  whole.shape[1] = whole_channels;
  return StridesOf(whole, format);
}

absl::StatusOr<Operand> LoadContext::Find(TensorId tensor) {
  // A kernel has a handful of tensors, so that a map would be slower.
  for (const Place& place : places_) {
    if (place.tensor == tensor) return place.operand;
  }
  if (tensor == kNoTensor || graph_.tensor(tensor).constant == nullptr) return Refuse();
  PLAIT_ASSIGN_OR_RETURN(std::byte* const data, RowMajor(tensor));
  places_.push_back({tensor, {graph_.type(tensor), Format::kPlain, data}});
  return places_.back().operand;
}

absl::StatusOr<std::byte*> LoadContext::RowMajor(TensorId tensor) {
  SharingExecutable::Place place = {nullptr, false};
  if (memory_.sharing != nullptr) {
    PLAIT_ASSIGN_OR_RETURN(place,
                           memory_.sharing->Allocate(graph_.tensor(tensor).constant->fingerprint(),
                                                     graph_.type(tensor).bytes()));
    if (place.is_packed) return place.data;
  }
  PLAIT_ASSIGN_OR_RETURN(const Tensor value, ConstantValue(tensor));
  const absl::string_view bytes = value.bytes();
  if (place.data == nullptr) {
    PLAIT_ASSIGN_OR_RETURN(place.data, AllocateWeights(static_cast<int64_t>(bytes.size())));
  }
  std::memcpy(place.data, bytes.data(), bytes.size());
  return place.data;
}

absl::StatusOr<SharingExecutable::Place> LoadContext::AllocatePacked(int64_t bytes,
                                                                     const Fingerprint& form) {
  return AllocatePiece(
      FingerprintBuilder().Add(packed_from_).Add(form).Add(bytes).Add(packed_pieces_++).Finish(),
      bytes);
}

absl::StatusOr<SharingExecutable::Place> LoadContext::AllocatePackedOf(TensorId tensor,
                                                                       int64_t bytes,
                                                                       const Fingerprint& form) {
  const Fingerprint& constant = graph_.tensor(tensor).constant->fingerprint();
  return AllocatePiece(
      FingerprintBuilder().Add("of one constant").Add(constant).Add(form).Add(bytes).Finish(),
      bytes);
}

absl::StatusOr<SharingExecutable::Place> LoadContext::AllocatePiece(const Fingerprint& key,
                                                                    int64_t bytes) {
  if (memory_.sharing != nullptr) return memory_.sharing->Allocate(key, bytes);
  PLAIT_ASSIGN_OR_RETURN(std::byte* const data, AllocateWeights(bytes));
  return SharingExecutable::Place{data, false};
}

Fingerprint LoadContext::PackedFrom() const {
  FingerprintBuilder builder;
  builder.Add(kernel_.family).Add(kernel_.variant).Add(kernel_.width);
  for (const NodeId id : kernel_.nodes) {
    const Node& node = graph_.node(id);
    builder.Add(static_cast<int>(node.op)).Add(node.attributes->fingerprint());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoTensor) continue;
      const ConstantRef& constant = graph_.tensor(node.inputs[i]).constant;
      if (constant == nullptr || constant->type().dtype == DataType::kInt64) continue;
      builder.Add(static_cast<int>(i)).Add(constant->fingerprint());
    }
  }
  return builder.Finish();
}

absl::StatusOr<Tensor> LoadContext::ConstantValue(TensorId tensor) const {
  if (tensor == kNoTensor || graph_.tensor(tensor).constant == nullptr) return Refuse();
  absl::StatusOr<Tensor> value = EvaluateConstant(*graph_.tensor(tensor).constant, weights_);
  if (!value.ok()) return Annotate(value.status(), *graph_.tensor(tensor).name);
  return value;
}

absl::Status LoadContext::Refuse() const {
  std::string ops;
  for (const NodeId node : kernel_.nodes) {
    absl::StrAppend(&ops, ops.empty() ? "" : "+", OpKindName(graph_.node(node).op));
  }
  return absl::InvalidArgumentError(absl::StrCat("kernel family \"", kernel_.family,
                                                 "\" variant \"", kernel_.variant, "\" cannot run ",
                                                 ops, " in the formats that the plan asks for"));
}

const KernelFamily* FindKernelFamily(absl::string_view name) {
  for (const KernelFamily& family : kFamilies) {
    if (family.offer.name == name) return &family;
  }
  return nullptr;
}

std::string KernelFamilyNames() {
  std::string names;
  for (const KernelFamily& family : kFamilies) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", family.offer.name);
  }
  return names;
}

}  // namespace plait
