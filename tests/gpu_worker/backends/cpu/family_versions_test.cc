#include "gpu_worker/backends/cpu/offers/family_versions.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "tests/files/source_path.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

constexpr char kBackend[] = "gpu_worker/backends/cpu";
constexpr char kGroups[] = "gpu_worker/backends/groups";

TEST(FamilyVersionsTest, EveryFamilyHasOneOfItsOwn) {
  std::set<absl::string_view> versions;
  for (const FamilyOffer* family : CpuFamilies()) {
    const absl::string_view version = CpuFamilyVersion(family->name);
    EXPECT_EQ(version.size(), 12u) << family->name;
    EXPECT_TRUE(versions.insert(version).second) << family->name;
  }
  EXPECT_EQ(CpuFamilyVersion("no such family"), "");
}

// A copy of the backend's sources, whose versions the build's script computes.
class VersionScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "plait_family_versions";
    std::error_code error;
    fs::remove_all(root_, error);
    fs::create_directories(root_ / "gpu_worker/backends", error);
    fs::copy(SourcePath(kBackend), root_ / kBackend, fs::copy_options::recursive, error);
    ASSERT_FALSE(error) << error.message();
    fs::copy(SourcePath(kGroups), root_ / kGroups, fs::copy_options::recursive, error);
    ASSERT_FALSE(error) << error.message();
  }

  void TearDown() override {
    std::error_code error;
    fs::remove_all(root_, error);
  }

  void Append(const std::string& file, const std::string& text) {
    std::ofstream(root_ / kBackend / file, std::ios::app) << text;
  }

  // The script's lines, by family.
  std::map<std::string, std::string> Versions(const std::string& compiler = "GNU 12") {
    const fs::path output = root_ / "versions.def";
    const std::string command =
        absl::StrCat(PLAIT_CMAKE_COMMAND, " -DROOT=", root_.string(), " -DBACKEND=", kBackend,
                     " '-DCOMPILER=", compiler, "' -DOUTPUT=", output.string(), " -P ",
                     SourcePath("cmake/family_versions.cmake"));
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file(output);
    std::map<std::string, std::string> versions;
    for (std::string line; std::getline(file, line);) {
      versions[line.substr(0, line.find(','))] = line;
    }
    return versions;
  }

  // The families whose versions differ, as "PLAIT_FAMILY_VERSION(name" cut to names.
  std::set<std::string> ChangedSince(const std::map<std::string, std::string>& before) {
    std::set<std::string> changed;
    for (const auto& [family, line] : Versions()) {
      if (before.at(family) != line) changed.insert(family.substr(family.find('(') + 1));
    }
    return changed;
  }

  fs::path root_;
};

TEST_F(VersionScriptTest, AFamilysFileChangesItsVersionOnly) {
  const std::map<std::string, std::string> before = Versions();
  EXPECT_EQ(before.size(), CpuFamilies().size());
  Append("kernels/conv.cc", "int more;\n");
  EXPECT_EQ(ChangedSince(before), std::set<std::string>({"conv"}));
  Append("offers/gather.cc", "int more;\n");
  EXPECT_EQ(ChangedSince(before), std::set<std::string>({"conv", "gather"}));
}

TEST_F(VersionScriptTest, ALoopChangesTheFamiliesThatUseLoops) {
  const std::map<std::string, std::string> before = Versions();
  Append("loops/loops_body.h", "int more;\n");
  EXPECT_EQ(
      ChangedSince(before),
      std::set<std::string>({"arg_extreme",   "attention",       "conv_bf16",      "conv_fma",
                             "conv_grouped",  "conv_int8",       "conv_strassen",  "conv_transpose",
                             "conv_winograd", "depthwise",       "elementwise",    "grid_sample",
                             "instance_norm", "integer_conv",    "integer_matmul", "layer_norm",
                             "lrn",           "matmul",          "matmul_bf16",    "matmul_fma",
                             "matmul_int8",   "matmul_strassen", "pool_bytes",     "pool_pixels",
                             "quantize",      "recurrence",      "reduce",         "resize",
                             "rnn_layer",     "rotary",          "separable",      "softmax",
                             "squeeze_excite"}));
}

TEST_F(VersionScriptTest, HowNodesAreGroupedChangesTheFamiliesThatAsk) {
  const std::map<std::string, std::string> before = Versions();
  Append("../groups/attention_reader.cc", "int more;\n");
  EXPECT_EQ(ChangedSince(before), std::set<std::string>({"attention"}));
  Append("../groups/move_chains.h", "int more;\n");
  EXPECT_EQ(ChangedSince(before), std::set<std::string>({"attention", "transpose", "view"}));
}

TEST_F(VersionScriptTest, CommentsAndTheListOfFamiliesChangeNothing) {
  const std::map<std::string, std::string> before = Versions();
  Append("loops/loops_body.h", "// A remark.\n");
  Append("families.def", "// Another.\n");
  EXPECT_EQ(ChangedSince(before), std::set<std::string>());
}

// Times that were taken in other caches are none beside which new ones could be compared.
TEST_F(VersionScriptTest, TheCachesInWhichKernelsAreTimedChangeAll) {
  const std::map<std::string, std::string> before = Versions();
  Append("run/private_caches.cc", "int more;\n");
  EXPECT_EQ(ChangedSince(before).size(), before.size());
}

TEST_F(VersionScriptTest, TheCompilerChangesAll) {
  const std::map<std::string, std::string> before = Versions();
  for (const auto& [family, line] : Versions("Clang 14")) EXPECT_NE(before.at(family), line);
}

}  // namespace
}  // namespace plait
