#include <algorithm>
#include <string>

#include "gpu_worker/backends/cuda/generated/kernel.h"

// A step of an RNN, GRU or LSTM layer is a launch, so that the steps come one after another without
// a barrier of the device. A warp makes the next state of one hidden unit, for some rows of the
// batch: its lanes stride over the unit's rows of W and R, which are read once for all these rows,
// and add up; then a lane for each row of the batch applies the cell's function. Y is rounded to
// the storage type, and the state that is handed on is not: it lies in the workspace in fp32, in
// two places by turns, so that no block of a step writes what another one still reads.
// A GRU that resets the state before it is multiplied needs that of all units for the candidate,
// and has two launches for a step: the first one leaves z and r h in the workspace.

namespace plait::cuda {
namespace {

using ArgumentKind = KernelArgument::Kind;
using LayerKind = RecurrentLayerProblem::Kind;

// 4: a layer of 512 units has as many blocks as an H200 has multiprocessors, about.
constexpr int kWarpsOfBlock = 4;

// Rows of a batch that lie in arrays of T or, in the workspace, of floats.
constexpr const char* kLayerProducts = R"(
struct StoredRows {
  const T* at;
  template <int N> __device__ inline void Load(unsigned i, float* x) const {
    LoadVector<N>(at + i, x);
  }
};
template <int N> struct alignas(N < 4 ? 4 * N : 16) Floats { float v[N]; };
struct FloatRows {
  const float* at;
  template <int N> __device__ inline void Load(unsigned i, float* x) const {
    const Floats<N> loaded = *reinterpret_cast<const Floats<N>*>(at + i);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = loaded.v[j];
  }
};
// Adds the lane's part of the products of kCount gates, whose weights lie kHidden rows apart, and
// of rows first .. first + kRows - 1, of which those behind the batch are its last one again. The
// last gate's go to sums[kLast].
template <int kCount, int kLast, int kSize, int kWidth, typename Rows, int kSums>
__device__ inline void Multiply(const T* weights, Rows rows, unsigned first,
                                float (&sums)[kSums][kRows]) {
  for (unsigned i = threadIdx.x % 32 * kWidth; i < kSize; i += 32 * kWidth) {
    float x[kRows][kWidth];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const unsigned row = first + r < kBatch ? first + r : kBatch - 1;
      rows.template Load<kWidth>(row * kSize + i, x[r]);
    }
#pragma unroll
    for (int g = 0; g < kCount; ++g) {
      float weight[kWidth];
      LoadVector<kWidth>(weights + g * (kHidden * kSize) + i, weight);
      const int sum = g == kCount - 1 ? kLast : g;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sums[sum][r] += weight[j] * x[r][j];
      }
    }
  }
}
// Lane r gets the sums of row r.
template <int kSums>
__device__ inline void Spread(const float (&sums)[kSums][kRows], float (&z)[kSums]) {
#pragma unroll
  for (int g = 0; g < kSums; ++g) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = WarpSum(sums[g][r]);
      if (threadIdx.x % 32 == r) z[g] = sum;
    }
  }
}
)";

// What all kernels begin with. `cells` is what the workspace has behind the states.
constexpr const char* kLayerHead = R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned unit = blockIdx.x % kUnitBlocks * kWarps + threadIdx.x / 32;
  if (unit >= kHidden) return;
  const unsigned first = blockIdx.x / kUnitBlocks * kRows, row = first + threadIdx.x % 32;
  const unsigned direction = blockIdx.y;
  const int turn = step / kLaunches;
  const unsigned time = kReverse || direction == 1 ? kSteps - 1 - turn : turn;
  const StoredRows x = {x0 + time * (kBatch * kInput)};
  const T* const w = weights + (direction * (kGates * kHidden) + unit) * kInput;
  const T* const u = second_weights + (direction * (kGates * kHidden) + unit) * kHidden;
  // Of the direction.
  const unsigned states = direction * (kBatch * kHidden);
  const FloatRows last = {workspace + (turn + 1) % 2 * kStates + states};
  float* const next = workspace + turn % 2 * kStates + states;
  float* const cells = workspace + 2 * kStates + states;
  // Of a lane that has a row.
  const bool has_row = threadIdx.x % 32 < kRows && row < kBatch;
  const unsigned at = row * kHidden + unit;
  // Of before the first step. Far from where those of later steps are read, which the compiler
  // would else join to one load, and that by what is never written.
  float h = 0.0f, c = 0.0f;
  if (turn == 0 && has_row) {
$INITIAL$  }
)";

// Of any gate; sums are not yet spread.
constexpr const char* kLinearCell = R"(
  float sums[kSums][kRows] = {};
  Multiply<kGates, kGates - 1, kInput, kInputWidth>(w, x, first, sums);
  $STATE_PRODUCTS$
  float z[kSums] = {};
  Spread(sums, z);
  if (!has_row) return;
)";

