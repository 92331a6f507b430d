#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "bench/gpu/candidate_trial.h"
#include "bench/gpu/kernel_list.h"
#include "bench/gpu/line_file.h"
#include "bench/gpu/options.h"
#include "bench/gpu/supervisor.h"

namespace plait::cuda {
namespace {

constexpr size_t kRepresentatives = 40;
constexpr size_t kTriples = 200;
constexpr int kStages = 10;  // repetitions of the set in one graph, with a barrier between them
constexpr int kPairSamples = 15;
constexpr uint32_t kSeed = 20;

// The best recorded candidate of a kernel in one precision and layout.
struct Best {
  std::string graph, family, precision, layout, variant;
  double latency_us = 0;

  std::string id() const { return graph + "\t" + variant; }
};

// The fastest warm profile of every kernel, over all precisions and layouts of the command line.
std::vector<Best> ReadBest(const Options& options, const std::string& fingerprint) {
  std::set<std::string> precisions, layouts;
  for (Precision precision : options.precisions) precisions.insert(PrecisionName(precision));
  for (MemoryLayout layout : options.layouts) layouts.insert(LayoutName(layout));
  std::map<std::string, Best> best;
  std::ifstream file(options.profiles);
  std::string line;
  while (std::getline(file, line)) {
    const Result<FlatObject> parsed = FlatObject::Parse(line);
    if (!parsed.ok()) continue;
    const FlatObject& o = parsed.value();
    if (o.Text("record") != "profile" || o.Text("device") != fingerprint) continue;
    Best found{o.Text("graph"),         o.Text("family"),  o.Text("precision"),
               o.Text("memory_layout"), o.Text("variant"), o.Number("latency_us_median")};
    if (found.latency_us <= 0 || !precisions.contains(found.precision) ||
        !layouts.contains(found.layout)) {
      continue;
    }
    const auto known = best.find(found.graph);
    if (known == best.end() || found.latency_us < known->second.latency_us) {
      best[found.graph] = found;
    }
  }
  std::vector<Best> result;
  for (auto& [graph, one] : best) result.push_back(one);
  return result;
}

// In turns from every family, in the order of the kernel list, so that each is represented.
std::vector<std::pair<const ListedKernel*, Best>> Choose(const std::vector<ListedKernel>& kernels,
                                                         const std::vector<Best>& best) {
  std::map<std::string, const Best*> by_graph;
  for (const Best& one : best) by_graph[one.graph] = &one;
  std::map<std::string, std::vector<std::pair<const ListedKernel*, Best>>> families;
  std::set<std::string> seen;
  for (const ListedKernel& kernel : kernels) {
    const auto found = by_graph.find(kernel.graph);
    if (found == by_graph.end() || !seen.insert(kernel.graph).second) continue;
    families[kernel.family].push_back({&kernel, *found->second});
  }
  std::vector<std::pair<const ListedKernel*, Best>> chosen;
  for (size_t turn = 0; turn < by_graph.size() && chosen.size() < kRepresentatives; ++turn) {
    for (const auto& [family, members] : families) {
      if (turn < members.size() && chosen.size() < kRepresentatives) {
        chosen.push_back(members[turn]);
      }
    }
  }
  return chosen;
}

// A representative, ready to be launched, with operands and a workspace of its own.
struct Runner {
  Best best;
  std::unique_ptr<Candidate> candidate;
  Bench bench;
  double alone_us = 0;
};

Result<Runner> MakeRunner(Session* session, const ListedKernel& kernel, const Best& best) {
  const Result<Precision> precision = ParsePrecision(best.precision);
  const Result<MemoryLayout> layout = ParseLayout(best.layout);
  if (!precision.ok()) return precision.error();
  if (!layout.ok()) return layout.error();
  const Job job{&kernel, precision.value(), layout.value()};
  Session::Listing listing = session->Enumerate(kernel.problem, job.precision, job.layout);
  for (auto& candidate : listing.candidates) {
    if (job.variant(candidate->name()) != best.variant) continue;
    PLAIT_CUDA_RETURN_IF_ERROR(candidate->Prepare());
    Result<Bench> bench = PrepareBench(session, job, 1);
    if (!bench.ok()) return bench.error();
    const Result<void*> workspace =
        session->Take(std::max<size_t>(candidate->workspace_bytes(), 1));
    if (!workspace.ok()) return workspace.error();
    Runner runner{best, std::move(candidate), std::move(bench).value(), 0};
    runner.bench.operands.SetWorkspace(workspace.value());
    PLAIT_CUDA_RETURN_IF_ERROR(
        runner.candidate->Launch(runner.bench.operands.at(0), session->stream()));
    PLAIT_CUDA_RETURN_IF_ERROR(session->runtime().Synchronize(session->stream()));
    return runner;
  }
  return Error{ErrorCode::kUnavailable, best.variant + ": not listed any more"};
}

// The time of one stage in which all of `set` run side by side.
Result<Timing> TimeSideBySide(Session* session, const std::vector<Runner*>& set) {
  FlatGraphBuilder builder(&session->runtime());
  builder.Keep(session->memory());
  for (Runner* runner : set) builder.Keep(runner->candidate->resources());
  std::vector<int> before;
  for (int stage = 0; stage < kStages; ++stage) {
    std::vector<int> operations;
    for (Runner* runner : set) {
      const Result<int> operation = builder.AddOperation(runner->best.variant, [&](Stream stream) {
        return runner->candidate->Launch(runner->bench.operands.at(0), stream);
      });
      if (!operation.ok()) return operation.error();
      operations.push_back(operation.value());
    }
    PLAIT_CUDA_RETURN_IF_ERROR(builder.AddStageBarrier(before, operations));
    before = operations;
  }
  const Result<ExecutableGraph> graph = builder.Build();
  if (!graph.ok()) return graph.error();
  Result<std::vector<double>> samples =
      SampleGraph(session, graph.value(), {.launches_per_graph = kStages, .samples = kPairSamples});
  if (!samples.ok()) return samples.error();
  return Summarize(std::move(samples).value());
}

std::string SetId(const std::vector<Runner*>& set) {
  std::string id;
  for (const Runner* runner : set) id += runner->best.id() + "\n";
  return id;
}

// Half of the sets, by a hash that does not depend on the order or the machine (FNV-1a).
bool IsHeldOut(const std::string& id) {
  uint64_t hash = 14695981039346656037u + kSeed;
  for (char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return ((hash >> 32) & 1) != 0;
}

std::string ContentionLine(const Session& session, const std::vector<Runner*>& set,
                           const Timing& timing) {
  std::vector<std::string> graphs, variants, families;
  std::vector<double> alone_us;
  for (const Runner* runner : set) {
    graphs.push_back(runner->best.graph);
    variants.push_back(runner->best.variant);
    families.push_back(runner->best.family);
    alone_us.push_back(runner->alone_us);
  }
  FlatWriter writer;
  writer.Add("record", set.size() == 1 ? "alone" : "contention");
  writer.Add("device", session.fingerprint());
  writer.Add("kernels", static_cast<int64_t>(set.size()));
  writer.Add("families", families).Add("variants", variants).Add("graphs", graphs);
  writer.Add("alone_us", alone_us);
  writer.Add("makespan_us_median", timing.median_us).Add("makespan_us_p10", timing.p10_us);
  writer.Add("makespan_us_mad", timing.mad_us).Add("samples", timing.samples);
  writer.Add("stages", kStages);
  writer.Add("held_out", set.size() > 1 && IsHeldOut(SetId(set)));
  return writer.Line();
}

// All pairs, then random triples.
std::vector<std::vector<Runner*>> SetsOf(std::vector<Runner>* runners) {
  std::vector<std::vector<Runner*>> sets;
  const size_t count = runners->size();
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) sets.push_back({&(*runners)[a], &(*runners)[b]});
  }
  // A run that is cut off should have seen every kernel.
  std::mt19937 random(kSeed);
  std::shuffle(sets.begin(), sets.end(), random);
  std::set<std::set<size_t>> triples;
  for (size_t draws = 0; count >= 3 && draws < 20 * kTriples && triples.size() < kTriples;
       ++draws) {
    const std::set<size_t> triple = {random() % count, random() % count, random() % count};
    if (triple.size() != 3 || !triples.insert(triple).second) continue;
    std::vector<Runner*>& set = sets.emplace_back();
    for (size_t i : triple) set.push_back(&(*runners)[i]);
  }
  return sets;
}

// The sets that are on file already, and whether they failed.
using Done = std::map<std::string, bool>;

Done ReadDone(const Options& options, const std::string& fingerprint) {
  Done done;
  std::ifstream file(options.out);
  std::string line;
  while (std::getline(file, line)) {
    const Result<FlatObject> parsed = FlatObject::Parse(line);
    if (parsed.ok() && parsed.value().Text("device") == fingerprint) {
      done[parsed.value().Text("set")] = parsed.value().Text("record") == "failure";
    }
  }
  return done;
}

std::string WithSet(std::string line, const std::string& set) {
  line.pop_back();
  return line + ",\"set\":" + QuoteJson(set) + "}";
}

// A short name of a set, to find it again: graphs are long.
std::string ShortId(const std::vector<Runner*>& set) {
  return std::to_string(set.size()) + ":" + std::to_string(std::hash<std::string>()(SetId(set)));
}

class ContentionRecorder {
 public:
  ContentionRecorder(const Options& options, Session* session, LineFile* out, Attempt* attempt)
      : options_(options), session_(session), out_(out), attempt_(attempt) {}

