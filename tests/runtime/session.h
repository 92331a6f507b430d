#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/runtime.h"

// What a program does with sessions, with owners of what the library gives it.

namespace plait {

struct ErrorDeleter {
  void operator()(plait_error* error) const { plait_error_destroy(error); }
};
struct SessionDeleter {
  void operator()(plait_session* session) const { plait_session_destroy(session); }
};
using Error = std::unique_ptr<plait_error, ErrorDeleter>;
using Session = std::unique_ptr<plait_session, SessionDeleter>;

inline std::string Text(const Error& error) { return plait_error_message(error.get()); }

inline Error Create(const std::string& model, const plait_session_options* options,
                    Session* session) {
  plait_session* created = nullptr;
  Error error(plait_session_create_from_memory(model.data(), model.size(), options, &created));
  session->reset(created);
  return error;
}

inline Session Created(const std::string& model, plait_session_options options) {
  Session session;
  const Error error = Create(model, &options, &session);
  EXPECT_EQ(error, nullptr) << Text(error);
  return session;
}

inline Session Created(const std::string& model) {
  return Created(model, PLAIT_SESSION_OPTIONS_INIT);
}

inline plait_tensor Input(plait_session* session, const void* data) {
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  EXPECT_EQ(plait_session_describe_input(session, 0, &tensor), nullptr);
  tensor.data = const_cast<void*>(data);
  return tensor;
}

inline plait_tensor Output(plait_session* session, void* data) {
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  EXPECT_EQ(plait_session_describe_output(session, 0, &tensor), nullptr);
  tensor.data = data;
  return tensor;
}

inline Error RunOn(plait_session* session, const std::vector<float>& x, std::vector<float>* y) {
  const plait_tensor input = Input(session, x.data());
  const plait_tensor output = Output(session, y->data());
  return Error(plait_session_run(session, &input, 1, &output, 1));
}

}  // namespace plait
