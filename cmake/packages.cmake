# Debian packages, as `cpack --config build/CPackConfig.cmake -B build/deb` makes them: the library,
# what programs are compiled with, and plait's own programs with their service. What they depend on
# follows from the binaries.

# Of the programs' package alone, which lie in another folder than those of `cmake --install`.
set(units plaitd.service plait-worker@.service)
foreach(unit ${units})
  set(source ${PROJECT_SOURCE_DIR}/deploy/systemd/${unit})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REPLACE /usr/local/bin/ /usr/bin/ text "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/systemd/${unit} "${text}")
endforeach()
list(TRANSFORM units PREPEND ${PROJECT_BINARY_DIR}/systemd/)
install(FILES ${units} DESTINATION lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
install(FILES deploy/config/plaitd.toml
  DESTINATION /etc/plait COMPONENT service EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plait)
set(CPACK_PACKAGE_CONTACT "The plait developers")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The plait developers <plait@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL tools service runtime dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and a trigger that tells the linker of them
# The private oneDNN and its OpenMP, which need each other.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/runtime/plait)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME plait)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION utils)
set(maintainer_files conffiles postinst prerm postrm)
list(TRANSFORM maintainer_files PREPEND ${PROJECT_SOURCE_DIR}/deploy/debian/)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${maintainer_files})
set(CPACK_COMPONENT_GROUP_PROGRAMS_DESCRIPTION "Makes ONNX models run faster: plait, plaitd, plait-worker")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libplait-runtime0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Runs ONNX models by the plans that plait makes")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libplait-runtime-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libplait-runtime0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Header and build files of libplait-runtime0")
include(CPack)
cpack_add_component_group(programs)
cpack_add_component(tools GROUP programs)
cpack_add_component(service GROUP programs)