constexpr const char* kLstmCell = R"(
  if (turn > 0) c = cells[at];
  const float i = Sigmoid(z[0]$BIAS_0$), o = Sigmoid(z[1]$BIAS_1$), f = Sigmoid(z[2]$BIAS_2$);
  c = f * c + i * tanhf(z[3]$BIAS_3$);
  cells[at] = c;
  const float result = o * tanhf(c);
)";

constexpr const char* kRnnCell = R"(
  const float result = $ACTIVATION$(z[0]$BIAS_0$);
)";

// z[3] is the candidate's product by R, which has a bias of its own.
constexpr const char* kGruCell = R"(
  if (turn > 0) h = last.at[at];
  const float update = Sigmoid(z[0]$BIAS_0$), reset = Sigmoid(z[1]$BIAS_1$);
  const float candidate = tanhf(z[2]$BIAS_W$ + reset * (z[3]$BIAS_R$));
  const float result = (1.0f - update) * candidate + update * h;
)";

// z, then r h, behind the states.
constexpr const char* kResetGruCell = R"(
  if (step % 2 == 0) {
    float sums[2][kRows] = {};
    Multiply<2, 1, kInput, kInputWidth>(w, x, first, sums);
    $STATE_PRODUCTS$
    float z[2] = {};
    Spread(sums, z);
    if (!has_row) return;
    if (turn > 0) h = last.at[at];
    cells[at] = Sigmoid(z[0]$BIAS_0$);
    cells[kStates + at] = Sigmoid(z[1]$BIAS_1$) * h;
    return;
  }
  float sums[1][kRows] = {};
  Multiply<1, 0, kInput, kInputWidth>(w + 2 * kHidden * kInput, x, first, sums);
  Multiply<1, 0, kHidden, kStateWidth>(u + 2 * kHidden * kHidden, FloatRows{cells + kStates}, first,
                                       sums);
  float z[1] = {};
  Spread(sums, z);
  if (!has_row) return;
  if (turn > 0) h = last.at[at];
  const float update = cells[at];
  const float result = (1.0f - update) * tanhf(z[0]$BIAS_2$) + update * h;
)";

bool ResetsState(const RecurrentLayerProblem& p) {
  return p.kind == LayerKind::kGru && !p.linear_before_reset;
}

// The bias that W's or R's product of a gate has.
std::string Bias(const RecurrentLayerProblem& p, int64_t gate, bool of_r) {
  if (!p.bias) return "";
  const std::string place = std::to_string((of_r ? p.gates() : 0) + gate);
  return " + ToFloat(bias[(direction * (2 * kGates) + " + place + ") * kHidden + unit])";
}

std::string BothBiases(const RecurrentLayerProblem& p, int64_t gate) {
  return Bias(p, gate, false) + Bias(p, gate, true);
}

// What a lane needs of the states that are given; of h, beside the products by R, a GRU alone.
std::string InitialText(const RecurrentLayerProblem& p) {
  std::string text;
  const auto load = [&](const std::string& state, int input) {
    text += "    " + state + " = ToFloat(x" + std::to_string(input) + "[states + at]);\n";
  };
  if (p.initial_h && p.kind == LayerKind::kGru) load("h", 1);
  if (p.initial_c) load("c", p.initial_h ? 2 : 1);
  return text;
}

// The products of the first `gates` gates by R; before the first turn there may be no state.
std::string StateProducts(const RecurrentLayerProblem& p, int64_t gates, int64_t last) {
  const std::string call = "Multiply<" + std::to_string(gates) + ", " + std::to_string(last) +
                           ", kHidden, kStateWidth>(u, ";
  std::string text = "if (turn > 0) " + call + "last, first, sums);";
  if (p.initial_h) text += "\n  else " + call + "StoredRows{x1 + states}, first, sums);";
  return text;
}

std::string CellText(const RecurrentLayerProblem& p) {
  if (ResetsState(p)) {
    return Replace(kResetGruCell, {{"STATE_PRODUCTS", StateProducts(p, 2, 1)},
                                   {"BIAS_0", BothBiases(p, 0)},
                                   {"BIAS_1", BothBiases(p, 1)},
                                   {"BIAS_2", BothBiases(p, 2)}});
  }
  const bool is_gru = p.kind == LayerKind::kGru;
  const char* const cell = is_gru ? kGruCell : p.kind == LayerKind::kLstm ? kLstmCell : kRnnCell;
  return Replace(std::string(kLinearCell) + cell,
                 {{"STATE_PRODUCTS", StateProducts(p, p.gates(), is_gru ? 3 : p.gates() - 1)},
                  {"ACTIVATION", p.activation == Activation::kRelu ? "Relu" : "tanhf"},
                  {"BIAS_0", BothBiases(p, 0)},
                  {"BIAS_1", BothBiases(p, 1)},
                  {"BIAS_2", BothBiases(p, 2)},
                  {"BIAS_3", BothBiases(p, 3)},
                  {"BIAS_W", Bias(p, 2, false)},
                  {"BIAS_R", Bias(p, 2, true)}});
}

