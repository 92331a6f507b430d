#include "optimizer/rules/generator/enumerate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/run_operator.h"
#include "optimizer/rules/generator/field_evaluation.h"

namespace plait {
namespace {

struct Value {
  EvalTensor tensor;
  Fingerprint fingerprint;
  bool is_kernel = false;
  int readers = 0;
};

bool IsKernel(const TensorType& type) {
  return type.rank() == 4 && (type.shape[2] == 1 || type.shape[2] == 3);
}

Fingerprint FingerprintOfValue(const EvalTensor& tensor) {
  FingerprintBuilder builder;
  builder.Add(FingerprintOf(tensor.type));
  for (const FieldElement& element : std::get<std::vector<FieldElement>>(tensor.values)) {
    builder.Add(element.value());
  }
  return builder.Finish();
}

// Extends a graph step by step, and takes steps back: one path of the tree at a time is in memory.
class Enumeration {
 public:
  Enumeration(const Core& core, uint64_t seed, int64_t graphs_max)
      : core_(core), graphs_max_(graphs_max) {
    Random random(seed);
    for (const TensorType& type : core.inputs) {
      std::vector<FieldElement> elements(type.elements());
      for (FieldElement& element : elements) element = FieldElement(random.Next());
      Value value{{type, std::move(elements)}, {}, IsKernel(type)};
      value.fingerprint = FingerprintOfValue(value.tensor);
      values_.push_back(std::move(value));
    }
    for (const CoreOperator& core_operator : core.operators) {
      constants_.push_back(core_operator.constant ? ToEvalTensor(*core_operator.constant)
                                                  : EvalTensor{});
    }
  }

  absl::Status Extend() {
    if (static_cast<int>(sketch_.steps.size()) == core_.operators_max) return absl::OkStatus();
    const int value_count = static_cast<int>(values_.size());
    for (int op = 0; op < static_cast<int>(core_.operators.size()); ++op) {
      const CoreOperator& core_operator = core_.operators[op];
      for (int first = 0; first < value_count; ++first) {
        if (core_operator.inputs == 1) {
          PLAIT_RETURN_IF_ERROR(Try({op, {first}}));
          continue;
        }
        const int start = core_operator.commutes ? first : 0;
        for (int second = start; second < value_count; ++second) {
          PLAIT_RETURN_IF_ERROR(Try({op, {first, second}}));
        }
      }
    }
    return absl::OkStatus();
  }

  std::vector<Enumerated> Take() { return std::move(graphs_); }

 private:
  // Of two orders of independent steps one is enumerated: the one in which a step that does not
  // read the step before it is not smaller than that one.
  bool IsInOrder(const Sketch::Step& step) const {
    if (sketch_.steps.empty()) return true;
    const Sketch::Step& previous = sketch_.steps.back();
    const int first_output =
        static_cast<int>(values_.size()) - core_.operators[previous.op].outputs;
    if (std::any_of(step.inputs.begin(), step.inputs.end(),
                    [&](int input) { return input >= first_output; })) {
      return true;
    }
    return std::tie(previous.op, previous.inputs) < std::tie(step.op, step.inputs);
  }

  // Padding of one pixel belongs to windows of 3x3.
  bool KeepsItsSize(const Sketch::Step& step) const {
    const bool is_padded = core_.operators[step.op].attributes.Ints("pads", {0})[0] > 0;
    return !is_padded || values_[step.inputs.back()].tensor.type.shape[2] == 3;
  }

  // Whether images are where images belong, and kernels likewise.
  bool HasItsKinds(const Sketch::Step& step) const {
    const Value& first = values_[step.inputs[0]];
    const bool last_is_kernel = values_[step.inputs.back()].is_kernel;
    switch (core_.operators[step.op].op) {
      case OpKind::kConv:
        return !first.is_kernel && last_is_kernel && KeepsItsSize(step);
      case OpKind::kAveragePool:
        return !first.is_kernel;
      case OpKind::kPad:
        return first.is_kernel && first.tensor.type.shape[2] == 1;
      default:
        return first.is_kernel == last_is_kernel;
    }
  }

