#include "gpu_worker/executor/measure_errors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/hard_layers.h"
#include "gpu_worker/executor/lone_layer.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/sampled_products.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// 1 GiB of what steps read is kept at a time, if the device has four times as much: the
// convolutions of a ResNet-50 read some 45 MB for each input.
constexpr int64_t kReadBytesMax = int64_t{1} << 30;

// 16 elements rarely all cancel to much less than such sums usually are; one does so often, and
// then any kernel has a large error relative to it: fp32 kernels passed or failed by luck.
constexpr int64_t kScopeElementsMin = 16;

// The index of MakeInputs that draws standard normal numbers.
constexpr int kNormalInputs = 3;

using Tensors = std::vector<Tensor>;

// What an error is relative to, of each channel or row.
enum class Scale { kLargestValue, kLargestMagnitude };

// The largest so far of a kernel, and of the serial sum.
struct Errors {
  double kernel = 0;
  double serial = 0;
};

// All of one channel or row is looked at: its largest value may be none of the samples. NaN where
// one is no finite number.
double LargestValue(const Tensor& result, int64_t begin, int64_t end) {
  double largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double value = std::abs(result.at<float>(i));
    // NaN stays, because nothing is greater.
    largest = std::isfinite(value) ? std::max(largest, value) : std::nan("");
  }
  return largest;
}

// By channel of an image, or by row.
using Scales = absl::flat_hash_map<int64_t, double>;

Scales ScalesOf(const LayerOperands& layer, absl::Span<const ProductSample> samples,
                const Tensor& result, Scale scale) {
  const int64_t size = layer.scope_elements();
  Scales scales;
  for (const ProductSample& sample : samples) {
    const int64_t scope = sample.element / size;
    const auto [entry, is_new] = scales.try_emplace(scope, 0.0);
    double& largest = entry->second;
    if (scale == Scale::kLargestMagnitude) {
      largest = std::max(largest, sample.magnitude);
      continue;
    }
    if (is_new) largest = LargestValue(result, scope * size, (scope + 1) * size);
    // A kernel that gives zeros has no scale of its own.
    largest = std::max(largest, std::abs(sample.exact));
    if (size < kScopeElementsMin) {
      // What the sum is about if its products have any signs.
      const double usual = sample.magnitude / std::sqrt(static_cast<double>(layer.terms()));
      largest = std::max(largest, usual);
    }
  }
  return scales;
}

// Beside a scale of zero nothing but no difference is right. What is no number compares as false.
double RelativeError(double difference, double scale) {
  if (difference == 0) return 0;
  const double error = std::abs(difference) / scale;
  return error < kLayerErrorMax ? error : kLayerErrorMax;
}

// Runs a loaded layer and compares its result with the samples.
absl::Status AddErrors(Executable& executable, const LoneLayer& layer, const SamplePlaces& places,
                       const Tensors& inputs, Scale scale, Errors& errors) {
  PLAIT_ASSIGN_OR_RETURN(const Tensors results, executable.Run(inputs));
  const std::vector<ProductSample> samples =
      ComputeSamples(layer.operands(), places, layer.Arguments(inputs));
  const Scales scales = ScalesOf(layer.operands(), samples, results[0], scale);
  for (const ProductSample& sample : samples) {
    const double largest = scales.at(sample.element / layer.operands().scope_elements());
    const double result = results[0].at<float>(sample.element);
    errors.kernel = std::max(errors.kernel, RelativeError(result - sample.exact, largest));
    if (!std::isfinite(sample.serial)) continue;
    errors.serial = std::max(errors.serial, RelativeError(sample.serial - sample.exact, largest));
  }
  return absl::OkStatus();
}

SamplePlaces WithPoints(SamplePlaces places, absl::Span<const int64_t> points) {
  std::vector<int64_t> all;
  std::set_union(places.points.begin(), places.points.end(), points.begin(), points.end(),
                 std::back_inserter(all));
  places.points = std::move(all);
  return places;
}

