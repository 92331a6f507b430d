#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/driver/kernel_cache.h"
#include "gpu_worker/backends/cuda/driver/kernel_libraries.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

// Null for what is no pointer.
const void* PointerOf(const KernelArgument& argument, const Operands& operands) {
  switch (argument.kind) {
    case KernelArgument::Kind::kInput:
      return operands.inputs[argument.index];
    case KernelArgument::Kind::kWeights:
      return operands.weights;
    case KernelArgument::Kind::kSecondWeights:
      return operands.second_weights;
    case KernelArgument::Kind::kBias:
      return operands.bias;
    case KernelArgument::Kind::kSecondBias:
      return operands.second_bias;
    case KernelArgument::Kind::kResidual:
      return operands.residual;
    case KernelArgument::Kind::kOutput:
      return operands.outputs[argument.index];
    case KernelArgument::Kind::kErrorWord:
      return operands.error_word;
    case KernelArgument::Kind::kPackedWeights:
      return operands.packed_weights;
    case KernelArgument::Kind::kWorkspace:
      return operands.workspace;
    case KernelArgument::Kind::kStep:
      break;
  }
  return nullptr;
}

class GeneratedCandidate : public Candidate {
 public:
  GeneratedCandidate(const char* family, GeneratedKernel kernel, const KernelForm& form,
                     const CudaDevice& device)
      : name_(std::string("generated/") + family + "/" + kernel.variant),
        kernel_(std::move(kernel)),
        form_(form),
        sm_major_(device.sm_major),
        architecture_(ArchitectureOf(device.sm_major, device.sm_minor)),
        runtime_(device.present ? device.runtime : nullptr),
        kernel_cache_(device.kernel_cache),
        kernel_libraries_(device.kernel_libraries) {}

  std::string name() const override { return name_; }
  // Says that Prepare() compiles. About numbers in fp32, in a fixed order, there is nothing to
  // note.
  std::vector<std::string> notes() const override {
    if (form_.precision == Precision::kTf32) return {"nvrtc", "tensor_core", "down_convert_inputs"};
    return {"nvrtc"};
  }
  size_t workspace_bytes() const override { return kernel_.workspace_bytes; }
  // A kernel goes with its library.
  std::shared_ptr<const void> resources() const override { return library_; }
  // AwaitEarlierKernels(), of which older devices know nothing. Of several launches the first alone
  // would begin early.
  bool waits_by_itself() const override { return sm_major_ >= 9 && kernel_.launches == 1; }

  Status Prepare() override {
    if (prepared_) return Ok();
    if (code_ == nullptr) CompileTogether({this});
    if (code_ == nullptr) return Error{failure_.code, name_ + ": " + failure_.message};
    // Compiled all the same, which shows on any machine that the text is right.
    if (runtime_ != nullptr) PLAIT_CUDA_RETURN_IF_ERROR(Load());
    code_ = nullptr;
    prepared_ = true;
    return Ok();
  }

  // Gives each of them code, or says why there is none: what the cache has, and of what it has not
  // one program of each precision.
  static void CompileTogether(const std::vector<GeneratedCandidate*>& candidates) {
    std::map<Precision, std::vector<GeneratedCandidate*>> unknown;
    for (GeneratedCandidate* candidate : candidates) {
      if (candidate->prepared_ || candidate->code_ != nullptr || candidate->FindCode()) continue;
      unknown[candidate->form_.precision].push_back(candidate);
    }
    for (const auto& [precision, of_precision] : unknown) CompileProgram(of_precision);
  }

  Status Launch(const Operands& operands, CUstream_st* stream) override {
    if (loaded_ == nullptr) return Error{ErrorCode::kUnavailable, name_ + ": no device"};
    // In the order of the kernel's parameters, which Parameters() has written from the same list.
    std::vector<const void*> pointers;
    for (const KernelArgument& argument : kernel_.arguments) {
      pointers.push_back(PointerOf(argument, operands));
      if (!IsAligned(pointers.back(), AlignmentOf(argument))) {
        return Error{ErrorCode::kInvalid, name_ + ": an operand is not aligned to " +
                                              std::to_string(AlignmentOf(argument)) + " bytes"};
      }
    }
    // CUDA wants the address of each parameter, and copies what is there before the call returns.
    int step = 0;
    std::vector<void*> arguments;
    for (size_t i = 0; i < pointers.size(); ++i) {
      const bool is_step = kernel_.arguments[i].kind == KernelArgument::Kind::kStep;
      arguments.push_back(is_step ? static_cast<void*>(&step) : &pointers[i]);
    }
    for (; step < kernel_.launches; ++step) {
      PLAIT_CUDA_RETURN_IF_ERROR(runtime_->LaunchKernel(
          loaded_, {.grid = kernel_.grid, .block = kernel_.block}, arguments.data(), stream));
    }
    return Ok();
  }

 private:
  int64_t AlignmentOf(const KernelArgument& argument) const {
    if (argument.kind == KernelArgument::Kind::kErrorWord) return 8;
    const bool is_workspace = argument.kind == KernelArgument::Kind::kWorkspace;
    return is_workspace ? kDeviceAlignmentBytes : form_.alignment_bytes;
  }

