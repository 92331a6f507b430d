// serve MODEL RUNS THREADS [INPUT OUTPUT]: runs a model RUNS times, divided among THREADS threads
// that share one session, and checks that every run gives the same bytes. INPUT holds the inputs'
// bytes one after the other; the outputs' are written to OUTPUT in the same way.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <plait/runtime.h>

namespace {

// Errors as exceptions, and handles that destroy themselves: what a program in C++ wants.
void Check(plait_error* error) {
  if (error == nullptr) return;
  const std::string message = plait_error_message(error);
  plait_error_destroy(error);
  throw std::runtime_error(message);
}

struct SessionDeleter {
  void operator()(plait_session* session) const { plait_session_destroy(session); }
};
using Session = std::unique_ptr<plait_session, SessionDeleter>;

Session Load(const std::string& path) {
  plait_session* session = nullptr;
  Check(plait_session_create_from_file(path.c_str(), nullptr, &session));
  return Session(session);
}

// Tensors with memory of their own.
struct Tensors {
  std::vector<plait_tensor> tensors;
  std::vector<std::vector<char>> bytes;

  void Add(plait_tensor tensor) {
    bytes.emplace_back(tensor.byte_size);
    tensor.data = bytes.back().data();
    tensors.push_back(tensor);
  }
};

Tensors InputsOf(plait_session* session) {
  Tensors inputs;
  for (size_t i = 0; i < plait_session_input_count(session); ++i) {
    plait_tensor tensor = PLAIT_TENSOR_INIT;
    Check(plait_session_describe_input(session, i, &tensor));
    inputs.Add(tensor);
  }
  return inputs;
}

Tensors OutputsOf(plait_session* session) {
  Tensors outputs;
  for (size_t i = 0; i < plait_session_output_count(session); ++i) {
    plait_tensor tensor = PLAIT_TENSOR_INIT;
    Check(plait_session_describe_output(session, i, &tensor));
    outputs.Add(tensor);
  }
  return outputs;
}

void Run(plait_session* session, const Tensors& inputs, const Tensors& outputs) {
  Check(plait_session_run(session, inputs.tensors.data(), inputs.tensors.size(),
                          outputs.tensors.data(), outputs.tensors.size()));
}

int Serve(const std::string& model, int runs, int threads, const char* input, const char* output) {
  const Session session = Load(model);
  Tensors inputs = InputsOf(session.get());
  if (input != nullptr) {
    std::ifstream file(input, std::ios::binary);
    for (std::vector<char>& bytes : inputs.bytes) {
      if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
        throw std::runtime_error(std::string(input) + ": is too short");
      }
    }
  }
  const Tensors expected = OutputsOf(session.get());
  Run(session.get(), inputs, expected);
  std::atomic<int> left{runs};
  std::atomic<int> different{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      const Tensors outputs = OutputsOf(session.get());
      while (left.fetch_sub(1) > 0) {
        Run(session.get(), inputs, outputs);
        if (outputs.bytes != expected.bytes) ++different;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (output != nullptr) {
    std::ofstream file(output, std::ios::binary);
    for (const std::vector<char>& bytes : expected.bytes) {
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  }
  std::printf("%d runs, %d different\n", runs, different.load());
  return different == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fprintf(stderr, "usage: serve MODEL RUNS THREADS [INPUT OUTPUT]\n");
    return 2;
  }
  try {
    return Serve(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), argc == 6 ? argv[4] : nullptr,
                 argc == 6 ? argv[5] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 1;
  }
}
