#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"

namespace plait {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> LoadedLibraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* list) {
        static_cast<std::vector<std::string>*>(list)->emplace_back(library->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

// Whoever loads the runtime may have other copies of these in its process.
TEST(OnnxAloneTest, NeedsNeitherProtobufNorOnnx) {
  // Opset 13 (8), and a graph (7) of a node "Relu" and its input and output, float32[2].
  const std::string value =
      "\x0a\x01"
      "x"
      "\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x02";
  std::string graph =
      "\x0a\x0c\x0a\x01"
      "x"
      "\x12\x01"
      "y"
      "\x22\x04"
      "Relu";
  graph += "\x5a\x0f" + value + "\x62\x0f" + value;
  graph[graph.size() - value.size() + 2] = 'y';
  const std::string model =
      "\x3a" + std::string(1, static_cast<char>(graph.size())) + graph + "\x42\x02\x10\x0d";
  const absl::StatusOr<Model> read = ImportOnnx(model);
  ASSERT_TRUE(read.ok()) << read.status();
  const absl::StatusOr<Bound> bound = Bind(*read, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node_count(), 1);
  const std::vector<std::string> libraries = LoadedLibraries();
  EXPECT_THAT(libraries, Contains(HasSubstr("libcrypto")));
  EXPECT_THAT(libraries, Not(Contains(HasSubstr("protobuf"))));
  EXPECT_THAT(libraries, Not(Contains(HasSubstr("libonnx"))));
}

}  // namespace
}  // namespace plait
