#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/gpu/kernel_list.h"
#include "bench/gpu/session.h"
#include "bench/gpu/timing.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// One kernel in one precision and layout: what a line is about.
struct Job {
  const ListedKernel* kernel = nullptr;
  Precision precision = Precision::kStrict;
  MemoryLayout layout = MemoryLayout::kNchw;

  std::string formats() const { return FormatsIn(*kernel, layout); }
  // ProfileKey.variant of a candidate: the precision, the memory layout, its name.
  std::string variant(const std::string& candidate) const;
};

// What was found out about a candidate.
struct Finding {
  std::string candidate;
  std::vector<std::string> notes;
  size_t workspace_bytes = 0;
  double relative_l2 = 0;
  std::vector<NodeDescription> nodes;
};

// "record": "profile". `cold`: weights from memory.
std::string ProfileLine(const Session& session, const Job& job, const ProblemShape& shape,
                        const Finding& finding, const Timing& timing, bool cold);

// "record": "failure", with the reason.
std::string FailureLine(const std::string& fingerprint, const Job& job,
                        const std::string& candidate, const std::string& reason);

// "record": "done": every candidate of the job is on file; `candidates` of them.
std::string DoneLine(const std::string& fingerprint, const Job& job, int candidates,
                     const std::vector<std::string>& errors);

// What a file of such lines says is finished.
struct Recorded {
  std::set<std::string> jobs;      // JobId
  std::set<std::string> variants;  // JobId and variant, cold or not
  std::set<std::string> failures;  // JobId and variant
};

std::string JobId(const Job& job);
std::string VariantId(const Job& job, const std::string& candidate, bool cold);

// Reads `path`; an unreadable or torn line is skipped, a missing file is empty. Lines of another
// device are left out.
Recorded ReadRecorded(const std::string& path, const std::string& fingerprint);

}  // namespace plait::cuda