  int Run(const std::vector<ListedKernel>& kernels) {
    const std::string fingerprint = session_->fingerprint();
    const auto chosen = Choose(kernels, ReadBest(options_, fingerprint));
    if (chosen.size() < 2) {
      std::fprintf(stderr, "contention: %s has fewer than two kernels of this device\n",
                   options_.profiles.c_str());
      return 1;
    }
    const Done done = ReadDone(options_, fingerprint);
    std::vector<Runner> runners = MakeRunners(chosen);
    for (Runner& runner : runners) {
      if (Stopping()) return 0;
      // What crashed would crash again, and again.
      const auto found = done.find(ShortId({&runner}));
      if (found != done.end() && found->second) continue;
      const int status = Record({&runner}, done);
      if (status != 0) return status;
    }
    std::erase_if(runners, [](const Runner& runner) { return runner.alone_us <= 0; });
    int recorded = 0;
    const auto sets = SetsOf(&runners);
    for (const std::vector<Runner*>& set : sets) {
      if (Stopping()) break;
      if (done.contains(ShortId(set))) continue;
      const int status = Record(set, done);
      if (status != 0) return status;
      ++recorded;
    }
    std::printf("contention: %d of %zu sets of %zu kernels recorded in this run\n", recorded,
                sets.size(), runners.size());
    return 0;
  }

