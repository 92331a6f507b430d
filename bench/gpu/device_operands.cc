#include "bench/gpu/device_operands.h"

#include <algorithm>

namespace plait::cuda {
namespace {

constexpr int64_t kRotatedBytesMax = int64_t{4} << 30;
constexpr int64_t kFakeRotatedBytesMax = int64_t{8} << 20;

Result<void*> UploadBytes(Session* session, const void* from, size_t bytes) {
  Result<void*> to = session->Take(bytes);
  if (!to.ok()) return to;
  PLAIT_CUDA_RETURN_IF_ERROR(session->Upload(to.value(), from, bytes));
  return to;
}

// Null for an operand that is not there.
Result<void*> UploadFloats(Session* session, const std::vector<float>& values,
                           Precision precision) {
  if (values.empty()) return static_cast<void*>(nullptr);
  const std::vector<std::byte> bytes = ToStorage(values, precision);
  return UploadBytes(session, bytes.data(), bytes.size());
}

Status UploadInto(const void** place, Session* session, const std::vector<float>& values,
                  Precision precision) {
  const Result<void*> uploaded = UploadFloats(session, values, precision);
  if (!uploaded.ok()) return uploaded.error();
  *place = uploaded.value();
  return Ok();
}

Status Duplicate(Session* session, const void* from, size_t bytes, const void** place) {
  if (from == nullptr) return Ok();
  const Result<void*> to = session->Take(bytes);
  if (!to.ok()) return to.error();
  PLAIT_CUDA_RETURN_IF_ERROR(
      session->runtime().CopyOnDevice(to.value(), from, bytes, session->stream()));
  *place = to.value();
  return Ok();
}

}  // namespace

Result<DeviceOperands> DeviceOperands::Upload(Session* session, const ProblemShape& shape,
                                              Precision precision, const HostOperands& host,
                                              int copies_max) {
  DeviceOperands result;
  result.precision_ = precision;
  result.output_elements_ = shape.outputs;
  Operands first;
  for (size_t i = 0; i < host.inputs.size(); ++i) {
    const bool indices = i == 1 && !host.indices.empty();
    const Result<void*> input =
        indices ? UploadBytes(session, host.indices.data(), host.indices.size() * 8)
                : UploadFloats(session, host.inputs[i], precision);
    if (!input.ok()) return input.error();
    first.inputs.push_back(input.value());
  }
  const auto upload = [&](const void** place, const std::vector<float>& values) {
    return UploadInto(place, session, values, precision);
  };
  PLAIT_CUDA_RETURN_IF_ERROR(upload(&first.weights, host.weights));
  PLAIT_CUDA_RETURN_IF_ERROR(upload(&first.packed_weights, host.packed_weights));
  PLAIT_CUDA_RETURN_IF_ERROR(upload(&first.second_weights, host.second_weights));
  PLAIT_CUDA_RETURN_IF_ERROR(upload(&first.bias, host.bias));
  PLAIT_CUDA_RETURN_IF_ERROR(upload(&first.second_bias, host.second_bias));
  PLAIT_CUDA_RETURN_IF_ERROR(upload(&first.residual, host.residual));
  for (int64_t count : shape.outputs) {
    const Result<void*> output = session->Take(count * ElementBytes(precision));
    if (!output.ok()) return output.error();
    first.outputs.push_back(output.value());
  }
  if (!host.indices.empty()) {
    const int64_t none = 0;
    const Result<void*> word = UploadBytes(session, &none, sizeof(none));
    if (!word.ok()) return word.error();
    first.error_word = word.value();
  }
  result.copies_.push_back(first);
  const int64_t weight_bytes = (shape.weights + shape.second_weights) * ElementBytes(precision);
  result.has_weights_ = weight_bytes > 0;
  const int64_t budget =
      std::min<int64_t>(session->fake() ? kFakeRotatedBytesMax : kRotatedBytesMax,
                        static_cast<int64_t>(session->free_bytes() / 2));
  const int64_t copies = std::min<int64_t>(copies_max, budget / std::max<int64_t>(weight_bytes, 1));
  for (int64_t i = 1; i < copies && result.has_weights_; ++i) {
    Operands copy = first;
    const auto bytes = [&](int64_t elements) { return elements * ElementBytes(precision); };
    PLAIT_CUDA_RETURN_IF_ERROR(
        Duplicate(session, first.weights, bytes(shape.weights), &copy.weights));
    if (first.packed_weights != nullptr) {
      PLAIT_CUDA_RETURN_IF_ERROR(
          Duplicate(session, first.packed_weights, bytes(shape.weights), &copy.packed_weights));
    }
    PLAIT_CUDA_RETURN_IF_ERROR(Duplicate(session, first.second_weights, bytes(shape.second_weights),
                                         &copy.second_weights));
    result.copies_.push_back(copy);
  }
  PLAIT_CUDA_RETURN_IF_ERROR(session->runtime().Synchronize(session->stream()));
  return result;
}

void DeviceOperands::SetWorkspace(void* workspace) {
  for (Operands& copy : copies_) copy.workspace = workspace;
}

Status DeviceOperands::Poison(Session* session) const {
  for (size_t i = 0; i < output_elements_.size(); ++i) {
    PLAIT_CUDA_RETURN_IF_ERROR(
        session->runtime().Fill(copies_[0].outputs[i], 0xff,
                                output_elements_[i] * ElementBytes(precision_), session->stream()));
  }
  return Ok();
}

Result<std::vector<std::vector<float>>> DeviceOperands::Download(Session* session) const {
  std::vector<std::vector<float>> outputs;
  for (size_t i = 0; i < output_elements_.size(); ++i) {
    std::vector<std::byte> bytes(output_elements_[i] * ElementBytes(precision_));
    PLAIT_CUDA_RETURN_IF_ERROR(
        session->Download(bytes.data(), copies_[0].outputs[i], bytes.size()));
    outputs.push_back(FromStorage(bytes.data(), output_elements_[i], precision_));
  }
  return outputs;
}

}  // namespace plait::cuda
