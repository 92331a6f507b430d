#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/device_operands.h"
#include "bench/gpu/profile_line.h"
#include "bench/gpu/session.h"
#include "bench/gpu/timing.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"

namespace plait::cuda {

constexpr int kReplays = 20;

// A job's operands on the device and its reference.
struct Bench {
  ProblemShape shape;
  DeviceOperands operands;
  std::vector<ReferenceElement> reference;
  size_t mark = 0;  // the session's memory behind the operands: workspaces begin there
};

// Draws the operands, computes the reference on the host, and uploads, weights up to `copies`
// times. The caller releases the session's memory. Errors: kUnavailable, kDevice.
Result<Bench> PrepareBench(Session* session, const Job& job, int copies);

// A candidate that gave the right numbers, and how long one of few launches took.
struct Trial {
  Candidate* candidate = nullptr;
  Finding finding;
  double quick_us = 0;
};

// Builds the candidates: those that NVRTC compiles all at once, as it may be called from many
// threads; the others are built by RunTrial(). Returns a status for each candidate; an error of
// kInternal with no message marks one that is not built yet.
std::vector<Status> PrepareInParallel(const std::vector<std::unique_ptr<Candidate>>& candidates);

// Prepares if `prepared` says so, runs once on poisoned outputs, compares, captures, and times a
// few launches. Errors: what went wrong, to be recorded; kDevice may be sticky.
Result<Trial> RunTrial(Session* session, const Job& job, Bench* bench, Candidate* candidate,
                       const Status& prepared);

// The two ways in which a finalist is timed.
struct FinalGraphs {
  ExecutableGraph warm;
  std::unique_ptr<ExecutableGraph> cold;  // null without weights
};

// Captures a finalist's launches, and checks the numbers that the graph gives. Errors: as above.
Result<FinalGraphs> BuildFinal(Session* session, const Job& job, Bench* bench, const Trial& trial);

}  // namespace plait::cuda
