#include "runtime/c_host_runner.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "runtime/c_tensors.h"

namespace plait {
namespace {

constexpr size_t kHostRunnerBytesMin = 40;

// kUndefined for a number that is none of plait_element_type.
DataType TypeOfElement(int32_t element_type) {
  if (element_type < 0 || element_type > PLAIT_ELEMENT_BFLOAT16) return DataType::kUndefined;
  const auto dtype = static_cast<DataType>(element_type);
  return IsFloat(dtype) || IsInteger(dtype) || dtype == DataType::kBool ? dtype
                                                                        : DataType::kUndefined;
}

std::vector<plait_tensor> EmptyTensors(size_t count) {
  return std::vector<plait_tensor>(count, plait_tensor PLAIT_TENSOR_INIT);
}

// What the program wrote of one of its results. Errors: FailedPrecondition.
absl::StatusOr<HostTensor> ReadResult(const plait_tensor& given, size_t index) {
  const auto wrong = [&](absl::string_view what) {
    return absl::FailedPreconditionError(
        absl::StrCat("the host runner's output ", index, " ", what));
  };
  if (given.memory_kind != PLAIT_MEMORY_CPU) return wrong("is not in the processor's memory");
  if (given.rank > kTensorRankMax) {
    return wrong(absl::StrCat("has rank ", given.rank, ", at most ", kTensorRankMax, " are read"));
  }
  if (given.rank > 0 && given.dims == nullptr) return wrong("has no dimensions");
  HostTensor result;
  result.type.dtype = TypeOfElement(given.element_type);
  if (!result.type.known()) return wrong("is no tensor of numbers");
  if (given.rank > 0) result.type.shape = Shape(given.dims, given.dims + given.rank);
  if (!IsValidShape(result.type.shape)) {
    return wrong(absl::StrCat("has shape ", ShapeToString(result.type.shape)));
  }
  if (given.byte_size != static_cast<size_t>(result.type.bytes())) {
    return wrong(
        absl::StrCat("has byte_size ", given.byte_size, ", its shape ", result.type.bytes()));
  }
  if (given.data == nullptr && given.byte_size > 0) return wrong("has no data");
  result.data = static_cast<const std::byte*>(given.data);
  return result;
}

// The program's functions, and what keeps two threads out of them: one may load a session's model
// for other shapes, or let go of them, while another one runs it.
struct Program {
  plait_host_runner runner;
  absl::Mutex mutex;
};

class ProgramsSegment : public HostSegment {
 public:
  ProgramsSegment(std::shared_ptr<Program> program, void* segment, std::vector<DataType> types)
      : program_(std::move(program)), segment_(segment), types_(std::move(types)) {}
  ProgramsSegment(const ProgramsSegment&) = delete;
  ProgramsSegment& operator=(const ProgramsSegment&) = delete;
  ~ProgramsSegment() override {
    const absl::MutexLock lock(&program_->mutex);
    program_->runner.unload(program_->runner.context, segment_);
  }

  DataType OutputType(size_t index) const override { return types_[index]; }

  absl::Status Run(absl::Span<const HostTensor> inputs, absl::Span<HostTensor> outputs) override {
    std::vector<plait_tensor> given = EmptyTensors(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& type = inputs[i].type;
      given[i].element_type = static_cast<int32_t>(type.dtype);
      given[i].rank = type.shape.size();
      given[i].dims = type.shape.data();
      given[i].data = const_cast<std::byte*>(inputs[i].data);
      given[i].byte_size = static_cast<size_t>(type.bytes());
    }
    std::vector<plait_tensor> made = EmptyTensors(outputs.size());
    const plait_host_runner& runner = program_->runner;
    const absl::MutexLock lock(&program_->mutex);
    const char* const error =
        runner.run(runner.context, segment_, given.data(), given.size(), made.data(), made.size());
    if (error != nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("the host runner: ", error));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      PLAIT_ASSIGN_OR_RETURN(outputs[i], ReadResult(made[i], i));
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Program> program_;
  void* const segment_;
  const std::vector<DataType> types_;
};

class ProgramsRunner : public HostRunner {
 public:
  explicit ProgramsRunner(const plait_host_runner& runner) : program_(std::make_shared<Program>()) {
    program_->runner = runner;
  }

  absl::StatusOr<std::unique_ptr<HostSegment>> Load(absl::string_view model, int threads,
                                                    size_t output_count) override {
    std::vector<plait_tensor> outputs = EmptyTensors(output_count);
    void* segment = nullptr;
    const plait_host_runner& runner = program_->runner;
    const absl::MutexLock lock(&program_->mutex);
    const char* const error = runner.load(runner.context, model.data(), model.size(), threads,
                                          outputs.data(), outputs.size(), &segment);
    if (error != nullptr) return absl::UnimplementedError(error);
    std::vector<DataType> types;
    types.reserve(outputs.size());
    for (const plait_tensor& output : outputs) types.push_back(TypeOfElement(output.element_type));
    return std::make_unique<ProgramsSegment>(program_, segment, std::move(types));
  }

 private:
  const std::shared_ptr<Program> program_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<HostRunner>> HostRunnerOf(const plait_host_runner& given) {
  PLAIT_RETURN_IF_ERROR(CheckSize(given.struct_size, kHostRunnerBytesMin, "host_runner"));
  if (given.load == nullptr || given.run == nullptr || given.unload == nullptr) {
    return absl::InvalidArgumentError("host_runner: load, run and unload must not be NULL");
  }
  return std::make_shared<ProgramsRunner>(given);
}

}  // namespace plait
