#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/einsum_equation.h"
#include "optimizer/ops/shared/einsum_products.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

absl::StatusOr<EinsumEquation> EquationOf(const OpCall& call) {
  return ReadEinsumEquation(call.attributes.String("equation", ""), call.input_types);
}

Types InferEinsum(const OpCall& call) {
  for (size_t i = 0; i < call.input_types.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kNumber));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  PLAIT_ASSIGN_OR_RETURN(const EinsumEquation equation, EquationOf(call));
  Shape shape;
  for (const int label : equation.output) shape.push_back(equation.extents[label]);
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// By the definition: a product of all inputs and an addition for each combination of labels.
Work WorkOfEinsum(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const absl::StatusOr<EinsumEquation> equation = EquationOf(call);
  if (!equation.ok()) return work;
  work.flops = static_cast<int64_t>(call.input_types.size());
  for (const int64_t extent : equation->extents) {
    work.flops = SaturatingMultiply(work.flops, extent);
  }
  return work;
}

// A label that the loops run along, and how far it moves in each input: by nothing where the input
// has not got it or has one element, and along a diagonal where it stands twice.
struct Loop {
  int64_t extent;
  std::vector<int64_t> strides;
};

Loop LoopOf(const EinsumEquation& equation, absl::Span<const TensorType> inputs, int label) {
  Loop loop = {equation.extents[label], std::vector<int64_t>(inputs.size())};
  for (size_t i = 0; i < inputs.size(); ++i) {
    int64_t stride = 1;
    for (size_t axis = inputs[i].shape.size(); axis-- > 0; stride *= inputs[i].shape[axis]) {
      const bool moves = equation.inputs[i][axis] == label && inputs[i].shape[axis] > 1;
      if (moves) loop.strides[i] += stride;
    }
  }
  return loop;
}

// Counts the loops' positions, the last one fastest, with the offset in each input.
class Odometer {
 public:
  Odometer(std::vector<Loop> loops, size_t inputs)
      : loops_(std::move(loops)), at_(loops_.size()), offsets_(inputs) {}

  int64_t offset(size_t input) const { return offsets_[input]; }

  // False behind the last position, where it begins anew.
  bool Advance() {
    for (size_t i = loops_.size(); i-- > 0;) {
      const bool wraps = ++at_[i] == loops_[i].extent;
      const int64_t steps = wraps ? 1 - loops_[i].extent : 1;
      for (size_t input = 0; input < offsets_.size(); ++input) {
        offsets_[input] += steps * loops_[i].strides[input];
      }
      if (!wraps) return true;
      at_[i] = 0;
    }
    return false;
  }

 private:
  std::vector<Loop> loops_;
  std::vector<int64_t> at_;
  std::vector<int64_t> offsets_;
};

template <typename T>
void Contract(const EinsumEquation& equation, const OpCall& call, EvalInputs inputs,
              std::vector<T>* output) {
  std::vector<const T*> values;
  for (const EvalTensor* input : inputs) {
    const auto& elements = std::get<std::vector<T>>(input->values);
    if (elements.empty()) return;
    values.push_back(elements.data());
  }
  std::vector<Loop> kept;
  std::vector<Loop> summed;
  for (const int label : equation.output) {
    kept.push_back(LoopOf(equation, call.input_types, label));
  }
  for (const int label : equation.summed) {
    summed.push_back(LoopOf(equation, call.input_types, label));
  }
  Odometer outer(std::move(kept), values.size());
  Odometer inner(std::move(summed), values.size());
  for (T& sum : *output) {
    do {
      T product(1);
      for (size_t i = 0; i < values.size(); ++i) {
        product = MultiplyAdd(product, values[i][outer.offset(i) + inner.offset(i)], T(0));
      }
      sum = MultiplyAdd(T(1), product, sum);
    } while (inner.Advance());
    outer.Advance();
  }
}

absl::Status EvaluateEinsum(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const EinsumEquation equation, EquationOf(call));
  std::visit([&](auto& output) { Contract(equation, call, inputs, &output); }, outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y[labels behind the arrow] = sum over all others of the product of the inputs, each at its own
// labels (Einstein, Die Grundlage der allgemeinen Relativitaetstheorie, 1916, section 5).
const OpSpec kEinsumSpec = {
    .kind = OpKind::kEinsum,
    .since_opset = 12,
    .inputs = {1, kVariadic},
    .infer = InferEinsum,
    .work = WorkOfEinsum,
    .evaluate = EvaluateEinsum,
    .expand = ExpandEinsum,
    .expands_at_import = IsEinsumOfProducts,
};

}  // namespace plait
