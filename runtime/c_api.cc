#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "loading/model_file.h"
#include "optimizer/onnx/import.h"
#include "plait/runtime.h"
#include "runtime/c_host_runner.h"
#include "runtime/c_tensors.h"
#include "runtime/process.h"
#include "runtime/session.h"

// The C interface over Session: what comes in is checked here, and handles are owned by the caller.

struct plait_error {
  int32_t code;
  std::string message;
};

struct plait_session {
  std::unique_ptr<plait::Session> session;
};

namespace plait {
namespace {

// What the first version of each struct had: callers may know less than this library, never less
// than that.
constexpr size_t kInputShapeBytesMin = 32;
constexpr size_t kOptionsBytesMin = 48;
constexpr size_t kPlanInfoBytesMin = 40;
// What the options had when they had a host runner.
constexpr size_t kOptionsWithRunnerBytes = 56;

int32_t CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return PLAIT_ERROR_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      return PLAIT_ERROR_NOT_FOUND;
    case absl::StatusCode::kPermissionDenied:
      return PLAIT_ERROR_PERMISSION_DENIED;
    case absl::StatusCode::kUnimplemented:
      return PLAIT_ERROR_UNSUPPORTED;
    case absl::StatusCode::kResourceExhausted:
      return PLAIT_ERROR_RESOURCE_EXHAUSTED;
    case absl::StatusCode::kFailedPrecondition:
      return PLAIT_ERROR_FAILED_PRECONDITION;
    case absl::StatusCode::kAborted:
      return PLAIT_ERROR_FORKED;
    default:
      return PLAIT_ERROR_INTERNAL;
  }
}

plait_error* ErrorOf(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return std::make_unique<plait_error>(plait_error{CodeOf(status), std::string(status.message())})
      .release();
}

// The error of a call, also where the standard library throws: it does where memory is used up,
// and a program in C could not catch it.
template <typename Call>
plait_error* ErrorOfCall(Call call) {
  try {
    return ErrorOf(call());
  } catch (const std::bad_alloc&) {
    return ErrorOf(absl::ResourceExhaustedError("the process has not enough memory for this"));
  } catch (const std::exception& error) {
    return ErrorOf(absl::InternalError(error.what()));
  }
}

absl::StatusOr<Bindings> ReadShapes(const plait_input_shape* shapes, size_t count) {
  Bindings bindings;
  if (count == 0) return bindings;
  PLAIT_RETURN_IF_ERROR(CheckNotNull(shapes, "input_shapes"));
  PLAIT_RETURN_IF_ERROR(CheckSize(shapes->struct_size, kInputShapeBytesMin, "input_shapes"));
  for (size_t i = 0; i < count; ++i) {
    const plait_input_shape& shape = ElementOf(shapes, i);
    PLAIT_RETURN_IF_ERROR(CheckNotNull(shape.name, "input_shapes: name"));
    if (shape.rank > kTensorRankMax) {
      return absl::InvalidArgumentError(absl::StrCat("input_shapes: '", shape.name, "': rank ",
                                                     shape.rank, " is above ", kTensorRankMax));
    }
    if (shape.rank > 0) PLAIT_RETURN_IF_ERROR(CheckNotNull(shape.dims, "input_shapes: dims"));
    bindings[shape.name] = Shape(shape.dims, shape.dims + shape.rank);
  }
  return bindings;
}

absl::StatusOr<SessionOptions> ReadOptions(const plait_session_options* given) {
  SessionOptions options;
  if (given == nullptr) return options;
  PLAIT_RETURN_IF_ERROR(CheckSize(given->struct_size, kOptionsBytesMin, "options"));
  if (given->device != nullptr) options.device = given->device;
  options.threads = given->threads;
  options.pins_threads = given->pin_threads != 0;
  options.ignores_plan = given->ignore_plan != 0;
  options.requires_plan = given->require_plan != 0;
  PLAIT_ASSIGN_OR_RETURN(options.shapes, ReadShapes(given->input_shapes, given->input_shape_count));
  if (given->struct_size >= kOptionsWithRunnerBytes && given->host_runner != nullptr) {
    PLAIT_ASSIGN_OR_RETURN(options.host_runner, HostRunnerOf(*given->host_runner));
  }
  return options;
}

absl::Status Create(const Model& model, const plait_session_options* given,
                    plait_session** session) {
  PLAIT_RETURN_IF_ERROR(ClaimProcess());
  PLAIT_ASSIGN_OR_RETURN(const SessionOptions options, ReadOptions(given));
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Session> created, Session::Create(model, options));
  *session = std::make_unique<plait_session>(plait_session{std::move(created)}).release();
  return absl::OkStatus();
}

absl::Status CreateFromMemory(absl::string_view bytes, const plait_session_options* options,
                              plait_session** session) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(session, "session"));
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportModelBytes(bytes));
  return Create(model, options, session);
}

