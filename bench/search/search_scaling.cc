// Says how the seconds of a search grow with its graph: `search_scaling 8 16 32` searches chains of
// so many NASNet-like cells and prints the regions of different structure, the distinct graphs that
// were priced and how many a second of the search phase, the seconds of each phase, and the
// exponent between the first and the last chain. `search_scaling MODEL.onnx...` does the same for
// models. Rules and catalog are the real ones; no kernel runs: profiles are computed from a
// kernel's work, and all of them are known before the clock starts, so that what is timed is the
// search alone, in seconds of one core.
// `search_scaling --text CELLS|MODEL.onnx` prints what was found, to compare two builds.
// `search_scaling --check ...` prices every graph in full too, and ends where that says something
// else than what the search takes over from graph to graph. `--gpu` in front of all that: for a
// GPU that is described, by its catalog and predicted times.
//
//   cmake --build build --target search_scaling && build/search_scaling 4 8 16
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/optimize.h"

namespace plait {
namespace {

// Writes the chain's text. Cells and separable convolutions are those of bench/models/light.py.
class CellChain {
 public:
  explicit CellChain(int cells) {
    text_ = "graph {\n  input %x: float32[1,16,14,14]\n";
    std::string previous = "%x";
    std::string current = "%x";
    for (int cell = 0; cell < cells; ++cell) {
      std::string next = Cell(previous, current);
      previous = std::move(current);
      current = std::move(next);
    }
    absl::StrAppend(&text_, "  output ", current, "\n}\n");
  }

  const std::string& text() const { return text_; }

 private:
  static constexpr int kWidth = 16;

  std::string Node(absl::string_view op, absl::string_view inputs, absl::string_view attributes) {
    std::string name = absl::StrCat("%n", ++names_);
    absl::StrAppend(&text_, "  ", name, " = ", op, "(", inputs, ") {", attributes, "}\n");
    return name;
  }

  std::string Constant(absl::string_view shape) {
    std::string name = absl::StrCat("%c", ++names_);
    absl::StrAppend(&text_, "  const ", name, ": float32[", shape, "] = synthetic ", names_, "\n");
    return name;
  }

  std::string Conv(const std::string& x, int inputs, int kernel, int group) {
    const std::string w =
        Constant(absl::StrCat(kWidth, ",", inputs / group, ",", kernel, ",", kernel));
    const int pad = kernel / 2;
    const std::string y =
        Node("Conv", absl::StrCat(x, ", ", w),
             absl::StrCat("group=", group, ", pads=[", pad, ",", pad, ",", pad, ",", pad, "]"));
    if (group > 1) return y;
    std::string statistics;
    for (int i = 0; i < 4; ++i) absl::StrAppend(&statistics, ", ", Constant(absl::StrCat(kWidth)));
    return Node("BatchNormalization", y + statistics, "");
  }

  std::string Separable(std::string x, int kernel) {
    for (int turn = 0; turn < 2; ++turn) {
      x = Conv(Node("Relu", x, ""), kWidth, kernel, kWidth);
      x = Conv(x, kWidth, 1, 1);
    }
    return x;
  }

  std::string Pool(const std::string& x) {
    return Node("AveragePool", x, "kernel_shape=[3,3], pads=[1,1,1,1]");
  }

  std::string Add(const std::string& a, const std::string& b) {
    return Node("Add", absl::StrCat(a, ", ", b), "");
  }

  std::string Cell(const std::string& previous, const std::string& current) {
    const int previous_channels = previous == "%x" ? kWidth : 6 * kWidth;
    const int current_channels = current == "%x" ? kWidth : 6 * kWidth;
    const std::string p = Conv(Node("Relu", previous, ""), previous_channels, 1, 1);
    const std::string h = Conv(Node("Relu", current, ""), current_channels, 1, 1);
    std::string parts = p;
    for (const std::string& sum :
         {Add(Separable(h, 5), Separable(p, 3)), Add(Separable(p, 5), Separable(p, 3)),
          Add(Pool(h), p), Add(Pool(p), Pool(p)), Add(Separable(h, 3), h)}) {
      absl::StrAppend(&parts, ", ", sum);
    }
    return Node("Concat", parts, "axis=1");
  }

