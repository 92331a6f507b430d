#include "tests/gpu_worker/backends/cuda/generated/emulation/emulate.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <dlfcn.h>
#include <unistd.h>

#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::cuda {
namespace {

// More than a faulty kernel of the tests misses an operand by.
constexpr size_t kGuardBytes = 4096;
constexpr unsigned char kPoison = 0xff;  // NaN in every storage type
// Around an output, so that poison copied from beyond an input is seen as well.
constexpr unsigned char kOutputGuard = 0xa5;

#ifdef __SANITIZE_ADDRESS__
constexpr const char* kSanitizer = " -fsanitize=address";
#else
constexpr const char* kSanitizer = "";
#endif

// An operand with guards on both sides: reading them gives NaN, writing them is noticed.
class GuardedBuffer {
 public:
  GuardedBuffer(size_t bytes, unsigned char guard)
      : bytes_(bytes),
        guard_(guard),
        memory_((bytes + 2 * kGuardBytes + 15) / 16 * 16 / sizeof(Block)) {
    std::memset(memory_.data(), guard, memory_.size() * sizeof(Block));
    std::memset(data(), kPoison, bytes);
  }

  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()) + kGuardBytes; }

  bool GuardsStand() {
    const auto* all = reinterpret_cast<const unsigned char*>(memory_.data());
    const auto untouched = [this](unsigned char byte) { return byte == guard_; };
    return std::all_of(all, all + kGuardBytes, untouched) &&
           std::all_of(all + kGuardBytes + bytes_, all + memory_.size() * sizeof(Block), untouched);
  }

 private:
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  size_t bytes_;
  unsigned char guard_;
  std::vector<Block> memory_;
};

std::string KernelText(const EmulatedKernel& emulated, size_t number) {
  const std::string name = "kernel_" + std::to_string(number);
  std::string text = "namespace " + name + " {\n" + KernelPrelude(emulated.precision) +
                     emulated.kernel.source + "\n}\nextern \"C\" bool run_" +
                     std::to_string(number) +
                     "(const unsigned* grid, const unsigned* block, void* const* arguments) {\n"
                     "  return emulation::Run(grid, block, [](void* const* p) {\n"
                     "    emulation::Call(" +
                     name + "::plait_kernel, p);\n  }, arguments);\n}\n";
  return text;
}

Result<std::string> CompileText(const std::string& text) {
  std::string folder = (std::filesystem::temp_directory_path() / "plait_emulation_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Error{ErrorCode::kInternal, "mkdtemp failed"};
  const std::string source = folder + "/kernels.cc", library = folder + "/kernels.so";
  std::ofstream(source) << text;
  const std::string command = std::string(PLAIT_CXX) + " -std=c++20 -O1 -w -fPIC -shared" +
                              kSanitizer + " -I" + PLAIT_EMULATION_DIR + " " + source + " -o " +
                              library + " 2>" + folder + "/errors";
  if (std::system(command.c_str()) != 0) {
    std::stringstream errors;
    errors << std::ifstream(folder + "/errors").rdbuf();
    return Error{ErrorCode::kInternal, errors.str().substr(0, 4000)};
  }
  return library;
}

GuardedBuffer MakeBuffer(const EmulatedKernel& emulated, const KernelArgument& argument,
                         const ProblemShape& shape, const HostOperands& operands) {
  const Precision precision = emulated.precision;
  if (argument.kind == KernelArgument::Kind::kOutput) {
    return GuardedBuffer(shape.outputs[argument.index] * ElementBytes(argument.type, precision),
                         kOutputGuard);
  }
  if (argument.kind == KernelArgument::Kind::kErrorWord) {
    GuardedBuffer word(8, kOutputGuard);
    std::memset(word.data(), 0, 8);
    return word;
  }
  if (argument.kind == KernelArgument::Kind::kWorkspace) {
    return GuardedBuffer(emulated.kernel.workspace_bytes, kPoison);
  }
  if (argument.kind == KernelArgument::Kind::kStep) return GuardedBuffer(sizeof(int), kPoison);
  const bool indices = argument.kind == KernelArgument::Kind::kInput && argument.index == 1 &&
                       !operands.indices.empty();
  std::vector<std::byte> bytes;
  if (indices) {
    bytes.resize(operands.indices.size() * 8);
    std::memcpy(bytes.data(), operands.indices.data(), bytes.size());
  } else {
    bytes = ToStorage(FloatsOf(argument, operands), argument.type, precision);
  }
  GuardedBuffer buffer(bytes.size(), kPoison);
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace

Result<Emulation> Emulation::Compile(const std::vector<EmulatedKernel>& kernels) {
  std::string text = "#include \"kernel_language.h\"\n";
  for (size_t i = 0; i < kernels.size(); ++i) text += KernelText(kernels[i], i);
  // Several tests run the same kernels, and the compiler takes most of their time.
  static auto* const libraries = new std::map<std::string, void*>();
  void*& library = (*libraries)[text];
  if (library == nullptr) {
    const Result<std::string> path = CompileText(text);
    if (!path.ok()) return path.error();
    library = dlopen(path.value().c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove_all(std::filesystem::path(path.value()).parent_path());
    if (library == nullptr) return Error{ErrorCode::kInternal, dlerror()};
  }
  Emulation emulation;
  emulation.kernels_ = kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    void* entry = dlsym(library, ("run_" + std::to_string(i)).c_str());
    if (entry == nullptr) return Error{ErrorCode::kInternal, dlerror()};
    emulation.entries_.push_back(reinterpret_cast<Entry>(entry));
  }
  return emulation;
}

Result<std::vector<std::vector<float>>> Emulation::Run(size_t kernel, const ProblemShape& shape,
                                                       const HostOperands& operands,
                                                       int64_t* error_word) const {
  const EmulatedKernel& emulated = kernels_[kernel];
  std::vector<GuardedBuffer> buffers;
  for (const KernelArgument& argument : emulated.kernel.arguments) {
    buffers.push_back(MakeBuffer(emulated, argument, shape, operands));
  }
  std::vector<void*> pointers;
  for (GuardedBuffer& buffer : buffers) pointers.push_back(buffer.data());
  for (int step = 0; step < emulated.kernel.launches; ++step) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const bool is_step = emulated.kernel.arguments[i].kind == KernelArgument::Kind::kStep;
      if (is_step) std::memcpy(buffers[i].data(), &step, sizeof(step));
    }
    if (!entries_[kernel](emulated.kernel.grid.data(), emulated.kernel.block.data(),
                          pointers.data())) {
      return Error{ErrorCode::kInternal, "a barrier was not reached by every thread"};
    }
  }
  std::vector<std::vector<float>> outputs(shape.outputs.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const KernelArgument& argument = emulated.kernel.arguments[i];
    if (!buffers[i].GuardsStand()) {
      return Error{ErrorCode::kInternal, "argument " + std::to_string(i) + ": written outside"};
    }
    if (argument.kind == KernelArgument::Kind::kErrorWord && error_word != nullptr) {
      std::memcpy(error_word, buffers[i].data(), 8);
    }
    if (argument.kind != KernelArgument::Kind::kOutput) continue;
    outputs[argument.index] = FromStorage(buffers[i].data(), shape.outputs[argument.index],
                                          argument.type, emulated.precision);
  }
  return outputs;
}

}  // namespace plait::cuda
