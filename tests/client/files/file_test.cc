#include "client/files/file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loading/model_file.h"
#include "onnx/onnx_pb.h"

namespace plait {
namespace {

using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = testing::TempDir() + "/plait_file_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(FileTest, AppendsBehindWhatIsThere) {
  ASSERT_TRUE(AppendFile(Path("page"), "").ok());
  EXPECT_EQ(*ReadFile(Path("page")), "");
  ASSERT_TRUE(AppendFile(Path("page"), "one\n").ok());
  ASSERT_TRUE(AppendFile(Path("page"), "two\n").ok());
  EXPECT_EQ(*ReadFile(Path("page")), "one\ntwo\n");
  EXPECT_THAT(std::string(AppendFile(Path("no/page"), "x").message()), HasSubstr("no/page"));
}

TEST_F(FileTest, ReplacesTheFileBehindALink) {
  ASSERT_TRUE(WriteFile(Path("v7"), "old").ok());
  ASSERT_EQ(symlink("v7", Path("latest").c_str()), 0);
  ASSERT_TRUE(WriteFile(Path("latest"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("v7")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(Path("latest")));
}

// As root -o /dev/null would take the device from everybody.
TEST_F(FileTest, WritesToWhatIsNoFile) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { std::ifstream(Path("pipe")) >> read; });
  EXPECT_TRUE(WriteFile(Path("pipe"), "bytes").ok());
  reader.join();
  EXPECT_EQ(read, "bytes");
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
}

TEST_F(FileTest, KnowsBeforeWhatCannotBeWritten) {
  EXPECT_TRUE(CheckWritable(Path("new")).ok());
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
  EXPECT_TRUE(CheckWritable("name_alone").ok());
  EXPECT_THAT(std::string(CheckWritable(Path("no/file")).message()), HasSubstr("no/file"));
  EXPECT_FALSE(CheckWritable(folder_).ok());
}

using PrivateFolderTest = FileTest;

TEST_F(PrivateFolderTest, IsMadeForItsOwnerAlone) {
  ASSERT_TRUE(MakePrivateFolder(Path("a/b/c")).ok());
  struct stat info = {};
  ASSERT_EQ(stat(Path("a/b/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(MakePrivateFolder(Path("a/b/c")).ok());
}

TEST_F(PrivateFolderTest, MayBeAnythingWhereNobodyElseMakesFolders) {
  ASSERT_EQ(mkdir(Path("shared").c_str(), 0755), 0);
  ASSERT_EQ(chmod(Path("shared").c_str(), 0777), 0);
  EXPECT_TRUE(MakePrivateFolder(Path("shared")).ok());
}

// As in /tmp.
TEST_F(PrivateFolderTest, IsItsOwnersWhereEverybodyMayMakeFolders) {
  ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);
  ASSERT_TRUE(MakePrivateFolder(Path("mine")).ok());
  EXPECT_TRUE(MakePrivateFolder(Path("mine")).ok());
  ASSERT_EQ(chmod(Path("mine").c_str(), 0777), 0);
  const absl::Status open = MakePrivateFolder(Path("mine"));
  EXPECT_TRUE(absl::IsPermissionDenied(open)) << open;
  EXPECT_THAT(std::string(open.message()), HasSubstr(Path("mine")));
  if (geteuid() != 0) GTEST_SKIP() << "only root can make the folder somebody else's";
  ASSERT_TRUE(MakePrivateFolder(Path("theirs")).ok());
  ASSERT_EQ(chown(Path("theirs").c_str(), 12345, 12345), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateFolder(Path("theirs"))));
  ASSERT_TRUE(MakePrivateFolder(Path("target")).ok());
  ASSERT_EQ(symlink(Path("target").c_str(), Path("link").c_str()), 0);
  EXPECT_TRUE(MakePrivateFolder(Path("link")).ok());
  ASSERT_EQ(lchown(Path("link").c_str(), 12345, 12345), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateFolder(Path("link"))));
}

class ModelFileTest : public FileTest {
 protected:
  // A model whose one weight lies in the file `data`.
  void WriteModel(const std::string& data) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(1);
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto& location = *weight.add_external_data();
    location.set_key("location");
    location.set_value(data);
    ASSERT_TRUE(WriteFile(Path("model.onnx"), model.SerializeAsString()).ok());
  }
};

TEST_F(ModelFileTest, ReadsWeightsThatLieBesideIt) {
  WriteModel("weights");
  ASSERT_TRUE(WriteFile(Path("weights"), "1234").ok());
  const absl::StatusOr<std::string> packed = ReadModelFile(Path("model.onnx"));
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_THAT(*packed, HasSubstr("1234"));
}

TEST_F(ModelFileTest, RefusesWeightsThatLieElsewhereAsWell) {
  WriteModel("weights");
  ASSERT_TRUE(WriteFile(Path("secret"), "1234").ok());
  ASSERT_EQ(link(Path("secret").c_str(), Path("weights").c_str()), 0);
  EXPECT_THAT(std::string(ReadModelFile(Path("model.onnx")).status().message()),
              HasSubstr("hard links"));
  ASSERT_EQ(unlink(Path("weights").c_str()), 0);
  ASSERT_EQ(symlink(Path("secret").c_str(), Path("weights").c_str()), 0);
  EXPECT_THAT(std::string(ReadModelFile(Path("model.onnx")).status().message()),
              HasSubstr("symbolic link"));
}

}  // namespace
}  // namespace plait
