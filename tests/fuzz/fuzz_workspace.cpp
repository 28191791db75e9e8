// Any bytes as a workspace: understood or refused with a place; what is understood is written and read back as it was.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "gui/model/files/workspace_file.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string path = "/study/w.pipeloom";
  try {
    const std::string text = gui::workspace_text(
        gui::read_workspace(std::string_view(reinterpret_cast<const char*>(data), size), path), path);
    fuzz::require(gui::workspace_text(gui::read_workspace(text, path), path) == text);
  } catch (const Error& error) {
    fuzz::require_one_line(error.line());
  }
  return 0;
}