  bool compiles_to_ptx() const { return runtime_ != nullptr && runtime_->TakesPtx(); }
  // PTX has the same numbers: compute_90a for sm_90a.
  std::string target() const {
    return compiles_to_ptx() ? "compute_" + architecture_.substr(3) : architecture_;
  }

  bool FindCode() {
    if (kernel_cache_ == nullptr) return false;
    const Result<std::string> key =
        CompilationKey(DeviceSource({&kernel_}, form_.precision), target());
    if (!key.ok()) return false;
    key_ = key.value();
    std::optional<std::string> kept = kernel_cache_->Find(key_);
    if (kept.has_value()) code_ = std::make_shared<const std::string>(*std::move(kept));
    return code_ != nullptr;
  }

  // REQUIRES: they have one precision, and their code was looked for. A text that is wrong leaves
  // the others without code as well: each is compiled alone then, by its own Prepare().
  static void CompileProgram(const std::vector<GeneratedCandidate*>& candidates) {
    const GeneratedCandidate& first = *candidates[0];
    std::vector<const GeneratedKernel*> kernels;
    for (const GeneratedCandidate* candidate : candidates) kernels.push_back(&candidate->kernel_);
    const auto compile = first.compiles_to_ptx() ? CompileToPtx : CompileToCubin;
    const Result<std::string> code =
        compile(DeviceSource(kernels, first.form_.precision), first.target());
    const auto shared = code.ok() ? std::make_shared<const std::string>(code.value()) : nullptr;
    std::vector<std::string> keys;
    for (GeneratedCandidate* candidate : candidates) {
      candidate->code_ = shared;
      if (!code.ok()) candidate->failure_ = code.error();
      if (!candidate->key_.empty()) keys.push_back(candidate->key_);
    }
    if (code.ok() && !keys.empty()) first.kernel_cache_->Keep(keys, code.value());
  }

  Status Load() {
    KernelLibraries own(runtime_);
    KernelLibraries& libraries = kernel_libraries_ != nullptr ? *kernel_libraries_ : own;
    const Result<std::shared_ptr<const OwnedLibrary>> library = libraries.Load(*code_);
    if (!library.ok()) return library.error();
    const std::string entry = EntryOf(kernel_, form_.precision);
    const Result<Kernel> found = runtime_->FindKernel(library.value()->get(), entry.c_str());
    if (!found.ok()) return found.error();
    library_ = library.value();
    loaded_ = found.value();
    return Ok();
  }

  const std::string name_;
  const GeneratedKernel kernel_;
  const KernelForm form_;
  const int sm_major_;
  const std::string architecture_;
  Runtime* const runtime_;  // null where the device is only described
  KernelCache* const kernel_cache_;
  KernelLibraries* const kernel_libraries_;
  std::string key_;  // by which the cache knows its code; empty: there is none
  // From when it is compiled to when it is loaded; may be that of other candidates, too.
  std::shared_ptr<const std::string> code_;
  Error failure_;  // why there is none
  bool prepared_ = false;
  std::shared_ptr<const OwnedLibrary> library_;
  Kernel loaded_ = nullptr;
};

// Most generated kernels never round their inputs, so that TF32 would only list the strict ones
// again.
Result<std::vector<std::unique_ptr<Candidate>>> EnumerateGenerated(const Problem& problem,
                                                                   Precision precision,
                                                                   MemoryLayout layout,
                                                                   const OperandPlaces& places,
                                                                   const CudaDevice& device) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  if (device.present && device.runtime == nullptr) {
    return Error{ErrorCode::kInvalid, "generated kernels: a device without a runtime"};
  }
  // The families rely on it: sizes positive, products below 2^31.
  const Result<ProblemShape> shape = ShapeOf(problem);
  if (!shape.ok()) return shape.error();
  PLAIT_CUDA_RETURN_IF_ERROR(CheckAlignment(places.alignment, precision));
  // The widest vector has 16 bytes: more changes no kernel.
  const KernelForm form{precision, layout, std::min<int64_t>(places.alignment.least(), 16),
                        places.pitches,
                        KernelDeviceOf(device.sm_major, device.sm_minor, device.multiprocessors)};
  for (const GeneratedFamily* family : GeneratedFamilies()) {
    if (!places.pitches.are_dense() && !family->takes_pitches) continue;
    if (precision == Precision::kTf32 && !family->rounds_to_tf32) continue;
    for (GeneratedKernel& kernel : family->list(problem, form)) {
      if (!kernel.is_listed) continue;
      candidates.push_back(
          std::make_unique<GeneratedCandidate>(family->name, std::move(kernel), form, device));
    }
  }
  return candidates;
}

void PrepareTogether(const std::vector<Candidate*>& candidates) {
  std::vector<GeneratedCandidate*> generated;
  for (Candidate* candidate : candidates) {
    generated.push_back(static_cast<GeneratedCandidate*>(candidate));
  }
  GeneratedCandidate::CompileTogether(generated);
}

}  // namespace

extern const CandidateSource kGeneratedSource;
const CandidateSource kGeneratedSource = {"generated", EnumerateGenerated, PrepareTogether};

}  // namespace plait::cuda
