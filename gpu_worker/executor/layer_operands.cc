#include "gpu_worker/executor/layer_operands.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {
namespace {

class ConvOperands : public LayerOperands {
 public:
  // `axes` has three (ThreeAxes).
  ConvOperands(const Graph& graph, std::vector<WindowAxis> axes) : axes_(std::move(axes)) {
    const Shape& input = graph.input_type(0, 0).shape;
    const Shape& weights = graph.input_type(0, 1).shape;
    points_ = {input[0], axes_[0].output, axes_[1].output, axes_[2].output};
    channels_ = weights[0];
    scope_elements_ = axes_[0].output * axes_[1].output * axes_[2].output;
    input_plane_ = axes_[0].input * axes_[1].input * axes_[2].input;
    input_channels_ = input[1];
    group_input_channels_ = weights[1];
    group_channels_ = channels_ / graph.node(0).attributes->Int("group", 1);
    terms_ = weights[1] * axes_[0].kernel * axes_[1].kernel * axes_[2].kernel;
    right_channel_stride_ = terms_;
  }

  int64_t Element(int64_t point, int64_t channel) const override {
    const int64_t image = point / scope_elements_;
    return (image * channels_ + channel) * scope_elements_ + point % scope_elements_;
  }

  void ReadLeft(const Tensor& input, int64_t point, int64_t channel, float* left) const override {
    const Window window = WindowAt(point, channel);
    const auto& [z, y, x] = window.axes;
    for (int64_t c = 0; c < group_input_channels_; ++c) {
      const int64_t plane = window.first_element + c * input_plane_;
      for (int64_t kz = 0; kz < axes_[0].kernel; ++kz) {
        for (int64_t ky = 0; ky < axes_[1].kernel; ++ky) {
          const bool is_inside = z.IsInside(kz) && y.IsInside(ky);
          const int64_t row = (z.start + kz * axes_[0].dilation) * axes_[1].input + y.start +
                              ky * axes_[1].dilation;
          const int64_t first = plane + row * axes_[2].input + x.start;
          for (int64_t kx = 0; kx < axes_[2].kernel; ++kx, ++left) {
            const int64_t element = first + kx * axes_[2].dilation;
            *left = is_inside && x.IsInside(kx) ? input.at<float>(element) : 0;
          }
        }
      }
    }
  }

  int64_t GroupEnd(int64_t channel) const override {
    return (channel / group_channels_ + 1) * group_channels_;
  }

  int64_t InputElement(int64_t point, int64_t channel) const override {
    const Window window = WindowAt(point, channel);
    int64_t element = 0;
    for (int i = 0; i < 3; ++i) element = element * axes_[i].input + FirstInput(window, i);
    return window.first_element + element;
  }

  std::vector<int64_t> PointsThatRead(int64_t point, int64_t channel) const override {
    const Window window = WindowAt(point, channel);
    // Places along the axes so far.
    std::vector<int64_t> points = {point / scope_elements_};
    for (int i = 0; i < 3; ++i) {
      const WindowAxis& axis = axes_[i];
      const int64_t position = FirstInput(window, i);
      std::vector<int64_t> longer;
      for (const int64_t before : points) {
        for (int64_t at = 0; at < axis.output; ++at) {
          const int64_t distance = position - axis.start(at);
          const bool is_read = distance >= 0 && distance % axis.dilation == 0 &&
                               distance / axis.dilation < axis.kernel;
          if (is_read) longer.push_back(before * axis.output + at);
        }
      }
      points = std::move(longer);
    }
    return points;
  }

  int64_t RightOffset(int64_t /*point*/) const override { return 0; }

  double Addend(const Tensor& addend, int64_t /*point*/, int64_t channel) const override {
    return addend.at<float>(channel);
  }

 private:
  // Along one axis: where kernel element 0 lies, and which of them [begin, end) lie on the input.
  struct WindowSpan {
    int64_t start;
    int64_t begin;
    int64_t end;
    bool IsInside(int64_t k) const { return k >= begin && k < end; }
  };
  // The window of one result, and the first element of its group's input channels.
  struct Window {
    std::array<WindowSpan, 3> axes;
    int64_t first_element;
  };

  // The first place along an axis that the window reads. One that lies on padding altogether reads
  // nothing, and any place will do.
  int64_t FirstInput(const Window& window, int i) const {
    const WindowAxis& axis = axes_[i];
    const int64_t position = window.axes[i].start + window.axes[i].begin * axis.dilation;
    return std::clamp<int64_t>(position, 0, axis.input - 1);
  }

  Window WindowAt(int64_t point, int64_t channel) const {
    const int64_t image = point / scope_elements_;
    const int64_t plane =
        image * input_channels_ + channel / group_channels_ * group_input_channels_;
    Window window{.axes = {}, .first_element = plane * input_plane_};
    int64_t rest = point % scope_elements_;
    for (int i = 2; i >= 0; --i) {
      const WindowAxis& axis = axes_[i];
      const int64_t at = rest % axis.output;
      window.axes[i] = {axis.start(at), axis.kernel_begin(at), axis.kernel_end(at)};
      rest /= axis.output;
    }
    return window;
  }

  const std::vector<WindowAxis> axes_;
  int64_t input_channels_;
  int64_t group_input_channels_;
  int64_t group_channels_;
  int64_t input_plane_;
};

// A product of matrices, one or a batch of them.
class ProductOperands : public LayerOperands {
 public:
  struct Layout {
    Shape batch;
    Shape left_batch;
    Shape right_batch;
    int64_t rows;
    int64_t columns;
    int64_t terms;
    bool transposes_left = false;
    bool transposes_right = false;
    Shape addend;  // of a Gemm's third input
  };