absl::Status CreateFromFile(const char* path, const plait_session_options* options,
                            plait_session** session) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(path, "path"));
  PLAIT_RETURN_IF_ERROR(CheckNotNull(session, "session"));
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportModelFile(path));
  return Annotate(Create(model, options, session), path);
}

// A NULL, or a session of the parent's.
absl::Status CheckUsable(const plait_session* handle) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(handle, "session"));
  return ClaimProcess();
}

// The shapes that the caller's inputs have; those of the session where their number or ranks are
// wrong, so that what compares them with it says so.
absl::StatusOr<std::shared_ptr<LoadedShapes>> ShapesFor(Session& session,
                                                        const plait_tensor* inputs, size_t count) {
  std::vector<Shape> shapes;
  for (const SessionTensor& input : session.inputs()) shapes.push_back(input.type.shape);
  if (count != shapes.size() || count == 0) return session.For(shapes);
  PLAIT_RETURN_IF_ERROR(CheckNotNull(inputs, "input"));
  PLAIT_RETURN_IF_ERROR(CheckSize(inputs->struct_size, kTensorBytesMin, "input"));
  for (size_t i = 0; i < count; ++i) {
    const plait_tensor& input = ElementOf(inputs, i);
    if (input.rank != shapes[i].size()) continue;
    if (input.rank > 0) PLAIT_RETURN_IF_ERROR(CheckNotNull(input.dims, "dims"));
    shapes[i] = Shape(input.dims, input.dims + input.rank);
  }
  return session.For(shapes);
}

absl::Status Run(Session& session, absl::Span<const plait_tensor* const> arrays,
                 absl::Span<const size_t> counts) {
  PLAIT_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedShapes> shapes,
                         ShapesFor(session, arrays[0], counts[0]));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<void*> inputs,
                         ReadTensors(arrays[0], counts[0], shapes->inputs, "input"));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<void*> outputs,
                         ReadTensors(arrays[1], counts[1], shapes->outputs, "output"));
  return session.Run(shapes, inputs, outputs);
}

absl::Status DescribeInput(const plait_session* handle, size_t index, bool bound,
                           plait_tensor* tensor) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(handle, "session"));
  return Describe(handle->session->inputs(), index, bound, tensor);
}

absl::Status DescribeOutput(const plait_session* handle, size_t index, bool bound,
                            plait_tensor* tensor) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(handle, "session"));
  return Describe(handle->session->outputs(), index, bound, tensor);
}

absl::Status DescribeOutputFor(Session& session, const plait_tensor* inputs, size_t count,
                               size_t index, plait_tensor* tensor) {
  if (count != session.inputs().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", session.inputs().size(), " inputs, given are ", count));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedShapes> shapes,
                         ShapesFor(session, inputs, count));
  PLAIT_RETURN_IF_ERROR(Describe(shapes->outputs, index, false, tensor));
  // What was loaded for other shapes may go before the caller has read them.
  tensor->dims = session.Kept(shapes->outputs[index].type.shape).data();
  return absl::OkStatus();
}

absl::Status LastOutput(plait_session* handle, size_t index, plait_tensor* tensor) {
  PLAIT_RETURN_IF_ERROR(CheckUsable(handle));
  PLAIT_ASSIGN_OR_RETURN(const SessionTensor* const output, handle->session->LastOutput(index));
  return Describe({output, 1}, 0, true, tensor);
}

int32_t ReasonOf(PlanReason reason) {
  switch (reason) {
    case PlanReason::kFits:
      return PLAIT_PLAN_FITS;
    case PlanReason::kNone:
      return PLAIT_PLAN_NOT_IN_MODEL;
    case PlanReason::kNotWanted:
      return PLAIT_PLAN_NOT_WANTED;
    case PlanReason::kOtherEngine:
      return PLAIT_PLAN_OTHER_ENGINE;
    case PlanReason::kOtherDevice:
      return PLAIT_PLAN_OTHER_DEVICE;
    case PlanReason::kOtherModel:
      return PLAIT_PLAN_OTHER_MODEL;
    case PlanReason::kInvalid:
      return PLAIT_PLAN_INVALID;
    case PlanReason::kSameInstructionSet:
      return PLAIT_PLAN_SAME_INSTRUCTION_SET;
    case PlanReason::kOtherShapes:
      return PLAIT_PLAN_OTHER_SHAPES;
  }
  return PLAIT_PLAN_INVALID;
}

