#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/rnn_layer_pattern.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/axes.h"

// Where a loaded plan has its memory, and each value in it.

namespace plait {
namespace {

// Address space for a lane's scratch, of which only what kernels touch becomes memory: 256 MiB, and
// 32 times the largest value where that is more. A recurrent layer projects all steps at once, four
// gates for each output, and a convolution that makes rows has a row of taps for each.
constexpr int64_t kScratchBytesMin = int64_t{256} << 20;
constexpr int64_t kScratchOfLargestValue = 32;

// Slots of shared working memory: lanes come behind the activations.
constexpr size_t kActivationsSlot = 0;
constexpr size_t kFirstLaneSlot = 1;

// Address space is free: there is room for shapes of four times the activations, so that what was
// too small holds a third of what is used last, at most.
constexpr int64_t kRoomOfActivations = 4;

// A value that no node produces and that is no constant can only come from the caller.
bool IsGraphInput(const Graph& graph, TensorId tensor) {
  return graph.tensor(tensor).producer == kNoNode && graph.tensor(tensor).constant == nullptr;
}

int64_t Aligned(int64_t bytes) {
  constexpr int64_t kAlignment = MemoryRegion::kAlignmentBytes;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Address space for packed weights: blocked formats round channels up to a vector, which makes
// narrow weights up to 16 times as large; whatever is not touched is never memory.
// Each step packs its own, also of a constant that others read, too.
int64_t WeightBytesMax(const Graph& graph, const Plan& plan) {
  int64_t bytes = int64_t{64} << 20;
  for (const Step& step : plan.steps) {
    bytes = SaturatingAdd(bytes, 65536);
    for (const NodeId node : step.kernel.nodes) {
      for (const TensorId input : graph.node(node).inputs) {
        if (input == kNoTensor || graph.tensor(input).constant == nullptr) continue;
        bytes = SaturatingAdd(bytes, SaturatingMultiply(16, graph.type(input).bytes()));
      }
    }
  }
  return bytes;
}

// All states of a recurrent layer, which its node makes whether or not anybody reads them; 0 for
// another node.
int64_t StateBytes(const Graph& graph, NodeId node) {
  const std::optional<RnnLayer> rnn = RnnLayerAt(graph, node);
  if (!rnn.has_value()) return 0;
  const RecurrentLayer& layer = rnn->layer;
  int64_t bytes = sizeof(float);
  for (const int64_t extent : {layer.steps, layer.batch, layer.directions, layer.hidden}) {
    bytes = SaturatingMultiply(bytes, extent);
  }
  return bytes;
}

int64_t ScratchBytesMax(const Graph& graph, const Plan& plan) {
  int64_t largest_bytes = 0;
  for (const Value& value : plan.values) {
    largest_bytes = std::max(largest_bytes, graph.type(value.tensor).bytes());
  }
  for (const Step& step : plan.steps) {
    for (const NodeId node : step.kernel.nodes) {
      largest_bytes = std::max(largest_bytes, StateBytes(graph, node));
    }
  }
  return std::max(kScratchBytesMin, SaturatingMultiply(kScratchOfLargestValue, largest_bytes));
}

// Values that a step writes; the others are the caller's, in whatever format a step reads them.
std::vector<bool> WrittenValues(const Plan& plan) {
  std::vector<bool> written(plan.values.size(), false);
  for (const Step& step : plan.steps) {
    for (const int value : step.outputs) written[value] = true;
  }
  return written;
}

}  // namespace

absl::Status CpuExecutable::ReserveMemory(const Plan& plan) {
  const bool shares_memory = shared_.working_memory != nullptr;
  int64_t bytes = shares_memory ? 0 : Aligned(plan.arena_bytes);
  const std::vector<bool> kept = KeptValues(plan);
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const Value& value = plan.values[i];
    if (value.buffer.size_bytes == 0) bytes += Aligned(graph_.type(value.tensor).bytes());
    if (kept[i]) bytes += Aligned(value.buffer.size_bytes);
  }
  for (const TensorId output : graph_.outputs()) bytes += Aligned(graph_.type(output).bytes());
  PLAIT_ASSIGN_OR_RETURN(arena_, MemoryRegion::Reserve(bytes, shared_.guard));
  const int64_t weight_bytes_max = WeightBytesMax(graph_, plan);
  PLAIT_ASSIGN_OR_RETURN(weights_, MemoryRegion::Reserve(weight_bytes_max, shared_.guard));
  if (shared_.weights != nullptr) {
    PLAIT_ASSIGN_OR_RETURN(sharing_, SharingExecutable::Create(shared_.weights, weight_bytes_max));
  }
  if (shares_memory) return ReserveWorkingMemory(plan);
  const int64_t scratch_bytes_max = ScratchBytesMax(graph_, plan);
  for (int i = 0; i < plan.threads; ++i) {
    PLAIT_ASSIGN_OR_RETURN(MemoryRegion region,
                           MemoryRegion::Reserve(scratch_bytes_max, shared_.guard));
    scratch_.push_back(std::move(region));
  }
  return absl::OkStatus();
}

absl::Status CpuExecutable::ReserveWorkingMemory(const Plan& plan) {
  WorkingMemory& memory = *shared_.working_memory;
  const int64_t bytes = Aligned(plan.arena_bytes);
  PLAIT_ASSIGN_OR_RETURN(WorkingMemory::Share activations,
                         memory.Take(kActivationsSlot, bytes, kRoomOfActivations * bytes));
  working_memory_.push_back(std::move(activations));
  const int64_t scratch_bytes_max = ScratchBytesMax(graph_, plan);
  for (int lane = 0; lane < plan.threads; ++lane) {
    PLAIT_ASSIGN_OR_RETURN(WorkingMemory::Share scratch,
                           memory.Take(kFirstLaneSlot + static_cast<size_t>(lane),
                                       scratch_bytes_max, scratch_bytes_max));
    scratch_.push_back(scratch.Region());
    working_memory_.push_back(std::move(scratch));
  }
  return absl::OkStatus();
}

void CpuExecutable::SettleWorkingMemory(absl::Span<const int64_t> scratch_bytes) {
  if (working_memory_.empty()) return;
  for (size_t lane = 0; lane < scratch_bytes.size(); ++lane) {
    working_memory_[kFirstLaneSlot + lane].Shrink(scratch_bytes[lane]);
  }
  for (const WorkingMemory::Share& share : working_memory_) share.Populate();
  arena_.Populate(arena_.used_bytes());
}

// Where memory is shared, the values whose bytes outputs are in.
std::vector<bool> CpuExecutable::KeptValues(const Plan& plan) const {
  std::vector<bool> kept(plan.values.size(), false);
  if (shared_.working_memory == nullptr) return kept;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    if (!graph_.is_output(plan.values[i].tensor)) continue;
    size_t value = i;
    while (plan.values[value].alias_of >= 0) {
      value = static_cast<size_t>(plan.values[value].alias_of);
    }
    kept[value] = true;
  }
  return kept;
}