  ProductOperands(const Layout& layout, float factor, float addend_factor)
      : batch_strides_(RowMajorStrides(layout.batch)),
        left_batch_strides_(BroadcastStrides(layout.left_batch, layout.batch)),
        right_batch_strides_(BroadcastStrides(layout.right_batch, layout.batch)),
        addend_strides_(BroadcastStrides(layout.addend, {layout.rows, layout.columns})),
        batch_(layout.batch),
        rows_(layout.rows),
        left_row_stride_(layout.transposes_left ? 1 : layout.terms),
        left_term_stride_(layout.transposes_left ? layout.rows : 1),
        addend_factor_(addend_factor) {
    points_ = layout.batch;
    points_.push_back(layout.rows);
    channels_ = layout.columns;
    scope_elements_ = layout.columns;
    terms_ = layout.terms;
    right_term_stride_ = layout.transposes_right ? 1 : layout.columns;
    right_channel_stride_ = layout.transposes_right ? layout.terms : 1;
    factor_ = factor;
  }

  int64_t Element(int64_t point, int64_t channel) const override {
    return point * channels_ + channel;
  }

  void ReadLeft(const Tensor& input, int64_t point, int64_t /*channel*/,
                float* left) const override {
    const int64_t first = LeftOffset(point);
    for (int64_t k = 0; k < terms_; ++k) left[k] = input.at<float>(first + k * left_term_stride_);
  }

  int64_t GroupEnd(int64_t /*channel*/) const override { return channels_; }

  int64_t InputElement(int64_t point, int64_t /*channel*/) const override {
    return LeftOffset(point) + terms_ / 2 * left_term_stride_;
  }

  std::vector<int64_t> PointsThatRead(int64_t point, int64_t /*channel*/) const override {
    return {point};
  }

  int64_t RightOffset(int64_t point) const override {
    return BatchOffset(point, right_batch_strides_) * terms_ * channels_;
  }

  double Addend(const Tensor& addend, int64_t point, int64_t channel) const override {
    const int64_t row = point % rows_;
    return static_cast<double>(addend_factor_) *
           addend.at<float>(row * addend_strides_[0] + channel * addend_strides_[1]);
  }

 private:
  // How many matrices lie before the one that a point's row belongs to.
  int64_t BatchOffset(int64_t point, const Shape& strides) const {
    int64_t offset = 0;
    for (size_t i = 0; i < batch_.size(); ++i) {
      offset += point / rows_ / batch_strides_[i] % batch_[i] * strides[i];
    }
    return offset;
  }

  int64_t LeftOffset(int64_t point) const {
    return BatchOffset(point, left_batch_strides_) * rows_ * terms_ +
           point % rows_ * left_row_stride_;
  }

  const Shape batch_strides_;
  const Shape left_batch_strides_;
  const Shape right_batch_strides_;
  const Shape addend_strides_;
  const Shape batch_;
  const int64_t rows_;
  const int64_t left_row_stride_;
  const int64_t left_term_stride_;
  const float addend_factor_;
};

absl::StatusOr<std::unique_ptr<LayerOperands>> OfConv(const Graph& graph) {
  const Shape& weights = graph.input_type(0, 1).shape;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window,
                         ReadWindow(*graph.node(0).attributes, graph.input_type(0, 0),
                                    absl::MakeConstSpan(weights).subspan(2), /*ceil_mode=*/false));
  return std::make_unique<ConvOperands>(graph, ThreeAxes(window));
}

Shape Leading(const Shape& shape) {
  return Shape(shape.begin(), shape.end() - std::min<size_t>(shape.size(), 2));
}

absl::StatusOr<std::unique_ptr<LayerOperands>> OfMatMul(const Graph& graph) {
  const Shape& left = graph.input_type(0, 0).shape;
  const Shape& right = graph.input_type(0, 1).shape;
  ProductOperands::Layout layout;
  layout.left_batch = Leading(left);
  layout.right_batch = Leading(right);
  PLAIT_ASSIGN_OR_RETURN(layout.batch, BroadcastShapes(layout.left_batch, layout.right_batch));
  layout.rows = left.size() == 1 ? 1 : left[left.size() - 2];
  layout.columns = right.size() == 1 ? 1 : right.back();
  layout.terms = left.back();
  return std::make_unique<ProductOperands>(layout, 1, 1);
}

absl::StatusOr<std::unique_ptr<LayerOperands>> OfGemm(const Graph& graph) {
  const Node& node = graph.node(0);
  ProductOperands::Layout layout;
  layout.transposes_left = node.attributes->Int("transA", 0) != 0;
  layout.transposes_right = node.attributes->Int("transB", 0) != 0;
  const Shape& left = graph.input_type(0, 0).shape;
  layout.rows = graph.output_type(0).shape[0];
  layout.columns = graph.output_type(0).shape[1];
  layout.terms = left[layout.transposes_left ? 0 : 1];
  if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
    layout.addend = graph.input_type(0, 2).shape;
  }
  return std::make_unique<ProductOperands>(layout, node.attributes->Float("alpha", 1),
                                           node.attributes->Float("beta", 1));
}

}  // namespace

bool IsLayer(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  const bool is_product = op == OpKind::kConv || op == OpKind::kMatMul || op == OpKind::kGemm;
  return is_product && graph.output_type(node).dtype == DataType::kFloat32;
}

absl::StatusOr<std::unique_ptr<LayerOperands>> LayerOperands::Create(const Graph& graph) {
  const OpKind op = graph.node(0).op;
  if (op == OpKind::kConv) return OfConv(graph);
  return op == OpKind::kMatMul ? OfMatMul(graph) : OfGemm(graph);
}

}  // namespace plait
