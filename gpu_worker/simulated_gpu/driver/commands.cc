#include "gpu_worker/simulated_gpu/driver/commands.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/kernel_run.h"

namespace plait::simulated_gpu {
namespace {

class KernelAction : public Action {
 public:
  KernelAction(KernelCommand command, DeviceMemory* memory, const LaunchOptions& options,
               bool has_dependencies)
      : command_(std::move(command)),
        memory_(memory),
        options_(options),
        has_dependencies_(has_dependencies) {}

  absl::StatusOr<Progress> Step() override {
    if (!run_.has_value()) {
      const std::vector<void*>& pointers = command_.arguments->pointers;
      const std::vector<const void*> arguments(pointers.begin(), pointers.end());
      PLAIT_ASSIGN_OR_RETURN(KernelRun run,
                             KernelRun::Begin(*command_.code.program, *memory_, command_.shape,
                                              arguments, options_, has_dependencies_));
      run_.emplace(std::move(run));
      if (dependencies_ended_) run_->EndDependencies();
    }
    PLAIT_ASSIGN_OR_RETURN(const KernelRun::Progress progress, run_->RunBlock());
    if (progress == KernelRun::Progress::kWaits) return Progress::kWaits;
    return progress == KernelRun::Progress::kEnded ? Progress::kEnded : Progress::kGoesOn;
  }

  void EndDependencies() override {
    dependencies_ended_ = true;
    if (run_.has_value()) run_->EndDependencies();
  }

  bool triggers() const override { return command_.code.program->triggers; }
  Touches touches() const override { return run_.has_value() ? run_->touches() : Touches(); }
  Touches early_touches() const override {
    return run_.has_value() ? run_->early_touches() : Touches();
  }
  bool has_waited() const override { return run_.has_value() && run_->has_waited(); }

 private:
  const KernelCommand command_;
  DeviceMemory* const memory_;
  const LaunchOptions options_;
  const bool has_dependencies_;
  bool dependencies_ended_ = false;
  std::optional<KernelRun> run_;
};

// In one step. It knows nothing of programmatic launch: what comes behind it begins when it has
// ended, and whatever it touches it may touch before a kernel has ended that it depends on in that
// way alone.
class StandInAction : public Action {
 public:
  StandInAction(const KernelCommand& command, DeviceMemory* memory, bool has_dependencies)
      : stand_in_(command.code.stand_in),
        memory_(memory),
        has_dependencies_(has_dependencies),
        arguments_(static_cast<size_t>(stand_in_->parameters())) {
    const std::vector<std::byte>& bytes = command.arguments->bytes;
    if (!bytes.empty()) std::memcpy(arguments_.data(), bytes.data(), bytes.size());
    touches_ = stand_in_->TouchesOf(arguments_);
  }

  absl::StatusOr<Progress> Step() override {
    PLAIT_RETURN_IF_ERROR(stand_in_->Run(arguments_, memory_));
    return Progress::kEnded;
  }

  Touches touches() const override { return touches_; }
  Touches early_touches() const override { return has_dependencies_ ? touches_ : Touches(); }

 private:
  const std::shared_ptr<const StandIn> stand_in_;
  DeviceMemory* const memory_;
  const bool has_dependencies_;
  std::vector<uint64_t> arguments_;
  Touches touches_;
};

// Host addresses are touched, too: no device's memory lies where the host's does.
class CopyAction : public Action {
 public:
  CopyAction(CopyCommand command, DeviceMemory* memory)
      : command_(std::move(command)), memory_(memory) {}

  absl::StatusOr<Progress> Step() override {
    std::vector<std::byte> bytes(command_.bytes);
    if (command_.from_host) {
      std::memcpy(bytes.data(), Source(), bytes.size());
    } else {
      PLAIT_RETURN_IF_ERROR(memory_->Read(command_.from, absl::MakeSpan(bytes)));
    }
    if (command_.to_host) {
      std::memcpy(reinterpret_cast<void*>(command_.to), bytes.data(), bytes.size());
    } else {
      PLAIT_RETURN_IF_ERROR(memory_->Write(command_.to, bytes));
    }
    return Progress::kEnded;
  }

  Touches touches() const override {
    Touches touches;
    if (command_.taken == nullptr) touches.Read({command_.from, command_.from + command_.bytes});
    touches.Write({command_.to, command_.to + command_.bytes});
    return touches;
  }

 private:
  const std::byte* Source() const {
    if (command_.taken != nullptr) return command_.taken->data();
    return reinterpret_cast<const std::byte*>(command_.from);
  }

  const CopyCommand command_;
  DeviceMemory* const memory_;
};

class FillAction : public Action {
 public:
  FillAction(FillCommand command, DeviceMemory* memory) : command_(command), memory_(memory) {}

  absl::StatusOr<Progress> Step() override {
    const std::vector<std::byte> bytes(command_.bytes, static_cast<std::byte>(command_.byte));
    PLAIT_RETURN_IF_ERROR(memory_->Write(command_.to, bytes));
    return Progress::kEnded;
  }

  Touches touches() const override {
    Touches touches;
    touches.Write({command_.to, command_.to + command_.bytes});
    return touches;
  }

 private:
  const FillCommand command_;
  DeviceMemory* const memory_;
};

}  // namespace

std::string NameOf(const Command& command) {
  if (const auto* kernel = std::get_if<KernelCommand>(&command)) {
    return absl::StrCat("kernel ", kernel->code.name());
  }
  if (std::holds_alternative<CopyCommand>(command)) return "copy";
  return std::holds_alternative<FillCommand>(command) ? "fill" : "nothing";
}

std::unique_ptr<Action> MakeAction(const Command& command, DeviceMemory* memory, uint64_t seed,
                                   int64_t instructions_max, bool has_dependencies) {
  if (const auto* kernel = std::get_if<KernelCommand>(&command)) {
    if (kernel->code.stand_in != nullptr) {
      return std::make_unique<StandInAction>(*kernel, memory, has_dependencies);
    }
    LaunchOptions options;
    options.seed = seed;
    options.instructions_max = instructions_max;
    options.count_traffic = false;
    return std::make_unique<KernelAction>(*kernel, memory, options, has_dependencies);
  }
  if (const auto* copy = std::get_if<CopyCommand>(&command)) {
    return std::make_unique<CopyAction>(*copy, memory);
  }
  if (const auto* fill = std::get_if<FillCommand>(&command)) {
    return std::make_unique<FillAction>(*fill, memory);
  }
  return nullptr;
}

}  // namespace plait::simulated_gpu
