#include "gpu_worker/backends/cuda/run/graph_costs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "gpu_worker/backends/cuda/driver/launch_chain.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/driver/owned.h"

namespace plait::cuda {
namespace {

// The second one lasts some tens of microseconds: each round waits for the one before it, and no
// compiler knows that the result is never -1.
constexpr char kSource[] =
    "extern \"C\" __global__ void plait_nothing() {}\n"
    "extern \"C\" __global__ void plait_lasting(float* result, float x, int rounds) {\n"
    "  for (int i = 0; i < rounds; ++i) x = fmaf(x, 0.5f, 1.0f);\n"
    "  if (x == -1.0f) *result = x;\n"
    "}\n";
constexpr int kRoundsLasting = 20000;
constexpr int kChainLaunches = 50;
constexpr int kForks = 16;
// More than a plan of a known model has use for; an H200 ran 32 chains at a time.
constexpr int kStreamsMax = 16;
// Of one kernel's time: two of them one after the other would take twice as long.
constexpr double kSideBySideWithin = 1.5;
// Odd: the median is one of them.
constexpr int kSamples = 15;
// A text with more is no device's.
constexpr double kCostUsMax = 1000;
constexpr double kRateMax = 1e9;
// Of the caches, so that what is copied comes from memory; and where they are not known.
constexpr int64_t kCopyOfCaches = 2;
constexpr int64_t kCopyBytesUsual = int64_t{64} << 20;
constexpr int kChainCopies = 9;
constexpr absl::string_view kHead = "plait graph costs 2";

class Probe {
 public:
  Probe(Runtime* runtime, Stream stream) : runtime_(runtime), stream_(stream) {}

  Status Load(const DeviceFacts& facts) {
    const std::string target = ArchitectureOf(facts.sm_major, facts.sm_minor);
    const Result<std::string> code = runtime_->TakesPtx()
                                         ? CompileToPtx(kSource, "compute_" + target.substr(3))
                                         : CompileToCubin(kSource, target);
    if (!code.ok()) return code.error();
    const Result<Library> loaded = runtime_->LoadLibrary(code.value());
    if (!loaded.ok()) return loaded.error();
    library_ = OwnedLibrary(runtime_, loaded.value());
    const Result<Kernel> nothing = runtime_->FindKernel(library_.get(), "plait_nothing");
    if (!nothing.ok()) return nothing.error();
    const Result<Kernel> lasting = runtime_->FindKernel(library_.get(), "plait_lasting");
    if (!lasting.ok()) return lasting.error();
    nothing_ = nothing.value();
    lasting_ = lasting.value();
    return Ok();
  }

  // A chain of so many kernels that do nothing.
  Result<double> ChainUs(int launches, const std::function<Status(Stream)>& before) {
    const Result<ExecutableGraph> chain =
        BuildChain(runtime_, launches, [&](int, Stream stream) { return Nothing(stream); }, {});
    return chain.ok() ? MedianSpanUs(chain.value(), before) : chain.error();
  }

  // Forks into two such kernels and their joins, one behind the other: a path through them has as
  // many as a chain of 2 * kForks + 1.
  Result<double> ForksUs() {
    FlatGraphBuilder builder(runtime_);
    int last = -1;
    for (int fork = 0; fork <= kForks; ++fork) {
      std::vector<int> sides;
      for (int side = 0; last >= 0 && side < 2; ++side) {
        PLAIT_CUDA_RETURN_IF_ERROR(Append({last}, &builder, &sides.emplace_back()));
      }
      PLAIT_CUDA_RETURN_IF_ERROR(Append(sides, &builder, &last));
    }
    const Result<ExecutableGraph> graph = builder.Build();
    return graph.ok() ? MedianSpanUs(graph.value(), nullptr) : graph.error();
  }

  // So many copies between two places, one behind the other.
  Result<double> CopiesUs(int copies, void* to, const void* from, size_t bytes) {
    const Result<ExecutableGraph> chain = BuildChain(
        runtime_, copies,
        [&](int, Stream stream) { return runtime_->CopyOnDevice(to, from, bytes, stream); }, {});
    return chain.ok() ? MedianSpanUs(chain.value(), nullptr) : chain.error();
  }

