# PIPELOOM_BUILD_GUI: whether the window is built. ON where Dear ImGui, GLFW, OpenGL and the font are installed when the
# build is configured for the first time; `cmake` prints what is missing otherwise.

find_package(OpenGL QUIET COMPONENTS OpenGL EGL)
find_package(glfw3 3.3 CONFIG QUIET)
pkg_check_modules(IMGUI QUIET IMPORTED_TARGET GLOBAL imgui)
find_file(PIPELOOM_FONT NAMES DejaVuSans.ttf
  PATHS /usr/share/fonts /usr/local/share/fonts
  PATH_SUFFIXES truetype/dejavu dejavu dejavu-sans-fonts TTF
  DOC "The font that the window carries with it")
# What is written is in Inter where that is installed, else in DejaVu Sans too.
find_file(PIPELOOM_TEXT_FONT NAMES Inter-Regular.otf Inter-Regular.ttf
  PATHS /usr/share/fonts /usr/local/share/fonts
  PATH_SUFFIXES opentype/inter truetype/inter inter OTF TTF
  DOC "The font of the window's text; optional")
find_file(PIPELOOM_STRONG_FONT NAMES Inter-SemiBold.otf Inter-SemiBold.ttf
  PATHS /usr/share/fonts /usr/local/share/fonts
  PATH_SUFFIXES opentype/inter truetype/inter inter OTF TTF
  DOC "The same, half-bold; optional")
mark_as_advanced(PIPELOOM_FONT PIPELOOM_TEXT_FONT PIPELOOM_STRONG_FONT)

set(gui_missing "")
if(NOT TARGET OpenGL::OpenGL OR NOT TARGET OpenGL::EGL)
  list(APPEND gui_missing "OpenGL and EGL (libegl-dev, libopengl-dev)")
endif()
if(NOT TARGET glfw)
  list(APPEND gui_missing "GLFW 3.3 (libglfw3-dev)")
endif()
if(NOT TARGET PkgConfig::IMGUI)
  list(APPEND gui_missing "Dear ImGui (libimgui-dev)")
endif()
if(NOT PIPELOOM_FONT)
  list(APPEND gui_missing "DejaVuSans.ttf (fonts-dejavu-core)")
endif()
list(JOIN gui_missing ", " gui_missing)

if(gui_missing)
  option(PIPELOOM_BUILD_GUI "Build pipeloom-gui (needs Dear ImGui, GLFW, OpenGL, EGL and DejaVu Sans)" OFF)
  if(PIPELOOM_BUILD_GUI)
    message(FATAL_ERROR "PIPELOOM_BUILD_GUI is ON, but these were not found: ${gui_missing}; install them or set it to OFF")
  endif()
  message(STATUS "pipeloom: no window, as these were not found: ${gui_missing}")
else()
  option(PIPELOOM_BUILD_GUI "Build pipeloom-gui (needs Dear ImGui, GLFW, OpenGL, EGL and DejaVu Sans)" ON)
  message(STATUS "pipeloom: window with Dear ImGui ${IMGUI_VERSION}, GLFW ${glfw3_VERSION} (PIPELOOM_BUILD_GUI=${PIPELOOM_BUILD_GUI})")
endif()
