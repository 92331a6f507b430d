// Says what plans take that were drawn at random, as the simulator predicts it and as the processor
// does: `sampled_plans COUNT OUT.jsonl MODEL.onnx...` draws so many different plans of each model
// (plan_sampler.h), measures each twice beside the model's baseline, in other company, and appends
// a line a plan, which judge_samples judges the predictions by:
//
//   model, sample, rewrites, policy
//   predicted_us               of one run, by the simulator as it is
//   latency_us, baseline_us    medians of the two measurements
//   steps                      [latency_us, stream, alone, compute_share, bytes, [waits]] of each
//
// A plan whose outputs are not those of the baseline ends the program. A model that has lines in
// the file already, which it gets all at once, is passed over.
//
//   build/sampled_plans 56 build/samples.jsonl build/models/*.onnx
//   build/judge_samples build/samples.jsonl
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "bench/search/local_verifier.h"
#include "bench/search/plan_sampler.h"
#include "client/loaded_model.h"
#include "client/local_profiler.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "optimizer/search/plan_graph.h"
#include "proto/wire/json.h"

namespace plait {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kBatch = 7;      // plans that are measured beside one baseline
constexpr int kDrawsMax = 40;  // for each plan that is wanted: small models have few
constexpr VerificationBatch kMeasuring = {
    .loads = 1, .rounds = 15, .rounds_min = 5, .seconds_max = 8, .random_inputs = 1};

// A plan with the medians of its measurements, in microseconds.
struct Sample {
  SampledPlan plan;
  std::vector<double> latency_us;
  std::vector<double> baseline_us;
};

// Lines that the file has already, by model. Others than ours count for nothing.
std::map<std::string, int> LinesOf(const std::string& path) {
  std::map<std::string, int> lines;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto record = wire::Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object()) ++lines[record.value("model", "")];
  }
  return lines;
}

std::string LineOf(const std::string& model, int number, const Sample& sample) {
  wire::Json steps = wire::Json::array();
  for (size_t i = 0; i < sample.plan.steps.size(); ++i) {
    const SimulatedStep& step = sample.plan.steps[i];
    steps.push_back({step.latency_us, step.stream, step.alone, step.compute_share,
                     sample.plan.step_bytes[i], step.waits});
  }
  return wire::JsonLine({{"model", model},
                         {"sample", number},
                         {"rewrites", sample.plan.rewrites},
                         {"policy", sample.plan.policy},
                         {"predicted_us", sample.plan.candidate.predicted_us},
                         {"latency_us", sample.latency_us},
                         {"baseline_us", sample.baseline_us},
                         {"steps", std::move(steps)}});
}

// One model on the device.
class Subject {
 public:
  Subject(Executor& executor, const KernelCatalog& catalog, const LoadedModel& model)
      : executor_(executor),
        catalog_(catalog),
        model_(model),
        verifier_(executor, *model.weights),
        profiles_(executor, {}) {}

