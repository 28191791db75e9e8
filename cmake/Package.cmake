# Debian packages: `cpack -G DEB` in a build folder writes pipeloom_<version>_<arch>.deb, and pipeloom-gui where its
# program is built. What they depend on follows from the libraries that they link (dpkg-shlibdeps).
#
# Besides the programs they hold completions for bash, zsh and fish and the man page, made by the program itself, and the ready
# configurations as examples; the libraries for find_package(pipeloom) are in none.

set(PIPELOOM_PACKAGE_MAINTAINER "Pipeloom maintainers <pipeloom@localhost>" CACHE STRING "Maintainer of the Debian packages")

# ---- completions and the man page: only the program knows its options, so where it cannot run there are none
if(NOT CMAKE_CROSSCOMPILING)
  set(completions "${PROJECT_BINARY_DIR}/completions")
  install(CODE "
    foreach(shell bash zsh fish)
      execute_process(COMMAND \"$<TARGET_FILE:pipeloom>\" completion \${shell}
        OUTPUT_FILE \"${completions}/pipeloom.\${shell}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    execute_process(COMMAND \"$<TARGET_FILE:pipeloom>\" help --man
      OUTPUT_FILE \"${PROJECT_BINARY_DIR}/pipeloom.1\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT cli)
  file(MAKE_DIRECTORY "${completions}")
  install(FILES "${completions}/pipeloom.bash" RENAME pipeloom
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT cli)
  install(FILES "${completions}/pipeloom.zsh" RENAME _pipeloom
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT cli)
  install(FILES "${completions}/pipeloom.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT cli)
  install(FILES "${PROJECT_BINARY_DIR}/pipeloom.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cli)
endif()

# ---- documents
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/pipeloom/examples" COMPONENT cli)
set(components cli)
foreach(component gui)
  if(TARGET pipeloom-${component})
    list(APPEND components ${component})
  endif()
endforeach()
foreach(component IN LISTS components)
  string(REPLACE "pipeloom-cli" "pipeloom" package "pipeloom-${component}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component})
  string(TOUPPER "${component}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${package}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION science)
endforeach()

# A project that builds Pipeloom as a part of itself has packages of its own.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME pipeloom)
set(CPACK_PACKAGE_VENDOR "Pipeloom")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${PIPELOOM_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_CLI_DESCRIPTION "Simulator of pipeline-parallel training schedules
 Times, bubbles and memory of pipeline-parallel schedules, and a check for CI.")
set(CPACK_COMPONENT_GUI_DESCRIPTION "Window of pipeloom: explore pipeline-parallel schedules by hand")
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS pipeloom-gui)
# Loaded when layers need it, which dpkg-shlibdeps does not see.
if(PIPELOOM_BLAS_FOUND)
  set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS libopenblas0)
endif()
set(CPACK_DEBIAN_GUI_PACKAGE_RECOMMENDS "pipeloom, fonts-dejavu-core")
include(CPack)
