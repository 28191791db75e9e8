# version.hpp: written into the build tree, included as "version.hpp".

set(PIPELOOM_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.hpp.in" "${PIPELOOM_GENERATED_DIR}/version.hpp" @ONLY)
