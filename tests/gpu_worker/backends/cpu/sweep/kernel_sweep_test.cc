// Random layers, and those of the families' cases, in every kernel that the cpu catalog offers for
// them: loaded twice, with pages that nobody may touch behind all memory and then in front of it,
// on one to five threads that are given pieces of the work in a random order, and run on memory
// that holds no numbers, for inputs of every size and with special values.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/instruction_set_names.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/one_kernel_plan.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"
#include "tests/gpu_worker/backends/cpu/sweep/sweep_graphs.h"
#include "tests/gpu_worker/backends/cpu/sweep/sweep_layers.h"
#include "tests/gpu_worker/backends/kernel_case.h"

namespace plait {
namespace {

constexpr int kThreads = 5;
constexpr int kWidths[] = {1, 2, 3, 5};
constexpr double kScales[] = {0.1, 1, 10, 255};
constexpr float kSpecials[] = {kNan, kInfinity, -kInfinity, 1e38f, 1e-40f};
constexpr int kSpecialsTried = 2;  // of each kernel

struct SweepCase {
  std::string name;
  std::string graph;
  uint64_t seed;  // of its widths, inputs and pieces

  // Names the case in gtest's messages.
  friend void PrintTo(const SweepCase& sweep_case, std::ostream* out) { *out << sweep_case.name; }
};

std::vector<SweepCase> RandomLayers() {
  std::vector<SweepCase> all;
  for (const SweepKind& kind : SweepKinds()) {
    for (int i = 0; i < kind.graphs; ++i) {
      Random random(all.size());
      all.push_back({absl::StrCat(kind.name, "_", i), kind.make(random), all.size()});
    }
  }
  return all;
}

std::vector<SweepCase> CasesOfFamilies() {
  std::vector<SweepCase> all;
  for (const FamilyOffer* family : CpuFamilies()) {
    const absl::StatusOr<std::vector<KernelCase>> cases = ReadKernelCases("cpu", family->name);
    EXPECT_TRUE(cases.ok()) << cases.status();
    if (!cases.ok()) continue;
    for (const KernelCase& one : *cases) {
      all.push_back({absl::StrCat(family->name, "_", one.name), one.graph, all.size()});
    }
  }
  return all;
}

// A kernel's graph, inputs and what they give.
struct Problem {
  Graph graph;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<Tensor>> outputs;
  std::vector<float> specials;  // of the inputs behind those of kScales, in which there is one each
};

// Of how many kernels, and how far from exact the worst one was.
struct Tally {
  int kernels = 0;
  double worst = 0;
};

// What all tests share, as an executor would have it.
struct Backend {
  Backend() : team(kThreads, ThreadPlacement::kAnywhere), caches(&team, 0) {
    EXPECT_TRUE(OpenOnednn().ok());
    onednn = *Onednn::Create();
    DeviceDescription device;
    device.backend = "cpu";
    device.threads = kThreads;
    device.instruction_set = std::string(std::end(kInstructionSetNames)[-1]);
    catalog = *CatalogFor(device);
  }

  Team team;
  std::unique_ptr<Onednn> onednn;
  PrivateCaches caches;
  std::unique_ptr<KernelCatalog> catalog;
  std::map<std::string, Tally> tallies;  // by family and variant
};

class KernelSweep : public testing::Test {
 protected:
  static void SetUpTestSuite() { backend_ = new Backend; }
  static void TearDownTestSuite() {
    std::printf("kernels under %s; those for other instructions are interpreted\n",
                std::string(InstructionSetName(CurrentInstructionSet())).c_str());
    for (const auto& [name, tally] : backend_->tallies) {
      std::printf("%-36s %6d kernels, largest error %.1e\n", name.c_str(), tally.kernels,
                  tally.worst);
    }
    delete backend_;
  }

