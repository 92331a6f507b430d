#include "loading/segmented_model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "loading/copied_executable.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

// What programs are promised of a session's own buffers.
constexpr size_t kAlignmentBytes = 64;

bool IsNumbers(DataType dtype) {
  return BytesOf(dtype) > 0 && dtype != DataType::kComplex64 && dtype != DataType::kComplex128;
}

absl::Status NoNumbers(absl::string_view kind, const std::string& name) {
  return absl::UnimplementedError(
      absl::StrCat(kind, " '", name, "' is no tensor of numbers, and plait has no others"));
}

// What the model says of an output whose shape is not known before a run.
BoundTensor OpenOutput(const ModelValue& declared, DataType dtype) {
  BoundTensor open;
  open.type.dtype = declared.dtype == DataType::kUndefined ? dtype : declared.dtype;
  for (const Dimension& dimension : declared.shape) open.type.shape.push_back(dimension.size);
  return open;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentedModel>> SegmentedModel::Make(
    const Graph& graph, std::vector<LoadedSegment> segments, absl::Span<const ModelValue> declared,
    const WeightSource& weights) {
  std::unique_ptr<SegmentedModel> model(new SegmentedModel(graph));
  model->segments_ = std::move(segments);
  PLAIT_RETURN_IF_ERROR(model->PlaceIslands());
  PLAIT_RETURN_IF_ERROR(model->PlaceInputs());
  PLAIT_RETURN_IF_ERROR(model->PlaceOutputs(declared, weights));
  return model;
}

// Each input of the model lies where the first island reads it that does.
absl::Status SegmentedModel::PlaceIslands() {
  for (LoadedSegment& segment : segments_) {
    BoundTensors& places = places_.emplace_back();
    if (segment.island == nullptr) continue;
    absl::StatusOr<BoundTensors> bound = segment.island->Bound();
    if (absl::IsUnimplemented(bound.status())) {
      segment.island = std::make_unique<CopiedExecutable>(
          std::move(segment.island), TypesOf(segment.inputs), TypesOf(segment.outputs));
      bound = segment.island->Bound();
    }
    PLAIT_ASSIGN_OR_RETURN(places, std::move(bound));
    for (size_t i = 0; i < segment.inputs.size(); ++i) {
      HostTensor& value = values_[segment.inputs[i]];
      const bool is_input = graph_.tensor(segment.inputs[i]).producer == kNoNode;
      if (is_input && value.data == nullptr) value = {places.inputs[i].type, places.inputs[i].data};
    }
    for (size_t i = 0; i < segment.outputs.size(); ++i) {
      values_[segment.outputs[i]] = {places.outputs[i].type, places.outputs[i].data};
    }
  }
  return absl::OkStatus();
}

std::vector<TensorType> SegmentedModel::TypesOf(absl::Span<const TensorId> tensors) const {
  std::vector<TensorType> types;
  for (const TensorId tensor : tensors) types.push_back(graph_.type(tensor));
  return types;
}

absl::Status SegmentedModel::PlaceInputs() {
  for (const TensorId input : graph_.inputs()) {
    const TensorInfo& info = graph_.tensor(input);
    if (!IsNumbers(info.type.dtype)) return NoNumbers("input", *info.name);
    HostTensor& value = values_[input];
    if (value.data == nullptr) {
      PLAIT_ASSIGN_OR_RETURN(value.data, Allocate(input));
      value.type = info.type;
    }
    // It is ours, or an executable's that gave it to be written.
    bound_.inputs.push_back({info.type, const_cast<std::byte*>(value.data)});
  }
  return absl::OkStatus();
}

absl::Status SegmentedModel::PlaceOutputs(absl::Span<const ModelValue> declared,
                                          const WeightSource& weights) {
  kept_.resize(graph_.tensor_count());
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const TensorId output = graph_.outputs()[i];
    const TensorInfo& info = graph_.tensor(output);
    HostTensor& value = values_[output];
    if (info.constant != nullptr && value.data == nullptr) {
      PLAIT_ASSIGN_OR_RETURN(const Tensor constant, EvaluateConstant(*info.constant, weights));
      PLAIT_ASSIGN_OR_RETURN(std::byte* const data, Allocate(output));
      std::memcpy(data, constant.bytes().data(), constant.bytes().size());
      value = {info.type, data};
    }
    if (value.data != nullptr) {
      bound_.outputs.push_back({value.type, const_cast<std::byte*>(value.data)});
    } else if (info.type.known()) {
      if (kept_[output].data == nullptr) {
        PLAIT_ASSIGN_OR_RETURN(kept_[output].data, Allocate(output));
        kept_[output].type = info.type;
      }
      bound_.outputs.push_back(kept_[output]);
    } else {
      bound_.outputs.push_back(OpenOutput(declared[i], HostTypeOf(output)));
    }
    if (!IsNumbers(bound_.outputs.back().type.dtype)) return NoNumbers("output", *info.name);
  }
  return absl::OkStatus();
}