  absl::StatusOr<std::vector<Sample>> Measure(int count) {
    PLAIT_RETURN_IF_ERROR(Draw(count));
    Random random(kSeed);
    std::vector<Sample*> order;
    for (Sample& sample : samples_) order.push_back(&sample);
    for (int turn = 0; turn < 2; ++turn) {
      for (size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random.Integer(0, static_cast<int64_t>(i) - 1)]);
      }
      for (size_t begin = 0; begin < order.size(); begin += kBatch) {
        const size_t size = std::min<size_t>(kBatch, order.size() - begin);
        PLAIT_RETURN_IF_ERROR(MeasureBatch({order.data() + begin, size}));
      }
    }
    return std::move(samples_);
  }

 private:
  // The baseline, and so many different plans.
  absl::Status Draw(int count) {
    const DeviceDescription& device = executor_.device();
    const SearchDevice search_device{device, catalog_, profiles_.cache, ScheduleDeviceOf(device)};
    const PlanBinding binding = {device.fingerprint, "sampled", device.threads};
    UnlimitedBudget budget;
    BudgetedProfiles budgeted(profiles_.cache, budget, profiles_.log);
    PLAIT_ASSIGN_OR_RETURN(const PlannedGraph planned,
                           PlanBaseline(model_.graph, search_device, binding, budgeted));
    baseline_ = {CandidateId(model_.graph, planned.plan), model_.graph, planned.plan,
                 planned.predicted_us};
    PLAIT_ASSIGN_OR_RETURN(PlanSampler sampler,
                           PlanSampler::Of(model_.graph, search_device, binding, budgeted, kSeed));
    absl::flat_hash_set<std::string> seen;
    for (int draw = 0; draw < kDrawsMax * count && std::ssize(samples_) < count; ++draw) {
      PLAIT_ASSIGN_OR_RETURN(SampledPlan plan, sampler.Draw());
      if (!seen.insert(plan.candidate.id).second) continue;
      samples_.push_back({std::move(plan), {}, {}});
    }
    return absl::OkStatus();
  }

  absl::Status MeasureBatch(absl::Span<Sample* const> batch) {
    std::vector<PlanCandidate> candidates = {baseline_};
    for (const Sample* sample : batch) candidates.push_back(sample->plan.candidate);
    PLAIT_ASSIGN_OR_RETURN(const std::vector<CandidateMeasurement> measured,
                           verifier_.Verify(candidates, kMeasuring));
    for (size_t i = 0; i < batch.size(); ++i) {
      const CandidateMeasurement& measurement = measured[i + 1];
      if (measurement.equivalence.verdict != Verdict::kEquivalent) {
        return absl::InternalError(absl::StrCat("a plan of ", batch[i]->plan.rewrites,
                                                " rewrites under ", batch[i]->plan.policy,
                                                " computes something else"));
      }
      batch[i]->latency_us.push_back(Median(measurement.latency_us));
      batch[i]->baseline_us.push_back(Median(measured[0].latency_us));
    }
    return absl::OkStatus();
  }

  Executor& executor_;
  const KernelCatalog& catalog_;
  const LoadedModel& model_;
  LocalVerifier verifier_;
  LocalProfiles profiles_;
  PlanCandidate baseline_;
  std::vector<Sample> samples_;
};

absl::Status Run(int count, const std::string& out, absl::Span<char* const> paths) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenExecutor("cpu", {.pins_threads = true}));
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(executor->device()));
  const std::map<std::string, int> there = LinesOf(out);
  for (const char* const path : paths) {
    const std::string name = std::filesystem::path(path).stem().string();
    if (const auto lines = there.find(name); lines != there.end()) {
      std::printf("%s: %d plans are in %s already\n", name.c_str(), lines->second, out.c_str());
      continue;
    }
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(
        const LoadedModel model,
        LoadModel(path, {.ignore_plan = true, .without_plan = PlanWithout::kPredictedBaseline},
                  *executor, &warnings));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Sample> samples,
                           Subject(*executor, *catalog, model).Measure(count));
    std::string lines;
    for (size_t i = 0; i < samples.size(); ++i) {
      lines += LineOf(name, static_cast<int>(i), samples[i]);
    }
    std::ofstream file(out, std::ios::app);
    if (!(file << lines << std::flush)) return absl::UnavailableError(out + " cannot be written");
    std::printf("%s: %zu plans\n", name.c_str(), samples.size());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  int count = 0;
  if (argc < 4 || !absl::SimpleAtoi(argv[1], &count) || count < 2) {
    std::fprintf(stderr, "usage: sampled_plans COUNT OUT.jsonl MODEL.onnx...\n");
    return 2;
  }
  const absl::Status status = plait::Run(count, argv[2], {argv + 3, static_cast<size_t>(argc - 3)});
  if (status.ok()) return 0;
  std::fprintf(stderr, "sampled_plans: %s\n", status.ToString().c_str());
  return 1;
}