// In the order of values, so that an alias finds the place of the value whose bytes it shares.
// Values without a buffer are those of graph inputs (of OneKernelPlan: all), which lie behind the
// activations, where no other value takes their place over.
absl::Status CpuExecutable::PlaceValues(const Plan& plan) {
  std::byte* activations = nullptr;
  if (working_memory_.empty()) {
    PLAIT_ASSIGN_OR_RETURN(activations, arena_.Allocate(plan.arena_bytes));
  } else {
    activations = working_memory_[kActivationsSlot].Region().data();
  }
  const std::vector<bool> kept = KeptValues(plan);
  const std::vector<bool> written = WrittenValues(plan);
  inputs_.resize(graph_.inputs().size());
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const Value& value = plan.values[i];
    const TensorType& type = graph_.type(value.tensor);
    if (value.alias_of >= 0) {
      const int64_t element = std::max<int64_t>(value.first_channel, 0);
      places_.push_back(places_[value.alias_of] + element * BytesOf(type.dtype));
    } else if (value.buffer.size_bytes > 0 && !kept[i]) {
      places_.push_back(activations + value.buffer.offset_bytes);
    } else {
      const int64_t bytes = std::max(type.bytes(), value.buffer.size_bytes);
      PLAIT_ASSIGN_OR_RETURN(std::byte* const place, arena_.Allocate(bytes));
      places_.push_back(place);
    }
    if (written[i] || !IsGraphInput(graph_, value.tensor)) continue;
    for (size_t input = 0; input < graph_.inputs().size(); ++input) {
      if (graph_.inputs()[input] != value.tensor) continue;
      inputs_[input].push_back(OperandOf(plan, static_cast<int>(i)));
    }
  }
  return absl::OkStatus();
}

// An output is the value that a step writes; row-major where there are several. An output that no
// node writes is a constant or an input, of which steps write copies only: their bytes may be in
// another format, and others' once they have been read.
absl::Status CpuExecutable::PlaceOutputs(const Plan& plan, const WeightSource& weights) {
  const std::vector<bool> written = WrittenValues(plan);
  for (const TensorId output : graph_.outputs()) {
    const TensorInfo& info = graph_.tensor(output);
    Operand output_place{info.type};
    for (size_t i = 0; i < plan.values.size(); ++i) {
      const Value& value = plan.values[i];
      if (value.tensor != output || !written[i] || info.producer == kNoNode) continue;
      if (output_place.data != nullptr && value.format != Format::kPlain) continue;
      output_place = OperandOf(plan, static_cast<int>(i));
    }
    if (output_place.data == nullptr) {
      PLAIT_ASSIGN_OR_RETURN(output_place.data, arena_.Allocate(info.type.bytes()));
      if (info.constant != nullptr) {
        PLAIT_ASSIGN_OR_RETURN(const Tensor value, EvaluateConstant(*info.constant, weights));
        std::memcpy(output_place.data, value.bytes().data(), value.bytes().size());
      }
      for (size_t input = 0; input < graph_.inputs().size(); ++input) {
        if (graph_.inputs()[input] == output) inputs_[input].push_back(output_place);
      }
    }
    outputs_.push_back(output_place);
  }
  return absl::OkStatus();
}

}  // namespace plait
