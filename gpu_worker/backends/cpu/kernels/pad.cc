#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/padding.h"

namespace plait {
namespace {

// Fills the whole result, then copies the input into its place.
// The middle is written twice, which is one pass more than needed and spares telling the border's
// pieces apart, of which there are two per axis.
class PadKernel : public CpuKernel {
 public:
  PadKernel(int threads, const Operand& result, absl::string_view value, StridedCopy copy)
      : threads_(threads), result_(result), copy_(std::move(copy)) {
    if (!value.empty()) std::memcpy(value_, value.data(), value.size());
  }

  absl::Status Run() override {
    const int64_t element_bytes = BytesOf(result_.type.dtype);
    ForEachPart(threads_, result_.type.elements(), [&](int64_t begin, int64_t end, int) {
      std::byte* const data = result_.data + begin * element_bytes;
      std::memcpy(data, value_, static_cast<size_t>(element_bytes));
      // What is filled so far is copied behind itself: twice as much each time.
      const int64_t bytes = (end - begin) * element_bytes;
      for (int64_t filled = element_bytes; filled < bytes;) {
        const int64_t piece = std::min(filled, bytes - filled);
        std::memcpy(data + filled, data, static_cast<size_t>(piece));
        filled += piece;
      }
    });
    copy_.Run(threads_);
    return absl::OkStatus();
  }

 private:
  int threads_;
  Operand result_;
  StridedCopy copy_;
  std::byte value_[8] = {};
};

// One axis of a result that is padded with the tensor's own elements: where each place comes from.
struct PaddedAxis {
  int64_t size = 1;            // of the result
  int64_t input = 1;           // of the source
  int64_t stride = 0;          // of the source, in bytes
  std::vector<int64_t> front;  // by place in front of the source's own: distances, in bytes
  std::vector<int64_t> back;   // behind them

  PaddedAxis(int64_t size, int64_t input, int64_t begin, int64_t stride, PadMode mode)
      : size(size), input(input), stride(stride) {
    for (int64_t i = -begin; i < 0; ++i) front.push_back(PaddedFrom(i, input, mode) * stride);
    for (int64_t i = input; i < size - begin; ++i) {
      back.push_back(PaddedFrom(i, input, mode) * stride);
    }
  }

  int64_t DistanceOf(int64_t place) const {
    const auto begin = static_cast<int64_t>(front.size());
    if (place < begin) return front[place];
    const int64_t own = place - begin;
    return own < input ? own * stride : back[own - input];
  }
};

// Axes are taken in the order in which they lie in memory, and those behind the last padded one are
// a block that is copied whole:
//   [2, 3, 5] by one in the middle: two rows of blocks of five elements
//   reflected, each is x1 | x0 x1 x2 | x1
// The middle of a row lies together in the source unless that is a part of an image.
class BorderPadKernel : public CpuKernel {
 public:
  // `begin`: elements in front of each axis of the source. REQUIRES: there are axes.
  BorderPadKernel(int threads, const Operand& source, const Operand& result,
                  absl::Span<const int64_t> begin, PadMode mode)
      : threads_(threads), source_(source), result_(result) {
    const int64_t element_bytes = BytesOf(source.type.dtype);
    const Shape& from = source.type.shape;
    const Shape& to = result.type.shape;
    const Shape strides = source.strides();
    std::vector<int> order(from.size());
    std::iota(order.begin(), order.end(), 0);
    if (result.format == Format::kChannelsLast) {
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    }
    block_bytes_ = element_bytes;
    while (order.size() > 1) {
      const int axis = order.back();
      const bool lies_together = from[axis] == 1 || strides[axis] * element_bytes == block_bytes_;
      if (from[axis] != to[axis] || !lies_together) break;
      block_bytes_ *= from[axis];
      order.pop_back();
    }
    for (const int axis : order) {
      axes_.emplace_back(to[axis], from[axis], begin[axis], strides[axis] * element_bytes, mode);
    }
  }

