#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/bytes.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {
namespace {

// A MaxPool in channels-last of the integers themselves, whose order is that of what they stand
// for.
class PoolBytesKernel : public CpuKernel {
 public:
  PoolBytesKernel(int width, const Operand& source, const Operand& result, const WindowAxis& rows,
                  const WindowAxis& columns)
      : width_(width),
        source_(source),
        result_(result),
        rows_(rows),
        columns_(columns),
        under_column_(columns.output),
        taps_(width) {
    for (int64_t column = 0; column < columns.output; ++column) {
      for (int64_t j = columns.kernel_begin(column); j < columns.kernel_end(column); ++j) {
        under_column_[column].push_back(columns.start(column) + j * columns.dilation);
      }
    }
  }

  absl::Status Run() override {
    const int64_t lines = source_.type.shape[0] * rows_.output;
    ForEachPart(width_, lines, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t line = begin; line < end; ++line) RunLine(line, taps_[thread]);
    });
    return absl::OkStatus();
  }

 private:
  // Padding is less than any number: what lies on it is left out.
  void RunLine(int64_t line, std::vector<int64_t>& taps) const {
    const bool is_signed = source_.type.dtype == DataType::kInt8;
    const int64_t channels = source_.type.shape[1];
    const int64_t row = line % rows_.output;
    const int64_t first_row = rows_.kernel_begin(row);
    const int64_t past_row = rows_.kernel_end(row);
    BytePixel pixel = {};
    pixel.x = BytesAt(source_) + line / rows_.output * rows_.input * columns_.input * channels;
    pixel.channels = channels;
    pixel.y = reinterpret_cast<uint8_t*>(result_.data) + line * columns_.output * channels;
    for (int64_t column = 0; column < columns_.output; ++column, pixel.y += channels) {
      taps.clear();
      for (int64_t i = first_row; i < past_row; ++i) {
        const int64_t from = (rows_.start(row) + i * rows_.dilation) * columns_.input;
        for (const int64_t at : under_column_[column]) taps.push_back((from + at) * channels);
      }
      pixel.taps = taps.data();
      pixel.tap_count = static_cast<int64_t>(taps.size());
      if (taps.empty()) {
        std::memset(pixel.y, is_signed ? -128 : 0, static_cast<size_t>(channels));
      } else {
        Loops().integers.largest_pixel[is_signed ? 1 : 0](pixel);
      }
    }
  }

  const int width_;
  const Operand source_;
  const Operand result_;
  const WindowAxis rows_;
  const WindowAxis columns_;
  std::vector<std::vector<int64_t>> under_column_;  // what of a line lies under a result's window
  std::vector<std::vector<int64_t>> taps_;          // of a pixel, of each thread
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPoolBytes(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty()) return context->Refuse();
  const auto groups = kPoolBytesOffer.grow(graph, nodes[0]);
  if (groups.size() != 1 || groups[0] != nodes) return context->Refuse();
  const Node& pool = graph.node(nodes[1]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source,
                         FindIn(context, graph.node(nodes[0]).inputs[0], Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(const Operand result,
                         FindIn(context, graph.node(nodes[2]).outputs[0], Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> axes,
      ReadWindow(*pool.attributes, source.type, pool.attributes->Ints("kernel_shape"),
                 pool.attributes->Int("ceil_mode", 0) != 0));
  return std::make_unique<PoolBytesKernel>(context->width(), source, result, axes[0], axes[1]);
}

}  // namespace plait