  std::string text_;
  int names_ = 0;
};

// A kernel takes as long as a plain machine would, give or take what its text hashes to, so that
// variants differ. The version of its family is left out, so that two builds find the same.
class ComputedProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    std::vector<Profile> profiles;
    for (const ProfileRequest& request : requests) {
      ProfileKey key = request.key;
      key.version.clear();
      Profile profile{.samples = 10};
      PLAIT_ASSIGN_OR_RETURN(const Graph graph, ParseTypedGraph(key.graph_text));
      for (NodeId node = 0; node < graph.node_count(); ++node) {
        profile.flops += WorkOf(graph, node).flops;
      }
      for (const TensorInfo& tensor : graph.tensors()) {
        const bool inner = tensor.producer != kNoNode &&
                           !graph.is_output(static_cast<TensorId>(&tensor - &graph.tensors()[0]));
        if (!inner) profile.bytes += tensor.type.bytes();
      }
      const Fingerprint text = FingerprintBuilder().Add(key.ToString()).Finish();
      const double jitter = 1 + 0.2 * static_cast<double>(text.low % 1000) / 1000;
      const double work_us =
          static_cast<double>(profile.flops) / 20000 + static_cast<double>(profile.bytes) / 8000;
      profile.latency_us_median = 0.5 + jitter * work_us / (key.width > 1 ? 1.8 : 1);
      profile.compute_share = key.width > 1 ? 1 : 0.5;
      profiles.push_back(profile);
    }
    return profiles;
  }
};

// Believes the first candidate, and remembers all.
class InstantVerifier : public Verifier {
 public:
  std::string candidates_text;

  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    std::vector<CandidateMeasurement> measurements;
    for (const PlanCandidate& candidate : candidates) {
      PLAIT_RETURN_IF_ERROR(CheckPlan(candidate.plan, candidate.graph));
      absl::StrAppend(&candidates_text, "verified ", candidate.id, "\n");
      CandidateMeasurement measurement{.candidate = candidate.id};
      measurement.load_rounds.assign(batch.loads, batch.rounds);
      measurement.latency_us.assign(batch.loads * batch.rounds, measurements.empty() ? 100 : 50);
      measurement.equivalence.verdict = Verdict::kEquivalent;
      measurement.equivalence.inputs_tried = 1;
      measurements.push_back(std::move(measurement));
    }
    return measurements;
  }

  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate&,
                                                        absl::Span<const int> steps) override {
    return std::vector<LayerError>(steps.size());
  }
};

// Of the processor and not of the wall, so that a busy machine counts less.
class PhaseClock : public ProgressSink {
 public:
  void OnPhase(absl::string_view phase, double) override {
    const std::clock_t now = std::clock();
    if (!phase_.empty()) {
      seconds[phase_] += static_cast<double>(now - start_) / CLOCKS_PER_SEC;
    }
    phase_ = std::string(phase);
    start_ = now;
  }

  std::map<std::string, double> seconds;

 private:
  std::string phase_;
  std::clock_t start_ = 0;
};

DeviceDescription TwoThreads() {
  DeviceDescription device;
  device.id = "cpu";
  device.backend = "cpu";
  device.fingerprint = "computed";
  device.instruction_set = "avx512";
  device.threads = 2;
  return device;
}

struct Run {
  std::string search = "plait";
  bool for_gpu = false;
  bool checks_prices = false;
};

struct Timed {
  std::map<std::string, double> seconds;
  SearchResult result;
  int64_t profiles = 0;  // that the first search measured
  std::string candidates_text;
};

// Searches twice; the second search finds every profile and is timed.
absl::StatusOr<Timed> TimeSearch(const Graph& graph, const Run& run) {
  const DeviceDescription device = run.for_gpu ? DescriptionOf(kH200Device) : TwoThreads();
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog, CatalogFor(device));
  SearchOptions options;
  options.rules = AllRules();
  options.engine_version = "scaling";
  options.search = run.search;
  options.backtracking.checks_prices = run.checks_prices;
  Timed timed;
  std::map<std::string, Profile> known;
  for (int turn = 0; turn < 2; ++turn) {
    ComputedProfiler computed;
    DescribedProfiler described(kH200Device, PredictionDetail::kBlocks, catalog.get());
    InstantVerifier verifier;
    MeasurementLog log;
    UnlimitedBudget forever;
    PhaseClock clock;
    ProfileCache profiles(run.for_gpu ? static_cast<Profiler&>(described) : computed, log);
    for (const auto& [key, profile] : known) profiles.Load(key, profile);
    const SearchContext context{device, *catalog, profiles, verifier, forever, log, clock};
    PLAIT_ASSIGN_OR_RETURN(timed.result, Optimize(graph, options, context));
    for (const auto& [key, profile] : profiles.measured()) known[key.ToString()] = profile;
    if (turn == 0) timed.profiles = profiles.profiles_measured();
    timed.seconds = clock.seconds;
    timed.candidates_text = verifier.candidates_text;
  }
  return timed;
}

