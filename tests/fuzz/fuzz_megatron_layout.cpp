// Any bytes as a layout string: read, check for a few numbers of ranks, write it back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/layout/megatron_layout.hpp"

namespace {

using namespace pipeloom;

void require(bool held) {
  if (!held) __builtin_trap();
}

void require_one_line(const Error& error) {
  require(error.line().find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const layout::MegatronLayout parsed = layout::parse_megatron_layout(text, "layout");
    const std::string written = layout::to_text(parsed);
    require(layout::parse_megatron_layout(written) == parsed);
    for (const int ranks : {1, 2, 3, 8}) {
      try {
        const auto contents = layout::contents_of(parsed, ranks);
        require(layout::layout_of(contents) == parsed);
      } catch (const InputError& error) {
        require_one_line(error);
      }
    }
  } catch (const InputError& error) {
    require(error.where().column > 0);
    require_one_line(error);
  }
  return 0;
}
