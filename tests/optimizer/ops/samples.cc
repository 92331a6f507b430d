#include "tests/optimizer/ops/samples.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plait {
namespace {

constexpr char kX[] = "input %x: float32[2,3,4]\n";
constexpr char kXy[] = "input %a: float32[2,3,4]\ninput %b: float32[3,1]\n";
constexpr char kBools[] = "input %a: bool[2,3,4]\ninput %b: bool[4]\n";
constexpr char kImage[] = "input %x: float32[1,2,5,6]\n";
constexpr char kFloats[] = "float32[2,3,4]";
constexpr char kAxis1[] = "input %x: float32[2,3,4]\nconst %axes: int64[1] = [1]\n";
constexpr char kAxis1Integers[] = "input %x: int32[2,3,4]\nconst %axes: int64[1] = [-2]\n";

constexpr OperatorSample kSamples[] = {
    {"Abs", kX, "%y = Abs(%x)", kFloats},
    {"Add", kXy, "%y = Add(%a, %b)", kFloats},
    {"And", kBools, "%y = And(%a, %b)", "bool[2,3,4]"},
    {"Attention",
     "input %q: float32[2,4,5,6]\ninput %k: float32[2,2,7,6]\ninput %v: float32[2,2,7,3]\n",
     "%y = Attention(%q, %k, %v) {is_causal=1}", "float32[2,4,5,3]"},
    {"Attention",
     "input %q: float32[2,5,12]\ninput %k: float32[2,7,12]\ninput %v: float32[2,7,8]\n"
     "input %m: float32[2,1,5,7]\n",
     "%y = Attention(%q, %k, %v, %m) {q_num_heads=4, kv_num_heads=4, scale=0.5, softcap=2.0}",
     "float32[2,5,8]"},
    {"Attention",
     "input %q: float32[1,4,3,6]\ninput %k: float32[1,2,2,6]\ninput %v: float32[1,2,2,5]\n"
     "const %m: bool[3,2] = [1,0,0,0,1,1]\n",
     "%y = Attention(%q, %k, %v, %m) {is_causal=1}", "float32[1,4,3,5]"},
    {"AveragePool", kImage,
     "%y = AveragePool(%x) {kernel_shape=[3,4], strides=[2,3], pads=[1,0,1,0], ceil_mode=1}",
     "float32[1,2,3,2]"},
    {"AveragePool", kImage,
     "%y = AveragePool(%x) {kernel_shape=[3,2], pads=[1,0,1,1], count_include_pad=1}",
     "float32[1,2,5,6]"},
    {"BatchNormalization",
     "input %x: float32[2,3,4]\ninput %s: float32[3]\ninput %b: float32[3]\n"
     "input %m: float32[3]\nconst %v: float32[3] = [0.5,1,2]\n",
     "%y = BatchNormalization(%x, %s, %b, %m, %v) {epsilon=0.001}", kFloats},
    {"Cast", kX, "%y = Cast(%x) {to=7}", "int64[2,3,4]"},
    {"Ceil", kX, "%y = Ceil(%x)", kFloats},
    {"Clip", "input %x: float32[2,3,4]\nconst %low: float32[] = [-0.5]\n", "%y = Clip(%x, %low)",
     kFloats},
    {"Concat", "input %a: float32[2,3]\ninput %b: float32[2,1]\n", "%y = Concat(%a, %b) {axis=-1}",
     "float32[2,4]"},
    {"ConstantOfShape", "const %s: int64[2] = [2,3]\n",
     "%y = ConstantOfShape(%s) {value=tensor float32[1] [2]}", "float32[2,3]"},
    {"Conv", "input %x: float32[2,4,5,6]\ninput %w: float32[6,2,3,2]\ninput %b: float32[6]\n",
     "%y = Conv(%x, %w, %b) {group=2, pads=[1,0,2,1], strides=[2,1], dilations=[1,2]}",
     "float32[2,6,3,5]"},
    {"Conv", "input %x: float32[1,2,9]\ninput %w: float32[3,2,3]\n",
     "%y = Conv(%x, %w) {strides=[2]}", "float32[1,3,4]"},
    {"Conv", "input %x: float32[1,2,3,4,5]\ninput %w: float32[2,2,2,2,2]\n", "%y = Conv(%x, %w)",
     "float32[1,2,2,3,4]"},
    {"Cos", kX, "%y = Cos(%x)", kFloats},
    {"CumSum", "input %x: float32[2,3]\nconst %axis: int64[] = [1]\n",
     "%y = CumSum(%x, %axis) {reverse=1}", "float32[2,3]"},
    {"Div", kXy, "%y = Div(%a, %b)", kFloats},
    {"Dropout", kX, "%y, %y1 = Dropout(%x)", "float32[2,3,4] bool[2,3,4]"},
    {"Elu", kX, "%y = Elu(%x) {alpha=0.5}", kFloats},
    {"Equal", kXy, "%y = Equal(%a, %b)", "bool[2,3,4]"},
    {"Erf", kX, "%y = Erf(%x)", kFloats},
    {"Exp", kX, "%y = Exp(%x)", kFloats},
    {"Expand", "input %x: float32[3,1]\nconst %s: int64[3] = [2,1,4]\n", "%y = Expand(%x, %s)",
     kFloats},
    {"Flatten", kX, "%y = Flatten(%x) {axis=2}", "float32[6,4]"},
    {"Floor", kX, "%y = Floor(%x)", kFloats},
    {"Gather", "input %x: float32[2,3,4]\nconst %i: int64[2,1] = [2,-1]\n",
     "%y = Gather(%x, %i) {axis=1}", "float32[2,2,1,4]"},
    {"GatherElements", "input %x: float32[2,3]\nconst %i: int64[1,4] = [0,2,-1,1]\n",
     "%y = GatherElements(%x, %i) {axis=1}", "float32[1,4]"},
    {"Gelu", kX, "%y = Gelu(%x)", kFloats},
    {"Gelu", kX, "%y = Gelu(%x) {approximate=\"tanh\"}", kFloats},
    {"Gemm", "input %a: float32[4,2]\ninput %b: float32[3,4]\ninput %c: float32[3]\n",
     "%y = Gemm(%a, %b, %c) {transA=1, transB=1, alpha=2.0, beta=3.0}", "float32[2,3]"},
    {"GlobalAveragePool", kImage, "%y = GlobalAveragePool(%x)", "float32[1,2,1,1]"},
    {"GlobalMaxPool", kImage, "%y = GlobalMaxPool(%x)", "float32[1,2,1,1]"},
    {"Greater", kXy, "%y = Greater(%a, %b)", "bool[2,3,4]"},
    {"GreaterOrEqual", kXy, "%y = GreaterOrEqual(%a, %b)", "bool[2,3,4]"},
    {"HardSigmoid", kX, "%y = HardSigmoid(%x) {alpha=0.3}", kFloats},
    {"HardSwish", kX, "%y = HardSwish(%x)", kFloats},
    {"Identity", kX, "%y = Identity(%x)", kFloats},
    {"InstanceNormalization",
     "input %x: float32[2,3,4]\ninput %s: float32[3]\ninput %b: float32[3]\n",
     "%y = InstanceNormalization(%x, %s, %b) {epsilon=0.01}", kFloats},
    {"IsNaN", kX, "%y = IsNaN(%x)", "bool[2,3,4]"},
    {"LayerNormalization",
     "input %x: float32[2,3,4]\ninput %s: float32[3,4]\ninput %b: float32[4]\n",
     "%y, %y1, %y2 = LayerNormalization(%x, %s, %b) {axis=1, epsilon=0.01}",
     "float32[2,3,4] float32[2,1,1] float32[2,1,1]"},
    {"LayerNormalization", "input %x: float16[2,3,4]\ninput %s: float16[4]\n",
     "%y = LayerNormalization(%x, %s)", "float16[2,3,4]"},
    {"LeakyRelu", kX, "%y = LeakyRelu(%x) {alpha=0.1}", kFloats},
    {"Less", kXy, "%y = Less(%a, %b)", "bool[2,3,4]"},
    {"LessOrEqual", kXy, "%y = LessOrEqual(%a, %b)", "bool[2,3,4]"},
    {"Log", kX, "%y = Log(%x)", kFloats},
    {"LogSoftmax", kX, "%y = LogSoftmax(%x) {axis=1}", kFloats},
    {"MatMul", "input %a: float32[2,1,3,4]\ninput %b: float32[3,4,5]\n", "%y = MatMul(%a, %b)",
     "float32[2,3,3,5]"},
    {"MatMul", "input %a: int32[4]\ninput %b: int32[4,5]\n", "%y = MatMul(%a, %b)", "int32[5]"},
    {"Max", kXy, "%y = Max(%a, %b)", kFloats},
    {"MaxPool", kImage,
     "%y, %y1 = MaxPool(%x) {kernel_shape=[3,4], strides=[2,3], pads=[1,0,1,0], ceil_mode=1}",
     "float32[1,2,3,2] int64[1,2,3,2]"},
    {"MaxPool", "input %x: uint8[1,1,8]\n", "%y = MaxPool(%x) {kernel_shape=[2], dilations=[3]}",
     "uint8[1,1,5]"},
    {"Min", kXy, "%y = Min(%a, %b)", kFloats},
    {"Mod", kXy, "%y = Mod(%a, %b) {fmod=1}", kFloats},
    {"Mul", kXy, "%y = Mul(%a, %b)", kFloats},
    {"Neg", kX, "%y = Neg(%x)", kFloats},
    {"Not", "input %x: bool[2,3]\n", "%y = Not(%x)", "bool[2,3]"},
    {"Or", kBools, "%y = Or(%a, %b)", "bool[2,3,4]"},
    {"PRelu", "input %x: float32[2,3,4]\ninput %s: float32[3,1]\n", "%y = PRelu(%x, %s)", kFloats},
    {"Pad", "input %x: float32[2,3]\nconst %p: int64[4] = [0,1,1,2]\n", "%y = Pad(%x, %p)",
     "float32[3,6]"},
    {"Pow", kXy, "%y = Pow(%a, %b)", kFloats},
    {"Range", "const %from: int64[] = [1]\nconst %to: int64[] = [8]\nconst %step: int64[] = [3]\n",
     "%y = Range(%from, %to, %step)", "int64[3]"},
    {"Reciprocal", kX, "%y = Reciprocal(%x)", kFloats},
    {"ReduceMax", kAxis1, "%y = ReduceMax(%x, %axes) {keepdims=0}", "float32[2,4]"},
    {"ReduceMean", kAxis1, "%y = ReduceMean(%x, %axes)", "float32[2,1,4]"},
    {"ReduceMin", kAxis1Integers, "%y = ReduceMin(%x, %axes)", "int32[2,1,4]"},
    {"ReduceProd", kX, "%y = ReduceProd(%x) {keepdims=0}", "float32[]"},
    {"ReduceSum", kAxis1, "%y = ReduceSum(%x, %axes)", "float32[2,1,4]"},
    {"ReduceSum", kX, "%y = ReduceSum(%x) {noop_with_empty_axes=1}", kFloats},
    {"Relu", kX, "%y = Relu(%x)", kFloats},
    {"Reshape", "input %x: float32[2,3,4]\nconst %s: int64[3] = [0,-1,2]\n", "%y = Reshape(%x, %s)",
     "float32[2,6,2]"},
    {"Shape", kX, "%y = Shape(%x) {start=1}", "int64[2]"},
    {"Sigmoid", kX, "%y = Sigmoid(%x)", kFloats},
    {"Sin", kX, "%y = Sin(%x)", kFloats},
    {"Size", kX, "%y = Size(%x)", "int64[]"},
    {"Slice",
     "input %x: float32[2,3,4]\nconst %from: int64[1] = [3]\nconst %to: int64[1] = [0]\n"
     "const %axes: int64[1] = [2]\nconst %steps: int64[1] = [-2]\n",
     "%y = Slice(%x, %from, %to, %axes, %steps)", "float32[2,3,2]"},
    {"Softmax", kX, "%y = Softmax(%x)", kFloats},
    {"Softmax", kX, "%y = Softmax(%x) {axis=0}", kFloats},
    {"Softplus", kX, "%y = Softplus(%x)", kFloats},
    {"Split", "input %x: float32[2,5]\nconst %s: int64[2] = [2,3]\n",
     "%y, %y1 = Split(%x, %s) {axis=1}", "float32[2,2] float32[2,3]"},
    {"Sqrt", kX, "%y = Sqrt(%x)", kFloats},
    {"Squeeze", "input %x: float32[2,1,4]\nconst %axes: int64[1] = [1]\n",
     "%y = Squeeze(%x, %axes)", "float32[2,4]"},
    {"Sub", kXy, "%y = Sub(%a, %b)", kFloats},
    {"Sum", kXy, "%y = Sum(%a, %b, %a)", kFloats},
    {"Swish", kX, "%y = Swish(%x) {alpha=0.5}", kFloats},
    {"Tanh", kX, "%y = Tanh(%x)", kFloats},
    {"Tile", "input %x: float32[2,3]\nconst %r: int64[2] = [1,2]\n", "%y = Tile(%x, %r)",
     "float32[2,6]"},
    {"Transpose", kX, "%y = Transpose(%x) {perm=[2,0,1]}", "float32[4,2,3]"},
    {"Trilu", kX, "%y = Trilu(%x) {upper=0}", kFloats},
    {"Unsqueeze", "input %x: float32[2,4]\nconst %axes: int64[1] = [-1]\n",
     "%y = Unsqueeze(%x, %axes)", "float32[2,4,1]"},
    {"Where", "input %c: bool[3,4]\ninput %a: float32[2,3,4]\ninput %b: float32[4]\n",
     "%y = Where(%c, %a, %b)", kFloats},
    {"Xor", kBools, "%y = Xor(%a, %b)", "bool[2,3,4]"},
};

}  // namespace

absl::Span<const OperatorSample> OperatorSamples() { return kSamples; }

std::string GraphTextOf(const OperatorSample& sample) {
  const absl::string_view node = sample.node;
  // The outputs are what stands before the equal sign.
  return absl::StrCat("graph {\n", sample.tensors, node, "\noutput ",
                      node.substr(0, node.find(" = ")), "\n}\n");
}

}  // namespace plait
