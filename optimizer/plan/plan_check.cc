#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/strided_view.h"
#include "optimizer/plan/check_parts.h"
#include "optimizer/plan/memory_plan.h"
#include "optimizer/plan/plan.h"
#include "optimizer/plan/step_clocks.h"

namespace plait {
namespace {

// The checks go from what a number may be to what it means: sizes and indices first, so that later
// ones can use them; then which step runs and writes what; then order; then memory. The last is the
// one that a race would slip through. Two streams:
//
//   0: %a = Relu(%x)  stream 0, %a at 0     2: %c = Abs(%a)  stream 1, waits for 0
//   1: %b = Neg(%a)   stream 0              3: %d = Exp(%b)  stream 0, %d at 0
//
// Step 3 writes where %a lay. It follows step 1 on its stream, but nothing says that step 2 has
// read %a by then: the plan is wrong, although most runs of it would give the right answer. A wait
// for step 2 repairs it. O(steps * streams + values * log values + overlaps).
constexpr int kNobody = -1;

// 2^26 vector clock entries (256 MiB): a million steps on 64 streams; more is an attack.
constexpr int64_t kClockEntriesMax = int64_t{1} << 26;

class PlanCheck {
 public:
  PlanCheck(const Plan& plan, const Graph& graph) : plan_(plan), graph_(graph) {}

  absl::Status Run() {
    PLAIT_RETURN_IF_ERROR(CheckSizes());
    PLAIT_RETURN_IF_ERROR(ForEachValue(&PlanCheck::CheckValue));
    writer_.assign(plan_.values.size(), kNobody);
    runner_.assign(graph_.node_count(), kNobody);
    PLAIT_RETURN_IF_ERROR(ForEachStep(&PlanCheck::CheckStepNumbers));
    PLAIT_RETURN_IF_ERROR(ForEachStep(&PlanCheck::CheckStepShape));
    PLAIT_RETURN_IF_ERROR(CheckEveryNodeRuns());
    PLAIT_RETURN_IF_ERROR(ForEachValue(&PlanCheck::CheckWritten));
    PLAIT_RETURN_IF_ERROR(CheckOutputs());
    PLAIT_RETURN_IF_ERROR(ForEachValue(&PlanCheck::CheckAlias));
    PLAIT_RETURN_IF_ERROR(CheckParts(plan_, graph_));
    const StepClocks clocks(plan_);
    PLAIT_RETURN_IF_ERROR(CheckOrder(clocks));
    return CheckMemory(clocks);
  }

 private:
  using Check = absl::Status (PlanCheck::*)(int index);

  absl::Status ForEachValue(Check check) {
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const absl::Status status = (this->*check)(static_cast<int>(i));
      if (!status.ok()) return Annotate(status, absl::StrCat("plan: value ", i));
    }
    return absl::OkStatus();
  }

  absl::Status ForEachStep(Check check) {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const absl::Status status = (this->*check)(static_cast<int>(i));
      if (!status.ok()) return Annotate(status, absl::StrCat("plan: step ", i));
    }
    return absl::OkStatus();
  }

  template <typename... Parts>
  static absl::Status Wrong(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  }

  std::string NameOf(TensorId tensor) const {
    return absl::StrCat("%", *graph_.tensor(tensor).name);
  }

  bool IsGraphInput(TensorId tensor) const {
    return graph_.tensor(tensor).producer == kNoNode && graph_.tensor(tensor).constant == nullptr;
  }

  // The caller passes these bytes in or takes them out.
  bool IsCallerOwned(const Value& value) const {
    return value.format == Format::kPlain &&
           (IsGraphInput(value.tensor) || graph_.is_output(value.tensor));
  }