absl::StatusOr<Graph> GraphOf(const std::string& argument) {
  int cells = 0;
  if (absl::SimpleAtoi(argument, &cells)) return ParseTypedGraph(CellChain(cells).text());
  std::ifstream file(argument, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportOnnx(bytes));
  PLAIT_ASSIGN_OR_RETURN(const Bound bound, Bind(model, {}));
  return bound.graph;
}

absl::Status PrintText(const std::string& argument, Run run) {
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, GraphOf(argument));
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(const Graph canonical, Canonicalize(graph, AllRules(), &counts));
  std::printf("%s\n", PrintGraph(canonical).c_str());
  for (const char* search : {"plait", "autograph"}) {
    run.search = search;
    PLAIT_ASSIGN_OR_RETURN(const Timed timed, TimeSearch(graph, run));
    std::printf("%s\n%s%s\n%s\n%s\n", search, timed.result.trace.c_str(),
                timed.candidates_text.c_str(), PrintGraph(timed.result.graph).c_str(),
                PrintPlan(timed.result.plan).c_str());
  }
  return absl::OkStatus();
}

absl::Status PrintSeconds(absl::Span<char* const> arguments, const Run& run) {
  const char* const phases[] = {"baseline", "canonicalize", "search", "schedule", "verify"};
  std::printf("%-14s %7s %7s %7s %9s %8s", "graph", "nodes", "regions", "graphs", "graphs/s",
              "profiles");
  for (const char* phase : phases) std::printf(" %12s", phase);
  std::printf(" %12s\n", "all");
  double first_nodes = 0;
  double first_seconds = 0;
  for (char* const argument : arguments) {
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, GraphOf(argument));
    PLAIT_ASSIGN_OR_RETURN(const Timed timed, TimeSearch(graph, run));
    double all = 0;
    const auto searched = timed.seconds.find("search");
    const double search_seconds = searched == timed.seconds.end() ? 0 : searched->second;
    const auto graphs = static_cast<double>(timed.result.candidates);
    std::printf("%-14s %7d %7d %7.0f %9.0f %8lld", argument, graph.node_count(),
                timed.result.regions_solved, graphs,
                search_seconds > 0 ? graphs / search_seconds : 0,
                static_cast<long long>(timed.profiles));
    for (const char* phase : phases) {
      const auto found = timed.seconds.find(phase);
      const double seconds = found == timed.seconds.end() ? 0 : found->second;
      all += seconds;
      std::printf(" %12.3f", seconds);
    }
    std::printf(" %12.3f\n", all);
    std::fflush(stdout);
    if (argument == arguments.front()) {
      first_nodes = graph.node_count();
      first_seconds = all;
    } else if (argument == arguments.back()) {
      std::printf("exponent %.2f\n",
                  std::log(all / first_seconds) / std::log(graph.node_count() / first_nodes));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  plait::Run run;
  bool text = false;
  absl::Span<char* const> arguments(argv + 1, argc - 1);
  for (; !arguments.empty() && arguments[0][0] == '-'; arguments.remove_prefix(1)) {
    const absl::string_view flag = arguments[0];
    run.for_gpu |= flag == "--gpu";
    run.checks_prices |= flag == "--check";
    text |= flag == "--text";
  }
  if (arguments.empty() || (text && arguments.size() > 1)) {
    std::fprintf(stderr, "usage: search_scaling [--gpu] [--check|--text] CELLS|MODEL.onnx...\n");
    return 2;
  }
  const absl::Status status =
      text ? plait::PrintText(arguments[0], run) : plait::PrintSeconds(arguments, run);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