  // All that start at the node, each once in whatever width, with their more and less exact forms.
  static std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node) {
    std::vector<Kernel> kernels;
    const auto add = [&kernels](Kernel kernel) {
      kernel.width = 1;
      const bool is_known = std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
      if (!is_known) kernels.push_back(std::move(kernel));
    };
    const KernelCatalog& catalog = *backend_->catalog;
    for (const Kernel& kernel : catalog.KernelsAt(graph, node, /*fuse=*/true)) add(kernel);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Kernel kernel = kernels[i];
      for (const auto next : {&KernelCatalog::MoreExact, &KernelCatalog::LessExact}) {
        const std::optional<std::string> variant = (catalog.*next)(kernel);
        if (!variant.has_value()) continue;
        Kernel other = kernel;
        other.variant = *variant;
        add(std::move(other));
      }
    }
    return kernels;
  }

  static absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, const Kernel& kernel,
                                                          PieceGuard guard) {
    absl::StatusOr<Plan> plan = OneKernelPlan(graph, kernel);
    if (!plan.ok()) return plan.status();
    CpuExecutable::Shared shared{&backend_->team, backend_->onednn.get(), &backend_->caches};
    shared.guard = guard;
    return CpuExecutable::Create(graph, *plan, NoWeights(), shared);
  }

  static void ExpectKernelIsRight(const Problem& problem, Kernel kernel, Random& random);

  static Backend* backend_;
};

Backend* KernelSweep::backend_ = nullptr;

// Floats times the scale; all others stay what they index or count.
std::vector<Tensor> Scaled(std::vector<Tensor> inputs, double scale) {
  for (Tensor& input : inputs) {
    if (input.type().dtype != DataType::kFloat32) continue;
    std::vector<double> numbers = input.AsDoubles();
    for (double& number : numbers) number *= scale;
    input = Tensor::FromDoubles(input.type(), numbers);
  }
  return inputs;
}

// One special value in the first input of floats, which an activation is.
std::vector<Tensor> WithSpecial(std::vector<Tensor> inputs, float special, Random& random) {
  for (Tensor& input : inputs) {
    if (input.type().dtype != DataType::kFloat32) continue;
    std::vector<double> numbers = input.AsDoubles();
    if (numbers.empty()) continue;
    numbers[random.Integer(0, static_cast<int64_t>(numbers.size()) - 1)] = special;
    input = Tensor::FromDoubles(input.type(), numbers);
    break;
  }
  return inputs;
}

absl::StatusOr<Problem> MakeProblem(const Graph& graph, Random& random) {
  Problem problem{.graph = graph};
  const auto add = [&problem](std::vector<Tensor> inputs) {
    absl::StatusOr<std::vector<Tensor>> outputs = EvaluateGraph(problem.graph, inputs, NoWeights());
    if (!outputs.ok()) return outputs.status();
    problem.inputs.push_back(std::move(inputs));
    problem.outputs.push_back(*std::move(outputs));
    return absl::OkStatus();
  };
  int index = 0;
  for (const double scale : kScales) {
    absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(problem.graph, 1, index++);
    if (!inputs.ok()) return inputs.status();
    if (absl::Status status = add(Scaled(*std::move(inputs), scale)); !status.ok()) return status;
  }
  for (int i = 0; i < kSpecialsTried; ++i) {
    problem.specials.push_back(kSpecials[random.Integer(0, std::size(kSpecials) - 1)]);
    absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(problem.graph, 2, 3);
    if (!inputs.ok()) return inputs.status();
    const absl::Status status =
        add(WithSpecial(*std::move(inputs), problem.specials.back(), random));
    if (!status.ok()) return status;
  }
  return problem;
}

// Relative to the largest value of a channel.
double RelErrorMax(const Kernel& kernel) {
  if (kernel.variant == "x1") return 2e-2;
  if (kernel.variant == "x3") return 1e-3;
  return 1e-5;
}

enum class NumberClass { kNan, kInfinite, kMinusInfinite, kFinite };

