# pipeloom_layer(NAME SOURCES a.cpp ... [PEERS b.cpp ...] [PUBLIC lib ...] [PRIVATE lib ...] [BUILD_ONLY lib ...])
#
# One layer of the house: the static library pipeloom_NAME, alias pipeloom::NAME. Of those that the face stands on, cmake/Install.cmake installs the
# archives, and no headers.
#   PEERS       sources that give their inner functions the same names, as plug-ins do: a unity build compiles each by itself
#   PUBLIC      what the layer's headers include
#   PRIVATE     what only its sources use, but a consumer must link
#   BUILD_ONLY  header-only packages of the sources: a consumer does not need them
function(pipeloom_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PEERS;PUBLIC;PRIVATE;BUILD_ONLY")
  set(target pipeloom_${name})
  add_library(${target} STATIC ${arg_SOURCES} ${arg_PEERS})
  set_source_files_properties(${arg_PEERS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(pipeloom::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PIPELOOM_GENERATED_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  foreach(lib IN LISTS arg_BUILD_ONLY ITEMS pipeloom_warnings)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${lib}>)
  endforeach()
endfunction()
