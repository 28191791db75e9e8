# Install rules: the face (include/pipeloom) and what it stands on, exported as pipeloom::pipeloom; and the package files for
# find_package(pipeloom).

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/pipeloom")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS pipeloom_sim pipeloom_draw pipeloom_io pipeloom_schedules pipeloom_study pipeloom_face
  EXPORT pipeloomTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/pipeloomConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/pipeloomConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pipeloomConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pipeloomConfig.cmake" "${PROJECT_BINARY_DIR}/pipeloomConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(EXPORT pipeloomTargets NAMESPACE pipeloom:: DESTINATION "${package_dir}")