NumberClass ClassOf(double number) {
  if (std::isnan(number)) return NumberClass::kNan;
  if (std::isfinite(number)) return NumberClass::kFinite;
  return number > 0 ? NumberClass::kInfinite : NumberClass::kMinusInfinite;
}

// What oneDNN does not keep: its Relu and Clip make their bound of a value that is no number, its
// convolutions may make no number of an infinity, and its windows know none below the lowest finite
// one.
bool IsKnown(const Kernel& kernel, double wanted, double found) {
  if (kernel.family == "conv" || kernel.family == "matmul") {
    return std::isnan(wanted) || std::isnan(found);
  }
  if (kernel.family == "pool") return ClassOf(wanted) == NumberClass::kMinusInfinite;
  // The reference's maximum leaves a value out that is no number, and the square of a number leaves
  // the range of fp32 long before that of double.
  if (kernel.family == "reduce") {
    return std::isnan(found) || (std::isinf(found) && std::abs(wanted) > 1e18);
  }
  // A GRU takes the difference of an infinite state and what is new.
  return kernel.family == "rnn_layer" && std::isinf(wanted) && std::isnan(found);
}

void ExpectSameClasses(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual,
                       const Kernel& kernel) {
  for (size_t output = 0; output < expected.size(); ++output) {
    if (!IsFloat(expected[output].type().dtype)) continue;
    const std::vector<double> wanted = expected[output].AsDoubles();
    const std::vector<double> found = actual[output].AsDoubles();
    int64_t others = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (ClassOf(found[i]) == ClassOf(wanted[i])) continue;
      if (IsKnown(kernel, wanted[i], found[i])) continue;
      if (others++ == 0) {
        ADD_FAILURE() << "output " << output << ": element " << i << " is " << found[i]
                      << " and should be " << wanted[i];
      }
    }
    EXPECT_EQ(others, 0) << "elements of " << wanted.size();
  }
}

std::string Describe(const Graph& graph, const Kernel& kernel) {
  std::vector<std::string> ops;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    ops.emplace_back(OpKindName(graph.node(node).op));
  }
  std::string text = absl::StrCat(kernel.family, " ", kernel.variant, " x", kernel.width, " ",
                                  absl::StrJoin(ops, "+"));
  for (const Format format : kernel.input_formats) absl::StrAppend(&text, " ", FormatName(format));
  absl::StrAppend(&text, " ->");
  for (const Format format : kernel.output_formats) absl::StrAppend(&text, " ", FormatName(format));
  return text;
}

// The outputs for each of the problem's inputs, from memory that held no numbers before.
std::vector<std::vector<Tensor>> RunPoisoned(Executable& executable, const Problem& problem) {
  std::vector<std::vector<Tensor>> all;
  for (const std::vector<Tensor>& inputs : problem.inputs) {
    dynamic_cast<CpuExecutable&>(executable).Poison();
    absl::StatusOr<std::vector<Tensor>> outputs = executable.Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return {};
    all.push_back(*std::move(outputs));
  }
  return all;
}

// How far each output moves when every float that goes in is off by up to so much of itself: more
// than that share where a bounded function follows a sum that is far outside of its bounds.
std::vector<double> MovedBy(const Problem& problem, size_t index, double rel_error) {
  Random random(index);
  std::vector<Tensor> inputs = problem.inputs[index];
  for (Tensor& input : inputs) {
    if (input.type().dtype != DataType::kFloat32) continue;
    std::vector<double> numbers = input.AsDoubles();
    for (double& number : numbers) number *= 1 + random.Uniform(-rel_error, rel_error);
    input = Tensor::FromDoubles(input.type(), numbers);
  }
  const absl::StatusOr<std::vector<Tensor>> outputs =
      EvaluateGraph(problem.graph, inputs, NoWeights());
  std::vector<double> moved(problem.outputs[index].size());
  if (!outputs.ok()) return moved;
  for (size_t output = 0; output < moved.size(); ++output) {
    const std::vector<double> before = problem.outputs[index][output].AsDoubles();
    const std::vector<double> after = (*outputs)[output].AsDoubles();
    for (size_t i = 0; i < before.size(); ++i) {
      moved[output] = std::max(moved[output], std::abs(after[i] - before[i]));
    }
  }
  return moved;
}

