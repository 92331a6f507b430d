#include "tests/optimizer/ops/samples.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "tests/files/source_path.h"

namespace plait {
namespace {

std::string TextOf(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

OperatorSample ParseSample(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  PLAIT_CHECK(lines.size() >= 2);
  OperatorSample sample;
  PLAIT_CHECK(absl::ConsumePrefix(&lines.back(), "types: "));
  sample.types = std::string(lines.back());
  lines.pop_back();
  sample.node = std::string(lines.back());
  lines.pop_back();
  for (const absl::string_view line : lines) absl::StrAppend(&sample.tensors, line, "\n");
  // The operator stands between the equal sign and the parenthesis.
  const size_t begin = sample.node.find(" = ") + 3;
  sample.op = sample.node.substr(begin, sample.node.find('(') - begin);
  return sample;
}

std::vector<OperatorSample> ReadSamples() {
  std::vector<OperatorSample> samples;
  std::set<std::filesystem::path> files;
  const std::string folder = SourcePath("tests/optimizer/ops/samples");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  for (const std::filesystem::path& file : files) {
    const std::string text = TextOf(file);
    for (const absl::string_view part : absl::StrSplit(text, "\n\n", absl::SkipWhitespace())) {
      samples.push_back(ParseSample(part));
    }
  }
  return samples;
}

}  // namespace

const std::vector<OperatorSample>& OperatorSamples() {
  static const std::vector<OperatorSample> samples = ReadSamples();
  return samples;
}

std::string GraphTextOf(const OperatorSample& sample) {
  // The outputs are what stands before the equal sign.
  return absl::StrCat("graph {\n", sample.tensors, sample.node, "\noutput ",
                      sample.node.substr(0, sample.node.find(" = ")), "\n}\n");
}

}  // namespace plait