// Inputs around 100, an outlier, and weights that cancel each other.
absl::StatusOr<Errors> HardErrors(Executor& executor, Executable& executable,
                                  const LoneLayer& layer, const WeightSource& weights,
                                  const ErrorOptions& options) {
  Errors errors;
  const LayerOperands& operands = layer.operands();
  const SamplePlaces places = ChoosePlaces(operands, options.hard_samples_max, options.seed);
  PLAIT_ASSIGN_OR_RETURN(const Tensors normal,
                         MakeInputs(layer.graph(), options.seed, kNormalInputs));
  // Nothing is hard about nothing.
  if (places.points.empty() || normal[0].elements() == 0) return errors;
  Tensors around_hundred = normal;
  around_hundred[0] = AroundHundred(normal[0]);
  PLAIT_RETURN_IF_ERROR(
      AddErrors(executable, layer, places, around_hundred, Scale::kLargestMagnitude, errors));
  // Where a sample sees it, of which those in the middle are rarely at a border; all that see it
  // are looked at, because one of them has the largest magnitude of its channel.
  const int64_t point = places.points[places.points.size() / 2];
  const int64_t channel = places.channels[places.channels.size() / 2];
  Tensors outlier = normal;
  outlier[0] = WithOutlier(normal[0], operands.InputElement(point, channel));
  PLAIT_RETURN_IF_ERROR(AddErrors(executable, layer,
                                  WithPoints(places, operands.PointsThatRead(point, channel)),
                                  outlier, Scale::kLargestMagnitude, errors));
  PLAIT_ASSIGN_OR_RETURN(const LoneLayer cancelling,
                         layer.WithWeights(Cancelling(operands, layer.weights())));
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> cancels,
                         cancelling.Load(executor, weights));
  PLAIT_RETURN_IF_ERROR(
      AddErrors(*cancels, cancelling, places, around_hundred, Scale::kLargestMagnitude, errors));
  return errors;
}

class ErrorMeasurement {
 public:
  ErrorMeasurement(Executor& executor, const CandidatePlan& candidate, absl::Span<const int> steps,
                   const WeightSource& weights, const ErrorOptions& options)
      : executor_(executor),
        graph_(*candidate.graph),
        plan_(*candidate.plan),
        steps_(steps),
        weights_(weights),
        options_(options) {}

  absl::StatusOr<std::vector<LayerError>> Run() {
    PLAIT_RETURN_IF_ERROR(Load());
    PLAIT_RETURN_IF_ERROR(CheckSteps());
    PLAIT_RETURN_IF_ERROR(MakeAllInputs());
    std::vector<LayerError> errors;
    while (errors.size() < steps_.size()) {
      const absl::Span<const int> batch = NextBatch(errors.size());
      PLAIT_RETURN_IF_ERROR(Observe(batch));
      for (const int step : batch) {
        PLAIT_RETURN_IF_ERROR(CheckNotStopped());
        absl::StatusOr<LayerError> error = MeasureStep(step);
        if (!error.ok()) return Annotate(error.status(), absl::StrCat("step ", step));
        errors.push_back(*error);
      }
    }
    return errors;
  }

 private:
  absl::Status CheckNotStopped() const {
    if (!options_.stop.stop_requested()) return absl::OkStatus();
    return absl::CancelledError("the measurement is not wanted any more");
  }

  absl::Status Load() {
    PLAIT_ASSIGN_OR_RETURN(executable_, executor_.Load(graph_, plan_, weights_));
    return absl::OkStatus();
  }

  // REQUIRES: graph and plan were loaded, which checks them.
  absl::Status CheckSteps() const {
    int before = -1;
    for (const int step : steps_) {
      const std::string where = absl::StrCat("step ", step);
      if (step <= before || step >= static_cast<int>(plan_.steps.size())) {
        return absl::InvalidArgumentError(absl::StrCat(
            where, ": steps must be ascending and the plan's, which has ", plan_.steps.size()));
      }
      before = step;
      PLAIT_RETURN_IF_ERROR(Annotate(CheckIsLayer(graph_, plan_.steps[step].kernel), where));
    }
    return absl::OkStatus();
  }

