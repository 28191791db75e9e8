# The core as WebAssembly (the preset wasm): the packages that it needs are headers alone, and the compiler is emscripten. No cairo, SQLite, zlib or
# threads: sim/io/without has what takes their place.

# The toolchain looks into its own root alone, and all of /usr/include would hide its C library: these folders of it are linked into one of ours.
set(PIPELOOM_PACKAGE_HEADERS "${PROJECT_BINARY_DIR}/packages")
foreach(package boost/version.hpp fmt/format.h nlohmann/json.hpp)
  get_filename_component(folder "${package}" DIRECTORY)
  find_path(PIPELOOM_HEADERS_OF_${folder} "${package}" PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  mark_as_advanced(PIPELOOM_HEADERS_OF_${folder})
  file(MAKE_DIRECTORY "${PIPELOOM_PACKAGE_HEADERS}")
  file(CREATE_LINK "${PIPELOOM_HEADERS_OF_${folder}}/${folder}" "${PIPELOOM_PACKAGE_HEADERS}/${folder}" SYMBOLIC)
endforeach()

# pipeloom_header_package(TARGET [DEFINITION...])
function(pipeloom_header_package target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${PIPELOOM_PACKAGE_HEADERS}")
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()
pipeloom_header_package(fmt::fmt FMT_HEADER_ONLY)
pipeloom_header_package(nlohmann_json::nlohmann_json)
pipeloom_header_package(Boost::headers BOOST_ALL_NO_LIB)
add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)

# Emscripten's code at fixed addresses; its -fPIC is for modules that others load.
set(CMAKE_CXX_COMPILE_OPTIONS_PIC "")
add_compile_options(-fwasm-exceptions -include "${PROJECT_SOURCE_DIR}/web/compat/old_libcxx.hpp")
# fmt, which that header may include.
include_directories("${PROJECT_SOURCE_DIR}")
include_directories(SYSTEM "${PIPELOOM_PACKAGE_HEADERS}")
add_compile_definitions(FMT_HEADER_ONLY)
add_link_options(-fwasm-exceptions)
