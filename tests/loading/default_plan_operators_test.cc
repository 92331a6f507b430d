#include <gtest/gtest.h>

#include "loading/default_plan.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

// Operators that exporters emit every day run by kernels of the processor in a model that nobody
// has optimized: none of them is left to reference code.

namespace plait {
namespace {

struct OperatorCase {
  const char* name;
  const char* graph;                   // in ONNX's text form
  std::vector<int64_t> constant = {};  // named "c"; empty: there is none

  friend void PrintTo(const OperatorCase& one, std::ostream* out) { *out << one.name; }
};

class DefaultPlanOperatorsTest : public testing::TestWithParam<OperatorCase> {};

TEST_P(DefaultPlanOperatorsTest, RunByKernels) {
  const OperatorCase& one = GetParam();
  const Model model = ModelWith({}, GraphBytes(22, one.graph, [&](::onnx::ModelProto* proto) {
                                  if (one.constant.empty()) return;
                                  *proto->mutable_graph()->add_initializer() =
                                      Int64Tensor("c", one.constant);
                                }));
  const absl::StatusOr<Bound> bound = Bind(model, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const auto executor = OpenCpu(2);
  const absl::StatusOr<DefaultPlan> made =
      LoadDefaultPlan(model, *bound, ReadFilePlans(model), *executor);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->loaded.executable->fallback_nodes(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, DefaultPlanOperatorsTest,
    testing::Values(
        OperatorCase{"GatherElements",
                     "g (float[1,90,8] x, int64[1,30,8] i) => (float[1,30,8] y) "
                     "{ y = GatherElements<axis=1>(x, i) }"},
        OperatorCase{"GatherND",
                     "g (float[9,5,16] x, int64[7,2] i) => (float[7,16] y) { y = GatherND(x, i) }"},
        OperatorCase{"PadReflect",
                     "g (float[1,3,8,8] x) => (float[1,3,10,10] y) "
                     "{ y = Pad<mode=\"reflect\">(x, c) }",
                     {0, 0, 1, 1, 0, 0, 1, 1}},
        OperatorCase{"PadEdge",
                     "g (float[1,3,8] x) => (float[1,3,11] y) { y = Pad<mode=\"edge\">(x, c) }",
                     {0, 0, 1, 0, 0, 2}},
        OperatorCase{"PadWrap",
                     "g (float[1,3,8] x) => (float[1,3,11] y) { y = Pad<mode=\"wrap\">(x, c) }",
                     {0, 0, 1, 0, 0, 2}},
        OperatorCase{"Trilu", "g (float[1,9,9] x) => (float[1,9,9] y) { y = Trilu<upper=0>(x) }"},
        OperatorCase{"ReverseSequence",
                     "g (float[9,3,16] x, int64[3] l) => (float[9,3,16] y) "
                     "{ y = ReverseSequence(x, l) }"},
        OperatorCase{
            "ReduceProd", "g (float[3,4,5] x) => (float[3,1,5] y) { y = ReduceProd(x, c) }", {1}},
        OperatorCase{"ReduceSumOfIntegers",
                     "g (int64[3,4] x) => (int64[3,1] y) { y = ReduceSum(x, c) }",
                     {-1}},
        OperatorCase{"ReduceMeanOfSeparateAxes",
                     "g (float[3,4,5] x) => (float[1,4,1] y) { y = ReduceMean(x, c) }",
                     {0, 2}},
        OperatorCase{"RnnOfSoftsigns",
                     "g (float[5,2,3] x) => (float[5,1,2,4] y) {"
                     " cw = Constant<value_ints=[1,4,3]>()"
                     " cr = Constant<value_ints=[1,4,4]>()"
                     " w = ConstantOfShape<value=float[1]{0.2}>(cw)"
                     " r = ConstantOfShape<value=float[1]{0.1}>(cr)"
                     " y = RNN<hidden_size=4, activations=[\"Softsign\"]>(x, w, r) }"},
        OperatorCase{"ResizeOfACrop",
                     "g (float[1,3,8,8] x) => (float[1,3,5,5] y) {"
                     " roi = Constant<value_floats=[0.0,0.0,0.2,0.2,1.0,1.0,0.7,0.7]>()"
                     " y = Resize<mode=\"linear\","
                     " coordinate_transformation_mode=\"tf_crop_and_resize\">(x, roi, , c) }",
                     {1, 3, 5, 5}},
        OperatorCase{"QLinearConvOfVolumes",
                     "g (uint8[1,2,5,5,5] x) => (uint8[1,3,3,3,3] y) {"
                     " xs = Constant<value = float {0.1}>()"
                     " xz = Constant<value = uint8 {120}>()"
                     " cw = Constant<value_ints=[3,2,3,3,3]>()"
                     " w = ConstantOfShape<value = uint8[1] {3}>(cw)"
                     " wz = Constant<value = uint8 {2}>()"
                     " y = QLinearConv(x, xs, xz, w, xs, wz, xs, xz) }"}),
    [](const testing::TestParamInfo<OperatorCase>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait
