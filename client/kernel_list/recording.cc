#include "client/kernel_list/recording.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/kernel_list/problem_json.h"
#include "client/kernel_list/recorded_lines.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/ir/text.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {
namespace {

using wire::Json;

constexpr char kNoKernel[] = "no kernel of kernels.jsonl";
constexpr char kNoProblem[] = "a problem of no kernel, or without sizes";
constexpr char kNotOffered[] = "a kernel that the backend does not have, or not any more";

absl::string_view TextOf(absl::Span<const RecordingFile> files, absl::string_view name) {
  for (const RecordingFile& file : files) {
    if (file.name == name) return file.text;
  }
  return "";
}

// "1 64 28 28" of [1,64,28,28].
std::string SizesText(const Json& sizes) {
  return absl::StrJoin(sizes, " ", [](std::string* out, const Json& size) {
    absl::StrAppend(out, size.get<int64_t>());
  });
}

// How candidates.jsonl names a problem, without the layout; "" for those of which it says less than
// their sizes.
std::string ProblemText(const Json& problem) {
  const std::string kind = StringIn(problem, "problem");
  const auto size = [&](const char* name) { return absl::StrCat(problem[name].get<int64_t>()); };
  if (kind == "elementwise") {
    return absl::StrCat(kind, " [", StringIn(problem, "expression"), "] ",
                        SizesText(problem["shape"]));
  }
  if (kind != "conv" && kind != "separable_conv") return "";
  std::string text = absl::StrCat(kind, " n", size("n"), " c", size("c"), " h", size("h"), " w",
                                  size("w"), " k", size("k"), " r", size("r"), "x", size("s"));
  absl::StrAppend(&text, " st", problem["stride"][0].get<int64_t>(), " g", size("groups"));
  if (kind == "separable_conv") absl::StrAppend(&text, " K", size("pointwise_k"));
  return text;
}

// Images in channels-last; what has another rank lies as it did.
std::vector<absl::string_view> ChannelsLastFormats(const Graph& graph) {
  std::vector<absl::string_view> formats;
  const auto add = [&](TensorId tensor) {
    const bool is_image = graph.type(tensor).shape.size() == 4;
    formats.push_back(FormatName(is_image ? Format::kChannelsLast : Format::kPlain));
  };
  for (const TensorId input : graph.inputs()) add(input);
  for (const TensorId output : graph.outputs()) add(output);
  return formats;
}

// The kernels of kernels.jsonl, and the keys under which a search asks for them.
class ListedKernels {
 public:
  ListedKernels(const DescribedDevice& device, const KernelCatalog& catalog)
      : description_(DescriptionOf(device)),
        catalog_(catalog),
        profiler_(device, PredictionDetail::kBlocks, &catalog) {}

  // Reads the list. Lines keep their numbers, whether they can be read or not.
  void Read(absl::string_view text, Recording* recording, Refusals* refusals) {
    VisitLines("kernels.jsonl", text, refusals, [&](int number, const Json& line) {
      lines_.resize(static_cast<size_t>(number));
      Line& listed = lines_.back();
      listed = {StringIn(line, "family"), StringIn(line, "graph"), StringIn(line, "formats")};
      if (!ParseGraph(listed.graph).ok()) {
        listed = {};
        return refusals->Add("kernels.jsonl", number, "a graph that cannot be read");
      }
      ++recording->kernels[listed.family];
      AddTexts(listed);
    });
  }

  // The graph of a line, counted from 0; "": there is none.
  std::string GraphOf(int64_t number) const {
    const bool is_listed = number >= 0 && static_cast<size_t>(number) < lines_.size();
    return is_listed ? lines_[static_cast<size_t>(number)].graph : "";
  }

  // Those that a text of candidates.jsonl may mean. Each key once.
  std::vector<ProfileKey> Named(absl::string_view text) const {
    const auto found = texts_.find(text);
    return found == texts_.end() ? std::vector<ProfileKey>() : found->second;
  }

  // nullopt: the backend has no such kernel.
  std::optional<ProfileKey> KeyOf(const std::string& family, const std::string& graph,
                                  absl::Span<const absl::string_view> formats) const {
    absl::StatusOr<LoneKernel> lone = MakeLoneKernel(
        graph, {.family = family, .variant = std::string(cuda::kStrictForm)}, formats, true);
    if (!lone.ok() || !cuda::ProblemOfKernel(lone->graph, lone->kernel)) return std::nullopt;
    return KernelProfileKey(lone->graph, lone->kernel,
                            {description_.fingerprint, catalog_.Version(family)});
  }

  // What the description says of it; without samples where that is nothing.
  Profile Predict(const ProfileKey& key) const {
    const absl::StatusOr<LoneKernel> lone = LoneKernelOf(key);
    return lone.ok() ? profiler_.Predict(*lone) : Profile();
  }

 private:
  struct Line {
    std::string family, graph, formats;
  };

  void AddTexts(const Line& line) {
    const absl::StatusOr<Graph> graph = ParseGraph(line.graph);
    const std::vector<absl::string_view> listed = absl::StrSplit(line.formats, ',');
    AddText(line, listed, "nchw");
    const std::vector<absl::string_view> channels_last = ChannelsLastFormats(*graph);
    if (channels_last != listed) AddText(line, channels_last, "nhwc");
  }

  void AddText(const Line& line, absl::Span<const absl::string_view> formats,
               absl::string_view layout) {
    const std::optional<ProfileKey> key = KeyOf(line.family, line.graph, formats);
    if (!key.has_value()) return;
    const absl::StatusOr<LoneKernel> lone = LoneKernelOf(*key);
    const std::string text =
        ProblemText(ProblemJson(cuda::ProblemOfKernel(lone->graph, lone->kernel)->problem));
    if (text.empty()) return;
    std::vector<ProfileKey>& keys = texts_[absl::StrCat(text, " ", layout)];
    if (std::find(keys.begin(), keys.end(), *key) == keys.end()) keys.push_back(*key);
  }