// Whether the errors are no larger than what follows from inputs that are off by three times the
// bound, or than rounding beside 1, which a gate that is closed was taken from.
bool AreErrorsOfInputs(const Problem& problem, size_t index, const Equivalence& errors,
                       double rel_error_max) {
  const std::vector<double> moved = MovedBy(problem, index, rel_error_max);
  for (size_t output = 0; output < moved.size(); ++output) {
    const double abs_error_max = std::max(3 * moved[output], double{FLT_EPSILON});
    if (!(errors.outputs[output].max_abs_error <= abs_error_max)) return false;
  }
  return true;
}

// An arc of what has been rounded to 1 is as far from exact as the root of rounding.
bool IsSteep(const Problem& problem, double scale) {
  if (scale <= 1) return false;
  for (NodeId node = 0; node < problem.graph.node_count(); ++node) {
    if (problem.graph.node(node).op == OpKind::kAcos) return problem.graph.node_count() > 1;
  }
  return false;
}

void ExpectRight(const Problem& problem, const std::vector<std::vector<Tensor>>& outputs,
                 const Kernel& kernel, Tally* tally) {
  const double rel_error_max = RelErrorMax(kernel);
  for (size_t i = 0; i < std::size(kScales); ++i) {
    if (IsSteep(problem, kScales[i])) continue;
    OutputComparer comparer(rel_error_max);
    comparer.Add(problem.outputs[i], outputs[i]);
    const OutputComparison comparison = comparer.Result();
    const Equivalence& errors = comparison.equivalence;
    if (errors.verdict != Verdict::kDifferent) {
      tally->worst = std::max(tally->worst, errors.max_channel_error);
      continue;
    }
    EXPECT_TRUE(AreErrorsOfInputs(problem, i, errors, rel_error_max))
        << "inputs times " << kScales[i] << ": " << comparison.reason;
  }
  for (int i = 0; i < kSpecialsTried; ++i) {
    SCOPED_TRACE(absl::StrCat("with ", problem.specials[i]));
    const size_t index = std::size(kScales) + static_cast<size_t>(i);
    ExpectSameClasses(problem.outputs[index], outputs[index], kernel);
  }
  ++tally->kernels;
}

// The kernel, over all nodes of the problem's graph, in some width.
void KernelSweep::ExpectKernelIsRight(const Problem& problem, Kernel kernel, Random& random) {
  kernel.width = kWidths[random.Integer(0, std::size(kWidths) - 1)];
  SCOPED_TRACE(Describe(problem.graph, kernel));
  Tally* const tally = &backend_->tallies[absl::StrCat(kernel.family, " ", kernel.variant)];
  std::vector<std::vector<Tensor>> first;
  for (const PieceGuard guard : {PieceGuard::kBehind, PieceGuard::kInFront}) {
    backend_->team.ShufflePieces(guard == PieceGuard::kInFront ? random.Next() | 1 : 0);
    const auto executable = Load(problem.graph, kernel, guard);
    ASSERT_TRUE(executable.ok()) << executable.status();
    std::vector<std::vector<Tensor>> outputs = RunPoisoned(**executable, problem);
    ASSERT_EQ(outputs.size(), problem.inputs.size());
    if (first.empty()) {
      ExpectRight(problem, outputs, kernel, tally);
      first = std::move(outputs);
      continue;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (size_t output = 0; output < outputs[i].size(); ++output) {
        EXPECT_EQ(outputs[i][output].bytes(), first[i][output].bytes())
            << "pieces in another order";
      }
    }
  }
}

