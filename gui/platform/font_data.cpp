#include "gui/platform/font_data.hpp"

// The build says where the files are; the assembler reads them.
#define PIPELOOM_CARRIED(name, file)                    \
  asm(".section .rodata\n"                              \
      ".balign 16\n"                                    \
      ".type pipeloom_" #name                           \
      "_begin, %object\n"                               \
      "pipeloom_" #name                                 \
      "_begin:\n"                                       \
      ".incbin \"" file                                 \
      "\"\n"                                            \
      ".type pipeloom_" #name                           \
      "_end, %object\n"                                 \
      "pipeloom_" #name                                 \
      "_end:\n"                                         \
      ".byte 0\n"                                       \
      ".previous\n");                                   \
  extern "C" {                                          \
  extern const unsigned char pipeloom_##name##_begin[]; \
  extern const unsigned char pipeloom_##name##_end[];   \
  }

PIPELOOM_CARRIED(signs, PIPELOOM_FONT_FILE)
#ifdef PIPELOOM_TEXT_FONT_FILE
PIPELOOM_CARRIED(text, PIPELOOM_TEXT_FONT_FILE)
PIPELOOM_CARRIED(strong, PIPELOOM_STRONG_FONT_FILE)
#endif

namespace pipeloom::gui {
namespace {

constexpr float kDejaVuHeight = 1.164F;
#ifdef PIPELOOM_TEXT_FONT_FILE
constexpr float kInterHeight = 1.21F;
#endif

}  // namespace

FontFace sign_face() {
  return {{pipeloom_signs_begin, pipeloom_signs_end}, kDejaVuHeight};
}

#ifdef PIPELOOM_TEXT_FONT_FILE
FontFace text_face() {
  return {{pipeloom_text_begin, pipeloom_text_end}, kInterHeight};
}
FontFace strong_face() {
  return {{pipeloom_strong_begin, pipeloom_strong_end}, kInterHeight};
}
#else
FontFace text_face() {
  return sign_face();
}
FontFace strong_face() {
  return sign_face();
}
#endif

}  // namespace pipeloom::gui