  absl::Status Try(const Sketch::Step& step) {
    if (!IsInOrder(step) || !HasItsKinds(step)) return absl::OkStatus();
    const CoreOperator& core_operator = core_.operators[step.op];
    std::vector<const EvalTensor*> inputs;
    std::vector<const Tensor*> constants;
    FingerprintBuilder key;
    key.Add(step.op);
    std::vector<Fingerprint> read;
    for (const int input : step.inputs) {
      inputs.push_back(&values_[input].tensor);
      constants.push_back(nullptr);
      read.push_back(values_[input].fingerprint);
    }
    if (core_operator.commutes) std::sort(read.begin(), read.end());
    for (const Fingerprint& value : read) key.Add(value);
    if (core_operator.constant) {
      inputs.push_back(&constants_[step.op]);
      constants.push_back(&*core_operator.constant);
    }
    auto outputs = RunWithUnknownFunction(
        {core_operator.op, core_operator.attributes, constants, core_operator.outputs}, inputs);
    // Operands that do not fit.
    if (!outputs.ok()) return absl::OkStatus();
    sketch_.steps.push_back(step);
    steps_.push_back(key.Finish());
    for (const int input : step.inputs) ++values_[input].readers;
    const size_t value_count = values_.size();
    const bool is_kernel = values_[step.inputs[0]].is_kernel && core_operator.op != OpKind::kConv;
    int repeated = -1;
    for (EvalTensor& output : *outputs) {
      const Fingerprint fingerprint = FingerprintOfValue(output);
      for (size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].fingerprint == fingerprint) repeated = static_cast<int>(i);
      }
      values_.push_back({std::move(output), fingerprint, is_kernel});
    }
    absl::Status status = Record(repeated >= 0);
    if (status.ok() && repeated < 0 && CanEnd()) status = Extend();
    values_.resize(value_count);
    for (const int input : step.inputs) --values_[input].readers;
    steps_.pop_back();
    sketch_.steps.pop_back();
    return status;
  }

  // A step reads two values that nothing has read and makes one, at best.
  bool CanEnd() const {
    const auto unread =
        std::count_if(values_.begin() + static_cast<int64_t>(core_.inputs.size()), values_.end(),
                      [](const Value& value) { return value.readers == 0; });
    const auto left = core_.operators_max - static_cast<int64_t>(sketch_.steps.size());
    return unread - left <= core_.outputs_max;
  }

  // A graph that repeats a value is kept where all that it computes are inputs of the core: a law
  // such as Transpose(Transpose(x)) = x.
  absl::Status Record(bool repeats) {
    Enumerated graph{sketch_, {}, steps_};
    bool is_all_inputs = true;
    for (size_t i = core_.inputs.size(); i < values_.size(); ++i) {
      if (values_[i].readers > 0) continue;
      graph.sketch.outputs.push_back(static_cast<int>(i));
      graph.outputs.push_back(values_[i].fingerprint);
      is_all_inputs = is_all_inputs && IsInput(values_[i].fingerprint);
    }
    if (static_cast<int>(graph.outputs.size()) > core_.outputs_max || (repeats && !is_all_inputs))
      return absl::OkStatus();
    if (repeats) RecordInputs(graph);
    graphs_.push_back(std::move(graph));
    if (static_cast<int64_t>(graphs_.size()) > graphs_max_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("core ", core_.name, " has more than ", graphs_max_, " graphs"));
    }
    return absl::OkStatus();
  }

  bool IsInput(const Fingerprint& fingerprint) const {
    return std::any_of(values_.begin(), values_.begin() + static_cast<int64_t>(core_.inputs.size()),
                       [&](const Value& value) { return value.fingerprint == fingerprint; });
  }

  void RecordInputs(const Enumerated& graph) {
    Enumerated inputs;
    inputs.outputs = graph.outputs;
    for (const Fingerprint& output : graph.outputs) {
      for (size_t i = 0; i < core_.inputs.size(); ++i) {
        if (values_[i].fingerprint == output) inputs.sketch.outputs.push_back(static_cast<int>(i));
      }
    }
    graphs_.push_back(std::move(inputs));
  }

  const Core& core_;
  const int64_t graphs_max_;
  std::vector<EvalTensor> constants_;  // by operator
  std::vector<Value> values_;
  Sketch sketch_;  // its outputs are not kept up to date
  std::vector<Fingerprint> steps_;
  std::vector<Enumerated> graphs_;
};

}  // namespace

absl::StatusOr<std::vector<Enumerated>> Enumerate(const Core& core, uint64_t seed,
                                                  int64_t graphs_max) {
  Enumeration enumeration(core, seed, graphs_max);
  PLAIT_RETURN_IF_ERROR(enumeration.Extend());
  return enumeration.Take();
}

}  // namespace plait