class KernelSweepTest : public KernelSweep, public testing::WithParamInterface<SweepCase> {};

TEST_P(KernelSweepTest, EveryKernelIsRight) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << GetParam().graph;
  Random random(GetParam().seed);
  std::map<std::vector<NodeId>, Problem> problems;
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    for (Kernel kernel : KernelsAt(*graph, node)) {
      auto known = problems.find(kernel.nodes);
      if (known == problems.end()) {
        absl::StatusOr<Problem> made = MakeProblem(KernelGraph(*graph, kernel.nodes), random);
        ASSERT_TRUE(made.ok()) << made.status();
        known = problems.emplace(kernel.nodes, *std::move(made)).first;
      }
      for (size_t i = 0; i < kernel.nodes.size(); ++i) kernel.nodes[i] = static_cast<NodeId>(i);
      ExpectKernelIsRight(known->second, kernel, random);
    }
  }
}

std::string NameOf(const testing::TestParamInfo<SweepCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Random, KernelSweepTest, testing::ValuesIn(RandomLayers()), NameOf);
INSTANTIATE_TEST_SUITE_P(Families, KernelSweepTest, testing::ValuesIn(CasesOfFamilies()), NameOf);

// Of those formats that the backend has.
TEST_F(KernelSweep, EveryReorderOfImagesIsRight) {
  const auto applies = [](const TensorType& type, Format format) {
    return EffectiveFormat(type, format) == format && IsStoredWhole(type, format);
  };
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Random random(seed);
    const absl::StatusOr<Graph> image = ParseTypedGraph(
        absl::StrCat("graph {\n  input %i0: float32", AnyImage(random), "\n  output %i0\n}"));
    ASSERT_TRUE(image.ok()) << image.status();
    const TensorType& type = image->type(image->inputs()[0]);
    const absl::StatusOr<Problem> problem = MakeProblem(*image, random);
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const Format from : kAllFormats) {
      for (const Format to : kAllFormats) {
        if (from == to || !applies(type, from) || !applies(type, to)) continue;
        ExpectKernelIsRight(*problem, backend_->catalog->Reorder(type, from, to), random);
      }
    }
  }
}

TEST_F(KernelSweep, PoisonedMemoryHoldsNoNumbers) {
  const absl::StatusOr<Graph> graph =
      ParseTypedGraph("graph {\n  input %x: float32[3,7]\n  %y = Relu(%x)\n  output %y\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto executable = Load(*graph, KernelsAt(*graph, 0)[0], PieceGuard::kBehind);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const absl::StatusOr<BoundTensors> bound = (*executable)->Bound();
  ASSERT_TRUE(bound.ok()) << bound.status();
  for (const BoundTensor& tensor : {bound->inputs[0], bound->outputs[0]}) {
    auto* const numbers = reinterpret_cast<float*>(tensor.data);
    std::fill_n(numbers, 21, 1.0f);
    dynamic_cast<CpuExecutable&>(**executable).Poison();
    for (int i = 0; i < 21; ++i) EXPECT_TRUE(std::isnan(numbers[i])) << i;
  }
}

// All others have their cases alone: layers that are very large, or unrolled.
TEST_F(KernelSweep, RandomLayersReachMostFamilies) {
  std::set<std::string> missing;
  for (const FamilyOffer* family : CpuFamilies()) missing.insert(std::string(family->name));
  for (const SweepCase& one : RandomLayers()) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(one.graph);
    ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << one.graph;
    for (NodeId node = 0; node < graph->node_count(); ++node) {
      for (const Kernel& kernel : KernelsAt(*graph, node)) missing.erase(kernel.family);
    }
  }
  EXPECT_THAT(missing, testing::ElementsAre("conv_strassen", "matmul_strassen", "recurrence",
                                            "reorder", "scatter_elements"));
}

}  // namespace
}  // namespace plait
