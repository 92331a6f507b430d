#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

struct FormatRule {
  bool (*holds)(const TensorType& type);
  bool (*applies)(const TensorType& type);
  Shape (*strides)(const TensorType& type);
};

bool HoldsPlain(const TensorType& /*type*/) { return true; }

bool AppliesPlain(const TensorType& /*type*/) { return true; }

Shape StridesPlain(const TensorType& type) {
  Shape strides(type.shape.size(), 1);
  for (int i = type.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * type.shape[i + 1];
  return strides;
}

bool HoldsChannelsLast(const TensorType& type) { return type.rank() == 4; }

// One channel or one pixel lies in the same place with channels first and last.
bool AppliesChannelsLast(const TensorType& type) {
  if (!HoldsChannelsLast(type)) return false;
  return type.shape[2] * type.shape[3] != 1 && type.shape[1] != 1;
}

// N, H, W, C in memory; distances by logical axis, which stays N, C, H, W.
Shape StridesChannelsLast(const TensorType& type) {
  if (!HoldsChannelsLast(type)) return StridesPlain(type);
  const Shape& shape = type.shape;
  return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
}

constexpr FormatRule kRules[] = {
#define PLAIT_FORMAT(name, Name) {Holds##Name, Applies##Name, Strides##Name},
#include "optimizer/kernels/formats.def"
#undef PLAIT_FORMAT
};

const FormatRule& RuleOf(Format format) { return kRules[static_cast<size_t>(format)]; }

}  // namespace

bool CanLieIn(const TensorType& type, Format format) { return RuleOf(format).holds(type); }

Format EffectiveFormat(const TensorType& type, Format wanted) {
  return RuleOf(wanted).applies(type) ? wanted : Format::kPlain;
}

Shape StridesOf(const TensorType& type, Format format) { return RuleOf(format).strides(type); }

}  // namespace plait
