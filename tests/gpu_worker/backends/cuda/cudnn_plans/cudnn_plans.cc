#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/search/described_plans.h"
#include "bench/search/described_search.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "nlohmann/json.hpp"
#include "optimizer/cost/described_device.h"
#include "tests/gpu_worker/backends/cuda/cudnn_plans/cudnn_steps.h"

namespace plait {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kUsage[] =
    R"(usage: cudnn_plans [--precision LIST] [--all-engines] [--jsonl FILE] MODEL.onnx...

Plans each model for the described device h200, and has cuDNN itself finalise plans for every
distinct problem of their steps that it is asked for, without a device: of an engine that is
compiled already; where there is none, of one that is compiled at run time. Prints a line for each
model and precision:

  steps        of the model's plans that cuDNN is asked for
  problems     distinct ones among them
  precompiled  those with a plan of an engine that is compiled already
  compiled     those with one of an engine that is compiled at run time alone
  without      those with neither; each is listed, with the reason and with what runs it instead
  plans        that were finalised of precompiled engines
  refused      engines that cuDNN lists and whose plan it did not finalise
  split        kinds of steps that nothing computes whole, and that run as several

Exits 1 where cuDNN lists engines for a step and finalises none, or nothing else runs a step.
Nothing of it runs on a GPU.