 private:
  bool Stopping() const { return StopRequested() || PastDeadline(options_); }

  std::vector<Runner> MakeRunners(const std::vector<std::pair<const ListedKernel*, Best>>& chosen) {
    std::vector<Runner> runners;
    for (const auto& [kernel, best] : chosen) {
      if (Stopping()) break;
      attempt_->Beat();
      const size_t mark = session_->mark();
      Result<Runner> runner = MakeRunner(session_, *kernel, best);
      if (runner.ok()) {
        runners.push_back(std::move(runner).value());
        continue;
      }
      session_->Release(mark);
      std::fprintf(stderr, "contention: %s: %s\n", best.variant.c_str(),
                   runner.error().message.c_str());
    }
    return runners;
  }

  // A single runner is timed in every run, because its time is needed for the lines of the others.
  int Record(const std::vector<Runner*>& set, const Done& done) {
    const std::string id = ShortId(set);
    attempt_->Begin(WithSet(FailureOf(set, "the process died or hung in this set"), id));
    const Result<Timing> timing = TimeSideBySide(session_, set);
    attempt_->Begin("");
    if (!timing.ok()) {
      const Status written = out_->Write(WithSet(FailureOf(set, timing.error().message), id));
      const bool healthy = session_->runtime().CheckHealth().ok();
      return !written.ok() ? 1 : healthy ? 0 : kRestart;
    }
    if (set.size() == 1) set[0]->alone_us = timing.value().median_us;
    if (done.contains(id)) return 0;
    const Status written = out_->Write(WithSet(ContentionLine(*session_, set, timing.value()), id));
    if (!written.ok()) std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return written.ok() ? 0 : 1;
  }

  std::string FailureOf(const std::vector<Runner*>& set, const std::string& reason) const {
    std::vector<std::string> variants;
    for (const Runner* runner : set) variants.push_back(runner->best.variant);
    return FlatWriter()
        .Add("record", "failure")
        .Add("device", session_->fingerprint())
        .Add("variants", variants)
        .Add("failure", reason)
        .Line();
  }

  const Options& options_;
  Session* const session_;
  LineFile* const out_;
  Attempt* const attempt_;
};

int MeasureContention(const Options& options, const std::vector<ListedKernel>& kernels,
                      Attempt* attempt) {
  Result<std::unique_ptr<Session>> session = Session::Open(options.fake);
  if (!session.ok()) {
    std::fprintf(stderr, "contention: %s\n", session.error().message.c_str());
    return 1;
  }
  Result<LineFile> out = LineFile::Open(options.out);
  if (!out.ok()) {
    std::fprintf(stderr, "contention: %s\n", out.error().message.c_str());
    return 1;
  }
  return ContentionRecorder(options, session.value().get(), &out.value(), attempt).Run(kernels);
}

}  // namespace

int RunContention(const Options& options) {
  const Result<std::vector<ListedKernel>> kernels = ReadKernelList(options.kernels);
  if (!kernels.ok()) {
    std::fprintf(stderr, "contention: %s\n", kernels.error().message.c_str());
    return 1;
  }
  return Supervise(options.out, [&](Attempt& attempt) {
    return MeasureContention(options, kernels.value(), &attempt);
  });
}

}  // namespace plait::cuda
