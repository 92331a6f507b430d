#include "bench/gpu/profile_line.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "gpu_worker/backends/cuda/driver/launch_chain.h"

namespace plait::cuda {
namespace {

// Of generated kernels, all at once. 2: NaN passes maxima, and gathers check their indices.
constexpr char kVersion[] = "2";

// The fields of ProfileKey, and where they come from.
FlatWriter Begin(const char* record, const std::string& fingerprint, const Job& job) {
  FlatWriter writer;
  writer.Add("record", record);
  writer.Add("device", fingerprint);
  writer.Add("family", job.kernel->family);
  writer.Add("precision", PrecisionName(job.precision));
  writer.Add("memory_layout", LayoutName(job.layout));
  writer.Add("formats", job.formats());
  writer.Add("graph", job.kernel->graph);
  return writer;
}

void AddNodes(const std::vector<NodeDescription>& nodes, FlatWriter* writer) {
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> grids, blocks;
  std::vector<double> registers, shared_bytes, resident, occupancy;
  int64_t others = 0;
  for (const NodeDescription& node : nodes) {
    if (node.kind != NodeDescription::Kind::kKernel) {
      ++others;
      continue;
    }
    names.push_back(node.kernel);
    grids.emplace_back(node.grid.begin(), node.grid.end());
    blocks.emplace_back(node.block.begin(), node.block.end());
    registers.push_back(node.registers);
    shared_bytes.push_back(node.shared_bytes);
    resident.push_back(node.blocks_per_multiprocessor);
    occupancy.push_back(node.occupancy);
  }
  writer->Add("kernel_names", names);
  writer->Add("kernel_grids", grids);
  writer->Add("kernel_blocks", blocks);
  writer->Add("kernel_registers", registers);
  writer->Add("kernel_shared_bytes", shared_bytes);
  writer->Add("kernel_blocks_per_multiprocessor", resident);
  writer->Add("kernel_occupancy", occupancy);
  writer->Add("other_nodes", others);
}

// Nothing where nobody could read it.
void AddClock(const ClockSeen& clock, FlatWriter* writer) {
  if (clock.least_mhz == 0) return;
  writer->Add("clock_mhz_min", static_cast<int64_t>(clock.least_mhz));
  writer->Add("clock_mhz_max", static_cast<int64_t>(clock.most_mhz));
  writer->Add("clock_limits", ClockLimitNames(clock.limits));
  writer->Add("clock_spans", clock.spans);
  writer->Add("clock_spans_moving", clock.moving);
}

}  // namespace

std::string Job::variant(const std::string& candidate) const {
  return std::string(PrecisionName(precision)) + "/" + LayoutName(layout) + "/" + candidate;
}

std::string ProfileLine(const Session& session, const Job& job, const ProblemShape& shape,
                        const Finding& finding, const Timing& timing, bool cold) {
  FlatWriter writer = Begin("profile", session.fingerprint(), job);
  writer.Add("variant", job.variant(finding.candidate));
  writer.Add("version", kVersion);
  writer.Add("width", 1);
  writer.Add("cold_weights", cold);
  writer.Add("latency_us_median", timing.median_us);
  writer.Add("latency_us_p10", timing.p10_us);
  writer.Add("latency_us_mad", timing.mad_us);
  writer.Add("samples", timing.samples);
  AddClock(timing.clock, &writer);
  writer.Add("bytes", BytesOf(shape, job.kernel->problem, job.precision));
  writer.Add("flops", shape.flops);
  writer.Add("compute_share", ComputeShare(finding.nodes, session.facts().multiprocessors));
  writer.Add("workspace_bytes", static_cast<int64_t>(finding.workspace_bytes));
  writer.Add("relative_l2", finding.relative_l2);
  writer.Add("notes", finding.notes);
  AddNodes(finding.nodes, &writer);
  writer.Add("origin", job.kernel->origin);
  writer.Add("priority", job.kernel->priority);
  return writer.Line();
}

std::string FailureLine(const std::string& fingerprint, const Job& job,
                        const std::string& candidate, const std::string& reason) {
  FlatWriter writer = Begin("failure", fingerprint, job);
  writer.Add("variant", job.variant(candidate));
  writer.Add("samples", 0);
  writer.Add("failure", reason);
  return writer.Line();
}

std::string DoneLine(const std::string& fingerprint, const Job& job, int candidates,
                     const std::vector<std::string>& errors) {
  FlatWriter writer = Begin("done", fingerprint, job);
  writer.Add("candidates", candidates);
  writer.Add("source_errors", errors);
  return writer.Line();
}

std::string JobId(const Job& job) {
  return std::string(PrecisionName(job.precision)) + "\t" + LayoutName(job.layout) + "\t" +
         job.kernel->graph;
}

std::string VariantId(const Job& job, const std::string& candidate, bool cold) {
  return JobId(job) + "\t" + job.variant(candidate) + (cold ? "\tcold" : "\twarm");
}

Recorded ReadRecorded(const std::string& path, const std::string& fingerprint) {
  Recorded recorded;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const Result<FlatObject> parsed = FlatObject::Parse(line);
    if (!parsed.ok() || parsed.value().Text("device") != fingerprint) continue;
    const FlatObject& object = parsed.value();
    const std::string job = object.Text("precision") + "\t" + object.Text("memory_layout") + "\t" +
                            object.Text("graph");
    const std::string record = object.Text("record");
    const std::string variant = job + "\t" + object.Text("variant");
    if (record == "done") recorded.jobs.insert(job);
    if (record == "failure") recorded.failures.insert(variant);
    if (record == "profile") {
      recorded.variants.insert(variant + (object.Bool("cold_weights") ? "\tcold" : "\twarm"));
    }
  }
  return recorded;
}

}  // namespace plait::cuda
