#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/transposed_window.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

// Along one axis with stride 2 and a kernel of 4, the uncut result is
//   y[2q + r] = w[r] x[q] + w[r + 2] x[q - 1]
// for both phases r: two convolutions of x, padded by one on either side, by kernels of two, which
// are (w[2], w[0]) and (w[3], w[1]). As channels of one convolution they are computed together, and
// interleaved they are y, of which the pads of the ConvTranspose cut off the ends. A kernel of 3 is
// one of 4 whose last element is zero.

namespace plait {
namespace {

constexpr int64_t kAllBackwards = std::numeric_limits<int64_t>::min();

// One of both spatial axes.
struct Phases {
  int64_t stride = 1;
  int64_t taps = 1;  // of each phase's kernel
  int64_t cut = 0;   // in front
  int64_t result = 1;

  int64_t padded_kernel() const { return stride * taps; }
};

Tensor Int64s(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

// nullopt where the window has gaps, or the result reaches behind all phases.
std::optional<Phases> PhasesOf(const WindowAxis& axis) {
  if (axis.dilation != 1) return std::nullopt;
  Phases phases{.stride = axis.stride,
                .taps = (axis.kernel + axis.stride - 1) / axis.stride,
                .cut = axis.pad_begin,
                .result = axis.input};
  const int64_t uncut = phases.stride * (axis.output + phases.taps - 1);
  if (phases.cut + phases.result > uncut) return std::nullopt;
  return phases;
}

class Maker {
 public:
  Maker(const Graph& graph, NodeId node, const Phases& rows, const Phases& columns)
      : graph_(graph),
        node_(node),
        x_(graph.input_type(node, 0).shape),
        w_(graph.input_type(node, 1).shape),
        rows_(rows),
        columns_(columns),
        builder_(graph) {}

  Rewrites Run() {
    Attributes attributes;
    attributes.Set("kernel_shape", std::vector<int64_t>{rows_.taps, columns_.taps});
    const int64_t above = rows_.taps - 1, left = columns_.taps - 1;
    attributes.Set("pads", std::vector<int64_t>{above, left, above, left});
    const TensorId phases = builder_.Add(OpKind::kConv, std::move(attributes),
                                         {graph_.node(node_).inputs[0], Weights(), Bias()});
    return builder_.Replace(node_, Cut(Interleaved(phases)));
  }

 private:
  int64_t phase_count() const { return rows_.stride * columns_.stride; }
  int64_t height() const { return x_[2] + rows_.taps - 1; }
  int64_t width() const { return x_[3] + columns_.taps - 1; }

  // [c, k, rows, columns] as [k * phases, c, taps, taps].
  TensorId Weights() {
    TensorId w = graph_.node(node_).inputs[1];
    const int64_t below = rows_.padded_kernel() - w_[2];
    const int64_t right = columns_.padded_kernel() - w_[3];
    if (below + right > 0) {
      w = builder_.Fold(OpKind::kPad,
                        {w, builder_.AddConstant(Int64s({0, 0, 0, 0, 0, 0, below, right}))});
    }
    w = builder_.Reshape(w,
                         {w_[0], w_[1], rows_.taps, rows_.stride, columns_.taps, columns_.stride});
    if (rows_.taps > 1 || columns_.taps > 1) {
      w = builder_.Fold(
          OpKind::kSlice,
          {w, builder_.AddConstant(Int64s({-1, -1})),
           builder_.AddConstant(Int64s({kAllBackwards, kAllBackwards})),
           builder_.AddConstant(Int64s({2, 4})), builder_.AddConstant(Int64s({-1, -1}))});
    }
    Attributes attributes;
    attributes.Set("perm", std::vector<int64_t>{1, 3, 5, 0, 2, 4});
    w = builder_.Fold(OpKind::kTranspose, {w}, std::move(attributes));
    return builder_.Reshape(w, {w_[1] * phase_count(), w_[0], rows_.taps, columns_.taps});
  }

  // Each number once for each phase.
  TensorId Bias() {
    const Node& node = graph_.node(node_);
    if (node.inputs.size() < 3 || node.inputs[2] == kNoTensor) return kNoTensor;
    const TensorId column = builder_.Reshape(node.inputs[2], {w_[1], 1});
    const TensorId all = builder_.Fold(
        OpKind::kExpand, {column, builder_.AddConstant(Int64s({w_[1], phase_count()}))});
    return builder_.Reshape(all, {w_[1] * phase_count()});
  }

  TensorId Interleaved(TensorId phases) {
    const TensorId apart = builder_.Add(
        OpKind::kReshape, {},
        {phases, builder_.AddConstant(
                     Int64s({x_[0], w_[1], rows_.stride, columns_.stride, height(), width()}))});
    Attributes attributes;
    attributes.Set("perm", std::vector<int64_t>{0, 1, 4, 2, 5, 3});
    const TensorId beside = builder_.Add(OpKind::kTranspose, std::move(attributes), {apart});
    return builder_.Add(OpKind::kReshape, {},
                        {beside, builder_.AddConstant(Int64s({x_[0], w_[1], height() * rows_.stride,
                                                              width() * columns_.stride}))});
  }

  TensorId Cut(TensorId whole) {
    if (rows_.result == height() * rows_.stride && columns_.result == width() * columns_.stride) {
      return whole;
    }
    return builder_.Add(
        OpKind::kSlice, {},
        {whole, builder_.AddConstant(Int64s({rows_.cut, columns_.cut})),
         builder_.AddConstant(Int64s({rows_.cut + rows_.result, columns_.cut + columns_.result})),
         builder_.AddConstant(Int64s({2, 3}))});
  }

  const Graph& graph_;
  const NodeId node_;
  const Shape& x_;
  const Shape& w_;
  const Phases rows_;
  const Phases columns_;
  RewriteBuilder builder_;
};

Rewrites MatchConvFromConvTranspose(const Rule& rule, const Graph& graph, NodeId node) {
  const Node& transposed = graph.node(node);
  const TensorType& x = graph.input_type(node, 0);
  const TensorType& w = graph.input_type(node, 1);
  if (!x.known() || !w.known() || x.rank() != 4 || !IsFloat(x.dtype)) return {};
  if (transposed.attributes->Int("group", 1) != 1) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, node), " has groups"); });
  }
  if (graph.constant(node, 1) == nullptr) {
    return rule.misses.Because(
        [&] { return absl::StrCat("the weights of ", NodeText(graph, node), " are no constant"); });
  }
  const absl::StatusOr<std::vector<WindowAxis>> window =
      ReadTransposedWindow(*transposed.attributes, x, absl::MakeConstSpan(w.shape).subspan(2));
  if (!window.ok()) return {};
  const std::optional<Phases> rows = PhasesOf((*window)[0]);
  const std::optional<Phases> columns = PhasesOf((*window)[1]);
  if (!rows.has_value() || !columns.has_value()) {
    return rule.misses.Because([&] {
      return absl::StrCat("the window of ", NodeText(graph, node),
                          " has gaps, or its result reaches behind all of it");
    });
  }
  return Maker(graph, node, *rows, *columns).Run();
}

}  // namespace

const Rule kConvFromConvTranspose = {
    .name = "conv_from_conv_transpose",
    .law = "ConvTranspose(x, w) = interleaved phases of Conv(x, w by phases), cut",
    // A convolution of as many channels as there are phases has faster kernels on some devices, and
    // has one where there is none for a ConvTranspose. Interleaving moves the result once more.
    .root = OpKind::kConvTranspose,
    .match = MatchConvFromConvTranspose,
};

}  // namespace plait