  absl::Status MakeAllInputs() {
    PLAIT_ASSIGN_OR_RETURN(inputs_.emplace_back(), MakeInputs(graph_, options_.seed, 0));
    inputs_.insert(inputs_.end(), options_.given_inputs.begin(), options_.given_inputs.end());
    return absl::OkStatus();
  }

  // What a step's first node reads in all runs.
  int64_t ReadBytes(int step) const {
    int64_t bytes = 0;
    for (const TensorId tensor : FirstNodeInputs(step)) {
      bytes = SaturatingAdd(bytes, graph_.type(tensor).bytes());
    }
    return SaturatingMultiply(bytes, static_cast<int64_t>(inputs_.size()));
  }

  std::vector<TensorId> FirstNodeInputs(int step) const {
    return InputsOf(graph_, {plan_.steps[step].kernel.nodes.front()});
  }

  // The steps from `begin` on for which there is room at a time; at least one.
  absl::Span<const int> NextBatch(size_t begin) const {
    const int64_t bytes_max = std::min(kReadBytesMax, executor_.device().memory_bytes / 4);
    int64_t bytes = ReadBytes(steps_[begin]);
    size_t end = begin + 1;
    for (; end < steps_.size(); ++end) {
      bytes = SaturatingAdd(bytes, ReadBytes(steps_[end]));
      if (bytes > bytes_max) break;
    }
    return steps_.subspan(begin, end - begin);
  }

  // Runs the plan on all inputs, and frees it.
  absl::Status Observe(absl::Span<const int> batch) {
    reads_.clear();
    if (executable_ == nullptr) PLAIT_RETURN_IF_ERROR(Load());
    for (const Tensors& inputs : inputs_) {
      PLAIT_RETURN_IF_ERROR(CheckNotStopped());
      PLAIT_RETURN_IF_ERROR(
          executable_->RunObserved(inputs, batch, [&](int step, absl::Span<const Tensor> read) {
            // Those of the first node come first.
            const size_t count = FirstNodeInputs(step).size();
            reads_[step].push_back(Tensors(read.begin(), read.begin() + count));
            return absl::OkStatus();
          }));
    }
    executable_.reset();
    return absl::OkStatus();
  }

  absl::StatusOr<LayerError> MeasureStep(int step) const {
    PLAIT_ASSIGN_OR_RETURN(const LoneLayer layer,
                           LoneLayer::Create(graph_, plan_.steps[step].kernel, weights_));
    PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                           layer.Load(executor_, weights_));
    const SamplePlaces places = ChoosePlaces(layer.operands(), options_.samples_max, options_.seed);
    Errors errors;
    for (const Tensors& inputs : reads_.at(step)) {
      PLAIT_RETURN_IF_ERROR(
          AddErrors(*executable, layer, places, inputs, Scale::kLargestValue, errors));
    }
    PLAIT_ASSIGN_OR_RETURN(const Errors hard,
                           HardErrors(executor_, *executable, layer, weights_, options_));
    return LayerError{.error = errors.kernel,
                      .serial_error = errors.serial,
                      .hard_error = hard.kernel,
                      .serial_hard_error = hard.serial};
  }

  Executor& executor_;
  const Graph& graph_;
  const Plan& plan_;
  const absl::Span<const int> steps_;
  const WeightSource& weights_;
  const ErrorOptions& options_;
  std::unique_ptr<Executable> executable_;  // the plan, while it is loaded
  std::vector<Tensors> inputs_;             // the random one, then the given ones
  // By step: what its first node read, for each of the inputs.
  absl::flat_hash_map<int, std::vector<Tensors>> reads_;
};

}  // namespace

absl::StatusOr<std::vector<LayerError>> MeasureErrors(Executor& executor,
                                                      const CandidatePlan& candidate,
                                                      absl::Span<const int> steps,
                                                      const WeightSource& weights,
                                                      const ErrorOptions& options) {
  return ErrorMeasurement(executor, candidate, steps, weights, options).Run();
}

}  // namespace plait
