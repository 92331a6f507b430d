#include "gpu_worker/backends/cuda/run/kernel_folder.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

namespace fs = std::filesystem;

class KernelFolderTest : public testing::Test {
 protected:
  KernelFolderTest() { fs::remove_all(path_); }
  ~KernelFolderTest() override { fs::remove_all(path_); }

  std::unique_ptr<KernelFolder> Open(int64_t bytes_max = KernelFolder::kBytesMax) {
    auto folder = KernelFolder::Open(path_, bytes_max);
    EXPECT_TRUE(folder.ok()) << folder.status();
    return folder.ok() ? *std::move(folder) : nullptr;
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) files.push_back(entry.path());
    return files;
  }

  const std::string path_ =
      absl::StrCat(testing::TempDir(), "/kernels-",
                   testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string code_ = std::string(
      "\x7f"
      "ELF\0\n code",
      11);
};

TEST_F(KernelFolderTest, KeepsCodeForTheNextProcess) {
  Open()->Keep({"nvrtc 13.0 sm_90a\nsource"}, code_);
  const auto folder = Open();
  EXPECT_EQ(folder->Find("nvrtc 13.0 sm_90a\nsource"), code_);
  EXPECT_EQ(folder->Find("nvrtc 13.1 sm_90a\nsource"), std::nullopt);
  EXPECT_EQ(folder->Find("nvrtc 13.0 sm_80\nsource"), std::nullopt);
}

TEST_F(KernelFolderTest, KernelsOfOneProgramShareItsBytes) {
  const std::string code(4000, 'c');
  Open()->Keep({"one", "other", "third"}, code);
  EXPECT_EQ(Files().size(), 3u);
  for (const fs::path& file : Files()) EXPECT_EQ(fs::hard_link_count(file), 3u);
  // Three times its bytes would be too much.
  const auto folder = Open(10000);
  for (const char* key : {"one", "other", "third"}) {
    EXPECT_TRUE(folder->Find(key) == code) << key;
  }
  // Made again with another one: the others stay as they are.
  folder->Keep({"one", "fourth"}, code + "d");
  EXPECT_TRUE(folder->Find("one") == code + "d");
  EXPECT_TRUE(folder->Find("other") == code);
}

TEST_F(KernelFolderTest, WhatIsDamagedIsRemoved) {
  const auto folder = Open();
  const auto damage = [&](auto change) {
    folder->Keep({"key"}, code_);
    ASSERT_EQ(Files().size(), 1u);
    const fs::path file = Files()[0];
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    change(bytes);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_EQ(folder->Find("key"), std::nullopt);
    EXPECT_TRUE(Files().empty());
  };
  damage([](std::string& bytes) { bytes.back() ^= 1; });
  damage([](std::string& bytes) { bytes.pop_back(); });
  damage([](std::string& bytes) { bytes += 'x'; });
  damage([](std::string& bytes) { bytes.resize(bytes.find('\n')); });
  damage([](std::string& bytes) { bytes.clear(); });
  damage([](std::string& bytes) { bytes.replace(bytes.find(" 1 "), 3, " 2 "); });
}

TEST_F(KernelFolderTest, LinksAreNotFollowed) {
  const auto folder = Open();
  folder->Keep({"key"}, code_);
  const fs::path file = Files()[0];
  const fs::path elsewhere = absl::StrCat(path_, ".elsewhere");
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(folder->Find("key"), std::nullopt);
  folder->Keep({"key"}, code_);
  EXPECT_EQ(folder->Find("key"), code_);
  EXPECT_FALSE(fs::is_symlink(file));
  fs::remove(elsewhere);
}

TEST_F(KernelFolderTest, TheLeastRecentlyUsedGoes) {
  const std::string code(1000, 'c');
  {
    const auto folder = Open();
    for (int i = 0; i < 10; ++i) folder->Keep({absl::StrCat("key ", i)}, code);
    for (const fs::path& file : Files()) {
      fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
    EXPECT_EQ(folder->Find("key 3"), code);
  }
  // Of ten with a header each there is room for eight, and then for four.
  const auto folder = Open(9000);
  EXPECT_EQ(Files().size(), 4u);
  EXPECT_EQ(folder->Find("key 3"), code);
  for (int i = 10; i < 40; ++i) {
    folder->Keep({absl::StrCat("key ", i)}, code);
    EXPECT_LE(Files().size(), 8u);
  }
  EXPECT_EQ(folder->Find("key 39"), code);
}

TEST_F(KernelFolderTest, AFolderThatOthersMayWriteToIsRefused) {
  fs::create_directory(path_);
  chmod(path_.c_str(), 0770);
  EXPECT_EQ(KernelFolder::Open(path_).status().code(), absl::StatusCode::kFailedPrecondition);
  chmod(path_.c_str(), 0755);
  EXPECT_TRUE(KernelFolder::Open(path_).ok());
  const std::string link = absl::StrCat(path_, ".link");
  fs::create_directory_symlink(path_, link);
  EXPECT_EQ(KernelFolder::Open(link).status().code(), absl::StatusCode::kFailedPrecondition);
  fs::remove(link);
  EXPECT_FALSE(KernelFolder::Open(absl::StrCat(path_, "/a/b")).ok());
}

TEST_F(KernelFolderTest, AFolderThatWasRemovedKeepsNothing) {
  const auto folder = Open();
  fs::remove_all(path_);
  folder->Keep({"key"}, code_);
  EXPECT_EQ(folder->Find("key"), std::nullopt);
}

TEST_F(KernelFolderTest, SeveralThreadsFindWholeCode) {
  const auto folder = Open(20000);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = absl::StrCat("key ", i % 17);
        const std::string code(static_cast<size_t>(1000 + i % 17), 'c');
        if (const auto found = folder->Find(key); found.has_value()) {
          EXPECT_EQ(*found, code);
        } else {
          folder->Keep({key}, code);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace plait::cuda