  absl::Status CheckSizes() const {
    if (plan_.threads < 1 || plan_.threads > kPlanThreadsMax) {
      return Wrong("plan: threads must be from 1 to ", kPlanThreadsMax, ", is ", plan_.threads);
    }
    if (plan_.streams < 1 || plan_.streams > kPlanStreamsMax) {
      return Wrong("plan: streams must be from 1 to ", kPlanStreamsMax, ", is ", plan_.streams);
    }
    if (plan_.arena_bytes < 0 || plan_.arena_bytes > kArenaBytesMax) {
      return Wrong("plan: the arena must have from 0 to ", kArenaBytesMax, " bytes, has ",
                   plan_.arena_bytes);
    }
    const int64_t entries = static_cast<int64_t>(plan_.steps.size()) * plan_.streams;
    if (entries > kClockEntriesMax) {
      return Wrong("plan: steps times streams must be at most ", kClockEntriesMax, ", is ",
                   entries);
    }
    return absl::OkStatus();
  }

  absl::Status CheckValue(int index) {
    const Value& value = plan_.values[index];
    root_.push_back(index);
    const Buffer& buffer = value.buffer;
    if (value.tensor < 0 || value.tensor >= graph_.tensor_count()) {
      return Wrong("the graph has no tensor ", value.tensor);
    }
    const TensorType& type = graph_.type(value.tensor);
    if (graph_.tensor(value.tensor).constant != nullptr) {
      return Wrong(NameOf(value.tensor), " is a constant, which lies outside the plan");
    }
    if (!CanLieIn(type, value.format)) {
      return Wrong(NameOf(value.tensor), " is ", type.ToString(), ", which cannot lie in ",
                   FormatName(value.format));
    }
    if (!seen_.emplace(value.tensor, value.format).second) {
      return Wrong(NameOf(value.tensor), " in format ", FormatName(value.format),
                   " has two values");
    }
    // Not offset + size, which could overflow.
    if (buffer.offset_bytes < 0 || buffer.size_bytes < 0 || buffer.size_bytes > plan_.arena_bytes ||
        buffer.offset_bytes > plan_.arena_bytes - buffer.size_bytes) {
      return Wrong("bytes ", buffer.offset_bytes, " + ", buffer.size_bytes,
                   " lie outside the arena of ", plan_.arena_bytes, " bytes");
    }
    if (buffer.offset_bytes % kBufferAlignmentBytes != 0) {
      return Wrong("offset ", buffer.offset_bytes, " is no multiple of ", kBufferAlignmentBytes);
    }
    if (value.alias_of < -1 || value.alias_of >= index) {
      return Wrong("alias ", value.alias_of, " must be an earlier value");
    }
    if (value.alias_of >= 0) {
      root_[index] = root_[value.alias_of];
      return absl::OkStatus();
    }
    const int64_t needed_bytes = IsCallerOwned(value) ? 0 : BytesOf(type, value.format);
    if (IsCallerOwned(value) ? buffer.size_bytes != 0 : buffer.size_bytes < needed_bytes) {
      return Wrong(NameOf(value.tensor), " needs ", needed_bytes, " bytes of the arena, has ",
                   buffer.size_bytes);
    }
    return absl::OkStatus();
  }

  // Everything that later checks use as an index.
  absl::Status CheckStepNumbers(int index) {
    const Step& step = plan_.steps[index];
    const int value_count = static_cast<int>(plan_.values.size());
    if (step.stream < 0 || step.stream >= plan_.streams) {
      return Wrong("stream ", step.stream, " of ", plan_.streams, " does not exist");
    }
    if (step.kernel.width < 1 || step.kernel.width > plan_.threads) {
      return Wrong("width must be from 1 to ", plan_.threads, ", is ", step.kernel.width);
    }
    for (int wait : step.waits) {
      if (wait < 0 || wait >= index) return Wrong("waits for step ", wait, ", not an earlier one");
    }
    for (const std::vector<int>* values : {&step.inputs, &step.outputs}) {
      for (int value : *values) {
        if (value < 0 || value >= value_count) return Wrong("there is no value ", value);
      }
    }
    for (int value : step.outputs) {
      if (IsGraphInput(plan_.values[value].tensor) && IsCallerOwned(plan_.values[value])) {
        return Wrong("writes graph input ", NameOf(plan_.values[value].tensor));
      }
      if (writer_[value] != kNobody) {
        return Wrong("writes value ", value, ", which step ", writer_[value], " writes too");
      }
      writer_[value] = index;
    }
    return CheckNodes(index);
  }

