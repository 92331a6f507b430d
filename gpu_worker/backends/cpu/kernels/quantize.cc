#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/bytes.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// A piece of a row is short enough for the first cache, and long enough for a call.
constexpr int64_t kPiece = 4096;

// QuantizeLinear or DequantizeLinear, in rows that have one scale: what lies behind the axis, or
// pieces of the whole tensor. Where the axis is the last one, a row has one element.
class ScaleKernel : public CpuKernel {
 public:
  struct Layer {
    Operand source;
    Operand result;
    ByteParameter scale;
    ByteParameter zero_point;
    int64_t extent = 1;  // of the axis
    int64_t inner = 1;   // elements of a row
  };

  ScaleKernel(int threads, const Layer& layer) : threads_(threads), layer_(layer) {}

  absl::Status Run() override {
    const int64_t elements = layer_.source.type.elements();
    const int64_t rows = CeilDiv(elements, layer_.inner);
    ForEachPart(threads_, rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = row * layer_.inner;
        RunRow(first, std::min(layer_.inner, elements - first), row % layer_.extent);
      }
    });
    return absl::OkStatus();
  }

 private:
  void RunRow(int64_t first, int64_t size, int64_t index) const {
    const IntegerLoops& loops = Loops().integers;
    const float scale = layer_.scale.scale(index);
    const int32_t zero_point = layer_.zero_point.integer(index);
    const DataType from = layer_.source.type.dtype;
    if (from == DataType::kFloat32) {
      const ByteRange range = ByteRangeOf(layer_.result.type.dtype, zero_point);
      loops.quantize(layer_.source.floats() + first, size, scale, range,
                     reinterpret_cast<uint8_t*>(layer_.result.data) + first);
      return;
    }
    loops.dequantize[SignOf(from)](BytesAt(layer_.source) + first, size, scale, zero_point,
                                   layer_.result.floats() + first);
  }

  int threads_;
  Layer layer_;
};

// DynamicQuantizeLinear. Each thread finds the ends of what it reads; all then agree on a scale.
class DynamicKernel : public CpuKernel {
 public:
  struct Results {
    uint8_t* bytes = nullptr;       // nullptr: nobody reads them
    float* scale = nullptr;         // likewise
    uint8_t* zero_point = nullptr;  // likewise
  };

  DynamicKernel(int threads, const Operand& source, const Results& results)
      : threads_(threads), source_(source), results_(results), ends_(threads) {}

  absl::Status Run() override {
    const int64_t elements = source_.type.elements();
    const int64_t pieces = CeilDiv(elements, kPiece);
    const float* const x = source_.floats();
    std::fill(ends_.begin(), ends_.end(), Ends());
    ForEachPart(threads_, pieces, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece * kPiece;
        ends_[thread].Add(x + first, std::min(kPiece, elements - first));
      }
    });
    Ends ends;
    for (const Ends& of_thread : ends_) {
      ends.lowest = std::min(ends.lowest, of_thread.lowest);
      ends.highest = std::max(ends.highest, of_thread.highest);
    }
    const float scale = ends.lowest == ends.highest ? 1.0f : (ends.highest - ends.lowest) / 255.0f;
    const IntegerLoops& loops = Loops().integers;
    const float distance = 0 - ends.lowest;
    uint8_t zero_point = 0;
    loops.quantize(&distance, 1, scale, {0, 255, 0}, &zero_point);
    if (results_.scale != nullptr) *results_.scale = scale;
    if (results_.zero_point != nullptr) *results_.zero_point = zero_point;
    if (results_.bytes == nullptr) return absl::OkStatus();
    ForEachPart(threads_, pieces, [&](int64_t begin, int64_t end, int) {
      const int64_t first = begin * kPiece;
      loops.quantize(x + first, std::min(end * kPiece, elements) - first, scale,
                     {0, 255, zero_point}, results_.bytes + first);
    });
    return absl::OkStatus();
  }

 private:
  // Of the numbers that were seen and of 0. A NaN is none of them.
  struct alignas(64) Ends {
    float lowest = 0;
    float highest = 0;

    // The loops say NaN where there is one.
    void Add(const float* x, int64_t size) {
      const float least = Loops().minimum(x, size);
      if (least == least) {
        lowest = std::min(lowest, least);
        highest = std::max(highest, Loops().maximum(x, size));
        return;
      }
      for (int64_t i = 0; i < size; ++i) {
        lowest = std::min(lowest, x[i]);
        highest = std::max(highest, x[i]);
      }
    }
  };

  int threads_;
  Operand source_;
  Results results_;
  std::vector<Ends> ends_;
};

// Source and result lie alike, in the format of the first.
Format FormatOf(LoadContext* context) {
  const std::vector<Format>& formats = context->kernel().input_formats;
  return formats.empty() ? Format::kPlain : formats[0];
}

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadDynamic(LoadContext* context, const Node& node) {
  const Format format = FormatOf(context);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], format));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const bytes, OutputOf(context, node, 0, format));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const scale, OutputOf(context, node, 1, format));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const zero_point, OutputOf(context, node, 2, format));
  const DynamicKernel::Results results = {reinterpret_cast<uint8_t*>(bytes),
                                          reinterpret_cast<float*>(scale),
                                          reinterpret_cast<uint8_t*>(zero_point)};
  return std::make_unique<DynamicKernel>(context->width(), source, results);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadQuantize(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kQuantizeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  if (node.op == OpKind::kDynamicQuantizeLinear) return LoadDynamic(context, node);
  ScaleKernel::Layer layer;
  PLAIT_ASSIGN_OR_RETURN(layer.scale, ByteParameterOf(context, node, 1));
  PLAIT_ASSIGN_OR_RETURN(layer.zero_point, ByteParameterOf(context, node, 2));
  const Format format = layer.scale.count > 1 ? Format::kPlain : FormatOf(context);
  PLAIT_ASSIGN_OR_RETURN(layer.source, FindIn(context, node.inputs[0], format));
  PLAIT_ASSIGN_OR_RETURN(layer.result, FindIn(context, node.outputs[0], format));
  layer.inner = kPiece;
  if (layer.scale.count > 1) {
    const Shape& shape = layer.source.type.shape;
    const int64_t axis = NormalAxis(node.attributes->Int("axis", 1), layer.source.type.rank());
    layer.extent = shape[axis];
    layer.inner = 1;
    for (size_t i = axis + 1; i < shape.size(); ++i) layer.inner *= shape[i];
  }
  return std::make_unique<ScaleKernel>(context->width(), layer);
}

}  // namespace plait
