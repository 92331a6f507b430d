#pragma once

#include <string>
#include <utility>
#include <variant>

namespace plait::cuda {

// Why this folder has an error type of its own: below the executor it builds on a bare GPU machine
// that has the CUDA toolkit and nothing else, no Abseil. An executor on top of it has to turn an
// Error into an absl::Status.
// kUnsupported is expected of some candidates, and whoever tries many goes on with the next. After
// a sticky kDevice, such as an illegal address, CUDA is unusable for the rest of the process.
enum class ErrorCode {
  kUnsupported,  // the library or device cannot do this; try another candidate
  kInvalid,      // the caller's description is wrong
  kUnavailable,  // a library or device is missing
  kDevice,       // the device failed; if sticky, the process has to be restarted
  kInternal,
};

// What went wrong, in one line that names the thing and the call.
// The library's own words are part of it: "cudnn/eng28/k2=1 plan: finalize: CUDNN_STATUS_...".
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

// A value or an Error. REQUIRES of value(): ok().
// Like absl::StatusOr, in small: converts from either, so that a function returns one or the other.
// REQUIRES of error(): not ok().
template <typename Value>
class [[nodiscard]] Result {
 public:
  Result(Value value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  // References live as long as the Result; a temporary's value is moved out.
  Value& value() & { return std::get<0>(state_); }
  const Value& value() const& { return std::get<0>(state_); }
  Value&& value() && { return std::get<0>(std::move(state_)); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<Value, Error> state_;
};

// The result of a call that returns nothing else.
// For calls that only succeed or fail; ok() is all that is asked of it.
using Status = Result<std::monostate>;
inline Status Ok() { return std::monostate(); }

}  // namespace plait::cuda

// Returns the error of `expression`, a Status, from the enclosing function.
// The enclosing function returns a Result or a Status; `expression` is evaluated once.
#define PLAIT_CUDA_RETURN_IF_ERROR(expression)                         \
  do {                                                                 \
    if (const auto& plait_status = (expression); !plait_status.ok()) { \
      return plait_status.error();                                     \
    }                                                                  \
  } while (false)
