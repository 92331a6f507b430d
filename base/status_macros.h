#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

// Returns from the enclosing function when `expression` is a Status that is not OK.
// The expression is evaluated once. Works for a function that returns Status or StatusOr.
#define PLAIT_RETURN_IF_ERROR(expression)                                 \
  do {                                                                    \
    if (absl::Status plait_status_ = (expression); !plait_status_.ok()) { \
      return plait_status_;                                               \
    }                                                                     \
  } while (false)

#define PLAIT_CONCAT_INNER_(a, b) a##b
#define PLAIT_CONCAT_(a, b) PLAIT_CONCAT_INNER_(a, b)

// Assigns the value of a StatusOr to `target` (which may declare a variable), or returns its
// status.
// More than one statement: not for the body of an `if` without braces. A line may hold one only. A
// type with a comma in it needs an alias, because the preprocessor would split it.
#define PLAIT_ASSIGN_OR_RETURN(target, expression) \
  PLAIT_ASSIGN_OR_RETURN_(PLAIT_CONCAT_(plait_statusor_, __LINE__), target, expression)
#define PLAIT_ASSIGN_OR_RETURN_(statusor, target, expression) \
  auto statusor = (expression);                               \
  if (!statusor.ok()) return std::move(statusor).status();    \
  target = *std::move(statusor)

// For programmer errors only, never for input: prints the condition and aborts, in release too.
// A job that dies of it is durable and counted as a fault of its own process.
// It costs a test and stays on, because a wrong result is worse than a job that is run again.
#define PLAIT_CHECK(condition)                                                                   \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::fprintf(stderr, "plait: check failed: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)

namespace plait {

// The same status with `phrase` and ": " in front of its message. Code and payloads never change,
// so that a reason survives every layer that adds a phrase.
inline absl::Status Annotate(const absl::Status& status, absl::string_view phrase) {
  if (status.ok()) return status;
  std::string message(phrase);
  message.append(": ").append(status.message().data(), status.message().size());
  absl::Status annotated(status.code(), message);
  status.ForEachPayload([&](absl::string_view type_url, const absl::Cord& payload) {
    annotated.SetPayload(type_url, payload);
  });
  return annotated;
}

}  // namespace plait
