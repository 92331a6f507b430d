#include "loading/segmented_executable.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/stopwatch.h"

namespace plait {

absl::Status SegmentedExecutable::SetInputs(absl::Span<const Tensor> inputs) {
  const std::vector<BoundTensor>& places = model_->bound().inputs;
  if (inputs.size() != places.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", places.size(), " inputs, given are ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type() != places[i].type) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be ",
                                                     places[i].type.ToString(), ", is ",
                                                     inputs[i].type().ToString()));
    }
    const absl::string_view bytes = inputs[i].bytes();
    if (!bytes.empty()) std::memcpy(places[i].data, bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> SegmentedExecutable::Run(absl::Span<const Tensor> inputs) {
  PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
  PLAIT_RETURN_IF_ERROR(model_->Run({}, {}));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < model_->bound().outputs.size(); ++i) {
    const HostTensor& result = model_->Result(i);
    std::string bytes(reinterpret_cast<const char*>(result.data),
                      static_cast<size_t>(result.type.bytes()));
    outputs.emplace_back(result.type, std::move(bytes));
  }
  return outputs;
}

absl::StatusOr<std::vector<double>> SegmentedExecutable::Time(int repeats) {
  std::vector<double> times_us;
  for (int i = 0; i < repeats; ++i) {
    const Stopwatch stopwatch;
    PLAIT_RETURN_IF_ERROR(model_->Run({}, {}));
    times_us.push_back(stopwatch.elapsed_us());
  }
  return times_us;
}

}  // namespace plait