  // So many kernels that last, none waiting for another.
  Result<double> SideBySideUs(int kernels) {
    FlatGraphBuilder builder(runtime_);
    for (int i = 0; i < kernels; ++i) {
      const Result<int> added =
          builder.AddOperation("lasting", [&](Stream stream) { return Lasting(stream); });
      if (!added.ok()) return added.error();
    }
    const Result<ExecutableGraph> graph = builder.Build();
    return graph.ok() ? MedianSpanUs(graph.value(), nullptr) : graph.error();
  }

 private:
  Status Nothing(Stream stream) {
    return runtime_->LaunchKernel(nothing_, LaunchShape(), nullptr, stream);
  }

  Status Lasting(Stream stream) {
    float* result = nullptr;  // which is not written
    float x = 1;
    int rounds = kRoundsLasting;
    void* arguments[] = {&result, &x, &rounds};
    return runtime_->LaunchKernel(lasting_, LaunchShape(), arguments, stream);
  }

  // Adds a kernel that does nothing behind these.
  Status Append(const std::vector<int>& behind, FlatGraphBuilder* builder, int* operation) {
    const Result<int> added =
        builder->AddOperation("nothing", [&](Stream stream) { return Nothing(stream); });
    if (!added.ok()) return added.error();
    *operation = added.value();
    for (const int before : behind) {
      PLAIT_CUDA_RETURN_IF_ERROR(builder->AddEdge(before, *operation, EdgeReason::kData));
    }
    return Ok();
  }

  // The median of some spans of the graph; before each comes `before`, outside of it. The first
  // run counts for nothing.
  Result<double> MedianSpanUs(const ExecutableGraph& graph,
                              const std::function<Status(Stream)>& before) {
    PLAIT_CUDA_RETURN_IF_ERROR(graph.Launch(stream_));
    std::vector<double> spans_us;
    for (int i = 0; i < kSamples; ++i) {
      if (before != nullptr) PLAIT_CUDA_RETURN_IF_ERROR(before(stream_));
      const Result<double> span = SpanUs(runtime_, stream_, [&] { return graph.Launch(stream_); });
      if (!span.ok()) return span.error();
      spans_us.push_back(span.value());
    }
    std::sort(spans_us.begin(), spans_us.end());
    return spans_us[kSamples / 2];
  }

