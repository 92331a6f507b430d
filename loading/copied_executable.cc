#include "loading/copied_executable.h"

#include <cstring>

#include "base/status_macros.h"

namespace plait {
namespace {

// Zeroed memory for each, none of it empty: a place has an address.
std::vector<BoundTensor> Places(absl::Span<const TensorType> types,
                                std::vector<std::string>* memory) {
  std::vector<BoundTensor> places;
  memory->clear();
  for (const TensorType& type : types) {
    memory->emplace_back(static_cast<size_t>(type.bytes()) + 1, '\0');
  }
  for (size_t i = 0; i < types.size(); ++i) {
    places.push_back({types[i], reinterpret_cast<std::byte*>((*memory)[i].data())});
  }
  return places;
}

}  // namespace

void MakeCopies(absl::Span<const BoundCopy> copies) {
  for (const BoundCopy& copy : copies) {
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
  }
}

absl::StatusOr<BoundTensors> CopiedExecutable::Bound() {
  return BoundTensors{Places(input_types_, &inputs_), Places(output_types_, &outputs_)};
}

absl::Status CopiedExecutable::RunBound(absl::Span<const BoundCopy> before,
                                        absl::Span<const BoundCopy> after) {
  MakeCopies(before);
  std::vector<Tensor> given;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto bytes = static_cast<size_t>(input_types_[i].bytes());
    given.emplace_back(input_types_[i], inputs_[i].substr(0, bytes));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> results, executable_->Run(given));
  for (size_t i = 0; i < results.size(); ++i) {
    const absl::string_view bytes = results[i].bytes();
    if (!bytes.empty()) std::memcpy(outputs_[i].data(), bytes.data(), bytes.size());
  }
  MakeCopies(after);
  return absl::OkStatus();
}

}  // namespace plait
