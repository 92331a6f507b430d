#include "gpu_worker/simulated_gpu/cudnn/graph_kernel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/cudnn/evaluate.h"

namespace plait::simulated_gpu {
namespace {

constexpr unsigned kGraphThreads = 128;      // of a block
constexpr int64_t kElementsPerBlock = 1024;  // of the largest result

absl::StatusOr<ElementType> CudnnElementType(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return ElementType::kFloat;
    case CUDNN_DATA_DOUBLE:
      return ElementType::kDouble;
    case CUDNN_DATA_HALF:
      return ElementType::kHalf;
    case CUDNN_DATA_BFLOAT16:
      return ElementType::kBfloat16;
    case CUDNN_DATA_INT32:
      return ElementType::kInt32;
    case CUDNN_DATA_INT64:
      return ElementType::kInt64;
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_UINT8:
      return ElementType::kByte;
    default:
      return absl::UnimplementedError(absl::StrCat("there is no stand-in for the type ", type));
  }
}

bool UsesTensorCores(const CudnnEngine& engine) {
  return std::any_of(engine.numerical_notes.begin(), engine.numerical_notes.end(), [](auto note) {
    return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
           note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
  });
}

std::string GraphName(const OperationGraph& graph, const CudnnEngine& engine) {
  std::string name = absl::StrCat("simulated_cudnn_eng", engine.index);
  for (const auto& [knob, value] : engine.knobs) absl::StrAppend(&name, "_k", knob, "=", value);
  return absl::StrCat(name, "_", graph.Pattern());
}

}  // namespace

GraphKernel::GraphKernel(OperationGraph graph, const CudnnEngine& engine)
    : graph_(std::move(graph)),
      workspace_bytes_(std::max<int64_t>(engine.workspace_bytes, 0)),
      rounds_to_tf32_(UsesTensorCores(engine)),
      name_(GraphName(graph_, engine)) {
  for (const GraphTensor& tensor : graph_.tensors) {
    parameter_of_.push_back(bound_.size());
    if (!tensor.is_virtual) bound_.push_back(tensor);
  }
}

absl::StatusOr<std::shared_ptr<const GraphKernel>> GraphKernel::Make(OperationGraph graph,
                                                                     const CudnnEngine& engine) {
  auto kernel = absl::WrapUnique(new GraphKernel(std::move(graph), engine));
  for (const GraphTensor& tensor : kernel->graph_.tensors) {
    PLAIT_ASSIGN_OR_RETURN(const ElementType type, CudnnElementType(tensor.type));
    kernel->types_.push_back(type);
  }
  return std::shared_ptr<const GraphKernel>(std::move(kernel));
}

LaunchShape GraphKernel::shape() const {
  int64_t elements = 1;
  for (const GraphOperation& operation : graph_.operations) {
    elements = std::max(elements, ElementsOf(graph_.tensors[operation.output].sizes));
  }
  const int64_t blocks = (elements + kElementsPerBlock - 1) / kElementsPerBlock;
  return {{static_cast<unsigned>(blocks), 1, 1}, {kGraphThreads, 1, 1}};
}

bool GraphKernel::IsResult(size_t tensor) const {
  return std::any_of(graph_.operations.begin(), graph_.operations.end(),
                     [&](const GraphOperation& operation) { return operation.output == tensor; });
}

TensorPlace GraphKernel::Place(size_t tensor, absl::Span<const uint64_t> arguments) const {
  const GraphTensor& described = graph_.tensors[tensor];
  return {.name = absl::StrCat("tensor ", described.id),
          .address = arguments[parameter_of_[tensor]],
          .sizes = described.sizes,
          .strides = described.strides,
          .type = types_[tensor],
          .alignment_bytes = described.alignment_bytes};
}

TouchedParts GraphKernel::PartsOf(absl::Span<const uint64_t> arguments) const {
  TouchedParts parts;
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    const GraphTensor& tensor = graph_.tensors[i];
    if (tensor.is_virtual || tensor.is_by_value) continue;
    if (IsResult(i)) {
      AddWrites(Place(i, arguments), &parts.emplace_back());
    } else {
      AddReads(Place(i, arguments), &parts.emplace_back());
    }
  }
  const uint64_t workspace = arguments.back();
  parts.emplace_back().Write({workspace, workspace + static_cast<uint64_t>(workspace_bytes_)});
  return parts;
}

Touches GraphKernel::TouchesOf(absl::Span<const uint64_t> arguments) const {
  return Joined(PartsOf(arguments));
}

absl::Status GraphKernel::Run(absl::Span<const uint64_t> arguments, DeviceMemory* memory) const {
  PLAIT_RETURN_IF_ERROR(CheckApart(PartsOf(arguments), memory));
  std::vector<TensorValues> values(graph_.tensors.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const GraphTensor& tensor = graph_.tensors[i];
    if (tensor.is_virtual || IsResult(i)) continue;
    if (tensor.is_by_value) {
      values[i] = {std::bit_cast<double>(arguments[parameter_of_[i]])};
    } else {
      PLAIT_ASSIGN_OR_RETURN(values[i], ReadTensor(Place(i, arguments), memory));
    }
  }
  EvaluateGraph(graph_, rounds_to_tf32_, &values);
  PLAIT_RETURN_IF_ERROR(
      SpoilWorkspace(arguments.back(), static_cast<uint64_t>(workspace_bytes_), memory));
  for (size_t i = 0; i < values.size(); ++i) {
    if (graph_.tensors[i].is_virtual || !IsResult(i)) continue;
    PLAIT_RETURN_IF_ERROR(WriteTensor(Place(i, arguments), values[i], memory));
  }
  return absl::OkStatus();
}

}  // namespace plait::simulated_gpu
