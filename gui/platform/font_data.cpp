#include "gui/platform/font_data.hpp"

// The build says where the file is; the assembler reads it.
asm(R"(
  .section .rodata
  .balign 16
  .type pipeloom_font_begin, %object
pipeloom_font_begin:
  .incbin ")" PIPELOOM_FONT_FILE R"("
  .type pipeloom_font_end, %object
pipeloom_font_end:
  .byte 0
  .previous
)");

extern "C" {
extern const unsigned char pipeloom_font_begin[];
extern const unsigned char pipeloom_font_end[];
}

namespace pipeloom::gui {

std::span<const unsigned char> font_data() {
  return {pipeloom_font_begin, pipeloom_font_end};
}

}  // namespace pipeloom::gui