  absl::Status Run() override {
    const int64_t row_bytes = axes_.back().size * block_bytes_;
    const int64_t rows = result_.type.bytes() / row_bytes;
    ForEachPart(threads_, rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        CopyRow(SourceOf(row), result_.data + row * row_bytes);
      }
    });
    return absl::OkStatus();
  }

 private:
  const std::byte* SourceOf(int64_t row) const {
    const std::byte* source = source_.data;
    for (size_t i = axes_.size() - 1; i-- > 0;) {
      source += axes_[i].DistanceOf(row % axes_[i].size);
      row /= axes_[i].size;
    }
    return source;
  }

  void CopyRow(const std::byte* source, std::byte* result) const {
    const PaddedAxis& row = axes_.back();
    CopyBlocks(source, row.front, result);
    result += static_cast<int64_t>(row.front.size()) * block_bytes_;
    if (row.stride == block_bytes_ || row.input == 1) {
      std::memcpy(result, source, static_cast<size_t>(row.input * block_bytes_));
    } else {
      for (int64_t i = 0; i < row.input; ++i) {
        std::memcpy(result + i * block_bytes_, source + i * row.stride,
                    static_cast<size_t>(block_bytes_));
      }
    }
    CopyBlocks(source, row.back, result + row.input * block_bytes_);
  }

  // A call of memcpy for each number would take several times as long as the copy.
  void CopyBlocks(const std::byte* source, const std::vector<int64_t>& distances,
                  std::byte* result) const {
    switch (block_bytes_) {
      case 1:
        return CopyNumbers<uint8_t>(source, distances, result);
      case 2:
        return CopyNumbers<uint16_t>(source, distances, result);
      case 4:
        return CopyNumbers<uint32_t>(source, distances, result);
      case 8:
        return CopyNumbers<uint64_t>(source, distances, result);
      default:
        for (const int64_t distance : distances) {
          std::memcpy(result, source + distance, static_cast<size_t>(block_bytes_));
          result += block_bytes_;
        }
    }
  }

  template <typename Number>
  static void CopyNumbers(const std::byte* source, const std::vector<int64_t>& distances,
                          std::byte* result) {
    for (const int64_t distance : distances) {
      std::memcpy(result, source + distance, sizeof(Number));
      result += sizeof(Number);
    }
  }

  const int threads_;
  const Operand source_;
  const Operand result_;
  std::vector<PaddedAxis> axes_;  // outermost first; the last one is that of a row's blocks
  int64_t block_bytes_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPad(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kPadOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const PadMode mode, PadModeOf(*node.attributes));
  const std::vector<int64_t> pads = graph.inline_constant(nodes[0], 1)->AsInt64s();
  const bool has_axes = node.inputs.size() > 3 && node.inputs[3] != kNoTensor;
  const bool has_value = node.inputs.size() > 2 && node.inputs[2] != kNoTensor;
  Shape begin(result.type.shape.size(), 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const int64_t axis =
        has_axes ? graph.inline_constant(nodes[0], 3)->AsInt64s()[i] : static_cast<int64_t>(i);
    begin[NormalAxis(axis, result.type.rank())] = pads[i];
  }
  if (mode != PadMode::kConstant) {
    return std::make_unique<BorderPadKernel>(context->width(), source, result, begin, mode);
  }
  const Shape strides = result.strides();
  int64_t offset = 0;
  for (size_t axis = 0; axis < begin.size(); ++axis) offset += begin[axis] * strides[axis];
  const int64_t element_bytes = BytesOf(result.type.dtype);
  StridedCopy copy(element_bytes, source.type.shape, {source.data, source.strides()},
                   {result.data + offset * element_bytes, strides});
  const absl::string_view value =
      has_value ? graph.inline_constant(nodes[0], 2)->bytes() : absl::string_view();
  return std::make_unique<PadKernel>(context->width(), result, value, std::move(copy));
}

}  // namespace plait