  const DeviceDescription description_;
  const KernelCatalog& catalog_;
  const DescribedProfiler profiler_;
  std::vector<Line> lines_;
  absl::flat_hash_map<std::string, std::vector<ProfileKey>> texts_;
};

// Of each key the fastest time.
class FastestTimes {
 public:
  FastestTimes(const ListedKernels& kernels, Refusals& refusals)
      : kernels_(kernels), refusals_(refusals) {}

  // Candidates of kernels in precisions and with warm weights are recorded too, which searches on a
  // description do not ask for.
  void AddProfiles(const std::string& file, absl::string_view text, absl::string_view device) {
    VisitLines(file, text, &refusals_, [&](int number, const Json& line) {
      if (StringIn(line, "record") != "profile") return;
      const std::string reason = WhyForeign(line, device);
      if (!reason.empty()) return refusals_.Add(file, number, reason);
      const std::optional<int64_t> kernel = IntegerIn(line, "kernel");
      const std::string graph =
          kernel.has_value() ? kernels_.GraphOf(*kernel) : StringIn(line, "graph");
      if (graph.empty()) return refusals_.Add(file, number, kNoKernel);
      const std::string format_names = StringIn(line, "formats");
      const std::vector<absl::string_view> formats = absl::StrSplit(format_names, ',');
      const auto key = kernels_.KeyOf(StringIn(line, "family"), graph, formats);
      if (!key.has_value()) return refusals_.Add(file, number, kNotOffered);
      const std::optional<Profile> profile = RecordedProfileIn(line);
      if (!profile.has_value()) return refusals_.Add(file, number, "no time");
      const std::string variant = StringIn(line, "variant");
      const std::vector<std::string> parts = absl::StrSplit(variant, absl::MaxSplits('/', 2));
      Add(*key, *profile, parts.back());
    });
  }

  void AddCandidates(const std::string& file, absl::string_view text) {
    VisitLines(file, text, &refusals_, [&](int number, const Json& line) {
      const std::vector<ProfileKey> keys = kernels_.Named(StringIn(line, "problem"));
      if (keys.empty()) return refusals_.Add(file, number, kNoProblem);
      if (keys.size() > 1) return refusals_.Add(file, number, "a problem of several kernels");
      const std::optional<std::pair<std::string, double>> fastest = FastestCandidateIn(line);
      if (!fastest.has_value()) return refusals_.Add(file, number, "no time");
      const Profile profile = {
          .latency_us_median = fastest->second, .latency_us_p10 = fastest->second, .samples = 1};
      Add(keys.front(), profile, fastest->first);
    });
  }

  std::vector<RecordedTime> Take() && {
    std::vector<RecordedTime> taken;
    for (auto& [text, time] : times_) taken.push_back(std::move(time));
    return taken;
  }

 private:
  void Add(const ProfileKey& key, Profile profile, std::string candidate) {
    const auto [found, is_new] = times_.try_emplace(key.ToString());
    if (!is_new && found->second.profile.latency_us_median <= profile.latency_us_median) return;
    const Profile predicted = kernels_.Predict(key);
    profile.bytes = predicted.bytes;
    profile.flops = predicted.flops;
    if (profile.samples == 1) profile.compute_share = predicted.compute_share;
    found->second = {key, std::move(candidate), profile, predicted.latency_us_median};
  }

  const ListedKernels& kernels_;
  Refusals& refusals_;
  std::map<std::string, RecordedTime> times_;  // by the text of the key
};

// The described device that the folder is of. Errors: as ReadRecording.
absl::StatusOr<const DescribedDevice*> DeviceOf(const Json& facts) {
  if (!facts.is_object()) return absl::InvalidArgumentError("device.json is missing, or no JSON");
  const auto fake = facts.find("fake");
  if (StringIn(facts, "device") != "cuda" || fake == facts.end() || *fake != Json(false)) {
    return absl::InvalidArgumentError("device.json: nothing was measured on a GPU");
  }
  const std::string name = StringIn(facts, "name");
  for (const DescribedDevice* device : DescribedDevices()) {
    if (device->title == name) return device;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device.json: plait describes no device \"", name, "\""));
}

}  // namespace

absl::StatusOr<Recording> ReadRecording(absl::Span<const RecordingFile> files) {
  const Json facts = ParsedJson(TextOf(files, "device.json"));
  Recording recording;
  PLAIT_ASSIGN_OR_RETURN(recording.device, DeviceOf(facts));
  absl::Time date;
  std::string fault;
  if (!absl::ParseTime(absl::RFC3339_full, StringIn(facts, "date"), &date, &fault)) {
    return absl::InvalidArgumentError(absl::StrCat("device.json: date: ", fault));
  }
  recording.recorded_at_unix_seconds = absl::ToUnixSeconds(date);
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(DescriptionOf(*recording.device)));
  Refusals refusals;
  ListedKernels kernels(*recording.device, *catalog);
  kernels.Read(TextOf(files, "kernels.jsonl"), &recording, &refusals);
  if (recording.kernels.empty()) {
    return absl::InvalidArgumentError("kernels.jsonl is missing, or lists nothing");
  }
  FastestTimes times(kernels, refusals);
  for (const char* name : {"profiles.jsonl", "profiles_2.jsonl"}) {
    times.AddProfiles(name, TextOf(files, name), recording.device->title);
  }
  times.AddCandidates("candidates.jsonl", TextOf(files, "candidates.jsonl"));
  recording.times = std::move(times).Take();
  recording.refused = std::move(refusals).Take();
  return recording;
}

}  // namespace plait
