# Headers that most sources include. Joined builds read them once: a third of the time of a joined source goes into them. Builds of single
# sources do without, so that each source says what it includes. GCC alone: clang-tidy cannot read them before clang has compiled them.
set(PIPELOOM_COMMON_HEADERS
  <algorithm> <array> <charconv> <cmath> <cstdint> <functional> <iterator> <limits> <map> <memory> <numeric> <optional> <set> <span> <string>
  <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/common_headers.cpp" CONTENT "// Its headers are all it is for.\n")
  add_library(pipeloom_common_headers OBJECT "${PROJECT_BINARY_DIR}/generated/common_headers.cpp")
  set_target_properties(pipeloom_common_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(pipeloom_common_headers PRIVATE fmt::fmt)
  target_precompile_headers(pipeloom_common_headers PRIVATE ${PIPELOOM_COMMON_HEADERS})
endif()

# pipeloom_precompiled(TARGET): TARGET, position-independent code, reads the common headers as they were compiled once.
function(pipeloom_precompiled target)
  if(TARGET pipeloom_common_headers)
    target_precompile_headers(${target} REUSE_FROM pipeloom_common_headers)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:fmt::fmt>)
    # ccache needs the first to see the compiled headers. The others let the compiler collect garbage half as often: a tenth of its time for
    # a fifth more memory.
    target_compile_options(${target} PRIVATE -fpch-preprocess "SHELL:--param ggc-min-expand=100" "SHELL:--param ggc-min-heapsize=524288")
  endif()
endfunction()

# pipeloom_cold(TARGET): an optimised build compiles TARGET, of which no figure of docs/performance.md depends, in two thirds of the time.
function(pipeloom_cold target)
  # Less than -O2 leaves functions in headers without inlining there, and a linker of WebAssembly may take those for all.
  if(EMSCRIPTEN)
    return()
  endif()
  # GCC 12 warns of copies of strings beyond every size at -O1, where it does not see at -O3 that these cannot happen.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>
    $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# pipeloom_layer(NAME SOURCES a.cpp ... [PEERS b.cpp ...] [COLD c.cpp ...] [PUBLIC lib ...] [PRIVATE lib ...] [BUILD_ONLY lib ...])
#
# One layer of the house: the static library pipeloom_NAME, alias pipeloom::NAME. Of those that the face stands on, cmake/Install.cmake installs the
# archives, and no headers.
#   PEERS       sources that give their inner functions the same names, as plug-ins do: a unity build compiles each by itself
#   COLD        sources that are run once or a few times a command (pipeloom_cold)
#   PUBLIC      what the layer's headers include
#   PRIVATE     what only its sources use, but a consumer must link
#   BUILD_ONLY  header-only packages of the sources: a consumer does not need them
function(pipeloom_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PEERS;COLD;PUBLIC;PRIVATE;BUILD_ONLY")
  set(target pipeloom_${name})
  add_library(${target} STATIC ${arg_SOURCES} ${arg_PEERS})
  set_source_files_properties(${arg_PEERS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(pipeloom::${name} ALIAS ${target})
  set(parts ${target})
  if(arg_COLD)
    add_library(${target}_cold OBJECT ${arg_COLD})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cold>)
    pipeloom_cold(${target}_cold)
    list(APPEND parts ${target}_cold)
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  foreach(part IN LISTS parts)
    set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(${part} PUBLIC cxx_std_20)
    target_include_directories(${part} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<BUILD_INTERFACE:${PIPELOOM_GENERATED_DIR}>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${part} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    foreach(lib IN LISTS arg_BUILD_ONLY ITEMS pipeloom_warnings)
      target_link_libraries(${part} PRIVATE $<BUILD_INTERFACE:${lib}>)
    endforeach()
    pipeloom_precompiled(${part})
  endforeach()
endfunction()
