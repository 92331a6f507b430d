# Debian packages, as `cpack --config build/CPackConfig.cmake -B build/deb` makes them: one for each
# component that `cmake --install` knows. What they depend on follows from the binaries.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plait)
set(CPACK_PACKAGE_CONTACT "The plait developers")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The plait developers <plait@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL tools runtime dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and a trigger that tells the linker of them
# The private oneDNN and its OpenMP, which need each other.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/runtime/plait)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME plait)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Makes ONNX models run faster: plait, plaitd, plait-worker")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libplait-runtime0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Runs ONNX models by the plans that plait makes")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libplait-runtime-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libplait-runtime0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Header and build files of libplait-runtime0")
include(CPack)
