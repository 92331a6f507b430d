#include "bench/gpu/candidate_trial.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>
#include <utility>

namespace plait::cuda {
namespace {

constexpr size_t kWorkspaceBytesMax = size_t{1} << 30;
// Enough to choose finalists by, and four times faster to capture than what they are timed with.
constexpr int kQuickReplays = 5;
constexpr int64_t kReferenceOperationsPerCore = 6'000'000;  // about 20 ms

bool HasNote(const Candidate& candidate, const std::string& note) {
  const std::vector<std::string> notes = candidate.notes();
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

const Status& NotBuilt() {
  static const Status status = Error{ErrorCode::kInternal, ""};
  return status;
}

Status CheckNumbers(Session* session, const Job& job, const Bench& bench, double* relative_l2) {
  PLAIT_CUDA_RETURN_IF_ERROR(session->CheckIndices(job.kernel->problem, bench.operands.at(0)));
  const auto outputs = bench.operands.Download(session);
  if (!outputs.ok()) return outputs.error();
  const Difference difference = Compare(bench.reference, outputs.value(), job.precision);
  *relative_l2 = difference.relative_l2;
  char text[120];
  if (difference.not_numbers > 0) {
    std::snprintf(text, sizeof(text), "wrong: %lld outputs are NaN or unwritten",
                  static_cast<long long>(difference.not_numbers));
    return Error{ErrorCode::kInternal, text};
  }
  if (!Passes(difference, job.kernel->problem, job.precision)) {
    std::snprintf(text, sizeof(text), "wrong: relative L2 %.3g of %.3g, largest error %.3g of %.3g",
                  difference.relative_l2, RelativeL2Max(job.kernel->problem, job.precision),
                  difference.largest, LargestErrorMax(job.kernel->problem, job.precision));
    return Error{ErrorCode::kInternal, text};
  }
  return Ok();
}

// Gives the operands a workspace as large as the candidate wants.
Status PlaceWorkspace(Session* session, Bench* bench, size_t bytes) {
  session->Release(bench->mark);
  if (bytes > kWorkspaceBytesMax) {
    return Error{ErrorCode::kUnsupported, "workspace of " + std::to_string(bytes) + " bytes"};
  }
  const Result<void*> workspace = session->Take(std::max<size_t>(bytes, 1));
  if (!workspace.ok()) return workspace.error();
  bench->operands.SetWorkspace(bytes == 0 ? nullptr : workspace.value());
  return Ok();
}

uint64_t SeedOf(const Job& job) { return std::hash<std::string>()(job.kernel->graph); }

}  // namespace

Result<Bench> PrepareBench(Session* session, const Job& job, int copies) {
  Bench bench;
  Result<ProblemShape> shape = ShapeOf(job.kernel->problem);
  if (!shape.ok()) return shape.error();
  bench.shape = shape.value();
  const HostOperands host =
      MakeHostOperands(job.kernel->problem, bench.shape, job.precision, SeedOf(job));
  const int64_t cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  bench.reference = ComputeReference(job.kernel->problem, bench.shape, job.layout, host,
                                     cores * kReferenceOperationsPerCore, SeedOf(job));
  Result<DeviceOperands> operands =
      DeviceOperands::Upload(session, bench.shape, job.precision, host, copies);
  if (!operands.ok()) return operands.error();
  bench.operands = std::move(operands).value();
  bench.mark = session->mark();
  return bench;
}

std::vector<Status> PrepareInParallel(const std::vector<std::unique_ptr<Candidate>>& candidates) {
  std::vector<Status> statuses(candidates.size(), NotBuilt());
  std::vector<size_t> compiled;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (HasNote(*candidates[i], "nvrtc")) compiled.push_back(i);
  }
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < compiled.size(); i = next++) {
      statuses[compiled[i]] = candidates[compiled[i]]->Prepare();
    }
  };
  const size_t threads = std::min<size_t>(compiled.size(), std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (size_t t = 1; t < threads; ++t) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return statuses;
}

Result<Trial> RunTrial(Session* session, const Job& job, Bench* bench, Candidate* candidate,
                       const Status& prepared) {
  const bool built = prepared.ok() || !prepared.error().message.empty();
  PLAIT_CUDA_RETURN_IF_ERROR(built ? prepared : candidate->Prepare());
  Trial trial{.candidate = candidate};
  trial.finding.candidate = candidate->name();
  trial.finding.notes = candidate->notes();
  trial.finding.workspace_bytes = candidate->workspace_bytes();
  PLAIT_CUDA_RETURN_IF_ERROR(PlaceWorkspace(session, bench, trial.finding.workspace_bytes));
  PLAIT_CUDA_RETURN_IF_ERROR(bench->operands.Poison(session));
  PLAIT_CUDA_RETURN_IF_ERROR(candidate->Launch(bench->operands.at(0), session->stream()));
  PLAIT_CUDA_RETURN_IF_ERROR(CheckNumbers(session, job, *bench, &trial.finding.relative_l2));
  const Result<ExecutableGraph> graph = BuildChain(
      session, kQuickReplays,
      [&](int, Stream stream) { return candidate->Launch(bench->operands.at(0), stream); },
      candidate->resources(), &trial.finding.nodes);
  if (!graph.ok()) return graph.error();
  const Result<std::vector<double>> samples =
      SampleGraph(session, graph.value(), {.launches_per_graph = kQuickReplays, .samples = 2});
  if (!samples.ok()) return samples.error();
  trial.quick_us = *std::min_element(samples.value().begin(), samples.value().end());
  return trial;
}

Result<FinalGraphs> BuildFinal(Session* session, const Job& job, Bench* bench, const Trial& trial) {
  PLAIT_CUDA_RETURN_IF_ERROR(PlaceWorkspace(session, bench, trial.finding.workspace_bytes));
  Candidate* candidate = trial.candidate;
  Result<ExecutableGraph> warm = BuildChain(
      session, kReplays,
      [&](int, Stream stream) { return candidate->Launch(bench->operands.at(0), stream); },
      candidate->resources());
  if (!warm.ok()) return warm.error();
  FinalGraphs graphs{.warm = std::move(warm).value(), .cold = nullptr};
  PLAIT_CUDA_RETURN_IF_ERROR(bench->operands.Poison(session));
  PLAIT_CUDA_RETURN_IF_ERROR(graphs.warm.Launch(session->stream()));
  double relative_l2 = 0;
  const Status right = CheckNumbers(session, job, *bench, &relative_l2);
  if (!right.ok()) return Error{right.error().code, "in a graph: " + right.error().message};
  if (!bench->operands.has_weights()) return graphs;
  Result<ExecutableGraph> cold = BuildChain(
      session, kReplays,
      [&](int index, Stream stream) {
        return candidate->Launch(bench->operands.at(index), stream);
      },
      candidate->resources());
  if (!cold.ok()) return cold.error();
  graphs.cold = std::make_unique<ExecutableGraph>(std::move(cold).value());
  return graphs;
}

}  // namespace plait::cuda
