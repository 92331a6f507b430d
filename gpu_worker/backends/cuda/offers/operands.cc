#include "gpu_worker/backends/cuda/offers/operands.h"

#include <utility>

#include "optimizer/kernels/format_rules.h"

namespace plait::cuda {
namespace {

bool IsImage(const TensorType& type) {
  return EffectiveFormat(type, Format::kChannelsLast) == Format::kChannelsLast;
}

// Takes one tensor's format into account; false where it does not fit the others.
bool Agrees(const TensorType& type, Format format, std::optional<MemoryLayout>* layout) {
  if (!IsImage(type)) return format == Format::kPlain;
  if (format != Format::kPlain && format != Format::kChannelsLast) return false;
  const MemoryLayout own = format == Format::kPlain ? MemoryLayout::kNchw : MemoryLayout::kNhwc;
  if (!layout->has_value()) *layout = own;
  return **layout == own;
}

}  // namespace

std::optional<ElementType> ElementTypeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32:
      return ElementType::kFloat;
    case DataType::kInt64:
      return ElementType::kInt64;
    case DataType::kInt32:
      return ElementType::kInt32;
    case DataType::kBool:
      return ElementType::kBool;
    default:
      return std::nullopt;
  }
}

DataType StorageOf(Precision precision) {
  if (precision == Precision::kFp16) return DataType::kFloat16;
  return precision == Precision::kBf16 ? DataType::kBfloat16 : DataType::kFloat32;
}

Precision PrecisionOfStorage(Format format, const TensorType& type) {
  if (IsStoredWhole(type, format)) return Precision::kStrict;
  return StoredType(type, format).dtype == DataType::kFloat16 ? Precision::kFp16 : Precision::kBf16;
}

std::optional<ElementType> ElementIn(Precision precision, const TensorType& type, Format format) {
  const std::optional<ElementType> element = ElementTypeOf(type.dtype);
  if (element != ElementType::kFloat) return element;
  const DataType stored = StoredType(type, format).dtype;
  if (stored == StorageOf(precision)) return ElementType::kFloat;
  if (stored == DataType::kFloat32) return ElementType::kFloat32;
  return std::nullopt;
}

FormatRow StoredIn(Precision precision, FormatRow row) {
  for (std::vector<Format>* formats : {&row.inputs, &row.outputs}) {
    for (Format& format : *formats) format = StoredAs(StorageOf(precision), format);
  }
  return row;
}

std::optional<ElementType> MovedAs(DataType dtype) {
  if (dtype == DataType::kFloat32) return ElementType::kFloat;
  switch (BytesOf(dtype)) {
    case 8:
      return ElementType::kInt64;
    case 4:
      return ElementType::kInt32;
    case 2:
      return ElementType::kInt16;
    case 1:
      return ElementType::kBool;
    default:
      return std::nullopt;
  }
}

std::vector<int64_t> SizesOf(const TensorType& type) {
  return {type.shape.begin(), type.shape.end()};
}

std::optional<MemoryLayout> LayoutOf(const Graph& graph, const Kernel& kernel) {
  const std::vector<TensorId> inputs = InputsOf(graph, kernel.nodes);
  const std::vector<TensorId> outputs = OutputsOf(graph, kernel.nodes);
  if (inputs.size() != kernel.input_formats.size() ||
      outputs.size() != kernel.output_formats.size()) {
    return std::nullopt;
  }
  std::optional<MemoryLayout> layout;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!Agrees(graph.type(inputs[i]), kernel.input_formats[i], &layout)) return std::nullopt;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!Agrees(graph.type(outputs[i]), kernel.output_formats[i], &layout)) return std::nullopt;
  }
  return layout.value_or(MemoryLayout::kNchw);
}

OperandValue OperandOf(const Graph& graph, TensorId tensor, MemoryLayout layout) {
  OperandValue value;
  if (tensor == kNoTensor) return value;
  value.constant = graph.tensor(tensor).constant;
  if (value.constant == nullptr) value.tensor = tensor;
  if (layout == MemoryLayout::kNhwc) {
    value.format = EffectiveFormat(graph.type(tensor), Format::kChannelsLast);
  }
  return value;
}

OperandValue OperandOf(ConstantRef constant) {
  OperandValue value;
  value.constant = std::move(constant);
  return value;
}

}  // namespace plait::cuda