DataType SegmentedModel::HostTypeOf(TensorId id) const {
  for (const LoadedSegment& segment : segments_) {
    const auto found = std::find(segment.outputs.begin(), segment.outputs.end(), id);
    if (segment.host == nullptr || found == segment.outputs.end()) continue;
    return segment.host->OutputType(static_cast<size_t>(found - segment.outputs.begin()));
  }
  return DataType::kUndefined;
}

absl::StatusOr<std::byte*> SegmentedModel::Allocate(TensorId id) {
  const auto bytes = static_cast<size_t>(graph_.type(id).bytes());
  // A multiple of the alignment, as the function wants it, and never nothing.
  const size_t rounded = (bytes / kAlignmentBytes + 1) * kAlignmentBytes;
  void* const data = std::aligned_alloc(kAlignmentBytes, rounded);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("there is no memory for the ", bytes,
                                                     " bytes of '", *graph_.tensor(id).name, "'"));
  }
  std::memset(data, 0, rounded);
  memory_.emplace_back(data, std::free);
  return static_cast<std::byte*>(data);
}

absl::Status SegmentedModel::Run(absl::Span<const BoundCopy> before,
                                 absl::Span<const BoundCopy> after) {
  PLAIT_CHECK(!segments_.empty());  // or the model would be understood
  for (size_t i = 0; i < segments_.size(); ++i) {
    const bool is_first = i == 0;
    const bool is_last = i + 1 == segments_.size();
    if (segments_[i].island != nullptr) {
      PLAIT_RETURN_IF_ERROR(RunIsland(i, is_first ? before : absl::Span<const BoundCopy>(),
                                      is_last ? after : absl::Span<const BoundCopy>()));
      continue;
    }
    if (is_first) MakeCopies(before);
    PLAIT_RETURN_IF_ERROR(RunHost(segments_[i]));
    if (is_last) MakeCopies(after);
  }
  return absl::OkStatus();
}

// What the first segment reads are inputs of the model, which lie where it reads them: nothing is
// copied before `before` is.
absl::Status SegmentedModel::RunIsland(size_t index, absl::Span<const BoundCopy> before,
                                       absl::Span<const BoundCopy> after) {
  const LoadedSegment& segment = segments_[index];
  std::vector<BoundCopy> copies(before.begin(), before.end());
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    const BoundTensor& place = places_[index].inputs[i];
    const HostTensor& value = values_[segment.inputs[i]];
    if (value.data != place.data) copies.push_back({place.data, value.data, place.type.bytes()});
  }
  return segment.island->RunBound(copies, after);
}

absl::Status SegmentedModel::RunHost(LoadedSegment& segment) {
  std::vector<HostTensor> inputs;
  for (const TensorId input : segment.inputs) inputs.push_back(values_[input]);
  std::vector<HostTensor> outputs(segment.outputs.size());
  PLAIT_RETURN_IF_ERROR(segment.host->Run(inputs, absl::MakeSpan(outputs)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorId id = segment.outputs[i];
    const TensorInfo& info = graph_.tensor(id);
    const TensorType& type = outputs[i].type;
    if (!IsNumbers(type.dtype)) return NoNumbers("value", *info.name);
    if (!IsValidShape(type.shape) || (outputs[i].data == nullptr && type.bytes() > 0)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the host runner gave no bytes, or no shape, for '", *info.name, "'"));
    }
    if (info.type.known() && type != info.type) {
      return absl::FailedPreconditionError(
          absl::StrCat("the host runner gave ", type.ToString(), " for '", *info.name,
                       "', which the model declares as ", info.type.ToString()));
    }
    values_[id] = outputs[i];
    const BoundTensor& kept = kept_[id];
    if (kept.data == nullptr) continue;
    const BoundCopy copy[] = {{kept.data, outputs[i].data, type.bytes()}};
    MakeCopies(copy);
  }
  return absl::OkStatus();
}

}  // namespace plait