  Runtime* const runtime_;
  const Stream stream_;
  OwnedLibrary library_;
  Kernel nothing_ = nullptr;
  Kernel lasting_ = nullptr;
};

Result<double> MeasureStartUs(Probe* probe, const std::function<Status(Stream)>& evict) {
  const Result<double> alone_us = probe->ChainUs(1, evict);
  if (!alone_us.ok()) return alone_us.error();
  const Result<double> chain_us = probe->ChainUs(kChainLaunches, evict);
  if (!chain_us.ok()) return chain_us.error();
  // Of n in a graph, all but the first take what one takes behind another.
  const double behind_us = (chain_us.value() - alone_us.value()) / (kChainLaunches - 1);
  return std::max(0.0, alone_us.value() - std::max(0.0, behind_us));
}

Result<double> MeasureCrossStreamUs(Probe* probe) {
  const Result<double> chain_us = probe->ChainUs(2 * kForks + 1, nullptr);
  if (!chain_us.ok()) return chain_us.error();
  const Result<double> forks_us = probe->ForksUs();
  if (!forks_us.ok()) return forks_us.error();
  return std::max(0.0, forks_us.value() - chain_us.value()) / (2 * kForks);
}

// Each byte is read and written. Of many copies, what those behind the first one take.
Result<double> MeasureCopiedBytesPerUs(Runtime* runtime, const DeviceFacts& facts, Probe* probe) {
  const int64_t bytes = facts.l2_bytes > 0 ? kCopyOfCaches * facts.l2_bytes : kCopyBytesUsual;
  const Result<void*> from = runtime->Allocate(static_cast<size_t>(bytes));
  if (!from.ok()) return 0.0;
  const OwnedMemory owned_from(runtime, from.value());
  const Result<void*> to = runtime->Allocate(static_cast<size_t>(bytes));
  if (!to.ok()) return 0.0;
  const OwnedMemory owned_to(runtime, to.value());
  const auto copies_us = [&](int copies) {
    return probe->CopiesUs(copies, to.value(), from.value(), static_cast<size_t>(bytes));
  };
  const Result<double> one_us = copies_us(1);
  if (!one_us.ok()) return one_us.error();
  const Result<double> many_us = copies_us(kChainCopies);
  if (!many_us.ok()) return many_us.error();
  const double behind_us = many_us.value() - one_us.value();
  return behind_us > 0 ? 2.0 * static_cast<double>(bytes) * (kChainCopies - 1) / behind_us : 0.0;
}

Result<int> MeasureStreams(Probe* probe) {
  const Result<double> one_us = probe->SideBySideUs(1);
  if (!one_us.ok()) return one_us.error();
  int streams = 1;
  while (streams < kStreamsMax) {
    const Result<double> us = probe->SideBySideUs(2 * streams);
    if (!us.ok()) return us.error();
    if (us.value() > kSideBySideWithin * one_us.value()) break;
    streams *= 2;
  }
  return streams;
}

}  // namespace

Result<GraphCosts> MeasureGraphCosts(Runtime* runtime, const DeviceFacts& facts, Stream stream,
                                     const std::function<Status(Stream)>& evict) {
  Probe probe(runtime, stream);
  PLAIT_CUDA_RETURN_IF_ERROR(probe.Load(facts));
  const Result<double> start_us = MeasureStartUs(&probe, evict);
  if (!start_us.ok()) return start_us.error();
  const Result<double> cross_stream_us = MeasureCrossStreamUs(&probe);
  if (!cross_stream_us.ok()) return cross_stream_us.error();
  const Result<int> streams = MeasureStreams(&probe);
  if (!streams.ok()) return streams.error();
  const Result<double> copied = MeasureCopiedBytesPerUs(runtime, facts, &probe);
  if (!copied.ok()) return copied.error();
  return GraphCosts{start_us.value(), cross_stream_us.value(), streams.value(), copied.value()};
}

Result<GraphCosts> FindGraphCosts(KernelCache* cache, absl::string_view fingerprint,
                                  const std::function<Result<GraphCosts>()>& measure) {
  const std::string key = absl::StrCat(kHead, " of ", fingerprint);
  if (cache != nullptr) {
    const std::optional<std::string> kept = cache->Find(key);
    const std::optional<GraphCosts> costs = kept ? ParseGraphCosts(*kept) : std::nullopt;
    if (costs.has_value()) return *costs;
  }
  Result<GraphCosts> measured = measure();
  if (measured.ok() && cache != nullptr) cache->Keep({key}, PrintGraphCosts(measured.value()));
  return measured;
}

std::string PrintGraphCosts(const GraphCosts& costs) {
  return absl::StrFormat("%s\t%.17g\t%.17g\t%d\t%.17g", kHead, costs.start_us,
                         costs.cross_stream_us, costs.streams, costs.copied_bytes_per_us);
}

std::optional<GraphCosts> ParseGraphCosts(absl::string_view text) {
  const std::vector<absl::string_view> fields = absl::StrSplit(text, '\t');
  GraphCosts costs;
  if (fields.size() != 5 || fields[0] != kHead || !absl::SimpleAtod(fields[1], &costs.start_us) ||
      !absl::SimpleAtod(fields[2], &costs.cross_stream_us) ||
      !absl::SimpleAtoi(fields[3], &costs.streams) ||
      !absl::SimpleAtod(fields[4], &costs.copied_bytes_per_us)) {
    return std::nullopt;
  }
  // Written so that NaN fails.
  const auto is_cost = [](double us) { return us >= 0 && us <= kCostUsMax; };
  const bool is_rate = costs.copied_bytes_per_us >= 0 && costs.copied_bytes_per_us <= kRateMax;
  const bool are_costs = is_cost(costs.start_us) && is_cost(costs.cross_stream_us) && is_rate;
  if (!are_costs || costs.streams < 1 || costs.streams > kStreamsMax) return std::nullopt;
  return costs;
}

}  // namespace plait::cuda