absl::Status GetPlan(const plait_session* handle, plait_plan_info* given) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(handle, "session"));
  PLAIT_RETURN_IF_ERROR(CheckNotNull(given, "plan"));
  PLAIT_RETURN_IF_ERROR(CheckSize(given->struct_size, kPlanInfoBytesMin, "plan"));
  const SessionPlan& plan = handle->session->plan();
  plait_plan_info info = PLAIT_PLAN_INFO_INIT;
  info.source = plan.is_embedded ? PLAIT_PLAN_EMBEDDED : PLAIT_PLAN_DEFAULT;
  info.reason = ReasonOf(plan.reason);
  info.explanation = plan.explanation.c_str();
  info.threads = plan.threads;
  info.kernels = plan.kernels;
  info.streams = plan.streams;
  info.reference_nodes = plan.reference_nodes;
  info.host_nodes = plan.host_nodes;
  info.islands = plan.islands;
  Write(info, given);
  return absl::OkStatus();
}

const char* NameOf(absl::Span<const SessionTensor> tensors, size_t index) {
  return index < tensors.size() ? tensors[index].name.c_str() : nullptr;
}

}  // namespace
}  // namespace plait

using plait::ErrorOf;
using plait::ErrorOfCall;

const char* plait_version(void) { return PLAIT_VERSION; }
int32_t plait_abi_version(void) { return PLAIT_RUNTIME_ABI_VERSION; }

int32_t plait_error_get_code(const plait_error* error) {
  return error == nullptr ? 0 : error->code;
}
const char* plait_error_message(const plait_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
void plait_error_destroy(plait_error* error) { std::unique_ptr<plait_error> owned(error); }

plait_error* plait_session_create_from_file(const char* path, const plait_session_options* options,
                                            plait_session** session) {
  return ErrorOfCall([&] { return plait::CreateFromFile(path, options, session); });
}

plait_error* plait_session_create_from_memory(const void* model, size_t size,
                                              const plait_session_options* options,
                                              plait_session** session) {
  const absl::Status status = plait::CheckNotNull(model, "model");
  if (!status.ok()) return ErrorOf(status);
  return ErrorOfCall([&] {
    return plait::CreateFromMemory({static_cast<const char*>(model), size}, options, session);
  });
}

// In a forked child the threads that would have to end are the parent's: the memory stays.
void plait_session_destroy(plait_session* session) {
  std::unique_ptr<plait_session> owned(session);
  if (plait::IsForked()) static_cast<void>(owned.release());
}

size_t plait_session_input_count(const plait_session* session) {
  return session == nullptr ? 0 : session->session->inputs().size();
}
size_t plait_session_output_count(const plait_session* session) {
  return session == nullptr ? 0 : session->session->outputs().size();
}
const char* plait_session_input_name(const plait_session* session, size_t index) {
  return session == nullptr ? nullptr : plait::NameOf(session->session->inputs(), index);
}
const char* plait_session_output_name(const plait_session* session, size_t index) {
  return session == nullptr ? nullptr : plait::NameOf(session->session->outputs(), index);
}

plait_error* plait_session_describe_input(const plait_session* session, size_t index,
                                          plait_tensor* tensor) {
  return ErrorOfCall([&] { return plait::DescribeInput(session, index, false, tensor); });
}

plait_error* plait_session_describe_output(const plait_session* session, size_t index,
                                           plait_tensor* tensor) {
  return ErrorOfCall([&] { return plait::DescribeOutput(session, index, false, tensor); });
}

plait_error* plait_session_describe_output_for(plait_session* session, const plait_tensor* inputs,
                                               size_t input_count, size_t index,
                                               plait_tensor* tensor) {
  const absl::Status status = plait::CheckUsable(session);
  if (!status.ok()) return ErrorOf(status);
  return ErrorOfCall([&] {
    return plait::DescribeOutputFor(*session->session, inputs, input_count, index, tensor);
  });
}

plait_error* plait_session_run(plait_session* session, const plait_tensor* inputs,
                               size_t input_count, const plait_tensor* outputs,
                               size_t output_count) {
  const absl::Status status = plait::CheckUsable(session);
  if (!status.ok()) return ErrorOf(status);
  return ErrorOfCall([&] {
    return plait::Run(*session->session, {inputs, outputs}, {input_count, output_count});
  });
}

plait_error* plait_session_last_output(plait_session* session, size_t index, plait_tensor* tensor) {
  return ErrorOfCall([&] { return plait::LastOutput(session, index, tensor); });
}

plait_error* plait_session_bound_input(plait_session* session, size_t index, plait_tensor* tensor) {
  return ErrorOfCall([&] { return plait::DescribeInput(session, index, true, tensor); });
}

plait_error* plait_session_bound_output(plait_session* session, size_t index,
                                        plait_tensor* tensor) {
  return ErrorOfCall([&] { return plait::DescribeOutput(session, index, true, tensor); });
}

plait_error* plait_session_run_bound(plait_session* session) {
  const absl::Status status = plait::CheckUsable(session);
  if (!status.ok()) return ErrorOf(status);
  return ErrorOfCall([&] { return session->session->RunBound(); });
}

plait_error* plait_session_get_plan(const plait_session* session, plait_plan_info* plan) {
  return ErrorOfCall([&] { return plait::GetPlan(session, plan); });
}
