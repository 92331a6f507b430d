#include "client/stored_profiles.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "proto/wire/profile.h"

namespace plait {
namespace {

constexpr size_t kIdDigits = 12;  // two of a million differ but for one chance in 500

bool IsLoadEffect(const v1::StoredProfile& profile) {
  return profile.key() == wire::kLoadEffectKey;
}

// What a row says of a key, whether it can be read or not.
ProfileKey ReadableKey(const v1::StoredProfile& profile) {
  absl::StatusOr<ProfileKey> key = ProfileKey::Parse(profile.key());
  if (key.ok()) return *std::move(key);
  ProfileKey other;
  other.family = IsLoadEffect(profile) ? wire::kLoadEffectKey : "unknown";
  return other;
}

std::string TextWithout(ProfileKey key, bool device, bool version) {
  if (device) key.device_fingerprint.clear();
  if (version) key.version.clear();
  return key.ToString();
}

// What kernels have in common that do the same on one device.
std::string GraphText(const ProfileKey& key) {
  return absl::StrCat(key.device_fingerprint, "\n", key.graph_text);
}

std::string FamilyText(const ProfileKey& key) {
  return absl::StrCat(key.device_fingerprint, "\n", key.family);
}

}  // namespace

std::string ProfileId(const v1::StoredProfile& profile) {
  const std::string name = absl::StrCat(profile.device_fingerprint(), "\n", profile.key());
  return DigestOf(name).sha256_hex.substr(0, kIdDigits);
}

Json StoredProfileJson(const v1::StoredProfile& profile, bool whole) {
  const ProfileKey key = ReadableKey(profile);
  const v1::Profile& times = profile.profile();
  Json json;
  json["id"] = ProfileId(profile);
  json["device"] = profile.device_fingerprint();
  json["family"] = key.family;
  json["measured_at"] = TimeText(profile.measure_time());
  if (profile.has_load_effect()) {
    json["deviation"] = profile.load_effect().deviation();
    json["loads"] = profile.load_effect().loads();
    return json;
  }
  json["variant"] = key.variant;
  json["width"] = key.width;
  json["operators"] = OperatorsOf(key);
  json["latency_us_median"] = times.latency_us_median();
  json["samples"] = times.samples();
  if (!whole) return json;
  json["latency_us_p10"] = times.latency_us_p10();
  json["latency_us_mad"] = times.latency_us_mad();
  json["bytes"] = times.bytes();
  json["flops"] = times.flops();
  json["compute_share"] = times.compute_share();
  json["implementation"] = times.implementation();
  json["workspace_bytes"] = times.workspace_bytes();
  json["version"] = key.version;
  json["formats"] = key.formats;
  json["graph"] = key.graph_text;
  json["key"] = profile.key();
  return json;
}

std::string ProfilesHeading() {
  return absl::StrFormat("%-12s  %-20s  %-24s %5s %12s %7s  %-28s %s\n", "ID", "MEASURED",
                         "FAMILY AND VARIANT", "WIDTH", "US", "SAMPLES", "OPERATORS", "DEVICE");
}

std::string ProfileRow(const v1::StoredProfile& profile) {
  const ProfileKey key = ReadableKey(profile);
  const std::string kernel =
      key.variant.empty() ? key.family : absl::StrCat(key.family, " ", key.variant);
  const std::string times =
      profile.has_load_effect()
          ? absl::StrFormat("%12s %7d", "", profile.load_effect().loads())
          : absl::StrFormat("%12.2f %7d", profile.profile().latency_us_median(),
                            profile.profile().samples());
  return absl::StrFormat("%-12s  %-20s  %-24s %5d %s  %-28s %s\n", ProfileId(profile),
                         TimeText(profile.measure_time()), kernel, key.width, times,
                         OperatorsOf(key), profile.device_fingerprint());
}

absl::StatusOr<std::string> ProfileLine(const v1::StoredProfile& profile) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(profile, &line, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("profile ", ProfileId(profile), ": ", std::string(status.message())));
  }
  return line;
}

absl::StatusOr<v1::StoredProfile> ParseProfileLine(absl::string_view line) {
  v1::StoredProfile profile;
  const auto status =
      google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, &profile);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("no profile: ", std::string(status.message())));
  }
  return profile;
}

bool IsStale(const v1::StoredProfile& profile, const KernelCatalog& catalog) {
  if (IsLoadEffect(profile)) return false;
  const absl::StatusOr<ProfileKey> key = ProfileKey::Parse(profile.key());
  return !key.ok() || catalog.Version(key->family) != key->version;
}

void ProfileIndex::Add(const v1::StoredProfile& profile) {
  const absl::StatusOr<ProfileKey> key = ProfileKey::Parse(profile.key());
  if (!key.ok()) return;
  (wire::IsSteady(profile.profile()) ? keys_ : unsteady_keys_).insert(profile.key());
  without_version_.try_emplace(TextWithout(*key, false, true), key->version);
  without_device_.try_emplace(TextWithout(*key, true, false), key->device_fingerprint);
  ++of_graph_[GraphText(*key)];
  ++of_family_[FamilyText(*key)];
}

std::string ProfileIndex::WhyMissing(const ProfileKey& key) const {
  const std::string key_text = key.ToString();
  if (keys_.contains(key_text)) return "";
  if (unsteady_keys_.contains(key_text)) return "measured while the device's speed moved";
  const auto version = without_version_.find(TextWithout(key, false, true));
  if (version != without_version_.end()) {
    return absl::StrCat("measured with version ", version->second, " of its code, which is ",
                        key.version, " now");
  }
  const auto device = without_device_.find(TextWithout(key, true, false));
  if (device != without_device_.end()) {
    return absl::StrCat("measured on another device: ", device->second);
  }
  const auto graph = of_graph_.find(GraphText(key));
  if (graph != of_graph_.end()) {
    return absl::StrCat("of these nodes ", graph->second, " others were measured: other variants, ",
                        "formats or widths");
  }
  const auto family = of_family_.find(FamilyText(key));
  if (family != of_family_.end()) {
    return absl::StrCat("of this family ", family->second,
                        " others were measured: other shapes, attributes or operators");
  }
  return "nothing of this family was measured on the device";
}

std::string OperatorsOf(const ProfileKey& key) {
  if (key.graph_text.empty()) return "";
  const absl::StatusOr<Graph> graph = ParseGraph(key.graph_text);
  if (!graph.ok()) return "?";
  if (graph->node_count() == 0) return "reorder";
  return absl::StrJoin(graph->nodes(), " ", [](std::string* out, const Node& node) {
    absl::StrAppend(out, OpKindName(node.op));
  });
}

}  // namespace plait