  absl::Status CheckNodes(int index) {
    const std::vector<NodeId>& nodes = plan_.steps[index].kernel.nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] < 0 || nodes[i] >= graph_.node_count()) {
        return Wrong("the graph has no node ", nodes[i]);
      }
      if (i > 0 && nodes[i] <= nodes[i - 1]) return Wrong("nodes must be ascending");
      if (runner_[nodes[i]] != kNobody) {
        return Wrong("runs node ", nodes[i], ", which step ", runner_[nodes[i]], " runs too");
      }
      runner_[nodes[i]] = index;
    }
    return absl::OkStatus();
  }

  absl::Status CheckStepShape(int index) {
    const Step& step = plan_.steps[index];
    std::vector<TensorId> inputs = InputsOf(graph_, step.kernel.nodes);
    std::vector<TensorId> outputs = OutputsOf(graph_, step.kernel.nodes);
    if (step.kernel.nodes.empty()) {
      if (step.inputs.size() != 1 || step.outputs.size() != 1) {
        return Wrong("a reorder has one input and one output, this one ", step.inputs.size(),
                     " and ", step.outputs.size());
      }
      inputs = {plan_.values[step.inputs[0]].tensor};
      outputs = inputs;
    }
    PLAIT_RETURN_IF_ERROR(CheckPorts("input", inputs, step.inputs, step.kernel.input_formats));
    return CheckPorts("output", outputs, step.outputs, step.kernel.output_formats);
  }

  absl::Status CheckPorts(absl::string_view side, absl::Span<const TensorId> tensors,
                          absl::Span<const int> values, absl::Span<const Format> formats) const {
    if (values.size() != tensors.size() || formats.size() != tensors.size()) {
      return Wrong("its kernel has ", tensors.size(), " ", side, "s, the step ", values.size(),
                   " and ", formats.size(), " formats");
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Value& value = plan_.values[values[i]];
      if (value.tensor != tensors[i]) {
        return Wrong(side, " ", i, " is ", NameOf(value.tensor), ", must be ", NameOf(tensors[i]));
      }
      if (value.format != formats[i]) {
        return Wrong(side, " ", i, " is ", FormatName(value.format), ", its kernel wants ",
                     FormatName(formats[i]), "; insert a reorder");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckEveryNodeRuns() const {
    const auto missing = std::find(runner_.begin(), runner_.end(), kNobody);
    if (missing == runner_.end()) return absl::OkStatus();
    const NodeId node = static_cast<NodeId>(missing - runner_.begin());
    return Wrong("plan: no step runs node ", node, " (", OpKindName(graph_.node(node).op), ")");
  }

  absl::Status CheckWritten(int index) {
    const Value& value = plan_.values[index];
    if (writer_[index] != kNobody) return absl::OkStatus();
    if (IsGraphInput(value.tensor) && value.format == Format::kPlain) return absl::OkStatus();
    return Wrong("no step writes ", NameOf(value.tensor), " in format ", FormatName(value.format));
  }

  absl::Status CheckOutputs() const {
    for (TensorId output : graph_.outputs()) {
      if (graph_.tensor(output).producer == kNoNode) continue;
      if (!seen_.contains({output, Format::kPlain})) {
        return Wrong("plan: graph output ", NameOf(output), " is not produced in format plain");
      }
    }
    return absl::OkStatus();
  }

  // An alias that is no part is a view's output and shares its input's bytes.
  absl::Status CheckAlias(int index) {
    const Value& value = plan_.values[index];
    if (value.alias_of < 0 || value.first_channel >= 0) return absl::OkStatus();
    const Value& source = plan_.values[value.alias_of];
    if (writer_[index] == kNobody || IsCallerOwned(value)) {
      return Wrong(NameOf(value.tensor), " is the caller's and cannot be an alias");
    }
    const Step& step = plan_.steps[writer_[index]];
    if (std::count(step.inputs.begin(), step.inputs.end(), value.alias_of) == 0) {
      return Wrong("is an alias of value ", value.alias_of, ", which step ", writer_[index],
                   " does not read");
    }
    if (source.first_channel >= 0) return Wrong("is an alias of a part");
    if (!KeepsBytes(graph_, step.kernel.nodes, source.format, value.format)) {
      return Wrong(NameOf(value.tensor), " is ", graph_.type(value.tensor).ToString(), " in ",
                   FormatName(value.format), " and cannot share the bytes of ",
                   graph_.type(source.tensor).ToString(), " in ", FormatName(source.format),
                   " behind step ", writer_[index]);
    }
    if (value.buffer != source.buffer) return Wrong("must lie where its alias lies");
    return absl::OkStatus();
  }

  absl::Status CheckOrder(const StepClocks& clocks) const {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      for (int input : plan_.steps[i].inputs) {
        const int writer = writer_[input];
        if (writer == kNobody || clocks.Precedes(writer, static_cast<int>(i))) continue;
        return Wrong("plan: step ", i, " reads ", NameOf(plan_.values[input].tensor),
                     " but does not come after step ", writer, ", which writes it; add a wait");
      }
    }
    return absl::OkStatus();
  }

  // By root value: the steps that write its bytes, ascending; several write parts.
  std::vector<std::vector<int>> Writers() const {
    std::vector<std::vector<int>> writers(plan_.values.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      for (const int value : plan_.steps[i].outputs) {
        writers[root_[value]].push_back(static_cast<int>(i));
      }
    }
    return writers;
  }

  // By root value: the last step on each stream that reads or writes its bytes.
  std::vector<std::map<int, int>> LastTouches() const {
    std::vector<std::map<int, int>> touches(plan_.values.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      for (const std::vector<int>* values : {&step.inputs, &step.outputs}) {
        for (int value : *values) touches[root_[value]][step.stream] = static_cast<int>(i);
      }
    }
    return touches;
  }

  // Values that share bytes must follow each other. Following is transitive, so it is enough to
  // compare each value, in the order in which they are written, with the last ones written to its
  // bytes.
  absl::Status CheckMemory(const StepClocks& clocks) const {
    const std::vector<std::vector<int>> writers = Writers();
    const std::vector<std::map<int, int>> touches = LastTouches();
    std::vector<int> written;
    for (size_t value = 0; value < plan_.values.size(); ++value) {
      const bool takes_bytes =
          plan_.values[value].alias_of < 0 && plan_.values[value].buffer.size_bytes > 0;
      if (takes_bytes) written.push_back(static_cast<int>(value));
    }
    std::stable_sort(written.begin(), written.end(),
                     [&](int a, int b) { return writers[a].front() < writers[b].front(); });
    // Disjoint byte ranges of the arena: first byte -> past the last byte, and who wrote it last.
    std::map<int64_t, std::pair<int64_t, int>> ranges;
    for (int value : written) {
      const int64_t first = plan_.values[value].buffer.offset_bytes;
      const int64_t past = first + plan_.values[value].buffer.size_bytes;
      auto range = ranges.upper_bound(first);
      if (range != ranges.begin() && std::prev(range)->second.first > first) --range;
      while (range != ranges.end() && range->first < past) {
        const auto [range_past, holder] = range->second;
        for (const int writer : writers[value]) {
          for (const auto& [stream, touch] : touches[holder]) {
            if (clocks.Precedes(touch, writer)) continue;
            return Wrong("plan: step ", writer, " writes value ", value,
                         " over the bytes of value ", holder, ", which step ", touch,
                         " may still use; add a wait or another offset");
          }
        }
        const int64_t range_first = range->first;
        range = ranges.erase(range);
        if (range_first < first) ranges[range_first] = {first, holder};
        if (range_past > past) range = ranges.emplace(past, std::pair(range_past, holder)).first;
      }
      ranges[first] = {past, value};
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const Graph& graph_;
  std::set<std::pair<TensorId, Format>> seen_;
  std::vector<int> root_;    // by value: the one at the end of its aliases
  std::vector<int> writer_;  // by value: the step that writes it
  std::vector<int> runner_;  // by node: the step that runs it
};

}  // namespace

absl::Status CheckPlan(const Plan& plan, const Graph& graph) {
  return PlanCheck(plan, graph).Run();
}

}  // namespace plait
