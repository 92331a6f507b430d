#include "tests/gpu_worker/simulated_gpu/driver_fixture.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/staging.h"

namespace plait::simulated_gpu {
namespace {

constexpr size_t kBytes = kWords * sizeof(uint32_t);

// An entry that loads its parameters to %rd1, %rd2 ... and adds 4 times the thread's number to
// each: then they are the addresses of the thread's words.
std::string Entry(const std::string& name, int parameters, const std::string& body) {
  std::string text = ".visible .entry " + name + "(";
  std::string loads;
  for (int i = 1; i <= parameters; ++i) {
    const std::string number = std::to_string(i);
    text += (i > 1 ? ", .param .u64 p" : ".param .u64 p") + number;
    loads += "  ld.param.u64 %rd" + number + ", [p" + number + "];\n  add.s64 %rd" + number +
             ", %rd" + number + ", %rd9;\n";
  }
  return text + ")\n{\n  .reg .b32 %r<10>; .reg .b64 %rd<10>;\n" +
         "  mov.u32 %r1, %tid.x;\n  mov.u32 %r2, %ctaid.x;\n  mad.lo.s32 %r3, %r2, 32, %r1;\n"
         "  mul.wide.u32 %rd9, %r3, 4;\n" +
         loads + body + "  ret;\n}\n";
}

std::string Header(const std::string& target) {
  return ".version 9.0\n.target " + target + "\n.address_size 64\n";
}

}  // namespace

std::string KernelsOfTests() {
  return Header("sm_80") +
         Entry("mix", 3,
               "  ld.global.u32 %r4, [%rd1];\n  ld.global.u32 %r5, [%rd2];\n"
               "  mad.lo.s32 %r6, %r4, 3, %r5;\n  st.global.u32 [%rd3], %r6;\n") +
         Entry("work", 4,
               "  ld.global.u32 %r4, [%rd1];\n  st.global.u32 [%rd4], %r4;\n"
               "  ld.global.u32 %r5, [%rd2];\n  ld.global.u32 %r4, [%rd4];\n"
               "  mad.lo.s32 %r6, %r4, 3, %r5;\n  st.global.u32 [%rd3], %r6;\n") +
         Entry("beyond", 1, "  st.global.u32 [%rd1+256], %r3;\n") +
         Entry("endless", 1, "AGAIN:\n  add.u32 %r4, %r3, 1;\n  bra AGAIN;\n");
}

std::string KernelsWithTriggers() {
  const std::string mix = "  mad.lo.s32 %r6, %r5, 3, %r4;\n  st.global.u32 [%rd3], %r6;\n";
  const std::string load_x = "  ld.global.u32 %r4, [%rd1];\n";
  const std::string load_c = "  ld.global.u32 %r5, [%rd2];\n";
  const std::string wait = "  griddepcontrol.wait;\n";
  return Header("sm_90") +
         Entry("produce", 2,
               "  griddepcontrol.launch_dependents;\n  ld.global.u32 %r4, [%rd1];\n"
               "  mul.lo.s32 %r6, %r4, 3;\n  st.global.u32 [%rd2], %r6;\n") +
         Entry("consume", 3, load_c + wait + load_x + mix) +
         Entry("hasty", 3, load_c + load_x + mix) +
         Entry("greedy", 3, load_x + wait + load_c + mix);
}

DriverFixture::DriverFixture(DriverOptions options, int device)
    : driver_(std::move(options)), runtime_(device, &driver_.library()) {
  cuda::Result<cuda::Stream> stream = runtime_.CreateStream(0);
  PLAIT_CHECK(stream.ok());
  stream_ = stream.value();
}

// A device that has failed does not take things back.
DriverFixture::~DriverFixture() {
  for (const auto& [text, library] : libraries_) {
    static_cast<void>(runtime_.UnloadLibrary(library).ok());
  }
  for (void* buffer : buffers_) static_cast<void>(runtime_.Free(buffer).ok());
  static_cast<void>(runtime_.DestroyStream(stream_).ok());
}

cuda::Kernel DriverFixture::Kernel(const std::string& text, const char* name) {
  cuda::Library library = nullptr;
  for (const auto& [loaded, handle] : libraries_) {
    if (loaded == text) library = handle;
  }
  if (library == nullptr) {
    const cuda::Result<cuda::Library> loaded = runtime_.LoadLibrary(text);
    PLAIT_CHECK(loaded.ok());
    library = loaded.value();
    libraries_.emplace_back(text, library);
  }
  const cuda::Result<cuda::Kernel> kernel = runtime_.FindKernel(library, name);
  PLAIT_CHECK(kernel.ok());
  return kernel.value();
}

void* DriverFixture::Buffer(int words) {
  const cuda::Result<void*> buffer = runtime_.Allocate(words * sizeof(uint32_t));
  PLAIT_CHECK(buffer.ok());
  buffers_.push_back(buffer.value());
  return buffer.value();
}

void DriverFixture::Upload(void* to, const std::vector<uint32_t>& words) {
  auto staging = cuda::Staging::Make(&runtime_, kBytes);
  PLAIT_CHECK(staging.ok());
  PLAIT_CHECK(staging.value()->Upload(to, words.data(), words.size() * 4, stream_).ok());
}

cuda::Result<std::vector<uint32_t>> DriverFixture::Download(const void* from) {
  auto staging = cuda::Staging::Make(&runtime_, kBytes);
  if (!staging.ok()) return staging.error();
  std::vector<uint32_t> words(kWords);
  PLAIT_CUDA_RETURN_IF_ERROR(staging.value()->Download(words.data(), from, kBytes, stream_));
  return words;
}

cuda::Status DriverFixture::Launch(cuda::Kernel kernel, std::vector<void*> arguments,
                                   cuda::Stream stream) {
  std::vector<void*> pointers;
  for (void*& argument : arguments) pointers.push_back(&argument);
  return runtime_.LaunchKernel(kernel, {.grid = {2, 1, 1}, .block = {32, 1, 1}}, pointers.data(),
                               stream);
}

}  // namespace plait::simulated_gpu
