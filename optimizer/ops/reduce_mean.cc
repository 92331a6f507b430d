#include <type_traits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/quotient.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

Types InferReduceMean(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  // Runtimes make a NaN or a zero of it.
  if (reduction.count == 0) return absl::UnimplementedError("the mean of no element");
  return InferReduce(call, TypeSet::kNumber);
}

// uint64 lies in int64. No other type asks for this.
template <typename T>
T UnsignedQuotient(T sum, int64_t count) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(sum) / static_cast<uint64_t>(count));
  }
  return sum;
}

absl::Status EvaluateReduceMean(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  const bool is_unsigned = outputs[0].type.dtype == DataType::kUint64;
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(0), [](T a, T b) { return MultiplyAdd(a, T(1), b); }, &output);
        for (T& sum : output) {
          sum =
              is_unsigned ? UnsignedQuotient(sum, reduction.count) : Quotient(sum, reduction.count);
        }
      },
      outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y = the mean of x over the axes; integers truncate, in GF(p) the sum is multiplied by the inverse
// of the count. The axes are an input since opset 18.
const OpSpec kReduceMeanSpec = {
    .kind = OpKind::kReduceMean,
    .inputs = {1, 2},
    .infer = InferReduceMean,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceMean,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandReduce,
};

}  // namespace plait