  --precision LIST  of strict,tf32,fp16,bf16 (default: strict)
  --all-engines     a plan of every engine that is compiled already, not of the first that can be
  --jsonl FILE      the same as a line of JSON each

Example
  cmake --build build --target cudnn_plans && build/cudnn_plans build/models/*.onnx
)";

constexpr cuda::Precision kPrecisions[] = {cuda::Precision::kStrict, cuda::Precision::kTf32,
                                           cuda::Precision::kFp16, cuda::Precision::kBf16};

struct Request {
  std::vector<cuda::Precision> precisions = {cuda::Precision::kStrict};
  Engines engines = Engines::kFirst;
  std::string jsonl;
  std::vector<std::string> models;
  bool help = false;
};

std::optional<std::vector<cuda::Precision>> ParsePrecisions(absl::string_view text) {
  std::vector<cuda::Precision> precisions;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const auto* const found =
        std::find_if(std::begin(kPrecisions), std::end(kPrecisions),
                     [&](cuda::Precision of) { return name == cuda::PrecisionName(of); });
    if (found == std::end(kPrecisions)) return std::nullopt;
    precisions.push_back(*found);
  }
  return precisions;
}

std::optional<Request> Parse(int argc, char** argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      request.help = true;
    } else if (word == "--all-engines") {
      request.engines = Engines::kAll;
    } else if (word == "--precision" && i + 1 < argc) {
      const std::optional<std::vector<cuda::Precision>> precisions = ParsePrecisions(argv[++i]);
      if (!precisions.has_value()) return std::nullopt;
      request.precisions = *precisions;
    } else if (word == "--jsonl" && i + 1 < argc) {
      request.jsonl = argv[++i];
    } else if (word.substr(0, 1) == "-") {
      return std::nullopt;
    } else {
      request.models.emplace_back(word);
    }
  }
  if (request.models.empty() && !request.help) return std::nullopt;
  return request;
}

// What was found of one model in one precision.
struct Findings {
  int steps = 0;
  int problems = 0;
  int precompiled = 0;
  int compiled = 0;
  int plans = 0;
  int refused = 0;
  std::map<std::string, int> split;  // steps by name
  int failures = 0;
  Json without = Json::array();

  void Add(const ListedStep& step, const CudnnAnswer& answer) {
    ++problems;
    precompiled += answer.precompiled > 0;
    compiled += answer.precompiled == 0 && answer.runtime_compiled > 0;
    plans += answer.precompiled;
    refused += answer.refused;
    failures += answer.is_failure();
    if (answer.has_plan()) return;
    without.push_back({{"step", step.name}, {"reason", answer.reason}});
    without.back()["instead"] = answer.instead.empty() ? Json() : Json(answer.instead);
  }
};

absl::StatusOr<Findings> Find(cuda::Precision precision, const Graph& graph,
                              const std::vector<Plan>& plans, Engines engines) {
  const cuda::CudaDevice device = cuda::DescribeH200();
  PlanLaunches launches(precision, device);
  for (const Plan& plan : plans) PLAIT_RETURN_IF_ERROR(launches.Add(graph, plan));
  Findings findings;
  for (const std::string& name : launches.split()) ++findings.split[name];
  std::vector<const cuda::StepProblem*> asked;
  for (const ListedStep& step : launches.steps()) {
    if (!HasCudnnPattern(step.problem)) continue;
    ++findings.steps;
    const bool is_new = std::none_of(asked.begin(), asked.end(), [&](const auto* other) {
      return AreAlike(*other, step.problem);
    });
    if (!is_new) continue;
    asked.push_back(&step.problem);
    findings.Add(step, AskCudnn(step.problem, device, engines));
  }
  return findings;
}

void Print(const std::string& model, cuda::Precision precision, const Findings& found) {
  std::printf("%s %s: %d steps, %d problems: %d precompiled, %d compiled, %d without;",
              model.c_str(), cuda::PrecisionName(precision), found.steps, found.problems,
              found.precompiled, found.compiled, static_cast<int>(found.without.size()));
  std::printf(" %d plans, %d refused, %d split\n", found.plans, found.refused,
              static_cast<int>(found.split.size()));
  for (const Json& step : found.without) {
    const bool is_run = step["instead"].is_string();
    std::printf("  %s: %s; %s\n", step["step"].get<std::string>().c_str(),
                step["reason"].get<std::string>().c_str(),
                is_run ? step["instead"].get<std::string>().c_str() : "nothing runs it");
  }
  std::fflush(stdout);
}

Json ToJson(const std::string& model, cuda::Precision precision, const Findings& found) {
  return {{"model", model},
          {"precision", cuda::PrecisionName(precision)},
          {"steps", found.steps},
          {"problems", found.problems},
          {"precompiled", found.precompiled},
          {"compiled_at_run_time", found.compiled},
          {"plans", found.plans},
          {"engines_refused", found.refused},
          {"split", found.split},
          {"failures", found.failures},
          {"without", found.without}};
}

std::string NameOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

// True: every step has a plan, or is run by something else.
absl::StatusOr<bool> Run(const Request& request) {
  PLAIT_RETURN_IF_ERROR(UseRealCudnn());
  std::ofstream lines;
  if (!request.jsonl.empty()) lines.open(request.jsonl);
  bool all_well = true;
  for (const std::string& path : request.models) {
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, NormalFormOf(path));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Plan> plans, PlansOnDescribed(graph, kH200Device));
    for (const cuda::Precision precision : request.precisions) {
      absl::StatusOr<Findings> found = Find(precision, graph, plans, request.engines);
      if (!found.ok()) return Annotate(found.status(), path);
      Print(NameOf(path), precision, *found);
      if (lines.is_open()) lines << ToJson(NameOf(path), precision, *found).dump() << std::endl;
      all_well = all_well && found->failures == 0;
    }
  }
  if (lines.is_open() && !lines.good()) {
    return absl::UnavailableError(absl::StrCat("cannot write ", request.jsonl));
  }
  return all_well;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const std::optional<plait::Request> request = plait::Parse(argc, argv);
  if (!request.has_value()) {
    std::fprintf(stderr, "%s", plait::kUsage);
    return 2;
  }
  if (request->help) {
    std::printf("%s", plait::kUsage);
    return 0;
  }
  const absl::StatusOr<bool> all_well = plait::Run(*request);
  if (all_well.ok()) return *all_well ? 0 : 1;
  std::fprintf(stderr, "cudnn_plans: %s\n", all_well.status().ToString().c_str());
  return 1;
}
