#include "optimizer/ops/shared/einsum_products.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/einsum_equation.h"
#include "optimizer/ops/shared/expansion.h"

// In general two operands have labels of four kinds: those of both that stay (batch), those of both
// that are summed (shared), and those of one of them. Laid out as [batch, left, shared] and
// [batch, shared, right] they are matrices. More than two are multiplied from left to right.

namespace plait {
namespace {

// 2^20: 4 MiB, which lie in the second caches or not far from them.
constexpr int64_t kProductElementsMax = int64_t{1} << 20;

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
  Contraction(const EinsumEquation& equation, GraphBuilder* builder)
      : equation_(equation), builder_(builder), expansion_(builder) {}

  Expansion& expansion() { return expansion_; }

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
    const TensorId list = expansion_.Ints(std::move(axes));
    return {expansion_.Add(OpKind::kReduceSum, {operand.tensor, list}, {{"keepdims", int64_t{0}}}),
            std::move(rest)};
  }

  Labelled Transpose(const Labelled& operand, const Labels& order) {
    if (operand.labels == order) return operand;
    std::vector<int64_t> permutation;
    for (const int label : order) {
      permutation.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) -
                            operand.labels.begin());
    }
    return {
        expansion_.Add(OpKind::kTranspose, {operand.tensor}, {{"perm", std::move(permutation)}}),
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
      return {expansion_.Add(OpKind::kMul, {a, b}), result};
    }
    // With one matrix on the right the rows of the left one may have any axes.
    const Shape rows = batch.empty() ? Extents(only_left) : Shape{Product(only_left)};
    const TensorId a = Reshape(left.tensor, Extents(batch), rows, {Product(shared)});
    const TensorId b =
        Reshape(right.tensor, Extents(batch), {Product(shared)}, {Product(only_right)});
    const TensorId product = expansion_.Add(OpKind::kMatMul, {a, b});
    return {Reshape(product, Extents(batch), Extents(only_left), Extents(only_right)), result};
  }

 private:
  bool IsConstant(TensorId tensor) const {
    return tensor != kNoTensor && builder_->tensor(tensor).constant != nullptr;
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
    if (expansion_.type(tensor).shape == shape) return tensor;
    const TensorId wanted = expansion_.Ints({shape.begin(), shape.end()});
    return expansion_.Add(OpKind::kReshape, {tensor, wanted}, {{"allowzero", int64_t{1}}});
  }

  const EinsumEquation& equation_;
  GraphBuilder* const builder_;
  Expansion expansion_;
};

// What MatMul takes in every opset that has Einsum.
bool IsMultiplied(DataType dtype) {
  return dtype == DataType::kFloat32 || dtype == DataType::kFloat64 || dtype == DataType::kInt32 ||
         dtype == DataType::kInt64 || dtype == DataType::kUint32 || dtype == DataType::kUint64;
}

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

// A search over orders would find smaller products for some of those that this refuses; exporters
// write two operands, or three in an order that is good.
absl::Status CheckProduct(const TensorType& product, const EinsumEquation& equation,
                          absl::Span<const TensorType> operands) {
  int64_t elements_max = kProductElementsMax;
  for (const TensorType& operand : operands) {
    elements_max = std::max(elements_max, operand.elements());
  }
  int64_t result = 1;
  for (const int label : equation.output) {
    result = SaturatingMultiply(result, equation.extents[label]);
  }
  if (product.elements() <= std::max(elements_max, result)) return absl::OkStatus();
  return absl::UnimplementedError("products on the way that are larger than operands and result");
}

}  // namespace

absl::StatusOr<std::vector<TensorId>> ExpandEinsum(const Node& node, GraphBuilder* builder) {
  std::vector<TensorType> types;
  for (const TensorId input : node.inputs) types.push_back(builder->tensor(input).type);
  const DataType dtype = types[0].dtype;
  PLAIT_ASSIGN_OR_RETURN(const EinsumEquation equation,
                         ReadEinsumEquation(node.attributes->String("equation", ""), types));
  if (!IsMultiplied(WideType(dtype)) || !IsPlain(equation, types)) {
    return absl::UnimplementedError("no products");
  }
  Contraction contraction(equation, builder);
  Expansion& expansion = contraction.expansion();
  const auto operand = [&](size_t i) -> Labelled {
    return {expansion.Cast(node.inputs[i], WideType(dtype)), equation.inputs[i]};
  };
  Labelled product = operand(0);
  for (size_t i = 1; i < types.size(); ++i) {
    Labels needed = equation.output;
    for (size_t later = i + 1; later < types.size(); ++later) {
      needed = Join({needed, equation.inputs[later]});
    }
    product = contraction.Multiply(product, operand(i), needed);
    PLAIT_RETURN_IF_ERROR(CheckProduct(expansion.type(product.tensor), equation, types));
  }
  product = contraction.SumUnneeded(product, equation.output);
  product = contraction.Transpose(product, equation.output);
  return expansion.Outputs({expansion.Cast(product.tensor, dtype)});
}

bool IsEinsumOfProducts(const OpCall& call) {
  GraphBuilder builder;
  Node node;
  node.op = OpKind::kEinsum;
  node.attributes = MakeAttributes(call.attributes);
  for (size_t i = 0; i < call.input_types.size(); ++i) {
    node.inputs.push_back(builder.AddInput(call.input_types[i], ""));
  }
  return ExpandEinsum(node, &builder).ok();
}

}  // namespace plait
