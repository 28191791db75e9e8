# Install rules: the libraries (exported as pipeloom::sim, pipeloom::io, ...), their headers under include/pipeloom with
# the same paths as in the repository (#include "sim/op.hpp"), the program, and the package files for find_package(pipeloom).

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/pipeloom")
set(header_dir "${CMAKE_INSTALL_INCLUDEDIR}/pipeloom")

foreach(folder sim schedules study executor)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${header_dir}"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
endforeach()
install(FILES "${PIPELOOM_GENERATED_DIR}/version.hpp" DESTINATION "${header_dir}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/pipeloomConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/pipeloomConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pipeloomConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pipeloomConfig.cmake" "${PROJECT_BINARY_DIR}/pipeloomConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(EXPORT pipeloomTargets NAMESPACE pipeloom:: DESTINATION "${package_dir}")
