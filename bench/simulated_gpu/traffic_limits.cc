#include "bench/simulated_gpu/traffic_limits.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait {
namespace {

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kWarp = 32;

constexpr TrafficException kExceptions[] = {
#define PLAIT_TRAFFIC_EXCEPTION(name, ratio_max_fp32, ratio_max_16_bits, reason) \
  {#name, ratio_max_fp32, ratio_max_16_bits, reason},
#include "bench/simulated_gpu/traffic_exceptions.def"
#undef PLAIT_TRAFFIC_EXCEPTION
};

// The number behind a letter of a variant: 64 of "p16/k64" for 'k'; 1 where there is none.
int64_t NumberIn(const std::string& variant, char letter) {
  for (size_t at = 0; at < variant.size(); ++at) {
    const bool begins = at == 0 || variant[at - 1] == '/';
    if (begins && variant[at] == letter && at + 1 < variant.size()) {
      const int number = std::atoi(variant.c_str() + at + 1);
      if (number > 0) return number;
    }
  }
  return 1;
}

// An operand as a kernel sees it.
struct Lying {
  int64_t elements = 0;
  int64_t element_bytes = 4;
  int64_t alignment_bytes = kSectorBytes;  // of its first element; a sector's at most
  cuda::PixelPitch pitch;
};

// What elements are multiples of that lie so many bytes apart, from the operand's first on.
int64_t AlignmentOf(const Lying& operand, int64_t step_bytes) {
  return std::gcd(operand.alignment_bytes, step_bytes);
}

double RatioOf(int64_t sectors, int64_t bytes) {
  return static_cast<double>(sectors * kSectorBytes) / static_cast<double>(bytes);
}

// Runs of so many elements, each `step` elements behind the one before, of which each lane takes
// `width`: a warp begins inside of a run at most once, and touches that sector again.
double RunsOf(const Lying& operand, int64_t run, int64_t step, int64_t width) {
  const int64_t bytes = run * operand.element_bytes;
  return RatioOf(WorstSectors(bytes, AlignmentOf(operand, step * operand.element_bytes)), bytes) +
         RatioOf(1, kWarp * width * operand.element_bytes);
}

// Rows of so many elements, which lanes take `chunk` at a time. The first chunks may be all that is
// looked at.
double ChunksOf(const Lying& operand, int64_t row, int64_t step, int64_t chunk) {
  const int64_t e = operand.element_bytes;
  const int64_t alignment = std::gcd(AlignmentOf(operand, step * e), chunk * e);
  const auto sectors = [&](int64_t elements) {
    return elements == 0 ? 0 : WorstSectors(elements * e, alignment);
  };
  const double all = RatioOf(row / chunk * sectors(chunk) + sectors(row % chunk), row * e);
  return row < chunk ? all : std::max(all, RatioOf(sectors(chunk), chunk * e));
}

// Rows of `columns` elements behind each other, of which each lane has `pixels` neighbours and asks
// for the first of all lanes, then for the second.
double StripsOf(const Lying& operand, int64_t columns, int64_t pixels) {
  const int64_t e = operand.element_bytes;
  int64_t sectors = 0;
  for (int64_t first = 0; first < pixels; ++first) {
    const int64_t lanes = cuda::CeilDivide(columns - first, pixels);
    const int64_t reached = WorstSectors(((lanes - 1) * pixels + 1) * e, e);
    sectors += std::min(lanes, reached);
  }
  return RatioOf(sectors, columns * e) + RatioOf(1, kWarp * e);
}

int64_t ChannelsOf(const cuda::Problem& problem, const std::string& operand) {
  const bool is_output = operand[0] == 'y' || operand == "residual";
  if (const auto* conv = std::get_if<cuda::ConvProblem>(&problem)) {
    return is_output ? conv->k : conv->c;
  }
  if (const auto* pair = std::get_if<cuda::SeparableConvProblem>(&problem)) {
    return is_output ? pair->pointwise.k : pair->depthwise.c;
  }
  if (const auto* pool = std::get_if<cuda::PoolProblem>(&problem)) return pool->c;
  return 0;
}

Lying LyingOf(const ModelKernel& kernel, const OperandTraffic& traffic) {
  const cuda::ProblemShape shape = cuda::ShapeOf(kernel.problem).value();
  Lying operand{.elements = shape.weights, .element_bytes = traffic.element_bytes};
  const size_t index = static_cast<size_t>(std::atoi(traffic.operand.c_str() + 1));
  int64_t alignment = cuda::kDeviceAlignmentBytes;
  if (traffic.operand[0] == 'x') {
    operand.elements = shape.inputs[index];
    operand.pitch = kernel.form.pitches.input(index);
    alignment = kernel.alignment.inputs;
  } else if (traffic.operand[0] == 'y') {
    operand.elements = shape.outputs[index];
    operand.pitch = kernel.form.pitches.output(index);
    alignment = kernel.alignment.outputs;
  } else if (traffic.operand == "residual") {
    operand.elements = shape.residual;
    operand.pitch = kernel.form.pitches.residual;
    alignment = kernel.alignment.residual;
  }
  operand.alignment_bytes = std::min(alignment, kSectorBytes);
  return operand;
}

// Of a concatenation, whose inputs are pieces of what is stored, that which is worst.
double PiecesOf(const ModelKernel& kernel, const cuda::MovementProblem& movement,
                const Lying& operand, int64_t width) {
  double ratio = 1;
  int64_t before = 0;  // elements of a row of the whole that other pieces have
  const std::vector<int64_t> whole =
      cuda::InMemoryOrder(cuda::OutputShapes(movement)[0], kernel.form.layout);
  for (const std::vector<int64_t>& input : movement.inputs) {
    // The dimensions from the one on along which the piece is not the whole.
    const std::vector<int64_t> piece = cuda::InMemoryOrder(input, kernel.form.layout);
    int64_t run = 1, step = 1;
    for (size_t d = piece.size(); d-- > 0;) {
      run *= piece[d];
      step *= whole[d];
      if (piece[d] != whole[d]) break;
    }
    Lying place = operand;
    place.alignment_bytes = AlignmentOf(operand, before * operand.element_bytes);
    ratio = std::max(ratio, RunsOf(place, run, step, width));
    before += run;
  }
  return ratio;
}

}  // namespace

absl::Span<const TrafficException> TrafficExceptions() { return kExceptions; }

int64_t WorstSectors(int64_t bytes, int64_t alignment_bytes) {
  const int64_t place = kSectorBytes - std::min(alignment_bytes, kSectorBytes);
  return (place + bytes - 1) / kSectorBytes + 1;
}

TrafficBound TrafficBoundOf(const ModelKernel& kernel, const OperandTraffic& traffic) {
  const Lying operand = LyingOf(kernel, traffic);
  const std::string family = kernel.family->name;
  const std::string& variant = kernel.kernel.variant;
  const int64_t width = NumberIn(variant, 'v');
  const bool is_last = kernel.form.layout == cuda::MemoryLayout::kNhwc;
  const int64_t channels = ChannelsOf(kernel.problem, traffic.operand);
  const int64_t step = operand.pitch.is_dense() ? channels : operand.pitch.pitch;
  const auto* movement = std::get_if<cuda::MovementProblem>(&kernel.problem);
  const auto* conv = std::get_if<cuda::ConvProblem>(&kernel.problem);
  if (family == "depthwise" && !is_last) {
    return {TrafficReason::kStrips, StripsOf(operand, conv->output_w(), NumberIn(variant, 'p'))};
  }
  if (family == "depthwise" || (family == "pool" && is_last && !operand.pitch.is_dense())) {
    return {TrafficReason::kPixels, RunsOf(operand, channels, step, width)};
  }
  if (family == "separable" || family == "convolution") {
    // A residual is read where the result is written.
    const int64_t chunk = traffic.is_store || traffic.operand == "residual" ? 16 : 32;
    if (is_last) return {TrafficReason::kChunks, ChunksOf(operand, channels, step, chunk)};
    // Of one image: two channels of a warp lie behind each other, where one tile has all of both.
    const int64_t area = operand.elements / channels;
    const int64_t run = 2 * area <= chunk ? 2 * area : area;
    return {TrafficReason::kPlanes, ChunksOf(operand, run, run, chunk)};
  }
  if (family == "recurrent_layer" || (family == "pool" && absl::StartsWith(variant, "t"))) {
    return {TrafficReason::kNumbers, RatioOf(1, operand.element_bytes)};
  }
  if (!operand.pitch.is_dense()) {
    return {TrafficReason::kPixels,
            RunsOf(operand, operand.pitch.channels, operand.pitch.pitch, width)};
  }
  if (family == "movement" && movement->kind == cuda::MovementProblem::Kind::kConcat) {
    return {TrafficReason::kPixels, PiecesOf(kernel, *movement, operand, width)};
  }
  if (family == "transpose" && variant == "tiled") {
    const int64_t row = cuda::OutputShapes(*movement)[0].back();
    return {TrafficReason::kTiles, ChunksOf(operand, row, row, kWarp)};
  }
  if (const auto* rows = std::get_if<cuda::RowsProblem>(&kernel.problem);
      rows != nullptr && family == "rows") {
    if (rows->reduces()) return {TrafficReason::kNumbers, RatioOf(1, operand.element_bytes)};
    return {TrafficReason::kRows, ChunksOf(operand, rows->columns, rows->columns, kWarp * width)};
  }
  return {TrafficReason::kWhole, RunsOf(operand, operand.elements, operand.elements, width)};
}

bool IsLimited(const ModelKernel& kernel, const OperandTraffic& traffic) {
  if (traffic.is_store) return true;
  const std::string family = kernel.family->name;
  return (family == "depthwise" || family == "separable") &&
         kernel.form.layout == cuda::MemoryLayout::kNhwc &&
         (traffic.operand == "x0" || traffic.operand == "packed_weights" ||
          traffic.operand == "residual");
}

std::string TrafficCheck::Check(const ModelKernel& kernel, const OperandTraffic& traffic) {
  const double ratio = traffic.ratio();
  if (!IsLimited(kernel, traffic) || ratio <= kTrafficRatioMax) return "";
  const TrafficBound bound = TrafficBoundOf(kernel, traffic);
  const TrafficException& exception = kExceptions[static_cast<int>(bound.reason)];
  double& needed = needed_[{bound.reason, traffic.element_bytes >= 4}];
  needed = std::max(needed, ratio);
  const double listed = exception.ratio_max(traffic.element_bytes);
  if (ratio <= std::min(bound.ratio, listed)) return "";
  return absl::StrFormat("%s/%s, %s of %s: %.3f, where %s gives %.3f and its line %.3f",
                         kernel.family->name, kernel.kernel.variant,
                         traffic.is_store ? "stores" : "loads", traffic.operand, ratio,
                         exception.name, bound.ratio, listed);
}

std::vector<std::string> TrafficCheck::Unneeded() const {
  std::vector<std::string> unneeded;
  for (int i = 0; i < static_cast<int>(std::size(kExceptions)); ++i) {
    for (const bool is_fp32 : {true, false}) {
      const auto found = needed_.find({static_cast<TrafficReason>(i), is_fp32});
      const double needed = found == needed_.end() ? kTrafficRatioMax : found->second;
      const double listed = kExceptions[i].ratio_max(is_fp32 ? 4 : 2);
      if (listed <= 1.1 * needed && (found != needed_.end() || listed <= kTrafficRatioMax))
        continue;
      unneeded.push_back(absl::StrFormat("%s in %s: %.2f is reached, and %.2f listed",
                                         kExceptions[i].name, is_fp32 ? "fp32" : "16 bits", needed,
                                         listed));
    }
  }
  return unneeded;
}

}  // namespace plait
