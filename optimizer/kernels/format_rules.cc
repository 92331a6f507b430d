#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

using StridesFunction = Shape (*)(const TensorType& type);

struct FormatRule {
  Format format;
  StridesFunction strides;
  DataType stored;
};

Shape StridesRowMajor(const TensorType& type) {
  Shape strides(type.shape.size(), 1);
  for (int i = type.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * type.shape[i + 1];
  return strides;
}

bool HasImages(const TensorType& type) { return type.rank() == 4; }

// One channel or one pixel lies in the same place with channels first and last.
bool DiffersInChannelsLast(const TensorType& type) {
  if (!HasImages(type)) return false;
  return type.shape[2] * type.shape[3] != 1 && type.shape[1] != 1;
}

// N, H, W, C in memory; distances by logical axis, which stays N, C, H, W.
Shape StridesChannelsLast(const TensorType& type) {
  if (!HasImages(type)) return StridesRowMajor(type);
  const Shape& shape = type.shape;
  return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
}

constexpr FormatRule kRules[] = {
#define PLAIT_FORMAT(name, Name, Layout, stored) \
  {Format::k##Name, Strides##Layout, DataType::stored},
#include "optimizer/kernels/formats.def"
#undef PLAIT_FORMAT
};

const FormatRule& RuleOf(Format format) { return kRules[static_cast<size_t>(format)]; }

// Each layout is there for each type that elements are stored as.
Format FormatWith(StridesFunction strides, DataType stored) {
  for (const FormatRule& rule : kRules) {
    if (rule.strides == strides && rule.stored == stored) return rule.format;
  }
  return Format::kPlain;
}

}  // namespace

bool CanLieIn(const TensorType& type, Format format) {
  const FormatRule& rule = RuleOf(format);
  if (rule.stored != DataType::kUndefined && type.dtype != DataType::kFloat32) return false;
  return rule.strides != StridesChannelsLast || HasImages(type);
}

Format EffectiveFormat(const TensorType& type, Format wanted) {
  const FormatRule& rule = RuleOf(wanted);
  const bool is_row_major = rule.strides == StridesChannelsLast && !DiffersInChannelsLast(type);
  return FormatWith(is_row_major ? StridesRowMajor : rule.strides,
                    type.dtype == DataType::kFloat32 ? rule.stored : DataType::kUndefined);
}

Shape StridesOf(const TensorType& type, Format format) { return RuleOf(format).strides(type); }

TensorType StoredType(const TensorType& type, Format format) {
  const FormatRule& rule = RuleOf(format);
  const bool is_narrowed = rule.stored != DataType::kUndefined && type.dtype == DataType::kFloat32;
  return {is_narrowed ? rule.stored : type.dtype, type.shape};
}

Format StoredAs(DataType stored, Format layout) {
  const bool is_narrow = stored == DataType::kFloat16 || stored == DataType::kBfloat16;
  return FormatWith(RuleOf(layout).strides, is_narrow ? stored : DataType::kUndefined);
}

}  // namespace plait