// What is handed on, and the outputs that there are.
std::string StoreText(const RecurrentLayerProblem& p) {
  std::string text = "  next[at] = result;\n";
  int output = 0;
  const auto store = [&](const std::string& condition, const std::string& place,
                         const std::string& value) {
    text += "  " + condition + "y" + std::to_string(output++) + "[" + place + "] = FromFloat(" +
            value + ");\n";
  };
  if (p.y) store("", "time * kStates + states + at", "result");
  if (p.y_h) store("if (turn == kSteps - 1) ", "states + at", "result");
  if (p.y_c) store("if (turn == kSteps - 1) ", "states + at", "c");
  return text + "}\n";
}

std::vector<KernelArgument> ArgumentsOf(const RecurrentLayerProblem& p) {
  std::vector<KernelArgument> arguments = {{ArgumentKind::kInput, 0}};
  if (p.initial_h) arguments.push_back({ArgumentKind::kInput, 1});
  if (p.initial_c) arguments.push_back({ArgumentKind::kInput, p.initial_h ? 2 : 1});
  arguments.push_back({ArgumentKind::kWeights});
  arguments.push_back({ArgumentKind::kSecondWeights});
  if (p.bias) arguments.push_back({ArgumentKind::kBias});
  const int outputs = static_cast<int>(p.y) + static_cast<int>(p.y_h) + static_cast<int>(p.y_c);
  for (int i = 0; i < outputs; ++i) arguments.push_back({ArgumentKind::kOutput, i});
  arguments.push_back({ArgumentKind::kWorkspace});
  arguments.push_back({ArgumentKind::kStep});
  return arguments;
}

// Arrays of states in the workspace: two turns, then c, or z and r h.
int64_t StatesKept(const RecurrentLayerProblem& p) {
  if (p.kind == LayerKind::kLstm) return 3;
  return ResetsState(p) ? 4 : 2;
}

GeneratedKernel RecurrentLayerKernel(const RecurrentLayerProblem& p, const KernelForm& form,
                                     int64_t rows) {
  const int64_t unit_blocks = CeilDivide(p.hidden, kWarpsOfBlock);
  const int launches_of_step = ResetsState(p) ? 2 : 1;
  GeneratedKernel kernel;
  kernel.arguments = ArgumentsOf(p);
  kernel.variant = "b" + std::to_string(rows);
  kernel.block = {32 * kWarpsOfBlock, 1, 1};
  kernel.grid = {static_cast<unsigned>(unit_blocks * CeilDivide(p.batch, rows)),
                 static_cast<unsigned>(p.directions()), 1};
  kernel.launches = static_cast<int>(p.steps) * launches_of_step;
  kernel.workspace_bytes = static_cast<size_t>(StatesKept(p) * p.states()) * sizeof(float);
  kernel.source = Constants({{"kThreads", 32 * kWarpsOfBlock},
                             {"kWarps", kWarpsOfBlock},
                             {"kRows", rows},
                             {"kUnitBlocks", unit_blocks},
                             {"kLaunches", launches_of_step},
                             {"kSteps", p.steps},
                             {"kBatch", p.batch},
                             {"kInput", p.input},
                             {"kHidden", p.hidden},
                             {"kStates", p.states()},
                             {"kGates", p.gates()},
                             {"kSums", p.kind == LayerKind::kGru ? 4 : p.gates()},
                             {"kReverse", p.walks_back(0) ? 1 : 0},
                             {"kInputWidth", VectorWidth(form, {p.input})},
                             {"kStateWidth", VectorWidth(form, {p.hidden})}});
  kernel.source += kLayerProducts;
  kernel.source += Replace(
      kLayerHead, {{"PARAMETERS", Parameters(kernel.arguments)}, {"INITIAL", InitialText(p)}});
  kernel.source += CellText(p) + StoreText(p);
  return kernel;
}

std::vector<GeneratedKernel> GenerateRecurrentLayer(const Problem& problem,
                                                    const KernelForm& form) {
  const auto* p = std::get_if<RecurrentLayerProblem>(&problem);
  if (p == nullptr) return {};
  // 8 rows: weights are read by fewer warps, until sums take too many registers.
  int64_t rows = 8;
  while (rows / 2 >= p->batch) rows /= 2;
  std::vector<GeneratedKernel> kernels = {RecurrentLayerKernel(*p, form, rows)};
  // More warps with less work each, while the weights are in the cache.
  if (rows > 1) {
    kernels.push_back(RecurrentLayerKernel(*p, form, std::max<int64_t>(1, rows / 4)));
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedRecurrentLayer;
const GeneratedFamily kGeneratedRecurrentLayer = {"recurrent_layer", GenerateRecurrentLayer};

}  // namespace plait::cuda
