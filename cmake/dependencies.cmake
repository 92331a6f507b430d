# Every third-party library, in one place. Nothing is downloaded: `tools/install-packages` installs them.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)   # module mode, and before ONNX and gRPC
find_package(absl CONFIG REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(ONNX CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(dnnl CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h REQUIRED)  # headers only
if(PLAIT_TESTS)
  find_package(GTest CONFIG REQUIRED)
endif()
