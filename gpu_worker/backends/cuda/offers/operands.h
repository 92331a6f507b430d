#pragma once

#include <optional>
#include <vector>

#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait::cuda {

// What several families ask of a graph for a problem. Pure and thread-safe.

// What expressions take a tensor's elements as; nullopt: they have nothing of that type.
std::optional<ElementType> ElementTypeOf(DataType dtype);

// What a problem of the precision has elements of the type in that format as: floats of its own
// storage as kFloat, fp32 beside those of 16 bits as kFloat32. nullopt: it has nothing like them.
std::optional<ElementType> ElementIn(Precision precision, const TensorType& type, Format format);

// The type that floats are stored as in the precision, and the precision of what lies in a format:
// kStrict where elements are what they are.
DataType StorageOf(Precision precision);
Precision PrecisionOfStorage(Format format, const TensorType& type);

// The row with what it reads and writes stored as the precision has it.
FormatRow StoredIn(Precision precision, FormatRow row);

// What moves elements of the type: of those with as many bytes any does.
std::optional<ElementType> MovedAs(DataType dtype);

// A tensor's sizes, as problems have them.
std::vector<int64_t> SizesOf(const TensorType& type);

// The layout in which all images of a kernel lie. nullopt: they do not lie alike, or in formats
// that the device has not, or there are not as many formats as tensors.
std::optional<MemoryLayout> LayoutOf(const Graph& graph, const Kernel& kernel);

// The operand of a tensor, which may be a constant, among images of the layout.
OperandValue OperandOf(const Graph& graph, TensorId tensor,
                       MemoryLayout layout = MemoryLayout::kNchw);

// A constant that is read as a vector of rows or channels.
OperandValue OperandOf(ConstantRef constant);

}  // namespace plait::cuda
