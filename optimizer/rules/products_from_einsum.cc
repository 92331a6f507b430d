#include <algorithm>
#include <utility>

#include "optimizer/ops/shared/einsum_equation.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

// "bhid,bhjd->bhij" of queries and keys becomes a transposition of the keys and a MatMul. In
// general two operands have labels of four kinds: those of both that stay (batch), those of both
// that are summed (shared), and those of one of them. Laid out as [batch, left, shared] and
// [batch, shared, right] they are matrices. More than two are multiplied from left to right.

namespace plait {
namespace {

using Labels = std::vector<int>;

// A tensor whose axes have labels.
struct Labelled {
  TensorId tensor;
  Labels labels;
};

bool Has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels Join(std::initializer_list<Labels> lists) {
  Labels all;
  for (const Labels& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

class Contraction {
 public:
  Contraction(const Graph& graph, const EinsumEquation& equation)
      : graph_(graph), equation_(equation), builder_(graph) {}

  RewriteBuilder& builder() { return builder_; }

  // The operand without the labels that nobody needs behind it.
  Labelled SumUnneeded(const Labelled& operand, const Labels& needed) {
    std::vector<int64_t> axes;
    Labels rest;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      if (Has(needed, operand.labels[i])) {
        rest.push_back(operand.labels[i]);
      } else {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (axes.empty()) return operand;
    const TensorId list = builder_.AddConstant(Tensor::Int64s(axes));
    return {builder_.Add(OpKind::kReduceSum, {{"keepdims", int64_t{0}}}, {operand.tensor, list}),
            std::move(rest)};
  }

  Labelled Transpose(const Labelled& operand, const Labels& order) {
    if (operand.labels == order) return operand;
    std::vector<int64_t> permutation;
    for (const int label : order) {
      permutation.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) -
                            operand.labels.begin());
    }
    return {builder_.Add(OpKind::kTranspose, {{"perm", std::move(permutation)}}, {operand.tensor}),
            order};
  }

  // Both operands in one tensor that has the labels in `needed` only.
  Labelled Multiply(Labelled left, Labelled right, const Labels& needed) {
    left = SumUnneeded(left, Join({right.labels, needed}));
    right = SumUnneeded(right, Join({left.labels, needed}));
    // A constant matrix is packed once if it is the right one.
    if (IsConstant(left.tensor) && !IsConstant(right.tensor)) std::swap(left, right);
    Labels batch, shared, only_left, only_right;
    for (const int label : left.labels) {
      Labels& kind = !Has(right.labels, label) ? only_left : Has(needed, label) ? batch : shared;
      kind.push_back(label);
    }
    for (const int label : right.labels) {
      if (!Has(left.labels, label)) only_right.push_back(label);
    }
    const Labels result = Join({batch, only_left, only_right});
    left = Transpose(left, Join({batch, only_left, shared}));
    right = Transpose(right, Join({batch, shared, only_right}));
    if (shared.empty()) {
      // Elementwise, with axes of 1 in the place of the other's labels.
      const TensorId a =
          Reshape(left.tensor, Extents(batch), Extents(only_left), Shape(only_right.size(), 1));
      const TensorId b =
          Reshape(right.tensor, Extents(batch), Shape(only_left.size(), 1), Extents(only_right));
      return {builder_.Add(OpKind::kMul, {}, {a, b}), result};
    }
    // With one matrix on the right the rows of the left one may have any axes.
    const Shape rows = batch.empty() ? Extents(only_left) : Shape{Product(only_left)};
    const TensorId a = Reshape(left.tensor, Extents(batch), rows, {Product(shared)});
    const TensorId b =
        Reshape(right.tensor, Extents(batch), {Product(shared)}, {Product(only_right)});
    const TensorId product = builder_.Add(OpKind::kMatMul, {}, {a, b});
    return {Reshape(product, Extents(batch), Extents(only_left), Extents(only_right)), result};
  }

 private:
  bool IsConstant(TensorId tensor) const {
    return tensor != kNoTensor && tensor < graph_.tensor_count() &&
           graph_.tensor(tensor).constant != nullptr;
  }

  Shape Extents(const Labels& labels) const {
    Shape extents;
    for (const int label : labels) extents.push_back(equation_.extents[label]);
    return extents;
  }

  int64_t Product(const Labels& labels) const { return ElementsOf(Extents(labels)); }

  TensorId Reshape(TensorId tensor, Shape shape, const Shape& middle, const Shape& last) {
    shape.insert(shape.end(), middle.begin(), middle.end());
    shape.insert(shape.end(), last.begin(), last.end());
    if (tensor != kNoTensor && builder_.type(tensor).shape == shape) return tensor;
    const TensorId wanted = builder_.AddConstant(Tensor::Int64s(shape));
    return builder_.Add(OpKind::kReshape, {{"allowzero", int64_t{1}}}, {tensor, wanted});
  }

  const Graph& graph_;
  const EinsumEquation& equation_;
  RewriteBuilder builder_;
};

// Diagonals, axes of 1 that are repeated, and empty tensors have no products here.
bool IsPlain(const EinsumEquation& equation, absl::Span<const TensorType> types) {
  for (size_t i = 0; i < types.size(); ++i) {
    Labels labels = equation.inputs[i];
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      const int64_t extent = types[i].shape[axis];
      if (extent == 0 || extent != equation.extents[labels[axis]]) return false;
    }
    std::sort(labels.begin(), labels.end());
    if (std::adjacent_find(labels.begin(), labels.end()) != labels.end()) return false;
  }
  return true;
}

Rewrites MatchProductsFromEinsum(const Rule&, const Graph& graph, NodeId node) {
  const Node& einsum = graph.node(node);
  std::vector<TensorType> types;
  for (const TensorId input : einsum.inputs) {
    if (input == kNoTensor) return {};
    types.push_back(graph.type(input));
  }
  const absl::StatusOr<EinsumEquation> equation =
      ReadEinsumEquation(einsum.attributes->String("equation", ""), types);
  if (!equation.ok() || !IsPlain(*equation, types)) return {};
  Contraction contraction(graph, *equation);
  Labelled product = {einsum.inputs[0], equation->inputs[0]};
  for (size_t i = 1; i < types.size(); ++i) {
    Labels needed = equation->output;
    for (size_t later = i + 1; later < types.size(); ++later) {
      needed = Join({needed, equation->inputs[later]});
    }
    product = contraction.Multiply(product, {einsum.inputs[i], equation->inputs[i]}, needed);
  }
  product = contraction.SumUnneeded(product, equation->output);
  product = contraction.Transpose(product, equation->output);
  return contraction.builder().Replace(node, product.tensor);
}

}  // namespace

const Rule kProductsFromEinsum = {
    .name = "products_from_einsum",
    .law = "Einsum(a, b) = Transpose(MatMul(matrix of a, matrix of b))",
    .root = OpKind::kEinsum,
    .match = MatchProductsFromEinsum,
    .always_wins = true,
};

}  // namespace plait
